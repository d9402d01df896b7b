#include "app/page/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/page/svg_frame.h"
#include "profiling/document/columns.h"

namespace app {
namespace {

constexpr double kChartHeight = 216;
constexpr SvgBox kOuter{.x = 0, .y = 0, .width = kSvgWidth, .height = kChartHeight};
constexpr std::size_t kMostHovers = 512;  // bars that say their value under the mouse
constexpr int kPerOctave = 4;             // bins of a histogram of magnitudes
constexpr int kExponentOfBin0 = -127;     // bin 0 is that of 2^-127

plot::AxisKind axis_kind(profiling::Measure measure) {
  switch (measure) {
    case profiling::Measure::Time:
      return plot::AxisKind::Nanoseconds;
    case profiling::Measure::Decibels:
      return plot::AxisKind::Decibel;
    case profiling::Measure::Count:
      return plot::AxisKind::Integer;
    default:
      return plot::AxisKind::Number;
  }
}

std::string axis_label(const ChartWords& words) {
  return words.measure == profiling::Measure::Decibels ? words.quantity + ", dB" : words.quantity;
}

plot::Range range_of(std::span<const double> values) {
  plot::Range range = plot::kNoValues;
  for (const double value : values) range = plot::widened(range, value);
  return range;
}

SvgFrame frame_of(SvgPicture& picture, const ChartWords& words, std::size_t values,
                  plot::Range limits) {
  const double first = static_cast<double>(words.first_item);
  return {picture,
          kOuter,
          {.kind = plot::AxisKind::Integer,
           .label = words.item,
           .limits = {first - 0.5, first + static_cast<double>(values) - 0.5}},
          {.kind = axis_kind(words.measure), .label = axis_label(words), .limits = limits}};
}

}  // namespace

SvgPicture bar_chart(std::span<const double> values, const ChartWords& words) {
  const plot::Range range = range_of(values);
  if (!plot::has_values(range)) return {};
  SvgPicture picture(kSvgWidth, kChartHeight, words.title);
  const SvgFrame frame =
      frame_of(picture, words, values.size(), chart_limits(range, /*from_zero=*/true));
  const double step = frame.inner().width / static_cast<double>(values.size());
  const double width = std::max(step * 0.8, 0.5);
  const double zero = frame.y(0.0);
  const profiling::Column column = profiling::column("", words.measure);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    const double end = frame.y(values[i]);
    const std::size_t item = words.first_item + i;
    picture.box({.x = frame.inner().x + static_cast<double>(i) * step + (step - width) / 2,
                 .y = std::min(end, zero - 0.5),
                 .width = width,
                 .height = std::max(std::abs(zero - end), 0.5)},
                {.fill = kSvgAccent},
                values.size() > kMostHovers
                    ? std::string()
                    : fmt::format("{} {}: {}", words.item, item,
                                  profiling::shown(column, profiling::Cell(values[i]))));
  }
  return picture;
}

SvgPicture line_chart(std::span<const double> values, const ChartWords& words,
                      const std::vector<bool>& marked) {
  const plot::Range range = range_of(values);
  if (!plot::has_values(range)) return {};
  SvgPicture picture(kSvgWidth, kChartHeight, words.title);
  const SvgFrame frame =
      frame_of(picture, words, values.size(), chart_limits(range, /*from_zero=*/false));
  constexpr std::size_t kParts = 600;
  const std::size_t parts = std::min(values.size(), kParts);
  std::vector<SvgPoint> points;
  std::vector<SvgPoint> marks;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = part * values.size() / parts;
    const std::size_t end = std::max((part + 1) * values.size() / parts, begin + 1);
    const plot::Range inside = range_of(values.subspan(begin, end - begin));
    if (!plot::has_values(inside)) continue;
    plot::Range inside_marked = plot::kNoValues;
    for (std::size_t i = begin; i < end && !marked.empty(); ++i) {
      if (marked[i]) inside_marked = plot::widened(inside_marked, values[i]);
    }
    const double x = frame.inner().x + frame.inner().width * (static_cast<double>(part) + 0.5) /
                                           static_cast<double>(parts);
    points.push_back({x, frame.y(inside.min)});
    if (inside.max > inside.min) points.push_back({x, frame.y(inside.max)});
    if (plot::has_values(inside_marked)) marks.push_back({x, frame.y(inside_marked.max)});
  }
  picture.polyline(points, {.stroke = kSvgAccent, .width = 1.5});
  if (points.size() == 1) picture.dot(points.front(), 2.5, {.fill = kSvgAccent});
  for (const SvgPoint& mark : marks) picture.dot(mark, 2.5, {.fill = kSvgWarn});
  return picture;
}

SvgPicture histogram_chart(const Log2Histogram& before, const Log2Histogram& after, int per_octave,
                           const ChartWords& words) {
  int low = std::numeric_limits<int>::max();
  int high = std::numeric_limits<int>::min();
  double most = 0;
  for (const Log2Histogram& one : {before, after}) {
    for (std::size_t i = 0; i < one.counts.size(); ++i) {
      if (one.counts[i] <= 0) continue;
      low = std::min(low, one.first + static_cast<int>(i));
      high = std::max(high, one.first + static_cast<int>(i) + 1);
      most = std::max(most, one.counts[i]);
    }
  }
  if (most <= 0) return {};
  constexpr double kOne = 0.1;  // a count of 1 is drawn above none
  SvgPicture picture(kSvgWidth, kChartHeight, words.title);
  const double octave = per_octave;
  const SvgFrame frame(
      picture, kOuter,
      {.kind = plot::AxisKind::Log2, .label = words.item, .limits = {low / octave, high / octave}},
      {.kind = plot::AxisKind::Log10Count,
       .label = words.quantity,
       .limits = {-kOne, std::log10(most) + kOne}});
  const auto outline = [&](const Log2Histogram& one, const SvgPaint& paint) {
    std::vector<SvgPoint> points = {{frame.x(low / octave), frame.inner().bottom()}};
    for (int bin = low; bin < high; ++bin) {
      const int at = bin - one.first;
      const bool held = at >= 0 && at < static_cast<int>(one.counts.size());
      const double count = held ? one.counts[static_cast<std::size_t>(at)] : 0;
      const double y = count > 0 ? frame.y(std::log10(count)) : frame.inner().bottom();
      points.push_back({frame.x(bin / octave), y});
      points.push_back({frame.x((bin + 1) / octave), y});
    }
    points.push_back({frame.x(high / octave), frame.inner().bottom()});
    picture.polyline(points, paint);
  };
  outline(before, {.fill = kSvgDim, .stroke = kSvgDim, .opacity = 0.35});
  outline(after, {.stroke = kSvgAccent, .width = 1.5});
  return picture;
}

SvgPicture chart_picture(const profiling::Chart& chart) {
  const ChartWords words{.title = chart.title,
                         .item = chart.item,
                         .quantity = chart.quantity,
                         .measure = chart.measure,
                         .first_item = chart.first_item};
  switch (chart.kind) {
    case profiling::Chart::Kind::Bars:
      return bar_chart(chart.values, words);
    case profiling::Chart::Kind::Line:
      return line_chart(chart.values, words, chart.marked);
    case profiling::Chart::Kind::Magnitudes:
      break;
  }
  constexpr int kFirst = kPerOctave * kExponentOfBin0;
  return histogram_chart({.first = chart.first_bin + kFirst, .counts = chart.values},
                         {.first = chart.first_after + kFirst, .counts = chart.after}, kPerOctave,
                         words);
}

}  // namespace app
