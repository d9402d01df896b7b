// Row, tooltips, the plain widgets (button, checkbox, text input, recorded regions), and copying.
#include "app/gui/controls/widgets.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/controls/row.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/text_field.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"

namespace app::controls {
namespace {

constexpr float kReadOnlyAlpha = 0.8F;

bool inside_clip_rect(ImVec2 min, ImVec2 max) {
  const ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 low = list.GetClipRectMin();
  const ImVec2 high = list.GetClipRectMax();
  // Frames may end on the region's edge, and list entries extend half a gap beyond their text.
  const float slack = 1 + 0.5F * ImGui::GetStyle().ItemSpacing.y;
  return min.x >= low.x - slack && min.y >= low.y - slack && max.x <= high.x + slack &&
         max.y <= high.y + slack;
}

void draw_warn_mark(const PanelContext& context, const std::string& reason) {
  ImGui::SameLine(0, context.theme.px(kGapSmall));
  const float side = context.theme.px(14);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float top = at.y + (context.theme.px(kRowHeight) - side) / 2;
  ImGui::Dummy({side, context.theme.px(kRowHeight)});
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImU32 color = context.theme.colors.warn;
  list.AddTriangleFilled({at.x + side / 2, top}, {at.x + side, top + side}, {at.x, top + side},
                         color);
  list.AddRectFilled({at.x + side * 0.45F, top + side * 0.35F},
                     {at.x + side * 0.55F, top + side * 0.70F}, context.theme.colors.panel);
  list.AddRectFilled({at.x + side * 0.45F, top + side * 0.78F},
                     {at.x + side * 0.55F, top + side * 0.90F}, context.theme.colors.panel);
  if (ImGui::IsItemHovered()) tooltip(context, reason);
}

/// The pointer has not left the place where it clicked.
bool rests_after_click() {
  const ImGuiIO& io = ImGui::GetIO();
  const float x = io.MousePos.x - io.MouseClickedPos[ImGuiMouseButton_Left].x;
  const float y = io.MousePos.y - io.MouseClickedPos[ImGuiMouseButton_Left].y;
  return x * x + y * y < io.MouseDragThreshold * io.MouseDragThreshold;
}

}  // namespace

bool has_text(const char* label) {
  return label != nullptr && label[0] != '\0' && !(label[0] == '#' && label[1] == '#');
}

void tooltip(const PanelContext& context, const std::string& text) {
  if (text.empty()) return;
  context.controls.set_tooltip(text);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding,
                      {context.theme.px(kGap), context.theme.px(kGap)});
  // Readable over any control: neither its font and colour nor its dimming is inherited.
  ImGui::PushStyleVar(ImGuiStyleVar_Alpha, 1.0F);
  ImGui::PushStyleColor(ImGuiCol_Text, context.theme.colors.text);
  ImGui::PushFont(context.theme.fonts.body);
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(context.theme.px(340));
  show_text(text);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
  ImGui::PopFont();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
}

void record_item(const PanelContext& context, ControlEntry entry) {
  entry.min = ImGui::GetItemRectMin();
  entry.max = ImGui::GetItemRectMax();
  entry.visible = inside_clip_rect(entry.min, entry.max);
  context.controls.add(std::move(entry));
}

Row::Row(const PanelContext& context, const char* id, const char* label, const char* kind,
         const Options& options, bool label_column)
    : context_(context),
      id_(id),
      label_(label),
      kind_(kind),
      options_(options),
      item_id_(std::string("##") + id) {
  const float row = ImGui::GetContentRegionAvail().x;
  const float mark = options.hazardous ? context.theme.px(14 + kGapSmall) : 0.0F;
  const float start = ImGui::GetCursorPosX();
  float taken = 0;
  if (label_column && has_text(label)) {
    ImGui::AlignTextToFramePadding();
    {
      const TextColorScope color(context.theme.colors.dim_text);
      show_text(label);
    }
    if (options.width > 0) {
      ImGui::SameLine();
    } else {
      taken = row * kLabelShare;
      ImGui::SameLine();
      ImGui::SetCursorPosX(start + taken);
    }
  }
  width_ = options.width > 0 ? options.width
                             : std::max((row - taken - mark) * options.share, context.theme.px(24));
  // What is only read stays legible.
  const bool legible = options.enabled && !context.read_only.empty();
  ImGui::PushStyleVar(ImGuiStyleVar_DisabledAlpha,
                      legible ? kReadOnlyAlpha : ImGui::GetStyle().DisabledAlpha);
  ImGui::BeginDisabled(!enabled());
}

