#include "app/gui/plot/label_places.h"

#include <algorithm>
#include <cmath>

#include "app/gui/plot/plot_text.h"

namespace app::plot {
namespace {

constexpr float kCell = 2.0F;  // pixels
constexpr std::uint8_t kData = 1;
constexpr std::uint8_t kLabel = 2;
constexpr std::uint8_t kLeader = 3;  // the line from a point to its name
constexpr float kNearly = 4.0F;      // pixels: two that are as close as this are seen as one
constexpr std::size_t kMostPoints = 256;
constexpr int kLabelCost = 10000;  // more than a label has cells: any amount of data is better

}  // namespace

LabelPlaces::LabelPlaces(ImVec2 min, ImVec2 max)
    : min_(min),
      max_(max),
      columns_(std::max(static_cast<int>((max.x - min.x) / kCell) + 1, 1)),
      rows_(std::max(static_cast<int>((max.y - min.y) / kCell) + 1, 1)),
      used_(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_), 0) {}

LabelPlaces::Cells LabelPlaces::cells_of(ImVec2 low, ImVec2 high) const {
  if (std::isnan(low.x + low.y + high.x + high.y))
    return {.left = 0, .top = 0, .right = -1, .bottom = -1};
  // Clamped before the cast: a point far outside must not leave the range of int.
  const auto cell = [](float at, float from, int count) {
    return static_cast<int>(
        std::floor(std::clamp((at - from) / kCell, -1.0F, static_cast<float>(count))));
  };
  return {.left = cell(low.x, min_.x, columns_),
          .top = cell(low.y, min_.y, rows_),
          .right = cell(high.x, min_.x, columns_),
          .bottom = cell(high.y, min_.y, rows_)};
}

void LabelPlaces::mark(Cells cells, std::uint8_t as) {
  const int left = std::max(cells.left, 0);
  const int right = std::min(cells.right, columns_ - 1);
  if (left > right) return;
  for (int row = std::max(cells.top, 0); row <= std::min(cells.bottom, rows_ - 1); ++row) {
    std::fill_n(used_.begin() + std::ptrdiff_t{row} * columns_ + left, right - left + 1, as);
  }
}

void LabelPlaces::keep_free(ImVec2 low, ImVec2 high) { mark(cells_of(low, high), kData); }

void LabelPlaces::reserve(ImVec2 at, ImVec2 size) {
  mark(cells_of(at, ImVec2(at.x + size.x, at.y + size.y)), kLabel);
}

bool LabelPlaces::belongs_to(ImVec2 point, ImVec2 at, ImVec2 size, float near) const {
  const auto distance = [&](ImVec2 from) {
    const float x = from.x - std::clamp(from.x, at.x, at.x + size.x);
    const float y = from.y - std::clamp(from.y, at.y, at.y + size.y);
    return std::hypot(x, y);
  };
  // Of two that coincide, either may have it.
  const float own = std::min(distance(point) - 0.5F * kCell, near);
  return std::ranges::none_of(points_, [&](ImVec2 other) { return distance(other) < own; });
}

/// A line through another point would seem to come from that one.
bool LabelPlaces::passes_another(ImVec2 point, ImVec2 from, ImVec2 to) const {
  const ImVec2 along(to.x - from.x, to.y - from.y);
  const float squared = along.x * along.x + along.y * along.y;
  return std::ranges::any_of(points_, [&](ImVec2 other) {
    const ImVec2 way(other.x - from.x, other.y - from.y);
    const float share = squared > 0.0F
                            ? std::clamp((way.x * along.x + way.y * along.y) / squared, 0.0F, 1.0F)
                            : 0.0F;
    const bool beside = std::hypot(other.x - point.x, other.y - point.y) < kNearly;
    return !beside && std::hypot(way.x - share * along.x, way.y - share * along.y) < kNearly;
  });
}

void LabelPlaces::keep_free(ImVec2 at, float radius) {
  if (points_.size() < kMostPoints && std::isfinite(at.x + at.y)) points_.push_back(at);
  keep_free(ImVec2(at.x - radius, at.y - radius), ImVec2(at.x + radius, at.y + radius));
}

