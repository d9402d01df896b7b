// What the window knows: the request in the rail, the runs at hand (live or of an opened
// recording), and which of them is on screen. No drawing, no threads; changed only between frames.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/controllers/session_view.h"
#include "profiling/session/session_file.h"

namespace app {

class SessionState {
 public:
  using Run = std::shared_ptr<const profiling::RecordedRun>;
  using Comparison = std::shared_ptr<const profiling::RecordedComparison>;
  using History = std::shared_ptr<const profiling::RecordedHistory>;
  using Visit = std::shared_ptr<const profiling::RecordedVisit>;

  engine::RunRequest requested;
  bool live = false;
  int expert = -1;               // selected, of the shown run; -1 = none
  std::string last_error;        // of the newest run or file; empty after a success
  std::string comparison_error;  // of the newest comparison; empty after a success
  std::string history_error;     // of the newest order

  /// The newest live run. Shown, unless a recording is open; a run of a batch does not replace what
  /// is on screen.
  void add_live_run(profiling::RecordedRun run);
  void add_live_comparison(profiling::RecordedComparison comparison);
  void add_live_history(profiling::RecordedHistory history);
  void add_live_visit(profiling::RecordedVisit visit);
  void open_recording(profiling::Session session);
  /// The recording that Compare shows beside the runs at hand.
  void open_second(profiling::Session session);
  void back_to_live();
  void select_run(std::size_t index);
  /// How often the window was drawn while the newest live run timed its iterations.
  void set_frames_of_newest(int frames) { frames_while_timing_[live_runs_.back()] = frames; }
  /// Of a run at hand: as recorded with it, or as changed since.
  const std::vector<profiling::TimeNote>& notes_of(const Run& run) const;
  void set_notes(const Run& run, std::vector<profiling::TimeNote> notes);

  bool from_file() const { return !session_path_.empty(); }
  const std::string& session_path() const { return session_path_; }
  const std::vector<Run>& runs() const { return from_file() ? file_runs_ : live_runs_; }
  const std::vector<Run>& live_runs() const { return live_runs_; }
  const std::vector<Comparison>& live_comparisons() const { return live_comparisons_; }
  const std::vector<Comparison>& comparisons() const {
    return from_file() ? file_comparisons_ : live_comparisons_;
  }
  const std::vector<History>& live_histories() const { return live_histories_; }
  const std::vector<History>& histories() const {
    return from_file() ? file_histories_ : live_histories_;
  }
  const std::vector<Visit>& live_visits() const { return live_visits_; }
  const std::vector<Visit>& visits() const { return from_file() ? file_visits_ : live_visits_; }
  bool nothing_live() const {
    return live_runs_.empty() && live_comparisons_.empty() && live_visits_.empty() &&
           live_histories_.empty();
  }
  std::size_t run_index() const { return index_; }
  Run shown() const { return shown_; }
  /// Whether the request in the rail differs from that of the run on screen.
  bool stale() const { return !from_file() && shown_ != nullptr && shown_->request != requested; }

  /// Fills in its part of the view; the workbench fills in the rest.
  SessionView view() const;

 private:
  void show(Run run);
  void forget_oldest();
  int frames_while_timing() const;

  std::vector<Run> live_runs_;
  std::vector<Run> file_runs_;
  std::vector<Comparison> live_comparisons_;
  std::vector<Comparison> file_comparisons_;
  std::vector<History> live_histories_;
  std::vector<History> file_histories_;
  std::vector<Visit> live_visits_;
  std::vector<Visit> file_visits_;
  std::vector<Run> second_runs_;
  std::string second_path_;
  std::map<Run, std::vector<profiling::TimeNote>> changed_notes_;
  std::map<Run, int> frames_while_timing_;
  std::string session_path_;
  std::size_t index_ = 0;
  Run shown_;
  std::uint64_t generation_ = 0;
};

}  // namespace app
