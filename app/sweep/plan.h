// What a sweep or an interleaved A/B will run, known before anything runs. No ImGui, no CUDA.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/protocol/worker_link.h"
#include "app/sweep/number_axis.h"
#include "engine/gemm/support.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace app {

struct PlannedRun {
  engine::RunRequest request;
  std::string label;    // values on the axes, or "A" or "B"
  std::string refused;  // the gate's sentence; empty = it will run
};

/// A run that the worker cannot do as requested is refused here, with the sentence that the rail
/// shows. Hazardous settings and products on dequantized operands are not refusals.
std::string refusal_of(const engine::RunRequest& request, const WorkerHello& hello);

/// What the worker offers for this backend; null if it has none. A worker's single CUDA backend
/// serves both ways of multiplying.
const BackendOffer* offer_of(const WorkerHello& hello, engine::GemmBackend kind);
engine::DeviceCapability capability_of(const BackendOffer& offer);

/// A base request varied along axes, every combination once. An empty list keeps the base
/// request's value.
struct SweepAxes {
  std::vector<engine::Scaling> recipes = {};
  bool pow2 = false;  // on and off, for the recipes it affects
  std::vector<engine::GemmBackend> backends = {};
  std::vector<engine::WorkspaceStrategy> workspaces = {};
  std::vector<engine::RoutingDistribution> routings = {};  // File needs a path and is left out
  std::vector<NumberAxis> numbers = {};                    // each of another field
  /// The base request's iterations are the user's choice; see plan_sweep().
  bool iterations_chosen = false;

  bool operator==(const SweepAxes&) const = default;
};

/// Backends of the worker that can run, in the order of their enum.
std::vector<engine::GemmBackend> backends_of(const WorkerHello& hello);
std::vector<engine::Scaling> all_scalings();
std::vector<engine::WorkspaceStrategy> all_workspaces();

/// Hours even with small steps; above it a list has a digit too many.
inline constexpr std::size_t kMaxSweepRuns = 1000;

/// Other settings of a recipe come from the base request, which need not be valid by itself. A
/// combination that cannot run is planned as refused; one that results in the same settings as an
/// earlier one is left out. More than `most` combinations are an error. Iterations that nobody has
/// chosen (the default, not varied) are raised to what a verdict among the points needs.
engine::Result<std::vector<PlannedRun>> plan_sweep(const engine::RunRequest& base,
                                                   const SweepAxes& axes, const WorkerHello& hello,
                                                   std::size_t most = kMaxSweepRuns);

/// Whether a sweep's iterations are enough for its frontier.
struct SweepIterations {
  std::size_t points = 0;  // that can run
  std::size_t needed = 0;  // of each, for a verdict among all of them
  std::size_t fewest = 0;  // that one of them takes
  /// A single point is compared with none.
  bool too_few() const { return points > 1 && fewest < needed; }
  /// A sentence, without a full stop.
  std::string words() const;
};
SweepIterations iterations_of(std::span<const PlannedRun> plan);

inline constexpr int kMinBlocks = 2;
inline constexpr int kMaxBlocks = 64;
inline constexpr int kDefaultBlocks = 16;  // enough for verdicts on 64 rows at once

/// A against B in one measurement: as many blocks of each, in an order that is drawn at random. The
/// rank-sum test is exact for that, however the machine drifts; a regular order such as A B B A
/// meets regular drift: it called 5 % of equal steps different.
struct InterleavedOrder {
  engine::RunRequest a;
  engine::RunRequest b;
  int blocks = kDefaultBlocks;  // A and B together; even, 2..64; see profiling::fewest_blocks()
  int iterations = 20;          // per block, instead of the requests' own
};

/// The error names the side that the worker refuses, or the number that is out of range.
/// `seed` draws the order of the blocks: another one for every measurement.
engine::Result<std::vector<PlannedRun>> plan_interleaved(const InterleavedOrder& order,
                                                         const WorkerHello& hello,
                                                         std::uint64_t seed);
/// Which blocks are B's: half of them.
std::vector<bool> draw_sides(int blocks, std::uint64_t seed);

}  // namespace app
