// Numbers: drag to change, click to type an expression, arrows to step, double click to reset. One
// behaviour for integers (linear, faster for larger values) and positive reals (logarithmic).
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "app/gui/controls/row.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/text.h"
#include "engine/model/text.h"

namespace app::controls {
namespace {

// Below this a logarithmic drag snaps to 0: smaller than any epsilon a recipe uses.
constexpr double kSmallest = 1e-12;
constexpr double kDecadesPerPixel = 1.0 / 40.0;

/// What a number field did this frame.
struct Gesture {
  float dragged_pixels = 0;
  std::optional<std::string> typed;
  int steps = 0;
  bool reset = false;
};

/// What a drag leaves between frames, kept in ImGui's storage of the window, not in a static.
struct DragState {
  ImGuiStorage& storage;
  ImGuiID id;

  bool dragged() const { return storage.GetBool(id); }
  void set_dragged(bool value) { storage.SetBool(id, value); }
  float& remainder() { return *storage.GetFloatRef(id + 1); }
};

/// A field as the widgets below draw it.
struct Field {
  const PanelContext& context;
  Row& row;
  ImGuiID id;
  std::string text;   // the number, as it is typed
  std::string shown;  // what is drawn while nobody types
  bool enabled;
  bool is_reset_value;
};

bool is_pressed(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key)); }

int arrow_steps() {
  int steps = 0;
  if (is_pressed(ImGuiKey_UpArrow)) ++steps;
  if (is_pressed(ImGuiKey_DownArrow)) --steps;
  return steps;
}

void begin_edit(const Field& field) {
  NumberEdit& edit = field.context.number_edit;
  edit.field = field.id;
  edit.text = field.text;
  edit.focus_wanted = true;
  edit.frame = ImGui::GetFrameCount();
  if (edit.refused_field == field.id) edit.refused_field = 0;
}

/// Whether the field is being typed into. Tab may begin that here.
bool editing(const Field& field) {
  NumberEdit& edit = field.context.number_edit;
  const int frame = ImGui::GetFrameCount();
  if (field.enabled && (edit.next_begins || edit.begins == field.id)) {
    edit.next_begins = false;
    edit.begins = 0;
    begin_edit(field);
    ImGui::SetScrollHereY();
  } else if (edit.field == field.id && edit.frame + 1 < frame) {
    edit.field = 0;
  }
  if (edit.field != field.id) return false;
  edit.frame = frame;
  return true;
}

Gesture typing(const Field& field) {
  NumberEdit& edit = field.context.number_edit;
  Gesture gesture;
  std::string text = edit.text;
  ImGui::SetNextItemWidth(field.row.width());
  if (edit.focus_wanted) ImGui::SetKeyboardFocusHere();
  // ImGui would take Tab to the next text field, which is not the next number.
  const bool entered =
      text_field((field.row.item_id() + ".text").c_str(), "", text,
                 ImGuiInputTextFlags_AutoSelectAll | ImGuiInputTextFlags_EnterReturnsTrue |
                     ImGuiInputTextFlags_AllowTabInput);
  const bool active = ImGui::IsItemActive();
  const bool double_clicked =
      ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
  const bool tabbed = active && is_pressed(ImGuiKey_Tab);
  if (active) {
    field.row.set_kind("input");
    edit.focus_wanted = false;
    // Kept: a click on a widget drawn earlier takes the focus before this field is drawn.
    edit.text = text;
    std::erase(edit.text, '\t');
    gesture.steps = arrow_steps();
  }
  const bool cancelled = !active && !entered && is_pressed(ImGuiKey_Escape);
  const bool left = !active && !edit.focus_wanted;
  if (!double_clicked && !entered && !left && !tabbed && gesture.steps == 0) return gesture;
  // ImGui keeps the typed text until the field loses focus, so a step must leave it to be visible.
  edit.field = 0;
  gesture.reset = double_clicked;
  if (!double_clicked && !cancelled && edit.text != field.text) gesture.typed = edit.text;
  if (tabbed) {
    edit.next_begins = !ImGui::GetIO().KeyShift;
    if (ImGui::GetIO().KeyShift) edit.begins = edit.last_drawn;
  }
  return gesture;
}

