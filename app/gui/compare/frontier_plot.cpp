// The scatter of a sweep: whiskers of time, the frontier as a line, a menu at the clicked point.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "app/gui/compare/frontier_view.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/marks.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

using profiling::FrontierPlace;
using profiling::SnrChoice;
using profiling::SweepPoint;

constexpr const char* kMenu = "frontier.menu";
/// The extent of the points. Exact products are placed above all others.
struct Extent {
  plot::Range time;     // including whiskers
  plot::Range medians;  // initial view: one long whisker must not squeeze all points
  plot::Range snr;
  double exact = 0.0;  // height at which exact points are drawn
  bool any_exact = false;
};

bool is_drawn(const SweepPoint& point, SnrChoice choice) {
  return point.time.n > 0 && !std::isnan(snr_of(point, choice));
}

Extent extent_of(const std::vector<SweepPoint>& points, SnrChoice choice) {
  plot::Range time = plot::kNoValues;
  plot::Range medians = plot::kNoValues;
  plot::Range snr = plot::kNoValues;
  Extent extent;
  for (const SweepPoint& point : points) {
    if (!is_drawn(point, choice)) continue;
    time = plot::widened(plot::widened(time, point.time.p5), point.time.p95);
    medians = plot::widened(medians, point.time.median);
    const double value = snr_of(point, choice);
    extent.any_exact = extent.any_exact || std::isinf(value);
    snr = plot::widened(snr, value);
  }
  if (!plot::has_values(snr)) snr = {0.0, 1.0};
  if (!plot::has_values(time)) time = {0.0, 1.0};
  extent.time = plot::padded(time, 0.08);
  extent.time.min = std::max(0.0, extent.time.min);
  extent.medians = medians.max > medians.min ? plot::padded(medians, 0.2) : extent.time;
  extent.snr = plot::padded(snr, 0.12);
  if (extent.any_exact) {
    extent.exact = extent.snr.max + 0.06 * extent.snr.span();
    extent.snr.max += 0.14 * extent.snr.span();
  }
  return extent;
}

}  // namespace

