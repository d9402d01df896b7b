// What an eager step may do and a capture may not.
#include <algorithm>

#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::Stage;
using engine::Status;
using engine::StepObserver;
using kernels::LateInstance;

/// Captures launch a different instance of the kernel from eager steps; the faulty program has
/// never launched it before.
class LazyLoadInCapture final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  Status prepare(cudaStream_t stream) override {
    if (!healthy()) return {};  // the mistake: no warm-up of the kernel to be captured
    return engine::check_cuda(
        kernels::grouped_scale_instance(scale(x(), y()), LateInstance::Captured, stream),
        "Warming up a kernel");
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    ENGINE_ASSIGN(const bool capturing, is_capturing(stream));
    const LateInstance instance = capturing ? LateInstance::Captured : LateInstance::Eager;
    return work(observer, Stage::Fprop,
                [&] { return kernels::grouped_scale_instance(scale(x(), y()), instance, stream); });
  }
};

/// The faulty program copies the row offsets to the host and waits for them, to size its launch.
class SyncInCapture final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  Status prepare(cudaStream_t /*stream*/) override {
    return allocate(host_offsets_, kOffsetBytes, engine::AllocationRole::Splits,
                    "host's row offsets");
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    kernels::GroupedScaleArgs args = scale(x(), y());
    if (!healthy()) {
      ENGINE_CUDA_TRY(cudaMemcpyAsync(host_offsets_.as<void>(), args.row_offsets, kOffsetBytes,
                                      cudaMemcpyDeviceToHost, stream),
                      "Copying the row offsets");
      // The mistake: under capture there is nothing to wait for.
      ENGINE_CUDA_TRY(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      args.tiles_per_group = tiles_of(rows_of_largest());
    }
    return launch(args, Stage::Fprop, stream, observer);
  }

 private:
  static constexpr std::int64_t kOffsetBytes = std::int64_t{kGroups + 1} * 8;

  std::int64_t rows_of_largest() const {
    const auto* offsets = host_offsets_.as<const std::int64_t>();
    std::int64_t rows = 1;
    for (int group = 0; group < kGroups; ++group) {
      rows = std::max(rows, offsets[group + 1] - offsets[group]);
    }
    return rows;
  }

  engine::PinnedBuffer host_offsets_;
};

}  // namespace

std::span<const GalleryProgram> capture_programs() {
  static constexpr GalleryProgram kPrograms[] = {
      {"lazy-load-in-capture", make_program<LazyLoadInCapture>},
      {"sync-in-capture", make_program<SyncInCapture>},
  };
  return kPrograms;
}

}  // namespace profiling
