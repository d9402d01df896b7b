// Axes and mouse of the plots.
#include "app/gui/plot/plot_frame.h"

#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/text.h"

namespace app::plot {
namespace {
constexpr double kWheelStep = 0.82;      // fraction of the view that one notch keeps
constexpr double kShiftWheelPan = 0.12;  // fraction of the span per notch
constexpr double kKeyZoomStep = 0.67;
constexpr float kDragThreshold = 4.0F;
// A longer title of the x axis has a line of its own; a shorter one may stand in for the last
// label.
constexpr float kLongTitle = 64.0F;
// In a lower plot that line would take the room of what is plotted: there is only the title's unit.
constexpr float kLowPlot = 84.0F;
Range fit_of(const Axis& axis) {
  return axis.fit.empty() ? axis.limits : clamped(axis.fit, axis.limits);
}

}  // namespace

Range shown_first(const Axis& axis) {
  return axis.first.empty() ? fit_of(axis) : clamped(axis.first, axis.limits);
}

PlotFrame::PlotFrame(const PanelContext& context, const FrameSpec& spec, PlotView& view)
    : context_(context),
      view_(view),
      drawings_(view.drawings[ImGui::GetID(spec.id)]),
      draw_(ImGui::GetWindowDrawList()),
      x_kind_(spec.x.kind) {
  lay_out(spec);
  if (!view_.held || view_.x.empty()) {
    view_.x = shown_first(spec.x);
  }
  view_.x = clamped(view_.x, spec.x.limits);
  take_input(spec);
  x_ = {view_.x, static_cast<double>(min_.x), static_cast<double>(max_.x)};
  y_ = {spec.y.limits, static_cast<double>(max_.y), static_cast<double>(min_.y)};
  drawings_.axes.put(*draw_,
                     DrawingKey(context.theme, outer_min_, min_, max_, view_.x, spec.y.limits,
                                static_cast<int>(spec.x.kind), static_cast<int>(spec.y.kind),
                                spec.x.ticks, spec.y.ticks, spec.labels_apart,
                                std::string_view(spec.x.label), std::string_view(spec.y.label)),
                     [&] { draw_axes(spec); });
  explain_titles(spec);
  draw_->PushClipRect(min_, max_, true);
}

PlotFrame::~PlotFrame() {
  std::optional<Range> shown = view_.selection;
  if (view_.drag_start) shown = between(*view_.drag_start, hover_x());
  for (const Range& range : view_.kept) draw_range(range, 0.5F);
  const bool adds_range = view_.drag_start && ImGui::GetIO().KeyCtrl && view_.selection;
  if (adds_range) draw_range(*view_.selection, 0.5F);
  if (shown) draw_range(*shown, 1.0F);
  draw_->PopClipRect();
}

void PlotFrame::draw_range(Range range, float strength) const {
  const Theme& theme = context_.theme;
  const float left = x_.to_pixel(range.min);
  const float right = x_.to_pixel(range.max);
  draw_->AddRectFilled(ImVec2(left, min_.y), ImVec2(right, max_.y),
                       faded(theme.colors.accent, 0.14F * strength));
  for (const float edge : {left, right}) {
    draw_->AddLine(ImVec2(edge, min_.y), ImVec2(edge, max_.y),
                   faded(theme.colors.accent, strength));
  }
  // Two ranges next to each other are there to be compared.
  if (view_.kept.empty() || x_kind_ != AxisKind::Nanoseconds) return;
  const ImFont* font = theme.fonts.label;
  const std::string span = duration_text(range.span());
  const float width = text_size(font, span).x;
  if (width + theme.px(kGap) > right - left) return;
  const ImVec2 at(0.5F * (left + right - width), max_.y - font->FontSize - theme.px(3));
  draw_->AddRectFilled(ImVec2(at.x - theme.px(3), at.y),
                       ImVec2(at.x + width + theme.px(3), at.y + font->FontSize),
                       faded(theme.colors.panel, 0.85F), theme.px(2));
  draw_text(draw_, font, at, theme.colors.text, span);
}

bool PlotFrame::drop_ranges() {
  const bool any = view_.selection || !view_.kept.empty();
  view_.selection.reset();
  view_.kept.clear();
  return any;
}

void PlotFrame::end_drag(double at, Range limits, float moved) {
  const bool adds_range = ImGui::GetIO().KeyCtrl;
  if (moved >= kDragThreshold) {
    if (adds_range && view_.selection) view_.kept.push_back(*view_.selection);
    if (!adds_range) view_.kept.clear();
    view_.selection = clamped(between(*view_.drag_start, at), limits);
    selection_changed_ = true;
  } else {
    clicked_ = true;
    const auto hit = std::ranges::find_if(view_.kept, [at](Range one) { return one.contains(at); });
    if (hit != view_.kept.end() && view_.selection) {
      // Swaps with the selection, and the statistics follow it.
      std::swap(*hit, *view_.selection);
      selection_changed_ = true;
    } else if (!adds_range) {
      selection_changed_ = drop_ranges();
    }
  }
  view_.drag_start.reset();
}

void PlotFrame::lay_out(const FrameSpec& spec) {
  const Theme& theme = context_.theme;
  const float line = theme.fonts.label->FontSize;
  outer_min_ = ImGui::GetCursorScreenPos();
  outer_max_ = ImVec2(outer_min_.x + std::max(spec.size.x, theme.px(40)),
                      outer_min_.y + std::max(spec.size.y, theme.px(40)));
  float left = spec.left_margin;
  if (left <= 0.0F) left = spec.y.ticks ? theme.px(42) : theme.px(kGapSmall);
  const float right = spec.right_margin > 0.0F ? spec.right_margin : theme.px(kGap);
  const float top = spec.y.label.empty() ? theme.px(kGapSmall) : line + theme.px(kGapSmall);
  const bool title_below = spec.x.ticks && has_title_line(spec, left);
  const float bottom =
      spec.x.ticks ? line + theme.px(6) + (title_below ? line : 0.0F) : theme.px(2);
  min_ = ImVec2(std::floor(outer_min_.x + left), std::floor(outer_min_.y + top));
  max_ = ImVec2(std::floor(std::max(outer_max_.x - right, min_.x + 8.0F)),
                std::floor(std::max(outer_max_.y - bottom, min_.y + 8.0F)));
}

bool PlotFrame::has_title_line(const FrameSpec& spec, float left_margin) const {
  const Theme& theme = context_.theme;
  if (outer_max_.y - outer_min_.y < theme.px(kLowPlot)) return false;
  const float width =
      text_size(theme.fonts.label, axis_title(spec.x.kind, spec.x.label, view_.x).text).x;
  // Half of a first label may extend to the left of the axis.
  const bool left = width + theme.px(kGapSmall + 12) <= left_margin && spec.labels_apart == 0.0F;
  return !left && width > theme.px(kLongTitle);
}

void PlotFrame::take_input(const FrameSpec& spec) {
  const ImGuiIO& io = ImGui::GetIO();
  ImGui::SetCursorScreenPos(min_);
  ImGui::InvisibleButton(spec.id, ImVec2(max_.x - min_.x, max_.y - min_.y),
                         ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight);
  const ImGuiID id = ImGui::GetID(spec.id);
  // Over a plot the wheel zooms; the cards around it do not scroll.
  ImGui::SetItemUsingMouseWheel();
  hovered_ = ImGui::IsItemHovered();
  const bool active = ImGui::IsItemActive();
  mouse_ = io.MousePos;
  const AxisMap before{view_.x, static_cast<double>(min_.x), static_cast<double>(max_.x)};
  const double at = before.to_value(static_cast<double>(mouse_.x));
  const Range limits = spec.x.limits;
  const Range fit = fit_of(spec.x);
  const Range first = shown_first(spec.x);
  const auto hold = [&](Range next) {
    view_.x = next;
    view_.held = next != first;
  };

  if (hovered_ && (io.MouseWheel != 0.0F || io.MouseWheelH != 0.0F)) {
    if (io.KeyShift || io.MouseWheelH != 0.0F) {
      const double notches = static_cast<double>(io.MouseWheel + io.MouseWheelH);
      hold(panned(view_.x, -notches * kShiftWheelPan * view_.x.span(), limits));
    } else {
      const double factor = std::pow(kWheelStep, static_cast<double>(io.MouseWheel));
      hold(zoomed(view_.x, at, factor, limits, spec.min_span));
    }
  }
  const PlotKeys& keys = context_.keys;
  if (hovered_ && keys.zoom != 0) {
    hold(zoomed(view_.x, at, std::pow(kKeyZoomStep, keys.zoom), limits, spec.min_span));
  }
  if (hovered_ && keys.pan != 0) {
    hold(panned(view_.x, kShiftWheelPan * keys.pan * view_.x.span(), limits));
  }
  if (hovered_ && keys.fit_selection && view_.selection) hold(*view_.selection);
  const bool right_drag = ImGui::IsMouseDown(ImGuiMouseButton_Right);
  if (active && !view_.drag_start && (right_drag || io.KeyShift) && io.MouseDelta.x != 0.0F) {
    const double moved = static_cast<double>(io.MouseDelta.x) / before.pixels_per_unit();
    hold(panned(view_.x, -moved, limits));
  }
  const bool double_clicked = hovered_ && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
  middle_clicked_ = hovered_ && ImGui::IsMouseClicked(ImGuiMouseButton_Middle);
  if (double_clicked || (middle_clicked_ && !spec.items) || (hovered_ && keys.fit_all)) {
    // A second double click shows what lies outside the fit, too; a third is back at the start.
    hold(view_.x == fit ? limits : view_.x == limits ? first : fit);
    view_.drag_start.reset();
  } else if (ImGui::IsItemActivated() && !right_drag && !io.KeyShift && spec.selectable) {
    view_.drag_start = at;
    view_.dragged = id;
  }
  if (view_.drag_start && view_.dragged == id && !active) {
    end_drag(at, limits, std::abs(mouse_.x - before.to_pixel(*view_.drag_start)));
  }
  if (!spec.selectable && hovered_ && ImGui::IsMouseReleased(ImGuiMouseButton_Left)) {
    // There is no range to draw, so any press that did not move is a click.
    clicked_ = std::sqrt(io.MouseDragMaxDistanceSqr[ImGuiMouseButton_Left]) < kDragThreshold;
  }
  if (hovered_ && keys.clear) selection_changed_ |= drop_ranges();
  // The item was the inner area; the layout continues below the whole plot.
  ImGui::SetCursorScreenPos(outer_min_);
  ImGui::Dummy(ImVec2(outer_max_.x - outer_min_.x, outer_max_.y - outer_min_.y));
}

void PlotFrame::explain_titles(const FrameSpec& spec) const {
  const ImFont* font = context_.theme.fonts.label;
  if (!spec.y.label.empty()) {
    const ImVec2 end(outer_max_.x, outer_min_.y + font->FontSize);
    if (ImGui::IsMouseHoveringRect(outer_min_, end)) {
      explain_cut(context_, fitted(font, spec.y.label, end.x - outer_min_.x), spec.y.label,
                  outer_min_, end);
    }
  }
  const ImVec2 below(min_.x, max_.y + 1.0F);
  if (!spec.x.ticks || view_.x.empty() || !ImGui::IsMouseHoveringRect(below, outer_max_)) return;
  const XAxis axis = x_axis(spec);
  // What is left may be nothing: then the place where it would end.
  const float start = std::min(axis.title_start, max_.x - context_.theme.px(kLongTitle));
  explain_cut(context_, axis.title, axis.whole_title, ImVec2(start, below.y), outer_max_);
}

void PlotFrame::draw_axes(const FrameSpec& spec) const {
  const Theme& theme = context_.theme;
  const ImU32 grid = faded(theme.colors.line, 0.7F);
  draw_->AddRectFilled(min_, max_, faded(theme.colors.window, 0.55F));
  if (spec.y.ticks && !spec.y.limits.empty()) draw_y_axis(spec, grid);
  if (!spec.y.label.empty()) {
    draw_text(draw_, theme.fonts.label, outer_min_, theme.colors.dim_text,
              fitted(theme.fonts.label, spec.y.label, outer_max_.x - outer_min_.x));
  }
  if (spec.x.ticks && !view_.x.empty()) draw_x_axis(spec, grid);
  draw_->AddRect(ImVec2(min_.x - 1, min_.y - 1), ImVec2(max_.x + 1, max_.y + 1), theme.colors.line);
}

void PlotFrame::draw_y_axis(const FrameSpec& spec, ImU32 grid) const {
  const Theme& theme = context_.theme;
  const ImFont* font = theme.fonts.label;
  const int most = std::max(2, static_cast<int>((max_.y - min_.y) / theme.px(26)));
  for (const Tick& tick : ticks(spec.y.kind, spec.y.limits, most)) {
    const float pixel = std::floor(y_.to_pixel(tick.value));
    draw_->AddLine(ImVec2(min_.x, pixel), ImVec2(max_.x, pixel), grid);
    draw_text_right(draw_, font,
                    ImVec2(min_.x - spec.labels_apart - theme.px(5), pixel - 0.5F * font->FontSize),
                    theme.colors.dim_text, tick.label);
  }
}

PlotFrame::XAxis PlotFrame::x_axis(const FrameSpec& spec) const {
  const Theme& theme = context_.theme;
  const ImFont* font = theme.fonts.label;
  auto [title, origin] = axis_title(spec.x.kind, spec.x.label, view_.x);
  const std::string whole = title;
  float title_width = title.empty() ? 0.0F : text_size(font, title).x;
  float apart = theme.px(spec.x.kind == AxisKind::Log2 ? 40.0F : 56.0F);
  if (spec.x.kind == AxisKind::Integer) {
    // Numbers of experts or steps are short: a narrow plot has room for more than two.
    const std::string longest = profiling::si_text(std::round(view_.x.max));
    apart = std::min(apart, text_size(font, longest).x + theme.px(kGapLarge));
  }
  const int most = std::max(2, static_cast<int>((max_.x - min_.x) / apart));
  const Range counted{view_.x.min - origin, view_.x.max - origin};
  std::vector<Tick> all = ticks(spec.x.kind, counted, most);
  // Left of the first label if it fits there; at the right end a short one takes the place of the
  // last label.
  const float first = all.empty() ? min_.x
                                  : std::floor(x_.to_pixel(origin + all.front().value)) -
                                        0.5F * text_size(font, all.front().label).x;
  const float left = std::min(first, min_.x) - theme.px(kGapSmall) - title_width;
  // Between the labels of y and the axis may be a bar of its own, with its own label.
  const bool below = has_title_line(spec, min_.x - outer_min_.x);
  const bool fits = !below && left >= outer_min_.x && spec.labels_apart == 0.0F;
  if (!below && !fits && title_width > theme.px(kLongTitle)) {
    title = unit_of_title(title);
    title_width = title.empty() ? 0.0F : text_size(font, title).x;
  }
  return {.ticks = std::move(all),
          .origin = origin,
          .title = std::move(title),
          .whole_title = whole,
          .title_start = fits ? left : max_.x - title_width,
          .below = below,
          .covers = !fits && !below && title_width > 0.0F};
}

void PlotFrame::draw_x_axis(const FrameSpec& spec, ImU32 grid) const {
  const Theme& theme = context_.theme;
  const ImFont* font = theme.fonts.label;
  const XAxis axis = x_axis(spec);
  const float baseline = max_.y + theme.px(3);
  for (const Tick& tick : axis.ticks) {
    const float pixel = std::floor(x_.to_pixel(axis.origin + tick.value));
    draw_->AddLine(ImVec2(pixel, min_.y), ImVec2(pixel, max_.y), grid);
    const float half = 0.5F * text_size(font, tick.label).x;
    if (axis.covers && pixel + half > axis.title_start - theme.px(kGap)) continue;
    // What is drawn left of the axis has a label of its own.
    const float start = spec.labels_apart > 0.0F ? std::max(pixel - half, min_.x) : pixel - half;
    draw_text(draw_, font, ImVec2(start, baseline), theme.colors.dim_text, tick.label);
  }
  if (axis.title.empty()) return;
  draw_text(draw_, font,
            ImVec2(axis.title_start, axis.below ? baseline + font->FontSize : baseline),
            theme.colors.dim_text, axis.title);
}

namespace {

/// Next to the pointer and inside its card: a neighbour's controls stay free. A box larger than its
/// card is only kept on the display, like any tooltip.
void place_read_out(const PanelContext& context, const std::string& title,
                    const std::vector<ReadOutLine>& lines, float label_width) {
  const Theme& theme = context.theme;
  const ImGuiStyle& style = ImGui::GetStyle();
  float value_width = 0.0F;
  for (const ReadOutLine& line : lines) {
    value_width = std::max(value_width, text_size(theme.fonts.mono, line.value).x);
  }
  const ImFont* body = theme.fonts.body;
  const float wrap = theme.px(440);
  const ImVec2 title_size = title.empty() ? ImVec2(0, 0) : shown_size(body, title, wrap);
  const float row = std::max(theme.fonts.mono->FontSize, theme.fonts.label->FontSize);
  const ImVec2 size(
      2.0F * style.WindowPadding.x +
          std::max(title_size.x, theme.px(8 + kGapSmall + kGapLarge) + label_width + value_width),
      2.0F * style.WindowPadding.y + title_size.y +
          static_cast<float>(lines.size()) * (row + style.ItemSpacing.y));
  // The gaps around the card belong to no neighbour.
  const float air = theme.px(kGap);
  const ImVec2 corner = ImGui::GetWindowPos();
  const ImVec2 low(corner.x - air, corner.y - air);
  const ImVec2 high(corner.x + ImGui::GetWindowWidth() + air,
                    corner.y + ImGui::GetWindowHeight() + air);
  if (size.x > high.x - low.x || size.y > high.y - low.y) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float apart = theme.px(kGapLarge);
  // On the other side of the pointer if this one has no room; never under it.
  const auto next_to = [&](float at, float length, float first, float last) {
    if (at + apart + length <= last) return at + apart;
    if (at - apart - length >= first) return at - apart - length;
    return std::clamp(at + apart, first, last - length);
  };
  ImVec2 at(next_to(mouse.x, size.x, low.x, high.x), next_to(mouse.y, size.y, low.y, high.y));
  const bool covers =
      mouse.x >= at.x && mouse.x < at.x + size.x && mouse.y >= at.y && mouse.y < at.y + size.y;
  if (covers) {
    // Next to the pointer at the height of the card: over a neighbour's plot, not over its title
    // row.
    const float display = ImGui::GetIO().DisplaySize.x;
    at.x = mouse.x + apart + size.x <= display ? mouse.x + apart : mouse.x - apart - size.x;
    at.y = high.y - size.y;
  }
  ImGui::SetNextWindowPos(at);
}

void copy_read_out(const PanelContext& context, const std::string& title,
                   const std::vector<ReadOutLine>& lines) {
  const ImGuiIO& io = ImGui::GetIO();
  if (!io.KeyCtrl || io.WantTextInput || lines.empty() ||
      !ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_C), false)) {
    return;
  }
  std::string text = title.empty() ? "" : title + "\n";
  for (const ReadOutLine& line : lines) {
    text += line.label + "\t" +
            (std::isnan(line.exact) ? line.value : controls::all_digits(line.exact)) + "\n";
  }
  ImGui::SetClipboardText(text.c_str());
  context.commands.push_back(
      StatusMessage{"Copied the read-out: " + lines.front().label + " " + lines.front().value});
}

}  // namespace

