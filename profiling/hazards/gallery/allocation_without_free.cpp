// A temporary tensor from the stream-ordered allocator, freed in the step or before the next one.
#include <memory>
#include <utility>

#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::Status;

class AllocationWithoutFree final : public GroupedProgram {
 public:
  explicit AllocationWithoutFree(bool healthy)
      : GroupedProgram("allocation-without-free", healthy) {}
  ~AllocationWithoutFree() override {
    if (of_last_step_ != nullptr) (void)cudaFree(of_last_step_);
  }

  Status reset(cudaStream_t stream) override {
    if (void* temporary = std::exchange(of_last_step_, nullptr)) {
      ENGINE_CUDA_TRY(cudaFreeAsync(temporary, stream), "Freeing a temporary tensor");
    }
    return GroupedProgram::reset(stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    ENGINE_ASSIGN(const bool capturing, is_capturing(stream));
    void* temporary = nullptr;
    ENGINE_CUDA_TRY(cudaMallocAsync(&temporary, kActivationBytes, stream),
                    "Allocating a temporary tensor");
    ENGINE_TRY(work(observer, engine::Stage::Quantize,
                    [&] { return kernels::grouped_scale(scale(x(), temporary), stream); }));
    ENGINE_TRY(work(observer, engine::Stage::Fprop,
                    [&] { return kernels::grouped_scale(scale(temporary, y()), stream); }));
    if (healthy()) {
      return engine::check_cuda(cudaFreeAsync(temporary, stream), "Freeing a temporary tensor");
    }
    // The mistake: no replay frees what the graph allocated.
    if (!capturing) of_last_step_ = temporary;
    return {};
  }

 private:
  void* of_last_step_ = nullptr;  // freed before the next eager step
};

}  // namespace

std::unique_ptr<GroupedProgram> make_allocation_without_free(bool healthy) {
  return std::make_unique<AllocationWithoutFree>(healthy);
}

}  // namespace profiling
