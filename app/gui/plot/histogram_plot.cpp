// Histogram drawing and read-out.
#include "app/gui/plot/histogram_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "app/gui/plot/format.h"
#include "app/gui/plot/marks.h"
#include "app/gui/plot/plot_text.h"

namespace app::plot {
namespace {

struct EndBin {
  const char* label;
  std::uint64_t Bins::* count;
  bool left;
};
constexpr EndBin kEndBins[] = {
    {"0", &Bins::zeros, true}, {"inf", &Bins::infinities, false}, {"NaN", &Bins::nans, false}};

double height_of(double density, bool log_y) {
  if (!log_y) return density;
  return density >= 1.0 ? std::log10(density) : 0.0;
}

double tall(const Bins& bins, std::size_t bin, bool per_bin) {
  return per_bin ? bins.counts[bin] : bins.density(bin);
}

double peak_of(const Bins& bins, Range view, bool per_bin) {
  if (!per_bin) return bins.peak(view);
  double highest = 0.0;
  for (const double count : bins.counts) highest = std::max(highest, count);
  return highest;
}

/// The outline over the bins in view. One that is not empty is at least a pixel high.
Line outline_of(const PlotFrame& frame, const HistogramSeries& series, const HistogramSpec& spec) {
  Line line{.color = series.color, .fill = series.filled ? 0.45F : 0.0F, .stepped = true};
  const Bins& bins = *series.bins;
  const Range view = frame.x().view;
  const double least = frame.y().to_value(frame.max().y - 1.0F);
  for (std::size_t bin = 0; bin < bins.counts.size(); ++bin) {
    if (bins.edges[bin + 1] < view.min || bins.edges[bin] > view.max) continue;
    const double height = height_of(tall(bins, bin, spec.per_bin), spec.log_y);
    if (line.points.empty()) line.points.push_back({bins.edges[bin], 0.0});
    line.points.push_back(
        {bins.edges[bin], bins.counts[bin] > 0.0 ? std::max(height, least) : 0.0});
    if (bin + 1 == bins.counts.size() || bins.edges[bin + 1] > view.max) {
      line.points.push_back({bins.edges[bin + 1], 0.0});
    }
  }
  return line;
}

/// Bins change with the run and the range: their contents identify them.
std::uint64_t contents_of(const std::vector<HistogramSeries>& series) {
  const auto bits_of = [](const std::vector<double>& values) {
    return std::hash<std::string_view>{}(std::string_view(
        reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)));
  };
  std::uint64_t mixed = series.size();
  for (const HistogramSeries& one : series) {
    for (const std::uint64_t part :
         {std::uint64_t{bits_of(one.bins->edges)}, std::uint64_t{bits_of(one.bins->counts)},
          std::uint64_t{one.color}, std::uint64_t{one.filled}}) {
      mixed = mixed * 0x9E3779B97F4A7C15U + part;
    }
  }
  return mixed;
}

}  // namespace

Range histogram_limits(const std::vector<const Bins*>& all, AxisKind kind) {
  Range limits = kNoValues;
  for (const Bins* bins : all) {
    const Range range = bins->range();
    if (!range.empty()) limits = widened(widened(limits, range.min), range.max);
  }
  if (!has_values(limits)) return {};
  if (kind == AxisKind::Log2) return {std::floor(limits.min) - 1.0, std::ceil(limits.max) + 1.0};
  return padded(limits, 0.04);
}

