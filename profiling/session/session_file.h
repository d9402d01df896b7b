// The session file: one SQLite database per recording, documented in profiling/session/README.md
// for people who query it with sqlite3 or pandas. Writing commits every run; reading treats the
// file as untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "profiling/hazards/model/doctor_report.h"
#include "profiling/hazards/model/snapshot.h"
#include "profiling/power/power_summary.h"
#include "profiling/session/run_group.h"
#include "profiling/session/time_note.h"
#include "profiling/trace/activity.h"

namespace profiling {

/// What a kind of recorded value is called in the file.
struct RecordedKind {
  std::string_view name;         // "run": the column run_id numbers its values
  std::string_view table;        // "runs"
  std::string_view prefix = {};  // of the names of its other tables
};

inline constexpr std::size_t kMaxRunNameBytes = 200;

/// One finished run, as the window holds it and the session file stores it.
struct RecordedRun {
  static constexpr RecordedKind kKind = {.name = "run", .table = "runs"};
  engine::RunRequest request;
  engine::RunResult result;
  Activity activity;
  std::int64_t wall_clock_ms = 0;  // Unix time of the run's end
  Snapshot snapshot = {};          // of the captured graph; no graphs = none was captured
  PowerTrace power = {};
  RunGroup group = {};  // measured together with others
  std::vector<TimeNote> notes = {};
  std::string name = {};  // given by a person; empty = it is called by its settings
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&RecordedRun::request>(),
                      engine::field<&RecordedRun::result>(),
                      engine::field<&RecordedRun::activity>(),
                      engine::field<&RecordedRun::wall_clock_ms>(engine::kDuration_ns),
                      engine::field<&RecordedRun::snapshot>(),
                      engine::field<&RecordedRun::power>(),
                      engine::field<&RecordedRun::group>(),
                      engine::field<&RecordedRun::notes>({.most = kMaxTimeNotes}),
                      engine::field<&RecordedRun::name>()};
  }
};

/// One finished comparison of recipes, kept beside the runs.
struct RecordedComparison {
  static constexpr RecordedKind kKind = {
      .name = "comparison", .table = "comparisons", .prefix = "comparison_"};
  engine::RecipeComparison comparison;
  std::int64_t wall_clock_ms = 0;  // Unix time of its end
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&RecordedComparison::comparison>(),
                      engine::field<&RecordedComparison::wall_clock_ms>(engine::kDuration_ns)};
  }
};

/// One visit to the graph doctor, kept beside the runs.
struct RecordedVisit {
  static constexpr RecordedKind kKind = {.name = "visit", .table = "visits"};
  engine::RunRequest request;  // of a gallery case: defaults
  DoctorReport report;
  std::int64_t wall_clock_ms = 0;  // Unix time of its end
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&RecordedVisit::request>(),
                      engine::field<&RecordedVisit::report>(),
                      engine::field<&RecordedVisit::wall_clock_ms>(engine::kDuration_ns)};
  }
};

/// Something for each kind of recorded value: its list, its number, its name.
template <template <class Recorded> class Of>
struct Records {
  Of<RecordedRun> runs{};
  Of<RecordedComparison> comparisons{};
  Of<RecordedVisit> visits{};
};

/// visit.operator()<RecordedRun>(records.runs), and so on.
template <class AnyRecords, class Visit>
void for_each_kind(AnyRecords&& records, Visit&& visit) {
  visit.template operator()<RecordedRun>(records.runs);
  visit.template operator()<RecordedComparison>(records.comparisons);
  visit.template operator()<RecordedVisit>(records.visits);
}

/// What `records` has for this kind.
template <class Recorded, class AnyRecords>
auto& of_kind(AnyRecords& records) {
  if constexpr (std::is_same_v<Recorded, RecordedRun>) {
    return records.runs;
  } else if constexpr (std::is_same_v<Recorded, RecordedComparison>) {
    return records.comparisons;
  } else {
    static_assert(std::is_same_v<Recorded, RecordedVisit>);
    return records.visits;
  }
}

/// The forms that Records takes.
template <class Recorded>
using ListOf = std::vector<Recorded>;
template <class Recorded>
using SharedListOf = std::vector<std::shared_ptr<const Recorded>>;
template <class Recorded>
using CountOf = std::size_t;

/// One thread at a time.
class SessionWriter {
  struct State;

 public:
  /// Creates a new file; an existing one is an error that names the path. The file gets its name
  /// only when complete, so that a crash leaves no partial file.
  static engine::Result<std::unique_ptr<SessionWriter>> create(const std::string& path);
  explicit SessionWriter(std::unique_ptr<State> state);
  /// Closes the file; close() reports failures.
  ~SessionWriter();
  SessionWriter(const SessionWriter&) = delete;
  SessionWriter& operator=(const SessionWriter&) = delete;

