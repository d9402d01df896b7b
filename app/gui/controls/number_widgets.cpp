// Numbers: drag to change, click to type an expression, arrows to step, double click to reset. One
// behaviour for integers (linear, faster for larger values) and positive reals (logarithmic).
#include <fmt/format.h>
#include <imgui.h>
// After imgui.h: 1.86 does not include it itself.
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/gui/controls/row.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/text.h"

namespace app::controls {
namespace {

// Below this a logarithmic drag snaps to 0: smaller than any epsilon a recipe uses.
constexpr double kSmallest = 1e-12;
constexpr double kDecadesPerPixel = 1.0 / 40.0;

/// What a number field did this frame; at most one of the members is set.
struct Gesture {
  float dragged_pixels = 0;
  std::optional<double> typed;
  int steps = 0;
  bool reset = false;
};

/// State of a field between frames, kept in ImGui's storage of the window, not in a static.
struct FieldState {
  ImGuiStorage& storage;
  ImGuiID id;

  bool flag(ImGuiID slot) const { return storage.GetBool(id + slot); }
  void set_flag(ImGuiID slot, bool value) { storage.SetBool(id + slot, value); }
  float& number(ImGuiID slot) { return *storage.GetFloatRef(id + slot); }

  static constexpr ImGuiID kEditing = 0;
  static constexpr ImGuiID kFocusWanted = 1;
  static constexpr ImGuiID kDragged = 2;
  static constexpr ImGuiID kHasTyped = 3;
  // A float holds every integer to 2^24 = kMaxDimension.
  static constexpr ImGuiID kTyped = 4;
  static constexpr ImGuiID kRemainder = 5;
};

int arrow_steps() {
  int steps = 0;
  if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_UpArrow))) ++steps;
  if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_DownArrow))) --steps;
  return steps;
}

Gesture typing(Row& row, FieldState& state, const std::string& shown) {
  Gesture gesture;
  std::string text = shown;
  ImGui::SetNextItemWidth(row.width());
  if (state.flag(FieldState::kFocusWanted)) ImGui::SetKeyboardFocusHere();
  const bool entered =
      ImGui::InputText((row.item_id() + ".text").c_str(), &text,
                       ImGuiInputTextFlags_AutoSelectAll | ImGuiInputTextFlags_EnterReturnsTrue);
  const bool active = ImGui::IsItemActive();
  const bool double_clicked =
      ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
  if (active) {
    row.set_kind("input");
    state.set_flag(FieldState::kFocusWanted, false);
    // Kept, because a click on a widget drawn earlier takes the focus before this field is
    // evaluated.
    const std::optional<double> typed = text == shown ? std::nullopt : evaluate_expression(text);
    state.set_flag(FieldState::kHasTyped, typed.has_value());
    state.number(FieldState::kTyped) = static_cast<float>(typed.value_or(0.0));
    gesture.steps = arrow_steps();
  }
  const bool left = !active && !state.flag(FieldState::kFocusWanted);
  if (double_clicked) {
    gesture.reset = true;
  } else if (entered && text != shown) {
    gesture.typed = evaluate_expression(text);
  } else if (left && !entered && state.flag(FieldState::kHasTyped)) {
    gesture.typed = static_cast<double>(state.number(FieldState::kTyped));
  }
  // ImGui keeps the typed text until the field loses focus, so a step must leave it to be visible.
  if (double_clicked || entered || left || gesture.steps != 0) {
    state.set_flag(FieldState::kEditing, false);
    state.set_flag(FieldState::kHasTyped, false);
  }
  return gesture;
}

