// Derivations of the Numerics page.
#include "app/gui/panels/numerics_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/plot/format.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/recipe_words.h"

namespace app {

namespace {

/// The columns name the product; those of the operand, whose symbol the card's title has, do not.
/// Only what lost elements has a column for them.
std::vector<plot::Column> expert_error_columns(engine::Product product, bool lost,
                                               bool operand_lost) {
  struct Titles {
    const char* snr;
    const char* tooltip;
  };
  static constexpr std::array<Titles, 3> kTitles = {{
      {"Y dB", "SNR of Y in dB: product against the product of the unquantized operands"},
      {"dX dB", "SNR of dX in dB: product against the product of the unquantized operands"},
      {"dW dB", "SNR of dW in dB: product against the product of the unquantized operands"},
  }};
  const Titles& titles = kTitles.at(static_cast<std::size_t>(product));
  std::vector<plot::Column> columns = {
      {"exp.", 26, true, "Number of the expert"},
      {"rows", 0, true, "Tokens routed to it"},
      {titles.snr, 38, true, titles.tooltip},
      {"op. dB", 38, true,
       "SNR of quantizing the operand in dB: dequantized elements against the original ones. * "
       "leaves out "
       "elements that are or became infinite or NaN"},
      {"max err.", 50, true, "Largest absolute error of an element of the product"},
      {"op. ulp", 38, true,
       "Largest error of the operand in units in the last place of its codes: 0.5 is correct "
       "rounding"},
      {"satur.", 38, true, "Elements of the operand above the format's largest value"},
      {"underfl.", 44, true, "Elements of the operand that were not zero and became zero"}};
  if (operand_lost) {
    columns.push_back({"op. lost", 44, true,
                       "Finite elements of the operand whose codes decode to infinity or NaN"});
  }
  if (lost) {
    columns.push_back({"lost", 34, true,
                       "Elements of the product that overflowed: infinite or NaN although the "
                       "unquantized product is finite. The SNR leaves them out"});
  }
  return columns;
}

}  // namespace

std::string recipe_text(const engine::Recipe& recipe) {
  const engine::RecipeTraits& traits = engine::traits_of(recipe);
  std::string text(traits.title);
  if (!traits.quantizes()) return text + ", not quantized";
  if (traits.block > 0) {
    text += fmt::format(", 1x{}", traits.block);
    text += traits.square_activations ? fmt::format(" and {0}x{0}", traits.block) : " blocks";
  }
  if (!traits.chooses_pow2()) return text;
  text += recipe.activation_format == engine::Fp8Format::E4m3 ? ", X in E4M3" : ", X in E5M2";
  text += fmt::format(", {}", engine::scales_label(recipe.pow2_scales));
  if (traits.amax_epsilon && recipe.amax_epsilon > 0.0F) {
    text += ", epsilon " + plot::number_text(static_cast<double>(recipe.amax_epsilon));
  }
  return text;
}

bool is_linear_operand(engine::StepTensor tensor) {
  return engine::operand_of(engine::StepKind::Linear, tensor).has_value();
}

const engine::OperandStatistics& NumericsModel::statistics() const {
  static const engine::OperandStatistics kNone;
  const engine::OperandStatistics* statistics = engine::statistics_of(run_->result, operand_);
  return statistics == nullptr ? kNone : *statistics;
}

void NumericsModel::set(Run run, std::uint64_t generation, engine::StepTensor operand,
                        engine::Product product, const Theme& theme) {
  run_ = std::move(run);
  run_generation_ = generation;
  operand_ = operand;
  product_ = product;
  ++generation_;
  const engine::RunRequest& effective = run_->result.effective;
  recipe_ = effective.recipe;
  if (const auto read = engine::operand_of(effective.step, operand);
      read && engine::is_expert_layer(effective)) {
    recipe_ = engine::projection_of(effective, read->projection).recipe;
  }
  quantized_ = engine::traits_of(recipe_).quantizes();
  const engine::OperandStatistics& statistics = this->statistics();
  before_ = plot::magnitude_bins(statistics.before);
  after_ = plot::magnitude_bins(statistics.after);
  scale_ = plot::magnitude_bins(statistics.scale);
  amax_ = plot::magnitude_bins(statistics.amax);
  choose_layer(layer_);
  separators_ = expert_separators(statistics.scale_map);
  derive_experts(theme);
}

void NumericsModel::choose_layer(MapLayer layer) {
  layer_ = layer;
  ++map_generation_;
  map_ = map_layer(statistics().scale_map, layer);
  map_colors_ = plot::value_range(map_.values);
  // Spreads and shares start at zero: a map of zeros must not look like a map of ones.
  if (layer != MapLayer::Largest && layer != MapLayer::Mean && !map_.values.empty()) {
    const bool share = layer == MapLayer::Saturated || layer == MapLayer::Underflowed;
    map_colors_ = {0.0, map_colors_.max > 0.0 ? map_colors_.max : share ? 0.01 : 1.0};
  }
  if (map_colors_.empty()) map_colors_ = plot::padded(map_colors_, 0.0);
}

std::int64_t NumericsModel::operand_row(double source_row) const {
  return app::operand_row(statistics().scale_map, source_row, [this](std::size_t expert) {
    return engine::extent_of(run_->result.effective, operand_)
        .rows_of(run_->result.splits.at(expert));
  });
}

const engine::TensorResult* NumericsModel::in_layer() const {
  return run_->result.expert_layer ? engine::find_tensor(run_->result, operand_) : nullptr;
}

engine::OperandExpert NumericsModel::operand_expert(std::size_t expert) const {
  if (expert < statistics().experts.size()) return statistics().experts[expert];
  engine::OperandExpert one;
  if (operand_ != engine::StepTensor::X || expert >= run_->result.experts.size()) return one;
  // Of a recording that has them of X alone.
  const engine::ExpertResult& x = run_->result.experts[expert];
  if (x.rows == 0) return one;
  one.rows = x.rows;
  one.snr_db = x.x_snr_db;
  one.max_ulp = x.x_max_ulp;
  one.saturated = x.saturated;
  one.underflowed = x.underflowed;
  return one;
}

void NumericsModel::derive_experts(const Theme& theme) {
  snr_bars_.clear();
  expert_rows_.clear();
  const auto snr = [&theme](double db, std::uint64_t left_out) {
    return plot::snr_cell(db, left_out, theme.colors.warn);
  };
  const auto count = [&theme](std::uint64_t value) {
    return plot::Cell{plot::count_text(value), static_cast<double>(value),
                      value > 0 ? theme.colors.warn : theme.colors.dim_text};
  };
  const std::vector<engine::ExpertResult>& experts = run_->result.experts;
  const bool lost = std::ranges::any_of(
      experts, [this](const auto& expert) { return expert.of(product_).lost > 0; });
  const bool operand_lost = std::ranges::any_of(
      statistics().experts, [](const engine::OperandExpert& one) { return one.lost > 0; });
  expert_columns_ = expert_error_columns(product_, lost, operand_lost);
  for (std::size_t i = 0; i < experts.size(); ++i) {
    const engine::ExpertResult& expert = experts[i];
    const engine::ProductAccuracy& error = expert.of(product_);
    const engine::OperandExpert operand = operand_expert(i);
    snr_bars_.push_back({.value = error.snr_db,
                         .companion = static_cast<double>(expert.rows),
                         .color = theme.colors.accent,
                         .outside = std::isinf(error.snr_db) && error.snr_db > 0.0});
    expert_rows_.push_back(
        {.cells = {{std::to_string(i), static_cast<double>(i)},
                   {plot::count_text(static_cast<std::uint64_t>(expert.rows)),
                    static_cast<double>(expert.rows), expert.rows == 0 ? theme.colors.dim_text : 0},
                   snr(expert.rows == 0 ? std::nan("") : error.snr_db, error.left_out()),
                   snr(operand.snr_db, operand.left_out()),
                   {plot::number_text(error.max_abs_error), error.max_abs_error},
                   {std::isnan(operand.max_ulp) ? "" : plot::number_text(operand.max_ulp),
                    operand.max_ulp, expert.rows == 0 ? theme.colors.dim_text : 0},
                   count(operand.saturated),
                   count(operand.underflowed)}});
    if (operand_lost) expert_rows_.back().cells.push_back(count(operand.lost));
    if (lost) expert_rows_.back().cells.push_back(count(error.lost));
    if (expert.rows == 0) snr_bars_.back().value = std::nan("");
    if (expert.rows == 0) snr_bars_.back().outside = false;
  }
}

namespace {

constexpr int kBins = 1020;  // of finite magnitudes

SelectedSeries series_in(const char* name, const plot::Bins& bins, plot::Range snapped) {
  SelectedSeries series{.name = name, .count = bins.counted(snapped), .total = bins.total()};
  series.total += static_cast<double>(bins.zeros + bins.infinities + bins.nans);
  return series;
}

std::vector<std::uint64_t> scales_of_experts(const engine::ScaleMap& map, plot::Range snapped) {
  const bool folded = map.rows != map.source_rows || map.columns != map.source_columns;
  if (folded || map.expert_first_row.empty() || map.rows == 0) return {};
  std::vector<std::uint64_t> counts(map.expert_first_row.size() - 1, 0);
  // 1 / scale_inv may be an ulp or two below the scale that an edge was computed for.
  constexpr double kSlack = 1e-6;
  for (std::size_t expert = 0; expert < counts.size(); ++expert) {
    const auto columns = static_cast<std::size_t>(map.columns);
    const auto first = static_cast<std::size_t>(map.expert_first_row[expert]) * columns;
    const auto end = static_cast<std::size_t>(map.expert_first_row[expert + 1]) * columns;
    for (std::size_t cell = first; cell < end && cell < map.maximum.size(); ++cell) {
      const double scale = kSlack - static_cast<double>(map.maximum[cell]);
      if (scale >= snapped.min && scale < snapped.max) ++counts[expert];
    }
  }
  return counts;
}

}  // namespace

plot::Range snapped_to_bins(plot::Range range) {
  int first = -1;
  int last = -1;
  for (int bin = 4; bin < kBins; ++bin) {  // the bins below are subnormals
    const double centre =
        0.5 * (plot::magnitude_edge_log2(bin) + plot::magnitude_edge_log2(bin + 1));
    if (centre < range.min || centre > range.max) continue;
    if (first < 0) first = bin;
    last = bin;
  }
  if (first < 0) return {};
  return {plot::magnitude_edge_log2(first), plot::magnitude_edge_log2(last + 1)};
}

ValueSelection select_values(const NumericsModel& model, plot::Range range, bool scales) {
  ValueSelection selection{.asked = range, .snapped = snapped_to_bins(range), .scales = scales};
  if (scales) {
    selection.series = {series_in("scale", model.scale(), selection.snapped)};
    selection.scales_of_experts =
        scales_of_experts(model.statistics().scale_map, selection.snapped);
  } else {
    selection.series = {series_in("before", model.before(), selection.snapped),
                        series_in("after", model.after(), selection.snapped),
                        series_in("amax", model.amax(), selection.snapped)};
  }
  return selection;
}

std::string selection_list(const ValueSelection& selection) {
  const std::string range =
      fmt::format("{:.4f}\t{:.4f}", selection.snapped.min, selection.snapped.max);
  std::string text = "series\tfrom_log2\tto_log2\tcount\tof\n";
  for (const SelectedSeries& series : selection.series) {
    text += fmt::format("{}\t{}\t{:.0f}\t{:.0f}\n", series.name, range, series.count, series.total);
  }
  for (std::size_t expert = 0; expert < selection.scales_of_experts.size(); ++expert) {
    text += fmt::format("scales of expert {}\t{}\t{}\t\n", expert, range,
                        selection.scales_of_experts[expert]);
  }
  return text;
}

}  // namespace app
