// Drawing of marks.
#include "app/gui/plot/marks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "app/gui/controls/widgets.h"
#include "app/gui/plot/companion_scale.h"
#include "app/gui/plot/label_places.h"
#include "app/gui/plot/plot_text.h"

namespace app::plot {
namespace {

constexpr float kFoot = 3.0F;          // height of a band at the foot
constexpr float kLineChip = 18.0F;     // the piece of a line before its name
constexpr float kUsualLeader = 72.0F;  // from a dot to its name, where that is enough
constexpr double kWideBars = 6.0;      // pixels from one to the next, from which shares are gaps
constexpr double kLeastBars = 2.0;     // with a gap of one

bool somewhere(Point point) { return std::isfinite(point.x) && std::isfinite(point.y); }

ImVec2 pixel_of(const AxisMap& x, const AxisMap& y, Point point) {
  return {x.to_pixel(point.x), y.to_pixel(point.y)};
}

bool has_name(const Mark& mark) {
  if (const Line* line = std::get_if<Line>(&mark)) return !line->name.empty();
  if (const Rule* rule = std::get_if<Rule>(&mark)) return !rule->label.empty() && !rule->upright;
  if (const Spans* spans = std::get_if<Spans>(&mark)) return !spans->name.empty();
  const Dots* dots = std::get_if<Dots>(&mark);
  return dots != nullptr &&
         std::ranges::any_of(dots->dots, [](const Dot& dot) { return !dot.name.empty(); });
}

/// Draws marks, then their names.
class Pen {
 public:
  Pen(const PanelContext& context, const PlotFrame& frame, const Marks& marks, MarkHit hit)
      : context_(context),
        theme_(context.theme),
        frame_(frame),
        draw_(frame.draw()),
        marks_(marks),
        hit_(hit) {
    if (std::ranges::none_of(marks, has_name)) return;
    places_.emplace(frame.min(), frame.max());
  }

  void draw() {
    for (const Mark& mark : marks_) {
      std::visit([this](const auto& one) { shape(one); }, mark);
      ++drawn_;
    }
    if (!places_) return;
    // A mark that lies on top of others is named first.
    for (auto mark = marks_.rbegin(); mark != marks_.rend(); ++mark) {
      std::visit([this](const auto& one) { name(one); }, *mark);
    }
  }

  std::vector<std::string> unnamed{};  // for want of a place

 private:
  ImVec2 spot(Point point) const { return pixel_of(frame_.x(), frame_.y(), point); }

  void stroke(ImVec2 from, ImVec2 to, ImU32 color, float width) {
    draw_->AddLine(from, to, color, width);
    if (places_) places_->keep_free_line(from, to);
  }

  void shape(const Spans& spans) {
    for (const Range span : spans.ranges) {
      ImVec2 low(frame_.x().to_pixel(span.min), frame_.min().y);
      const ImVec2 high(frame_.x().to_pixel(span.max), frame_.max().y);
      switch (spans.kind) {
        case Spans::Kind::Foot:
          low.y = high.y - theme_.px(kFoot);
          if (places_) places_->keep_free(low, high);
          [[fallthrough]];
        case Spans::Kind::Filled:
          draw_->AddRectFilled(low, high, spans.color);
          break;
        case Spans::Kind::Hatched:
          draw_hatch(draw_, low, high, spans.color, theme_.px(6));
          break;
        case Spans::Kind::Framed:
          draw_->AddRect(low, high, spans.color, theme_.px(2), 0, theme_.px(1.5F));
          break;
      }
    }
  }

