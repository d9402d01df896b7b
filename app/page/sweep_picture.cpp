#include "app/page/sweep_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "app/page/svg_frame.h"
#include "profiling/document/columns.h"

namespace app {
namespace {

using profiling::FrontierPlace;
using profiling::SweepPoint;

constexpr double kSweepHeight = 320;
constexpr double kDotRadius = 4.0;
constexpr double kNameHeight = 14.0;
constexpr double kNameOffset =
    kDotRadius + 1.0 + 0.5 * kNameHeight;  // from a dot to its name's middle

double worst_snr(const SweepPoint& point) {
  return profiling::snr_of(point, profiling::SnrChoice::Worst);
}

bool has_place(const SweepPoint& point) {
  return point.time.n > 0 && !std::isnan(worst_snr(point)) && worst_snr(point) > -INFINITY;
}

struct SweepAxes {
  plot::Range time;
  plot::Range snr;
  double exact = 0.0;  // where exact points are drawn: above all others
  bool any_exact = false;
};

SweepAxes axes_of(const std::vector<SweepPoint>& points) {
  SweepAxes axes{.time = plot::kNoValues, .snr = plot::kNoValues};
  for (const SweepPoint& point : points) {
    if (!has_place(point)) continue;
    for (const double ns : {point.time.p5, point.time.median, point.time.p95}) {
      axes.time = plot::widened(axes.time, ns);
    }
    axes.any_exact = axes.any_exact || std::isinf(worst_snr(point));
    axes.snr = plot::widened(axes.snr, worst_snr(point));
  }
  if (!plot::has_values(axes.time)) return axes;
  axes.time = chart_limits(axes.time, /*from_zero=*/false);
  axes.time.min = std::max(axes.time.min, 0.0);
  if (!plot::has_values(axes.snr)) axes.snr = {0.0, 1.0};  // all are exact
  axes.snr = chart_limits(axes.snr, /*from_zero=*/false);
  if (axes.any_exact) {
    const double span = axes.snr.span();
    axes.exact = axes.snr.max + 0.08 * span;
    axes.snr.max += 0.16 * span;
  }
  return axes;
}

SvgColor color_of(FrontierPlace place) {
  return place == FrontierPlace::On          ? kSvgGood
         : place == FrontierPlace::Undecided ? kSvgWarn
                                             : kSvgAccent;
}

std::string hover_of(const SweepPoint& point) {
  const auto time = [](double ns) {
    return profiling::shown(profiling::column("", profiling::Measure::Time), profiling::Cell(ns));
  };
  const auto snr = profiling::column("", profiling::Measure::Decibels);
  return fmt::format("{}: median {} (p5 {}, p95 {}, n {}), worst SNR {}, frontier: {}", point.label,
                     time(point.time.median), time(point.time.p5), time(point.time.p95),
                     point.time.n, profiling::shown(snr, profiling::Cell(worst_snr(point))),
                     engine::name_of(point.frontier));
}

/// Names above or below their dots, beside which are the whiskers, where they cover neither each
/// other nor whiskers, and where no other dot is so near that the name may be taken for its.
class SweepNames {
 public:
  SweepNames(SvgPicture& picture, const SvgBox& room) : picture_(picture), room_(room) {}

  void add_dot(SvgPoint dot, double first_whisker, double last_whisker) {
    dots_.push_back(dot);
    taken_.push_back({.x = first_whisker,
                      .y = dot.y - 1.0,
                      .width = last_whisker - first_whisker,
                      .height = 2.0});
  }
  /// Not at all where there is no room: hovering over the dot names it.
  void name(SvgPoint dot, std::string_view words) {
    const double width = svg_text_width(words);
    for (const double side : {-1.0, 1.0}) {
      for (const double part : {0.5, 0.0, 1.0}) {  // of the name that is left of its dot
        const SvgBox box{.x = dot.x - part * width,
                         .y = dot.y + side * kNameOffset - 0.5 * kNameHeight,
                         .width = width,
                         .height = kNameHeight};
        if (!is_free(box) || is_ambiguous(box, dot)) continue;
        taken_.push_back(box);
        return picture_.text({box.x, box.y + 0.5 * kNameHeight + 0.35 * kSvgTextSize}, words);
      }
    }
  }

