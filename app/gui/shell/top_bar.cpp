// Left: name and pages. Right: runs at hand, files, recording, text size, theme, help. Narrow
// windows drop words, never controls.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/bars.h"
#include "app/gui/shell/keys.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "app/protocol/shipped_recordings.h"
#include "engine/model/path_text.h"

namespace app {
namespace {

/// The menu beside Open: files opened before (missing ones dimmed, with the reason), the shipped
/// recordings and tours.
void draw_recent(const PanelContext& context, const TopBarState& state, float width) {
  const Theme& theme = context.theme;
  const std::vector<RecentFile>& files = state.recent;
  if (controls::button(
          context, "top.recent", width < theme.px(50) ? "v" : "Examples",
          {.tooltip = "The recordings that ship with the program, tours, and files opened before",
           .width = width})) {
    context.commands.push_back(CheckRecentFiles{});
    ImGui::OpenPopup("##recent");
  }
  const PopupScope popup("##recent", theme.px(kGap));
  if (!popup) return;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const RecentFile& file = files[i];
    const bool there = file.missing.empty();
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::MenuItem(file.path.c_str(), nullptr, false, there)) {
      context.commands.push_back(OpenFile{file.path});
    }
    ImGui::PopID();
    controls::record(context, fmt::format("recent.{}", i).c_str(), file.path.c_str(), "menu",
                     file.missing, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
    if (!there && ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) {
      controls::tooltip(context, file.missing);
    }
  }
  if (!files.empty()) ImGui::Separator();
  for (const ShippedRecording& one : kShippedRecordings) {
    if (!controls::menu_item(context, fmt::format("shipped.{}", one.file).c_str(),
                             fmt::format("Recorded on an H200: {}", one.shows).c_str())) {
      continue;
    }
    // The example has a page of its own to begin with.
    context.commands.push_back(one == kExampleRecording ? Command(Action::OpenExample)
                                                        : Command(OpenShipped{one}));
  }
  if (!state.tours.empty()) ImGui::Separator();
  for (std::size_t i = 0; i < state.tours.size(); ++i) {
    const TourController::Named& tour = state.tours[i];
    if (controls::menu_item(context, fmt::format("tours.{}", i).c_str(),
                            ("Tour: " + tour.title).c_str())) {
      context.commands.push_back(PlayTour{tour.path});
    }
  }
}

ImU32 color_of(const Palette& colors, MachineWords::Tone tone) {
  switch (tone) {
    case MachineWords::Tone::Plain:
      break;
    case MachineWords::Tone::Busy:
      return colors.accent;
    case MachineWords::Tone::Warn:
      return colors.warn;
    case MachineWords::Tone::Bad:
      return colors.bad;
  }
  return colors.text;
}

/// Where runs happen; opens the choice.
void draw_machine(const PanelContext& context, const MachineWords& machine, float width) {
  const Theme& theme = context.theme;
  const std::string label =
      fitted_words(ImGui::GetFont(), machine.label, width - 2 * ImGui::GetStyle().FramePadding.x);
  const TextColorScope color(color_of(theme.colors, machine.tone));
  if (controls::button(
          context, "top.machine", label.c_str(),
          {.tooltip = with_whole(label, machine.label, machine.tooltip), .width = width})) {
    context.commands.push_back(Action::ChooseMachine);
  }
}

/// The buttons at the right end, where they have no room.
void draw_view_menu(const PanelContext& context, const MachineWords& machine, float width) {
  const Theme& theme = context.theme;
  if (controls::button(
          context, "top.view", "...",
          {.tooltip = "Where to run, text size, theme, command palette, help", .width = width})) {
    ImGui::OpenPopup("##view");
  }
  const PopupScope popup("##view", theme.px(kGap));
  if (!popup) return;
  const auto item = [&](const char* id, const char* label, Action action) {
    if (controls::menu_item(context, id, label)) context.commands.push_back(action);
  };
  item("top.machine", ("Where to run: " + machine.label).c_str(), Action::ChooseMachine);
  item("top.smaller", "Smaller text (Ctrl+-)", Action::SmallerText);
  item("top.larger", "Larger text (Ctrl+=)", Action::LargerText);
  item("top.theme", theme.kind == ThemeKind::Dark ? "Light theme" : "Dark theme",
       Action::ToggleTheme);
  item("top.palette", "Command palette (Ctrl+Shift+P)", Action::Palette);
  item("top.help", "Keys and mouse (? or F1)", Action::Help);
}

}  // namespace