template <class Visit>
void LabelPlaces::for_each_cell(ImVec2 from, ImVec2 to, Visit visit) {
  // No cast holds what is not a number.
  if (!std::isfinite(from.x + from.y + to.x + to.y)) return;
  if (from.x > to.x) std::swap(from, to);
  // In cells from here on. Clamped before the casts: a line may extend far outside the plot.
  const auto across = [this](float x) {
    return std::clamp((x - min_.x) / kCell, -1.0F, static_cast<float>(columns_));
  };
  const float height = static_cast<float>(rows_);
  const float y = (from.y - min_.y) / kCell;
  const float slope = to.x > from.x ? (to.y - from.y) / (to.x - from.x) : 0.0F;
  const float rise = (to.y - from.y) / kCell;
  const float first = (from.x - min_.x) / kCell;
  const int right = std::min(static_cast<int>(across(to.x)), columns_ - 1);
  for (int column = std::max(static_cast<int>(std::floor(across(from.x))), 0); column <= right;
       ++column) {
    // The part of the line that crosses this column; all of it if it is vertical.
    const float into = std::max(static_cast<float>(column) - first, 0.0F);
    const float out = std::min(static_cast<float>(column + 1), (to.x - min_.x) / kCell) - first;
    const float begin = slope == 0.0F ? y : y + slope * into;
    const float end = to.x > from.x ? y + slope * std::max(out, into) : y + rise;
    const float low = std::min(begin, end);
    const float high = std::max(begin, end);
    if (high < 0.0F || low >= height) continue;
    const int bottom = static_cast<int>(std::min(high, height - 1.0F));
    auto cell = used_.begin() + column;
    cell += std::ptrdiff_t{columns_} * static_cast<int>(std::max(low, 0.0F));
    for (int row = static_cast<int>(std::max(low, 0.0F)); row <= bottom; ++row) {
      visit(*cell);
      if (row < bottom) cell += columns_;
    }
  }
}

void LabelPlaces::keep_free_line(ImVec2 from, ImVec2 to) {
  for_each_cell(from, to, [](std::uint8_t& cell) { cell = std::max(cell, kData); });
}

int LabelPlaces::covered(ImVec2 at, ImVec2 size) const {
  const ImVec2 end(at.x + size.x, at.y + size.y);
  if (at.x < min_.x || at.y < min_.y || end.x > max_.x || end.y > max_.y) return -1;
  const Cells cells = cells_of(at, end);
  int count = 0;
  for (int row = cells.top; row <= std::min(cells.bottom, rows_ - 1); ++row) {
    const auto begin = used_.begin() + std::ptrdiff_t{row} * columns_;
    const auto end_of_row = begin + std::min(cells.right, columns_ - 1) + 1;
    count += static_cast<int>(std::count(begin + cells.left, end_of_row, kData));
    count += kLabelCost * static_cast<int>(std::min<std::ptrdiff_t>(
                              std::count_if(begin + cells.left, end_of_row,
                                            [](std::uint8_t cell) { return cell >= kLabel; }),
                              1000));
  }
  return count;
}

LabelPlaces::Place LabelPlaces::best_of(const std::vector<ImVec2>& wished, ImVec2 size) {
  int least = -1;
  Place place{.at = wished.empty() ? min_ : wished.front(), .clear = false};
  for (const ImVec2 at : wished) {
    const int count = covered(at, size);
    if (count < 0 || (least >= 0 && count >= least)) continue;
    least = count;
    place = {.at = at, .clear = count == 0, .taken = count >= kLabelCost};
    if (place.clear) break;
  }
  if (!place.taken) reserve(place.at, size);
  return place;
}

std::optional<ImVec2> LabelPlaces::next_to(ImVec2 at, ImVec2 size, float gap) {
  for (const float y : {at.y - size.y - 0.3F * gap, at.y + 0.3F * gap}) {
    for (const float x : {at.x + gap, at.x - gap - size.x}) {
      if (covered(ImVec2(x, y), size) != 0 || !belongs_to(at, ImVec2(x, y), size)) continue;
      reserve(ImVec2(x, y), size);
      return ImVec2(x, y);
    }
  }
  return std::nullopt;
}

