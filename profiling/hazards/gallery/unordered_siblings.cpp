// A step on two streams. The second does routing for a while and then reads what the first wrote at
// its start; in the faulty program nothing orders the two.
#include <memory>
#include <utility>

#include "engine/device/handles.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::DeviceBuffer;
using engine::Status;

/// Long enough for the writer to finish, and a small part of the delay that experiments insert.
constexpr std::uint64_t kRoutingNs = 400'000;

class UnorderedSiblings final : public GroupedProgram {
 public:
  explicit UnorderedSiblings(bool healthy) : GroupedProgram("unordered-siblings", healthy) {}

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    ENGINE_ASSIGN(hidden_, activation(AllocationRole::Quantized, "quantized activation"));
    ENGINE_ASSIGN(routed_, activation(AllocationRole::Output, "routing weights"));
    check("routing weights", routed_.data());
    ENGINE_ASSIGN(side_, engine::make_stream());
    for (engine::Event* event : {&fork_, &written_, &join_}) {
      ENGINE_ASSIGN(engine::Event made, engine::make_order_event());
      *event = std::move(made);
    }
    return {};
  }

  Status reset(cudaStream_t stream) override {
    // The previous step's values would be correct by accident.
    ENGINE_CUDA_TRY(cudaMemsetAsync(hidden_.data(), 0xFF, kActivationBytes, stream),
                    "Poisoning the quantized activation");
    return GroupedProgram::reset(stream);
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    const cudaStream_t side = side_.get();
    ENGINE_TRY(order(fork_, stream, side));
    ENGINE_TRY(work(observer, engine::Stage::Quantize,
                    [&] { return kernels::grouped_scale(scale(x(), hidden_.data()), stream); }));
    kernels::GroupedScaleArgs routing = scale(x(), routed_.data());
    routing.busy_ns = kRoutingNs;
    ENGINE_TRY(work(observer, engine::Stage::Other,
                    [&] { return kernels::grouped_scale(routing, side); }));
    // The mistake: this is missing.
    if (healthy()) ENGINE_TRY(order(written_, stream, side));
    ENGINE_TRY(work(observer, engine::Stage::Fprop,
                    [&] { return kernels::grouped_scale(scale(hidden_.data(), y()), side); }));
    return order(join_, side, stream);
  }

 private:
  /// Later work on `after` waits for the work on `before` so far.
  static Status order(const engine::Event& event, cudaStream_t before, cudaStream_t after) {
    ENGINE_CUDA_TRY(cudaEventRecord(event.get(), before), "Recording an event");
    return engine::check_cuda(cudaStreamWaitEvent(after, event.get(), 0), "Waiting for an event");
  }

  DeviceBuffer hidden_;
  DeviceBuffer routed_;
  engine::Stream side_;
  engine::Event fork_;
  engine::Event written_;
  engine::Event join_;
};

}  // namespace

std::unique_ptr<GroupedProgram> make_unordered_siblings(bool healthy) {
  return std::make_unique<UnorderedSiblings>(healthy);
}

}  // namespace profiling
