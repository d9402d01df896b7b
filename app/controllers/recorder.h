// Writes runs, comparisons and visits into a session file on a thread of its own: a slow disk must
// not delay a frame, and a full disk must not lose a run.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "engine/model/guarded_thread.h"
#include "profiling/session/session_file.h"

namespace app {

/// "3 runs, 1 comparison": how many of each kind; other kinds than runs only if there are any.
std::string written_words(const profiling::Records<profiling::CountOf>& written);

class Recorder {
 public:
  using Run = std::shared_ptr<const profiling::RecordedRun>;
  using Record = std::variant<Run, std::shared_ptr<const profiling::RecordedComparison>,
                              std::shared_ptr<const profiling::RecordedVisit>>;
  /// Results of any kind, held weakly by their owners: a result that the window has dropped cannot
  /// be lost.
  using Results = std::set<std::weak_ptr<const void>, std::owner_less<>>;

  struct Progress {
    profiling::Records<profiling::CountOf> written;
    std::size_t waiting = 0;  // of all kinds, not in the file yet
    bool finished = false;    // closed; nothing more will be written
    std::string path;         // where the recording is now
    /// Why nothing can be written at the moment. Pending entries are retried every few seconds,
    /// after move_to(), and once more when the recording ends. After the end: why entries are
    /// missing in the file.
    std::string error;
  };

  Recorder(std::string path, std::function<void()> wake);
  /// Writes everything appended and closes the file.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void append(Record record);
  /// Replaces the notes that the run was written with; only for runs appended before.
  void set_notes(Run run, std::vector<profiling::TimeNote> notes);
  /// Replaces the name in the same way.
  void set_name(Run run, std::string name);
  /// Copies what was recorded to this path and continues there.
  void move_to(std::string path);
  /// No entries follow: the file is closed after the last one is written.
  void finish();
  Progress progress() const;
  /// It is in the file, or waits for nothing but its turn.
  bool keeps(const std::shared_ptr<const void>& result) const;
  /// Results that are in the file; none if the file could not be closed.
  Results take_written();
  /// Sentences for the user, each once.
  std::vector<std::string> take_notices();

 private:
  struct NotesOf {
    Run run;
    std::vector<profiling::TimeNote> notes;
  };
  struct NameOf {
    Run run;
    std::string name;
  };
  using Entry = std::variant<Record, NotesOf, NameOf>;
  /// The place of a run in the file. Held weakly: a recording of hours must not keep every run in
  /// memory, and a run that the window has forgotten gets no more notes.
  using WrittenRuns = std::map<std::weak_ptr<const profiling::RecordedRun>, std::size_t,
                               std::owner_less<std::weak_ptr<const profiling::RecordedRun>>>;

  void put(Entry entry);
  /// Its place in the file; nullopt = finished before the recording began, and not in it.
  std::optional<std::size_t> place_of(const Run& run) const;
  void write_all();
  void write_until_finished(profiling::SessionWriter& writer);
  void keep_in_place(profiling::SessionWriter& writer);
  void rescue(profiling::SessionWriter& writer);
  engine::Status write(profiling::SessionWriter& writer, const Entry& entry);
  template <class Recorded>
  void count(const std::shared_ptr<const Recorded>& written);
  void end(const std::string& error);
  void set_error(const std::string& error);
  void add_notice(std::string notice);

  const std::string path_;
  const std::function<void()> wake_;
  WrittenRuns runs_;  // the thread's own
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> waiting_;
  std::optional<std::string> wanted_path_;
  std::vector<std::string> notices_;
  bool finishing_ = false;
  bool closing_ = false;  // the window too
  Progress progress_;
  Results written_;
  engine::GuardedThread thread_;
};

}  // namespace app
