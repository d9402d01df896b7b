// Duration series.
#include "app/gui/plot/series_plot.h"

#include <algorithm>
#include <cmath>

#include "app/gui/plot/format.h"
#include "app/gui/plot/marks.h"
#include "app/gui/plot/plot_text.h"

namespace app::plot {
namespace {

/// Ranges of the marked points of [first, last).
Spans spans_of(const SeriesSpec& spec, std::size_t first, std::size_t last) {
  Spans spans{.color = spec.mark_color, .kind = Spans::Kind::Foot, .name = spec.mark_name};
  const std::vector<bool>& marked = *spec.marked;
  const auto edge = [&](std::size_t i) { return spec.x_offset + static_cast<double>(i) - 0.5; };
  for (std::size_t i = first; i < last;) {
    const std::size_t begin = i;
    while (i < last && marked[i] == marked[begin]) ++i;
    if (marked[begin]) spans.ranges.push_back({edge(begin), edge(i)});
  }
  return spans;
}

/// The points of [first, last), as ranges where several share a pixel, and the line at the median.
Marks marks_of(const Theme& theme, const SeriesSpec& spec, const FoldedSeries& series,
               const PlotFrame& frame, std::size_t first, std::size_t last) {
  const double pixels_per_point = frame.x().pixels_per_unit();
  const bool apart = pixels_per_point >= 1.0;
  Line line{.color = spec.color,
            .strength = apart ? 0.6F : 1.0F,
            .dots = pixels_per_point >= 5.0 ? theme.px(2.2F) : 0.0F};
  const auto stride =
      apart ? std::size_t{1} : static_cast<std::size_t>(std::ceil(1.0 / pixels_per_point));
  // A range without extent is one pixel high.
  const double pixel = std::abs(1.0 / frame.y().pixels_per_unit());
  for (std::size_t i = first; i < last; i += stride) {
    const Range fold = series.extremes(i, std::min(i + stride, last));
    const double x = spec.x_offset + static_cast<double>(i);
    line.points.push_back({x, fold.min});
    if (!apart) line.points.insert(line.points.end(), {{x, fold.max + pixel}, kNowhere});
  }
  Marks marks = {std::move(line)};
  if (spec.marked != nullptr && !spec.marked->empty()) marks.push_back(spans_of(spec, first, last));
  if (std::isfinite(spec.median)) {
    marks.push_back(Rule{.at = spec.median,
                         .color = faded(theme.colors.text, 0.7F),
                         .label = "median " + duration_text(spec.median)});
  }
  return marks;
}

}  // namespace

FoldedSeries fold_series(std::vector<double> values) {
  FoldedSeries series;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % kSeriesFold == 0) series.folds.push_back(kNoValues);
    series.folds.back() = widened(series.folds.back(), values[i]);
  }
  series.values = std::move(values);
  return series;
}

Range FoldedSeries::extremes(std::size_t first, std::size_t last) const {
  Range range = kNoValues;
  for (std::size_t i = first; i < last;) {
    const bool whole = i % kSeriesFold == 0 && i + kSeriesFold <= last;
    const Range part = whole ? folds[i / kSeriesFold] : Range{values[i], values[i]};
    range = widened(widened(range, part.min), part.max);
    i += whole ? kSeriesFold : 1;
  }
  return range;
}

int draw_duration_series(const PanelContext& context, const SeriesSpec& spec,
                         const FoldedSeries& series, PlotView& view) {
  const std::vector<double>& values = series.values;
  if (values.empty()) return -1;
  const Theme& theme = context.theme;
  const double count = static_cast<double>(values.size());
  const Range limits{spec.x_offset - 0.5, spec.x_offset + count - 0.5};
  const Range shown = view.held && !view.x.empty() ? clamped(view.x, limits) : limits;
  const auto index_of = [&](double x) {
    return static_cast<std::size_t>(std::clamp(x - spec.x_offset, 0.0, count - 1.0));
  };
  const std::size_t first = index_of(std::floor(shown.min));
  const std::size_t last = index_of(std::ceil(shown.max)) + 1;
  Range y = widened(series.extremes(first, last), spec.median);
  // From the data, not from zero: the question here is how much it varies. The labels say so.
  y = y.empty() ? Range{y.min * 0.95, y.max * 1.05 + 1.0} : padded(y, 0.12);
  y.min = std::max(0.0, y.min);
  FrameSpec frame_spec{
      .id = spec.id,
      .size = spec.size,
      .x = {.kind = AxisKind::Integer, .label = spec.x_label, .limits = limits},
      .y = {.kind = AxisKind::Nanoseconds, .label = time_unit(y.max).name, .limits = y},
      .selectable = false,
      .min_span = std::min(5.0, count)};
  PlotFrame frame(context, frame_spec, view);
  frame.kept().put(
      *frame.draw(),
      DrawingKey(theme, spec.generation, first, last, frame.x().view, y, frame.min(), frame.max(),
                 spec.x_offset, spec.median, spec.color),
      [&] { draw_marks(context, frame, marks_of(theme, spec, series, frame, first, last)); });
  if (!frame.hovered()) return -1;
  const std::size_t index = index_of(std::round(frame.hover_x()));
  const ImVec2 at(frame.x().to_pixel(spec.x_offset + static_cast<double>(index)),
                  frame.y().to_pixel(values[index]));
  frame.draw()->AddCircle(at, theme.px(4), theme.colors.text, 12);
  return static_cast<int>(index);
}

}  // namespace app::plot
