// Histograms of the values, the scales and the amax of one operand, and the range selected on them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/numerics_panel.h"
#include "app/gui/plot/histogram_plot.h"
#include "app/gui/plot/plot_text.h"
#include "engine/model/recipe_traits.h"

namespace app {
namespace {

const char* const kCountMethod =
    "Exact counts over all elements of the operand, taken where the tensor is: FP32 bit patterns "
    "without sign in four bins per power of two. Heights are counts per power of two, so that bins "
    "of unequal width compare by area. Zeros, infinities and NaN are shown separately.";

/// What histograms of one card share: an axis that fits their occupied bins, and room for the end
/// bins of any of them.
plot::HistogramSpec shared_histogram(const std::vector<const plot::Bins*>& all, const char* id,
                                     ImVec2 size) {
  plot::Range limits = plot::histogram_limits(all, plot::AxisKind::Log2);
  if (limits.empty()) limits = {-8.0, 8.0};
  bool zeros = false;
  bool infinities = false;
  bool nans = false;
  for (const plot::Bins* bins : all) {
    zeros = zeros || bins->zeros > 0;
    infinities = infinities || bins->infinities > 0;
    nans = nans || bins->nans > 0;
  }
  return {.id = id,
          .size = size,
          .x = {.kind = plot::AxisKind::Log2, .limits = limits},
          .selectable = true,
          .reserved_left = zeros ? 1 : 0,
          .reserved_right = (infinities ? 1 : 0) + (nans ? 1 : 0)};
}

}  // namespace

CardSpec NumericsPanel::values_card(const PanelContext& context) {
  const auto log_counts = [this, &context] {
    controls::checkbox(context, "numerics.log_counts", "log counts", log_counts_,
                       {.tooltip = "Logarithmic heights for all histograms of this page"});
  };
  return {.id = "numerics.values_card",
          .title = "Values",
          .question = "Which magnitudes does the operand hold, and which survive quantization?",
          .measured = kCountMethod,
          .list =
              [this] {
                return plot::bins_table("series",
                                        {{"before", &model_.before()}, {"after", &model_.after()}},
                                        plot::kLog2Edges);
              },
          .header_widgets = context.theme.px(92),
          .header = log_counts,
          .draw = [this, &context](const Area& room) { draw_values(context, room); },
          .read_out = {"numerics.value_histogram", "values before and after", [this] {
                         return fmt::format(
                             "elements={};zeros_before={};zeros_after={};infinities={};nans={}",
                             model_.statistics().elements, model_.before().zeros,
                             model_.after().zeros, model_.before().infinities,
                             model_.before().nans);
                       }}};
}

void NumericsPanel::draw_values(const PanelContext& context, const Area& room) {
  const Theme& theme = context.theme;
  const float below =
      plot::draw_legend(context,
                        {.id = "numerics.values_legend",
                         .right = ImVec2(room.end().x - theme.px(kGap), room.at.y),
                         .left = room.at.x + theme.px(100),
                         .gap = theme.px(kGapLarge)},
                        {{"before", theme.colors.dim_text}, {"after", theme.colors.accent}});
  const Area under = room.below(below);
  ImGui::SetCursorScreenPos(under.at);
  plot::HistogramSpec spec =
      shared_histogram({&model_.before(), &model_.after()}, "##numerics.values", under.size);
  spec.x.label = "|value|";
  spec.y_label = "elements / octave";
  spec.log_y = log_counts_;
  draw_linked(
      context, spec,
      {{.name = "before", .color = theme.colors.dim_text, .bins = &model_.before()},
       {.name = "after", .color = theme.colors.accent, .bins = &model_.after(), .filled = false}},
      value_view_, {&amax_view_}, {&scale_view_});
}

CardSpec NumericsPanel::scales_card(const PanelContext& context) {
  const auto blocks = static_cast<std::uint64_t>(model_.scale().total());
  return {.id = "numerics.scales_card",
          .title = "Scales and amax",
          .question =
              "How far apart are the scales of the blocks? A wide spread is what a single scale "
              "for the whole tensor would lose.",
          .note = blocks > 0 ? fmt::format("n {}", plot::count_text(blocks)) : "",
          .measured =
              "Quantization scale (what the operand is multiplied by) and amax of each "
              "block or tensor. Both plots share axis and zoom; a range of magnitudes is one of "
              "values and of amax, a range of scales only of those. Exact counts, four bars per "
              "power of two; the heights add up to n. Zeros, infinities and NaN are shown "
              "separately.",
          .list =
              [this] {
                return plot::bins_table("series",
                                        {{"scale", &model_.scale()}, {"amax", &model_.amax()}},
                                        plot::kLog2Edges);
              },
          .draw = [this, &context](const Area& room) { draw_scales(context, room); }};
}

void NumericsPanel::draw_scales(const PanelContext& context, const Area& room) {
  const Theme& theme = context.theme;
  const auto blocks = static_cast<std::uint64_t>(model_.scale().total());
  if (blocks == 0) {
    draw_empty(context, room.size, no_scales("histogram of scales"));
  } else {
    const float half = std::floor(0.5F * (room.size.y - theme.px(kGapSmall)));
    const engine::RecipeTraits& traits = engine::traits_of(model_.recipe());
    const auto one = [&](const char* id, const char* label, bool per_expert, const plot::Bins& bins,
                         ImU32 color, bool scales) {
      // Scale and amax of a block move together; only a range of magnitudes is one of values, too.
      plot::HistogramSpec spec =
          shared_histogram({&model_.scale(), &model_.amax()}, id, ImVec2(room.size.x, half));
      // Counts, which add up to the card's n: a density would be larger than it.
      const char* const owner = per_expert ? "expert" : "block";
      spec.y_label = fmt::format("{} of each {}, {}s in a bar", label, owner, owner);
      spec.per_bin = true;
      spec.log_y = log_counts_;
      const std::vector<plot::HistogramSeries> series = {
          {.name = label, .color = color, .bins = &bins}};
      plot::PlotView& view = scales ? scale_view_ : amax_view_;
      plot::PlotView& other = scales ? amax_view_ : scale_view_;
      view.x = other.x;
      view.held = other.held;
      if (scales) {
        draw_linked(context, spec, series, scale_view_, {}, {&value_view_, &amax_view_});
      } else {
        draw_linked(context, spec, series, amax_view_, {&value_view_}, {&scale_view_});
      }
      other.x = view.x;
      other.held = view.held;
    };
    one("##numerics.scale", "scale", traits.per_tensor(), model_.scale(),
        theme.stage(engine::Stage::Quantize), true);
    const Area amax = room.below(half + theme.px(kGapSmall));
    ImGui::SetCursorScreenPos(amax.at);
    if (const std::string why = why_no_amax(); !why.empty()) {
      draw_empty(context, ImVec2(amax.size.x, half), "No amax is kept", why);
    } else {
      one("##numerics.amax", "amax", traits.per_tensor() || traits.expert_amax(), model_.amax(),
          theme.stage(engine::Stage::Amax), false);
    }
  }
  const Area lower = room.below(0.5F * room.size.y);
  controls::record(context, "numerics.scale_histogram", "log2 scale of each block", "plot",
                   std::to_string(blocks), room.at, ImVec2(room.end().x, lower.at.y));
  const std::string why = why_no_amax();
  controls::record(context, "numerics.amax_histogram", "log2 amax", "plot",
                   why.empty() ? fmt::format("{:.0f}", model_.amax().total()) : why, lower.at,
                   lower.end());
}

std::string NumericsPanel::why_no_amax() const {
  const engine::RecipeTraits& traits = engine::traits_of(model_.recipe());
  const plot::Bins& amax = model_.amax();
  const bool any = amax.total() > 0.0 || amax.zeros + amax.infinities + amax.nans > 0;
  if (any || model_.scale().total() <= 0.0) return {};
  return fmt::format(
      "{} writes a scale for every {} elements and nothing else: the amax that it "
      "rounds to a power of two is gone with the kernel.",
      traits.title, traits.block);
}

/// A drag or a click also sets the range of the `same` kind, and drops that of the `other` one.
void NumericsPanel::draw_linked(const PanelContext& context, const plot::HistogramSpec& spec,
                                const std::vector<plot::HistogramSeries>& series,
                                plot::PlotView& view, const std::vector<plot::PlotView*>& same,
                                const std::vector<plot::PlotView*>& other) {
  const std::optional<plot::Range> before = view.selection;
  const bool clicked = plot::draw_histogram(context, spec, series, view);
  if (!clicked && view.selection == before) return;
  for (plot::PlotView* one : same) {
    one->selection = view.selection;
    one->kept = view.kept;
  }
  for (plot::PlotView* one : other) {
    one->selection.reset();
    one->kept.clear();
  }
}

void NumericsPanel::follow_selection() {
  const bool scales = scale_view_.selection.has_value();
  const std::optional<plot::Range>& range = scales ? scale_view_.selection : value_view_.selection;
  if (!range) {
    selection_.reset();
    return;
  }
  const bool same = selection_ && selection_->asked == *range && selection_->scales == scales &&
                    selection_generation_ == model_.generation();
  if (same) return;
  selection_ = select_values(model_, *range, scales);
  selection_generation_ = model_.generation();
}

CardSpec NumericsPanel::selection_card(const PanelContext& context) {
  CardSpec spec{.id = "numerics.selection_card",
                .title = "Selected range",
                .question = "How much of the operand lies in the range dragged over a histogram?",
                .measured =
                    "Sums of the bins whose centres lie in the range; shares are of all "
                    "elements or scales, zeros and non-finite ones included.",
                .draw = [this, &context](const Area& room) { draw_selection(context, room); },
                .waits = !selection_,
                .read_out = {.id = "numerics.selection",
                             .label = "selected range",
                             .value = [this] { return selection_value(); },
                             .kind = "text"}};
  if (selection_) {
    spec.note =
        fmt::format("2^{:.2f} .. 2^{:.2f}", selection_->snapped.min, selection_->snapped.max);
    spec.list = [this] { return selection_table(*selection_); };
  }
  return spec;
}

std::string NumericsPanel::selection_value() const {
  if (!selection_) return "none";
  std::string value =
      fmt::format("from={:.4f};to={:.4f}", selection_->snapped.min, selection_->snapped.max);
  for (const SelectedSeries& series : selection_->series) {
    value += fmt::format(";{}={:.0f}", series.name, series.count);
  }
  return value;
}

void NumericsPanel::draw_selection(const PanelContext& context, const Area& room) const {
  const Theme& theme = context.theme;
  const ImFont* font = theme.fonts.label;
  if (!selection_) {
    plot::draw_fitted(context, font, room.at, theme.colors.dim_text,
                      "Drag over a histogram to select; a click clears.", room.size.x);
    return;
  }
  const float line = font->FontSize + theme.px(2);
  const std::vector<Area> columns =
      columns_of(room, 0.0F, std::vector<float>(selection_->series.size(), 1.0F));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const SelectedSeries& series = selection_->series[i];
    const auto write = [&](const ImFont* with, float down, ImU32 color, const std::string& text) {
      plot::draw_fitted(context, with, columns[i].below(down).at, color, text,
                        columns[i].size.x - theme.px(kGapSmall));
    };
    write(font, 0.0F, theme.colors.dim_text, series.name);
    write(theme.fonts.mono, line, theme.colors.text, plot::share_text(series.count, series.total));
    write(font, 2.0F * line + theme.px(2), theme.colors.dim_text, plot::si_text(series.count));
  }
}

}  // namespace app
