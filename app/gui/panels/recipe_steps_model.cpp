#include "app/gui/panels/recipe_steps_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/model/recipe_traits.h"
#include "engine/model/recipe_words.h"
#include "profiling/document/columns.h"
#include "profiling/document/run_tables.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

std::size_t first_delayed(const std::vector<engine::Recipe>& recipes) {
  const auto remembers = [](const engine::Recipe& recipe) {
    return engine::traits_of(recipe).remembers_amax();
  };
  return static_cast<std::size_t>(std::ranges::find_if(recipes, remembers) - recipes.begin());
}

}  // namespace

bool has_delayed_steps(const engine::RecipeComparison& comparison) {
  const std::vector<engine::Recipe>& recipes = comparison.request.recipes;
  const std::size_t delayed = first_delayed(recipes);
  return comparison.request.series && delayed < recipes.size() &&
         !comparison.reports[delayed].experts.empty();
}

void RecipeStepsModel::set(Comparison comparison) {
  recorded_ = std::move(comparison);
  ++generation_;
  shown_ = first_delayed(request().recipes);
  snr_ = {.rows = experts(), .columns = steps(), .values = {}};
  for (int expert = 0; expert < experts(); ++expert) {
    for (int step = 0; step < steps(); ++step) {
      const double snr = at(step, expert).snr_db;
      snr_.values.push_back(std::isfinite(snr) ? static_cast<float>(snr)
                                               : std::numeric_limits<float>::quiet_NaN());
    }
  }
}

const engine::QuantizationReport& RecipeStepsModel::report(int step, std::size_t recipe) const {
  const std::size_t recipes = request().recipes.size();
  return recorded_->comparison.reports[static_cast<std::size_t>(step) * recipes + recipe];
}

const engine::ExpertQuantization& RecipeStepsModel::at(int step, int expert) const {
  return report(step).experts[static_cast<std::size_t>(expert)];
}

std::vector<double> RecipeStepsModel::history(int step, int expert) const {
  const std::vector<float>& all = report(step).history;
  std::vector<double> rows;
  for (auto i = static_cast<std::size_t>(expert); i < all.size();
       i += static_cast<std::size_t>(experts())) {
    rows.push_back(static_cast<double>(all[i]));
  }
  return rows;
}

std::vector<double> RecipeStepsModel::log2_of(Figure figure, int expert) const {
  std::vector<double> series;
  for (int step = 0; step < steps(); ++step) {
    const float value = *at(step, expert).delayed.*figure;
    series.push_back(value > 0.0F && std::isfinite(value) ? std::log2(static_cast<double>(value))
                                                          : profiling::kNaN);
  }
  return series;
}

std::vector<RecipeStepsModel::Other> RecipeStepsModel::others(int step, int expert) const {
  std::vector<Other> others;
  for (std::size_t i = 0; i < request().recipes.size(); ++i) {
    const engine::QuantizationReport& one = report(step, i);
    if (i == shown_ || one.experts.empty()) continue;
    others.push_back({std::string(engine::recipe_label(one.recipe)),
                      &one.experts[static_cast<std::size_t>(expert)]});
  }
  return others;
}

profiling::Table RecipeStepsModel::table() const {
  return profiling::series_table(*recorded_, static_cast<int>(shown_));
}

profiling::Table RecipeStepsModel::history_table(int step, int expert) const {
  using profiling::Measure;
  return {.name = "amax_history",
          .columns = {profiling::column("row", Measure::Count),
                      profiling::column("amax", Measure::Number)},
          .rows = [rows = history(step, expert)](const profiling::RowSink& sink) {
            for (std::size_t row = 0; row < rows.size(); ++row) {
              sink({.cells = profiling::cells_of(row, rows[row])});
            }
          }};
}

engine::ComparisonRequest series_order(const RecipeStepsSettings& settings,
                                       const engine::RunRequest& rail) {
  engine::RunRequest request;
  request.shape = rail.shape;
  request.routing = rail.routing;
  request.activations = rail.activations;
  request.seed = rail.seed;
  request.recipe.activation_format = rail.recipe.activation_format;
  request.recipe.pow2_scales = rail.recipe.pow2_scales;
  engine::ComparisonRequest order = engine::default_series(request);
  order.request.recipe = {};
  for (engine::Recipe& recipe : order.recipes) recipe.delayed = settings.delayed;
  if (settings.rows > 0) {
    const std::int64_t all = std::max<std::int64_t>(rail.shape.rows, 1);
    order.request.shape.rows = std::min(settings.rows, all);
  }
  engine::StepSeries& series = order.series.emplace(settings.series);
  const int experts = rail.shape.num_experts;
  series.outlier_step = std::min(series.outlier_step, series.steps - 1);
  series.outlier_expert = std::clamp(series.outlier_expert, 0, std::max(experts - 1, 0));
  std::erase_if(series.idle, [&](const engine::IdleExpert& idle) {
    return idle.step >= series.steps || idle.expert >= experts;
  });
  return order;
}

}  // namespace app
