// Checks of values in engine/model that limits of single fields cannot express. Each names value
// and limit, and says how to fix it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

#include "engine/model/bench_order.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/run_request.h"
#include "engine/model/text.h"

namespace engine {

Flaw ShapeSpec::flaw() const {
  if (Flaw flaw = flaw_of_name("preset", preset); !flaw.empty()) return flaw;
  for (const auto& [field, value] : {std::pair{"n", n}, std::pair{"k", k}}) {
    if (value % 16 == 0) continue;
    return {field,
            fmt::format("is {}; it must be a multiple of 16 (FP8 rows are read 16 bytes at a time)",
                        value),
            fmt::format("use {}", (value + 15) / 16 * 16)};
  }
  return {};
}

Flaw FileInput::flaw() const {
  for (const auto& [field, name] : {std::pair{"path", &path}, std::pair{"tensor", &tensor}}) {
    if (Flaw flaw = flaw_of_name(field, *name); !flaw.empty()) return flaw;
  }
  if (!path.empty()) return {};
  return {"path",
          "is empty, so no file is named; choose a .npy, .npz or .safetensors file or a synthetic "
          "distribution"};
}

Flaw RoutingSpec::flaw() const {
  for (const auto& [field, name] : {std::pair{"path", &path}, std::pair{"tensor", &tensor}}) {
    if (Flaw flaw = flaw_of_name(field, *name); !flaw.empty()) return flaw;
  }
  if (distribution != RoutingDistribution::File) return {};
  if (path.empty()) {
    return {"path",
            "is empty, but routing is read from a file; name a .json, .npy, .npz or .safetensors "
            "file of "
            "splits or of recorded experts"};
  }
  return {};
}

Flaw RunRequest::flaw() const {
  const ActivationTraits& activation = traits_of(expert_layer.activation);
  const std::int64_t unit = 16 * std::int64_t{activation.halves()};
  if (step == StepKind::ExpertLayer && shape.n % unit != 0) {
    return {"shape.n",
            fmt::format("is {}; {} reads gate and up from its two halves, each a multiple of 16",
                        shape.n, activation.label),
            fmt::format("use {}", (shape.n + unit - 1) / unit * unit)};
  }
  const int top_k = expert_layer.top_k;
  if (step == StepKind::ExpertLayer && top_k > 0) {
    if (shape.rows % top_k != 0) {
      return {
          "shape.rows",
          fmt::format(
              "is {}; with expert_layer.top_k {} every token has that many rows, so it must be a "
              "multiple",
              shape.rows, top_k),
          fmt::format("use {}, or top_k 0 if the rows arrive already permuted",
                      (shape.rows + top_k - 1) / top_k * top_k)};
    }
    if (top_k > shape.num_experts) {
      return {
          "expert_layer.top_k",
          fmt::format(
              "is {}, but the shape has {} experts, and a token chooses each expert at most once",
              top_k, shape.num_experts),
          fmt::format("use at most {}", shape.num_experts)};
    }
  }
  return flaw_of_name("cublaslt_library", cublaslt_library);
}

Flaw MagnitudeHistogram::flaw() const {
  if (first_bin >= 0 && std::ssize(counts) <= std::int64_t{kHistogramBins} - first_bin) return {};
  return {"first_bin", fmt::format("is {}, followed by {} bins; bins are numbered 0 to 1023",
                                   first_bin, counts.size())};
}

Flaw ScaleMap::flaw() const {
  const std::int64_t cells = std::int64_t{rows} * columns;
  if (rows < 0 || columns < 0 || std::ssize(mean) != cells || std::ssize(maximum) != cells) {
    return {
        "rows",
        fmt::format("is {}; there are {} means and {} maxima, which is not rows times {} columns",
                    rows, mean.size(), maximum.size(), columns)};
  }
  for (const auto* optional : {&minimum, &deviation, &saturated_share, &underflowed_share}) {
    if (optional->empty() || std::ssize(*optional) == cells) continue;
    return {"rows",
            fmt::format("is {}; a statistic has {} cells, which is not rows times {} columns", rows,
                        optional->size(), columns)};
  }
  std::int64_t previous = 0;
  for (const std::int64_t row : expert_first_row) {
    if (row < previous || row > source_rows) {
      return {"expert_first_row",
              fmt::format("is {}; it must be between {} and {}", row, previous, source_rows)};
    }
    previous = row;
  }
  return {};
}

Flaw ChannelProfile::flaw() const {
  for (const auto* values : {&snr_db, &saturated_share, &underflowed_share, &lost_share}) {
    if (values->size() == cells()) continue;
    return {"amax", fmt::format("has {} cells, another number of channels {}; all have as many",
                                cells(), values->size())};
  }
  if (std::cmp_greater(cells(), channels) || (cells() == 0) != (channels == 0)) {
    return {"channels",
            fmt::format("is {}, in {} cells; every cell has at least one", channels, cells())};
  }
  // Compared so that NaN passes: it means "there is none".
  const auto no_amax = [](float one) { return one < 0.0F || std::isinf(one); };
  if (median_amax <= 0.0 || std::isinf(median_amax) || std::ranges::any_of(amax, no_amax)) {
    return {"amax", "and its median must be finite magnitudes, and the median above 0"};
  }
  if (outliers > 0 && std::isnan(median_amax)) {
    return {"outliers", fmt::format("is {}, but there is no median to compare with", outliers)};
  }
  for (const auto* values : {&saturated_share, &underflowed_share, &lost_share}) {
    const auto wrong = [](float one) { return one < 0.0F || one > 1.0F; };
    if (std::ranges::none_of(*values, wrong)) continue;
    return {"saturated_share", "or another share is outside 0 to 1"};
  }
  if (outliers > channels) {
    return {"outliers", fmt::format("is {}; there are {} channels", outliers, channels)};
  }
  for (const auto* list : {&largest, &noisiest, &lowest_snr}) {
    for (const Channel& one : *list) {
      if (one.index < channels) continue;
      return {"channels", fmt::format("is {}, but number {} is named; it must be between 0 and {}",
                                      channels, one.index, channels - 1)};
    }
  }
  return {};
}

Flaw ChannelStatistics::flaw() const {
  const auto is_sum = [](double value) { return std::isfinite(value) && value >= 0.0; };
  if (!is_sum(signal) || !is_sum(noise)) {
    return {"signal", fmt::format("is {} and the noise {}; a sum of squares is finite and at least "
                                  "0",
                                  signal, noise)};
  }
  for (const auto& [name, axis, length] :
       {std::tuple{"columns", &columns, rows.channels}, {"rows", &rows, columns.channels}}) {
    for (const auto* list : {&axis->largest, &axis->noisiest, &axis->lowest_snr}) {
      for (const Channel& one : *list) {
        if (one.place < length) continue;
        return {name, fmt::format("has its largest element at {} in number {}; it must be below {}",
                                  one.place, one.index, length)};
      }
    }
  }
  return {};
}

std::vector<Recipe> default_comparison(const Recipe& settings) {
  std::vector<Recipe> recipes;
  for (const bool per_tensor : {true, false}) {
    for (const auto& [value, name] : kType<Scaling>.names) {
      const auto scaling = static_cast<Scaling>(value);
      const RecipeTraits& traits = traits_of(scaling);
      if (!traits.quantizes() || traits.per_tensor() != per_tensor) continue;
      for (const bool pow2 : {false, true}) {
        // Where the recipe decides, one of the two is not what it does.
        if (traits.pow2_scales(pow2) != pow2) continue;
        Recipe& recipe = recipes.emplace_back(settings);
        recipe.scaling = scaling;
        recipe.pow2_scales = pow2;
        recipe.split_accumulator = true;
      }
    }
  }
  return recipes;
}

namespace {

Flaw outside(std::string field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return {std::move(field), fmt::format("is {}; it must be between {} and {}", value, low, high)};
}

Flaw flaw_of_experts(const StepSeries& series, int experts) {
  Flaw flaw = outside("series.outlier_expert", series.outlier_expert, 0, experts - 1);
  for (std::size_t i = 0; i < series.idle.size() && flaw.empty(); ++i) {
    flaw = outside(fmt::format("series.idle[{}].expert", i), series.idle[i].expert, 0, experts - 1);
  }
  return flaw;
}

/// Of everything that the answer would hold.
Flaw flaw_of_size(const StepSeries& series, std::span<const Recipe> recipes, int experts) {
  const std::int64_t reports = std::int64_t{series.steps} * std::ssize(recipes);
  std::int64_t floats = 0;
  for (const Recipe& recipe : recipes) {
    floats += std::int64_t{experts} * series.steps * kept_history_rows(recipe, series.steps);
  }
  const auto too_large = [&](std::int64_t size, const char* of_what, std::int64_t limit,
                             const char* cure) -> Flaw {
    return {"series.steps",
            fmt::format("is {}; with {} recipes and {} experts that makes {} {}; the limit is {}",
                        series.steps, recipes.size(), experts, size, of_what, limit),
            cure};
  };
  constexpr const char* kCure = "choose fewer steps, recipes or experts";
  if (reports > kMaxComparisonReports) {
    return too_large(reports, "reports", kMaxComparisonReports, kCure);
  }
  if (reports * experts > kMaxSeriesRows) {
    return too_large(reports * experts, "rows", kMaxSeriesRows, kCure);
  }
  if (floats <= kMaxHistoryFloats) return {};
  return too_large(floats, "amaxes in the histories", kMaxHistoryFloats,
                   "choose fewer steps or shorter histories");
}

}  // namespace

Flaw StepSeries::flaw() const {
  if (Flaw flaw = outside("outlier_step", outlier_step, -1, steps - 1); !flaw.empty()) return flaw;
  if (!(outlier_factor > 0.0) || !std::isfinite(outlier_factor)) {
    return {"outlier_factor", fmt::format("is {}; it must be finite and above 0", outlier_factor)};
  }
  for (std::size_t i = 0; i < idle.size(); ++i) {
    Flaw flaw = outside(fmt::format("idle[{}].step", i), idle[i].step, 0, steps - 1);
    if (!flaw.empty()) return flaw;
  }
  return {};
}

std::vector<Recipe> compared_recipes(const ComparisonRequest& request) {
  return request.recipes.empty() ? default_comparison() : request.recipes;
}

Flaw ComparisonRequest::flaw() const {
  if (weights && gradients) {
    return {"weights", "and gradients are both chosen; a comparison quantizes one of them",
            "run two comparisons"};
  }
  if (!series) return {};
  if (weights || gradients) {
    return {"series", "covers X only, but W or dY is selected",
            "leave out the series, or select X"};
  }
  const int experts = request.shape.num_experts;
  if (Flaw flaw = flaw_of_experts(*series, experts); !flaw.empty()) return flaw;
  return flaw_of_size(*series, compared_recipes(*this), experts);
}

Flaw QuantizationSample::flaw() const {
  const std::int64_t cells = std::int64_t{rows} * columns;
  if (std::ssize(original) == cells && std::ssize(codes) == cells &&
      std::ssize(scale_inv) == cells && std::ssize(decoded) == cells) {
    return {};
  }
  return {
      "rows",
      fmt::format("is {}; there are {} elements and {} codes, which is not rows times {} columns",
                  rows, original.size(), codes.size(), columns)};
}

ComparisonRequest default_series(const RunRequest& request) {
  constexpr std::int64_t kRows = 4096;
  constexpr int kLength = 16;  // a longer history shows nothing more in 32 steps
  ComparisonRequest order{.request = request, .timed_launches = 0};
  order.request.step = StepKind::Linear;  // its rows need not be whole tokens
  order.request.expert_layer = {};
  order.request.shape.rows = std::min(kRows, request.shape.rows);
  Recipe recipe = request.recipe;
  recipe.delayed.history_length = std::min(recipe.delayed.history_length, kLength);
  for (const Scaling scaling : {Scaling::PerTensorDelayed, Scaling::PerTensorCurrent}) {
    recipe.scaling = scaling;
    order.recipes.push_back(recipe);
  }
  order.series = {.outlier_step = 8};
  return order;
}

int kept_history_rows(const Recipe& recipe, int steps) {
  if (!traits_of(recipe).remembers_amax()) return 0;
  return std::min(recipe.delayed.history_length, steps);
}

namespace {

/// What is wrong with the median of a row of a benchmark.
Flaw flaw_of_median(double median_us) {
  if (median_us > 0 && std::isfinite(median_us)) return {};
  return {"median_us", fmt::format("is {}, which is not a time", median_us)};
}

}  // namespace

Flaw BenchRow::flaw() const { return flaw_of_median(median_us); }

Flaw StepBenchRow::flaw() const { return skipped.empty() ? flaw_of_median(median_us) : Flaw(); }

Flaw BenchShape::flaw() const {
  if (columns % 16 != 0) {
    return {"columns", fmt::format("is {}; it must be a multiple of 16", columns),
            fmt::format("use {}", (columns + 15) / 16 * 16)};
  }
  if (rows <= kMaxBenchElements / columns) return {};
  return {"rows",
          fmt::format("is {}; with {} columns that is more than {} elements", rows, columns,
                      kMaxBenchElements),
          "use fewer rows"};
}

Flaw BenchOrder::flaw() const {
  if (!(seconds > 0)) return {"seconds", fmt::format("is {}; it must be above 0", seconds)};
  if (!times_steps(suite)) return {};
  if (steps.shapes.empty() || steps.routings.empty()) {
    return {
        "steps.shapes",
        "is empty, or steps.routings is empty; a benchmark of steps needs at least one of each"};
  }
  if (steps.shapes.size() * steps.routings.size() > kMaxStepBenchCases) {
    return {"steps.shapes",
            fmt::format(
                "has {} entries, each with {} routings; a benchmark takes at most {} combinations",
                steps.shapes.size(), steps.routings.size(), kMaxStepBenchCases)};
  }
  for (const RoutingDistribution routing : steps.routings) {
    if (routing == RoutingDistribution::File) {
      return {
          "steps.routings",
          "names a file; benchmarks need a synthetic routing, only runs read splits from a file"};
    }
  }
  for (std::size_t i = 0; i < steps.shapes.size(); ++i) {
    if (steps.shapes[i].shape.rows == 0) {
      return {fmt::format("steps.shapes[{}].shape.rows", i),
              "is 0; without tokens there is nothing to time"};
    }
    const RunRequest request = step_bench_request(
        {.step = step_of(suite), .shape = steps.shapes[i]}, StepBenchRecipe::Bf16);
    if (Flaw flaw = request.flaw(); !flaw.empty()) {
      flaw.field = fmt::format("steps.shapes[{}].{}", i, flaw.field);
      return flaw;
    }
  }
  return {};
}

}  // namespace engine
