// Derivations of the Recipes view.
#include "app/gui/panels/recipes_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/gui/plot/format.h"
#include "engine/model/median_interval.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/recipe_words.h"
#include "engine/model/snr_words.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

using engine::ScaleNumber;

constexpr std::size_t kLostColumn = 2;
const char* const kSnrLost =
    "SNR of the recipe chosen first minus the SNR of this one, in dB. Below 0: this one is better";
const char* const kWasted =
    "Part of the code's range that the scales leave unused, in binades: mean of log2 of the scale "
    "that a block's amax asks for over the one used";
const char* const kWorst = "The same of the scale that wastes most";

const std::vector<plot::Column> kRecipeColumns = {
    {"recipe", 0, false,
     "How the operand is scaled and coded; a click adds it to the overlaid plots"},
    {"SNR dB", 52, true,
     "10 log10 of the sum of squares over the sum of squared errors. * leaves out elements that "
     "are or became infinite or NaN"},
    {"SNR lost", 60, true, kSnrLost},
    {"typical dB", 62, true, kTypicalError},
    {"misrounded", 76, true,
     "Largest error beyond correct rounding, in steps of the format's own grid: 0 = every code is "
     "the nearest one"},
    {"underflow", 66, true, "Elements that were not zero and became zero"},
    {"saturated", 62, true, "Elements whose scaled size is above the format's largest value"},
    {"lost", 56, true, "Finite elements whose code decodes to infinity or NaN"},
    {"wasted", 52, true, kWasted},
    {"worst", 46, true, kWorst},
    {"bits/elem.", 62, true, "Codes and scales together, per element"},
    {"median", 76, true, "Median time of the timed launches"},
    {"of copy", 56, true,
     "Bytes per second against a copy timed between the launches of the same comparison"}};

const std::vector<plot::Column> kExpertColumns = {
    {"recipe", 0, false, "Those that are chosen in the table of recipes"},
    {"exp.", 40, true, "Number of the expert"},
    {"rows", 62, true, "Rows of the operand"},
    {"SNR dB", 52, true, "Of this expert's rows. * leaves out elements as in the table of recipes"},
    {"SNR lost", 60, true, kSnrLost},
    {"wasted", 52, true, kWasted},
    {"worst", 46, true, kWorst},
    {"underflow", 66, true, "Elements that were not zero and became zero"},
    {"saturated", 62, true, "Elements whose scaled size is above the format's largest value"},
    {"lost", 56, true, "Finite elements whose code decodes to infinity or NaN"}};

/// Of two SNRs; two exact matches differ by 0.
plot::Cell loss_cell(double reference, double snr_db) {
  double lost = profiling::kNaN;
  if (std::isinf(reference) && reference == snr_db) lost = 0.0;
  if (std::isfinite(reference) && std::isfinite(snr_db)) lost = reference - snr_db;
  if (std::isnan(lost)) return {"n/a", lost};
  return {fmt::format("{:.2f}", std::abs(lost) < 0.005 ? 0.0 : lost), lost};  // never "-0.00"
}

plot::Cell binades_cell(const engine::RangeWaste& waste, double binades) {
  return {engine::binades_text(waste, binades), waste.scales == 0 ? profiling::kNaN : binades};
}

plot::Cell count_cell(std::uint64_t count) {
  return {plot::count_text(count), static_cast<double>(count)};
}

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

const std::vector<plot::Column>& recipe_columns() { return kRecipeColumns; }
const std::vector<plot::Column>& recipe_expert_columns() { return kExpertColumns; }

engine::ComparisonRequest comparison_order(const engine::RunRequest& request, bool weights,
                                           std::int64_t sample_row, std::int64_t sample_column) {
  engine::ComparisonRequest order{.request = request, .weights = weights};
  order.recipes = engine::default_comparison(request.recipe);
  order.request.recipe = {};
  order.request.launch = {};
  order.request.layers = 1;
  order.request.workspace = engine::WorkspaceStrategy::PerMatmul;
  order.sample_row = sample_row;
  order.sample_column = sample_column;
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
  derive_rows(theme);
  derive_pairs();
  ++generation_;
}

