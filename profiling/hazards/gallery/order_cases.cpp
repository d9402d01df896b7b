// Work whose order holds by luck: an early start, a second stream.
#include "engine/device/handles.h"
#include "profiling/hazards/gallery/grouped_program.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::DeviceBuffer;
using engine::Event;
using engine::Stage;
using engine::Status;
using engine::StepObserver;

/// Later work on `after` waits for the work on `before` so far.
Status order(const Event& event, cudaStream_t before, cudaStream_t after) {
  ENGINE_CUDA_TRY(cudaEventRecord(event.get(), before), "Recording an event");
  return engine::check_cuda(cudaStreamWaitEvent(after, event.get(), 0), "Waiting for an event");
}

/// X becomes a hidden activation, and that Y. It is poisoned before every launch: the previous
/// step's values would be correct by accident.
class HiddenActivation : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  Status prepare(cudaStream_t /*stream*/) override {
    return allocate(hidden_, kActivationBytes, AllocationRole::Quantized, "hidden activation");
  }

  Status reset(cudaStream_t stream) override {
    ENGINE_CUDA_TRY(cudaMemsetAsync(hidden_.data(), 0xFF, kActivationBytes, stream),
                    "Poisoning the hidden activation");
    return GroupedProgram::reset(stream);
  }

 protected:
  void* hidden() const { return hidden_.data(); }

 private:
  DeviceBuffer hidden_;
};

/// A producer that lets its consumer start early. Only captured launches use the attribute, "for
/// speed in graphs"; the faulty consumer does not wait for the producer's writes.
class ProgrammaticWithoutWait final : public HiddenActivation {
 public:
  using HiddenActivation::HiddenActivation;

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    // Far longer than a launch takes, so that the early consumer is always too early.
    constexpr std::uint64_t kProducerNs = 400'000;
    ENGINE_ASSIGN(const bool capturing, is_capturing(stream));
    kernels::GroupedScaleArgs producer = scale(x(), hidden());
    producer.busy_ns = kProducerNs;
    ENGINE_TRY(work(observer, Stage::Quantize,
                    [&] { return kernels::grouped_scale_early_trigger(producer, stream); }));
    return work(observer, Stage::Fprop, [&] {
      return kernels::grouped_scale_dependent(
          scale(hidden(), y()), {.programmatic = capturing, .waits_for_producer = healthy()},
          stream);
    });
  }
};

/// A step on two streams. The second does routing for a while and then reads what the first wrote
/// at its start; in the faulty program nothing orders the two.
class UnorderedSiblings final : public HiddenActivation {
 public:
  using HiddenActivation::HiddenActivation;

  Status prepare(cudaStream_t stream) override {
    ENGINE_TRY(HiddenActivation::prepare(stream));
    ENGINE_TRY(add_output(routed_, "routing weights"));
    ENGINE_ASSIGN(side_, engine::make_stream());
    ENGINE_ASSIGN(fork_, engine::make_order_event());
    ENGINE_ASSIGN(written_, engine::make_order_event());
    ENGINE_ASSIGN(join_, engine::make_order_event());
    return {};
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    // Long enough for the writer to finish, and a small part of the delay that experiments insert.
    constexpr std::uint64_t kRoutingNs = 400'000;
    const cudaStream_t side = side_.get();
    ENGINE_TRY(order(fork_, stream, side));
    ENGINE_TRY(launch(scale(x(), hidden()), Stage::Quantize, stream, observer));
    kernels::GroupedScaleArgs routing = scale(x(), routed_.data());
    routing.busy_ns = kRoutingNs;
    ENGINE_TRY(launch(routing, Stage::Other, side, observer));
    // The mistake: this is missing.
    if (healthy()) ENGINE_TRY(order(written_, stream, side));
    ENGINE_TRY(launch(scale(hidden(), y()), Stage::Fprop, side, observer));
    return order(join_, side, stream);
  }

 private:
  DeviceBuffer routed_;
  engine::Stream side_;
  Event fork_;
  Event written_;
  Event join_;
};

