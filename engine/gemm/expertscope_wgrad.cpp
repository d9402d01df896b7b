#include <fmt/format.h>

#include "engine/gemm/expertscope_products.h"

namespace engine {
namespace {

class ExpertscopeWgrad final : public GroupedProduct {
 public:
  explicit ExpertscopeWgrad(const kernels::WgradBlockArgs& args) : args_(args) {
    args_.stamps = {};
  }

  Status launch(void*, cudaStream_t stream, const LaunchLabel&) const override {
    return launch_stamped({}, stream);
  }

  Status launch_expert(int, void*, cudaStream_t) const override {
    return Error{ErrorCode::Unsupported, "One grouped launch serves all experts"};
  }

  std::int64_t stamped_tiles() const override { return kernels::wgrad_block_tiles(args_); }

  Status launch_stamped(kernels::StampBuffer stamps, cudaStream_t stream) const override {
    kernels::WgradBlockArgs args = args_;
    args.stamps = stamps;
    return check_cuda(kernels::wgrad_block(args, stream), "Launching the weight-gradient kernel");
  }

  Result<AlgorithmTrial> try_candidates(std::span<const std::int64_t>, void*,
                                        cudaStream_t) override {
    return AlgorithmTrial{};
  }

 private:
  kernels::WgradBlockArgs args_;
};

}  // namespace

Result<std::unique_ptr<GroupedProduct>> make_expertscope_wgrad(
    const kernels::WgradBlockArgs& args) {
  if (args.n % 16 != 0 || args.k % 16 != 0) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("Expertscope's weight gradients need N and K in multiples of 16, and "
                             "these are {} and {}; choose cuBLASLt grouped, or such a shape",
                             args.n, args.k)};
  }
  return std::unique_ptr<GroupedProduct>(std::make_unique<ExpertscopeWgrad>(args));
}

}  // namespace engine
