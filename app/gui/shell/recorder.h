// Writes runs, comparisons, amax histories and visits into a session file on a thread of its own: a
// slow disk must not hold up a frame.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "profiling/session/session_file.h"

namespace app {

class Recorder {
 public:
  using Run = std::shared_ptr<const profiling::RecordedRun>;
  using Comparison = std::shared_ptr<const profiling::RecordedComparison>;
  using History = std::shared_ptr<const profiling::RecordedHistory>;
  using Visit = std::shared_ptr<const profiling::RecordedVisit>;

  struct Progress {
    std::size_t written = 0;      // runs
    std::size_t comparisons = 0;  // and comparisons
    std::size_t histories = 0;    // and amax histories
    std::size_t visits = 0;       // and visits to the graph doctor
    bool finished = false;        // closed, everything written
    std::string error;            // the file could not be created or a run not be written
  };

  Recorder(std::string path, std::function<void()> wake);
  /// Writes what was given and closes the file.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void append(Run run);
  void append(Comparison comparison);
  void append(History history);
  void append(Visit visit);
  /// In place of those that the run was written with; only for runs appended before.
  void set_notes(Run run, std::vector<profiling::TimeNote> notes);
  /// No more follows: the file is closed as soon as the last is written.
  void finish();
  Progress progress() const;
  const std::string& path() const { return path_; }

 private:
  struct NotesOf {
    Run run;
    std::vector<profiling::TimeNote> notes;
  };
  using Entry = std::variant<Run, Comparison, History, Visit, NotesOf>;

  void put(Entry entry);
  void write_all();
  static engine::Status write(profiling::SessionWriter& writer, const Entry& entry,
                              std::vector<Run>& runs);
  void publish(const Progress& progress);

  const std::string path_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> waiting_;
  bool finishing_ = false;
  Progress progress_;
  std::thread thread_;
};

}  // namespace app
