// Captures launch a different instance of the kernel from eager steps; the faulty program has never
// launched it before.
#include <memory>

#include "kernels/hazards/grouped_scale.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::Status;
using kernels::LateInstance;

class LazyLoadInCapture final : public GroupedProgram {
 public:
  explicit LazyLoadInCapture(bool healthy) : GroupedProgram("lazy-load-in-capture", healthy) {}

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    if (!healthy()) return {};  // the mistake: no warm-up of the kernel to be captured
    return engine::check_cuda(
        kernels::grouped_scale_instance(scale(x(), y()), LateInstance::Captured, stream),
        "Warming up a kernel");
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    ENGINE_ASSIGN(const bool capturing, is_capturing(stream));
    const LateInstance instance = capturing ? LateInstance::Captured : LateInstance::Eager;
    return work(observer, engine::Stage::Fprop,
                [&] { return kernels::grouped_scale_instance(scale(x(), y()), instance, stream); });
  }
};

}  // namespace

std::unique_ptr<GroupedProgram> make_lazy_load_in_capture(bool healthy) {
  return std::make_unique<LazyLoadInCapture>(healthy);
}

}  // namespace profiling
