// The CPU twins on one group at a time: an expert's codes and scales do not depend on its
// neighbours, so the result is the grouped one.
#include "engine/backend/cpu/operand_stage.h"

#include <algorithm>

#include "engine/input/element_rounding.h"
#include "engine/quantize/quantize_cpu.h"
#include "kernels/amax/group_amax.h"
#include "kernels/dequantize/dequantize.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace engine {
namespace {

float fp32_at(ElementType type, const std::byte* elements, std::int64_t index) {
  if (type == ElementType::Fp32) return reinterpret_cast<const float*>(elements)[index];
  return fp16_value(reinterpret_cast<const std::uint16_t*>(elements)[index]);
}

}  // namespace

void OperandStage::configure(OperandPlan plan) {
  plan_ = std::move(plan);
  scale_offsets_.assign(1, 0);
  ScaleMapSource before{.layout = layout(), .columns = plan_.columns};
  for (const std::int64_t rows : plan_.splits) {
    before.splits.assign(1, rows);
    scale_offsets_.push_back(scale_offsets_.back() + scale_count(before));
  }
  if (!plan_.quantized()) return;
  // Padding is never written by the kernels; groups without rows are never visited.
  std::fill_n(scale_inv_.reserve(scale_offsets_.back()), scale_offsets_.back(), 1.0F);
  std::fill_n(amax_.reserve(scale_offsets_.back()), scale_offsets_.back(), 0.0F);
  if (plan_.per_tensor()) scale_.reserve(scale_offsets_.back());
  if (!plan_.delayed()) return;
  const std::int64_t tensors = plan_.layers * static_cast<std::int64_t>(plan_.splits.size());
  const std::int64_t amaxes = tensors * plan_.recipe.delayed.history_length;
  std::fill_n(scale_.reserve(tensors), tensors, 1.0F);
  std::fill_n(history_.reserve(amaxes), amaxes, 0.0F);
}

kernels::Fp8Format OperandStage::format() const {
  return plan_.role == OperandRole::Activations ? plan_.recipe.activation_format
                                                : kernels::Fp8Format::E4m3;
}

kernels::ScaleLayout OperandStage::layout() const {
  if (plan_.recipe.scaling != Scaling::Block) return kernels::ScaleLayout::PerTensor;
  return plan_.role == OperandRole::Activations ? kernels::ScaleLayout::Block1x128
                                                : kernels::ScaleLayout::Block128x128;
}

ScaleMapSource OperandStage::scales() const {
  return {.scale_inv = scale_inv_.get(),
          .layout = layout(),
          .splits = plan_.splits,
          .columns = plan_.columns};
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
          .columns = plan_.columns};
}

void OperandStage::measure_amax(const ExpertElements& expert) {
  std::int64_t offsets[2];
  kernels::group_amax_cpu({.input = input(expert, offsets), .amax = amax_.get() + expert.expert});
}

void OperandStage::quantize_delayed(const ExpertElements& expert, int layer) {
  std::int64_t offsets[2];
  const std::int64_t tensor =
      layer * static_cast<std::int64_t>(plan_.splits.size()) + expert.expert;
  float* history = history_.get() + tensor * plan_.recipe.delayed.history_length;
  cast_delayed({.input = input(expert, offsets),
                .delayed = plan_.recipe.delayed,
                .format = format(),
                .pow2 = plan_.recipe.pow2_scales,
                .history = history,
                .scale = scale_.get() + tensor,
                .scale_inv = scale_inv_.get() + expert.expert,
                .codes = codes_.reserve(expert.rows * plan_.columns)});
  amax_.get()[expert.expert] = history[0];
}

void OperandStage::quantize(const ExpertElements& expert, int layer) {
  std::int64_t offsets[2];
  const kernels::GroupedInput elements = input(expert, offsets);
  const std::int64_t count = expert.rows * plan_.columns;
  if (plan_.rounded()) {
    std::uint16_t* rounded = rounded_.reserve(count);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      rounded[i] = bf16_bits(fp32_at(plan_.element, expert.elements, i));
    }
    return;
  }
  if (!plan_.quantized()) return;
  if (plan_.delayed()) {
    quantize_delayed(expert, layer);
    return;
  }
  const kernels::ScaleOptions options{.pow2 = plan_.recipe.pow2_scales,
                                      .amax_epsilon = plan_.recipe.amax_epsilon};
  const std::int64_t first_scale = scale_offsets_[static_cast<std::size_t>(expert.expert)];
  std::uint8_t* codes = codes_.reserve(count);
  if (plan_.per_tensor()) {
    kernels::per_tensor_scale_cpu({.amax = amax_.get() + first_scale,
                                   .num_groups = 1,
                                   .format = format(),
                                   .options = options,
                                   .scale = scale_.get() + first_scale,
                                   .scale_inv = scale_inv_.get() + first_scale});
    kernels::quantize_per_tensor_cpu({.input = elements,
                                      .format = format(),
                                      .scale = scale_.get() + first_scale,
                                      .rowwise = codes});
    return;
  }
  const kernels::QuantizeBlockArgs args{.input = elements,
                                        .format = format(),
                                        .options = options,
                                        .rowwise = {.codes = codes,
                                                    .scale_inv = scale_inv_.get() + first_scale,
                                                    .block_amax = amax_.get() + first_scale}};
  if (plan_.role == OperandRole::Activations) {
    kernels::quantize_block_1x128_cpu(args);
  } else {
    kernels::quantize_block_128x128_cpu(args);
  }
}

const float* OperandStage::widen(const ExpertElements& expert) {
  const std::int64_t count = expert.rows * plan_.columns;
  float* wide = wide_.reserve(count);
  if (plan_.quantized()) {
    const std::int64_t offsets[2] = {0, expert.rows};
    kernels::dequantize_cpu({.quantized = {.codes = codes_.get(),
                                           .format = format(),
                                           .layout = layout(),
                                           .scales = expert_scale_inv(expert.expert),
                                           .row_offsets = offsets,
                                           .num_groups = 1,
                                           .capacity_rows = expert.rows,
                                           .columns = plan_.columns},
                             .output = wide});
    return wide;
  }
  const auto* bits =
      plan_.rounded() ? rounded_.get() : reinterpret_cast<const std::uint16_t*>(expert.elements);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) wide[i] = bf16_value(bits[i]);
  return wide;
}

}  // namespace engine
