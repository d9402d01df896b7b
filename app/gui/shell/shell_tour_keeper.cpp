// The shell's part of a tour in the making: what is on screen as a step, and the file.
#include <filesystem>

#include "app/gui/shell/shell.h"
#include "app/protocol/paths.h"
#include "app/protocol/request_json.h"

namespace app {

TourStep Shell::step_on_screen() const {
  TourStep step;
  step.workspace = state_.workspace;
  if (state_.workspace == Workspace::Numerics && state_.recipes) step.view = "recipes";
  if (state_.workspace == Workspace::Graphs && seen_graphs_view_ >= 0) {
    step.view = kGraphsViews.at(static_cast<std::size_t>(seen_graphs_view_));
  }
  if (state_.from_file()) {
    const std::filesystem::path path = state_.session_path();
    const bool shipped = path.parent_path() == std::filesystem::path(assets_folder()) / "sessions";
    step.recording = shipped ? path.filename().string() : std::filesystem::absolute(path).string();
    step.run = static_cast<int>(state_.run_index());
  } else {
    const SessionState::Run run = state_.shown();
    step.request_patch = request_to_json(run == nullptr ? state_.requested : run->request);
  }
  step.selection = seen_selection_;
  step.selection->expert = state_.expert;
  return step;
}

void Shell::save_kept_tour() {
  const std::string path = dated_path("tour", ".json");
  writes_.put(
      [path, text = tour_keeper_.text()] { return write_text(path, text, "Tour saved: " + path); });
  tour_keeper_.close();
}

void Shell::draw_tour_keeper(const PanelContext& context) {
  switch (tour_keeper_.draw(context)) {
    case TourKeeper::Wish::Add:
      return tour_keeper_.add(step_on_screen());
    case TourKeeper::Wish::Save:
      return save_kept_tour();
    case TourKeeper::Wish::Close:
      return tour_keeper_.close();
    case TourKeeper::Wish::None:
      return;
  }
}

}  // namespace app
