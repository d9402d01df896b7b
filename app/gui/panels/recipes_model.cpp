// Derivations of the Recipes view.
#include "app/gui/panels/recipes_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/gui/plot/format.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/recipe_words.h"
#include "profiling/document/run_tables.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

using engine::ScaleNumber;

plot::Bins code_bins(const RecipeOverlay& overlay) {
  plot::Bins bins;
  const std::vector<std::uint64_t>& counts = overlay.report->code_counts;
  if (counts.empty()) return bins;
  const double width = 256.0 / static_cast<double>(counts.size());
  for (std::size_t i = 0; i <= counts.size(); ++i) {
    bins.edges.push_back(width * static_cast<double>(i));
  }
  for (const std::uint64_t count : counts) bins.counts.push_back(static_cast<double>(count));
  return bins;
}

}  // namespace

engine::ComparisonRequest comparison_order(const engine::RunRequest& request, bool weights,
                                           const OperandRegion& sample) {
  engine::ComparisonRequest order{.request = request, .weights = weights};
  order.recipes = engine::default_comparison(request.recipe);
  order.request.recipe = {};
  order.request.launch = {};
  order.request.layers = 1;
  order.request.workspace = engine::WorkspaceStrategy::PerMatmul;
  order.sample_row = sample.row;
  order.sample_column = sample.column;
  order.sample_rows = sample.rows;
  order.sample_columns = sample.columns;
  return order;
}

bool answers(const engine::ComparisonRequest& done, const engine::ComparisonRequest& order) {
  engine::ComparisonRequest same = done;
  same.request.backend = order.request.backend;
  same.request.cublaslt_library = order.request.cublaslt_library;
  return same == order;
}

void RecipesModel::set(Comparison comparison, bool columnwise, const Theme& theme) {
  recorded_ = std::move(comparison);
  columnwise_ = columnwise;
  reports_.clear();
  overlays_.clear();
  for (const engine::QuantizationReport& report : recorded_->comparison.reports) {
    if (report.columnwise == columnwise) reports_.push_back(&report);
  }
  const auto ran = std::ranges::find_if(
      reports_, [](const engine::QuantizationReport* report) { return report->refused.empty(); });
  before_ = ran == reports_.end() ? plot::Bins{} : plot::magnitude_bins((*ran)->statistics.before);
  experts_ = {};
  derive_table(theme);
  derive_pairs();
  ++generation_;
}

void RecipesModel::derive_table(const Theme& theme) {
  const auto* const reference = overlays_.empty() ? nullptr : overlays_.front().report;
  table_ = plot::drawn(profiling::comparison_table(*recorded_, {{columnwise_, reference}}), theme);
  for (const RecipeOverlay& overlay : overlays_) {
    table_.rows[static_cast<std::size_t>(overlay.row)].chip = overlay.color;
  }
}

std::vector<int> RecipesModel::first_choice() const {
  std::vector<int> chosen;
  for (const auto wanted : {ScaleNumber::Fp32, ScaleNumber::E8m0, ScaleNumber::E4m3}) {
    const auto found =
        std::ranges::find_if(reports_, [wanted](const engine::QuantizationReport* report) {
          const engine::RecipeTraits& traits = engine::traits_of(report->recipe);
          return report->refused.empty() && traits.block > 0 && traits.scale == wanted;
        });
    if (found != reports_.end()) chosen.push_back(static_cast<int>(found - reports_.begin()));
  }
  for (std::size_t i = 0; i < reports_.size() && chosen.size() < kMostOverlaid; ++i) {
    const int row = static_cast<int>(i);
    if (reports_[i]->refused.empty() && std::ranges::find(chosen, row) == chosen.end()) {
      chosen.push_back(row);
    }
  }
  return chosen;
}

