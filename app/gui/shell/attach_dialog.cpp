// Above, what to run or to read; below, what is known of it. The order is typed once and stays, so
// that a program can be run again.
#include "app/gui/shell/attach_dialog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "app/attach/attached_program.h"
#include "app/attach/command_words.h"
#include "app/attach/hang_watch.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "engine/model/counted.h"
#include "engine/model/text.h"

namespace app {
namespace {

constexpr auto kMaxCommandBytes = static_cast<int>(kMaxTypedCommand);
constexpr std::size_t kShownCommand = 200;  // bytes of it in a list
constexpr const char* kWatching = "A program is being watched: stop watching it first";

std::optional<int> rank_of(const std::string& text) {
  int rank = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const bool whole = error == std::errc() && end == text.data() + text.size() && rank >= 0;
  return whole ? std::optional(rank) : std::nullopt;
}

/// In seconds; 0 = the usual one, or what is typed is none.
double hang_after_of(const std::string& text) {
  const engine::Result<double> typed = typed_hang_deadline(text);
  return typed.ok() ? typed.value() : 0;
}

std::string state_words(const AttachStatus& status) {
  using State = AttachStatus::State;
  const std::string where =
      status.host.empty() ? "" : " on " + engine::shown_text(status.host, kShownCommand);
  const std::string process =
      status.pid > 0 ? fmt::format(" (process {}{})", status.pid, where) : where;
  switch (status.state) {
    case State::None:
      return status.error.empty() ? "" : "Not watched: " + status.error;
    case State::Running:
      if (status.ending) return fmt::format("Ending: {}{}", status.command, process);
      return fmt::format("{}: {}{}", status.pid > 0 ? "Running" : "Starting", status.command,
                         process);
    case State::Unwatched:
      return fmt::format("Runs on without being watched: {}{}{}", status.command, process,
                         status.error.empty() ? "" : "; " + status.error);
    case State::Ended:
      return fmt::format("{} {}", status.command, status.end);
    case State::Reading:
      return "Reading " + status.command;
    case State::Read:
      return "Record: " + status.command;
  }
  return "";
}

struct ProcessColumn {
  const char* title;
  float share;  // of the width, where it begins
};
constexpr std::array<ProcessColumn, 5> kProcessColumns = {{{"Process", 0.0F},
                                                           {"Graphs", 0.46F},
                                                           {"Launches", 0.58F},
                                                           {"Launches/s", 0.73F},
                                                           {"Findings", 0.88F}}};

void draw_cells(const PanelContext& context, const std::array<std::string, 5>& cells, float width) {
  const float left = ImGui::GetCursorPosX();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const float end = i + 1 < cells.size() ? kProcessColumns[i + 1].share : 1.0F;
    if (i > 0) ImGui::SameLine(left + kProcessColumns[i].share * width);
    const std::string shown =
        fitted_middle(ImGui::GetFont(), cells[i],
                      (end - kProcessColumns[i].share) * width - ImGui::GetFontSize() / 2);
    show_text(shown);
    if (ImGui::IsItemHovered()) controls::tooltip(context, with_whole(shown, cells[i]));
  }
}

void draw_processes(const PanelContext& context, const AttachStatus& status) {
  if (status.processes.empty()) {
    if (status.state == AttachStatus::State::Running) show_dimmed("No process has used CUDA yet");
    if (status.state == AttachStatus::State::Ended) show_dimmed("No process has used CUDA");
    return;
  }
  const float width = ImGui::GetContentRegionAvail().x;
  {
    const TextColorScope color(context.theme.colors.dim_text);
    std::array<std::string, 5> titles;
    std::ranges::transform(kProcessColumns, titles.begin(), &ProcessColumn::title);
    draw_cells(context, titles, width);
  }
  for (std::size_t i = 0; i < status.processes.size(); ++i) {
    const WatchedProcess& one = status.processes[i];
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const std::string rate =
        one.launches_per_second < 0 ? "-" : fmt::format("{:.0f}", one.launches_per_second);
    {
      const TextColorScope color(one.seen.hangs     ? context.theme.colors.bad
                                 : one.findings > 0 ? context.theme.colors.warn
                                                    : context.theme.colors.text);
      const std::string findings = std::to_string(one.findings);
      draw_cells(
          context,
          {one.seen.title, std::to_string(one.seen.graphs), std::to_string(one.seen.launches), rate,
           one.seen.hangs ? findings + ", hangs" : findings},
          width);
    }
    controls::record(context, fmt::format("attach.process.{}", i).c_str(), one.seen.title.c_str(),
                     "text",
                     fmt::format("graphs={};launches={};per_second={};findings={}", one.seen.graphs,
                                 one.seen.launches, rate, one.findings),
                     at, {at.x + width, ImGui::GetItemRectMax().y});
    if (const std::string compared = comparisons_text(one.seen); !compared.empty()) {
      const ImVec2 begin = ImGui::GetCursorScreenPos();
      show_dimmed("  " + compared);
      controls::record(context, fmt::format("attach.compared.{}", i).c_str(), "Compared memory",
                       "text", compared, begin, ImGui::GetItemRectMax());
    }
    const TextColorScope color(context.theme.colors.warn);
    if (!one.seen.unreadable.empty()) show_wrapped(one.seen.unreadable);
    if (one.seen.lost_frames > 0) {
      show_wrapped(fmt::format("{} of its records are missing; what they held is not examined",
                               one.seen.lost_frames));
    }
  }
}

void draw_lines(const PanelContext& context, const char* id, const char* title,
                const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  ImGui::Dummy({0, context.theme.px(kGapSmall)});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  show_dimmed(title);
  for (const std::string& line : lines) show_wrapped(line);
  controls::record(context, id, title, "text", lines.back(), at, ImGui::GetItemRectMax());
}

}  // namespace