Row::~Row() {
  ImGui::EndDisabled();
  ImGui::PopStyleVar();
  const std::string& lock = context_.read_only;
  const std::string reason = options_.enabled && !options_.hazardous ? lock : options_.reason;
  record_item(context_, {.id = id_,
                         .label = has_text(label_) ? label_ : id_,
                         .kind = kind_,
                         .value = value_,
                         .enabled = enabled(),
                         .reason = reason});
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) {
    const bool refused = !options_.enabled && !options_.reason.empty();
    const std::string says =
        with_whole(shown_, value_, refused ? options_.reason : options_.tooltip);
    // Who clicks knows what a control does, and the words would cover what the click brings up; why
    // nothing happens is said all the same.
    if (refused || !lock.empty() || !rests_after_click()) {
      tooltip(context_, says + (says.empty() || lock.empty() ? "" : "\n") + lock);
    }
  }
  if (options_.hazardous) draw_warn_mark(context_, options_.reason);
}

bool button(const PanelContext& context, const char* id, const char* label,
            const Options& options) {
  if (context.picture != nullptr) {
    // Nobody can press it there; what is beside it keeps its place.
    const float natural = shown_size(label).x + 2.0F * ImGui::GetStyle().FramePadding.x;
    ImGui::Dummy({options.width > 0 ? options.width : natural, context.theme.px(kRowHeight)});
    return false;
  }
  Row row(context, id, label, "button", options, false);
  const float width = options.width == 0 ? 0 : row.width();
  const bool by_name = context.pressed_button == id && row.enabled();
  return ImGui::Button((std::string(label) + "##" + id).c_str(),
                       {width, context.theme.px(kRowHeight)}) ||
         by_name;
}

bool fold(const PanelContext& context, const char* id, const char* label, bool& open,
          const Options& options) {
  const Theme& theme = context.theme;
  // What is folded can be opened where nothing can be changed.
  PanelContext always = context;
  always.read_only.clear();
  Row row(always, id, label, "fold", options, false);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float side = theme.px(7);
  const float indent = side + theme.px(kGapSmall) + theme.px(2);
  const FontScope font(theme.fonts.title);
  const ImVec2 extent = shown_size(label);
  const bool pressed = ImGui::InvisibleButton(row.item_id().c_str(), {indent + extent.x, extent.y});
  if (pressed) open = !open;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImU32 color = ImGui::IsItemHovered() ? theme.colors.text : theme.colors.dim_text;
  const float middle = at.y + extent.y / 2;
  const float half = side / 2;
  if (open) {
    draw->AddTriangleFilled({at.x, middle - half * 0.6F}, {at.x + side, middle - half * 0.6F},
                            {at.x + half, middle + half * 0.7F}, color);
  } else {
    draw->AddTriangleFilled({at.x + half * 0.5F, middle - half}, {at.x + half * 1.8F, middle},
                            {at.x + half * 0.5F, middle + half}, color);
  }
  draw_shown(draw, theme.fonts.title, {at.x + indent, at.y}, theme.colors.text, label);
  row.set_value(open ? "open" : "folded");
  return pressed;
}

bool checkbox(const PanelContext& context, const char* id, const char* label, bool& value,
              const Options& options) {
  Row row(context, id, label, "checkbox", options, false);
  const bool changed = ImGui::Checkbox((std::string(label) + "##" + id).c_str(), &value);
  row.set_value(value ? "true" : "false");
  return changed;
}

