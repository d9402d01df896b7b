#include "engine/backend/cpu/recipe_series.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "engine/backend/cpu/machine.h"
#include "engine/input/element_rounding.h"
#include "engine/input/operand_store.h"
#include "engine/input/routing.h"
#include "engine/model/out_of_memory.h"
#include "engine/model/recipe_traits.h"
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

/// X of one step after the other.
class SteppedInput {
 public:
  explicit SteppedInput(const ComparisonRequest& request) : request_(request) {}

  Status load(int step) {
    RunRequest request = request_.request;
    request.seed += static_cast<std::uint64_t>(step);
    ENGINE_ASSIGN(const GroupedShape shape, resolve_shape(request));
    splits_ = shape.splits;
    for (const IdleExpert& idle : request_.series->idle) {
      if (idle.step == step) splits_[static_cast<std::size_t>(idle.expert)] = 0;
    }
    row_offsets_.assign(1, 0);
    for (const std::int64_t rows : splits_) row_offsets_.push_back(row_offsets_.back() + rows);
    ENGINE_ASSIGN(std::unique_ptr<TensorSource> source,
                  open_source(request, OperandRole::Activations, /*layer=*/0));
    type_ = source->element();
    const std::int64_t elements = row_offsets_.back() * request.shape.k;
    const std::int64_t bytes = elements * element_bytes(type_);
    // The original operand, a copy for the outlier, and codes and scales of every recipe.
    const std::int64_t wanted = 2 * bytes + elements * (1 + std::ssize(request_.recipes));
    const std::int64_t available = available_memory_bytes();
    if (available != 0 && wanted > available) {
      return out_of_memory("a step of this operand needs", wanted, available,
                           "choose fewer rows per step");
    }
    OperandStore store(std::move(source), /*keep=*/false);
    const std::byte* first = store.rows(0, row_offsets_.back());
    elements_.assign(first, first + bytes);
    input_ = {.input = elements_.data(),
              .type = type_,
              .row_offsets = row_offsets_.data(),
              .num_groups = request.shape.num_experts,
              .capacity_rows = row_offsets_.back(),
              .columns = request.shape.k};
    if (step == request_.series->outlier_step) inject();
    return {};
  }

  /// Valid until the next step is loaded.
  const kernels::GroupedInput& input() const { return input_; }
  std::span<const std::int64_t> splits() const { return splits_; }

 private:
  /// The largest finite element of the expert grows by the factor.
  void inject() {
    const auto expert = static_cast<std::size_t>(request_.series->outlier_expert);
    const std::int64_t end = row_offsets_[expert + 1] * input_.columns;
    std::int64_t largest = -1;
    float amax = 0.0F;
    for (std::int64_t i = row_offsets_[expert] * input_.columns; i < end; ++i) {
      const float x = std::fabs(element_value(input_, i));
      if (!std::isfinite(x) || x <= amax) continue;
      amax = x;
      largest = i;
    }
    if (largest < 0) return;  // no rows, or only zeros: there is nothing to enlarge
    const double value =
        static_cast<double>(element_value(input_, largest)) * request_.series->outlier_factor;
    write_element(type_, static_cast<float>(value),
                  elements_.data() + largest * element_bytes(type_));
  }

  const ComparisonRequest& request_;
  std::vector<std::int64_t> splits_;
  std::vector<std::int64_t> row_offsets_;
  ElementType type_ = ElementType::Bf16;
  std::vector<std::byte> elements_;
  kernels::GroupedInput input_ = {};
};

/// One recipe over all steps.
class SteppedRecipe {
 public:
  SteppedRecipe(const Recipe& recipe, const ComparisonRequest& request)
      : recipe_(recipe),
        seed_(request.request.seed),
        experts_(static_cast<std::size_t>(request.request.shape.num_experts)),
        kept_rows_(kept_history_rows(recipe, request.series->steps)),
        history_amax_(experts_, 0.0F) {}

  QuantizationReport step(int step, const SteppedInput& input) {
    QuantizationReport report{.recipe = recipe_, .refused = quantize_refusal(recipe_)};
    report.step = step;
    if (!report.refused.empty()) return report;
    if (quantizer_) {
      quantizer_->set_input(input.input());
    } else {
      quantizer_.emplace(
          CpuQuantizer::Setup{.recipe = recipe_, .input = input.input(), .seed = seed_});
    }
    if (kept_rows_ > 0) note_history_amax();
    quantizer_->quantize();
    add_experts(input, report);
    if (kept_rows_ > 0) add_history(report);
    return report;
  }

