// What the palette lists: the table of actions, every choice of the rail, views, tours, recent
// files and the doctor's gallery.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "app/controllers/request_actions.h"
#include "app/gui/shell/command_palette.h"
#include "app/gui/shell/keys.h"
#include "profiling/hazards/model/gallery_catalogue.h"

namespace app {

std::vector<PaletteEntry> palette_entries(const Workbench& workbench) {
  const engine::RunRequest& requested = workbench.runs.state.requested;
  std::vector<PaletteEntry> entries;
  for (const ActionRow& row : action_table()) {
    if (row.action == Action::Palette || row.action == Action::Close) continue;
    entries.push_back({.id = row.id,
                       .group = row.group,
                       .title = row.title,
                       .keys = row.keys,
                       .refusal = workbench.refusal(row.action),
                       .command = row.action});
  }
  for (const RequestAction& one : request_actions(requested, workbench.options.presets)) {
    engine::RunRequest changed = requested;
    one.change(changed);
    entries.push_back({.id = one.id,
                       .group = one.group,
                       .title = one.title,
                       .refusal = refusal_of(one, requested, workbench.runs.link),
                       .command = ChooseRequest{std::move(changed)}});
  }
  constexpr std::array<std::pair<const char*, const char*>, 4> kGraphsViews = {
      {{"replays", "Replays"},
       {"topology", "Topology"},
       {"memory", "Memory"},
       {"doctor", "Doctor"}}};
  for (std::size_t i = 0; i < kGraphsViews.size(); ++i) {
    entries.push_back({.id = fmt::format("view.graphs.{}", i),
                       .group = "View",
                       .title = fmt::format("Graphs: {}", kGraphsViews[i].second),
                       .command = ShowPage{Page::Graphs, kGraphsViews[i].first}});
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
  const std::string no_visit = workbench.no_visit();
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
  }
  return entries;
}

}  // namespace app
