#include "engine/backend/cpu/amax_history.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "engine/backend/cpu/machine.h"
#include "engine/input/element_rounding.h"
#include "engine/input/operand_store.h"
#include "engine/input/routing.h"
#include "engine/model/out_of_memory.h"
#include "engine/quantize/operand_layout.h"
#include "engine/quantize/operand_numerics.h"
#include "engine/quantize/quantize_cpu.h"
#include "engine/quantize/statistics_fold.h"
#include "kernels/amax/delayed_scaling.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

void write_element(ElementType type, float value, std::byte* to) {
  if (type == ElementType::Fp32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = round_to(type, value);
  std::memcpy(to, &bits, sizeof bits);
}

class HistorySteps {
 public:
  explicit HistorySteps(const AmaxHistoryRequest& request) : recipe_(request.request.recipe) {
    recipe_.scaling = Scaling::PerTensorDelayed;  // the one that has a history
    out_.request = request;
    out_.steps = request.steps;
    out_.experts = request.request.shape.num_experts;
    out_.ring_rows = kept_ring_rows(request);
    const auto experts = static_cast<std::size_t>(out_.experts);
    history_.assign(static_cast<std::size_t>(recipe_.delayed.history_length) * experts, 0.0F);
    scale_.assign(experts, 1.0F);
    scale_inv_.assign(experts, 1.0F);
    history_amax_.assign(experts, 0.0F);
  }

  Result<AmaxHistory> run(RunProgress& progress) {
    const std::int64_t begin_ns = steady_ns();
    progress.stage.store(static_cast<int>(Stage::Quantize));
    progress.iterations.store(out_.steps);
    for (int step = 0; step < out_.steps; ++step) {
      if (progress.cancel.load(std::memory_order_relaxed)) {
        return Error{ErrorCode::Cancelled, "the amax history was cancelled"};
      }
      progress.iteration.store(step);
      ENGINE_TRY(one_step(step));
      progress.fraction.store((step + 1.0) / out_.steps);
    }
    out_.wall_ns = steady_ns() - begin_ns;
    return std::move(out_);
  }

 private:
  Status one_step(int step) {
    ENGINE_TRY(load(step));
    note_history_amax();
    quantize_cpu(
        {.recipe = recipe_,
         .layout = operand_layout(recipe_, OperandRole::Activations, kernels::Direction::Rowwise,
                                  {.capacity_rows = input_.capacity_rows,
                                   .num_groups = input_.num_groups,
                                   .columns = input_.columns}),
         .input = input_,
         .codes = codes_.data(),
         .scales = scale_inv_.data(),
         .scale = scale_.data(),
         .history = history_.data()});
    note_step();
    return {};
  }

  Status load(int step) {
    RunRequest request = out_.request.request;
    if (out_.request.tokens > 0) request.shape.rows = out_.request.tokens;
    request.seed += static_cast<std::uint64_t>(step);
    ENGINE_ASSIGN(const GroupedShape shape, resolve_shape(request));
    splits_ = shape.splits;
    for (const IdleExpert& idle : out_.request.idle) {
      if (idle.step == step) splits_[static_cast<std::size_t>(idle.expert)] = 0;
    }
    row_offsets_.assign(1, 0);
    for (const std::int64_t rows : splits_) row_offsets_.push_back(row_offsets_.back() + rows);
    ENGINE_ASSIGN(std::unique_ptr<TensorSource> source,
                  open_source(request, OperandRole::Activations, /*layer=*/0));
    type_ = source->element();
    const std::int64_t elements = row_offsets_.back() * request.shape.k;
    const std::int64_t bytes = elements * element_bytes(type_);
    // The original operand, a copy for the outlier, and the codes.
    const std::int64_t wanted = 2 * bytes + elements;
    const std::int64_t available = available_memory_bytes();
    if (available != 0 && wanted > available) {
      return out_of_memory("a step of this operand needs", wanted, available,
                           "choose fewer tokens per step");
    }
    OperandStore store(std::move(source), /*keep=*/false);
    const std::byte* first = store.rows(0, row_offsets_.back());
    elements_.assign(first, first + bytes);
    codes_.resize(static_cast<std::size_t>(elements));
    input_ = {.input = elements_.data(),
              .type = type_,
              .row_offsets = row_offsets_.data(),
              .num_groups = out_.experts,
              .capacity_rows = row_offsets_.back(),
              .columns = request.shape.k};
    if (step == out_.request.outlier_step) inject();
    return {};
  }

  /// The largest finite element of the expert grows by the factor.
  void inject() {
    const auto expert = static_cast<std::size_t>(out_.request.outlier_expert);
    const std::int64_t end = row_offsets_[expert + 1] * input_.columns;
    std::int64_t largest = -1;
    float amax = 0.0F;
    for (std::int64_t i = row_offsets_[expert] * input_.columns; i < end; ++i) {
      const float x = std::fabs(element_value(input_, i));
      if (!std::isfinite(x) || x <= amax) continue;
      amax = x;
      largest = i;
    }
    if (largest < 0) return;  // no tokens, or only zeros: there is nothing to enlarge
    const double value =
        static_cast<double>(element_value(input_, largest)) * out_.request.outlier_factor;
    write_element(type_, static_cast<float>(value),
                  elements_.data() + largest * element_bytes(type_));
  }

  /// Input of the next update's scales, taken before it rolls the history, because the row to be
  /// dropped still counts.
  void note_history_amax() {
    const int experts = out_.experts;
    for (int expert = 0; expert < experts; ++expert) {
      const float newest = history_[static_cast<std::size_t>(expert)];
      if (newest == 0.0F) continue;  // no tokens: history and scale are kept
      float amax = newest;
      for (int row = 1; row < recipe_.delayed.history_length; ++row) {
        if (recipe_.delayed.algorithm != kernels::AmaxAlgorithm::Max) break;
        amax = std::max(amax, history_[static_cast<std::size_t>(row * experts + expert)]);
      }
      // Neither 0 nor infinity gives a scale: the old one and its amax are kept.
      if (std::isfinite(amax)) history_amax_[static_cast<std::size_t>(expert)] = amax;
    }
  }

  void note_step() {
    const auto experts = static_cast<std::size_t>(out_.experts);
    std::vector<kernels::GroupQuantizationSums> sums(experts);
    const auto before = std::make_unique<kernels::MagnitudeCounts>();
    const auto after = std::make_unique<kernels::MagnitudeCounts>();
    kernels::quantization_statistics_cpu({.input = input_,
                                          .quantized = {.codes = codes_.data(),
                                                        .format = recipe_.activation_format,
                                                        .scales = scale_inv_.data(),
                                                        .row_offsets = input_.row_offsets,
                                                        .num_groups = input_.num_groups,
                                                        .capacity_rows = input_.capacity_rows,
                                                        .columns = input_.columns},
                                          .before = before.get(),
                                          .after = after.get(),
                                          .sums = sums.data()});
    for (std::size_t expert = 0; expert < experts; ++expert) {
      const bool tokens = splits_[expert] > 0;
      out_.rows.push_back(splits_[expert]);
      out_.amax.push_back(history_[expert]);
      out_.history_amax.push_back(history_amax_[expert]);
      out_.scale_used.push_back(scale_[expert]);
      out_.scale_wanted.push_back(tokens ? wanted_scale(history_[expert]) : kNone);
      out_.saturated.push_back(sums[expert].saturated);
      out_.underflowed.push_back(sums[expert].underflowed);
      out_.snr_db.push_back(tokens ? snr_db(sums[expert]) : static_cast<double>(kNone));
      out_.left_out.push_back(sums[expert].lost + sums[expert].undefined);
    }
    const int length = recipe_.delayed.history_length;
    for (int row = 0; row < out_.ring_rows; ++row) {
      const int source = row == 0 ? 0 : length - out_.ring_rows + row;
      const float* from = history_.data() + static_cast<std::size_t>(source) * experts;
      out_.ring.insert(out_.ring.end(), from, from + experts);
    }
  }

  /// By the update's own rule, from this amax alone; NaN if it gives no scale.
  float wanted_scale(float amax) const {
    float history = amax;
    float scale = kNone;
    float scale_inv = kNone;
    kernels::delayed_scaling_update_cpu({.history = &history,
                                         .length = 1,
                                         .num_groups = 1,
                                         .algorithm = kernels::AmaxAlgorithm::MostRecent,
                                         .margin = recipe_.delayed.margin,
                                         .format = recipe_.activation_format,
                                         .pow2 = scale_options(recipe_).pow2,
                                         .scale = &scale,
                                         .scale_inv = &scale_inv});
    return scale;
  }

  Recipe recipe_;
  AmaxHistory out_;
  std::vector<std::int64_t> splits_;
  std::vector<std::int64_t> row_offsets_;
  ElementType type_ = ElementType::Bf16;
  std::vector<std::byte> elements_;
  kernels::GroupedInput input_;
  std::vector<std::uint8_t> codes_;
  std::vector<float> history_;    // [length, experts]
  std::vector<float> scale_;      // [experts]
  std::vector<float> scale_inv_;  // [experts]
  std::vector<float> history_amax_;
};

}  // namespace

Result<AmaxHistory> step_amax_history(const AmaxHistoryRequest& request, RunProgress& progress) {
  return HistorySteps(request).run(progress);
}

}  // namespace engine
