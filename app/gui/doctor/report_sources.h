// Which captured graph topology, memory and doctor show: one choice for all of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/controllers/session_view.h"
#include "app/gui/graph/graph_scene.h"
#include "profiling/hazards/model/gallery_catalogue.h"

namespace app {

struct ReportSource {
  std::string key;    // "run", "file", "recorded", "now", "visit 3": stable as long as it exists
  std::string label;  // as displayed
  GraphScene::Report report;
  GraphScene::Run run;          // supplies node durations; null = not known
  GraphScene::Request request;  // the step's request; null = not known
};

/// The run's graph, an opened file's, or a visit's. Of a session, that of the run on screen is
/// shown, else that of the visit that says most. What was asked for since then, a visit or a file,
/// is shown at once; after that the user chooses. Of a program that is watched, the process that
/// comes first stays on screen, whatever others come or change.
class ReportSources {
 public:
  void follow(const SessionView& view);
  const std::vector<ReportSource>& all() const { return all_; }
  /// Null if there is none, or the run's graph is still being examined.
  const ReportSource* chosen() const;
  int index() const;
  /// For the doctor, which has nothing to show of a run without findings: if nothing was chosen
  /// yet, puts the recording's visit to the run's step on screen, else its first.
  void prefer_visit(const SessionView& view);
  void choose(int index);
  /// The report about this case of the gallery, if one is listed; else nothing changes.
  bool choose_about(const profiling::GallerySubject& subject);
  /// How often another one was put on screen: by the user, because it is new, or as the first of a
  /// recording.
  int changes() const { return changes_; }

 private:
  void list(const SessionView& view);
  void put_on_screen(std::string key);
  /// The visit on screen keeps its place in the list while others leave it and newer states replace
  /// former ones.
  void follow_visits(const SessionView& view);
  /// Whether a visit that has come is to be put on screen.
  bool wanted(const profiling::RecordedVisit& visit) const;

  std::vector<ReportSource> all_;
  std::string key_;      // what was put on screen; empty = nothing since the session was opened
  std::string default_;  // what is shown then; empty = nothing
  int changes_ = 0;
  std::vector<std::shared_ptr<const profiling::RecordedVisit>> visits_;  // as they were listed
  std::shared_ptr<const profiling::RecordedVisit> on_screen_;  // null = no visit was put there
  int attached_ = 0;
  bool awaits_process_ = false;  // of a program whose first process is put on screen
  std::string session_path_;
  int files_opened_ = 0;
  int recorded_shown_ = 0;
  bool busy_ = false;
};

}  // namespace app