void AttachDialog::open() {
  open_ = true;
  focus_ = true;
}

AttachOrder AttachDialog::order() const {
  return {.command = command_,
          .working_folder = working_folder_,
          .only = only_,
          .rank = rank_of(rank_),
          .hang_after = hang_after_of(hang_after_),
          .core_dump = core_dump_,
          .compare_memory = compare_memory_,
          .markers = markers_};
}

std::string AttachDialog::mistake() const {
  if (const auto words = command_words(command_); !words.ok()) {
    return "Command: " + words.error().message;
  }
  if (!rank_.empty() && !rank_of(rank_)) {
    return fmt::format("The rank '{}' is no whole number from 0 on; empty = all", rank_);
  }
  if (!hang_after_.empty()) {
    if (const auto typed = typed_hang_deadline(hang_after_); !typed.ok())
      return typed.error().message;
  }
  return "";
}

void AttachDialog::draw_fields(const PanelContext& context, const AttachController& attach) {
  const std::string& host = context.view.host;
  if (const std::string missing = attach.missing_library(); host.empty() && !missing.empty()) {
    const TextColorScope color(context.theme.colors.warn);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    show_wrapped("No program can be started here: " + missing);
    controls::record(context, "attach.missing", "Why no program can be started", "text", missing,
                     at, ImGui::GetItemRectMax());
  }
  if (!host.empty()) {
    const std::string words = fmt::format("Programs are started on {}, where runs happen",
                                          engine::shown_text(host, kShownCommand));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    show_dimmed(words);
    controls::record(context, "attach.here", "Where the program runs", "text", words, at,
                     ImGui::GetItemRectMax());
  }
  if (std::exchange(focus_, false)) ImGui::SetKeyboardFocusHere();
  controls::input_text(context, "attach.command", "Command", command_,
                       {.tooltip = "As in a terminal, with quotes; no shell runs it",
                        .hint = "python train.py",
                        .most_bytes = kMaxCommandBytes});
  controls::input_text(
      context, "attach.working_folder", "Working folder", working_folder_,
      {.tooltip = "Where the program is started",
       .hint = host.empty() ? "the folder of this window" : "the login folder there",
       .most_bytes = kMaxCommandBytes});
  controls::input_text(context, "attach.only", "Only processes named", only_,
                       {.tooltip = "A word of their command line: a program or script without its "
                                   "folder. Others run without being recorded",
                        .hint = "all"});
  controls::input_text(context, "attach.rank", "Only rank", rank_,
                       {.tooltip = "Only the process whose RANK is this", .hint = "all"});
  const std::string usual = usual_hang_deadline();
  controls::input_text(context, "attach.hang_after", "Hangs after (s)", hang_after_,
                       {.tooltip = kHangDeadlineMeaning, .hint = usual.c_str()});
  controls::checkbox(context, "attach.core_dump", words_of(profiling::HangDetail::CoreDump).control,
                     core_dump_,
                     {.enabled = host.empty(),
                      .reason = "The dump is written and read where the window runs",
                      .tooltip = "The driver writes where the device's kernels are, without their "
                                 "memory; cuda-gdb reads in it which one hangs. The dump ends "
                                 "the kernels, so the program's calls fail afterwards"});
  controls::checkbox(context, "attach.compare_memory", "Compare memory", compare_memory_,
                     {.tooltip = "Hashes the device's memory before and after the first 9 replays "
                                 "of each graph, and later ever fewer: finds inputs that "
                                 "nobody refreshes and what replays carry over. Launches of these "
                                 "replays wait, so faults of timing may hide"});
  controls::checkbox(context, "attach.markers", words_of(profiling::HangDetail::Markers).control,
                     markers_, {.tooltip = kMarkersMeaning});
  const std::string why = mistake();
  if (command_.empty() || why.empty()) return;
  const TextColorScope color(context.theme.colors.bad);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  show_wrapped(why);
  controls::record(context, "attach.refusal", "Why this cannot be started", "text", why, at,
                   ImGui::GetItemRectMax());
}

