// Numerics: what the recipe does to the numbers of one operand and to the product of every expert.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/card.h"
#include "app/gui/panels/numerics_model.h"
#include "app/gui/plot/heatmap_plot.h"
#include "app/gui/plot/histogram_plot.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

const char* const kCountMethod =
    "Exact counts over all elements of the operand, taken where the tensor lies: FP32 bit patterns "
    "without sign in four bins a power of two. Heights are counts per power of two, so that bins "
    "of "
    "unequal width compare by area. Zeros, infinities and NaN stand apart.";

class NumericsPanel : public WorkspacePanel {
 public:
  void draw(const PanelContext& context, ImVec2 size) override;

 private:
  void follow_run(const PanelContext& context);
  void draw_figures(const PanelContext& context, float width);
  void draw_values(const PanelContext& context, ImVec2 size);
  void draw_scales(const PanelContext& context, ImVec2 size);
  void draw_map(const PanelContext& context, ImVec2 size);
  void draw_map_read_out(const PanelContext& context, const plot::HeatmapHover& hover) const;
  void draw_snr(const PanelContext& context, ImVec2 size);
  void draw_errors(const PanelContext& context, ImVec2 size);
  void draw_no_scales(const PanelContext& context, ImVec2 size, const char* what) const;

  NumericsModel model_;
  bool has_run_ = false;
  ThemeKind theme_kind_ = ThemeKind::Dark;
  int operand_ = 0;
  bool log_counts_ = true;
  plot::PlotView value_view_;
  plot::PlotView scale_view_;  // shared by the scale and the amax histogram
  plot::PlotView snr_view_;
  plot::HeatmapState map_state_;
  plot::TableState table_;
  StaleVeil veil_;
};

std::string bins_list(const std::vector<std::pair<const char*, const plot::Bins*>>& all,
                      char separator) {
  std::string text = fmt::format("series{0}from_log2{0}to_log2{0}count\n", separator);
  for (const auto& [name, bins] : all) {
    for (std::size_t i = 0; i < bins->counts.size(); ++i) {
      if (bins->counts[i] == 0.0) continue;
      text += fmt::format("{1}{0}{2:.4f}{0}{3:.4f}{0}{4:.0f}\n", separator, name, bins->edges[i],
                          bins->edges[i + 1], bins->counts[i]);
    }
    text += fmt::format("{1}{0}zeros{0}{0}{2}\n{1}{0}infinities{0}{0}{3}\n{1}{0}nans{0}{0}{4}\n",
                        separator, name, bins->zeros, bins->infinities, bins->nans);
  }
  return text;
}

void NumericsPanel::follow_run(const PanelContext& context) {
  const SessionView& view = context.view;
  has_run_ = view.run != nullptr;
  if (!has_run_) return;
  const auto operand = static_cast<Operand>(operand_);
  if (model_.generation() != 0 && model_.run_generation() == view.run_generation &&
      model_.operand() == operand && theme_kind_ == context.theme.kind) {
    return;
  }
  // Another operand has another range; a newer run of the same one keeps the zoom.
  if (model_.generation() != 0 && model_.operand() != operand) {
    value_view_ = {};
    scale_view_ = {};
    map_state_.view = {};
  }
  theme_kind_ = context.theme.kind;
  model_.set(view.run, view.run_generation, operand, context.theme);
}

