#include "app/gui/shell/palette_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "app/controllers/request_actions.h"
#include "app/gui/shell/keys.h"
#include "app/protocol/shipped_recordings.h"
#include "profiling/hazards/model/gallery_catalogue.h"

namespace app {
namespace {

struct ViewEntry {
  const char* id;
  const char* title;
  const char* words;
  Page page;
  std::optional<std::string_view> view;
};
constexpr std::array<ViewEntry, 10> kViews = {
    {{"view.graphs.0", "Graphs: Replays", "", Page::Graphs, "replays"},
     {"view.graphs.1", "Graphs: Topology", "", Page::Graphs, "topology"},
     {"view.graphs.2", "Graphs: Memory", "", Page::Graphs, "memory"},
     {"view.graphs.3", "Graphs: Doctor", "", Page::Graphs, "doctor"},
     {"view.performance.roofline", "Performance: Roofline", "roofs ceilings bound memory compute",
      Page::Performance, std::nullopt},
     {"view.numerics.layer", "Numerics: Layer",
      "expert layer picture activation memory error sources", Page::Numerics, "layer"},
     {"view.numerics.channels", "Numerics: Channels",
      "outlier channel column row amax massive activation", Page::Numerics, "channels"},
     {"view.numerics.steps", "Numerics: Over steps", "series history delayed amax drift step",
      Page::Numerics, "steps"},
     {"view.compare.pair", "Compare: A against B", "interleaved ratio verdict", Page::Compare,
      "pair"},
     {"view.compare.frontier", "Compare: Frontier",
      "sweep of recipes shapes seeds accuracy against time pareto", Page::Compare, "frontier"}}};

/// A button of a page that acts on what is chosen there.
struct PageButton {
  const char* id;  // in the control map
  const char* group;
  const char* title;
  const char* words;
  ShowPage page;
  const char* otherwise;  // said if the page does not show it
};
const std::array<PageButton, 6> kPageButtons = {
    {{"compare.again",
      "Run",
      "Compare: Measure again, A and B interleaved",
      "ab blocks verdict",
      {Page::Compare, "pair"},
      "The Compare page has no room for Measure again now"},
     {"compare.swap",
      "Run",
      "Compare: Swap A and B",
      "exchange other way around",
      {Page::Compare, "pair"},
      "The Compare page has no A and B to swap now"},
     {"frontier.start",
      "Run",
      "Compare: Start the sweep of the frontier",
      "recipes shapes seeds accuracy against time",
      {Page::Compare, "frontier"},
      "The Frontier cannot start a sweep now"},
     {"recipes.compare",
      "Run",
      "Numerics: Quantize all recipes",
      "compare codes scales",
      {Page::Numerics, "recipes"},
      "The recipes cannot be compared now"},
     {"performance.measure_ceilings",
      "Run",
      "Performance: Measure roofs of this machine",
      "ceilings roofline copy dense product",
      {Page::Performance, std::nullopt},
      "The roofline of this run has no point to measure roofs for"},
     {"doctor.export",
      "File",
      "Doctor: Export report",
      "save markdown json finding",
      {Page::Graphs, "doctor"},
      "The doctor shows no report now"}}};

/// Each does what its button does, on its page, which it shows if another one is on screen.
void add_page_buttons(const PaletteSource& source, std::vector<PaletteEntry>& entries) {
  const std::vector<ControlEntry>& shown = source.shown.entries();
  for (const PageButton& button : kPageButtons) {
    const auto drawn = std::ranges::find(shown, button.id, &ControlEntry::id);
    std::string refusal;
    if (drawn != shown.end()) {
      refusal = drawn->enabled ? std::string() : drawn->reason;
    } else {
      refusal = source.workbench.presentation.on() ? "While presenting: Esc ends that first"
                                                   : source.refusal(button.page.page, button.id);
    }
    entries.push_back({.id = button.id,
                       .group = button.group,
                       .title = button.title,
                       .words = button.words,
                       .refusal = std::move(refusal),
                       .command = PressButton{button.id, button.page, button.otherwise}});
  }
}

}  // namespace

std::vector<PaletteEntry> palette_entries(const PaletteSource& source) {
  const Workbench& workbench = source.workbench;
  const engine::RunRequest& requested = workbench.runs.state.shown_request();
  const std::string locked = workbench.change_refusal();
  std::vector<PaletteEntry> entries;
  for (const ActionRow& row : action_table()) {
    if (row.action == Action::Palette || row.action == Action::Close) continue;
    entries.push_back({.id = row.id,
                       .group = row.group,
                       .title = row.title,
                       .keys = row.keys,
                       .words = row.words,
                       .refusal = workbench.refusal(row.action),
                       .command = row.action});
  }
  for (const RequestAction& one : request_actions(requested, workbench.options.presets)) {
    engine::RunRequest changed = requested;
    one.change(changed);
    entries.push_back(
        {.id = one.id,
         .group = one.group,
         .title = one.title,
         .words = one.words,
         .refusal = locked.empty() ? refusal_of(one, requested, workbench.runs.link) : locked,
         .command = ChooseRequest{std::move(changed)}});
  }
  for (const ViewEntry& one : kViews) {
    entries.push_back({.id = one.id,
                       .group = "View",
                       .title = one.title,
                       .words = one.words,
                       .command = ShowPage{one.page, std::optional<std::string>(one.view)}});
  }
  for (const ShippedRecording& one : kShippedRecordings) {
    if (one == kExampleRecording) continue;  // has an action of its own
    entries.push_back({.id = fmt::format("shipped.{}", one.file),
                       .group = "File",
                       .title = fmt::format("Open a shipped recording: {}", one.shows),
                       .words = "example sample demo h200 gpu",
                       .command = OpenShipped{one}});
  }
  for (const TourController::Named& tour : workbench.tours.shipped()) {
    entries.push_back({.id = "tour." + tour.title,
                       .group = "Tour",
                       .title = "Play the tour: " + tour.title,
                       .command = PlayTour{tour.path}});
  }
  for (const RecentFile& file : workbench.files.recent()) {
    entries.push_back({.id = "recent." + file.path,
                       .group = "Recent file",
                       .title = "Open " + file.path,
                       .refusal = file.missing,
                       .command = OpenFile{file.path}});
  }
  entries.push_back({.id = "worker.here",
                     .group = "Run",
                     .title = "Run on this machine",
                     .words = "local disconnect back",
                     .refusal = workbench.refusal(Action::UseThisMachine),
                     .command = Action::UseThisMachine});
  entries.push_back({.id = "attach.stop",
                     .group = "Run",
                     .title = "Stop watching the attached program, which goes on",
                     .words = "detach leave",
                     .refusal = workbench.refusal(Action::StopWatching),
                     .command = Action::StopWatching});
  entries.push_back({.id = "attach.end",
                     .group = "Run",
                     .title = "End the attached program",
                     .words = "stop terminate kill",
                     .refusal = workbench.refusal(Action::EndProgram),
                     .command = Action::EndProgram});
  for (const ConnectOptions& one : workbench.machine.remembered()) {
    entries.push_back({.id = "machine." + one.host,
                       .group = "Run",
                       .title = "Run on " + one.host,
                       .words = "remote ssh connect",
                       .refusal = workbench.refusal(Action::ChooseMachine),
                       .command = ConnectMachine{one}});
  }
  entries.push_back({.id = "compare.open",
                     .group = "File",
                     .title = "Compare: open a second recording, to be B",
                     .words = "against other",
                     .command = AskPath{FilePurpose::OpenSecond}});
  const std::string no_visit = visit_refusal(workbench.doctor.state(), workbench.runs.link.status(),
                                             workbench.runs.link.hello());
  for (const bool prove : {false, true}) {
    VisitOrder order;
    order.subject.request = requested;
    order.options.prove = prove;
    entries.push_back({.id = prove ? "doctor.prove" : "doctor.examine",
                       .group = "Run",
                       .title = prove ? "Doctor: examine my step's graph and prove the findings"
                                      : "Doctor: examine my step's graph",
                       .words = "hazard capture replay experiments",
                       .refusal = no_visit,
                       .command = std::move(order)});
  }
  for (const profiling::HazardCase& one : profiling::hazard_cases()) {
    VisitOrder order;
    order.subject.request = requested;
    order.subject.gallery_case = one.id;
    order.options.prove = true;
    entries.push_back({.id = "gallery." + one.id,
                       .group = "Gallery",
                       .title = "Examine: " + one.title,
                       .refusal = no_visit,
                       .command = std::move(order)});
    entries.push_back({.id = "recorded." + one.id,
                       .group = "Gallery",
                       .title = "Recorded visit: " + one.title,
                       .words = "doctor gallery hazard finding",
                       .command = ShowRecordedCase{one.id}});
  }
  add_page_buttons(source, entries);
  return entries;
}

}  // namespace app