  void shape(const Bars& bars) {
    const double companion = bars.companions ? companion_scale(*bars.bars) : 0.0;
    const double apart = frame_.x().pixels_per_unit();
    // Narrow bars on whole pixels, the last of which is the gap; thinner ones would merge into one
    // block, so their ends are drawn.
    const double gap = apart > kWideBars ? 0.16 : 0.0;
    const bool snapped = apart <= kWideBars && apart >= kLeastBars && bars.per_item == 1;
    const bool ends = apart < kLeastBars && bars.per_item == 1;
    const double share = (1.0 - 2.0 * gap) / static_cast<double>(bars.per_item);
    const Range view = frame_.x().view;
    if (hit_.mark == drawn_) {
      shape(Spans{.ranges = {{hit_.index - 0.5, hit_.index + 0.5}},
                  .color = faded(theme_.colors.text, 0.07F)});
    }
    for (std::size_t i = 0; i < bars.bars->size(); ++i) {
      const Bar& bar = (*bars.bars)[i];
      const double start = static_cast<double>(i / bars.per_item) - 0.5 + gap +
                           share * static_cast<double>(i % bars.per_item);
      if (start + share < view.min || start > view.max) continue;
      float left = frame_.x().to_pixel(start);
      float right = std::max(frame_.x().to_pixel(start + share), left + 1.0F);
      if (snapped) {
        left = std::round(left);
        right = std::max(std::round(right) - 1.0F, left + 1.0F);
      }
      column(bar, left, right, ends ? 0.45F * bars.strength : bars.strength);
      if (ends) end_of(bar, left, right);
      if (companion <= 0.0) continue;
      const float y = frame_.y().to_pixel(companion * bar.companion);
      draw_->AddRectFilled(ImVec2(left, y - theme_.px(1)), ImVec2(right, y + theme_.px(1)),
                           theme_.colors.warn);
    }
    // Bars that hang down need the line from which they do.
    if (frame_.y().view.min < 0.0) shape(Rule{.color = faded(theme_.colors.text, 0.6F)});
  }

  /// What is seen of a bar among many: where it ends.
  void end_of(const Bar& bar, float left, float right) {
    if (bar.outside || !std::isfinite(bar.value)) return;
    const float end = std::clamp(frame_.y().to_pixel(bar.value), frame_.min().y, frame_.max().y);
    draw_->AddRectFilled(ImVec2(left, end), ImVec2(right, end + theme_.px(2)), bar.color);
  }

  void column(const Bar& bar, float left, float right, float strength) {
    const AxisMap& y = frame_.y();
    const float top = frame_.min().y;
    const float bottom = frame_.max().y;
    if (bar.outside) {
      const ImU32 open = faded(bar.color, 0.1F);
      draw_->AddRectFilledMultiColor(ImVec2(left, top), ImVec2(right, bottom), open, open,
                                     bar.color, bar.color);
      return;
    }
    if (!std::isfinite(bar.value)) {
      draw_hatch(draw_, ImVec2(left, top), ImVec2(right, bottom), theme_.colors.line, theme_.px(5));
      return;
    }
    const bool whisker = bar.high > bar.low;
    const float high = y.to_pixel(bar.high);
    const float low = y.to_pixel(bar.low);
    if (bar.band != 0 && whisker) {
      draw_->AddRectFilled(ImVec2(left, high), ImVec2(right, low), bar.band);
    }
    const float zero = y.view.min < 0.0 ? y.to_pixel(0.0) : bottom;
    const float end = std::clamp(y.to_pixel(bar.value), top, bottom);
    draw_->AddRectFilled(ImVec2(left, std::min(end, zero - 1.0F)),
                         ImVec2(right, std::max(end, zero)), faded(bar.color, strength));
    if (!whisker) return;
    const float middle = 0.5F * (left + right);
    const float half = std::min(0.3F * (right - left), theme_.px(5));
    const ImU32 color = theme_.colors.text;
    draw_->AddLine(ImVec2(middle, high), ImVec2(middle, low), color);
    draw_->AddLine(ImVec2(middle - half, high), ImVec2(middle + half, high), color);
    draw_->AddLine(ImVec2(middle - half, low), ImVec2(middle + half, low), color);
  }

  void shape(const Line& line) {
    const ImU32 color = faded(line.color, line.strength);
    if (line.fill > 0.0F) fill_below(line);
    for (std::size_t i = 0; i < line.points.size(); ++i) {
      if (!somewhere(line.points[i])) continue;
      const ImVec2 at = spot(line.points[i]);
      const bool joined = i > 0 && somewhere(line.points[i - 1]);
      if (joined) {
        const ImVec2 from = spot(line.points[i - 1]);
        const ImVec2 corner(at.x, line.stepped ? from.y : at.y);
        if (line.stepped) stroke(from, corner, color, line.width);
        stroke(line.stepped ? corner : from, at, color, line.width);
      }
      // A point without neighbours would not be seen.
      const bool alone = !joined && (i + 1 == line.points.size() || !somewhere(line.points[i + 1]));
      const float radius = line.dots > 0.0F || !alone ? line.dots : line.width;
      if (radius <= 0.0F) continue;
      draw_->AddCircleFilled(at, radius, line.color, 8);
      if (places_) places_->keep_free(at, radius);
    }
  }

