// Derivations of the Numerics page.
#include "app/gui/panels/numerics_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/plot/format.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/recipe_words.h"
#include "profiling/document/columns.h"
#include "profiling/document/run_tables.h"

namespace app {

std::string recipe_text(const engine::Recipe& recipe) {
  const engine::RecipeTraits& traits = engine::traits_of(recipe);
  if (!traits.quantizes()) return fmt::format("{}, not quantized", engine::recipe_label(recipe));
  std::string text(traits.title);
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
  map_colors_ = app::map_colors(map_, layer);
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

void NumericsModel::derive_experts(const Theme& theme) {
  experts_ = plot::drawn(profiling::expert_errors_table(run_->result, product_, operand_), theme);
  snr_bars_.clear();
  for (const engine::ExpertResult& expert : run_->result.experts) {
    const double snr_db = expert.rows == 0 ? profiling::kNaN : expert.of(product_).snr_db;
    snr_bars_.push_back({.value = snr_db,
                         .companion = static_cast<double>(expert.rows),
                         .color = theme.colors.accent,
                         .outside = std::isinf(snr_db) && snr_db > 0.0});
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

profiling::Table selection_table(const ValueSelection& selection) {
  using profiling::column;
  using profiling::Measure;
  return {
      .name = "selection",
      .columns = {column("series"), column("from_log2", Measure::Number, "from"),
                  column("to_log2", Measure::Number, "to"), column("count", Measure::Count),
                  column("of", Measure::Count)},
      .rows = [&selection](const profiling::RowSink& sink) {
        const auto& [low, high] = selection.snapped;
        for (const SelectedSeries& series : selection.series) {
          sink({.cells = profiling::cells_of(series.name, low, high, series.count, series.total)});
        }
        for (std::size_t expert = 0; expert < selection.scales_of_experts.size(); ++expert) {
          sink({.cells =
                    profiling::cells_of(fmt::format("scales of expert {}", expert), low, high,
                                        selection.scales_of_experts[expert], profiling::Cell())});
        }
      }};
}

}  // namespace app
