// The window takes Ctrl combinations and function keys; plain letters belong to the plots and to
// text fields.
#include "app/gui/shell/keys.h"

#include <GLFW/glfw3.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace app {
namespace {

constexpr int kCtrl = GLFW_MOD_CONTROL;
constexpr int kCtrlShift = GLFW_MOD_CONTROL | GLFW_MOD_SHIFT;

// Keys of these groups count only while a tour is on screen, or while cards are presented; then
// they come before the same keys of other groups.
constexpr const char* kTour = "Tour";
constexpr const char* kPresenting = "Presenting";

const std::vector<ActionRow> kActions = {
    {Action::Run,
     "run.now",
     "Run",
     "Run the request in the rail",
     "Ctrl+R  F5",
     {{GLFW_KEY_R, kCtrl}, {GLFW_KEY_F5, 0}},
     "start execute measure benchmark go"},
    {Action::Cancel,
     "run.cancel",
     "Run",
     "Cancel the run in progress",
     "",
     {},
     "stop abort interrupt"},
    {Action::ReplaceWorker,
     "worker.replace",
     "Run",
     "Replace the worker: end it, even if it is busy, and start another",
     "",
     {},
     "restart kill reset hang gpu"},
    {Action::ChooseMachine,
     "worker.remote",
     "Run",
     "Run on another machine...",
     "",
     {},
     "remote ssh host server cluster node gpu connect where"},
    {Action::AttachToProgram,
     "attach.open",
     "Run",
     "Attach to a program...",
     "",
     {},
     "watch observe any process python torch training preload cuda graph spool record"},
    {Action::ToggleLive,
     "run.live",
     "Run",
     "Live: run every change at once, on or off",
     "",
     {},
     "auto automatic"},
    {Action::Undo,
     "edit.undo",
     "Edit",
     "Undo the last change of a control",
     "Ctrl+Z",
     {{GLFW_KEY_Z, kCtrl}}},
    {Action::Redo,
     "edit.redo",
     "Edit",
     "Redo what was undone",
     "Ctrl+Shift+Z  Ctrl+Y",
     {{GLFW_KEY_Z, kCtrlShift}, {GLFW_KEY_Y, kCtrl}}},
    {Action::PreviousRun,
     "run.previous",
     "Run",
     "Show the previous run",
     "PageUp",
     {{GLFW_KEY_PAGE_UP, 0}}},
    {Action::NextRun,
     "run.next",
     "Run",
     "Show the next run",
     "PageDown",
     {{GLFW_KEY_PAGE_DOWN, 0}}},
    {Action::BackToLive,
     "run.back_to_live",
     "Run",
     "Leave the recording: back to the runs of this window",
     "",
     {},
     "leave my"},
    {Action::UseRecordedRequest,
     "run.use_recorded",
     "Run",
     "Use the recorded request as my request",
     "",
     {},
     "take over copy settings"},
    {Action::CloseRecording,
     "file.close_recording",
     "File",
     "Close the recording: its runs leave the list",
     "",
     {},
     "remove unload"},
    {Action::OpenRecording,
     "file.open",
     "File",
     "Open a file",
     "Ctrl+O",
     {{GLFW_KEY_O, kCtrl}},
     "load import recording session tensor npy safetensors routing experts request tour graph dot"},
    {Action::OpenExample,
     "file.example",
     "File",
     "Open the example: an expert layer recorded on an H200",
     "",
     {},
     "sample demo shipped deepseek layer swiglu gpu first"},
    {Action::SaveSession,
     "file.save",
     "File",
     "Save the runs of this window",
     "Ctrl+S",
     {{GLFW_KEY_S, kCtrl}},
     "store write keep session"},
    {Action::ExportTrace,
     "file.export_trace",
     "File",
     "Export the selected range as a Chrome trace (all without a selection)",
     "",
     {},
     "json perfetto timeline"},
    {Action::ExportRecords,
     "file.export_records",
     "File",
     "Export the records of the selected range as CSV (all without a selection)",
     "",
     {},
     "table spreadsheet excel"},
    {Action::ExportPage,
     "file.export_page",
     "File",
     kExportPageTitle,
     "",
     {},
     "share report web browser html"},
    {Action::ToggleRecording,
     "file.record",
     "File",
     "Record every further run into a file, on or off",
     "",
     {},
     "log capture start stop"},
    {Action::RecordElsewhere,
     "file.record_elsewhere",
     "File",
     "Continue recording in another file, with everything recorded so far",
     "",
     {}},
    {Action::ShowPerformance,
     "view.performance",
     "View",
     "Performance",
     "Ctrl+1",
     {{GLFW_KEY_1, kCtrl}},
     "time speed timeline kernels roofline"},
    {Action::ShowNumerics,
     "view.numerics",
     "View",
     "Numerics",
     "Ctrl+2",
     {{GLFW_KEY_2, kCtrl}},
     "error snr accuracy precision histogram"},
    {Action::ShowGraphs,
     "view.graphs",
     "View",
     "Graphs",
     "Ctrl+3",
     {{GLFW_KEY_3, kCtrl}},
     "doctor hang deadlock topology memory cudagraph"},
    {Action::ShowCompare,
     "view.compare",
     "View",
     "Compare",
     "Ctrl+4",
     {{GLFW_KEY_4, kCtrl}},
     "ab runs two side diff difference frontier sweep"},
    {Action::ShowRecipes,
     "view.recipes",
     "View",
     "Numerics: all recipes side by side, and back to the run",
     "Ctrl+Shift+2",
     {{GLFW_KEY_2, kCtrlShift}},
     "formats fp8 mxfp8 nvfp4 pow2 power of two scales cost experts"},
    {Action::ToggleRail,
     "view.rail",
     "View",
     "Hide or show the rail",
     "Q",
     {{GLFW_KEY_Q, 0}},
     "sidebar settings panel"},
    {Action::Present,
     "view.present",
     "View",
     "Present: one card at a time, large, without the rail",
     "F11",
     {{GLFW_KEY_F11, 0}},
     "presentation presenter projector slides talk fullscreen"},
    {Action::LargerText,
     "view.larger",
     "View",
     "Larger text",
     "Ctrl+=",
     {{GLFW_KEY_EQUAL, kCtrl}, {GLFW_KEY_EQUAL, kCtrlShift}, {GLFW_KEY_KP_ADD, kCtrl}},
     "zoom font bigger size scale"},
    {Action::SmallerText,
     "view.smaller",
     "View",
     "Smaller text",
     "Ctrl+-",
     {{GLFW_KEY_MINUS, kCtrl}, {GLFW_KEY_KP_SUBTRACT, kCtrl}},
     "zoom font size scale"},
    {Action::ToggleTheme,
     "view.theme",
     "View",
     "Switch between dark and light",
     "",
     {},
     "theme mode colors night day"},
    {Action::Screenshot,
     "file.picture",
     "File",
     "Save a PNG of the window",
     "F12",
     {{GLFW_KEY_F12, 0}},
     "screenshot image export picture"},
    {Action::Palette,
     "help.palette",
     "Help",
     "Command palette",
     "Ctrl+Shift+P",
     {{GLFW_KEY_P, kCtrlShift}}},
    // `?` comes by character: where it lies depends on the layout.
    {Action::Help,
     "help.keys",
     "Help",
     "Keys and mouse",
     "?  F1",
     {{GLFW_KEY_F1, 0}},
     "shortcuts keyboard manual hotkeys"},
    {Action::AllowLibrary,
     "library.allow",
     "File",
     "Allow the library that a file names, until the window is closed",
     "Ctrl+Shift+L",
     {{GLFW_KEY_L, kCtrlShift}},
     "trust cublaslt"},
    {Action::RefuseLibrary,
     "library.refuse",
     "File",
     "Refuse the library that a file names",
     "",
     {},
     "deny cublaslt"},
    {Action::Close, "view.close", "View", "Close dialog or panel", "Esc", {{GLFW_KEY_ESCAPE, 0}}},
    {Action::TourPause,
     "tour.pause",
     kTour,
     "Pause the tour, or resume it",
     "Space",
     {{GLFW_KEY_SPACE, 0}}},
    {Action::TourBack,
     "tour.back",
     kTour,
     "The tour's previous step",
     "Left arrow",
     {{GLFW_KEY_LEFT, 0}}},
    {Action::TourNext,
     "tour.next",
     kTour,
     "The tour's next step",
     "Right arrow",
     {{GLFW_KEY_RIGHT, 0}}},
    {Action::TourStop,
     "tour.stop",
     kTour,
     "End the tour and restore what was there before",
     "",
     {}},
    {Action::PresentNext,
     "present.next",
     kPresenting,
     "The next card, then the next page",
     "Right arrow  PageDown  Space",
     {{GLFW_KEY_RIGHT, 0}, {GLFW_KEY_PAGE_DOWN, 0}, {GLFW_KEY_SPACE, 0}}},
    {Action::PresentPrevious,
     "present.previous",
     kPresenting,
     "The previous card",
     "Left arrow  PageUp",
     {{GLFW_KEY_LEFT, 0}, {GLFW_KEY_PAGE_UP, 0}}},
    {Action::PresentFirst,
     "present.first",
     kPresenting,
     "The first card of the page",
     "Home",
     {{GLFW_KEY_HOME, 0}}},
    {Action::PresentLast,
     "present.last",
     kPresenting,
     "The last card of the page",
     "End",
     {{GLFW_KEY_END, 0}}},
    {Action::KeepTour,
     "file.keep_tour",
     "File",
     "Make a tour of what is on screen, step by step",
     "Ctrl+T",
     {{GLFW_KEY_T, kCtrl}},
     "record presentation demo"},
    {Action::Quit,
     "file.quit",
     "File",
     "Close the window",
     "Ctrl+Q",
     {{GLFW_KEY_Q, kCtrl}},
     "quit exit leave"},
};

std::vector<Chord> digits(int modifiers) {
  std::vector<Chord> chords;
  for (int key = GLFW_KEY_1; key <= GLFW_KEY_9; ++key) chords.push_back({key, modifiers});
  return chords;
}

const std::vector<PlotRow> kPlotRows = {
    {"Wheel  or  Ctrl+wheel", "zoom at the cursor", {}, nullptr},
    {"W   S",
     "zoom in and out",
     {{GLFW_KEY_W, 0}, {GLFW_KEY_S, 0}},
     [](int key, PlotKeys& keys) { keys.zoom += key == GLFW_KEY_W ? 1 : -1; }},
    {"Right drag, Shift+drag, Shift+wheel", "pan", {}, nullptr},
    {"A   D, arrows",
     "pan",
     {{GLFW_KEY_D, 0}, {GLFW_KEY_RIGHT, 0}, {GLFW_KEY_A, 0}, {GLFW_KEY_LEFT, 0}},
     [](int key, PlotKeys& keys) {
       keys.pan += key == GLFW_KEY_D || key == GLFW_KEY_RIGHT ? 1 : -1;
     }},
    {"Left drag", "select a range; sums follow the selection", {}, nullptr},
    {"Ctrl+drag",
     "keep the selected range beside a second one; a click on a kept range swaps the two",
     {},
     nullptr},
    {"Middle click", "zoom to the record or node there; elsewhere as a double click", {}, nullptr},
    {"F  or  Z",
     "zoom to the selection",
     {{GLFW_KEY_F, 0}, {GLFW_KEY_Z, 0}},
     [](int, PlotKeys& keys) { keys.fit_selection = true; }},
    {"/  or  Ctrl+F",
     "Timeline: search; Enter next, Shift+Enter previous",
     {{GLFW_KEY_SLASH, 0}, {GLFW_KEY_F, kCtrl}},
     [](int, PlotKeys& keys) { keys.find = true; }},
    {",   .",
     "Timeline: previous and next record of the row",
     {{GLFW_KEY_PERIOD, 0}, {GLFW_KEY_COMMA, 0}},
     [](int key, PlotKeys& keys) { keys.event += key == GLFW_KEY_PERIOD ? 1 : -1; }},
    {"[   ]",
     "Timeline: along the graph, to what it waited for and to what waits for it",
     {{GLFW_KEY_RIGHT_BRACKET, 0}, {GLFW_KEY_LEFT_BRACKET, 0}},
     [](int key, PlotKeys& keys) { keys.edge += key == GLFW_KEY_RIGHT_BRACKET ? 1 : -1; }},
    {"G",
     "Timeline: collapse or expand the lane group under the mouse",
     {{GLFW_KEY_G, 0}},
     [](int, PlotKeys& keys) { keys.collapse = true; }},
    {"Shift+G",
     "Timeline: collapse or expand all lane groups",
     {{GLFW_KEY_G, GLFW_MOD_SHIFT}},
     [](int, PlotKeys& keys) { keys.collapse_all = true; }},
    {"M",
     "mark the selected range of the timeline; Esc removes the mark",
     {{GLFW_KEY_M, 0}},
     [](int, PlotKeys& keys) { keys.mark = true; }},
    {"Shift+M",
     "pin a note to the selected range",
     {{GLFW_KEY_M, GLFW_MOD_SHIFT}},
     [](int, PlotKeys& keys) { keys.keep_mark = true; }},
    {"Alt+1 ... Alt+9", "keep this view of the timeline under a number", digits(GLFW_MOD_ALT),
     [](int key, PlotKeys& keys) { keys.store = key - GLFW_KEY_0; }},
    {"1 ... 9", "return to a kept view", digits(0),
     [](int key, PlotKeys& keys) { keys.recall = key - GLFW_KEY_0; }},
    {"Double click on a card's title", "that card fills the page; again or Esc: all", {}, nullptr},
    {"Drag between two cards", "resize them; a double click there resets", {}, nullptr},
    {"Double click, Home  or  0",
     "show everything",
     {{GLFW_KEY_HOME, 0}, {GLFW_KEY_0, 0}, {GLFW_KEY_KP_0, 0}},
     [](int, PlotKeys& keys) { keys.fit_all = true; }},
    {"Esc",
     "clear the selected ranges",
     {{GLFW_KEY_ESCAPE, 0}},
     [](int, PlotKeys& keys) { keys.clear = true; }},
};

const std::vector<PlotRow> kFieldRows = {
    {"Drag, arrows", "change a number; a double click resets it", {}, nullptr},
    {"Click", "type a number (3*1024, 16k); Enter takes it, Esc leaves it as it was", {}, nullptr},
    {"Tab   Shift+Tab", "to the next and the previous number", {}, nullptr},
    {"Right click  or  Ctrl+C",
     "copy the figure under the pointer with all its digits",
     {},
     nullptr},
    {"Up   Down   Page   Enter",
     "in the command palette: move, run the selected action",
     {},
     nullptr},
    {"Up   Down   Enter   Backspace",
     "in a file dialog: move, take the file or enter the folder, go up (Alt+Up too)",
     {},
     nullptr},
    {"Enter   Esc", "in the question before closing: save, stay", {}, nullptr},
};

bool pressed(const Chord& chord, int key, int modifiers) {
  constexpr int kCounted = GLFW_MOD_CONTROL | GLFW_MOD_SHIFT | GLFW_MOD_ALT;
  return chord.key == key && chord.modifiers == (modifiers & kCounted);
}

}  // namespace

