#include "engine/bench/quantize_bench.h"

#include <omp.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "engine/backend/cpu/machine.h"

namespace engine {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class CpuTarget final : public BenchTarget {
 public:
  Result<std::byte*> allocate(std::int64_t bytes) override {
    constexpr std::size_t kAlignment = 256;
    const std::size_t size = (static_cast<std::size_t>(bytes) / kAlignment + 1) * kAlignment;
    void* memory = std::aligned_alloc(kAlignment, size);
    if (memory == nullptr) {
      return Error{ErrorCode::OutOfMemory, "the host has not enough memory for this shape"};
    }
    std::memset(memory, 0, size);
    memory_.emplace_back(memory);
    return static_cast<std::byte*>(memory);
  }
  void release_all() override { memory_.clear(); }
  Status upload(std::byte* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return {};
  }
  Status copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    copy_in_parallel(to, from, bytes);
    return {};
  }

  Status run(const kernels::SplitsToOffsetsArgs& args) override {
    kernels::splits_to_offsets_cpu(args);
    return {};
  }
  Status run(const kernels::ActivateArgs& args) override {
    kernels::activate_cpu(args);
    return {};
  }
  Status run(const kernels::GroupAmaxArgs& args) override {
    kernels::group_amax_cpu(args);
    return {};
  }
  Status run(const kernels::PerTensorScaleArgs& args) override {
    kernels::per_tensor_scale_cpu(args);
    return {};
  }
  Status run(const kernels::QuantizePerTensorArgs& args) override {
    kernels::quantize_per_tensor_cpu(args);
    return {};
  }
  Status run(const kernels::QuantizeMxfp8Args& args) override {
    kernels::quantize_mxfp8_cpu(args);
    return {};
  }
  Status run(const kernels::Nvfp4AmaxArgs& args) override {
    kernels::nvfp4_amax_cpu(args);
    return {};
  }
  Status run(const kernels::QuantizeNvfp4Args& args) override {
    kernels::quantize_nvfp4_cpu(args);
    return {};
  }
  Status run_block(const kernels::QuantizeBlockArgs& args, bool square) override {
    if (square) {
      kernels::quantize_block_squares_cpu(args);
    } else {
      kernels::quantize_block_lines_cpu(args);
    }
    return {};
  }

  Result<double> time_us(const Launch& launch, int launches) override {
    ENGINE_TRY(launch());
    const std::int64_t start = steady_ns();
    for (int i = 0; i < launches; ++i) {
      ENGINE_TRY(launch());
    }
    return static_cast<double>(steady_ns() - start) * 1e-3 / launches;
  }
  int launches_per_time() const override { return 1; }
  std::string time_method() const override { return "steady clock around one launch"; }
  std::string pci_bus_id() const override { return {}; }
  std::string runtime() const override { return {}; }
  int threads() const override { return omp_get_max_threads(); }

 private:
  std::vector<std::unique_ptr<void, Free>> memory_;
};

}  // namespace

std::unique_ptr<BenchTarget> make_cpu_bench_target() { return std::make_unique<CpuTarget>(); }

}  // namespace engine
