// A step on two streams. In the faulty program only the caller's final synchronise joins them.
#include <memory>
#include <utility>

#include "engine/device/handles.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::Status;

class MissingJoin final : public GroupedProgram {
 public:
  explicit MissingJoin(bool healthy) : GroupedProgram("missing-join", healthy) {}

  Status set_up(cudaStream_t stream) override {
    ENGINE_TRY(GroupedProgram::set_up(stream));
    ENGINE_ASSIGN(z_, activation(engine::AllocationRole::Output, "Z"));
    check("Z", z_.data());
    ENGINE_ASSIGN(side_, engine::make_stream());
    for (engine::Event* event : {&fork_, &join_}) {
      ENGINE_ASSIGN(engine::Event made, engine::make_order_event());
      *event = std::move(made);
    }
    return {};
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, engine::StepObserver& observer) override {
    const cudaStream_t side = side_.get();
    ENGINE_CUDA_TRY(cudaEventRecord(fork_.get(), stream), "Recording an event");
    ENGINE_CUDA_TRY(cudaStreamWaitEvent(side, fork_.get(), 0), "Waiting for an event");
    ENGINE_TRY(work(observer, engine::Stage::Fprop,
                    [&] { return kernels::grouped_scale(scale(x(), y()), stream); }));
    ENGINE_TRY(work(observer, engine::Stage::Fprop,
                    [&] { return kernels::grouped_scale(scale(x(), z_.data()), side); }));
    if (!healthy()) return {};  // the mistake: nothing waits for the second stream
    ENGINE_CUDA_TRY(cudaEventRecord(join_.get(), side), "Recording an event");
    return engine::check_cuda(cudaStreamWaitEvent(stream, join_.get(), 0), "Waiting for an event");
  }

  engine::Result<std::vector<std::uint64_t>> checksums(cudaStream_t stream) override {
    ENGINE_CUDA_TRY(cudaStreamSynchronize(side_.get()), "Waiting for the second stream");
    return GroupedProgram::checksums(stream);
  }

 private:
  engine::DeviceBuffer z_;
  engine::Stream side_;
  engine::Event fork_;
  engine::Event join_;
};

}  // namespace

std::unique_ptr<GroupedProgram> make_missing_join(bool healthy) {
  return std::make_unique<MissingJoin>(healthy);
}

}  // namespace profiling