void NumericsPanel::draw_figures(const PanelContext& context, float width) {
  const Theme& theme = context.theme;
  const engine::OperandStatistics& statistics = model_.statistics();
  const auto elements = static_cast<double>(statistics.elements);
  const char* name = operand_ == 0 ? "X" : "W";
  std::vector<Figure> figures;
  const bool exact = std::isinf(statistics.snr_db) && statistics.snr_db > 0.0;
  figures.push_back({.id = "numerics.snr",
                     .label = fmt::format("SNR of {}", name),
                     .value = {plot::decibel_text(statistics.snr_db),
                               std::isfinite(statistics.snr_db) ? "dB" : ""},
                     .note = fmt::format("n {}", plot::si_text(elements)),
                     .tooltip = exact ? "Every finite element came back exactly"
                                      : "10 log10 of the sum of squares over the sum of squared "
                                        "errors, finite elements"});
  figures.push_back(
      {.id = "numerics.saturated",
       .label = "saturated",
       .value = {plot::count_text(statistics.saturated), ""},
       .note = plot::share_text(static_cast<double>(statistics.saturated), elements),
       .tooltip = "Elements whose scaled size is above the format's largest finite value",
       .color = statistics.saturated > 0 ? theme.colors.warn : 0});
  figures.push_back(
      {.id = "numerics.underflowed",
       .label = "underflowed to 0",
       .value = {plot::count_text(statistics.underflowed), ""},
       .note = plot::share_text(static_cast<double>(statistics.underflowed), elements),
       .tooltip = "Elements that were not zero and became zero",
       .color = statistics.underflowed > 0 ? theme.colors.warn : 0});
  figures.push_back(
      {.id = "numerics.scales",
       .label = "scales",
       .value = {plot::count_text(static_cast<std::uint64_t>(model_.scale().total())), ""},
       .note = "",
       .tooltip = "One for each block, or one an expert per tensor"});
  figures.push_back({.id = "numerics.recipe",
                     .label = "recipe",
                     .value = {recipe_text(model_.run().result.effective.recipe), ""},
                     .note = "",
                     .tooltip = "The effective recipe of the run on screen"});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float selector = theme.px(190);
  draw_headline(context, figures, width - selector - theme.px(kGapSection));
  ImGui::SetCursorScreenPos(ImVec2(at.x + width - selector, at.y + theme.px(kGap)));
  controls::segmented(context, "numerics.operand", operand_, {"X activations", "W weights"},
                      {.tooltip = "Operand whose numbers are shown", .width = selector});
}

void NumericsPanel::draw_no_scales(const PanelContext& context, ImVec2 size,
                                   const char* what) const {
  const bool quantized = model_.quantized();
  draw_empty(context, size, quantized ? "No scales in this run" : "BF16 has no scales",
             quantized
                 ? std::string("The operand is empty, so there is no ") + what + "."
                 : std::string("The recipe leaves the operands as they are, so there is no ") +
                       what + ". Choose an FP8 recipe in the rail to see it.",
             "", nullptr);
}

void NumericsPanel::draw_values(const PanelContext& context, ImVec2 size) {
  const Theme& theme = context.theme;
  const std::vector<std::pair<const char*, const plot::Bins*>> all = {{"before", &model_.before()},
                                                                      {"after", &model_.after()}};
  Card card(context,
            {.id = "numerics.values_card",
             .title = "Values",
             .question = "Which magnitudes does the operand hold, and which survive quantizing?",
             .note = "",
             .measured = kCountMethod,
             .text = [all] { return bins_list(all, '\t'); },
             .csv = [all] { return bins_list(all, ','); },
             .header_widgets = theme.px(92)},
            size);
  card.begin_header_widgets();
  controls::checkbox(context, "numerics.log_counts", "log counts", log_counts_,
                     {.tooltip = "Logarithmic heights for all histograms of this workspace"});
  card.end_header_widgets();
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  plot::Range limits =
      plot::histogram_limits({&model_.before(), &model_.after()}, plot::AxisKind::Log2);
  if (limits.empty()) limits = {-8.0, 8.0};
  plot::HistogramSpec spec;
  spec.id = "##numerics.values";
  spec.size = room;
  spec.x.kind = plot::AxisKind::Log2;
  spec.x.label = "|value|";
  spec.x.limits = limits;
  spec.y_label = "elements / octave";
  spec.log_y = log_counts_;
  const std::vector<plot::HistogramSeries> series = {
      {.name = "before", .color = theme.colors.dim_text, .bins = &model_.before()},
      {.name = "after", .color = theme.colors.accent, .bins = &model_.after(), .filled = false}};
  plot::draw_histogram(context, spec, series, value_view_);
  controls::record(
      context, "numerics.value_histogram", "values before and after", "plot",
      fmt::format("elements={};zeros_before={};zeros_after={};infinities={};nans={}",
                  model_.statistics().elements, model_.before().zeros, model_.after().zeros,
                  model_.before().infinities, model_.before().nans),
      at, ImVec2(at.x + room.x, at.y + room.y));
  // Legend inside the plot's top margin, right-aligned.
  float x = at.x + room.x - theme.px(kGap);
  ImDrawList* draw = ImGui::GetWindowDrawList();
  for (const auto& [label, color] :
       {std::pair{"after", theme.colors.accent}, std::pair{"before", theme.colors.dim_text}}) {
    x -= plot::text_size(theme.fonts.label, label).x;
    plot::draw_text(draw, theme.fonts.label, ImVec2(x, at.y), theme.colors.text, label);
    x -= theme.px(12);
    const float top = at.y + 0.5F * (theme.fonts.label->FontSize - theme.px(8));
    draw->AddRectFilled(ImVec2(x, top), ImVec2(x + theme.px(8), top + theme.px(8)), color,
                        theme.px(1));
    x -= theme.px(kGapLarge);
  }
}

