#include "engine/quantize/quantize_cuda.h"

#include <algorithm>

#include "kernels/amax/delayed_scaling.h"
#include "kernels/amax/group_amax.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_mxfp8.h"
#include "kernels/quantize/quantize_nvfp4.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace engine {

using kernels::Direction;

std::string cuda_refusal(const Recipe& recipe) {
  switch (recipe.scaling) {
    case Scaling::None:
      return "BF16 quantizes nothing; choose an FP8 or FP4 recipe";
    case Scaling::PerTensorCurrent:
    case Scaling::Block:
    case Scaling::PerTensorDelayed:
    case Scaling::Mxfp8:
    case Scaling::Nvfp4:
      break;
  }
  return {};
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
  switch (layout.kernel) {
    case QuantizeKernel::PerTensor:
    case QuantizeKernel::Nvfp4:
      made.amax_count_ = input.num_groups;
      break;
    case QuantizeKernel::Block1x128:
    case QuantizeKernel::Block128x128:
      made.amax_count_ = layout.scale_capacity / kFloat;
      break;
    case QuantizeKernel::Mxfp8:
      break;
  }
  const bool delayed = setup.recipe.scaling == Scaling::PerTensorDelayed;
  const auto allocate = [](DeviceBuffer& buffer, std::int64_t bytes) -> Status {
    Result<DeviceBuffer> allocated = DeviceBuffer::allocate(bytes);
    if (!allocated.ok()) return allocated.error();
    buffer = std::move(allocated).value();
    return {};
  };
  ENGINE_TRY(allocate(made.codes_, layout.code_capacity));
  ENGINE_TRY(allocate(made.scales_, layout.scale_capacity));
  ENGINE_TRY(allocate(made.scale_, kFloat * input.num_groups));
  ENGINE_TRY(allocate(made.amax_, kFloat * std::max<std::int64_t>(made.amax_count_, 1)));
  ENGINE_TRY(allocate(made.tickets_, 2 * sizeof(std::uint32_t)));
  ENGINE_TRY(allocate(made.random_state_, 2 * sizeof(std::uint64_t)));
  if (delayed) {
    ENGINE_TRY(
        allocate(made.history_, kFloat * setup.recipe.delayed.history_length * input.num_groups));
    ENGINE_CUDA_TRY(cudaMemsetAsync(made.history_.data(), 0, made.history_.bytes(), stream),
                    "Clearing the amax history");
    ENGINE_TRY(copy_to_device<float>(
        made.scale_.data(), std::vector<float>(static_cast<std::size_t>(input.num_groups), 1.0F),
        stream));
  }
  ENGINE_TRY(copy_to_device<std::uint64_t>(made.random_state_.data(),
                                           std::vector<std::uint64_t>{setup.seed, 0}, stream));
  // Padding is never written, but it comes back with the rest.
  for (const DeviceBuffer* buffer : {&made.codes_, &made.scales_, &made.amax_, &made.tickets_}) {
    ENGINE_CUDA_TRY(cudaMemsetAsync(buffer->data(), 0, buffer->bytes(), stream),
                    "Clearing a quantized operand");
  }
  return made;
}

Status CudaQuantizer::quantize(cudaStream_t stream) const {
  switch (layout_.kernel) {
    case QuantizeKernel::PerTensor:
      return setup_.recipe.scaling == Scaling::PerTensorDelayed ? quantize_delayed(stream)
                                                                : quantize_per_tensor(stream);
    case QuantizeKernel::Block1x128:
    case QuantizeKernel::Block128x128:
      break;
    case QuantizeKernel::Mxfp8:
      return quantize_mxfp8(stream);
    case QuantizeKernel::Nvfp4:
      return quantize_nvfp4(stream);
  }
  return quantize_blocks(stream);
}