const std::vector<ActionRow>& action_table() { return kActions; }
const std::vector<PlotRow>& plot_table() { return kPlotRows; }

std::vector<HelpSection> help_sections() {
  std::vector<HelpSection> sections;
  const auto begin = [&](const char* title) {
    return &sections.emplace_back(HelpSection{title, {}});
  };
  HelpSection* section = begin("Plots, the one under the mouse");
  for (const PlotRow& row : kPlotRows) section->rows.push_back({row.keys, row.meaning});
  section = begin("Fields and figures");
  for (const PlotRow& row : kFieldRows) section->rows.push_back({row.keys, row.meaning});
  // Groups in the order of their first action.
  std::vector<std::string_view> groups;
  for (const ActionRow& row : kActions) {
    if (std::ranges::find(groups, row.group) == groups.end()) groups.emplace_back(row.group);
  }
  for (const std::string_view group : groups) {
    HelpSection actions{group.data(), {}};
    for (const ActionRow& row : kActions) {
      if (row.group == group && row.keys[0] != '\0') actions.rows.push_back({row.keys, row.title});
    }
    if (!actions.rows.empty()) sections.push_back(std::move(actions));
  }
  return sections;
}

const ActionRow& row_of(Action action) {
  return *std::find_if(kActions.begin(), kActions.end(),
                       [action](const ActionRow& row) { return row.action == action; });
}