bool draw_histogram(const PanelContext& context, const HistogramSpec& spec,
                    const std::vector<HistogramSeries>& series, PlotView& view) {
  const Theme& theme = context.theme;
  const Range shown = view.held && !view.x.empty() ? clamped(view.x, spec.x.limits) : spec.x.limits;
  double peak = 0.0;
  std::vector<const EndBin*> ends;
  for (const HistogramSeries& one : series) {
    peak = std::max(peak, peak_of(*one.bins, shown, spec.per_bin));
  }
  for (const EndBin& end : kEndBins) {
    const bool present = std::ranges::any_of(
        series, [&end](const HistogramSeries& one) { return one.bins->*end.count > 0; });
    if (spec.end_bins && present) ends.push_back(&end);
  }

  const float end_width = theme.px(28);
  const auto on_left = std::ranges::count_if(ends, [](const EndBin* end) { return end->left; });
  const auto on_right = static_cast<std::ptrdiff_t>(ends.size()) - on_left;
  FrameSpec frame_spec{
      .id = spec.id,
      .size = spec.size,
      .x = spec.x,
      .y = {.kind = spec.log_y ? AxisKind::Log10Count : AxisKind::Integer,
            .label = spec.y_label,
            .limits = {0.0, std::max(height_of(peak, spec.log_y) * 1.08, 1.0)}},
      .selectable = spec.selectable,
      .min_span = spec.x.kind == AxisKind::Log2 ? 1.0 : spec.x.limits.span() * 1e-3,
      .left_margin = theme.px(42) + static_cast<float>(std::max<int>(static_cast<int>(on_left),
                                                                     spec.reserved_left)) *
                                        end_width,
      .right_margin = theme.px(kGap) + static_cast<float>(std::max<int>(static_cast<int>(on_right),
                                                                        spec.reserved_right)) *
                                           end_width,
      .labels_apart = static_cast<float>(on_left) * end_width};
  float left_slot = ImGui::GetCursorScreenPos().x + theme.px(42);
  PlotFrame frame(context, frame_spec, view);
  frame.kept().put(*frame.draw(),
                   DrawingKey(theme, contents_of(series), frame.x().view, frame_spec.y.limits,
                              frame.min(), frame.max(), spec.log_y, spec.per_bin),
                   [&] {
                     Marks marks;
                     for (const HistogramSeries& one : series) {
                       marks.push_back(outline_of(frame, one, spec));
                     }
                     draw_marks(context, frame, marks);
                   });
  if (frame.hovered()) {
    std::vector<ReadOutLine> lines;
    std::string title;
    for (const HistogramSeries& one : series) {
      const int bin = one.bins->find(frame.hover_x());
      const auto index = static_cast<std::size_t>(bin);
      if (bin >= 0 && title.empty()) {
        const double low = one.bins->edges[index];
        const double high = one.bins->edges[index + 1];
        title = spec.x.kind == AxisKind::Log2
                    ? fmt::format("2^{:.2f} .. 2^{:.2f}   ({} .. {})", low, high,
                                  number_text(std::exp2(low)), number_text(std::exp2(high)))
                : spec.x.kind == AxisKind::Nanoseconds
                    ? fmt::format("{} .. {}", duration_text(low), duration_text(high))
                    : fmt::format("{} .. {}", number_text(low), number_text(high));
      }
      const double count = bin >= 0 ? one.bins->counts[index] : 0.0;
      lines.push_back({one.name,
                       spec.shares
                           ? share_text(count, 100.0)
                           : fmt::format("{}  {}", count_text(static_cast<std::uint64_t>(count)),
                                         share_text(count, one.bins->total())),
                       one.color});
    }
    draw_marks(
        context, frame,
        {Rule{.at = frame.hover_x(), .color = faded(theme.colors.text, 0.35F), .upright = true}});
    read_out(context, title, lines);
  }

  // End bins share the height scale with counts per octave: a count is one bar of width 1.
  ImDrawList* draw = frame.draw();
  frame.open_clip();
  const ImVec2 top_left = frame.min();
  const ImVec2 bottom_right = frame.max();
  float right_slot = bottom_right.x + theme.px(kGapSmall);
  for (const EndBin* end : ends) {
    float& slot = end->left ? left_slot : right_slot;
    const float bar = (end_width - theme.px(kGap)) / static_cast<float>(series.size());
    for (std::size_t i = 0; i < series.size(); ++i) {
      const auto count = static_cast<double>(series[i].bins->*end->count);
      if (count == 0.0) continue;
      const float top = std::clamp(frame.y().to_pixel(height_of(count, spec.log_y)), top_left.y,
                                   bottom_right.y - 1.0F);
      const float x = slot + bar * static_cast<float>(i);
      draw->AddRectFilled(ImVec2(x, top), ImVec2(x + bar, bottom_right.y),
                          faded(series[i].color, 0.75F));
    }
    draw_text_centered(
        draw, theme.fonts.label,
        ImVec2(slot + 0.5F * (end_width - theme.px(kGap)), bottom_right.y + theme.px(3)),
        theme.colors.dim_text, end->label);
    if (ImGui::IsMouseHoveringRect(
            ImVec2(slot, top_left.y),
            ImVec2(slot + end_width - theme.px(kGapSmall), bottom_right.y)) &&
        ImGui::IsWindowHovered()) {
      std::vector<ReadOutLine> lines;
      for (const HistogramSeries& one : series) {
        lines.push_back({one.name, count_text(one.bins->*end->count), one.color});
      }
      read_out(context, fmt::format("exactly {}", end->label), lines);
    }
    slot += end_width;
  }
  frame.close_clip();
  return frame.clicked();
}

}  // namespace app::plot
