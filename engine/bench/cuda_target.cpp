#include "engine/bench/quantize_bench.h"

#include <cuda_runtime_api.h>

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "engine/device/batch_clock.h"
#include "engine/device/buffer.h"
#include "engine/device/check.h"
#include "engine/device/device_facts.h"

namespace engine {
namespace {

struct OnDevice {
  cudaStream_t stream = nullptr;

  cudaError_t operator()(const CopyCall& call) const {
    return cudaMemcpyAsync(call.to, call.from, static_cast<std::size_t>(call.bytes),
                           cudaMemcpyDeviceToDevice, stream);
  }
  cudaError_t operator()(const BlockCall& call) const {
    return call.square ? kernels::quantize_block_squares(call.args, stream)
                       : kernels::quantize_block_lines(call.args, stream);
  }
  cudaError_t operator()(const kernels::SplitsToOffsetsArgs& args) const {
    return splits_to_offsets(args, stream);
  }
  cudaError_t operator()(const kernels::ActivateArgs& args) const { return activate(args, stream); }
  cudaError_t operator()(const kernels::GroupAmaxArgs& args) const {
    return group_amax(args, stream);
  }
  cudaError_t operator()(const kernels::PerTensorScaleArgs& args) const {
    return per_tensor_scale(args, stream);
  }
  cudaError_t operator()(const kernels::QuantizePerTensorArgs& args) const {
    return quantize_per_tensor(args, stream);
  }
  cudaError_t operator()(const kernels::QuantizeMxfp8Args& args) const {
    return quantize_mxfp8(args, stream);
  }
  cudaError_t operator()(const kernels::Nvfp4AmaxArgs& args) const {
    return nvfp4_amax(args, stream);
  }
  cudaError_t operator()(const kernels::QuantizeNvfp4Args& args) const {
    return quantize_nvfp4(args, stream);
  }
};

class CudaTarget final : public BenchTarget {
 public:
  CudaTarget(Stream stream, BatchClock clock)
      : stream_(std::move(stream)), clock_(std::move(clock)) {}

  Result<std::byte*> allocate(std::int64_t bytes) override {
    ENGINE_ASSIGN(DeviceBuffer buffer,
                  DeviceBuffer::allocate(bytes, {AllocationRole::Check, "benchmark"}));
    ENGINE_CUDA_TRY(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream()),
                    "Clearing the benchmark's memory");
    memory_.push_back(std::move(buffer));
    return memory_.back().data();
  }
  void release_all() override {
    (void)cudaStreamSynchronize(stream());  // a cancelled round may still run
    memory_.clear();
  }
  Status upload(std::byte* to, const void* from, std::int64_t bytes) override {
    return copy_to_device(
        to, std::span(static_cast<const std::byte*>(from), static_cast<std::size_t>(bytes)),
        stream());
  }
  Status run(const KernelCall& call) override {
    return check_cuda(std::visit(OnDevice{stream()}, call), "Launching a kernel of the benchmark");
  }

  Result<double> time_us(const Launch& launch, int launches) override {
    ENGINE_TRY(run_all(launch));
    ENGINE_ASSIGN(const double elapsed,
                  clock_.time(launches, stream(), [&] { return run_all(launch); }));
    return elapsed * 1e-3;
  }
  // Timing a single launch would include the gap after it.
  int launches_per_time() const override { return 4; }
  std::string time_method() const override {
    return "CUDA events around 4 launches, after one that is not timed";
  }
  std::string pci_bus_id() const override { return device_bus_id(); }
  std::string runtime() const override { return cuda_runtime_text(); }
  int threads() const override { return 0; }

 private:
  cudaStream_t stream() const { return stream_.get(); }

  Stream stream_;
  BatchClock clock_;
  std::vector<DeviceBuffer> memory_;
};

}  // namespace

Result<std::unique_ptr<BenchTarget>> make_cuda_bench_target() {
  ENGINE_ASSIGN(Stream stream, make_stream());
  ENGINE_ASSIGN(BatchClock clock, BatchClock::create());
  return std::unique_ptr<BenchTarget>(
      std::make_unique<CudaTarget>(std::move(stream), std::move(clock)));
}

}  // namespace engine
