// State of the window: the user's request, the listed runs (of this window, then of the open
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

  engine::RunRequest requested;  // the user's own; the rail shows shown_request()
  RunNamesGiven names;
  bool live = false;
  int expert = -1;               // selected, whether the shown run has it or not; -1 = none
  bool skip_throttled = false;   // a step's numbers leave out throttled iterations
  std::string last_error;        // of the newest run; empty after a success
  std::string file_error;        // of the newest recording that was opened
  std::string comparison_error;  // of the newest comparison; empty after a success

  /// Keeps it as the newest of its kind. A run is shown, unless a recording is open; a run of a
  /// batch does not replace what is on screen.
  template <class Recorded>
  std::shared_ptr<const Recorded> add_live(Recorded recorded);
  /// Shows a run of which only a part has arrived, as add_live() shows a run. It is listed, but no
  /// result: until drop_preview(), which its whole or its error follows.
  void show_preview(profiling::RecordedRun part);
  void drop_preview();
  /// `former`, kept by add_live(), in a newer state at the same place. Null = it is no longer kept.
  std::shared_ptr<const profiling::RecordedVisit> replace_live(
      const std::shared_ptr<const profiling::RecordedVisit>& former,
      profiling::RecordedVisit newer);
  /// Replaces an open recording and shows the `run`-th of its runs.
  void open_recording(profiling::Session session, std::size_t run = 0);
  /// The recording that Compare shows beside the listed runs.
  void open_second(profiling::Session session);
  /// Shows the newest run of this window; the recording stays in the list.
  void back_to_live();
  void close_recording();
  /// Selects a run by its index in runs().
  void select_run(std::size_t index);
  /// Selects a run by its index in the open recording; a recording without runs is shown as it was
  /// opened.
  void select_recorded(std::size_t run);
  /// The newest live run is one that nobody ordered.
  void set_made_by_itself() { first_by_itself_ = live_.runs.back(); }
  /// Null = none, or no longer kept.
  Run first_by_itself() const { return first_by_itself_.lock(); }
  /// How often the window was drawn while the newest live run timed its iterations.
  void set_frames_of_newest(int frames) { frames_while_timing_[live_.runs.back()] = frames; }
  /// Notes of a listed run: as recorded with it, or as changed since.
  const std::vector<profiling::TimeNote>& notes_of(const Run& run) const;
  void set_notes(const Run& run, std::vector<profiling::TimeNote> notes);

  /// What is on screen comes from the open recording.
  bool from_file() const { return from_file_; }
  /// Path of the open recording, whether it is on screen or not; empty = none.
  const std::string& session_path() const { return session_path_; }
  /// profiling::Session::doubt of the recording on screen.
  std::string file_doubt() const { return from_file_ ? doubt_ : std::string(); }
  std::string path_on_screen() const { return from_file_ ? session_path_ : std::string(); }
  /// Results of this window.
  const Records& live_results() const { return live_; }
  /// Results of the open recording if it is on screen, else of this window.
  const Records& results() const { return from_file() ? file_ : live_; }
  /// All listed runs: those of this window, oldest first, then those of the open recording.
  const std::vector<Run>& runs() const { return runs_; }
  /// Only a part of the run on screen has arrived.
  bool shows_preview() const { return preview_ != nullptr && shown_ == preview_; }
  /// Number of all live results.
  std::size_t live_count() const;
  std::size_t run_index() const { return index_; }
  /// Index in the open recording of the run on screen, if it comes from there.
  std::size_t recorded_index() const { return index_ - runs_here(); }
  Run shown() const { return shown_; }
  /// Whether the rail shows a recorded request: that of the recorded run on screen or, in a
  /// recording without runs, of its visit or its comparison, if it is known. It cannot be changed.
  bool shows_recorded_request() const { return recorded_.request != nullptr; }
  const engine::RunRequest& shown_request() const {
    return shows_recorded_request() ? *recorded_.request : requested;
  }
  /// The run on screen is what the request in the rail asks for: settings without an effect on
  /// either, and the name of a shape, do not count.
  bool answers() const;
  /// The rail asks for something newer than the newest run. An older one, chosen from the list, is
  /// what the user wants to see.
  bool stale() const;

  /// Fills in its part of the view; the workbench fills in the rest.
  SessionView view() const;

 private:
  /// Listed before those of the recording.
  std::size_t runs_here() const { return live_.runs.size() + (preview_ == nullptr ? 0 : 1); }
  void show(Run run);
  void forget_oldest_runs();
  void forget_recorded();
  /// What a recorded result was made from, where and when.
  struct Origin {
    std::shared_ptr<const engine::RunRequest> request;  // null = not known, or nothing is recorded
    std::shared_ptr<const engine::DeviceFacts> device;
    std::int64_t at_ms = 0;
  };
  Origin origin() const;
  void show_newest_run();
  /// After a change of the lists: joins them and finds the run on screen again.
  void list_runs();
  int frames_while_timing() const;
  bool has_expert() const;

  Records live_;
  Records file_;
  Run preview_;  // listed behind the live runs; null = none
  std::vector<Run> second_runs_;
  std::string second_path_;
  std::map<Run, std::vector<profiling::TimeNote>> changed_notes_;
  std::map<Run, int> frames_while_timing_;
  std::weak_ptr<const profiling::RecordedRun> first_by_itself_;
  std::string session_path_;
  std::string doubt_;  // of the recording
  bool from_file_ = false;
  std::vector<Run> runs_;
  std::size_t index_ = 0;  // of the run on screen
  Run shown_;
  Origin recorded_;  // of what is on screen
  std::uint64_t generation_ = 0;
  /// Whether the run of this generation answers this request: every frame asks.
  struct Compared {
    std::uint64_t generation = 0;
    engine::RunRequest request;
    bool answers = false;
  };
  mutable Compared compared_;
};

}  // namespace app
