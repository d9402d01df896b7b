#include "engine/linear/product_alphas.h"

#include <utility>
#include <vector>

namespace engine {

Result<ProductAlphas> ProductAlphas::create(const StepConfig& config, const OperandSource& a,
                                            const OperandSource& b, cudaStream_t stream) {
  const std::int64_t groups = config.num_groups;
  ProductAlphas made;
  Result<DeviceBuffer> alphas = DeviceBuffer::allocate(std::int64_t{sizeof(float)} * groups,
                                                       {AllocationRole::Quantized, "alphas"});
  if (!alphas.ok()) return alphas.error();
  made.alphas_ = std::move(alphas).value();
  Result<DeviceBuffer> pointers = DeviceBuffer::allocate(
      std::int64_t{sizeof(void*)} * groups, {AllocationRole::PointerArray, "pointers to alphas"});
  if (!pointers.ok()) return pointers.error();
  made.pointers_ = std::move(pointers).value();
  made.args_ = {.amax_a = a.amax,
                .amax_b = b.amax,
                .num_groups = config.num_groups,
                .alpha = made.alphas_.as<float>()};
  std::vector<float*> addresses;
  for (std::int64_t group = 0; group < groups; ++group) {
    addresses.push_back(made.alphas_.as<float>() + group);
  }
  ENGINE_TRY(copy_to_device<float*>(made.pointers_.data(), addresses, stream));
  return made;
}

Status ProductAlphas::launch(kernels::LaunchStream stream) const {
  return check_cuda(kernels::nvfp4_alpha(args_, stream), "Launching the alpha kernel");
}

}  // namespace engine