void read_out(const PanelContext& context, const std::string& title,
              const std::vector<ReadOutLine>& lines) {
  const Theme& theme = context.theme;
  float label_width = 0.0F;
  for (const ReadOutLine& line : lines) {
    label_width = std::max(label_width, text_size(theme.fonts.label, line.label).x);
  }
  place_read_out(context, title, lines, label_width);
  ImGui::BeginTooltip();
  if (!title.empty()) {
    ImGui::PushTextWrapPos(theme.px(440));
    show_text(title);
    ImGui::PopTextWrapPos();
  }
  const float chip = theme.px(8);
  const float start = ImGui::GetCursorPosX();
  for (const ReadOutLine& line : lines) {
    if (line.color != 0) {
      const ImVec2 at = ImGui::GetCursorScreenPos();
      const float top = at.y + 0.5F * (theme.fonts.label->FontSize - chip);
      ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(at.x, top), ImVec2(at.x + chip, top + chip),
                                                line.color, theme.px(1));
    }
    ImGui::SetCursorPosX(start + chip + theme.px(kGapSmall));
    ImGui::PushFont(theme.fonts.label);
    ImGui::PushStyleColor(ImGuiCol_Text, theme.colors.dim_text);
    show_text(line.label);
    ImGui::PopStyleColor();
    ImGui::PopFont();
    ImGui::SameLine(start + chip + theme.px(kGapSmall) + label_width + theme.px(kGapLarge));
    ImGui::PushFont(theme.fonts.mono);
    show_text(line.value);
    ImGui::PopFont();
  }
  ImGui::EndTooltip();
  copy_read_out(context, title, lines);
  std::string said = title;
  for (const ReadOutLine& line : lines) {
    said += (said.empty() ? "" : "\n") + line.label + ": " + line.value;
  }
  context.controls.set_tooltip(std::move(said));
}

}  // namespace app::plot