Gesture dragging(const PanelContext& context, const Row& row, FieldState& state,
                 const std::string& shown, ImVec2 size, bool is_reset_value) {
  Gesture gesture;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool released_inside = ImGui::InvisibleButton(row.item_id().c_str(), size);
  const bool hovered = ImGui::IsItemHovered();
  const bool active = ImGui::IsItemActive();
  if (hovered || active) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    gesture.reset = true;
  } else if (active && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    gesture.dragged_pixels = ImGui::GetIO().MouseDelta.x;
    state.set_flag(FieldState::kDragged, true);
  } else if (released_inside && !state.flag(FieldState::kDragged)) {
    state.set_flag(FieldState::kEditing, true);
    state.set_flag(FieldState::kFocusWanted, true);
  }
  if (!active) state.set_flag(FieldState::kDragged, false);
  if (hovered && !active) gesture.steps = arrow_steps();

  ImDrawList& list = *ImGui::GetWindowDrawList();
  const Palette& colors = context.theme.colors;
  const ImVec2 end = {at.x + size.x, at.y + size.y};
  const float rounding = context.theme.px(kRounding);
  // Via GetColorU32, so that a disabled field dims like everything else.
  list.AddRectFilled(at, end, ImGui::GetColorU32(hovered || active ? colors.line : colors.raised),
                     rounding);
  list.AddRect(at, end, ImGui::GetColorU32(active ? colors.accent : colors.line), rounding);
  ImFont* font = context.theme.fonts.mono;
  const ImVec2 extent = shown_size(font, shown);
  list.PushClipRect(at, end, true);
  draw_shown(
      &list, font,
      {std::max(at.x + context.theme.px(kGapSmall), end.x - extent.x - context.theme.px(kGap)),
       at.y + (size.y - extent.y) / 2},
      ImGui::GetColorU32(is_reset_value ? colors.text : colors.accent), shown);
  list.PopClipRect();
  return gesture;
}

Gesture number_field(const PanelContext& context, Row& row, FieldState& state,
                     const std::string& shown, bool is_reset_value) {
  if (state.flag(FieldState::kEditing)) return typing(row, state, shown);
  const ImVec2 size = {row.width(), context.theme.px(kRowHeight)};
  return dragging(context, row, state, shown, size, is_reset_value);
}

FieldState field_state(const Row& row) {
  // Hashed separately, so that the slots derived from the id do not collide with another item's.
  return {*ImGui::GetStateStorage(), ImGui::GetID((row.item_id() + ".state").c_str())};
}

}  // namespace

bool drag_int(const PanelContext& context, const char* id, const char* label, std::int64_t& value,
              std::int64_t minimum, std::int64_t maximum, std::int64_t reset,
              const Options& options) {
  Row row(context, id, label, "drag", options, true);
  FieldState state = field_state(row);
  const Gesture gesture = number_field(context, row, state, std::to_string(value), value == reset);
  double next = static_cast<double>(value);
  if (gesture.reset) next = static_cast<double>(reset);
  if (gesture.typed) next = std::round(*gesture.typed);
  next += gesture.steps;
  if (gesture.dragged_pixels != 0) {
    // One percent of the value per pixel, at least a tenth of a step: 8 and 16384 both feel right.
    const double per_pixel = std::max(0.1, std::abs(next) * 0.01);
    float& remainder = state.number(FieldState::kRemainder);
    const double moved =
        static_cast<double>(remainder) + static_cast<double>(gesture.dragged_pixels) * per_pixel;
    const double whole = std::trunc(moved);
    remainder = static_cast<float>(moved - whole);
    next += whole;
  }
  next = std::clamp(next, static_cast<double>(minimum), static_cast<double>(maximum));
  const std::int64_t before = value;
  value = static_cast<std::int64_t>(next);
  row.set_value(std::to_string(value));
  return value != before;
}

bool drag_float(const PanelContext& context, const char* id, const char* label, float& value,
                float minimum, float maximum, float reset, const Options& options) {
  Row row(context, id, label, "drag", options, true);
  FieldState state = field_state(row);
  const Gesture gesture =
      number_field(context, row, state, fmt::format("{:.4g}", value), value == reset);
  const double low = minimum > 0 ? static_cast<double>(minimum) : kSmallest;
  double next = static_cast<double>(value);
  if (gesture.reset) next = static_cast<double>(reset);
  if (gesture.typed) next = *gesture.typed;
  const double decades =
      static_cast<double>(gesture.dragged_pixels) * kDecadesPerPixel + gesture.steps;
  if (decades != 0) {
    // From 0 a drag to the right starts at the smallest value, a drag below it returns to 0.
    const double from = next > 0 ? next : low;
    next = from * std::pow(10.0, decades);
    if (next < low * (1 - 1e-9)) next = minimum > 0 ? low : 0.0;
  }
  next = std::clamp(next, static_cast<double>(minimum), static_cast<double>(maximum));
  const float before = value;
  value = static_cast<float>(next);
  row.set_value(fmt::format("{:.6g}", value));
  return value != before;
}

}  // namespace app::controls
