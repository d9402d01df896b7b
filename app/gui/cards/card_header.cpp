#include "app/gui/cards/card_header.h"

#include <imgui.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "profiling/export/csv.h"

namespace app {
namespace {

/// "performance-timeline".
std::string file_stem(std::string_view card) {
  std::string id(panel_name(card));
  std::ranges::replace(id, '.', '-');
  std::ranges::replace(id, '_', '-');
  return id;
}

/// Of the rows as the user has ordered them; empty where a card draws its rows itself.
const std::vector<int>& order_of(const CardTable& table) {
  static const std::vector<int> kNone;
  return table.state == nullptr ? kNone : table.state->order;
}

/// What the menu copies as text; null = nothing.
std::function<std::string()> text_of(const CardSpec& spec) {
  if (spec.text) return spec.text;
  if (spec.list) return [&spec] { return plot::tabbed_text(spec.list()); };
  if (spec.table.id != nullptr) {
    return [&table = spec.table] { return table.drawn->text(order_of(table)); };
  }
  return nullptr;
}

std::function<std::string()> csv_of(const CardSpec& spec) {
  if (spec.csv) return spec.csv;
  if (spec.list) return [&spec] { return profiling::csv_text(spec.list()); };
  if (spec.table.id != nullptr) {
    return [&table = spec.table] { return table.drawn->csv(order_of(table)); };
  }
  return nullptr;
}

void draw_menu(const PanelContext& context, const CardSpec& spec) {
  const Theme& theme = context.theme;
  const ImVec2 card_size = ImGui::GetWindowSize();
  const std::string menu_id = std::string(spec.id) + ".menu";
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(0, 0));
  ImGui::PushStyleColor(ImGuiCol_Button, IM_COL32(0, 0, 0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0.0F);
  const bool pressed =
      controls::button(context, menu_id.c_str(), "...",
                       {.tooltip = "Copy, save, and how this is measured", .width = theme.px(26)});
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
  if (pressed) ImGui::OpenPopup(menu_id.c_str());
  const PopupScope popup(menu_id.c_str(), theme.px(kGap));
  if (!popup) return;
  const auto item = [&](const char* name, const char* label, bool enabled = true) {
    return controls::menu_item(context, (menu_id + "." + name).c_str(), label, enabled);
  };
  const std::function<std::string()> text = text_of(spec);
  const std::function<std::string()> csv = csv_of(spec);
  if (item("text", "Copy as text", text != nullptr)) ImGui::SetClipboardText(text().c_str());
  if (item("csv", "Copy as CSV", csv != nullptr)) ImGui::SetClipboardText(csv().c_str());
  ImGui::Separator();
  for (const CardAction& action : spec.actions) {
    if (item(action.name, action.label)) action.act();
  }
  if (item("png", "Save a PNG of this panel")) {
    context.commands.push_back(PictureOrder{
        .stem = file_stem(spec.id), .card = spec.id, .width = card_size.x, .height = card_size.y});
  }
  if (item("save_csv", "Save as CSV", csv != nullptr)) {
    context.commands.push_back(CsvOrder{file_stem(spec.id), csv()});
  }
  if (spec.fill_page) {
    ImGui::Separator();
    if (item("fill", spec.fills_page ? "Show all cards of the page" : "Fill the page with this")) {
      spec.fill_page();
    }
    const bool chosen = std::ranges::find(context.presented, std::string_view(spec.id),
                                          &PresentedCard::card) != context.presented.end();
    if (controls::menu_item(context, (menu_id + ".present").c_str(), "Show while presenting", true,
                            chosen ? "chosen" : "")) {
      context.commands.push_back(PresentCard{spec.id});
    }
  }
  ImGui::Separator();
  const FontScope font(theme.fonts.label);
  show_text("How is this measured");
  const TextColorScope color(theme.colors.dim_text);
  ImGui::PushTextWrapPos(theme.px(320));
  show_text(spec.measured);
  ImGui::PopTextWrapPos();
}

/// Over the title: what the card answers, and a double click that fills the page with it. `cut`:
/// the whole texts of what the header shows only in part.
void draw_title_button(const PanelContext& context, const CardSpec& spec, const std::string& cut,
                       ImVec2 size) {
  ImGui::PushID(spec.id);
  const ImVec2 low = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("title", size);
  if (ImGui::IsItemHovered()) {
    std::string text = cut.empty() ? spec.question : cut + "\n" + spec.question;
    if (spec.fill_page) {
      text += spec.fills_page ? "\nDouble click or Esc: all cards of the page."
                              : "\nDouble click: fills the page.";
    }
    controls::tooltip(context, text);
    if (spec.fill_page && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) spec.fill_page();
  }
  ImGui::PopID();
  controls::record(context, (std::string(spec.id) + ".title").c_str(), spec.title.c_str(), "text",
                   spec.fills_page ? "fills the page" : "", low,
                   ImVec2(low.x + size.x, low.y + size.y));
}

/// Beside the title, in two lines where one is too short: two of its font are as high as the row.
/// Returns what is shown: the note itself where that is all of it, on however many lines.
std::string draw_note(const PanelContext& context, const CardSpec& spec, ImVec2 at, float room) {
  const Theme& theme = context.theme;
  if (spec.note.empty() || room <= theme.px(30)) return {};
  const ImFont* font = theme.fonts.label;
  const ImFont* title_font = theme.fonts.title;
  const float row = theme.px(kRowHeight);
  const FittedLines note = fitted_lines(font, spec.note, room, 2);
  // One line stands on the title's.
  float y = note.lines.size() == 1 ? at.y + 0.5F * (row - title_font->FontSize) +
                                         0.80F * (title_font->FontSize - font->FontSize)
                                   : at.y + 0.5F * (row - 2.0F * font->FontSize);
  const ImVec2 low(at.x, y);
  for (const std::string& line : note.lines) {
    plot::draw_text(ImGui::GetWindowDrawList(), font, ImVec2(at.x, y), theme.colors.dim_text, line);
    y += font->FontSize;
  }
  std::string shown = note.text();
  controls::record(context, (std::string(spec.id) + ".note").c_str(), shown.c_str(), "text",
                   spec.note, low, ImVec2(at.x + room, y));
  return note.whole ? spec.note : shown;
}

}  // namespace

void draw_card_header(const PanelContext& context, const CardSpec& spec) {
  const Theme& theme = context.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float row = theme.px(kRowHeight);
  const float menu_width = theme.px(26);
  const ImFont* title_font = theme.fonts.title;
  const float back_width = spec.fills_page ? theme.px(52) : 0.0F;
  const bool picture = context.picture != nullptr;
  const float corner = menu_width + theme.px(kGapSmall) + back_width;
  // In a card too narrow for both, the title keeps its row and the widgets get one of their own.
  const bool two_rows =
      !picture && spec.header &&
      corner + spec.header_widgets + plot::text_size(title_font, spec.title).x > width;
  const float kept = picture ? 0.0F : corner + (two_rows ? 0.0F : spec.header_widgets);
  const std::string title = fitted(title_font, spec.title, width - kept);
  plot::draw_text(ImGui::GetWindowDrawList(), title_font,
                  ImVec2(at.x, at.y + 0.5F * (row - title_font->FontSize)), theme.colors.text,
                  title);
  const float beside = plot::text_size(title_font, title).x + theme.px(kGapLarge);
  const std::string note = draw_note(context, spec, ImVec2(at.x + beside, at.y),
                                     width - kept - beside - theme.px(kGapLarge));
  const ImVec2 below(at.x, at.y + row + theme.px(kGapSmall));
  const ImVec2 content(at.x, two_rows ? below.y + row + theme.px(kGapSmall) : below.y);
  if (picture) return ImGui::SetCursorScreenPos(content);
  // To the card's upper edge: the whole bar is the title's.
  const float above = 0.5F * theme.px(kGap);
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y - above));
  draw_title_button(context, spec, with_whole(title, spec.title, with_whole(note, spec.note)),
                    ImVec2(std::max(width - kept, 1.0F), row + above));
  ImGui::SetCursorScreenPos(ImVec2(at.x + width - menu_width, at.y));
  draw_menu(context, spec);
  if (spec.fills_page) {
    ImGui::SetCursorScreenPos(ImVec2(at.x + width - menu_width - back_width, at.y));
    if (controls::button(context, (std::string(spec.id) + ".back").c_str(), "Back",
                         {.tooltip = "Shows all cards of the page again (Esc)",
                          .width = back_width - theme.px(kGapSmall)})) {
      spec.fill_page();
    }
  }
  if (spec.header) {
    ImGui::SetCursorScreenPos(two_rows ? below : ImVec2(at.x + width - kept, at.y));
    spec.header();
  }
  ImGui::SetCursorScreenPos(content);
}

}  // namespace app