void note_if_full(const PanelContext& context, const char* id, const std::string& text,
                  int most_bytes) {
  if (!ImGui::IsItemActive() || !is_full(text, most_bytes)) return;
  const Theme& theme = context.theme;
  const std::string note = fmt::format("This field takes at most {} bytes", most_bytes);
  const ImFont* font = theme.fonts.label;
  const float gap = theme.px(kGapSmall);
  const ImVec2 extent = shown_size(font, note);
  // Above, because what a text finds is listed below.
  const ImVec2 field = ImGui::GetItemRectMin();
  const ImVec2 min = {field.x, std::max(field.y - extent.y - 2 * gap, 0.0F)};
  const ImVec2 max = {min.x + extent.x + 2 * gap, min.y + extent.y + 2 * gap};
  ImDrawList* list = ImGui::GetForegroundDrawList();
  list->AddRectFilled(min, max, theme.colors.raised, theme.px(kRounding));
  list->AddRect(min, max, theme.colors.warn, theme.px(kRounding));
  draw_shown(list, font, {min.x + gap, min.y + gap}, theme.colors.text, note);
  record(context, fmt::format("full.{}", id).c_str(), "how much is kept", "text", note, min, max);
}

bool input_text(const PanelContext& context, const char* id, const char* label, std::string& value,
                const Options& options) {
  Row row(context, id, label, "input", options, true);
  ImGui::SetNextItemWidth(row.width());
  const bool changed =
      text_field(row.item_id().c_str(), options.hint, value, 0, options.most_bytes);
  note_if_full(context, id, value, options.most_bytes);
  row.set_value(value);
  return changed;
}

bool secret_text(const PanelContext& context, const char* id, const char* label, std::string& value,
                 const Options& options) {
  Row row(context, id, label, "input", options, true);
  ImGui::SetNextItemWidth(row.width());
  // A string that grows would leave copies behind.
  value.reserve(static_cast<std::size_t>(options.most_bytes) + 1);
  return text_field(row.item_id().c_str(), options.hint, value, ImGuiInputTextFlags_Password,
                    options.most_bytes);
}

void record(const PanelContext& context, const char* id, const char* label, const char* kind,
            const std::string& value, ImVec2 min, ImVec2 max) {
  context.controls.add({.id = id,
                        .label = label,
                        .kind = kind,
                        .value = value,
                        .min = min,
                        .max = max,
                        .enabled = true,
                        .reason = {},
                        .visible = inside_clip_rect(min, max)});
}

bool menu_item(const PanelContext& context, const char* id, const char* label, bool enabled,
               const char* detail) {
  ImGui::PushID(id);
  const bool chosen = ImGui::MenuItem(label, detail[0] == '\0' ? nullptr : detail, false, enabled);
  ImGui::PopID();
  record(context, id, label, "menu", detail, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  return chosen;
}

void copy_if_wanted(const PanelContext& context, ImVec2 min, ImVec2 max, const CopiedNumber& number,
                    const std::string& label) {
  if (!copy_wanted(min, max)) return;
  const bool exact = !std::isnan(number.exact);
  copy_number(context, exact ? all_digits(number.exact) : number.figure,
              exact ? number.exact_unit : number.unit, label);
}

bool copy_wanted(ImVec2 min, ImVec2 max, bool right_click) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool key = io.KeyCtrl && !io.KeyShift && !io.WantTextInput &&
                   ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_C), false);
  const bool click = right_click && ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  if (!key && !click) return false;
  return ImGui::IsMouseHoveringRect(min, max) && ImGui::IsWindowHovered();
}

void copy_number(const PanelContext& context, const std::string& number, const std::string& unit,
                 const std::string& label) {
  ImGui::SetClipboardText(number.c_str());
  context.commands.push_back(StatusMessage{
      fmt::format("Copied {}{}{}: {}", number, unit.empty() ? "" : " ", unit, label)});
}

std::string all_digits(double value) { return fmt::format("{}", value); }

}  // namespace app::controls
