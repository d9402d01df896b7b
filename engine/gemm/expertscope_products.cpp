#include "engine/gemm/expertscope_products.h"

#include <fmt/format.h>

namespace engine {
namespace {

struct MGroupedKernel {
  using Args = kernels::MGroupedBlockArgs;
  static cudaError_t launch(const Args& args, cudaStream_t stream) {
    return kernels::m_grouped_block(args, stream);
  }
  static std::int64_t tiles(const Args& args) { return kernels::m_grouped_block_tiles(args); }
};

struct WgradKernel {
  using Args = kernels::WgradBlockArgs;
  static cudaError_t launch(const Args& args, cudaStream_t stream) {
    return kernels::wgrad_block(args, stream);
  }
  static std::int64_t tiles(const Args& args) { return kernels::wgrad_block_tiles(args); }
};

template <class Kernel>
class ExpertscopeProduct final : public GroupedProduct {
 public:
  explicit ExpertscopeProduct(const typename Kernel::Args& args) : args_(args) {
    args_.stamps = {};
  }

  Status launch(void*, cudaStream_t stream, const LaunchLabel&) const override {
    return launch_stamped({}, stream);
  }

  Status launch_expert(int, void*, cudaStream_t) const override {
    return Error{ErrorCode::Unsupported, "One grouped launch serves all experts"};
  }

  std::int64_t stamped_tiles() const override { return Kernel::tiles(args_); }

  Status launch_stamped(kernels::StampBuffer stamps, cudaStream_t stream) const override {
    typename Kernel::Args args = args_;
    args.stamps = stamps;
    return check_cuda(Kernel::launch(args, stream), "Launching Expertscope's product");
  }

  Result<AlgorithmTrial> try_candidates(std::span<const std::int64_t>, void*,
                                        cudaStream_t) override {
    return AlgorithmTrial{};
  }

 private:
  typename Kernel::Args args_;
};

template <class Kernel>
Result<std::unique_ptr<GroupedProduct>> make(const typename Kernel::Args& args, std::int64_t n,
                                             std::int64_t k) {
  if (n % 16 != 0 || k % 16 != 0) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("Expertscope's products need N and K in multiples of 16, and these "
                             "are {} and {}; choose cuBLASLt grouped, or such a shape",
                             n, k)};
  }
  return std::unique_ptr<GroupedProduct>(std::make_unique<ExpertscopeProduct<Kernel>>(args));
}

}  // namespace

Result<std::unique_ptr<GroupedProduct>> make_expertscope_m_grouped(
    const kernels::MGroupedBlockArgs& args) {
  return make<MGroupedKernel>(args, args.columns, args.reduction);
}

Result<std::unique_ptr<GroupedProduct>> make_expertscope_wgrad(
    const kernels::WgradBlockArgs& args) {
  return make<WgradKernel>(args, args.n, args.k);
}

}  // namespace engine
