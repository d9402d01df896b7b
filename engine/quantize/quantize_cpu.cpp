#include "engine/quantize/quantize_cpu.h"

#include <algorithm>

#include "engine/model/recipe_traits.h"
#include "engine/quantize/rounding_key.h"
#include "kernels/amax/delayed_scaling.h"
#include "kernels/amax/group_amax.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_mxfp8.h"
#include "kernels/quantize/quantize_nvfp4.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace engine {

namespace {

bool rowwise(const CpuCast& cast) { return cast.layout.direction == kernels::Direction::Rowwise; }

/// A value for the direction of the cast, null for the other.
template <class T>
T if_rowwise(const CpuCast& cast, T value) {
  return rowwise(cast) ? value : T{};
}
template <class T>
T if_columnwise(const CpuCast& cast, T value) {
  return rowwise(cast) ? T{} : value;
}

void per_tensor_amax(const CpuCast& cast) {
  kernels::group_amax_cpu({.input = cast.input, .amax = cast.amax});
}

void per_tensor(const CpuCast& cast) {
  auto* const scale_inv = static_cast<float*>(cast.scales);
  kernels::QuantizePerTensorArgs args{.input = cast.input,
                                      .format = cast.layout.format,
                                      .scale = cast.scale,
                                      .rowwise = if_rowwise(cast, cast.codes),
                                      .columnwise = if_columnwise(cast, cast.codes)};
  if (!traits_of(cast.recipe).remembers_amax()) {
    kernels::per_tensor_scale_cpu({.amax = cast.amax,
                                   .num_groups = cast.input.num_groups,
                                   .format = cast.layout.format,
                                   .options = scale_options(cast.recipe),
                                   .scale = cast.scale,
                                   .scale_inv = scale_inv});
    return kernels::quantize_per_tensor_cpu(args);
  }
  // The update comes first, so that the scale_inv it leaves belongs to the codes of this step.
  const DelayedScaling& delayed = cast.recipe.delayed;
  kernels::delayed_scaling_update_cpu({.history = cast.history,
                                       .length = delayed.history_length,
                                       .num_groups = cast.input.num_groups,
                                       .algorithm = delayed.algorithm,
                                       .margin = delayed.margin,
                                       .format = cast.layout.format,
                                       .pow2 = scale_options(cast.recipe).pow2,
                                       .scale = cast.scale,
                                       .scale_inv = scale_inv});
  args.amax = cast.history;
  args.scale_inv = scale_inv;
  kernels::quantize_per_tensor_cpu(args);
  if (cast.amax != nullptr) std::copy_n(cast.history, cast.input.num_groups, cast.amax);
}

void block(const CpuCast& cast) {
  const kernels::BlockOutput output{
      .codes = cast.codes, .scale_inv = static_cast<float*>(cast.scales), .block_amax = cast.amax};
  const kernels::QuantizeBlockArgs args{.input = cast.input,
                                        .format = cast.layout.format,
                                        .block = cast.layout.block,
                                        .options = scale_options(cast.recipe),
                                        .rowwise = if_rowwise(cast, output),
                                        .columnwise = if_columnwise(cast, output)};
  if (cast.layout.square) {
    kernels::quantize_block_squares_cpu(args);
  } else {
    kernels::quantize_block_lines_cpu(args);
  }
}

void mxfp8(const CpuCast& cast) {
  const kernels::Mxfp8Output output{.codes = cast.codes,
                                    .scales = static_cast<std::uint8_t*>(cast.scales)};
  kernels::quantize_mxfp8_cpu({.input = cast.input,
                               .format = cast.layout.format,
                               .square_blocks = cast.layout.square,
                               .rowwise = if_rowwise(cast, output),
                               .columnwise = if_columnwise(cast, output)});
}

void nvfp4_amax(const CpuCast& cast) {
  kernels::nvfp4_amax_cpu({.input = cast.input,
                           .hadamard = cast.layout.hadamard,
                           .rowwise_amax = if_rowwise(cast, cast.amax),
                           .columnwise_amax = if_columnwise(cast, cast.amax)});
}

void nvfp4(const CpuCast& cast) {
  const kernels::Nvfp4Output output{
      .codes = cast.codes, .scales = static_cast<std::uint8_t*>(cast.scales), .amax = cast.amax};
  kernels::quantize_nvfp4_cpu({.input = cast.input,
                               .square_blocks = cast.layout.square,
                               .hadamard = cast.layout.hadamard,
                               .stochastic_rounding = cast.recipe.stochastic_rounding,
                               .random_state = cast.random_state.data(),
                               .rowwise = if_rowwise(cast, output),
                               .columnwise = if_columnwise(cast, output)});
}

/// The functions of the two passes of one kernel.
struct Twins {
  void (*amax)(const CpuCast&);  // null: the second pass needs none
  void (*codes)(const CpuCast&);
};

Twins twins_of(QuantizeKernel kernel) {
  switch (kernel) {
    case QuantizeKernel::PerTensor:
      return {per_tensor_amax, per_tensor};
    case QuantizeKernel::Block:
      return {nullptr, block};
    case QuantizeKernel::Mxfp8:
      return {nullptr, mxfp8};
    case QuantizeKernel::Nvfp4:
      break;
  }
  return {nvfp4_amax, nvfp4};
}

}  // namespace