void RecipesModel::derive_rows(const Theme& theme) {
  rows_.clear();
  const engine::RecipeComparison& all = recorded_->comparison;
  // Both count bytes read and bytes written.
  const double copy_rate =
      static_cast<double>(all.copy_bytes) / engine::median_of(all.copy_times_ns);
  for (const engine::QuantizationReport* report : reports_) {
    const std::string name = engine::recipe_name(report->recipe, all.request.weights);
    plot::TableRow row;
    row.cells.push_back({name});
    if (!report->refused.empty()) {
      row.cells.front() = {name + ": " + report->refused, 0.0, theme.colors.dim_text};
      for (std::size_t i = 1; i < kRecipeColumns.size(); ++i) {
        row.cells.push_back({"", profiling::kNaN, theme.colors.dim_text});
      }
      row.tooltip = name + " did not run. " + report->refused;
      rows_.push_back(std::move(row));
      continue;
    }
    const engine::OperandStatistics& statistics = report->statistics;
    const auto elements = static_cast<double>(statistics.elements);
    const auto share = [&](std::uint64_t count) {
      const auto part = static_cast<double>(count);
      return plot::Cell{plot::share_text(part, elements),
                        elements > 0 ? part / elements : profiling::kNaN,
                        count > 0 ? theme.colors.warn : theme.colors.dim_text};
    };
    const double bits = 8.0 * static_cast<double>(report->code_bytes + report->scale_bytes);
    const double per_element = elements > 0 ? bits / elements : profiling::kNaN;
    const double median = engine::median_of(report->times_ns);
    const double of_copy = static_cast<double>(report->moved_bytes) / median / copy_rate;
    const bool timed = std::isfinite(of_copy);
    row.cells.push_back(
        plot::snr_cell(statistics.snr_db, statistics.left_out(), theme.colors.warn));
    row.cells.push_back(loss_cell(profiling::kNaN, statistics.snr_db));
    row.cells.push_back(
        {plot::decibel_text(statistics.median_block_snr_db), statistics.median_block_snr_db});
    const bool compared = statistics.left_out() < statistics.elements;
    row.cells.push_back(
        {compared ? plot::count_text(static_cast<std::uint64_t>(report->max_ulp)) : "n/a",
         compared ? static_cast<double>(report->max_ulp) : profiling::kNaN});
    row.cells.push_back(share(statistics.underflowed));
    row.cells.push_back(share(statistics.saturated));
    row.cells.push_back(share(statistics.lost));
    row.cells.push_back(binades_cell(report->waste, report->waste.mean));
    row.cells.push_back(binades_cell(report->waste, report->waste.max));
    row.cells.push_back(
        {std::isnan(per_element) ? "n/a" : fmt::format("{:.2f}", per_element), per_element});
    row.cells.push_back({plot::duration_text(median), median});
    row.cells.push_back({timed ? fmt::format("{:.0f} %", 100.0 * of_copy) : "n/a", of_copy});
    row.tooltip = fmt::format(
        "{}\nSNR {}\n{} codes and {} bytes of scales for {} elements\nrange wasted by {} scales: "
        "mean {}, worst {} binades\nlargest relative error {}\n{}",
        name, engine::snr_text(statistics, plot::kSnrDecimals),
        plot::count_text(static_cast<std::uint64_t>(report->code_bytes)),
        plot::count_text(static_cast<std::uint64_t>(report->scale_bytes)),
        plot::count_text(statistics.elements), plot::count_text(report->waste.scales),
        engine::binades_text(report->waste, report->waste.mean),
        engine::binades_text(report->waste, report->waste.max),
        plot::number_text(report->max_relative_error),
        report->times_ns.empty()
            ? "not timed"
            : fmt::format("n {}, {}", report->times_ns.size(), report->time_method));
    rows_.push_back(std::move(row));
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
  for (plot::TableRow& row : rows_) row.chip = 0;
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
    rows_[index].chip = overlay.color;
    overlays_.push_back(std::move(overlay));
  }
  if (map_colors_.empty()) map_colors_ = plot::padded(map_colors_, 0.0);
  derive_losses();
  derive_experts(theme);
  ++generation_;
}

void RecipesModel::derive_losses() {
  const double reference =
      overlays_.empty() ? profiling::kNaN : overlays_.front().report->statistics.snr_db;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!reports_[i]->refused.empty()) continue;
    rows_[i].cells[kLostColumn] = loss_cell(reference, reports_[i]->statistics.snr_db);
  }
}

void RecipesModel::derive_experts(const Theme& theme) {
  experts_ = {};
  if (overlays_.empty()) return;
  const std::vector<engine::ExpertQuantization>& first = overlays_.front().report->experts;
  for (std::size_t expert = 0; expert < first.size(); ++expert) {
    for (const RecipeOverlay& overlay : overlays_) {
      const engine::ExpertQuantization one = expert < overlay.report->experts.size()
                                                 ? overlay.report->experts[expert]
                                                 : engine::ExpertQuantization{};
      const double snr = one.rows > 0 ? one.snr_db : profiling::kNaN;
      const bool scaled = one.waste.scales > 0;
      experts_.snr.push_back(
          {.value = snr, .color = overlay.color, .outside = std::isinf(snr) && snr > 0.0});
      const plot::Cell lost =
          loss_cell(first[expert].rows > 0 ? first[expert].snr_db : profiling::kNaN, snr);
      experts_.lost.push_back({.value = lost.key, .color = overlay.color});
      experts_.waste.push_back({.value = scaled ? one.waste.mean : profiling::kNaN,
                                .low = scaled ? one.waste.mean : 0.0,
                                .high = scaled ? one.waste.max : 0.0,
                                .color = overlay.color});
      experts_.rows.push_back({.cells = {{overlay.name},
                                         {std::to_string(expert), static_cast<double>(expert)},
                                         count_cell(static_cast<std::uint64_t>(one.rows)),
                                         plot::snr_cell(snr, one.left_out(), theme.colors.warn),
                                         lost,
                                         binades_cell(one.waste, one.waste.mean),
                                         binades_cell(one.waste, one.waste.max),
                                         count_cell(one.underflowed),
                                         count_cell(one.saturated),
                                         count_cell(one.lost)},
                               .chip = overlay.color});
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
