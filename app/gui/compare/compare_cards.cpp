// Settings that differ, times of everything that both sides have, and the overlaid histograms.
#include <fmt/format.h>

#include <algorithm>

#include "app/gui/compare/compare_panel.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/histogram_plot.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

constexpr const char* kMeasured =
    "Medians and the ratio B / A. Its interval comes from the order statistics of both sides and "
    "contains the ratio with at least 95 %, for any distribution. It is ambiguous when the "
    "interval contains 1, there are fewer than 7 samples of a side, clocks are known and differ, "
    "or, measured in blocks, the blocks of A and B mix or A differs from itself as much.";

std::string bins_text(const OverlaidBins& bins, char separator) {
  std::string text = fmt::format("from{0}to{0}a{0}b\n", separator);
  const auto list = [&](const plot::Bins& edges, const plot::Bins* other, bool first) {
    for (std::size_t i = 0; i < edges.counts.size(); ++i) {
      const std::string count = fmt::format("{}", edges.counts[i]);
      const std::string other_count = other == nullptr ? "" : fmt::format("{}", other->counts[i]);
      text += fmt::format("{1}{0}{2}{0}{3}{0}{4}\n", separator, edges.edges[i], edges.edges[i + 1],
                          first ? count : other_count, first ? other_count : count);
    }
  };
  if (bins.a.edges == bins.b.edges) {
    list(bins.a, &bins.b, true);
  } else {
    list(bins.a, nullptr, true);
    list(bins.b, nullptr, false);
  }
  return text;
}

}  // namespace

void ComparePanel::draw_settings(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const profiling::SettingsDifference& settings = model_.settings();
  Card card(
      context,
      {.id = "compare.settings_card",
       .title = "Settings",
       .question = "What was set or found differently for A and B?",
       .note = fmt::format("{} differ, {} the same", settings.rows.size(), settings.same),
       .measured = "Every field of the request, of the effective settings, and of the device. Only "
                   "those that differ are listed.",
       .text =
           [this] {
             return plot::table_text(CompareModel::settings_columns(), model_.settings_rows());
           },
       .csv = [this] { return model_.csv(); }},
      area.size);
  if (settings.rows.empty()) {
    draw_empty(context, card.room(), "The same settings",
               fmt::format("All {} fields are equal, device and library too.", settings.same), "",
               nullptr);
    return;
  }
  plot::draw_table(context, "##compare.settings", CompareModel::settings_columns(),
                   model_.settings_rows(), model_.generation(), card.room(), settings_table_);
}

void ComparePanel::draw_times(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  Card card(
      context,
      {.id = "compare.times_card",
       .title = "Times",
       .question = "Which stage or kernel makes the difference? A click on a kernel shows its "
                   "durations on the left.",
       .note = "step, stages, kernels by name",
       .measured = kMeasured,
       .text =
           [this] { return plot::table_text(CompareModel::time_columns(), model_.time_rows()); },
       .csv = [this] { return model_.csv(); }},
      area.size);
  const bool narrow = card.room().x < context.theme.px(440);
  if (plot::draw_table(context, "##compare.times", CompareModel::time_columns(narrow),
                       model_.time_rows(), model_.generation(), card.room(), times_table_)) {
    const bool kernel = model_.kernel_of(times_table_.selected) != nullptr;
    overlay_ = static_cast<int>(kernel ? Overlay::Kernel : Overlay::Steps);
    overlay_view_ = {};
  }
}

