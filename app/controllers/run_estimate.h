// How long a run will take, before it is made: its counted work over what this worker has measured,
// and a smaller request that takes a few seconds. No I/O: the splits are taken to be equal.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/foreseen_changes.h"
#include "engine/model/run_request.h"
#include "profiling/session/session_file.h"

namespace app {

/// What a run costs. A step: its FLOPs and its bytes. Around the steps: operands are made, checked
/// and counted element by element, a few products are repeated as a reference, and something is
/// always there.
struct RunCost {
  double flop_per_s = 0.0;
  double bytes_per_s = 0.0;
  double seconds_per_element = 0.0;
  double seconds_around = 0.0;
};

/// How long runs of a worker take.
struct WorkRate {
  RunCost cost;
  double step_factor = 1.0;       // what was measured over what `cost` says of it
  double around_factor = 1.0;     // the same of the time around the steps
  double most_flop_per_s = 0.0;   // a measured ceiling; 0 = none
  double most_bytes_per_s = 0.0;  // the same
  std::string source;
};

/// That of the newest of these runs on this device through the same kind of backend, whose steps
/// are not faster than the ceilings that any of them measured. Without such a run: a guess.
WorkRate work_rate(const std::vector<std::shared_ptr<const profiling::RecordedRun>>& runs,
                   engine::GemmBackend backend, const std::string& device);

double estimated_seconds(const engine::RunRequest& request, const WorkRate& rate);

/// A run of more than this is not started without a question.
inline constexpr double kLongRun_s = 60.0;
/// What shrinking aims at.
inline constexpr double kShortRun_s = 10.0;

struct ShrunkRun {
  engine::RunRequest request;
  std::string limit;  // "no less with n 512 and k 512"; empty where it takes kShortRun_s or less
};

/// The request with fewer iterations, then fewer rows and, where the weights are most of the work,
/// fewer experts, so that it takes kShortRun_s, or as little as that can reach: n and k, and the
/// experts of a token, are what the request is about, and stay. Operands and routing from files
/// keep their sizes.
ShrunkRun shrunk_to_fit(engine::RunRequest request, const WorkRate& rate);

/// "about 2 h", "about 90 s"
std::string about(double seconds);

/// A run of more than kLongRun_s, and what it would be if it were smaller.
struct LongRun {
  engine::RunRequest request;
  engine::RunRequest shrunk;
  std::string limit;  // why it is no short run, see ShrunkRun
  double seconds = 0.0;
  double shrunk_seconds = 0.0;
  double step_seconds = 0.0;  // of the request: that long it can be silent
  std::string source;

  /// "takes about 2 h here (nothing was measured here yet)"
  std::string words() const;
  /// "8 experts, 128 rows, 3 iterations: about 9 s"; and why not less, where it is no short run.
  std::string shrunk_words() const;
  /// Shrinking is worth an offer.
  bool shrinks() const { return shrunk_seconds < 0.5 * seconds; }
};
/// None: it is no long run, or no worker can tell. A worker without the request's device runs it on
/// its CPU.
std::optional<LongRun> long_run(
    const engine::RunRequest& request, const OfferOf& offers,
    const std::vector<std::shared_ptr<const profiling::RecordedRun>>& runs);
enum class LongRunAnswer { Run, Shrink, Drop };

}  // namespace app