 private:
  /// Input of the next update's scales, taken before it rolls the history, because the row to be
  /// dropped still counts.
  void note_history_amax() {
    const std::span<const float> history = quantizer_->history();
    for (std::size_t expert = 0; expert < experts_; ++expert) {
      const float newest = history[expert];
      if (newest == 0.0F) continue;  // no rows: history and scale are kept
      float amax = newest;
      if (recipe_.delayed.algorithm == kernels::AmaxAlgorithm::Max) {
        for (std::size_t i = expert; i < history.size(); i += experts_) {
          amax = std::max(amax, history[i]);
        }
      }
      // Neither 0 nor infinity gives a scale: the old one and its amax are kept.
      if (std::isfinite(amax)) history_amax_[expert] = amax;
    }
  }

  void add_experts(const SteppedInput& input, QuantizationReport& report) const {
    std::vector<kernels::GroupQuantizationSums> sums(experts_);
    const auto before = std::make_unique<kernels::MagnitudeCounts>();
    const auto after = std::make_unique<kernels::MagnitudeCounts>();
    kernels::quantization_statistics_cpu({.input = input.input(),
                                          .quantized = quantizer_->view(),
                                          .before = before.get(),
                                          .after = after.get(),
                                          .sums = sums.data()});
    for (std::size_t expert = 0; expert < experts_; ++expert) {
      const bool any = input.splits()[expert] > 0;
      ExpertQuantization& row = report.experts.emplace_back();
      row.rows = input.splits()[expert];
      row.snr_db = any ? snr_db(sums[expert]) : static_cast<double>(kNone);
      row.saturated = sums[expert].saturated;
      row.underflowed = sums[expert].underflowed;
      row.lost = sums[expert].lost;
      row.undefined = sums[expert].undefined;
      if (kept_rows_ > 0) row.delayed = delayed_scale(expert, any);
    }
  }

  DelayedScale delayed_scale(std::size_t expert, bool any) const {
    const float amax = quantizer_->history()[expert];
    return {.amax = amax,
            .history_amax = history_amax_[expert],
            .scale_used = quantizer_->group_scales()[expert],
            .scale_wanted = any ? wanted_scale(amax) : kNone};
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

  void add_history(QuantizationReport& report) const {
    const std::span<const float> history = quantizer_->history();
    for (int row = 0; row < kept_rows_; ++row) {
      const int source = row == 0 ? 0 : recipe_.delayed.history_length - kept_rows_ + row;
      const auto of_row = history.subspan(static_cast<std::size_t>(source) * experts_, experts_);
      report.history.insert(report.history.end(), of_row.begin(), of_row.end());
    }
  }

  Recipe recipe_;
  std::uint64_t seed_;
  std::size_t experts_;
  int kept_rows_;  // 0 = no delayed scaling
  std::vector<float> history_amax_;
  std::optional<CpuQuantizer> quantizer_;
};

}  // namespace

Result<RecipeComparison> compare_over_steps(const ComparisonRequest& request,
                                            RunProgress& progress) {
  const std::int64_t begin_ns = steady_ns();
  RecipeComparison result;
  result.request = request;
  result.device = cpu_facts();
  result.request.recipes = compared_recipes(request);
  const int steps = request.series->steps;
  SteppedInput input(result.request);
  std::vector<SteppedRecipe> recipes;
  for (const Recipe& recipe : result.request.recipes) {
    recipes.emplace_back(recipe, result.request);
  }
  progress.stage.store(static_cast<int>(Stage::Quantize));
  progress.iterations.store(steps);
  for (int step = 0; step < steps; ++step) {
    progress.iteration.store(step);
    ENGINE_TRY(input.load(step));
    if (step == 0) result.splits.assign(input.splits().begin(), input.splits().end());
    for (SteppedRecipe& recipe : recipes) {
      if (progress.cancel.load(std::memory_order_relaxed)) {
        return Error{ErrorCode::Cancelled, "the comparison was cancelled"};
      }
      result.reports.push_back(recipe.step(step, input));
      const double all = static_cast<double>(recipes.size()) * steps;
      progress.fraction.store(static_cast<double>(result.reports.size()) / all);
    }
  }
  result.wall_ns = steady_ns() - begin_ns;
  return result;
}

}  // namespace engine
