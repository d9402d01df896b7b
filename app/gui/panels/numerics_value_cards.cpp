// Histograms of the values, the scales and the amax of one operand.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/numerics_panel.h"
#include "app/gui/plot/histogram_plot.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

const char* const kCountMethod =
    "Exact counts over all elements of the operand, taken where the tensor is: FP32 bit patterns "
    "without sign in four bins per power of two. Heights are counts per power of two, so that bins "
    "of "
    "unequal width compare by area. Zeros, infinities and NaN are shown separately.";

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

/// Same end bins in both cards: zeros left, infinities and NaN right.
void reserve(const NumericsModel& model, plot::HistogramSpec& spec) {
  bool zeros = false;
  bool infinities = false;
  bool nans = false;
  for (const plot::Bins* bins : {&model.before(), &model.after(), &model.scale(), &model.amax()}) {
    zeros = zeros || bins->zeros > 0;
    infinities = infinities || bins->infinities > 0;
    nans = nans || bins->nans > 0;
  }
  spec.reserved_left = zeros ? 1 : 0;
  spec.reserved_right = (infinities ? 1 : 0) + (nans ? 1 : 0);
}

plot::Range shared_limits(const NumericsModel& model) {
  const plot::Range limits = plot::histogram_limits(
      {&model.before(), &model.after(), &model.scale(), &model.amax()}, plot::AxisKind::Log2);
  return limits.empty() ? plot::Range{-8.0, 8.0} : limits;
}

}  // namespace

void NumericsPanel::draw_values(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const Theme& theme = context.theme;
  const std::vector<std::pair<const char*, const plot::Bins*>> all = {{"before", &model_.before()},
                                                                      {"after", &model_.after()}};
  Card card(context,
            {.id = "numerics.values_card",
             .title = "Values",
             .question = "Which magnitudes does the operand hold, and which survive quantization?",
             .note = "",
             .measured = kCountMethod,
             .text = [all] { return bins_list(all, '\t'); },
             .csv = [all] { return bins_list(all, ','); },
             .header_widgets = theme.px(92)},
            area.size);
  card.begin_header_widgets();
  controls::checkbox(context, "numerics.log_counts", "log counts", log_counts_,
                     {.tooltip = "Logarithmic heights for all histograms of this page"});
  card.end_header_widgets();
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  plot::HistogramSpec spec;
  reserve(model_, spec);
  spec.selectable = true;
  spec.id = "##numerics.values";
  spec.size = room;
  spec.x.kind = plot::AxisKind::Log2;
  spec.x.label = "|value|";
  spec.x.limits = shared_limits(model_);
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

void NumericsPanel::draw_scales(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const Theme& theme = context.theme;
  const std::vector<std::pair<const char*, const plot::Bins*>> all = {{"scale", &model_.scale()},
                                                                      {"amax", &model_.amax()}};
  const auto blocks = static_cast<std::uint64_t>(model_.scale().total());
  Card card(context,
            {.id = "numerics.scales_card",
             .title = "Scales and amax",
             .question =
                 "How far apart are the scales of the blocks? A wide spread is what a single scale "
                 "for the whole tensor would lose.",
             .note = blocks > 0 ? fmt::format("n {}", plot::count_text(blocks)) : "",
             .measured = "Quantization scale (what the operand is multiplied by) and amax of each "
                         "block or tensor. All three plots share axis, zoom and selection. " +
                         std::string(kCountMethod),
             .text = [all] { return bins_list(all, '\t'); },
             .csv = [all] { return bins_list(all, ','); }},
            area.size);
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (blocks == 0) {
    draw_no_scales(context, room, "histogram of scales");
  } else {
    const float half = std::floor(0.5F * (room.y - theme.px(kGapSmall)));
    const auto one = [&](const char* id, const char* label, const plot::Bins& bins, ImU32 color) {
      plot::HistogramSpec spec;
      spec.id = id;
      spec.size = ImVec2(room.x, half);
      spec.x.kind = plot::AxisKind::Log2;
      spec.x.limits = shared_limits(model_);
      spec.selectable = true;
      reserve(model_, spec);
      spec.y_label = std::string(label) + ", blocks / octave";
      spec.log_y = log_counts_;
      const plot::HistogramSeries series{.name = label, .color = color, .bins = &bins};
      plot::draw_histogram(context, spec, {series}, value_view_);
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

}  // namespace app
