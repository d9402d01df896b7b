// Choices: combo with individually disabled items, and the segmented row of exclusive options.
#include <algorithm>

#include "app/gui/controls/row.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/text.h"

namespace app::controls {
namespace {

std::string option_id(const char* id, std::size_t index) {
  return std::string(id) + "." + std::to_string(index);
}

}  // namespace

bool combo(const PanelContext& context, const char* id, const char* label, int& index,
           const std::vector<std::string>& items, const Options& options,
           const std::vector<Options>& item_options) {
  Row row(context, id, label, "combo", options, true);
  const bool valid = index >= 0 && static_cast<std::size_t>(index) < items.size();
  const std::string shown = valid ? items[static_cast<std::size_t>(index)] : "";
  row.set_value(shown);
  ImGui::SetNextItemWidth(row.width());
  bool changed = false;
  // From its padding to the arrow, which is as wide as the row is high.
  const float room = row.width() - ImGui::GetFrameHeight() - ImGui::GetStyle().FramePadding.x;
  const std::string preview = fitted(ImGui::GetFont(), shown, room);
  if (!ImGui::BeginCombo(row.item_id().c_str(), preview.c_str(), ImGuiComboFlags_HeightLarge)) {
    const bool cut = preview != shown && options.enabled && options.tooltip.empty();
    if (cut && ImGui::IsItemHovered()) tooltip(context, shown);
    return false;
  }
  // ImGui itself closes popups with Escape only with its keyboard navigation, whose arrow keys
  // belong to the plots here.
  if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape))) ImGui::CloseCurrentPopup();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Options item = i < item_options.size() ? item_options[i] : Options{};
    const bool chosen = static_cast<int>(i) == index;
    ImGui::PushID(static_cast<int>(i));
    ImGui::BeginDisabled(!item.enabled);
    if (ImGui::Selectable(items[i].c_str(), chosen) && !chosen) {
      index = static_cast<int>(i);
      changed = true;
    }
    ImGui::EndDisabled();
    record_item(context, {.id = option_id(id, i),
                          .label = items[i],
                          .kind = "option",
                          .value = chosen ? "true" : "false",
                          .enabled = item.enabled,
                          .reason = item.enabled ? "" : item.reason});
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) {
      tooltip(context, item.enabled ? item.tooltip : item.reason);
    }
    if (chosen && ImGui::IsWindowAppearing()) ImGui::SetScrollHereY();
    ImGui::PopID();
  }
  ImGui::EndCombo();
  return changed;
}

bool segmented(const PanelContext& context, const char* id, int& index,
               const std::vector<std::string>& items, const Options& options,
               const std::vector<Options>& item_options) {
  if (items.empty()) return false;
  const Palette& colors = context.theme.colors;
  const float gap = 1.0F;
  const float mark = options.hazardous ? context.theme.px(14 + kGapSmall) : 0.0F;
  const float total = options.width > 0 ? options.width : ImGui::GetContentRegionAvail().x - mark;
  const std::size_t per_row =
      options.per_row > 0 ? static_cast<std::size_t>(options.per_row) : items.size();
  const float count = static_cast<float>(per_row);
  const float width = std::max((total - gap * (count - 1)) / count, context.theme.px(24));
  bool changed = false;
  // The vertical padding stays: ImGui aligns the items of a row by it.
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding,
                      {context.theme.px(2), ImGui::GetStyle().FramePadding.y});
  ImGui::BeginGroup();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool chosen = static_cast<int>(i) == index;
    if (i % per_row != 0) ImGui::SameLine(0, gap);
    ImGui::PushStyleColor(ImGuiCol_Button, chosen ? colors.accent : colors.raised);
    ImGui::PushStyleColor(ImGuiCol_ButtonHovered, chosen ? colors.accent : colors.line);
    ImGui::PushStyleColor(ImGuiCol_Text, chosen ? colors.window : colors.text);
    const std::string item = option_id(id, i);
    const Options* own = i < item_options.size() ? &item_options[i] : nullptr;
    const bool refused = own != nullptr && !own->enabled;
    // One mark for the row, drawn next to the last part.
    Options part{.enabled = options.enabled && !refused,
                 .hazardous = options.hazardous && i + 1 == items.size(),
                 .width = width};
    if (!part.enabled || part.hazardous) part.reason = refused ? own->reason : options.reason;
    {
      Row row(context, item.c_str(), items[i].c_str(), "option", part, false);
      if (ImGui::Button((items[i] + "##" + item).c_str(),
                        {row.width(), context.theme.px(kRowHeight)}) &&
          !chosen) {
        index = static_cast<int>(i);
        changed = true;
      }
      row.set_value(chosen ? "true" : "false");
      // Only for the hovered part: the sentences are long.
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) {
        part.tooltip = own == nullptr || own->tooltip.empty() ? options.tooltip : own->tooltip;
      }
    }
    ImGui::PopStyleColor(3);
  }
  ImGui::EndGroup();
  ImGui::PopStyleVar();
  return changed;
}

bool either(const PanelContext& context, const char* id, bool& second, const char* first_label,
            const char* second_label, const Options& options) {
  int index = second ? 1 : 0;
  const bool changed = segmented(context, id, index, {first_label, second_label}, options);
  second = index == 1;
  return changed;
}

}  // namespace app::controls