/// As cast_delayed() of the CPU: the update first, so that scale_inv belongs to this step's codes.
Status CudaQuantizer::quantize_delayed(cudaStream_t stream) const {
  const DelayedScaling& delayed = setup_.recipe.delayed;
  ENGINE_CUDA_TRY(kernels::delayed_scaling_update({.history = history_.as<float>(),
                                                   .length = delayed.history_length,
                                                   .num_groups = setup_.input.num_groups,
                                                   .algorithm = delayed.algorithm,
                                                   .margin = delayed.margin,
                                                   .format = layout_.format,
                                                   .pow2 = setup_.recipe.pow2_scales,
                                                   .scale = scale_.as<float>(),
                                                   .scale_inv = scales_.as<float>()},
                                                  stream),
                  "Launching the delayed-scaling update");
  const bool rowwise = setup_.direction == Direction::Rowwise;
  auto* codes = codes_.as<std::uint8_t>();
  ENGINE_CUDA_TRY(kernels::quantize_per_tensor({.input = setup_.input,
                                                .format = layout_.format,
                                                .scale = scale_.as<float>(),
                                                .rowwise = rowwise ? codes : nullptr,
                                                .columnwise = rowwise ? nullptr : codes,
                                                .amax = history_.as<float>(),
                                                .scale_inv = scales_.as<float>(),
                                                .controls = controls()},
                                               stream),
                  "Launching the per-tensor kernel");
  // What is shown as amax is what this step found.
  return check_cuda(cudaMemcpyAsync(amax_.data(), history_.data(), amax_.bytes(),
                                    cudaMemcpyDeviceToDevice, stream),
                    "Copying this step's amax");
}

Status CudaQuantizer::quantize_mxfp8(cudaStream_t stream) const {
  const bool rowwise = setup_.direction == Direction::Rowwise;
  const kernels::Mxfp8Output output{.codes = codes_.as<std::uint8_t>(),
                                    .scales = scales_.as<std::uint8_t>()};
  return check_cuda(
      kernels::quantize_mxfp8({.input = setup_.input,
                               .format = layout_.format,
                               .square_blocks = layout_.square,
                               .rowwise = rowwise ? output : kernels::Mxfp8Output{},
                               .columnwise = rowwise ? kernels::Mxfp8Output{} : output,
                               .controls = controls()},
                              stream),
      "Launching the MXFP8 kernel");
}

Status CudaQuantizer::quantize_nvfp4(cudaStream_t stream) const {
  const bool rowwise = setup_.direction == Direction::Rowwise;
  ENGINE_CUDA_TRY(kernels::nvfp4_amax({.input = setup_.input,
                                       .hadamard = layout_.hadamard,
                                       .rowwise_amax = rowwise ? amax_.as<float>() : nullptr,
                                       .columnwise_amax = rowwise ? nullptr : amax_.as<float>()},
                                      stream),
                  "Launching the NVFP4 amax kernel");
  const kernels::Nvfp4Output output{.codes = codes_.as<std::uint8_t>(),
                                    .scales = scales_.as<std::uint8_t>(),
                                    .amax = amax_.as<float>()};
  return check_cuda(
      kernels::quantize_nvfp4({.input = setup_.input,
                               .square_blocks = layout_.square,
                               .hadamard = layout_.hadamard,
                               .stochastic_rounding = setup_.recipe.stochastic_rounding,
                               .random_state = random_state_.as<std::uint64_t>(),
                               .rowwise = rowwise ? output : kernels::Nvfp4Output{},
                               .columnwise = rowwise ? kernels::Nvfp4Output{} : output,
                               .controls = controls()},
                              stream),
      "Launching the NVFP4 kernel");
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
                                                .columnwise = rowwise ? nullptr : codes,
                                                .controls = controls()},
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
                                        .columnwise = rowwise ? kernels::BlockOutput{} : output,
                                        .controls = controls()};
  const bool square = layout_.kernel == QuantizeKernel::Block128x128;
  return check_cuda(
      (square ? kernels::quantize_block_128x128 : kernels::quantize_block_1x128)(args, stream),
      "Launching the block kernel");
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