  void fill_below(const Line& stepped) {
    for (std::size_t i = 0; i + 1 < stepped.points.size(); ++i) {
      if (!somewhere(stepped.points[i])) continue;
      const ImVec2 from = spot(stepped.points[i]);
      const ImVec2 to(frame_.x().to_pixel(stepped.points[i + 1].x), frame_.max().y);
      if (from.y < to.y) draw_->AddRectFilled(from, to, faded(stepped.color, stepped.fill));
    }
  }

  void shape(const Rule& rule) {
    const float at = (rule.upright ? frame_.x() : frame_.y()).to_pixel(rule.at);
    draw_->AddLine(rule.upright ? ImVec2(at, frame_.min().y) : ImVec2(frame_.min().x, at),
                   rule.upright ? ImVec2(at, frame_.max().y) : ImVec2(frame_.max().x, at),
                   rule.color, rule.width);
  }

  /// The share of its radius with which a dot is drawn: on top of others it is smaller, so that
  /// each is seen as a ring around the next.
  float seen_of(const Dots& dots, std::size_t index) const {
    constexpr std::size_t kMostCompared = 200;  // so many dots are not told apart anyway
    if (dots.dots.size() > kMostCompared) return 1.0F;
    const ImVec2 at = spot(dots.dots[index].at);
    float share = 1.0F;
    for (std::size_t i = 0; i < index && share > 0.5F; ++i) {
      if (!somewhere(dots.dots[i].at)) continue;
      const ImVec2 other = spot(dots.dots[i].at);
      if (std::hypot(other.x - at.x, other.y - at.y) < theme_.px(dots.radius)) share -= 0.3F;
    }
    return share;
  }

  void shape(const Dots& dots) {
    for (std::size_t i = 0; i < dots.dots.size(); ++i) {
      const Dot& dot = dots.dots[i];
      if (!somewhere(dot.at)) continue;
      const ImVec2 at = spot(dot.at);
      const bool ringed = (hit_.mark == drawn_ && std::cmp_equal(hit_.index, i)) ||
                          std::cmp_equal(dots.selected, i) || std::cmp_equal(dots.pointed, i);
      if (!dot.across.empty()) {
        stroke(ImVec2(frame_.x().to_pixel(dot.across.min), at.y),
               ImVec2(frame_.x().to_pixel(dot.across.max), at.y), faded(dot.color, 0.6F), 1.0F);
      }
      const float radius = theme_.px(dots.radius) * seen_of(dots, i);
      const float shown = ringed ? radius + theme_.px(1.5F) : radius;
      draw_->AddCircleFilled(at, shown, dot.hollow ? theme_.colors.panel : dot.color, 16);
      if (dot.hollow) draw_->AddCircle(at, shown, dot.color, 16, theme_.px(1.5F));
      if (dots.rim != 0) draw_->AddCircle(at, radius, dots.rim, 16);
      if (ringed) draw_->AddCircle(at, radius + theme_.px(4), theme_.colors.text, 20);
      if (places_) places_->keep_free(at, radius);
      if (dot.id.empty()) continue;
      controls::record(context_, dot.id.c_str(), dot.name.c_str(), "point", dot.value,
                       ImVec2(at.x - radius, at.y - radius), ImVec2(at.x + radius, at.y + radius));
    }
  }

  static void name(const Bars&) {}

  void name(const Spans& spans) {
    if (spans.name.empty() || spans.ranges.empty()) return;
    const ImVec2 size = text_size(theme_.fonts.label, spans.name);
    const float chip = theme_.px(kLineChip);
    name_with_chip(places_->anywhere(ImVec2(chip + size.x, size.y), theme_.px(kGapSmall)),
                   spans.name, spans.color, theme_.px(kFoot));
  }

