// Settings that differ, times of everything that both sides have, and the overlaid histograms.
#include <fmt/format.h>

#include <algorithm>

#include "app/controllers/field_words.h"
#include "app/gui/compare/compare_panel.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/histogram_plot.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

constexpr const char* kMeasured =
    "Medians and the ratio B / A. Its interval comes from the order statistics of both sides and "
    "has a confidence of at least 95 %, for any distribution. Faster and slower are called with "
    "at most 1 % of false verdicts for the step, and at most 1 % for all stages, all kernels and "
    "all experts together; experts timed by stamps or alone are compared by their spreads instead. "
    "It is "
    "ambiguous when the interval contains 1, there are too few samples or blocks, the SM clock can "
    "explain the difference, or, measured in blocks, the blocks of A and B mix or A differs from "
    "itself as much. There is no verdict at all if the two did different work or ran on different "
    "devices.";

}  // namespace

CardSpec ComparePanel::settings_card() {
  const profiling::SettingsDifference& settings = model_.settings();
  return {.id = "compare.settings_card",
          .title = "Settings",
          .question = "Which settings and device properties differ between A and B?",
          .note = fmt::format("{} differ, {} the same", settings.differing(), settings.same),
          .measured =
              "Every field of the request, of the effective settings, and of the device. Only "
              "those that differ are listed, and what ran where only the requests differ.",
          .table = {.id = "##compare.settings",
                    .drawn = &model_.settings_table(),
                    .generation = model_.generation(),
                    .state = &settings_table_},
          .empty = [&settings]() -> EmptyState {
            if (!settings.rows.empty()) return {};
            return {"The same settings",
                    fmt::format("All {} fields are equal, device and library too.", settings.same)};
          },
          .sentence = [this] { return verdict_words(); }};
}

CardSpec ComparePanel::times_card() {
  return {.id = "compare.times_card",
          .title = "Times",
          .question =
              "Which stage or kernel makes the difference? A click on a kernel shows its "
              "durations on the left.",
          .note = "step, stages, kernels by name",
          .measured = kMeasured,
          .table = {.id = "##compare.times",
                    .drawn = &model_.times_table(),
                    .generation = model_.generation(),
                    .state = &times_table_,
                    .chosen = [this](std::optional<std::size_t>) { show_durations_of_row(); }},
          .actions = {{.name = "whole_csv",
                       .label = "Copy times, experts and settings as CSV",
                       .act = [this] { ImGui::SetClipboardText(model_.csv().c_str()); }}},
          .sentence = [this] { return verdict_words(); }};
}

void ComparePanel::show_durations_of_row() {
  const bool kernel = model_.kernel_of(times_table_.selected) != nullptr;
  overlay_ = {.of = kernel ? Overlay::Of::Kernel : Overlay::Of::Steps};
  overlay_view_ = {};
}

const OverlaidBins& ComparePanel::overlaid() {
  return model_.bins(overlay_, times_table_.selected, normalised_);
}

CardSpec ComparePanel::overlay_card(const PanelContext& context, const Area& area) {
  const profiling::KernelRow* kernel = model_.kernel_of(times_table_.selected);
  const auto& offered = model_.overlays();
  const bool absent = std::ranges::find(offered, overlay_, &OfferedOverlay::overlay) ==
                      offered.end();  // of the pair before
  if (absent || (kernel == nullptr && overlay_.of == Overlay::Of::Kernel)) overlay_ = {};
  const bool of_kernel = overlay_.of == Overlay::Of::Kernel;
  const float widgets = std::min(context.theme.px(230), area.size.x * 0.62F);
  return {.id = "compare.overlay_card",
          .title = "Both",
          .question = "How do the two distributions overlap? Both share one axis.",
          .note = of_kernel ? plot::work_name(kernel->operation, kernel->name) : "",
          .measured =
              "Times: every sample of both sides in common bins. Values, scales and "
              "amax: magnitudes of layer 0, four bins per power of two.",
          .list =
              [this] {
                const OverlaidBins& bins = overlaid();
                return plot::bins_table(
                    "side", {{"A", &bins.a}, {"B", &bins.b}},
                    bins.axis == plot::AxisKind::Log2 ? plot::kLog2Edges : plot::kTimeEdges,
                    normalised_ ? "percent" : "count");
              },
          .header_widgets = widgets,
          .header = [this, &context, widgets] { draw_overlay_choice(context, widgets); },
          .empty = [this]() -> EmptyState {
            const OverlaidBins& bins = overlaid();
            if (bins.a.total() + bins.b.total() > 0.0) return {};
            return {"Nothing to show",
                    bins.axis == plot::AxisKind::Log2
                        ? "Neither recipe has such numbers: BF16 has no scales and no amax."
                        : "Neither side has such samples."};
          },
          .draw = [this, &context](const Area& room) { draw_overlay(context, room); },
          .read_out = {"compare.histogram", "A and B overlaid",
                       [this] {
                         const OverlaidBins& bins = overlaid();
                         return fmt::format("a={:.4g};b={:.4g}", bins.a.total(), bins.b.total());
                       }},
          .sentence = [this] { return verdict_words(); }};
}