void FrontierView::draw_scatter(const PanelContext& context, ImVec2 size) {
  const Theme& theme = context.theme;
  const SnrChoice choice = median_snr_ ? SnrChoice::Median : SnrChoice::Worst;
  const Extent extent = extent_of(made_.points, choice);
  plot::FrameSpec spec;
  spec.id = "##frontier.scatter";
  spec.size = size;
  spec.x = {.kind = plot::AxisKind::Nanoseconds,
            .label = "time of a step",
            .limits = extent.time,
            .fit = extent.medians};
  spec.y = {.kind = plot::AxisKind::Decibel, .label = "dB", .limits = extent.snr};
  spec.selectable = false;
  spec.min_span = extent.time.span() * 1e-3;
  plot::PlotFrame frame(context, spec, view_);
  const bool several = made_.works.size() > 1;
  std::vector<plot::Line> frontiers(made_.works.size());
  const auto color_of = [&](FrontierPlace place, std::size_t work) {
    if (several) return made_.works[work].color;
    return place == FrontierPlace::On          ? theme.colors.good
           : place == FrontierPlace::Undecided ? theme.colors.warn
                                               : theme.colors.accent;
  };
  // Of a large sweep, many points on the frontier are close together.
  plot::Dots dots{.leader = 220.0F, .selected = table_.selected, .pointed = table_.hovered};
  for (std::size_t i = 0; i < made_.points.size(); ++i) {
    const SweepPoint& point = made_.points[i];
    const double snr = snr_of(point, choice);
    const std::size_t work = made_.work_of[i];
    plot::Dot dot{.at = {point.time.median, std::isinf(snr) ? extent.exact : snr},
                  .color = color_of(point.frontier, work),
                  .across = {point.time.p5, point.time.p95},
                  .name = made_.names[i],
                  .brief = std::to_string(i + 1),
                  .strong = point.frontier != FrontierPlace::Off,
                  .joined = has_shortest_median(point, made_.points),
                  .hollow = several && point.frontier != FrontierPlace::On,
                  .id = fmt::format("frontier.point.{}", i),
                  .value = std::string(
                      point.frontier == FrontierPlace::Off ? "" : engine::name_of(point.frontier))};
    if (!is_drawn(point, choice)) dot.at = plot::kNowhere;
    if (has_shortest_median(point, made_.points) && is_drawn(point, choice)) {
      frontiers[work].points.push_back(dot.at);
    }
    dots.dots.push_back(std::move(dot));
  }
  plot::Marks marks;
  for (std::size_t work = 0; work < frontiers.size(); ++work) {
    plot::Line& line = frontiers[work];
    line.color = plot::faded(made_.works[work].color, 0.8F);
    line.width = theme.px(1.5F);
    line.stepped = true;
    std::ranges::sort(line.points, {}, &plot::Point::x);
    marks.emplace_back(std::move(line));
  }
  marks.emplace_back(std::move(dots));
  const plot::MarkHit hit = plot::draw_marks(context, frame, marks);
  plot::draw_unnamed(context, frame, "frontier.unnamed", hit.unnamed);
  const auto& [mark, nearest, clicked, unnamed] = hit;
  controls::record(context, "frontier.marked", "points that the table marks", "text",
                   fmt::format("selected={};pointed={}", table_.selected + 1, table_.hovered + 1),
                   frame.min(), frame.max());
  if (nearest < 0) return;
  if (clicked) {
    menu_point_ = nearest;
    open_menu_ = true;
    table_.selected = nearest;
    return;
  }
  if (menu_shown_) return;
  const auto row = static_cast<std::size_t>(nearest);
  std::vector<plot::ReadOutLine> lines = plot::row_lines(made_.table.source, row, theme.colors);
  const SweepPoint& point = made_.points[row];
  lines.push_back({"click", "make it A or B"});
  std::string title = made_.names[row];
  if (point.doubt) {
    title +=
        "\n" + doubt_words(made_.points, row, made_.names[row], made_.names[point.doubt->other]);
  }
  plot::read_out(context, title, lines);
}

/// The names of the works in their colours. Returns how high their lines are.
float FrontierView::draw_works(const PanelContext& context, const Area& room) const {
  if (made_.works.size() < 2) return 0.0F;
  constexpr int kMostLines = 3;  // the points need the room; a point's read-out names its work
  const Theme& theme = context.theme;
  ImDrawList* const draw = ImGui::GetWindowDrawList();
  const float line = theme.fonts.label->FontSize + theme.px(kGapSmall);
  ImVec2 at = room.at;
  int lines = 1;
  for (std::size_t i = 0; i < made_.works.size(); ++i) {
    const Work& work = made_.works[i];
    const ImVec2 text = plot::text_size(theme.fonts.label, work.name);
    const float width = text.x + theme.px(kGapLarge);
    if (at.x > room.at.x && at.x + width > room.end().x) {
      if (++lines > kMostLines) return line * kMostLines;
      at = ImVec2(room.at.x, at.y + line);
    }
    const ImVec2 words = plot::draw_chip(draw, theme, theme.fonts.label, at, work.color);
    plot::draw_text(draw, theme.fonts.label, words, theme.colors.text, work.name);
    controls::record(context, fmt::format("frontier.work.{}", i).c_str(), work.name.c_str(),
                     "legend", "", at, ImVec2(at.x + width, at.y + text.y));
    at.x += width + theme.px(kGap);
  }
  return line * static_cast<float>(lines);
}

void FrontierView::draw_points(const PanelContext& context, const Area& room) {
  const Area below = room.below(draw_works(context, room));
  ImGui::SetCursorScreenPos(below.at);
  draw_scatter(context, below.size);
}

CardTable FrontierView::table() {
  return {
      .id = "##frontier.table", .drawn = &made_.table, .generation = generation_, .state = &table_};
}

