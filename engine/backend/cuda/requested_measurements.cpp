#include "engine/backend/cuda/requested_measurements.h"

#include <iterator>
#include <utility>
#include <vector>

#include "engine/linear/stamped_launches.h"
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

void add_times(const std::vector<ExpertTiming>& times, RunResult& result) {
  std::vector<ExpertTiming>& experts = result.measurements.experts;
  experts.insert(experts.end(), times.begin(), times.end());
}

/// What this step cannot measure becomes a deviation.
Status not_measured(const char* field, const Error& error, RunResult& result) {
  if (error.code != ErrorCode::Unsupported) return error;
  result.deviations.push_back(
      {.field = field, .requested = "on", .effective = "not measured", .reason = error.message});
  return {};
}

/// Of a layer the products of both parts.
Status add_stamped(const BuiltStep& built, cudaStream_t stream, RunResult& result) {
  const int multiprocessors = result.device.multiprocessors;
  Result<StampedLaunches> first = stamp_launches(first_part(built), multiprocessors, stream);
  if (!first.ok()) return not_measured("measure.stamps", first.error(), result);
  add_times(first.value().experts, result);
  std::vector<TiledLaunch>& launches = result.measurements.tiled_launches;
  launches = std::move(first.value().launches);
  if (built.layer == nullptr) return {};
  ENGINE_ASSIGN(StampedLaunches down, stamp_products(built.layer->down(), multiprocessors, stream));
  add_times(down.experts, result);
  launches.insert(launches.end(), std::make_move_iterator(down.launches.begin()),
                  std::make_move_iterator(down.launches.end()));
  return {};
}

}  // namespace

Status measure_requested(const BuiltStep& built, cudaStream_t stream,
                         const std::function<bool()>& cancelled, RunResult& result) {
  const MeasureOptions& wanted = result.effective.measure;
  if (wanted.stamps) {
    ENGINE_TRY(add_stamped(built, stream, result));
  }
  if (wanted.isolated) {
    const auto times = isolated_experts(built, stream, cancelled, result);
    if (times.ok()) add_times(times.value(), result);
    if (!times.ok()) ENGINE_TRY(not_measured("measure.isolated", times.error(), result));
  }
  if (wanted.ceilings) {
    ENGINE_ASSIGN(result.measurements.ceilings, measure_ceilings(first_part(built), stream));
  }
  return {};
}

}  // namespace engine
