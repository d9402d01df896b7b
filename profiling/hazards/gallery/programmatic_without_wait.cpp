// A producer that lets its consumer start early. Only captured launches use the attribute, "for
// speed in graphs"; the faulty consumer does not wait for the producer's writes.
#include <memory>
#include <utility>

#include "kernels/hazards/grouped_scale.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::Status;

/// Far longer than a launch takes, so that the early consumer is always too early.
constexpr std::uint64_t kProducerNs = 400'000;

class ProgrammaticWithoutWait final : public GroupedProgram {
 public:
  explicit ProgrammaticWithoutWait(bool healthy)
      : GroupedProgram("programmatic-without-wait", healthy) {}

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    ENGINE_ASSIGN(hidden_, activation(engine::AllocationRole::Quantized, "hidden activation"));
    return {};
  }

  Status reset(cudaStream_t stream) override {
    // The previous step's values would be correct by accident.
    ENGINE_CUDA_TRY(cudaMemsetAsync(hidden_.data(), 0xFF, kActivationBytes, stream),
                    "Poisoning the hidden activation");
    return GroupedProgram::reset(stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    ENGINE_ASSIGN(const bool capturing, is_capturing(stream));
    kernels::GroupedScaleArgs producer = scale(x(), hidden_.data());
    producer.busy_ns = kProducerNs;
    ENGINE_TRY(work(observer, engine::Stage::Quantize,
                    [&] { return kernels::grouped_scale_early_trigger(producer, stream); }));
    return work(observer, engine::Stage::Fprop, [&] {
      return kernels::grouped_scale_dependent(
          scale(hidden_.data(), y()), {.programmatic = capturing, .waits_for_producer = healthy()},
          stream);
    });
  }

 private:
  engine::DeviceBuffer hidden_;
};

}  // namespace

std::unique_ptr<GroupedProgram> make_programmatic_without_wait(bool healthy) {
  return std::make_unique<ProgrammaticWithoutWait>(healthy);
}

}  // namespace profiling
