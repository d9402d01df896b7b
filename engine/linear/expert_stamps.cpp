#include "engine/linear/expert_stamps.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/device/buffer.h"
#include "engine/linear/timing_summary.h"

namespace engine {
namespace {

constexpr int kLaunches = 16;
constexpr std::int64_t kTileSide = 128;  // of the tile kernels

struct Stay {
  std::uint64_t begin_ns = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t end_ns = 0;
};

/// Tiles that a launch over X can have at most.
std::int64_t tile_capacity(const StepConfig& config) {
  const std::int64_t rows = std::max(config.capacity_rows, config.padded_capacity());
  return (rows / kTileSide + config.num_groups) * ((config.k + kTileSide - 1) / kTileSide);
}

}  // namespace

Result<std::vector<ExpertTiming>> time_experts_by_stamps(const GroupedStep& step,
                                                         cudaStream_t stream) {
  const StepConfig& config = step.config();
  if (!config.quantized()) {
    return Error{ErrorCode::Unsupported,
                 "Stamps are left by quantize kernels, and this recipe quantizes nothing"};
  }
  if (config.recipe.high_precision != ElementType::Bf16) {
    return Error{ErrorCode::Unsupported, "Stamped quantize kernels exist for BF16 input only"};
  }
  const std::int64_t capacity = tile_capacity(config);
  Result<DeviceBuffer> buffer = DeviceBuffer::allocate(
      capacity * std::int64_t{sizeof(kernels::TileStamp)}, {AllocationRole::Check, "tile stamps"});
  if (!buffer.ok()) return buffer.error();
  const auto groups = static_cast<std::size_t>(config.num_groups);
  std::vector<std::vector<double>> durations(groups);
  std::vector<kernels::TileStamp> stamps(static_cast<std::size_t>(capacity));
  // The first launch loads the stamped kernel and is not counted.
  for (int launch = -1; launch < kLaunches; ++launch) {
    ENGINE_CUDA_TRY(cudaMemsetAsync(buffer.value().data(), 0, buffer.value().bytes(), stream),
                    "Clearing the stamps");
    ENGINE_TRY(step.quantize_activations(
        stream, {.stamps = buffer.value().as<kernels::TileStamp>(), .capacity = capacity}));
    ENGINE_TRY(copy_to_host(std::span(stamps), buffer.value().data(), stream));
    if (launch < 0) continue;
    std::vector<Stay> stays(groups);
    for (const kernels::TileStamp& stamp : stamps) {
      if (stamp.begin_ns == 0) continue;
      Stay& stay = stays[static_cast<std::size_t>(stamp.group)];
      stay.begin_ns = std::min(stay.begin_ns, stamp.begin_ns);
      stay.end_ns = std::max(stay.end_ns, stamp.end_ns);
    }
    for (std::size_t group = 0; group < groups; ++group) {
      if (stays[group].end_ns == 0) continue;  // no rows, no tiles
      durations[group].push_back(static_cast<double>(stays[group].end_ns - stays[group].begin_ns));
    }
  }
  std::vector<ExpertTiming> timings;
  for (std::size_t group = 0; group < groups; ++group) {
    if (durations[group].empty()) continue;
    ExpertTiming& timing = timings.emplace_back();
    timing.method = ExpertMethod::Stamps;
    timing.stage = Stage::Quantize;
    timing.expert = static_cast<int>(group);
    summarize_into(timing, std::move(durations[group]));
  }
  return timings;
}

}  // namespace engine