/// When one card is presented, neither the names of the sides nor the figures above the cards are
/// there.
std::string ComparePanel::verdict_words() const {
  const profiling::TimeDifference& step = model_.comparison()->step;
  const auto& [a, b] = names_.of(sides_.a(), sides_.b());
  const bool opens = step.comparable() || step.verdict == profiling::TimeVerdict::SameStep;
  return fmt::format("{}. {}. {}{}. {}", a, b, opens ? "" : "No verdict: ", step.verdict_words(),
                     in_rail_words(step.reason));
}

void ComparePanel::draw_overlay_choice(const PanelContext& context, float width) {
  const Theme& theme = context.theme;
  const controls::Options no_kernel{.enabled = model_.kernel_of(times_table_.selected) != nullptr,
                                    .reason = "Click a kernel in the Times table first"};
  const std::vector<OfferedOverlay>& offered = model_.overlays();
  std::vector<std::string> items;
  std::vector<controls::Options> options;
  int index = 0;
  for (const OfferedOverlay& one : offered) {
    if (one.overlay == overlay_) index = static_cast<int>(items.size());
    items.push_back(one.label);
    options.push_back(one.overlay.of == Overlay::Of::Kernel ? no_kernel : controls::Options{});
  }
  if (controls::combo(context, "compare.overlay", "", index, items,
                      {.width = width - theme.px(74 + 2 * kGap)}, options)) {
    overlay_ = offered[static_cast<std::size_t>(index)].overlay;
    overlay_view_ = {};
  }
  ImGui::SameLine(0, theme.px(kGap));
  controls::checkbox(
      context, "compare.normalise", "shares", normalised_,
      {.tooltip = "Percent of each side's samples (zeros counted separately) instead of "
                  "counts"});
}

void ComparePanel::draw_overlay(const PanelContext& context, const Area& room) {
  const Theme& theme = context.theme;
  const OverlaidBins& bins = overlaid();
  const auto& [a, b] = names_.of(sides_.a(), sides_.b());
  const float legend = plot::draw_legend(context,
                                         {.id = "compare.legend",
                                          .right = ImVec2(room.end().x, room.at.y),
                                          .left = room.at.x + theme.px(88),
                                          .gap = theme.px(kGap)},
                                         {{a, theme.series(0)}, {b, theme.series(1)}});
  const Area under = room.below(legend);
  ImGui::SetCursorScreenPos(under.at);
  const float line = theme.fonts.label->FontSize + theme.px(kGapSmall);
  const bool per_bin = bins.axis != plot::AxisKind::Log2;
  const plot::HistogramSpec spec{
      .id = "##compare.histogram",
      .size = ImVec2(under.size.x, under.size.y - line),
      .x = {.kind = bins.axis, .limits = plot::histogram_limits({&bins.a, &bins.b}, bins.axis)},
      .y_label = fmt::format("{} / {}", normalised_ ? "%" : "count", per_bin ? "bin" : "octave"),
      .per_bin = per_bin,
      .shares = normalised_,
      .end_bins = !normalised_,
      .selectable = true};
  plot::draw_histogram(context, spec,
                       {{.name = "A", .color = theme.series(0), .bins = &bins.a},
                        {.name = "B", .color = theme.series(1), .bins = &bins.b}},
                       overlay_view_);
  draw_selected_bins(context, bins, ImVec2(room.at.x, room.end().y - theme.fonts.label->FontSize),
                     room.size.x);
}

/// How much of each side lies in the selected range, in whole bins as drawn.
void ComparePanel::draw_selected_bins(const PanelContext& context, const OverlaidBins& bins,
                                      ImVec2 at, float width) const {
  const Theme& theme = context.theme;
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
  draw_text_line(context, {at, ImVec2(width, theme.fonts.label->FontSize)},
                 {.id = "compare.selected",
                  .label = "samples in the selected range",
                  .text = text,
                  .color = overlay_view_.selection ? theme.colors.text : theme.colors.dim_text});
}

}  // namespace app
