#include "engine/quantize/quantize_cpu.h"

#include <algorithm>

#include "engine/quantize/rounding_key.h"
#include "kernels/amax/delayed_scaling.h"
#include "kernels/amax/group_amax.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_mxfp8.h"
#include "kernels/quantize/quantize_nvfp4.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace engine {

using kernels::Direction;

std::string cpu_refusal(const Recipe& recipe) {
  if (recipe.scaling != Scaling::None) return {};
  return "BF16 quantizes nothing; choose an FP8 or FP4 recipe";
}

void cast_delayed(const DelayedCast& cast) {
  // The update comes first, so that the scale_inv it leaves belongs to the codes of this step.
  kernels::delayed_scaling_update_cpu({.history = cast.history,
                                       .length = cast.delayed.history_length,
                                       .num_groups = cast.input.num_groups,
                                       .algorithm = cast.delayed.algorithm,
                                       .margin = cast.delayed.margin,
                                       .format = cast.format,
                                       .pow2 = cast.pow2,
                                       .scale = cast.scale,
                                       .scale_inv = cast.scale_inv});
  const bool rowwise = cast.direction == Direction::Rowwise;
  kernels::quantize_per_tensor_cpu({.input = cast.input,
                                    .format = cast.format,
                                    .scale = cast.scale,
                                    .rowwise = rowwise ? cast.codes : nullptr,
                                    .columnwise = rowwise ? nullptr : cast.codes,
                                    .amax = cast.history,
                                    .scale_inv = cast.scale_inv});
}

CpuQuantizer::CpuQuantizer(const Setup& setup) : setup_(setup) {
  const kernels::GroupedInput& input = setup_.input;
  layout_ = operand_layout(setup_.recipe, setup_.role, setup_.direction,
                           {.capacity_rows = input.capacity_rows,
                            .num_groups = input.num_groups,
                            .columns = input.columns});
  for (int group = 0; group < input.num_groups; ++group) {
    splits_.push_back(input.row_offsets[group + 1] - input.row_offsets[group]);
  }
  codes_.assign(static_cast<std::size_t>(layout_.code_capacity), 0);
  scales_.assign(static_cast<std::size_t>(layout_.scale_capacity), 0);
  // Padding between FP32 scales is never written; 1 keeps whoever reads all of it out of trouble.
  if (layout_.fp32_scales()) std::fill_n(scales(), scales_.size() / sizeof(float), 1.0F);
  const auto groups = static_cast<std::size_t>(input.num_groups);
  switch (layout_.kernel) {
    case QuantizeKernel::PerTensor:
      amax_.assign(groups, 0.0F);
      scale_.assign(groups, 1.0F);
      break;
    case QuantizeKernel::Block1x128:
    case QuantizeKernel::Block128x128:
      amax_.assign(scales_.size() / sizeof(float), 0.0F);
      break;
    case QuantizeKernel::Mxfp8:
      break;
    case QuantizeKernel::Nvfp4:
      amax_.assign(groups, 0.0F);
      break;
  }
  if (setup_.recipe.scaling == Scaling::PerTensorDelayed) {
    history_.assign(groups * static_cast<std::size_t>(setup_.recipe.delayed.history_length), 0.0F);
  }
}

void CpuQuantizer::quantize() {
  switch (layout_.kernel) {
    case QuantizeKernel::PerTensor:
      history_.empty() ? quantize_current() : quantize_delayed();
      break;
    case QuantizeKernel::Block1x128:
    case QuantizeKernel::Block128x128:
      quantize_blocks();
      break;
    case QuantizeKernel::Mxfp8:
      quantize_mxfp8();
      break;
    case QuantizeKernel::Nvfp4:
      quantize_nvfp4();
      break;
  }
  ++steps_;
}

void CpuQuantizer::quantize_current() {
  kernels::group_amax_cpu({.input = setup_.input, .amax = amax_.data()});
  kernels::per_tensor_scale_cpu({.amax = amax_.data(),
                                 .num_groups = setup_.input.num_groups,
                                 .format = layout_.format,
                                 .options = options(),
                                 .scale = scale_.data(),
                                 .scale_inv = scales()});
  kernels::quantize_per_tensor_cpu({.input = setup_.input,
                                    .format = layout_.format,
                                    .scale = scale_.data(),
                                    .rowwise = rowwise() ? codes_.data() : nullptr,
                                    .columnwise = rowwise() ? nullptr : codes_.data()});
}