std::optional<LabelPlaces::Joined> LabelPlaces::joined_to(ImVec2 at, ImVec2 size, Reach reach) {
  // Where every place is nearer to another point, one apart from it is read by its line, which
  // crosses another or passes over a point only where those are all around.
  constexpr float kAnyDistance = std::numeric_limits<float>::infinity();
  const float apart = 2.0F * reach.least;
  for (const Allowed level : {Allowed{.near = kAnyDistance}, Allowed{.near = apart},
                              Allowed{.near = apart, .crossing = true}, Allowed{}}) {
    for (const bool over_data : {false, true}) {
      Allowed allowed = level;
      allowed.over_data = over_data;
      if (auto joined = joined_where(at, size, reach, allowed)) return joined;
    }
  }
  return std::nullopt;
}

std::optional<LabelPlaces::Joined> LabelPlaces::joined_where(ImVec2 at, ImVec2 size, Reach reach,
                                                             Allowed allowed) {
  constexpr int kDirections = 16;
  constexpr float kStep = 4.0F * kCell;
  // The label's corner or the middle of its edge lies in that direction.
  const auto before = [](float way, float length) {
    return way > 0.3F ? 0.0F : way < -0.3F ? length : 0.5F * length;
  };
  for (float away = reach.least; away <= reach.most; away += kStep) {
    for (int i = 0; i < kDirections; ++i) {
      const float angle = 6.2831853F * static_cast<float>(i) / kDirections;
      const ImVec2 way(std::cos(angle), std::sin(angle));
      // A level line over other points would seem to join those, as whiskers do.
      if (allowed.crossing && std::abs(way.y) < 0.3F) continue;
      const ImVec2 end(at.x + away * way.x, at.y + away * way.y);
      ImVec2 low(end.x - before(way.x, size.x), end.y - before(way.y, size.y));
      // Above and below the point it may move along the line's end to stay inside.
      if (std::abs(way.y) > 0.3F && size.x < max_.x - min_.x) {
        low.x = std::clamp(std::clamp(low.x, min_.x, max_.x - size.x), end.x - size.x, end.x);
      }
      const int under = covered(low, size);
      if (under < 0 || under >= (allowed.over_data ? kLabelCost : 1)) continue;
      if (!belongs_to(at, low, size, allowed.near)) continue;
      // Close to the points, the lines of two that nearly coincide may touch.
      const ImVec2 start(at.x + 0.5F * reach.least * way.x, at.y + 0.5F * reach.least * way.y);
      bool crosses = false;
      for_each_cell(start, end, [&](std::uint8_t cell) {
        crosses = crosses || cell == kLabel || (cell == kLeader && !allowed.crossing);
      });
      if (crosses || (!allowed.crossing && passes_another(at, start, end))) continue;
      reserve(low, size);
      for_each_cell(start, end, [](std::uint8_t& cell) { cell = kLeader; });
      return Joined{.at = low, .end = end, .clear = under == 0};
    }
  }
  return std::nullopt;
}

LabelPlaces::Place LabelPlaces::along(float y, ImVec2 size, float gap) {
  std::vector<ImVec2> wished;
  const float step = std::max(0.5F * size.x, kCell);
  for (float x = max_.x - gap - size.x; x >= min_.x + gap; x -= step) {
    wished.emplace_back(x, y - size.y - gap);
    wished.emplace_back(x, y + gap);
  }
  return best_of(wished, size);
}

LabelPlaces::Place LabelPlaces::anywhere(ImVec2 size, float gap) {
  std::vector<ImVec2> wished;
  const float lowest = max_.y - gap - size.y;
  const float highest = min_.y + gap;
  const float step = std::max(0.5F * size.x, kCell);
  for (float y = lowest; y >= highest; y -= size.y + kCell) {
    for (float x = min_.x + gap; x + size.x + gap <= max_.x; x += step) wished.emplace_back(x, y);
  }
  return best_of(wished, size);
}

void draw_label(ImDrawList* draw, const Theme& theme, const LabelPlaces::Place& place, ImU32 color,
                std::string_view text) {
  if (place.taken) return;
  const ImVec2 size = text_size(theme.fonts.label, text);
  if (!place.clear) {
    const float edge = theme.px(3);
    draw->AddRectFilled(ImVec2(place.at.x - edge, place.at.y),
                        ImVec2(place.at.x + size.x + edge, place.at.y + size.y),
                        faded(theme.colors.panel, 0.9F), theme.px(2));
  }
  draw_text(draw, theme.fonts.label, place.at, color, text);
}

}  // namespace app::plot
