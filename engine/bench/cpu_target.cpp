#include "engine/bench/quantize_bench.h"

#include <omp.h>

#include <cstdlib>
#include <cstring>
#include <variant>
#include <vector>

#include "engine/backend/cpu/machine.h"

namespace engine {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

struct OnCpu {
  void operator()(const CopyCall& call) const { copy_in_parallel(call.to, call.from, call.bytes); }
  void operator()(const BlockCall& call) const {
    call.square ? kernels::quantize_block_squares_cpu(call.args)
                : kernels::quantize_block_lines_cpu(call.args);
  }
  void operator()(const kernels::SplitsToOffsetsArgs& args) const { splits_to_offsets_cpu(args); }
  void operator()(const kernels::ActivateArgs& args) const { activate_cpu(args); }
  void operator()(const kernels::GroupAmaxArgs& args) const { group_amax_cpu(args); }
  void operator()(const kernels::PerTensorScaleArgs& args) const { per_tensor_scale_cpu(args); }
  void operator()(const kernels::QuantizePerTensorArgs& args) const {
    quantize_per_tensor_cpu(args);
  }
  void operator()(const kernels::QuantizeMxfp8Args& args) const { quantize_mxfp8_cpu(args); }
  void operator()(const kernels::Nvfp4AmaxArgs& args) const { nvfp4_amax_cpu(args); }
  void operator()(const kernels::QuantizeNvfp4Args& args) const { quantize_nvfp4_cpu(args); }
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
  Status run(const KernelCall& call) override {
    std::visit(OnCpu{}, call);
    return {};
  }

  Result<double> time_us(const Launch& launch, int launches) override {
    ENGINE_TRY(run_all(launch));
    const std::int64_t start = steady_ns();
    for (int i = 0; i < launches; ++i) {
      ENGINE_TRY(run_all(launch));
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
