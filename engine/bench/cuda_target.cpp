#include "engine/bench/quantize_bench.h"

#include <cuda_runtime_api.h>

#include <span>
#include <utility>
#include <vector>

#include "engine/device/batch_clock.h"
#include "engine/device/buffer.h"
#include "engine/device/check.h"
#include "engine/device/device_facts.h"

namespace engine {
namespace {

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
  Status copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    return check_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes),
                                      cudaMemcpyDeviceToDevice, stream()),
                      "Copying on the device");
  }

  Status run(const kernels::SplitsToOffsetsArgs& args) override {
    return check_cuda(kernels::splits_to_offsets(args, stream()), "Computing offsets");
  }
  Status run(const kernels::ActivateArgs& args) override {
    return check_cuda(kernels::activate(args, stream()), "Applying the activation");
  }
  Status run(const kernels::GroupAmaxArgs& args) override {
    return check_cuda(kernels::group_amax(args, stream()), "Finding the largest magnitudes");
  }
  Status run(const kernels::PerTensorScaleArgs& args) override {
    return check_cuda(kernels::per_tensor_scale(args, stream()), "Computing scales");
  }
  Status run(const kernels::QuantizePerTensorArgs& args) override {
    return check_cuda(kernels::quantize_per_tensor(args, stream()), "Quantizing per tensor");
  }
  Status run(const kernels::QuantizeMxfp8Args& args) override {
    return check_cuda(kernels::quantize_mxfp8(args, stream()), "Quantizing to MXFP8");
  }
  Status run(const kernels::Nvfp4AmaxArgs& args) override {
    return check_cuda(kernels::nvfp4_amax(args, stream()), "Finding NVFP4's magnitudes");
  }
  Status run(const kernels::QuantizeNvfp4Args& args) override {
    return check_cuda(kernels::quantize_nvfp4(args, stream()), "Quantizing to NVFP4");
  }
  Status run_block(const kernels::QuantizeBlockArgs& args, bool square) override {
    return check_cuda(square ? kernels::quantize_block_squares(args, stream())
                             : kernels::quantize_block_lines(args, stream()),
                      "Quantizing in blocks");
  }

  Result<double> time_us(const Launch& launch, int launches) override {
    ENGINE_TRY(launch());
    ENGINE_ASSIGN(const double elapsed, clock_.time(launches, stream(), launch));
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