void ComparePanel::draw_overlay(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const Theme& theme = context.theme;
  const profiling::KernelRow* kernel = model_.kernel_of(times_table_.selected);
  if (kernel == nullptr && overlay_ == static_cast<int>(Overlay::Kernel)) overlay_ = 0;
  const auto overlay = static_cast<Overlay>(overlay_);
  const OverlaidBins& bins = model_.bins(overlay, times_table_.selected, normalised_);
  const float widgets = std::min(theme.px(230), area.size.x * 0.62F);
  Card card(context,
            {.id = "compare.overlay_card",
             .title = "Both",
             .question = "How do the two distributions overlap? Both share one axis.",
             .note = kernel != nullptr && overlay == Overlay::Kernel
                         ? plot::short_kernel_name(kernel->name)
                         : "",
             .measured = "Times: every sample of both sides in common bins. Values, scales and "
                         "amax: magnitudes of layer 0, four bins per power of two.",
             .text = [&bins] { return bins_text(bins, '\t'); },
             .csv = [&bins] { return bins_text(bins, ','); },
             .header_widgets = widgets},
            area.size);
  card.begin_header_widgets();
  const controls::Options no_kernel{.enabled = kernel != nullptr,
                                    .reason = "Click a kernel in the Times table first"};
  if (controls::combo(context, "compare.overlay", "", overlay_,
                      {"iteration times", "times of the kernel", "X values", "X scales", "X amax",
                       "W values", "W scales", "W amax"},
                      {.width = widgets - theme.px(74 + 2 * kGap)}, {{}, no_kernel})) {
    overlay_view_ = {};
  }
  ImGui::SameLine(0, theme.px(kGap));
  controls::checkbox(
      context, "compare.normalise", "shares", normalised_,
      {.tooltip = "Percent of each side's own samples (zeros counted separately) instead of "
                  "counts"});
  card.end_header_widgets();
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (bins.a.total() + bins.b.total() <= 0.0) {
    draw_empty(context, room, "Nothing to show",
               bins.axis == plot::AxisKind::Log2
                   ? "Neither recipe has such numbers: BF16 has no scales and no amax."
                   : "Neither side has samples of this.",
               "", nullptr);
  } else {
    const float line = theme.fonts.label->FontSize + theme.px(kGapSmall);
    plot::HistogramSpec spec;
    spec.id = "##compare.histogram";
    spec.selectable = true;
    spec.size = ImVec2(room.x, room.y - line);
    spec.x.kind = bins.axis;
    spec.x.limits = plot::histogram_limits({&bins.a, &bins.b}, bins.axis);
    spec.per_bin = bins.axis != plot::AxisKind::Log2;
    spec.shares = normalised_;
    spec.end_bins = !normalised_;
    const char* unit = normalised_ ? "%" : "count";
    spec.y_label = fmt::format("{} / {}", unit, spec.per_bin ? "bin" : "octave");
    plot::draw_histogram(context, spec,
                         {{.name = "A", .color = theme.series(0), .bins = &bins.a},
                          {.name = "B", .color = theme.series(1), .bins = &bins.b}},
                         overlay_view_);
    draw_selected_bins(context, bins, ImVec2(at.x, at.y + room.y - theme.fonts.label->FontSize),
                       room.x);
  }
  controls::record(context, "compare.histogram", "A and B overlaid", "plot",
                   fmt::format("a={:.4g};b={:.4g}", bins.a.total(), bins.b.total()), at,
                   ImVec2(at.x + room.x, at.y + room.y));
}

/// How much of each side lies in the selected range, in whole bins as drawn.
void ComparePanel::draw_selected_bins(const PanelContext& context, const OverlaidBins& bins,
                                      ImVec2 at, float width) const {
  const Theme& theme = context.theme;
  const ImFont* font = theme.fonts.label;
  std::string text = "Drag over the plot to count a range of both sides.";
  if (overlay_view_.selection) {
    const plot::Range asked = *overlay_view_.selection;
    const plot::Range whole = bins.a.whole_bins(asked);
    const bool log2 = bins.axis == plot::AxisKind::Log2;
    const auto end = [log2](double value) {
      return log2 ? fmt::format("2^{:.2f}", value) : plot::duration_text(value);
    };
    const auto side = [&](const plot::Bins& one) {
      const double counted = one.counted(asked);
      // Shares are in percent already; a side without samples has none.
      const std::string share =
          one.total() > 0.0 ? fmt::format("{:.2f} %", 100.0 * counted / one.total()) : "n/a";
      return normalised_
                 ? share
                 : fmt::format("{} of {} ({})",
                               plot::count_text(static_cast<std::uint64_t>(counted)),
                               plot::count_text(static_cast<std::uint64_t>(one.total())), share);
    };
    text = whole.empty() ? "No bin lies in the selected range."
                         : fmt::format("{} \u2013 {}:  A {}  ·  B {}", end(whole.min),
                                       end(whole.max), side(bins.a), side(bins.b));
  }
  plot::draw_text(ImGui::GetWindowDrawList(), font, at,
                  overlay_view_.selection ? theme.colors.text : theme.colors.dim_text,
                  plot::fitted(font, text, width));
  controls::record(context, "compare.selected", "samples in the selected range", "text", text, at,
                   ImVec2(at.x + width, at.y + font->FontSize));
}

}  // namespace app
