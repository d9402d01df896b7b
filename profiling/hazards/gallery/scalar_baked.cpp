// The host's schedule changes a scale between steps: by value, or in device memory.
#include <memory>
#include <utility>

#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::Status;

class ScalarBaked final : public GroupedProgram {
 public:
  explicit ScalarBaked(bool healthy) : GroupedProgram("scalar-baked", healthy) {}

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    ENGINE_ASSIGN(device_scale_,
                  engine::DeviceBuffer::allocate(
                      sizeof(float), {engine::AllocationRole::Input, "scale of the step"}));
    return set_inputs(false, stream);
  }

  Status set_inputs(bool changed, cudaStream_t stream) override {
    scale_ = changed ? 0.375F : 1.5F;
    return engine::copy_to_device(device_scale_.data(), std::span<const float>(&scale_, 1), stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    kernels::GroupedScaleArgs args = scale(x(), y());
    if (healthy()) {
      args.device_scale = device_scale_.as<float>();
    } else {
      args.scale = scale_;  // the mistake: a captured launch keeps this value
    }
    return work(observer, engine::Stage::Fprop,
                [&] { return kernels::grouped_scale(args, stream); });
  }

 private:
  float scale_ = 1.0F;
  engine::DeviceBuffer device_scale_;
};

}  // namespace

std::unique_ptr<GroupedProgram> make_scalar_baked(bool healthy) {
  return std::make_unique<ScalarBaked>(healthy);
}

}  // namespace profiling