void RecipesModel::derive_pairs() {
  pairs_.clear();
  const auto row_of = [this](engine::Scaling scaling, bool pow2) {
    const auto found = std::ranges::find_if(reports_, [&](const auto* report) {
      return report->recipe.scaling == scaling && report->recipe.pow2_scales == pow2 &&
             report->refused.empty();
    });
    return found == reports_.end() ? -1 : static_cast<int>(found - reports_.begin());
  };
  for (const engine::QuantizationReport* report : reports_) {
    const engine::RecipeTraits& traits = engine::traits_of(report->recipe);
    if (!traits.chooses_pow2() || report->recipe.pow2_scales) continue;
    ScalePair pair{std::string(traits.label),
                   {row_of(report->recipe.scaling, false), row_of(report->recipe.scaling, true)}};
    if (pair.rows[0] >= 0 && pair.rows[1] >= 0) pairs_.push_back(std::move(pair));
  }
}

void RecipesModel::choose(const std::vector<int>& rows, const Theme& theme) {
  overlays_.clear();
  map_colors_ = {};
  for (const int row : rows) {
    const auto index = static_cast<std::size_t>(row);
    if (row < 0 || index >= reports_.size() || !reports_[index]->refused.empty()) continue;
    if (overlays_.size() == kMostOverlaid) break;
    const bool weights = recorded_->comparison.request.weights;
    const auto role = weights ? engine::OperandRole::Weights : engine::OperandRole::Activations;
    RecipeOverlay overlay = overlay_of(*reports_[index], role);
    overlay.row = row;
    overlay.name = engine::recipe_name(overlay.report->recipe, weights);
    overlay.color = theme.series(overlays_.size());
    const engine::OperandStatistics& statistics = overlay.report->statistics;
    overlay.after = plot::magnitude_bins(statistics.after);
    overlay.scale = plot::magnitude_bins(statistics.scale);
    overlay.codes = code_bins(overlay);
    overlay.codes_used = static_cast<int>(std::ranges::count_if(
        overlay.report->code_counts, [](std::uint64_t count) { return count > 0; }));
    overlay.map = map_layer(statistics.scale_map, MapLayer::Largest);
    overlay.separators = expert_separators(statistics.scale_map);
    const plot::Range values = plot::value_range(overlay.map.values);
    const bool first = map_colors_.empty() && map_colors_.max == 0.0 && map_colors_.min == 0.0;
    if (!overlay.map.values.empty()) {
      map_colors_ = first ? values
                          : plot::Range{std::min(map_colors_.min, values.min),
                                        std::max(map_colors_.max, values.max)};
    }
    overlays_.push_back(std::move(overlay));
  }
  if (map_colors_.empty()) map_colors_ = plot::padded(map_colors_, 0.0);
  derive_table(theme);
  derive_experts(theme);
  ++generation_;
}

void RecipesModel::derive_experts(const Theme& theme) {
  experts_ = {};
  if (overlays_.empty()) return;
  std::vector<const engine::QuantizationReport*> reports;
  for (const RecipeOverlay& overlay : overlays_) reports.push_back(overlay.report);
  experts_.table = plot::drawn(
      profiling::recipe_experts_table(reports, recorded_->comparison.request.weights), theme);
  const std::vector<engine::ExpertQuantization>& first = reports.front()->experts;
  for (std::size_t expert = 0; expert < first.size(); ++expert) {
    for (const RecipeOverlay& overlay : overlays_) {
      const engine::ExpertQuantization one = expert < overlay.report->experts.size()
                                                 ? overlay.report->experts[expert]
                                                 : engine::ExpertQuantization{};
      const double snr = one.rows > 0 ? one.snr_db : profiling::kNaN;
      const double reference = first[expert].rows > 0 ? first[expert].snr_db : profiling::kNaN;
      const bool scaled = one.waste.scales > 0;
      experts_.table.rows[experts_.snr.size()].chip = overlay.color;
      experts_.snr.push_back(
          {.value = snr, .color = overlay.color, .outside = std::isinf(snr) && snr > 0.0});
      experts_.lost.push_back(
          {.value = profiling::lost_snr(reference, snr), .color = overlay.color});
      experts_.waste.push_back({.value = scaled ? one.waste.mean : profiling::kNaN,
                                .low = scaled ? one.waste.mean : 0.0,
                                .high = scaled ? one.waste.max : 0.0,
                                .color = overlay.color});
    }
  }
}

