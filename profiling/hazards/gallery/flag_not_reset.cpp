// A grid-wide barrier counts arrivals; the faulty program clears the counter after a launch, but
// not during capture.
#include <memory>
#include <utility>

#include "kernels/hazards/grouped_scale.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::DeviceBuffer;
using engine::Status;

class FlagNotReset final : public GroupedProgram {
 public:
  explicit FlagNotReset(bool healthy) : GroupedProgram("flag-not-reset", healthy) {}

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    ENGINE_ASSIGN(partial_amax_,
                  DeviceBuffer::allocate(kernels::kBarrierBlocks * std::int64_t{sizeof(float)},
                                         {AllocationRole::Quantized, "partial amax"}));
    ENGINE_ASSIGN(arrived_, DeviceBuffer::allocate(sizeof(std::uint32_t),
                                                   {AllocationRole::Counter, "arrived blocks"}));
    ENGINE_ASSIGN(gave_up_, DeviceBuffer::allocate(sizeof(std::uint32_t),
                                                   {AllocationRole::Check, "blocks that gave up"}));
    ENGINE_TRY(clear(arrived_, stream));
    return clear(gave_up_, stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    ENGINE_ASSIGN(const bool capturing, is_capturing(stream));
    if (healthy()) ENGINE_TRY(clear(arrived_, stream));
    ENGINE_TRY(work(observer, engine::Stage::Quantize, [&] {
      return kernels::scale_by_amax({.scale = scale(x(), y()),
                                     .partial_amax = partial_amax_.as<float>(),
                                     .arrived = arrived_.as<std::uint32_t>(),
                                     .gave_up = gave_up_.as<std::uint32_t>()},
                                    stream);
    }));
    // The mistake: a replay does not run this host code.
    if (!healthy() && !capturing) return clear(arrived_, stream);
    return {};
  }

  Status noted_errors(cudaStream_t stream) override {
    std::uint32_t gave_up = 0;
    ENGINE_TRY(
        engine::copy_to_host(std::span<std::uint32_t>(&gave_up, 1), gave_up_.data(), stream));
    if (gave_up == 0) return {};
    return engine::Error{engine::ErrorCode::Device,
                         "Blocks waited 20 s for the others at a barrier and gave up"};
  }

 private:
  static Status clear(const DeviceBuffer& word, cudaStream_t stream) {
    return engine::check_cuda(cudaMemsetAsync(word.data(), 0, sizeof(std::uint32_t), stream),
                              "Clearing a counter");
  }

  DeviceBuffer partial_amax_;
  DeviceBuffer arrived_;
  DeviceBuffer gave_up_;
};

}  // namespace

std::unique_ptr<GroupedProgram> make_flag_not_reset(bool healthy) {
  return std::make_unique<FlagNotReset>(healthy);
}

}  // namespace profiling
