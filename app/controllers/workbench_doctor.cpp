// The graph doctor in the workbench: what it opens, and what it has finished.
#include <utility>

#include "app/controllers/workbench.h"

namespace app {

void Workbench::open_graph(const std::string& path) {
  opening_graph_ = path;
  doctor.open(path);
  commands_.push_back(ShowPage{Page::Graphs});
}

void Workbench::show_doctor() {
  // A visit is kept beside the live runs: a recording on screen would hide it.
  runs.state.back_to_live();
  commands_.push_back(ShowPage{Page::Graphs, "doctor"});
}

bool Workbench::tick_doctor() {
  if (const auto stall = runs.take_stall()) {
    doctor.stalled(stall->request, stall->seen);
    show_doctor();
  }
  doctor.examine(runs.state.shown());
  const std::string error = doctor.state().file_error;
  const int opened = doctor.state().files_opened;
  const bool changed = doctor.tick();
  if (doctor.state().files_opened != opened) {
    opening_graph_.clear();
    warn_if_incomplete("", doctor.state().file_doubt);
  }
  if (const std::string& now = doctor.state().file_error; !now.empty() && now != error) {
    // Empty: the gallery's recording was asked for, which is not in the list.
    if (!opening_graph_.empty()) files.forget_file(std::exchange(opening_graph_, {}));
    notices.add(Severity::Bad, "Not opened: " + now);
  }
  for (profiling::RecordedVisit& visit : doctor.take_visits()) {
    files.record(runs.state.add_live(std::move(visit)));
  }
  return changed;
}

}  // namespace app
