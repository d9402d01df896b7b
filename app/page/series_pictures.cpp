#include "app/page/series_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/page/svg_frame.h"
#include "app/page/svg_picture.h"
#include "engine/model/recipe_words.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

constexpr double kSeriesHeight = 216;
constexpr double kLegendHeight = kSvgLineHeight + 6;
constexpr double kMarkSide = 8;
constexpr const char* kLineColors[] = {kSvgAccent, kSvgWarn, kSvgGood, kSvgBad, kSvgText, kSvgDim};

/// Of every step; NaN where no expert has one.
std::vector<double> lowest_snr(const engine::RecipeComparison& comparison, std::size_t recipe) {
  std::vector<double> lowest;
  for (std::size_t i = recipe; i < comparison.reports.size();
       i += comparison.request.recipes.size()) {
    double least = profiling::kNaN;
    for (const engine::ExpertQuantization& expert : comparison.reports[i].experts) {
      if (std::isfinite(expert.snr_db)) least = std::fmin(least, expert.snr_db);
    }
    lowest.push_back(least);
  }
  return lowest;
}

struct NamedLine {
  std::string name;
  std::vector<double> values;
};

SvgPicture lines_picture(std::span<const NamedLine> lines, std::string title) {
  plot::Range range = plot::kNoValues;
  std::size_t steps = 0;
  for (const NamedLine& line : lines) {
    steps = std::max(steps, line.values.size());
    for (const double value : line.values) range = plot::widened(range, value);
  }
  if (!plot::has_values(range)) return {};
  SvgPicture picture(kSvgWidth, kSeriesHeight + kLegendHeight, std::move(title));
  const SvgFrame frame(picture,
                       {.x = 0, .y = kLegendHeight, .width = kSvgWidth, .height = kSeriesHeight},
                       {.kind = plot::AxisKind::Integer,
                        .label = "step",
                        .limits = {-0.5, static_cast<double>(steps) - 0.5}},
                       {.kind = plot::AxisKind::Decibel,
                        .label = "SNR, dB",
                        .limits = chart_limits(range, /*from_zero=*/false)});
  double left = frame.inner().x;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const SvgColor color = kLineColors[i % std::size(kLineColors)];
    std::vector<SvgPoint> points;
    for (std::size_t step = 0; step < lines[i].values.size(); ++step) {
      const double value = lines[i].values[step];
      if (!std::isfinite(value)) continue;
      points.push_back({frame.x(static_cast<double>(step)), frame.y(value)});
      picture.dot(points.back(), 2.0, {.fill = color},
                  fmt::format("{}, step {}: {:.2f} dB", lines[i].name, step, value));
    }
    picture.polyline(points, {.stroke = color, .width = 1.5});
    const double room = kSvgWidth - left - kMarkSide - 4.0;
    if (room < svg_text_width("MXFP8")) continue;  // the dots say which recipe they are of
    picture.box({.x = left, .y = 4, .width = kMarkSide, .height = kMarkSide}, {.fill = color});
    picture.text({left + kMarkSide + 4.0, 4 + kMarkSide}, lines[i].name, {.room = room});
    left += kMarkSide + svg_text_width(lines[i].name) + 20.0;
  }
  return picture;
}

}  // namespace

void write_series_pictures(const profiling::RecordedComparison& recorded, HtmlPage& page) {
  const engine::RecipeComparison& comparison = recorded.comparison;
  if (!comparison.request.series) return;
  std::vector<NamedLine> lines;
  for (std::size_t i = 0; i < comparison.request.recipes.size(); ++i) {
    lines.push_back({engine::recipe_name(comparison.request.recipes[i], /*weights=*/false),
                     lowest_snr(comparison, i)});
  }
  const std::string title = "SNR of the worst expert in every step";
  page.picture(lines_picture(lines, title), title,
               "Of quantizing X: each expert's rows against their originals");
}

}  // namespace app