std::optional<Action> action_of(int key, int modifiers, const KeyContext& context) {
  // A field being typed in keeps its own undo, its letters, and Escape, which restores its value.
  const bool function_key = key >= GLFW_KEY_F1 && key <= GLFW_KEY_F25;
  const auto row_in = [&](const char* mode) {
    return std::ranges::find_if(kActions, [&](const ActionRow& row) {
      const bool modal = row.group == kTour || row.group == kPresenting;
      return (mode == nullptr ? !modal : row.group == mode) &&
             std::ranges::any_of(
                 row.chords, [&](const Chord& chord) { return pressed(chord, key, modifiers); });
    });
  };
  auto row = kActions.end();
  if (context.touring && !context.typing) row = row_in(kTour);
  if (row == kActions.end() && context.presenting && !context.typing) row = row_in(kPresenting);
  if (row == kActions.end()) row = row_in(nullptr);
  if (row == kActions.end()) return std::nullopt;
  const bool with_control = (modifiers & GLFW_MOD_CONTROL) != 0;
  const bool edits = row->action == Action::Undo || row->action == Action::Redo;
  if (context.typing && (edits || !(with_control || function_key))) return std::nullopt;
  return row->action;
}

void add_plot_key(int key, int modifiers, PlotKeys& keys) {
  for (const PlotRow& row : kPlotRows) {
    for (const Chord& chord : row.chords) {
      if (pressed(chord, key, modifiers)) return row.press(key, keys);
    }
  }
}

}  // namespace app
