#include "engine/quantize/quantize_cuda.h"

#include "kernels/amax/group_amax.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace engine {

using kernels::Direction;

namespace {

#ifdef EXPERTSCOPE_KERNEL_PER_TENSOR_COLUMNWISE
constexpr bool kPerTensorColumns = true;
#else
constexpr bool kPerTensorColumns = false;
#endif
#ifdef EXPERTSCOPE_KERNEL_BLOCK_COLUMNWISE
constexpr bool kBlockColumns = true;
#else
constexpr bool kBlockColumns = false;
#endif

}  // namespace

std::string cuda_refusal(const Recipe& recipe, Direction direction) {
  const bool rowwise = direction == Direction::Rowwise;
  switch (recipe.scaling) {
    case Scaling::None:
      return "BF16 quantizes nothing; choose an FP8 or FP4 recipe";
    case Scaling::PerTensorCurrent:
      if (rowwise || kPerTensorColumns) return {};
      return "the columnwise per-tensor kernel is not in this build; choose the CPU backend";
    case Scaling::Block:
      if (rowwise || kBlockColumns) return {};
      return "the columnwise block kernel is not in this build; choose the CPU backend";
    case Scaling::PerTensorDelayed:
    case Scaling::Mxfp8:
    case Scaling::Nvfp4:
      break;
  }
  return "comparisons on the device cover current per-tensor and block scaling; choose the CPU "
         "backend for this recipe";
}

Result<CudaQuantizer> CudaQuantizer::create(const Setup& setup, cudaStream_t stream) {
  const kernels::GroupedInput& input = setup.input;
  CudaQuantizer made;
  made.setup_ = setup;
  made.layout_ = operand_layout(setup.recipe, setup.role, setup.direction,
                                {.capacity_rows = input.capacity_rows,
                                 .num_groups = input.num_groups,
                                 .columns = input.columns});
  const OperandLayout& layout = made.layout_;
  constexpr std::int64_t kFloat = sizeof(float);
  made.amax_count_ = layout.kernel == QuantizeKernel::PerTensor ? input.num_groups
                                                                : layout.scale_capacity / kFloat;
  const auto allocate = [](DeviceBuffer& buffer, std::int64_t bytes) -> Status {
    Result<DeviceBuffer> allocated = DeviceBuffer::allocate(bytes);
    if (!allocated.ok()) return allocated.error();
    buffer = std::move(allocated).value();
    return {};
  };
  ENGINE_TRY(allocate(made.codes_, layout.code_capacity));
  ENGINE_TRY(allocate(made.scales_, layout.scale_capacity));
  ENGINE_TRY(allocate(made.scale_, kFloat * input.num_groups));
  ENGINE_TRY(allocate(made.amax_, kFloat * made.amax_count_));
  // Padding is never written, but it comes back with the rest.
  for (const DeviceBuffer* buffer : {&made.codes_, &made.scales_, &made.amax_}) {
    ENGINE_CUDA_TRY(cudaMemsetAsync(buffer->data(), 0, buffer->bytes(), stream),
                    "Clearing a quantized operand");
  }
  return made;
}

Status CudaQuantizer::quantize(cudaStream_t stream) const {
  return layout_.kernel == QuantizeKernel::PerTensor ? quantize_per_tensor(stream)
                                                     : quantize_blocks(stream);
}

Status CudaQuantizer::quantize_per_tensor(cudaStream_t stream) const {
  ENGINE_CUDA_TRY(kernels::group_amax({.input = setup_.input, .amax = amax_.as<float>()}, stream),
                  "Launching the amax kernel");
  ENGINE_CUDA_TRY(kernels::per_tensor_scale({.amax = amax_.as<float>(),
                                             .num_groups = setup_.input.num_groups,
                                             .format = layout_.format,
                                             .options = options(),
                                             .scale = scale_.as<float>(),
                                             .scale_inv = scales_.as<float>()},
                                            stream),
                  "Launching the scale kernel");
  const bool rowwise = setup_.direction == Direction::Rowwise;
  auto* codes = codes_.as<std::uint8_t>();
  ENGINE_CUDA_TRY(kernels::quantize_per_tensor({.input = setup_.input,
                                                .format = layout_.format,
                                                .scale = scale_.as<float>(),
                                                .rowwise = rowwise ? codes : nullptr,
                                                .columnwise = rowwise ? nullptr : codes},
                                               stream),
                  "Launching the per-tensor kernel");
  return {};
}

Status CudaQuantizer::quantize_blocks(cudaStream_t stream) const {
  const bool rowwise = setup_.direction == Direction::Rowwise;
  const kernels::BlockOutput output{.codes = codes_.as<std::uint8_t>(),
                                    .scale_inv = scales_.as<float>(),
                                    .block_amax = amax_.as<float>()};
  const kernels::QuantizeBlockArgs args{.input = setup_.input,
                                        .format = layout_.format,
                                        .options = options(),
                                        .rowwise = rowwise ? output : kernels::BlockOutput{},
                                        .columnwise = rowwise ? kernels::BlockOutput{} : output};
  const cudaError_t launched = layout_.kernel == QuantizeKernel::Block1x128
                                   ? kernels::quantize_block_1x128(args, stream)
                                   : kernels::quantize_block_128x128(args, stream);
  return check_cuda(launched, "Launching the block kernel");
}

Result<CudaQuantizer::HostArrays> CudaQuantizer::download(cudaStream_t stream) const {
  HostArrays host;
  host.codes.resize(static_cast<std::size_t>(layout_.code_capacity));
  host.scales.resize(static_cast<std::size_t>(layout_.scale_capacity));
  host.amax.resize(static_cast<std::size_t>(amax_count_));
  ENGINE_TRY(copy_to_host(std::span<std::uint8_t>(host.codes), codes_.data(), stream));
  ENGINE_TRY(copy_to_host(std::span<std::uint8_t>(host.scales), scales_.data(), stream));
  ENGINE_TRY(copy_to_host(std::span<float>(host.amax), amax_.data(), stream));
  return host;
}

}  // namespace engine