void NumericsPanel::draw_scales(const PanelContext& context, ImVec2 size) {
  const Theme& theme = context.theme;
  const std::vector<std::pair<const char*, const plot::Bins*>> all = {{"scale", &model_.scale()},
                                                                      {"amax", &model_.amax()}};
  const auto blocks = static_cast<std::uint64_t>(model_.scale().total());
  Card card(
      context,
      {.id = "numerics.scales_card",
       .title = "Scales and amax",
       .question = "How far apart are the scales of the blocks? A wide spread is what one scale "
                   "for the whole tensor would lose.",
       .note = blocks > 0 ? fmt::format("n {}", plot::count_text(blocks)) : "",
       .measured = "Quantization scale (what the operand is multiplied by) and amax of each "
                   "block or tensor. Both plots share the axis. " +
                   std::string(kCountMethod),
       .text = [all] { return bins_list(all, '\t'); },
       .csv = [all] { return bins_list(all, ','); }},
      size);
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  plot::Range limits =
      plot::histogram_limits({&model_.scale(), &model_.amax()}, plot::AxisKind::Log2);
  const bool none = limits.empty() && blocks == 0;
  if (none) {
    draw_no_scales(context, room, "histogram of scales");
  } else {
    if (limits.empty()) limits = {-8.0, 8.0};
    const float half = std::floor(0.5F * (room.y - theme.px(kGapSmall)));
    const auto one = [&](const char* id, const char* label, const plot::Bins& bins, ImU32 color) {
      plot::HistogramSpec spec;
      spec.id = id;
      spec.size = ImVec2(room.x, half);
      spec.x.kind = plot::AxisKind::Log2;
      spec.x.limits = limits;
      spec.y_label = std::string(label) + ", blocks / octave";
      spec.log_y = log_counts_;
      const plot::HistogramSeries series{.name = label, .color = color, .bins = &bins};
      plot::draw_histogram(context, spec, {series}, scale_view_);
    };
    one("##numerics.scale", "scale", model_.scale(), theme.stage(engine::Stage::Quantize));
    ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + half + theme.px(kGapSmall)));
    one("##numerics.amax", "amax", model_.amax(), theme.stage(engine::Stage::Amax));
  }
  const float middle = at.y + 0.5F * room.y;
  controls::record(context, "numerics.scale_histogram", "log2 scale of each block", "plot",
                   std::to_string(blocks), at, ImVec2(at.x + room.x, middle));
  controls::record(context, "numerics.amax_histogram", "log2 amax of each block", "plot",
                   fmt::format("{:.0f}", model_.amax().total()), ImVec2(at.x, middle),
                   ImVec2(at.x + room.x, at.y + room.y));
}

void NumericsPanel::draw_map_read_out(const PanelContext& context,
                                      const plot::HeatmapHover& hover) const {
  const engine::ScaleMap& map = model_.statistics().scale_map;
  const auto cell = static_cast<std::size_t>(hover.row) * static_cast<std::size_t>(map.columns) +
                    static_cast<std::size_t>(hover.column);
  const auto extent = [](int index, int cells, std::int64_t source) {
    const std::int64_t first = std::int64_t{index} * source / cells;
    const std::int64_t last = std::max(first + 1, (std::int64_t{index} + 1) * source / cells);
    return std::pair{first, last};
  };
  const auto [row_first, row_last] = extent(hover.row, map.rows, map.source_rows);
  const auto [column_first, column_last] = extent(hover.column, map.columns, map.source_columns);
  const bool folded = row_last - row_first > 1 || column_last - column_first > 1;
  const int expert = model_.expert_at(static_cast<double>(row_first));
  const bool per_tensor =
      model_.run().result.effective.recipe.scaling == engine::Scaling::PerTensorCurrent;
  std::vector<plot::ReadOutLine> lines;
  lines.push_back({"expert", expert < 0 ? "n/a" : std::to_string(expert), 0});
  const auto range_text = [](std::int64_t first, std::int64_t last, std::int64_t block) {
    return fmt::format("{} .. {}", first * block, last * block - 1);
  };
  // For per-tensor scaling a row of the map is an expert: its data rows follow from the splits.
  if (!per_tensor) lines.push_back({"rows", range_text(row_first, row_last, map.block_rows), 0});
  lines.push_back({"columns", range_text(column_first, column_last, map.block_columns), 0});
  const float largest = map.maximum[cell];
  lines.push_back({folded ? "largest scale_inv" : "scale_inv",
                   plot::log2_text(static_cast<double>(largest)),
                   context.theme.sequential(
                       static_cast<float>((static_cast<double>(largest) - model_.map_colors().min) /
                                          model_.map_colors().span()))});
  if (folded) {
    lines.push_back(
        {"mean of log2", fmt::format("{:.3f}", static_cast<double>(map.mean[cell])), 0});
    lines.push_back({"scales folded here",
                     plot::count_text(static_cast<std::uint64_t>((row_last - row_first) *
                                                                 (column_last - column_first))),
                     0});
  }
  lines.push_back({"scale", plot::log2_text(-static_cast<double>(largest)), 0});
  plot::read_out(context, "", lines);
}