Gesture dragging(const Field& field, DragState& state) {
  const PanelContext& context = field.context;
  Gesture gesture;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size = {field.row.width(), context.theme.px(kRowHeight)};
  const bool released_inside = ImGui::InvisibleButton(field.row.item_id().c_str(), size);
  const bool hovered = ImGui::IsItemHovered();
  const bool active = ImGui::IsItemActive();
  if (hovered || active) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  if (hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    gesture.reset = true;
  } else if (active && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    gesture.dragged_pixels = ImGui::GetIO().MouseDelta.x;
    state.set_dragged(true);
  } else if (released_inside && !state.dragged()) {
    begin_edit(field);
  }
  if (!active) state.set_dragged(false);
  if (hovered && !active) gesture.steps = arrow_steps();

  ImDrawList& list = *ImGui::GetWindowDrawList();
  const Palette& colors = context.theme.colors;
  const ImVec2 end = {at.x + size.x, at.y + size.y};
  const float rounding = context.theme.px(kRounding);
  // Via GetColorU32, so that a disabled field dims like everything else.
  list.AddRectFilled(at, end, ImGui::GetColorU32(hovered || active ? colors.line : colors.raised),
                     rounding);
  const bool refused = context.number_edit.refused_field == field.id;
  list.AddRect(at, end,
               ImGui::GetColorU32(refused  ? colors.bad
                                  : active ? colors.accent
                                           : colors.line),
               rounding);
  ImFont* font = context.theme.fonts.mono;
  const ImVec2 extent = shown_size(font, field.shown);
  list.PushClipRect(at, end, true);
  draw_shown(
      &list, font,
      {std::max(at.x + context.theme.px(kGapSmall), end.x - extent.x - context.theme.px(kGap)),
       at.y + (size.y - extent.y) / 2},
      ImGui::GetColorU32(field.is_reset_value ? colors.text : colors.accent), field.shown);
  list.PopClipRect();
  return gesture;
}

Gesture number_field(const Field& field, DragState& state) {
  Gesture gesture = editing(field) ? typing(field) : dragging(field, state);
  NumberEdit& edit = field.context.number_edit;
  if (gesture.reset || gesture.steps != 0 || gesture.dragged_pixels != 0) edit.refused_field = 0;
  if (field.enabled) edit.last_drawn = field.id;
  return gesture;
}

DragState drag_state(const Row& row) {
  // Hashed separately, so that the slots derived from the id do not collide with another item's.
  return {*ImGui::GetStateStorage(), ImGui::GetID((row.item_id() + ".state").c_str())};
}

/// "Rows: ", also of a label that is not drawn: "##Rows".
std::string name_before(std::string_view label) {
  if (label.starts_with("##")) label.remove_prefix(2);
  return label.empty() ? std::string() : fmt::format("{}: ", label);
}

/// What a number field shows: options.zero instead of 0.
std::string shown_number(const std::string& text, double value, const Options& options) {
  return value == 0 && options.zero[0] != '\0' ? options.zero : text;
}

/// Takes typed text as it is or refuses it: never a number that nobody typed.
std::optional<double> accepted(const Field& field, const char* label, const std::string& text,
                               double minimum, double maximum, bool whole) {
  // A float's limits are not those of the double that holds it: 0.01, not 0.00999999977648258.
  const int digits = whole ? 15 : 6;
  const std::optional<double> number = evaluate_expression(text);
  std::string flaw;
  if (!number) {
    flaw = "is not a number";
  } else if (whole && *number != std::round(*number)) {
    flaw = "is not a whole number";
  } else if (*number < minimum || *number > maximum) {
    flaw = fmt::format("must be between {:.{}g} and {:.{}g}", minimum, digits, maximum, digits);
  } else {
    return number;
  }
  NumberEdit& edit = field.context.number_edit;
  edit.refused_field = field.id;
  constexpr std::size_t kMaxQuoted = 40;
  edit.refusal = fmt::format("{}{} {}", name_before(label),
                             text.empty() ? "nothing" : engine::shown_text(text, kMaxQuoted), flaw);
  field.context.commands.push_back(StatusMessage{edit.refusal});
  return std::nullopt;
}

/// The typed number; `value` if nothing was typed or its text was refused, which drops the steps.
double typed_or(double value, const Field& field, const char* label, Gesture& gesture,
                double minimum, double maximum, bool whole) {
  if (!gesture.typed) return value;
  const std::optional<double> typed =
      accepted(field, label, *gesture.typed, minimum, maximum, whole);
  if (!typed) gesture.steps = 0;
  return typed.value_or(value);
}

