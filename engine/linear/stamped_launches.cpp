#include "engine/linear/stamped_launches.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "engine/device/buffer.h"
#include "engine/linear/product_shape.h"
#include "engine/linear/step_measurements.h"

namespace engine {
namespace {

constexpr int kStampedLaunches = 16;
constexpr std::int64_t kTileSide = 128;  // of the tile kernels

struct TileSpan {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = 0;

  void take(const LaunchTile& tile) {
    begin_ns = std::min(begin_ns, tile.begin_ns);
    end_ns = std::max(end_ns, tile.end_ns);
  }
  bool any() const { return end_ns != 0; }
  double duration_ns() const { return static_cast<double>(end_ns - begin_ns); }
};

/// Tiles that a quantize launch over X can have at most.
std::int64_t tile_capacity(const StepConfig& config) {
  const std::int64_t rows = std::max(config.capacity_rows(), config.padded_capacity());
  return (rows / kTileSide + config.num_groups()) * ((config.k() + kTileSide - 1) / kTileSide);
}

std::vector<LaunchTile> tiles_of(const std::vector<kernels::TileStamp>& stamps) {
  std::vector<LaunchTile> tiles;
  for (std::size_t index = 0; index < stamps.size(); ++index) {
    const kernels::TileStamp& stamp = stamps[index];
    if (stamp.begin_ns == 0) continue;  // did not run
    tiles.push_back({.begin_ns = static_cast<std::int64_t>(stamp.begin_ns),
                     .end_ns = static_cast<std::int64_t>(stamp.end_ns),
                     .multiprocessor = static_cast<int>(stamp.sm),
                     .expert = stamp.group,
                     .tile = static_cast<std::int64_t>(index)});
  }
  return tiles;
}

double duration_of(const std::vector<LaunchTile>& tiles) {
  TileSpan whole;
  for (const LaunchTile& tile : tiles) whole.take(tile);
  return whole.any() ? whole.duration_ns() : 0.0;
}

/// Launches that are stamped one after another.
class Stamping {
 public:
  Stamping(const GroupedStep& step, int multiprocessors, cudaStream_t stream)
      : groups_(static_cast<std::size_t>(step.config().num_groups())),
        multiprocessors_(multiprocessors),
        stream_(stream) {}

  /// Adds a launch of at most `most` tiles.
  template <class Launch>
  Status add(const WorkTag& work, std::int64_t most, const Launch& launch) {
    ENGINE_ASSIGN(DeviceBuffer buffer,
                  DeviceBuffer::allocate(most * std::int64_t{sizeof(kernels::TileStamp)},
                                         {AllocationRole::Check, "tile stamps"}));
    std::vector<kernels::TileStamp> stamps(static_cast<std::size_t>(most));
    std::vector<std::vector<LaunchTile>> launches;
    // The first launch loads the stamped kernel and is not counted.
    for (int turn = -1; turn < kStampedLaunches; ++turn) {
      ENGINE_CUDA_TRY(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream_),
                      "Clearing the stamps");
      ENGINE_TRY(launch(
          kernels::StampBuffer{.stamps = buffer.as<kernels::TileStamp>(), .capacity = most}));
      ENGINE_TRY(copy_to_host(std::span(stamps), buffer.data(), stream_));
      if (turn >= 0) launches.push_back(tiles_of(stamps));
    }
    add_experts(work, launches);
    // Of an even number the longer one in the middle: no launch lies between the two.
    const auto middle = launches.begin() + kStampedLaunches / 2;
    std::ranges::nth_element(launches, middle, {}, duration_of);
    if (middle->empty()) return {};  // of no rows
    TiledLaunch& made = stamped_.launches.emplace_back(
        tiled_launch(work.stage, work.writes, multiprocessors_, std::move(*middle)));
    made.launches = kStampedLaunches;
    return {};
  }

  StampedLaunches take() { return std::move(stamped_); }

 private:
  void add_experts(const WorkTag& work, const std::vector<std::vector<LaunchTile>>& launches) {
    std::vector<std::vector<double>> durations(groups_);
    for (const std::vector<LaunchTile>& tiles : launches) {
      std::vector<TileSpan> spans(groups_);
      for (const LaunchTile& tile : tiles) spans[static_cast<std::size_t>(tile.expert)].take(tile);
      for (std::size_t group = 0; group < groups_; ++group) {
        if (spans[group].any()) durations[group].push_back(spans[group].duration_ns());
      }
    }
    for (std::size_t group = 0; group < groups_; ++group) {
      if (durations[group].empty()) continue;  // no tiles
      ExpertTiming& timing = stamped_.experts.emplace_back();
      timing.method = ExpertMethod::Stamps;
      timing.stage = work.stage;
      timing.writes = work.writes;
      timing.expert = static_cast<int>(group);
      summarize_into(timing, std::move(durations[group]));
    }
  }

  std::size_t groups_;
  int multiprocessors_;
  cudaStream_t stream_;
  StampedLaunches stamped_;
};

Status add_products(const GroupedStep& step, cudaStream_t stream, Stamping& stamping) {
  for (const Product product : {Product::Fprop, Product::Dgrad, Product::Wgrad}) {
    const std::int64_t tiles = step.stamped_tiles(product);
    if (tiles == 0) continue;
    ENGINE_TRY(stamping.add(step.tag_of(product), tiles, [&](kernels::StampBuffer stamps) {
      return step.launch_stamped(product, stamps, stream);
    }));
  }
  return {};
}

}  // namespace

Result<StampedLaunches> stamp_launches(const GroupedStep& step, int multiprocessors,
                                       cudaStream_t stream) {
  const StepConfig& config = step.config();
  if (!config.quantized()) {
    return Error{ErrorCode::Unsupported,
                 "Stamps are left by quantize kernels and our own products, and this recipe "
                 "quantizes nothing"};
  }
  if (config.recipe.high_precision != ElementType::Bf16) {
    return Error{ErrorCode::Unsupported, "Stamped quantize kernels exist for BF16 input only"};
  }
  Stamping stamping(step, multiprocessors, stream);
  ENGINE_TRY(stamping.add(
      step.tag_of_activations(), tile_capacity(config),
      [&](kernels::StampBuffer stamps) { return step.quantize_activations(stream, stamps); }));
  ENGINE_TRY(add_products(step, stream, stamping));
  return stamping.take();
}

Result<StampedLaunches> stamp_products(const GroupedStep& step, int multiprocessors,
                                       cudaStream_t stream) {
  Stamping stamping(step, multiprocessors, stream);
  ENGINE_TRY(add_products(step, stream, stamping));
  return stamping.take();
}

}  // namespace engine
