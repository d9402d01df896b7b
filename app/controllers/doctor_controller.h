// The graph doctor's work off the window's thread: visits, whose experiments each run in their own
// process; the rules alone on recorded snapshots; opened files.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/controllers/background.h"
#include "app/controllers/link_supervisor.h"
#include "app/controllers/session_view.h"
#include "app/doctor/recorded_gallery.h"

namespace app {

class DoctorController {
 public:
  explicit DoctorController(std::function<void()> wake);
  /// Cancels the visit in progress; its worker is gone when this returns.
  ~DoctorController();
  DoctorController(const DoctorController&) = delete;
  DoctorController& operator=(const DoctorController&) = delete;

  /// Refused while another visit is in progress.
  void visit(const VisitOrder& order, const PlacedWorker& worker,
             const std::vector<std::string>& allowed_libraries);
  void cancel();
  /// A run that stalled becomes a visit.
  void stalled(const engine::RunRequest& request, const std::shared_ptr<const DoctorDone>& seen);
  /// The rules on the snapshot of the run on screen; the newest request wins.
  void examine(const std::shared_ptr<const profiling::RecordedRun>& run);
  /// Opens a dot file and runs the rules on it, or a recording: what a visit has proved, else its
  /// first graph.
  void open(const std::string& path);

  /// The visit to this case of the gallery that ships with the program. The file is read once.
  void show_recorded(const std::string& gallery_case);

  /// Takes in what has ended; true when there is something to draw.
  bool tick();
  /// Visits that have just ended, once.
  std::vector<profiling::RecordedVisit> take_visits() { return std::exchange(finished_, {}); }
  const DoctorState& state() const { return state_; }

 private:
  struct Shared {
    std::mutex mutex;
    bool changed = false;
    VisitProgress progress;  // without so_far
    DoctorState::Report so_far;
  };
  using VisitResult = engine::Result<profiling::RecordedVisit>;
  using Examined = engine::Result<DoctorState::Report>;
  struct ExaminedFile {
    DoctorState::Report report;
    std::string doubt;
  };

  void show_wanted_case();

  std::function<void()> wake_;
  DoctorState state_;
  std::shared_ptr<const profiling::RecordedRun> examined_run_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  std::vector<profiling::RecordedVisit> finished_;
  BackgroundTask<VisitResult> visit_task_;
  BackgroundTask<VisitResult> stall_task_;
  BackgroundTask<Examined> run_task_;
  BackgroundTask<engine::Result<ExaminedFile>> file_task_;
  BackgroundTask<engine::Result<RecordedGallery>> gallery_task_;
  std::optional<RecordedGallery> gallery_;
  std::string wanted_case_;  // of the gallery; empty = none
};

}  // namespace app