struct LinearScale {
  double value, low, high, reset;
  bool whole;  // else a drag goes in tenths
};

/// The value after this frame's typing, steps and drag.
double changed_linearly(const Field& field, DragState& state, const char* label,
                        const LinearScale& scale) {
  Gesture gesture = number_field(field, state);
  double next = gesture.reset ? scale.reset : scale.value;
  next = typed_or(next, field, label, gesture, scale.low, scale.high, scale.whole);
  next += gesture.steps;
  if (gesture.dragged_pixels != 0) {
    const double per_unit = scale.whole ? 1 : 10;
    // One percent of the value per pixel, at least a tenth of a step: 8 and 16384 both feel right.
    const double per_pixel = std::max(0.1, std::abs(next * per_unit) * 0.01);
    float& remainder = state.remainder();
    const double moved =
        static_cast<double>(remainder) + static_cast<double>(gesture.dragged_pixels) * per_pixel;
    const double steps = std::trunc(moved);
    remainder = static_cast<float>(moved - steps);
    if (steps != 0) next = std::round(next * per_unit + steps) / per_unit;
  }
  return std::clamp(next, scale.low, scale.high);
}

}  // namespace

std::string refusal_of(const PanelContext& context, const char* id) {
  const NumberEdit& edit = context.number_edit;
  const bool refused = edit.refused_field != 0 &&
                       edit.refused_field == ImGui::GetID((std::string("##") + id).c_str());
  return refused ? edit.refusal : std::string();
}

bool drag_int(const PanelContext& context, const char* id, const char* label, std::int64_t& value,
              std::int64_t minimum, std::int64_t maximum, std::int64_t reset,
              const Options& options) {
  Row row(context, id, label, "drag", options, true);
  const std::string text = std::to_string(value);
  DragState state = drag_state(row);
  const Field field{.context = context,
                    .row = row,
                    .id = ImGui::GetID(row.item_id().c_str()),
                    .text = text,
                    .shown = shown_number(text, static_cast<double>(value), options),
                    .enabled = row.enabled(),
                    .is_reset_value = value == reset};
  const LinearScale scale{.value = static_cast<double>(value),
                          .low = static_cast<double>(minimum),
                          .high = static_cast<double>(maximum),
                          .reset = static_cast<double>(reset),
                          .whole = true};
  const double next = changed_linearly(field, state, label, scale);
  const std::int64_t before = value;
  // A large seed is not the double that stands for it here.
  if (next != scale.value) value = static_cast<std::int64_t>(next);
  row.set_value(std::to_string(value));
  return value != before;
}

bool drag_real(const PanelContext& context, const char* id, const char* label, double& value,
               double minimum, double maximum, double reset, const Options& options) {
  Row row(context, id, label, "drag", options, true);
  const std::string text = fmt::format("{:.6g}", value);
  DragState state = drag_state(row);
  const Field field{.context = context,
                    .row = row,
                    .id = ImGui::GetID(row.item_id().c_str()),
                    .text = text,
                    .shown = shown_number(text, value, options),
                    .enabled = row.enabled(),
                    .is_reset_value = value == reset};
  const double before = value;
  value = changed_linearly(
      field, state, label,
      {.value = value, .low = minimum, .high = maximum, .reset = reset, .whole = false});
  row.set_value(fmt::format("{:.6g}", value));
  return value != before;
}

bool drag_float(const PanelContext& context, const char* id, const char* label, float& value,
                float minimum, float maximum, float reset, const Options& options) {
  Row row(context, id, label, "drag", options, true);
  const std::string text = fmt::format("{:.4g}", value);
  DragState state = drag_state(row);
  const Field field{.context = context,
                    .row = row,
                    .id = ImGui::GetID(row.item_id().c_str()),
                    .text = text,
                    .shown = shown_number(text, static_cast<double>(value), options),
                    .enabled = row.enabled(),
                    .is_reset_value = value == reset};
  Gesture gesture = number_field(field, state);
  const double low = minimum > 0 ? static_cast<double>(minimum) : kSmallest;
  double next = static_cast<double>(value);
  if (gesture.reset) next = static_cast<double>(reset);
  next = typed_or(next, field, label, gesture, static_cast<double>(minimum),
                  static_cast<double>(maximum), false);
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
