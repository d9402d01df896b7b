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
  using Records = profiling::Records<profiling::SharedListOf>;

  engine::RunRequest requested;
  bool live = false;
  int expert = -1;               // selected, of the shown run; -1 = none
  std::string last_error;        // of the newest run or file; empty after a success
  std::string comparison_error;  // of the newest comparison; empty after a success
  std::string history_error;     // of the newest order

  /// Keeps it as the newest of its kind. A run is shown, unless a recording is open; a run of a
  /// batch does not replace what is on screen.
  template <class Recorded>
  std::shared_ptr<const Recorded> add_live(Recorded recorded);
  void open_recording(profiling::Session session);
  /// The recording that Compare shows beside the runs at hand.
  void open_second(profiling::Session session);
  void back_to_live();
  void select_run(std::size_t index);
  /// How often the window was drawn while the newest live run timed its iterations.
  void set_frames_of_newest(int frames) { frames_while_timing_[live_.runs.back()] = frames; }
  /// Of a run at hand: as recorded with it, or as changed since.
  const std::vector<profiling::TimeNote>& notes_of(const Run& run) const;
  void set_notes(const Run& run, std::vector<profiling::TimeNote> notes);

  bool from_file() const { return !session_path_.empty(); }
  const std::string& session_path() const { return session_path_; }
  /// Of this window.
  const Records& live_results() const { return live_; }
  /// Of the open recording, else of this window.
  const Records& results() const { return from_file() ? file_ : live_; }
  const std::vector<Run>& runs() const { return results().runs; }
  /// Number of all live results.
  std::size_t live_count() const;
  std::size_t run_index() const { return index_; }
  Run shown() const { return shown_; }
  /// Whether the request in the rail differs from that of the run on screen.
  bool stale() const { return !from_file() && shown_ != nullptr && shown_->request != requested; }

  /// Fills in its part of the view; the workbench fills in the rest.
  SessionView view() const;

 private:
  void show(Run run);
  void forget_oldest_runs();
  void show_newest_run();
  int frames_while_timing() const;

  Records live_;
  Records file_;
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