 private:
  bool is_free(const SvgBox& box) const {
    const bool inside = box.x >= room_.x && box.right() <= room_.right() && box.y >= room_.y &&
                        box.bottom() <= room_.bottom();
    return inside && std::ranges::none_of(taken_, [&](const SvgBox& one) {
             return box.x < one.right() && one.x < box.right() && box.y < one.bottom() &&
                    one.y < box.bottom();
           });
  }

  bool is_ambiguous(const SvgBox& name, SvgPoint named) const {
    constexpr double kNear = 2.0 * kNameOffset;
    const auto near = std::ranges::count_if(dots_, [&](SvgPoint dot) {
      return dot.x > name.x - kDotRadius && dot.x < name.right() + kDotRadius &&
             std::abs(dot.y - named.y) < kNear;
    });
    return near > 1;  // itself is one
  }

  SvgPicture& picture_;
  SvgBox room_;
  std::vector<SvgBox> taken_;
  std::vector<SvgPoint> dots_;
};

/// From point to point in steps: until the next one, nothing more accurate is to be had.
void draw_frontier(SvgPicture& picture, std::vector<SvgPoint> points) {
  std::ranges::sort(points, {}, &SvgPoint::x);
  std::vector<SvgPoint> steps;
  for (const SvgPoint& point : points) {
    if (!steps.empty()) steps.push_back({point.x, steps.back().y});
    steps.push_back(point);
  }
  picture.polyline(steps, {.stroke = kSvgGood, .width = 1.5});
}

}  // namespace

SweepPicture sweep_picture(const std::vector<SweepPoint>& points, std::string title) {
  const SweepAxes axes = axes_of(points);
  if (!plot::has_values(axes.time)) return {};
  SweepPicture made{.picture = {kSvgWidth, kSweepHeight, std::move(title)}, .note = {}};
  SvgPicture& picture = made.picture;
  const SvgFrame frame(
      picture, {.x = 0, .y = 0, .width = kSvgWidth, .height = kSweepHeight},
      {.kind = plot::AxisKind::Nanoseconds, .label = "time of a step", .limits = axes.time},
      {.kind = plot::AxisKind::Decibel,
       .label = "lowest SNR of any expert's Y, dB",
       .limits = axes.snr});
  const auto place_of = [&](const SweepPoint& point) -> SvgPoint {
    const double snr = worst_snr(point);
    return {frame.x(point.time.median), frame.y(std::isinf(snr) ? axes.exact : snr)};
  };
  std::map<std::string_view, std::vector<SvgPoint>> frontiers;  // of every work
  for (const SweepPoint& point : points) {
    if (!has_place(point)) continue;
    std::vector<SvgPoint>& line = frontiers[point.work];
    if (has_shortest_median(point, points)) line.push_back(place_of(point));
  }
  for (const auto& [work, line] : frontiers) draw_frontier(picture, line);
  SweepNames names(picture, frame.inner());
  for (const SweepPoint& point : points) {
    if (!has_place(point)) continue;
    const SvgPoint at = place_of(point);
    const SvgColor color = color_of(point.frontier);
    const double first = frame.x(point.time.p5);
    const double last = frame.x(point.time.p95);
    picture.line({first, at.y}, {last, at.y}, {.stroke = color});
    picture.dot(at, kDotRadius, {.fill = color}, hover_of(point));
    names.add_dot(at, first, last);
  }
  for (const FrontierPlace place :
       {FrontierPlace::On, FrontierPlace::Undecided, FrontierPlace::Off}) {
    for (const SweepPoint& point : points) {
      if (has_place(point) && point.frontier == place) names.name(place_of(point), point.label);
    }
  }
  made.note =
      "Higher is more accurate, further left is faster. Green: on the frontier, since no other "
      "point of the same work and seed is as accurate and as fast; yellow: undecided; blue: off. "
      "Whiskers: 5th to 95th percentile of the times. The mouse over a point shows its name.";
  if (axes.any_exact) made.note += " Exact products are drawn above all others.";
  if (frontiers.size() > 1) made.note += " Every work and seed has a frontier of its own.";
  return made;
}

}  // namespace app