  /// One transaction: the recorded value is on the disk when this returns, or not at all. The error
  /// says how many runs are on it. InvalidArgument: the value exceeds a limit; other errors may be
  /// worth a retry. Each kind has its own numbers.
  template <class Recorded>
  engine::Status append(const Recorded& recorded);
  /// Replaces the notes of the `run`-th appended run; 0 = the first.
  engine::Status set_time_notes(std::size_t run, const std::vector<TimeNote>& notes);
  /// Replaces the name of the `run`-th appended run.
  engine::Status set_run_name(std::size_t run, const std::string& name);
  engine::Status set_note(const std::string& key, const std::string& value);  // title, comment, ...

  /// Checks that the file is still what was written. If it was deleted, moved, replaced, or changed
  /// in place, everything recorded so far is copied to a file of another name, where recording
  /// continues. Every append does this too; an error means that the copy failed.
  engine::Status keep_in_place();
  /// Copies the recording to this path, which must be free, and continues there. The old file
  /// stays.
  engine::Status move_to(const std::string& path);
  /// keep_in_place(), then merges the log into the file and compares every byte with what was
  /// recorded. Of the other calls, none may follow; this one returns the same again.
  engine::Status close();
  /// Closes and removes a recording that nothing was recorded in; another one stays as it is.
  /// Whether it was removed.
  bool discard_if_empty();
  /// After close(), even if that failed.
  bool closed() const;
  /// Counts of what is in the file.
  const Records<CountOf>& counts() const;
  /// Where the recording is now.
  const std::string& path() const;
  /// A notice for the user that the file has moved, or that it needs its log; empty if there is
  /// none, returned once.
  std::string take_notice();

 private:
  engine::Status check_appended(std::size_t run) const;
  engine::Status continue_elsewhere(
      const std::string& displacement, std::string_view and_then,
      const std::function<engine::Status(const std::string& free_path)>& copy);
  engine::Status close_file();
  engine::Status write_back(const engine::Status& uncopied);
  void note_log_left(const std::string& why);
  engine::Status in_transaction(const std::function<engine::Status()>& work);
  template <class Recorded>
  engine::Status rehearse(const Recorded& recorded);

  std::unique_ptr<State> state_;
};

/// Limit of runs in one recording, and of comparisons and visits each.
inline constexpr std::int64_t kMaxRecordedRuns = 10'000;

struct SessionLimits {
  std::int64_t max_file_bytes = std::int64_t{8} << 30;
  std::int64_t max_runs = kMaxRecordedRuns;
  std::int64_t max_records = 20'000'000;
  std::int64_t max_memory_bytes = std::int64_t{4} << 30;  // of everything read, decompressed
};

/// Everything that a session file holds.
struct Session : Records<ListOf> {
  std::string path;
  /// Sentences that say why runs may be missing although the file is valid, and what to do; empty =
  /// it is complete, or as complete as its writer has left it until now.
  std::string doubt;
  std::vector<std::pair<std::string, std::string>> notes;
};

/// Opens read-only, in SQLite's defensive mode, trusted_schema off; checks application_id, format,
/// sizes, index ranges and blob lengths before using any. A damaged or foreign file is refused with
/// the reason.
engine::Result<Session> open_session(const std::string& path, const SessionLimits& limits = {});

/// Replaces the notes of a run in an existing file.
engine::Status store_time_notes(const std::string& path, std::size_t run,
                                const std::vector<TimeNote>& notes);
/// Replaces the name of a run in an existing file.
engine::Status store_run_name(const std::string& path, std::size_t run, const std::string& name);

// Opens a file with captured graphs: a recording, or the output of cudaGraphDebugDotPrint().

struct OpenedSnapshot {
  std::string title = {};           // "run 2: <subject>", "visit 1: <subject>", or the file's name
  DoctorReport report = {};         // of a visit: as recorded; otherwise nothing but a snapshot
  engine::RunRequest request = {};  // what was captured; of a dot file or a gallery case: defaults
  int run = -1;                     // index into Session::runs, -1 = not of a run
  int visit = -1;                   // index into Session::visits, -1 = not of a visit
  std::string doubt = {};           // Session::doubt of its recording
};

/// Never empty: a recording gives the snapshots of its runs, then its visits, a dot file gives one,
/// which is degraded. Told apart by content, not by name. Errors: NotFound, and InvalidArgument for
/// a file that is neither, is damaged, or holds no captured graph.
engine::Result<std::vector<OpenedSnapshot>> open_snapshot(const std::string& path);

}  // namespace profiling