void measure_amax_cpu(const CpuCast& cast) { twins_of(cast.layout.kernel).amax(cast); }

void quantize_cpu(const CpuCast& cast) { twins_of(cast.layout.kernel).codes(cast); }

CpuQuantizer::CpuQuantizer(const Setup& setup) : setup_(setup) {
  const auto groups = static_cast<std::size_t>(setup_.input.num_groups);
  scale_.assign(groups, 1.0F);
  if (traits_of(setup_.recipe).remembers_amax()) {
    history_.assign(groups * static_cast<std::size_t>(setup_.recipe.delayed.history_length), 0.0F);
  }
  set_input(setup_.input);
}

void CpuQuantizer::set_input(const kernels::GroupedInput& input) {
  setup_.input = input;
  layout_ = operand_layout(setup_.recipe, setup_.role, setup_.direction,
                           {.capacity_rows = input.capacity_rows,
                            .num_groups = input.num_groups,
                            .columns = input.columns});
  splits_.clear();
  for (int group = 0; group < input.num_groups; ++group) {
    splits_.push_back(input.row_offsets[group + 1] - input.row_offsets[group]);
  }
  codes_.assign(static_cast<std::size_t>(layout_.code_capacity), 0);
  // Delayed scaling keeps the scale of a group without rows.
  if (scales_.empty() || !traits_of(setup_.recipe).remembers_amax()) {
    scales_.assign(static_cast<std::size_t>(layout_.scale_capacity), 0);
    // Padding between FP32 scales is never written; 1 is harmless to a reader of all of it.
    if (layout_.fp32_scales()) {
      std::fill_n(reinterpret_cast<float*>(scales_.data()), scales_.size() / sizeof(float), 1.0F);
    }
  }
  amax_.assign(static_cast<std::size_t>(amax_count(layout_, input.num_groups)), 0.0F);
}

void CpuQuantizer::quantize() {
  const CpuCast cast{.recipe = setup_.recipe,
                     .layout = layout_,
                     .input = setup_.input,
                     .codes = codes_.data(),
                     .scales = scales_.data(),
                     .amax = amax_.data(),
                     .scale = scale_.data(),
                     .history = history_.data(),
                     .random_state = {rounding_key(setup_.seed, {.role = setup_.role,
                                                                 .layer = setup_.layer,
                                                                 .part = setup_.part}),
                                      steps_}};
  if (traits_of(setup_.recipe).measures_amax()) measure_amax_cpu(cast);
  quantize_cpu(cast);
  ++steps_;
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
  const std::int64_t read =
      input.row_offsets[input.num_groups] * input.columns * element_bytes(input.type);
  return read * traits_of(setup_.recipe).reads() + written_code_bytes() + written_scale_bytes();
}

}  // namespace engine
