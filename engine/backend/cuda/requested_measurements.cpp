#include "engine/backend/cuda/requested_measurements.h"

#include <utility>
#include <vector>

#include "engine/linear/step_measurements.h"

namespace engine {
namespace {

/// X's quantization and, of a layer, the up projection.
const GroupedStep& first_part(const BuiltStep& built) {
  return built.layer != nullptr ? built.layer->up() : *built.linear;
}

Result<std::vector<ExpertTiming>> isolated_experts(const BuiltStep& built, cudaStream_t stream,
                                                   const std::function<bool()>& cancelled,
                                                   const RunResult& result) {
  if (built.linear != nullptr) {
    return time_isolated_experts(*built.linear, result.splits, stream, cancelled);
  }
  return Error{ErrorCode::Unsupported,
               "One expert alone is timed in a linear step only: choose it"};
}

/// Adds the times of `field`, or why there are none.
Status add_expert_times(const char* field, Result<std::vector<ExpertTiming>> times,
                        RunResult& result) {
  if (times.ok()) {
    std::vector<ExpertTiming>& experts = result.measurements.experts;
    experts.insert(experts.end(), times.value().begin(), times.value().end());
    return {};
  }
  if (times.error().code != ErrorCode::Unsupported) return times.error();
  result.deviations.push_back({.field = field,
                               .requested = "on",
                               .effective = "not measured",
                               .reason = times.error().message});
  return {};
}

}  // namespace

Status measure_requested(const BuiltStep& built, cudaStream_t stream,
                         const std::function<bool()>& cancelled, RunResult& result) {
  const MeasureOptions& wanted = result.effective.measure;
  if (wanted.stamps) {
    ENGINE_TRY(add_expert_times("measure.stamps", time_experts_by_stamps(first_part(built), stream),
                                result));
  }
  if (wanted.isolated) {
    ENGINE_TRY(add_expert_times("measure.isolated",
                                isolated_experts(built, stream, cancelled, result), result));
  }
  if (wanted.ceilings) {
    ENGINE_ASSIGN(result.measurements.ceilings, measure_ceilings(first_part(built), stream));
  }
  return {};
}

}  // namespace engine
