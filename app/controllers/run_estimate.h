// How long a run will take, before it is made: its counted work over what this worker has measured,
// and a smaller request that takes a few seconds. No I/O: the splits are taken to be equal.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/protocol/worker_link.h"
#include "engine/model/run_request.h"
#include "profiling/session/session_file.h"

namespace app {

/// Work per second of a worker, and the set-up and statistics around the timed steps.
struct WorkRate {
  double flop_per_s = 0.0;
  double bytes_per_s = 0.0;   // 0 = not measured: only the FLOP count
  double steps_around = 0.0;  // of a whole run, in steps
  std::string source;
};

/// That of the newest of these runs on this device through the same kind of backend: what its steps
/// reached, and no more than the ceilings that any of them measured. Without such a run: a
/// guess.
WorkRate work_rate(const std::vector<std::shared_ptr<const profiling::RecordedRun>>& runs,
                   engine::GemmBackend backend, const std::string& device);

double estimated_seconds(const engine::RunRequest& request, const WorkRate& rate);

/// A run of more than this is not started without a question.
inline constexpr double kLongRun_s = 60.0;
/// What shrinking aims at.
inline constexpr double kShortRun_s = 10.0;

/// The request with fewer iterations, then fewer rows and, where the weights are most of the work,
/// fewer experts, so that it takes kShortRun_s, or as little as that can reach. Operands and
/// routing from files keep their sizes.
engine::RunRequest shrunk_to_fit(engine::RunRequest request, const WorkRate& rate);

/// "about 2 h", "about 90 s"
std::string about(double seconds);

/// A run of more than kLongRun_s, and what it would be if it were smaller.
struct LongRun {
  engine::RunRequest request;
  engine::RunRequest shrunk;
  double seconds = 0.0;
  double shrunk_seconds = 0.0;
  double step_seconds = 0.0;  // of the request: that long it can be silent
  std::string source;

  /// "takes about 2 h here (nothing was measured here yet)"
  std::string words() const;
  /// Shrinking is worth an offer.
  bool shrinks() const { return shrunk_seconds < 0.5 * seconds; }
};
/// None: it is no long run, or no worker can tell. A worker without the request's device runs it on
/// its CPU. `offers`: what its worker has for a backend; null = nothing.
std::optional<LongRun> long_run(
    const engine::RunRequest& request,
    const std::function<const BackendOffer*(engine::GemmBackend)>& offers,
    const std::vector<std::shared_ptr<const profiling::RecordedRun>>& runs);
enum class LongRunAnswer { Run, Shrink, Drop };

}  // namespace app
