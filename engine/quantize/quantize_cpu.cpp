#include "engine/quantize/quantize_cpu.h"

#include <algorithm>

#include "engine/model/recipe_traits.h"
#include "engine/quantize/cpu_kernels.h"
#include "engine/quantize/rounding_key.h"

namespace engine {

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
  if (layout_.fp32_scales()) {
    std::fill_n(reinterpret_cast<float*>(scales_.data()), scales_.size() / sizeof(float), 1.0F);
  }
  const auto groups = static_cast<std::size_t>(input.num_groups);
  amax_.assign(static_cast<std::size_t>(amax_count(layout_, input.num_groups)), 0.0F);
  scale_.assign(groups, 1.0F);
  if (traits_of(setup_.recipe).remembers_amax()) {
    history_.assign(groups * static_cast<std::size_t>(setup_.recipe.delayed.history_length), 0.0F);
  }
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
  const std::int64_t element = input.type == kernels::InputType::Fp32 ? 4 : 2;
  const std::int64_t read = input.row_offsets[input.num_groups] * input.columns * element;
  return read * traits_of(setup_.recipe).reads() + written_code_bytes() + written_scale_bytes();
}

}  // namespace engine