void CpuQuantizer::quantize_delayed() {
  cast_delayed({.input = setup_.input,
                .delayed = setup_.recipe.delayed,
                .format = layout_.format,
                .pow2 = setup_.recipe.pow2_scales,
                .history = history_.data(),
                .scale = scale_.data(),
                .scale_inv = scales(),
                .codes = codes_.data(),
                .direction = setup_.direction});
  std::copy_n(history_.begin(), amax_.size(), amax_.begin());
}

void CpuQuantizer::quantize_blocks() {
  const kernels::BlockOutput output{
      .codes = codes_.data(), .scale_inv = scales(), .block_amax = amax_.data()};
  const kernels::QuantizeBlockArgs args{.input = setup_.input,
                                        .format = layout_.format,
                                        .options = options(),
                                        .rowwise = rowwise() ? output : kernels::BlockOutput{},
                                        .columnwise = rowwise() ? kernels::BlockOutput{} : output};
  if (layout_.kernel == QuantizeKernel::Block1x128) {
    kernels::quantize_block_1x128_cpu(args);
  } else {
    kernels::quantize_block_128x128_cpu(args);
  }
}

void CpuQuantizer::quantize_mxfp8() {
  const kernels::Mxfp8Output output{.codes = codes_.data(), .scales = scales_.data()};
  kernels::quantize_mxfp8_cpu({.input = setup_.input,
                               .format = layout_.format,
                               .square_blocks = layout_.square,
                               .rowwise = rowwise() ? output : kernels::Mxfp8Output{},
                               .columnwise = rowwise() ? kernels::Mxfp8Output{} : output});
}

void CpuQuantizer::quantize_nvfp4() {
  kernels::nvfp4_amax_cpu({.input = setup_.input,
                           .hadamard = layout_.hadamard,
                           .rowwise_amax = rowwise() ? amax_.data() : nullptr,
                           .columnwise_amax = rowwise() ? nullptr : amax_.data()});
  const std::uint64_t random_state[2] = {
      rounding_key(setup_.seed, {.role = setup_.role, .layer = setup_.layer, .part = setup_.part}),
      steps_};
  const kernels::Nvfp4Output output{
      .codes = codes_.data(), .scales = scales_.data(), .amax = amax_.data()};
  kernels::quantize_nvfp4_cpu({.input = setup_.input,
                               .square_blocks = layout_.square,
                               .hadamard = layout_.hadamard,
                               .stochastic_rounding = setup_.recipe.stochastic_rounding,
                               .random_state = random_state,
                               .rowwise = rowwise() ? output : kernels::Nvfp4Output{},
                               .columnwise = rowwise() ? kernels::Nvfp4Output{} : output});
}

kernels::QuantizedView CpuQuantizer::view() const {
  const kernels::GroupedInput& input = setup_.input;
  return quantized_view(layout_,
                        {.capacity_rows = input.capacity_rows,
                         .num_groups = input.num_groups,
                         .columns = input.columns},
                        {.codes = codes_.data(),
                         .scales = scales_.data(),
                         .amax = layout_.e2m1() ? amax_.data() : nullptr,
                         .row_offsets = input.row_offsets});
}

std::int64_t CpuQuantizer::written_code_bytes() const {
  return engine::written_code_bytes(layout_, splits_, setup_.input.columns);
}

std::int64_t CpuQuantizer::written_scale_bytes() const {
  return engine::written_scale_bytes(layout_, splits_, setup_.input.columns);
}

std::int64_t CpuQuantizer::moved_bytes() const {
  const kernels::GroupedInput& input = setup_.input;
  const std::int64_t element = input.type == kernels::InputType::Fp32 ? 4 : 2;
  const std::int64_t read = input.row_offsets[input.num_groups] * input.columns * element;
  // Current scaling and NVFP4 need the tensor's amax before the first code: a pass of its own.
  const bool two_passes = setup_.recipe.scaling == Scaling::PerTensorCurrent || layout_.e2m1();
  return read * (two_passes ? 2 : 1) + written_code_bytes() + written_scale_bytes();
}

}  // namespace engine