  void name(const Rule& rule) {
    if (rule.label.empty() || rule.upright) return;
    const float at = frame_.y().to_pixel(rule.at);
    draw_label(draw_, theme_,
               places_->along(at, text_size(theme_.fonts.label, rule.label), theme_.px(2)),
               theme_.colors.text, rule.label);
  }

  /// A level line is named along it, a straight one beside its middle, any other where there is
  /// room.
  LabelPlaces::Place place_of(const Line& line, ImVec2 size) {
    const float gap = theme_.px(kGapSmall);
    LabelPlaces::Place place;
    if (line.points.size() == 2) {
      const Point from = line.points.front();
      const Point to = line.points.back();
      if (from.y == to.y) {
        place = places_->along(frame_.y().to_pixel(to.y), size, gap);
      } else if (const auto beside = places_->next_to(
                     spot({0.5 * (from.x + to.x), 0.5 * (from.y + to.y)}), size, theme_.px(kGap))) {
        place = {.at = *beside, .clear = true};
      }
    }
    return place.clear ? place : places_->anywhere(size, gap);
  }

  void name(const Line& line) {
    if (line.name.empty() || line.points.empty()) return;
    const float chip = theme_.px(kLineChip);
    const ImVec2 size = text_size(theme_.fonts.label, line.name);
    name_with_chip(place_of(line, ImVec2(chip + size.x, size.y)), line.name, line.color,
                   line.width);
  }

  void name_with_chip(LabelPlaces::Place place, const std::string& words, ImU32 color,
                      float width) {
    if (place.taken) {
      unnamed.push_back(words);
      return;
    }
    const float chip = theme_.px(kLineChip);
    const float middle = place.at.y + 0.5F * text_size(theme_.fonts.label, words).y;
    draw_->AddLine(ImVec2(place.at.x, middle), ImVec2(place.at.x + chip - theme_.px(4), middle),
                   color, width);
    place.at.x += chip;
    draw_label(draw_, theme_, place, theme_.colors.text, words);
  }

  /// Beside its dot, or joined to it by a line; elsewhere it would seem to be another dot's. Where
  /// a name has no such place, there is what stands for it; the read-out has the name.
  void name(const Dots& dots) {
    const std::vector<bool> crowd = crowded(dots);
    const auto pass_of = [&](std::size_t i) {
      const Dot& dot = dots.dots[i];
      const bool leaves = crowd[i] && !dot.joined && !dot.brief.empty();
      return leaves ? 0 : dot.joined ? 1 : dot.strong ? 2 : 3;
    };
    for (int pass = 0; pass <= 3; ++pass) {
      for (std::size_t i = 0; i < dots.dots.size(); ++i) {
        const Dot& dot = dots.dots[i];
        if (pass_of(i) != pass || dot.name.empty() || !somewhere(dot.at)) continue;
        // Lines lead out of a crowd only before long names lie around it.
        const bool named = pass != 0 && name(dots, dot, dot.name, dot.joined, ".name");
        if (!named && !dot.brief.empty()) name(dots, dot, dot.brief, /*join=*/true, ".brief");
      }
    }
  }

  /// Of every dot: several others are so near that there is no room for their names.
  std::vector<bool> crowded(const Dots& dots) const {
    constexpr std::size_t kMany = 4;
    const float near = theme_.px(28);
    std::vector<ImVec2> spots;
    for (const Dot& dot : dots.dots) {
      spots.push_back(somewhere(dot.at) ? spot(dot.at) : ImVec2(INFINITY, INFINITY));
    }
    std::vector<bool> crowd(spots.size(), false);
    for (std::size_t i = 0; i < spots.size(); ++i) {
      std::size_t others = 0;
      for (std::size_t k = 0; k < spots.size() && others < kMany; ++k) {
        const bool beside =
            std::abs(spots[i].x - spots[k].x) < near && std::abs(spots[i].y - spots[k].y) < near;
        if (beside && k != i) ++others;
      }
      crowd[i] = others == kMany;
    }
    return crowd;
  }

