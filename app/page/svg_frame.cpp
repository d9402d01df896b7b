#include "app/page/svg_frame.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr double kGap = 5.0;
constexpr double kTicksApart = 30.0;  // of y

struct LabelledAxis {
  std::vector<plot::Tick> ticks;  // at their values, labelled relative to the origin
  std::string title;
};

LabelledAxis labelled(const ChartAxis& axis, int most) {
  // Rows of a matrix count from the top: their limits are turned round.
  const plot::Range limits = plot::between(axis.limits.min, axis.limits.max);
  plot::AxisTitle title = plot::axis_title(axis.kind, axis.label, limits);
  LabelledAxis made{.ticks = {}, .title = std::move(title.text)};
  if (!axis.ticks) return made;
  const plot::Range counted{limits.min - title.origin, limits.max - title.origin};
  made.ticks = plot::ticks(axis.kind, counted, most);
  for (plot::Tick& tick : made.ticks) tick.value += title.origin;
  return made;
}

/// In halves: the difference of the largest numbers is not finite.
double part_of(plot::Range range, double value) {
  const double part = (value / 2 - range.min / 2) / (range.max / 2 - range.min / 2);
  return std::isnan(part) ? 0.0 : std::clamp(part, 0.0, 1.0);
}

}  // namespace

SvgFrame::SvgFrame(SvgPicture& picture, const SvgBox& outer, const ChartAxis& x, const ChartAxis& y,
                   double left)
    : x_(x.limits), y_(y.limits) {
  const double top = y.label.empty() ? kGap + 1.0 : kSvgLineHeight + kGap;
  const double bottom = (x.ticks ? kSvgLineHeight : 0.0) + (x.label.empty() ? 0.0 : kSvgLineHeight);
  const double height = outer.height - top - bottom - kGap;
  const LabelledAxis upright = labelled(y, std::max(2, static_cast<int>(height / kTicksApart)));
  double margin = left;
  for (const plot::Tick& tick : upright.ticks) {
    margin = std::max(margin, left + svg_text_width(tick.label) + 2.0 * kGap);
  }
  inner_ = {.x = outer.x + std::max(margin, kGap),
            .y = outer.y + top,
            .width = outer.width - std::max(margin, kGap) - 2.0 * kGap,
            .height = height};
  const LabelledAxis level = labelled(
      x,
      std::max(2, static_cast<int>(inner_.width / (x.kind == plot::AxisKind::Log2 ? 56.0 : 80.0))));
  for (const plot::Tick& tick : upright.ticks) {
    const double at = this->y(tick.value);
    picture.line({inner_.x, at}, {inner_.right(), at}, {.stroke = kSvgLine});
    picture.text({inner_.x - kGap, at + 0.35 * kSvgTextSize}, tick.label,
                 {.anchor = SvgWords::Anchor::End, .color = kSvgDim});
  }
  for (const plot::Tick& tick : level.ticks) {
    const double at = this->x(tick.value);
    const double half = 0.5 * svg_text_width(tick.label);
    picture.line({at, inner_.y}, {at, inner_.bottom()}, {.stroke = kSvgLine});
    // A label at the end of the axis stays inside the picture.
    picture.text(
        {std::clamp(at, outer.x + half, outer.right() - half), inner_.bottom() + kSvgLineHeight},
        tick.label, {.anchor = SvgWords::Anchor::Middle, .color = kSvgDim});
  }
  const std::vector<SvgPoint> corner = {
      {inner_.x, inner_.y}, {inner_.x, inner_.bottom()}, {inner_.right(), inner_.bottom()}};
  picture.polyline(corner, {.stroke = kSvgDim});
  picture.text({outer.x + kGap + left, outer.y + kSvgTextSize},
               y.label.empty() ? "" : upright.title, {.room = outer.width - left - 2.0 * kGap});
  picture.text({inner_.right(), outer.bottom() - kGap}, x.label.empty() ? "" : level.title,
               {.anchor = SvgWords::Anchor::End, .room = inner_.width});
}

double SvgFrame::x(double value) const { return inner_.x + inner_.width * part_of(x_, value); }

double SvgFrame::y(double value) const {
  return inner_.bottom() - inner_.height * part_of(y_, value);
}

plot::Range chart_limits(plot::Range values, bool from_zero) {
  if (!plot::has_values(values)) return {};
  if (from_zero) values = plot::widened(values, 0.0);
  const double span = values.max / 2 - values.min / 2;
  if (!(span > 0.0)) {
    const double around = std::max(1.0, std::abs(values.max) * 1e-3);
    return {values.min - (from_zero ? 0.0 : around), values.max + around};
  }
  const double margin = 0.08 * span;
  const bool negative = values.min < 0.0;
  const plot::Range wider{from_zero && !negative ? values.min : values.min - margin,
                          from_zero && values.max <= 0.0 ? values.max : values.max + margin};
  return std::isfinite(wider.min) && std::isfinite(wider.max) ? wider : values;
}

}  // namespace app