void NumericsPanel::draw_map(const PanelContext& context, ImVec2 size) {
  const engine::ScaleMap& map = model_.statistics().scale_map;
  const auto listed = [this](char separator) {
    std::string text;
    const plot::Grid& grid = model_.map();
    for (int row = 0; row < grid.rows; ++row) {
      for (int column = 0; column < grid.columns; ++column) {
        text += fmt::format("{}{:.4f}", column > 0 ? std::string(1, separator) : std::string(),
                            static_cast<double>(grid.at(row, column)));
      }
      text += '\n';
    }
    return text;
  };
  Card card(
      context,
      {.id = "numerics.map_card",
       .title = "Block-scale map",
       .question = "Where in the tensor are the scales large? Lines separate the experts.",
       .note = map.rows > 0
                   ? fmt::format("{} x {} scales, one for {} x {} elements",
                                 plot::count_text(static_cast<std::uint64_t>(map.source_rows)),
                                 plot::count_text(static_cast<std::uint64_t>(map.source_columns)),
                                 map.block_rows, map.block_columns)
                   : "",
       .measured = "log2 of scale_inv of every block. Tensors with more than 512 blocks along a "
                   "side are folded; a cell shows the largest of the scales it stands for and "
                   "the read-out adds their mean.",
       .text = [listed] { return listed('\t'); },
       .csv = [listed] { return listed(','); }},
      size);
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (model_.map().rows == 0) {
    draw_no_scales(context, room, "map of scales");
  } else {
    const plot::Range colors = model_.map_colors();
    const plot::HeatmapHover hover = plot::draw_heatmap(
        context,
        {.id = "##numerics.map",
         .size = room,
         .x_label = "scale column",
         .y_label = "scale row",
         .separators = model_.separators(),
         .source_rows = static_cast<double>(map.source_rows),
         .source_columns = static_cast<double>(map.source_columns),
         .colors = colors,
         .legend = map.rows < map.source_rows || map.columns < map.source_columns
                       ? "largest scale_inv of a cell"
                       : "scale_inv",
         .legend_ends = {fmt::format("2^{:.1f}", colors.min), fmt::format("2^{:.1f}", colors.max)}},
        model_.map(), model_.generation(), map_state_);
    if (hover.inside) draw_map_read_out(context, hover);
  }
  controls::record(context, "numerics.scale_map", "block-scale map", "plot",
                   fmt::format("rows={};columns={};source_rows={};source_columns={};experts={}",
                               map.rows, map.columns, map.source_rows, map.source_columns,
                               map.expert_first_row.empty() ? 0 : map.expert_first_row.size() - 1),
                   at, ImVec2(at.x + room.x, at.y + room.y));
}

