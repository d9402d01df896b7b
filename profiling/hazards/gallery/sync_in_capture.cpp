// The faulty program copies the row offsets to the host and waits for them, to size its launch.
#include <algorithm>
#include <memory>
#include <utility>

#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::Status;

class SyncInCapture final : public GroupedProgram {
 public:
  explicit SyncInCapture(bool healthy) : GroupedProgram("sync-in-capture", healthy) {}

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    ENGINE_ASSIGN(host_offsets_,
                  engine::PinnedBuffer::allocate(
                      kOffsetBytes, {engine::AllocationRole::Splits, "host's row offsets"}));
    return {};
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    kernels::GroupedScaleArgs args = scale(x(), y());
    if (!healthy()) {
      ENGINE_CUDA_TRY(cudaMemcpyAsync(host_offsets_.as<void>(), args.row_offsets, kOffsetBytes,
                                      cudaMemcpyDeviceToHost, stream),
                      "Copying the row offsets");
      // The mistake: under capture there is nothing to wait for.
      ENGINE_CUDA_TRY(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      args.tiles_per_group = tiles_of_largest();
    }
    return work(observer, engine::Stage::Fprop,
                [&] { return kernels::grouped_scale(args, stream); });
  }

 private:
  static constexpr std::int64_t kOffsetBytes = std::int64_t{kGroups + 1} * 8;

  int tiles_of_largest() const {
    const auto* offsets = host_offsets_.as<const std::int64_t>();
    std::int64_t rows = 1;
    for (int group = 0; group < kGroups; ++group) {
      rows = std::max(rows, offsets[group + 1] - offsets[group]);
    }
    return static_cast<int>((rows + kernels::kHazardRowsPerTile - 1) / kernels::kHazardRowsPerTile);
  }

  engine::PinnedBuffer host_offsets_;
};

}  // namespace

std::unique_ptr<GroupedProgram> make_sync_in_capture(bool healthy) {
  return std::make_unique<SyncInCapture>(healthy);
}

}  // namespace profiling