void AttachDialog::draw_earlier(const PanelContext& context, const RememberedPrograms& earlier) {
  if (earlier.empty()) return;
  std::vector<std::string> titles = {"Choose a program that was started before"};
  for (const RememberedProgram& one : earlier) {
    titles.push_back(engine::shown_text(one.command, kShownCommand) +
                     (one.working_folder.empty()
                          ? ""
                          : "  in " + engine::shown_text(one.working_folder, kShownCommand)));
  }
  int chosen = 0;
  const bool changed =
      controls::combo(context, "attach.earlier", "Earlier programs", chosen, titles,
                      {.tooltip = "Fills in its command and its working folder"});
  if (!changed || chosen == 0) return;
  const RememberedProgram& one = earlier[static_cast<std::size_t>(chosen) - 1];
  command_ = one.command;
  working_folder_ = one.working_folder;
}

void AttachDialog::draw_buttons(const PanelContext& context, const AttachController& attach) {
  const Theme& theme = context.theme;
  const AttachStatus& status = attach.status();
  std::string why = context.view.host.empty() ? attach.missing_library() : std::string();
  if (why.empty() && attach.watching()) why = kWatching;
  if (why.empty()) why = mistake();
  const float width = theme.px(128);
  if (controls::button(context, "attach.start", "Start and watch",
                       {.enabled = why.empty(),
                        .reason = why,
                        .tooltip = "Runs the program; what it prints goes into its record",
                        .width = width})) {
    context.commands.push_back(order());
  }
  ImGui::SameLine(0, theme.px(kGap));
  if (controls::button(context, "attach.stop", "Stop watching",
                       {.enabled = attach.stop_refusal().empty(),
                        .reason = attach.stop_refusal(),
                        .tooltip = "The program goes on, and its record grows",
                        .width = width})) {
    context.commands.push_back(Action::StopWatching);
  }
  ImGui::SameLine(0, theme.px(kGap));
  if (controls::button(context, "attach.end",
                       status.ending ? "Kill the program" : "End the program",
                       {.enabled = attach.program_runs(),
                        .reason = attach.end_refusal(),
                        .tooltip = status.ending ? "It was asked to end and still runs"
                                                 : "Asks it and its children to end",
                        .width = width})) {
    context.commands.push_back(Action::EndProgram);
  }
}

void AttachDialog::draw_record(const PanelContext& context, const AttachController& attach) {
  const float width = context.theme.px(128);
  controls::input_text(context, "attach.record", "Or read a record", record_,
                       {.tooltip = "The folder of an earlier program's record, as expertscope "
                                   "attach --read takes it",
                        .hint = "folder with *.spool files",
                        .most_bytes = kMaxCommandBytes});
  if (controls::button(context, "attach.read", "Read the record",
                       {.enabled = !record_.empty() && !attach.watching(),
                        .reason = record_.empty() ? "Type the folder of a record" : kWatching,
                        .tooltip = "Examines the graphs of its processes; needs no GPU",
                        .width = width})) {
    context.commands.push_back(ReadAttachRecord{record_});
  }
}

void AttachDialog::draw(const PanelContext& context, const AttachController& attach,
                        const RememberedPrograms& earlier) {
  if (!open_) return;
  const Theme& theme = context.theme;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 size = {std::min(theme.px(680), display.x - theme.px(32)),
                       std::min(theme.px(600), display.y - theme.px(32))};
  const ImVec2 at = {(display.x - size.x) / 2, (display.y - size.y) / 2};
  if (focus_) ImGui::SetNextWindowFocus();
  const OverlayScope overlay("##attach", at, size, theme.colors.panel);
  const bool in_front = ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows);
  if (in_front && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape), false)) return close();
  {
    const FontScope font(theme.fonts.title);
    ImGui::AlignTextToFramePadding();
    show_text("Attach to a program");
  }
  ImGui::SameLine(ImGui::GetWindowContentRegionMax().x - theme.px(96));
  const bool closed = controls::button(context, "attach.close", "Close",
                                       {.tooltip = "Esc; watching goes on", .width = theme.px(96)});
  draw_earlier(context, earlier);
  draw_fields(context, attach);
  draw_buttons(context, attach);
  ImGui::Dummy({0, theme.px(kGapSmall)});
  draw_record(context, attach);
  ImGui::Dummy({0, theme.px(kGapSmall)});
  const AttachStatus& status = attach.status();
  {
    const ChildScope below("##known", {0, 0}, theme.colors.panel, {0, 0});
    const ImVec2 top = ImGui::GetCursorScreenPos();
    const std::string words = state_words(status);
    if (words.empty()) {
      show_wrapped(
          "Any program that uses CUDA graphs can be examined: its graphs, their memory and what is "
          "wrong with them. Each of its processes appears on the Graphs page.");
    } else {
      const TextColorScope color(status.error.empty() ? theme.colors.text : theme.colors.bad);
      show_wrapped(words);
    }
    controls::record(context, "attach.state", "State", "text", words, top, ImGui::GetItemRectMax());
    draw_processes(context, status);
    draw_lines(context, "attach.findings", "Findings", status.findings);
    if (!status.cut_output.empty()) {
      draw_lines(
          context, "attach.output_cut", "It has printed much",
          {"The middle was left out; its beginning and its end are in " + status.cut_output});
    }
    draw_lines(context, "attach.output", "The program's last lines", status.output);
  }
  if (closed) close();
}

}  // namespace app