CardSpec FrontierView::points_card(const PanelContext& context, const Area& area) {
  const auto on_frontier =
      std::ranges::count(made_.points, FrontierPlace::On, &SweepPoint::frontier);
  const auto undecided =
      std::ranges::count(made_.points, FrontierPlace::Undecided, &SweepPoint::frontier);
  const float snr = context.theme.px(190);
  const float wide =
      std::min(context.theme.px(320), std::max(context.theme.px(200), 0.3F * area.size.x));
  const float sweeps = sweeps_.groups.size() > 1 ? wide : 0.0F;
  return {
      .id = "frontier.card",
      .title = "Accuracy against time",
      .question = "Which settings are worth their time? A click on a point makes it A or B.",
      .note = fmt::format("{} points, {} on the frontier{}", made_.points.size(), on_frontier,
                          undecided > 0 ? fmt::format(", {} undecided", undecided) : ""),
      .measured =
          "Median of a step with p5 to p95 across; SNR of Y, worst expert or the "
          "median one. Green, or filled where colours tell work apart: no other point of the "
          "same work (sizes, top-k, passes) and seed is at least as accurate and as fast, and "
          "the difference in time is significant, with the test of A and B (fewer than 1 in 100 "
          "such sweeps name a point wrongly). Amber, or hollow and large: whether it is "
          "faster than what is as accurate may be noise or the clock. Points were measured one "
          "after "
          "another, not interleaved: make the two A and B, and measure them again.",
      .table = table(),
      .header_widgets = snr + sweeps,
      .header = [this, &context, sweeps, snr] { draw_choices(context, sweeps, snr); },
      .draw = [this, &context](const Area& room) { draw_points(context, room); },
      .read_out = {"frontier.scatter", "accuracy against time", [this, on_frontier, undecided] {
                     return fmt::format("points={};frontier={};undecided={}", made_.points.size(),
                                        on_frontier, undecided);
                   }}};
}

void FrontierView::draw_choices(const PanelContext& context, float sweeps, float snr) {
  const Theme& theme = context.theme;
  if (sweeps > 0.0F) {
    const auto shown = std::ranges::find(sweeps_.groups, drawn_, &profiling::RunGroupMembers::id);
    int index = static_cast<int>(shown == sweeps_.groups.end() ? sweeps_.groups.size() - 1
                                                               : shown - sweeps_.groups.begin());
    if (controls::combo(context, "frontier.sweep", "", index, sweeps_.titles,
                        {.width = sweeps - theme.px(2 * kGap)})) {
      shown_ = sweeps_.groups[static_cast<std::size_t>(index)].id;
    }
    ImGui::SameLine(0, theme.px(kGap));
  }
  controls::either(context, "frontier.snr", median_snr_, "worst expert", "median",
                   {.tooltip = "Whose SNR the vertical axis shows", .width = snr - theme.px(kGap)});
}

CardSpec FrontierView::table_card() {
  return {.id = "frontier.table_card",
          .title = "Points",
          .question =
              "The same points as numbers; a click marks the point above, as the pointer does. "
              "Where the plot has no room for a name, it has the number under #.",
          .measured = "As the plot above.",
          .table = table()};
}

std::optional<FrontierWish> FrontierView::draw_menu(const PanelContext& context) {
  if (std::exchange(open_menu_, false)) ImGui::OpenPopup(kMenu);
  const PopupScope popup(kMenu, context.theme.px(kGap));
  menu_shown_ = static_cast<bool>(popup);
  if (!menu_shown_) return std::nullopt;
  const auto index = static_cast<std::size_t>(menu_point_);
  const bool valid = menu_point_ >= 0 && index < made_.runs.size();
  const bool a = controls::menu_item(context, "frontier.make_a", "Make it A", valid);
  const bool b = controls::menu_item(context, "frontier.make_b", "Make it B", valid);
  if (!a && !b) return std::nullopt;
  return FrontierWish{.run = made_.runs[index], .make_a = a};
}

}  // namespace app