  /// `join`: by a line, where there is no room beside the dot. False: there is no place.
  bool name(const Dots& dots, const Dot& dot, const std::string& words, bool join,
            const char* suffix) {
    const ImVec2 from = spot(dot.at);
    const ImVec2 size = text_size(theme_.fonts.label, words);
    std::optional<ImVec2> at = places_->next_to(from, size, theme_.px(8));
    const bool beside = at.has_value();
    bool clear = true;
    if (!beside && join) {
      const float least = theme_.px(dots.radius + 8);
      auto joined =
          places_->joined_to(from, size, {.least = least, .most = theme_.px(kUsualLeader)});
      if (!joined && dots.leader > kUsualLeader) {
        joined = places_->joined_to(from, size, {.least = least, .most = theme_.px(dots.leader)});
      }
      if (joined) {
        draw_->AddLine(from, joined->end, dot.color);
        at = joined->at;
        clear = joined->clear;
      }
    }
    if (!at) return false;
    draw_label(draw_, theme_, {.at = *at, .clear = clear},
               dot.strong ? theme_.colors.text : theme_.colors.dim_text, words);
    if (dot.id.empty()) return true;
    controls::record(context_, (dot.id + suffix).c_str(), words.c_str(), "text",
                     beside ? "beside" : "joined", *at, ImVec2(at->x + size.x, at->y + size.y));
    return true;
  }

  const PanelContext& context_;
  const Theme& theme_;
  const PlotFrame& frame_;
  ImDrawList* draw_;
  const Marks& marks_;
  MarkHit hit_;
  int drawn_ = 0;  // marks before the one that is drawn
  std::optional<LabelPlaces> places_;
};

}  // namespace

MarkHit find_mark(const AxisMap& x, const AxisMap& y, ImVec2 mouse, float scale,
                  const Marks& marks) {
  MarkHit hit;
  float nearest = INFINITY;
  for (std::size_t mark = 0; mark < marks.size(); ++mark) {
    const Dots* const dots = std::get_if<Dots>(&marks[mark]);
    if (dots == nullptr) continue;
    for (std::size_t i = 0; i < dots->dots.size(); ++i) {
      if (!somewhere(dots->dots[i].at)) continue;
      const ImVec2 at = pixel_of(x, y, dots->dots[i].at);
      const float distance = std::hypot(at.x - mouse.x, at.y - mouse.y);
      if (distance >= std::min(nearest, scale * dots->reach)) continue;
      nearest = distance;
      hit = {.mark = static_cast<int>(mark), .index = static_cast<int>(i)};
    }
  }
  if (hit.mark >= 0) return hit;
  const double item = std::floor(x.to_value(static_cast<double>(mouse.x)) + 0.5);
  for (std::size_t mark = 0; mark < marks.size(); ++mark) {
    const Bars* const bars = std::get_if<Bars>(&marks[mark]);
    if (bars == nullptr || item < 0.0 || item >= static_cast<double>(bars->items())) continue;
    return {.mark = static_cast<int>(mark), .index = static_cast<int>(item)};
  }
  return hit;
}

MarkHit draw_marks(const PanelContext& context, const PlotFrame& frame, const Marks& marks) {
  const MarkHit hit =
      frame.hovered() ? find_mark(frame.x(), frame.y(), frame.mouse(), context.theme.scale, marks)
                      : MarkHit{};
  Pen pen(context, frame, marks, hit);
  pen.draw();
  return {hit.mark, hit.index, hit.mark >= 0 && frame.clicked(), std::move(pen.unnamed)};
}

void draw_unnamed(const PanelContext& context, const PlotFrame& frame, const char* id,
                  const std::vector<std::string>& unnamed) {
  if (unnamed.empty()) return;
  const Theme& theme = context.theme;
  const ImFont* font = theme.fonts.label;
  const std::string words = fmt::format("+{} more", unnamed.size());
  const ImVec2 size = text_size(font, words);
  const ImVec2 at(frame.max().x - size.x, frame.min().y - size.y - theme.px(3));
  const ImVec2 end(at.x + size.x, at.y + size.y);
  frame.open_clip();
  draw_text(frame.draw(), font, at, theme.colors.dim_text, words);
  frame.close_clip();
  const std::string names = fmt::format("{}", fmt::join(unnamed, "\n"));
  controls::record(context, id, words.c_str(), "text", names, at, end);
  if (ImGui::IsMouseHoveringRect(at, end) && ImGui::IsWindowHovered()) {
    controls::tooltip(context, names);
  }
}

}  // namespace app::plot
