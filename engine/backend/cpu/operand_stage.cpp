#include "engine/backend/cpu/operand_stage.h"

#include <algorithm>

#include "engine/input/element_rounding.h"
#include "engine/quantize/rounding_key.h"
#include "kernels/dequantize/dequantize.h"

namespace engine {
void OperandStage::lay_out() {
  scale_offsets_.assign(1, 0);
  code_offsets_.clear();
  std::int64_t codes = 0;
  std::int64_t most = 0;
  for (int layer = 0; layer < plan_.layers; ++layer) {
    for (const std::int64_t rows : plan_.splits) {
      const OperandLayout form = layout(rows);
      const std::int64_t span = scale_grid(form, rows, plan_.columns).span;
      const std::int64_t floats = form.fp32_scales() ? span : kernels::ceil_div(span, 4);
      scale_offsets_.push_back(scale_offsets_.back() + floats);
      code_offsets_.push_back(plan_.keep_codes ? codes : 0);
      const std::int64_t count = kernels::round_up(form.code_capacity, 16);
      codes += count;
      most = std::max(most, count);
    }
  }
  const std::int64_t code_count = plan_.keep_codes ? codes : most;
  if (plan_.rounded()) rounded_.reserve(code_count);
  if (!plan_.quantized()) return;
  codes_.reserve(code_count);
}

void OperandStage::configure(OperandPlan plan) {
  plan_ = std::move(plan);
  calls_ = 0;
  lay_out();
  if (!plan_.quantized()) return;
  clear_scales();
  const auto slots = static_cast<std::int64_t>(code_offsets_.size());
  std::fill_n(scale_.reserve(slots), slots, 1.0F);
  if (!plan_.traits().remembers_amax()) return;
  const std::int64_t history = slots * plan_.recipe.delayed.history_length;
  std::fill_n(history_.reserve(history), history, 0.0F);
}

void OperandStage::set_splits(const std::vector<std::int64_t>& splits) {
  plan_.splits = splits;
  lay_out();
  // Scales per tensor lie where they did, and delayed ones are those of the next step.
  if (plan_.quantized() && !plan_.traits().remembers_amax()) clear_scales();
}

void OperandStage::clear_scales() {
  const auto slots = static_cast<std::int64_t>(code_offsets_.size());
  // Padding is never written by the kernels; groups without rows are never visited.
  const std::int64_t floats = scale_offsets_.back();
  std::fill_n(scales_.reserve(floats), floats, 1.0F);
  const std::int64_t amaxes = std::max(floats, slots);
  std::fill_n(amax_.reserve(amaxes), amaxes, 0.0F);
}

OperandLayout OperandStage::layout(std::int64_t rows) const {
  return operand_layout(plan_.recipe, plan_.role, plan_.direction,
                        {.capacity_rows = rows, .num_groups = 1, .columns = plan_.columns});
}

float* OperandStage::amax_at(std::size_t slot) const {
  const bool one = plan_.traits().expert_amax();
  return amax_.get() + (one ? static_cast<std::int64_t>(slot) : scale_offsets_[slot]);
}

const std::uint16_t* OperandStage::rounded(int layer, int expert) const {
  return rounded_.get() + code_offsets_[slot(layer, expert)];
}

kernels::QuantizedView OperandStage::view(int layer, int expert, std::int64_t (&offsets)[2]) const {
  const std::int64_t rows = plan_.splits[static_cast<std::size_t>(expert)];
  const std::size_t at = slot(layer, expert);
  offsets[0] = 0;
  offsets[1] = rows;
  return quantized_view(layout(rows),
                        {.capacity_rows = rows, .num_groups = 1, .columns = plan_.columns},
                        {.codes = codes_at(at),
                         .scales = scales_at(at),
                         .amax = plan_.traits().expert_amax() ? amax_at(at) : nullptr,
                         .row_offsets = offsets});
}

ScaleArrays OperandStage::scales() const {
  ScaleArrays arrays{.splits = plan_.splits, .columns = plan_.columns};
  if (!plan_.quantized()) return arrays;
  arrays.layout = layout(0);
  arrays.scales = scales_.get();
  arrays.amax = amax_.get();
  return arrays;
}

std::int64_t OperandStage::first_scale(int expert) const {
  const std::int64_t floats = scale_offsets_[slot(0, expert)];
  return layout(0).fp32_scales() ? floats : floats * std::int64_t{sizeof(float)};
}

kernels::GroupedInput OperandStage::input(const ExpertElements& expert,
                                          std::int64_t (&offsets)[2]) const {
  offsets[0] = 0;
  offsets[1] = expert.rows;
  return {.input = expert.elements,
          .type = plan_.element,
          .row_offsets = offsets,
          .num_groups = 1,
          .capacity_rows = expert.rows,
          .columns = plan_.columns,
          .activation = expert.activation,
          .output_gradient = expert.output_gradient};
}

CpuCast OperandStage::cast(const ExpertElements& expert, std::size_t slot,
                           std::int64_t (&offsets)[2]) {
  float* const history =
      plan_.traits().remembers_amax()
          ? history_.get() + static_cast<std::int64_t>(slot) * plan_.recipe.delayed.history_length
          : nullptr;
  // Random numbers depend on the element's place in its group, and every slot is quantized
  // separately.
  const std::uint64_t key =
      rounding_key(plan_.seed, {.role = plan_.role, .part = static_cast<int>(slot)});
  return {.recipe = plan_.recipe,
          .layout = layout(expert.rows),
          .input = input(expert, offsets),
          .codes = codes_at(slot),
          .scales = scales_at(slot),
          .amax = amax_at(slot),
          .scale = scale_.get() + slot,
          .history = history,
          .random_state = {key, calls_}};
}

void OperandStage::measure_amax(const ExpertElements& expert, int layer) {
  std::int64_t offsets[2];
  measure_amax_cpu(cast(expert, slot(layer, expert.expert), offsets));
}

void OperandStage::quantize(const ExpertElements& expert, int layer) {
  const std::size_t at = slot(layer, expert.expert);
  ++calls_;
  if (plan_.rounded()) round(expert, at);
  if (!plan_.quantized()) return;
  std::int64_t offsets[2];
  quantize_cpu(cast(expert, at, offsets));
}

void OperandStage::round(const ExpertElements& expert, std::size_t slot) {
  const std::int64_t count = expert.rows * plan_.columns;
  std::uint16_t* rounded = rounded_.get() + code_offsets_[slot];
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    rounded[i] =
        round_to(plan_.recipe.high_precision, element_value(plan_.element, expert.elements, i));
  }
}

const float* OperandStage::widen(const ExpertElements& expert, int layer) {
  const std::int64_t count = expert.rows * plan_.columns;
  float* wide = wide_.reserve(count);
  if (plan_.quantized()) {
    std::int64_t offsets[2];
    kernels::dequantize_cpu({.quantized = view(layer, expert.expert, offsets), .output = wide});
    return wide;
  }
  const auto* bits = plan_.rounded() ? rounded(layer, expert.expert)
                                     : reinterpret_cast<const std::uint16_t*>(expert.elements);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    wide[i] = value_of(plan_.recipe.high_precision, bits[i]);
  }
  return wide;
}

}  // namespace engine