/// A step on two streams, with tensors from the stream-ordered allocator. Eager steps free a tensor
/// once both streams are done with it; the faulty program frees it at once under capture.
class FreedBeforeUse final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  Status prepare(cudaStream_t /*stream*/) override {
    ENGINE_TRY(add_output(routed_, "routing weights"));
    ENGINE_ASSIGN(side_, engine::make_stream());
    ENGINE_ASSIGN(fork_, engine::make_order_event());
    ENGINE_ASSIGN(join_, engine::make_order_event());
    return {};
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    // Far longer than the memset takes, so that the reader is always too late.
    constexpr std::uint64_t kRoutingNs = 400'000;
    const cudaStream_t side = side_.get();
    ENGINE_ASSIGN(const bool capturing, is_capturing(stream));
    const bool frees_early = capturing && !healthy();
    void* hidden = nullptr;
    ENGINE_CUDA_TRY(cudaMallocAsync(&hidden, kActivationBytes, stream), "Allocating a tensor");
    ENGINE_TRY(launch(scale(x(), hidden), Stage::Quantize, stream, observer));
    ENGINE_TRY(order(fork_, stream, side));
    kernels::GroupedScaleArgs routing = scale(x(), routed_.data());
    routing.busy_ns = kRoutingNs;
    ENGINE_TRY(launch(routing, Stage::Other, side, observer));
    ENGINE_TRY(launch(scale(hidden, y()), Stage::Fprop, side, observer));
    // The mistake: the second stream has not read it yet.
    if (frees_early) ENGINE_CUDA_TRY(cudaFreeAsync(hidden, stream), "Freeing a tensor too early");
    void* next = nullptr;  // gets that memory
    ENGINE_CUDA_TRY(cudaMallocAsync(&next, kActivationBytes, stream), "Allocating a second tensor");
    ENGINE_CUDA_TRY(cudaMemsetAsync(next, 0xFF, kActivationBytes, stream),
                    "Filling the second tensor");
    ENGINE_TRY(order(join_, side, stream));
    ENGINE_CUDA_TRY(cudaFreeAsync(next, stream), "Freeing the second tensor");
    if (frees_early) return {};
    return engine::check_cuda(cudaFreeAsync(hidden, stream), "Freeing a tensor");
  }

 private:
  DeviceBuffer routed_;
  engine::Stream side_;
  Event fork_;
  Event join_;
};

/// A step on two streams. In the faulty program only the caller's final synchronise joins them.
class MissingJoin final : public GroupedProgram {
 public:
  using GroupedProgram::GroupedProgram;

  Status prepare(cudaStream_t /*stream*/) override {
    ENGINE_TRY(add_output(z_, "Z"));
    ENGINE_ASSIGN(side_, engine::make_stream());
    ENGINE_ASSIGN(fork_, engine::make_order_event());
    ENGINE_ASSIGN(join_, engine::make_order_event());
    return {};
  }

  Status enqueue(int /*graph*/, cudaStream_t stream, StepObserver& observer) override {
    const cudaStream_t side = side_.get();
    ENGINE_TRY(order(fork_, stream, side));
    ENGINE_TRY(launch(scale(x(), y()), Stage::Fprop, stream, observer));
    ENGINE_TRY(launch(scale(x(), z_.data()), Stage::Fprop, side, observer));
    if (!healthy()) return {};  // the mistake: nothing waits for the second stream
    return order(join_, side, stream);
  }

  engine::Result<std::vector<std::uint64_t>> checksums(cudaStream_t stream) override {
    ENGINE_CUDA_TRY(cudaStreamSynchronize(side_.get()), "Waiting for the second stream");
    return GroupedProgram::checksums(stream);
  }

 private:
  DeviceBuffer z_;
  engine::Stream side_;
  Event fork_;
  Event join_;
};

}  // namespace

std::span<const GalleryProgram> order_programs() {
  static constexpr GalleryProgram kPrograms[] = {
      {"programmatic-without-wait", make_program<ProgrammaticWithoutWait>},
      {"unordered-siblings", make_program<UnorderedSiblings>},
      {"freed-before-use", make_program<FreedBeforeUse>},
      {"missing-join", make_program<MissingJoin>},
  };
  return kPrograms;
}

}  // namespace profiling