void NumericsPanel::draw_snr(const PanelContext& context, ImVec2 size) {
  const Theme& theme = context.theme;
  Card card(
      context,
      {.id = "numerics.snr_card",
       .title = "Error per expert",
       .question = "Which expert's product suffers most?",
       .note = "SNR of Y against the unquantized product",
       .measured = "10 log10 of the sum of squares of the unquantized product over the sum of "
                   "squared errors, all finite elements of layer 0. A fading bar is an exact "
                   "match, hatching an expert without rows.",
       .text = [this] { return plot::table_text(expert_error_columns(), model_.expert_rows()); },
       .csv = [this] { return plot::table_csv(expert_error_columns(), model_.expert_rows()); }},
      size);
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const int hovered = plot::draw_bars(context,
                                      {.id = "##numerics.snr",
                                       .size = room,
                                       .y = {.kind = plot::AxisKind::Decibel, .label = "dB"},
                                       .x_label = "expert"},
                                      model_.snr_bars(), snr_view_);
  if (hovered >= 0) {
    const engine::ExpertResult& expert =
        model_.run().result.experts[static_cast<std::size_t>(hovered)];
    const auto with_unit = [](double decibel) {
      return plot::decibel_text(decibel) + (std::isfinite(decibel) ? " dB" : "");
    };
    plot::read_out(
        context, fmt::format("expert {}", hovered),
        {{"rows", plot::count_text(static_cast<std::uint64_t>(expert.rows)), 0},
         {"SNR of Y", expert.rows == 0 ? "no rows" : with_unit(expert.snr_db), theme.colors.accent},
         {"SNR of X", expert.rows == 0 ? "no rows" : with_unit(expert.x_snr_db), 0},
         {"max error", plot::number_text(expert.max_abs_error), 0},
         {"rms of reference", plot::number_text(expert.reference_rms), 0}});
  }
  double worst = INFINITY;
  for (const engine::ExpertResult& expert : model_.run().result.experts) {
    if (expert.rows > 0 && std::isfinite(expert.snr_db)) worst = std::min(worst, expert.snr_db);
  }
  controls::record(context, "numerics.snr_per_expert", "SNR per expert", "plot",
                   fmt::format("experts={};worst_db={:.2f}", model_.snr_bars().size(), worst), at,
                   ImVec2(at.x + room.x, at.y + room.y));
}

void NumericsPanel::draw_errors(const PanelContext& context, ImVec2 size) {
  Card card(
      context,
      {.id = "numerics.errors_card",
       .title = "Experts",
       .question = "Error, saturation and underflow of every expert; a click on a column sorts.",
       .note = "",
       .measured = "Y of layer 0 against the product of the unquantized operands; saturated and "
                   "underflowed count elements of X.",
       .text = [this] { return plot::table_text(expert_error_columns(), model_.expert_rows()); },
       .csv = [this] { return plot::table_csv(expert_error_columns(), model_.expert_rows()); }},
      size);
  plot::draw_table(context, "##numerics.errors", expert_error_columns(), model_.expert_rows(),
                   model_.generation(), card.room(), table_);
}

void NumericsPanel::draw(const PanelContext& context, ImVec2 size) {
  follow_run(context);
  if (!has_run_) {
    draw_no_run(context, size, "numerics");
    return;
  }
  const Theme& theme = context.theme;
  const float gap = theme.px(kGap);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  draw_figures(context, size.x);
  const float top = origin.y + headline_height(theme) + gap;
  const float room = origin.y + size.y - top;
  const auto place = [](float x, float y) {
    ImGui::SetCursorScreenPos(ImVec2(std::floor(x), std::floor(y)));
  };
  // Three columns where the window is wide; below that the error cards go under the map.
  const bool wide = size.x >= theme.px(1180);
  const float left = std::floor((wide ? 0.30F : 0.36F) * size.x);
  const float values = std::floor(0.40F * (room - gap));
  place(origin.x, top);
  draw_values(context, ImVec2(left, values));
  place(origin.x, top + values + gap);
  draw_scales(context, ImVec2(left, room - values - gap));
  const float rest = size.x - left - gap;
  const float x = origin.x + left + gap;
  if (wide) {
    const float map = std::floor(0.53F * (rest - gap));
    const float errors = rest - gap - map;
    place(x, top);
    draw_map(context, ImVec2(map, room));
    place(x + map + gap, top);
    draw_snr(context, ImVec2(errors, values));
    place(x + map + gap, top + values + gap);
    draw_errors(context, ImVec2(errors, room - values - gap));
  } else {
    const float map = std::floor(0.56F * (room - gap));
    place(x, top);
    draw_map(context, ImVec2(rest, map));
    const float snr = std::floor(0.32F * (rest - gap));
    place(x, top + map + gap);
    draw_snr(context, ImVec2(snr, room - map - gap));
    place(x + snr + gap, top + map + gap);
    draw_errors(context, ImVec2(rest - gap - snr, room - map - gap));
  }
  veil_.draw(context, origin, ImVec2(origin.x + size.x, origin.y + size.y));
}

}  // namespace

std::unique_ptr<WorkspacePanel> make_numerics_panel() { return std::make_unique<NumericsPanel>(); }

}  // namespace app