std::int64_t RecipesModel::operand_rows() const {
  const engine::ComparisonRequest& request = recorded_->comparison.request;
  const engine::ShapeSpec& shape = request.request.shape;
  return request.weights ? shape.n * shape.num_experts : shape.rows;
}

std::int64_t RecipesModel::operand_row(const engine::ScaleMap& map, double source_row) const {
  const engine::ComparisonRequest& request = recorded_->comparison.request;
  const std::vector<std::int64_t>& splits = recorded_->comparison.splits;
  const std::int64_t row = app::operand_row(map, source_row, [&](std::size_t expert) {
    if (request.weights) return request.request.shape.n;
    return expert < splits.size() ? splits[expert] : std::int64_t{0};
  });
  return std::clamp<std::int64_t>(row, 0, std::max<std::int64_t>(operand_rows() - 1, 0));
}

RecipeOverlay overlay_of(const engine::QuantizationReport& report, engine::OperandRole role) {
  RecipeOverlay overlay;
  overlay.report = &report;
  overlay.format = code_format(report.recipe, role);
  overlay.transformed = transformed_codes(report.recipe, role, report.columnwise);
  return overlay;
}

double steps_to_code(const RecipeOverlay& overlay, std::size_t index) {
  const engine::QuantizationSample& sample = overlay.report->sample;
  const auto factor = static_cast<double>(sample.scale_inv[index]);
  if (overlay.transformed || !(factor > 0.0)) return profiling::kNaN;
  return grid_steps(overlay.format, sample.codes[index],
                    static_cast<double>(sample.original[index]) / factor);
}

ElementReading read_element(const RecipeOverlay& overlay, int row, int column) {
  const engine::QuantizationSample& sample = overlay.report->sample;
  if (row < 0 || column < 0 || row >= sample.rows || column >= sample.columns) return {};
  const auto index = static_cast<std::size_t>(row) * static_cast<std::size_t>(sample.columns) +
                     static_cast<std::size_t>(column);
  if (index >= sample.codes.size()) return {};
  const std::uint8_t code = sample.codes[index];
  const double original = static_cast<double>(sample.original[index]);
  const double scale_inv = static_cast<double>(sample.scale_inv[index]);
  const double decoded = static_cast<double>(sample.decoded[index]);
  const double value = code_value(overlay.format, code);
  const double error = decoded - original;
  ElementReading reading;
  reading.original = fmt::format("{:.7g}", original);
  reading.code = code_hex(overlay.format, code) + "   " + code_bits(overlay.format, code);
  // A code's value is short and exact; nine digits identify any float, so that multiplying by hand
  // gives the displayed result.
  reading.value = fmt::format("{} = {}", code_reading(overlay.format, code), value);
  reading.decoded = fmt::format("{} x {:.9g} = {:.7g}", value, scale_inv, value * scale_inv);
  if (overlay.transformed) {
    // The code is of a sum over 16 rows: only undoing the transform recovers this element.
    reading.decoded += fmt::format(", Hadamard undone {:.7g}", decoded);
  }
  reading.error = fmt::format("error {:+.3g}", error);
  if (original != 0.0 && std::isfinite(error)) {
    const double steps = steps_to_code(overlay, index);
    reading.error += fmt::format(" ({:+.2f} %{})", 100.0 * error / std::abs(original),
                                 std::isfinite(steps) ? fmt::format(", {:.2f} ulp", steps) : "");
  }
  return reading;
}

}  // namespace app