void draw_top_bar(const PanelContext& context, const TopBarState& state,
                  RunPicker& picker_of_runs) {
  const Theme& theme = context.theme;
  const SessionView& view = context.view;
  const float row_y = ImGui::GetCursorPosY();
  // From the right edge leftwards: fixed widths first, the run picker takes what remains.
  const float gap = theme.px(kGapSmall);
  const float open_width = theme.px(56);

  const float save_width = theme.px(56);
  const float share_width = theme.px(56);
  const float record_width = theme.px(84);
  const float small_width = theme.px(30);
  const float theme_width = theme.px(48);
  // A bar without room for the name has no room for long labels either.
  const bool brief = ImGui::GetContentRegionAvail().x < theme.px(760);
  const float recent_width = theme.px(brief ? 22 : 64);
  const float back_width = theme.px(brief ? 48 : 114);
  const float live_width = view.from_file ? back_width + gap : 0;
  const bool picker = !view.runs.empty();
  const float picker_width = picker ? theme.px(120) : 0;
  const float files =
      open_width + recent_width + 1 + save_width + share_width + record_width + 3 * gap;
  const float around = theme.px(kGapLarge + kGapSection) + picker_width;
  // What is left for name and pages.
  const auto left_of = [&](float right) {
    return ImGui::GetContentRegionAvail().x - right - around;
  };
  // "This machine" fits; wider windows have room for what happens on another, and for its device.
  const float bar = ImGui::GetContentRegionAvail().x;
  const float machine_width = theme.px(bar > theme.px(1700)   ? 200
                                       : bar > theme.px(1300) ? 140
                                                              : 108);
  const float view_width = 4 * small_width + theme_width + machine_width + 6 * gap;
  // With large text the name is dropped first, then the tabs get narrower, then what changes the
  // view goes into a menu.
  const bool folded = left_of(files + view_width + live_width) < theme.px(60);
  const float right = files + live_width + (folded ? small_width + gap : view_width);
  const float name = theme.px(100 + kGapSection);
  const float all = left_of(right);
  const bool named = all >= name + theme.px(290);
  // Four names need as much; where there is less, the pages fold into a list.
  const bool listed = all < theme.px(290);
  const float tabs = listed ? std::max(all, theme.px(60))
                            : std::clamp(all - (named ? name : 0.0F), theme.px(290), theme.px(320));
  if (named) {
    {
      const FontScope font(theme.fonts.title);
      ImGui::SetCursorPosY(row_y + theme.px(kRowHeight - 16) / 2 - theme.px(1));
      show_text("Expertscope");
    }
    ImGui::SameLine(0, theme.px(kGapSection));
  }
  ImGui::SetCursorPosY(row_y);
  int tab = static_cast<int>(state.page);
  std::vector<std::string> pages;
  for (const Page page : kPages) pages.emplace_back(page_title(page));
  const controls::Options tab_options{.tooltip = "Ctrl+1, Ctrl+2, Ctrl+3, Ctrl+4", .width = tabs};
  const std::vector<controls::Options> keys = {{.tooltip = "Times, timeline and roofline (Ctrl+1)"},
                                               {.tooltip = "Values, scales and errors (Ctrl+2)"},
                                               {.tooltip = "Replays, topology, doctor (Ctrl+3)"},
                                               {.tooltip = "Two runs, and sweeps (Ctrl+4)"}};
  if (listed ? controls::combo(context, "tab", "##tab", tab, pages, tab_options)
             : controls::segmented(context, "tab", tab, pages, tab_options, keys)) {
    context.commands.push_back(ShowPage{static_cast<Page>(tab)});
  }

  ImGui::SameLine(0, theme.px(kGapSection));
  const float room = ImGui::GetContentRegionAvail().x - right - theme.px(kGapLarge);
  const float start = ImGui::GetCursorPosX();
  if (picker && room > theme.px(60)) {
    ImGui::SetCursorPosY(row_y);
    picker_of_runs.draw(context, std::min(room, theme.px(460)));
    ImGui::SameLine();
  }
  ImGui::SetCursorPos({start + room + theme.px(kGapLarge), row_y});
  const auto next = [&] {
    ImGui::SameLine(0, gap);
    ImGui::SetCursorPosY(row_y);
  };
  if (view.from_file) {
    if (controls::button(context, "top.live", brief ? "Back" : "Back to my runs",
                         {.tooltip = "Back to the runs of this window: leave " +
                                     engine::shown_path(view.session_path),
                          .width = back_width})) {
      context.commands.push_back(Action::BackToLive);
    }
    next();
  }
  if (controls::button(
          context, "top.open", "Open",
          {.tooltip = "Open a recording, tensor, routing, request, tour or graph (Ctrl+O)",
           .width = open_width})) {
    context.commands.push_back(Action::OpenRecording);
  }
  ImGui::SameLine(0, 1);
  ImGui::SetCursorPosY(row_y);
  draw_recent(context, state, recent_width);
  next();
  if (controls::button(context, "top.save", "Save",
                       {.enabled = state.live_results > 0,
                        .reason = "No run of this window to save yet",
                        .tooltip = fmt::format(
                            "Save the {} {} of this window as a session (Ctrl+S)",
                            state.live_results, state.live_results == 1 ? "result" : "results"),
                        .width = save_width})) {
    context.commands.push_back(Action::SaveSession);
  }
  next();
  if (controls::button(
          context, "top.share", "Share",
          {.enabled = state.page_refusal.empty(),
           .reason = state.page_refusal,
           .tooltip = std::string(kExportPageTitle) + ", for people without the program",
           .width = share_width})) {
    context.commands.push_back(Action::ExportPage);
  }
  next();
  if (state.recording) ImGui::PushStyleColor(ImGuiCol_Text, theme.colors.bad);
  const std::string record =
      state.recording ? fmt::format("Stop ({})", state.recorded_runs) : std::string("Record");
  if (controls::button(
          context, "top.record", record.c_str(),
          {.tooltip = state.recording ? "Recording to " + engine::shown_path(state.recording_path)
                                      : "Write every run from now on to " +
                                            engine::shown_path(state.recording_path),
           .width = record_width})) {
    context.commands.push_back(Action::ToggleRecording);
  }
  if (state.recording) ImGui::PopStyleColor();
  next();
  if (folded) {
    draw_view_menu(context, state.machine, small_width);
    return;
  }
  draw_machine(context, state.machine, machine_width);
  next();
  if (controls::button(context, "top.smaller", "A-",
                       {.tooltip = "Smaller text (Ctrl+-)", .width = small_width})) {
    context.commands.push_back(Action::SmallerText);
  }
  next();
  if (controls::button(context, "top.larger", "A+",
                       {.tooltip = "Larger text (Ctrl+=)", .width = small_width})) {
    context.commands.push_back(Action::LargerText);
  }
  next();
  if (controls::button(context, "top.theme", theme.kind == ThemeKind::Dark ? "Light" : "Dark",
                       {.tooltip = "Switch between dark and light", .width = theme_width})) {
    context.commands.push_back(Action::ToggleTheme);
  }
  next();
  if (controls::button(context, "top.palette", ">_",
                       {.tooltip = "Command palette (Ctrl+Shift+P)", .width = small_width})) {
    context.commands.push_back(Action::Palette);
  }
  next();
  if (controls::button(context, "top.help", "?",
                       {.tooltip = "Keys and mouse (? or F1)", .width = small_width})) {
    context.commands.push_back(Action::Help);
  }
}

}  // namespace app
