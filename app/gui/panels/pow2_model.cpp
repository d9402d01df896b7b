#include "app/gui/panels/pow2_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/gui/panels/recipes_model.h"
#include "app/gui/plot/format.h"
#include "engine/model/recipe_traits.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

using engine::Scaling;

/// Difference of two SNRs; two exact matches differ by 0.
double lost(double free, double pow2) {
  if (std::isinf(free) && std::isinf(pow2)) return 0.0;
  return std::isfinite(free) && std::isfinite(pow2) ? free - pow2 : profiling::kNaN;
}

plot::Cell decibel(double value, std::uint64_t left_out = 0, ImU32 warning = 0) {
  return plot::snr_cell(value, left_out, warning);
}

plot::Cell binades(const engine::RangeWaste* waste, double value) {
  if (waste == nullptr || waste->scales == 0) return {"n/a", profiling::kNaN};
  return {fmt::format("{:.3f}", value), value};
}

std::vector<plot::Bar> snr_bars(const engine::QuantizationReport* report, const Theme& theme) {
  std::vector<plot::Bar> bars;
  if (report == nullptr) return bars;
  for (const engine::ExpertQuantization& expert : report->experts) {
    const bool exact = expert.rows > 0 && std::isinf(expert.snr_db) && expert.snr_db > 0.0;
    bars.push_back({.value = expert.rows > 0 ? expert.snr_db : profiling::kNaN,
                    .color = theme.colors.accent,
                    .outside = exact});
  }
  return bars;
}

}  // namespace

const std::vector<Scaling>& pow2_scalings() {
  static const std::vector<Scaling> kScalings = [] {
    std::vector<Scaling> scalings;
    for (std::size_t i = 0; i < engine::kRecipeTraits.size(); ++i) {
      if (engine::kRecipeTraits[i].pow2_scales(true)) scalings.push_back(static_cast<Scaling>(i));
    }
    // The ranges form does not compile with Clang before 16.
    std::stable_partition(scalings.begin(), scalings.end(),
                          [](Scaling one) { return engine::traits_of(one).per_tensor(); });
    return scalings;
  }();
  return kScalings;
}

std::vector<engine::Recipe> pow2_recipes(const engine::Recipe& settings) {
  std::vector<engine::Recipe> recipes;
  for (const Scaling scaling : pow2_scalings()) {
    for (const bool pow2 : {false, true}) {
      // Scales that are powers of two whatever the setting says have no other twin.
      if (engine::traits_of(scaling).pow2_scales(pow2) != pow2) continue;
      engine::Recipe recipe = settings;
      recipe.scaling = scaling;
      recipe.pow2_scales = pow2;
      recipe.split_accumulator = true;
      recipes.push_back(recipe);
    }
  }
  return recipes;
}

engine::ComparisonRequest pow2_order(const engine::RunRequest& request, bool weights) {
  engine::ComparisonRequest order = comparison_order(request, weights, 0, 0);
  order.recipes = pow2_recipes(request.recipe);
  return order;
}

bool is_pow2_order(const engine::ComparisonRequest& request) {
  return !request.recipes.empty() && request.recipes == pow2_recipes(request.recipes.front());
}

bool compares_pow2(const engine::RecipeComparison& comparison) {
  for (const engine::QuantizationReport& pow2 : comparison.reports) {
    if (!pow2.recipe.pow2_scales || pow2.experts.empty()) continue;
    const bool both =
        std::ranges::any_of(comparison.reports, [&pow2](const engine::QuantizationReport& free) {
          return free.recipe.scaling == pow2.recipe.scaling && !free.recipe.pow2_scales &&
                 !free.experts.empty();
        });
    if (both) return true;
  }
  return false;
}

void Pow2Model::set(Comparison comparison, Scaling scaling, const Theme& theme) {
  recorded_ = std::move(comparison);
  scaling_ = scaling;
  pair_ = {};
  ++generation_;
  for (const engine::QuantizationReport& report : recorded_->comparison.reports) {
    if (report.columnwise || report.recipe.scaling != scaling || !report.refused.empty()) continue;
    const bool pow2 = engine::traits_of(scaling).pow2_scales(report.recipe.pow2_scales);
    (pow2 ? pair_.pow2 : pair_.free) = &report;
  }
  waste_.clear();
  rows_.clear();
  snr_free_ = snr_bars(pair_.free, theme);
  snr_pow2_ = snr_bars(pair_.pow2, theme);
  if (pair_.pow2 == nullptr) return;
  for (std::size_t i = 0; i < pair_.pow2->experts.size(); ++i) {
    const engine::ExpertQuantization& pow2 = pair_.pow2->experts[i];
    const bool twin = pair_.free != nullptr && i < pair_.free->experts.size();
    const double free = twin && pow2.rows > 0 ? pair_.free->experts[i].snr_db : profiling::kNaN;
    const double snr = pow2.rows > 0 ? pow2.snr_db : profiling::kNaN;
    const bool known = pow2.waste.scales > 0;
    waste_.push_back({.value = known ? pow2.waste.mean : profiling::kNaN,
                      .low = known ? pow2.waste.mean : 0.0,
                      .high = known ? pow2.waste.max : 0.0,
                      .color = theme.colors.warn});
    rows_.push_back(
        {.cells = {{std::to_string(i), static_cast<double>(i)},
                   {plot::count_text(static_cast<std::uint64_t>(pow2.rows)),
                    static_cast<double>(pow2.rows)},
                   binades(&pow2.waste, pow2.waste.mean),
                   binades(&pow2.waste, pow2.waste.max),
                   decibel(free, twin ? pair_.free->experts[i].left_out() : 0, theme.colors.warn),
                   decibel(snr, pow2.left_out(), theme.colors.warn),
                   decibel(lost(free, snr))}});
  }
}

double Pow2Model::median_ns(const engine::QuantizationReport* report) {
  if (report == nullptr || report->times_ns.empty()) return profiling::kNaN;
  const std::vector<std::int64_t>& times = report->times_ns;
  return profiling::summarize(std::vector<double>(times.begin(), times.end())).median;
}

double Pow2Model::lost_db() const {
  if (pair_.free == nullptr || pair_.pow2 == nullptr) return profiling::kNaN;
  return lost(pair_.free->statistics.snr_db, pair_.pow2->statistics.snr_db);
}

const std::vector<plot::Column>& pow2_columns() {
  static const std::vector<plot::Column> kColumns = {
      {"exp.", 34, true, "Number of the expert"},
      {"rows", 0, true, "Rows of the operand"},
      {"wasted", 62, true, "Mean of log2 of the ideal scale over the one used, in binades"},
      {"worst", 62, true, "Largest waste of any scale"},
      {"FP32, dB", 62, true, "SNR with FP32 scales, which are not rounded"},
      {"power-of-two, dB", 104, true, "SNR with power-of-two scales"},
      {"lost, dB", 62, true, "SNR with FP32 scales minus SNR with power-of-two scales"}};
  return kColumns;
}

}  // namespace app
