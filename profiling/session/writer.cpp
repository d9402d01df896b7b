// Writes a session: one transaction per run, so that a crash leaves complete runs only. WAL with
// synchronous FULL: committed runs survive a power loss too; closing merges the log into the file.
// If another program changes the file or its name, the recording is copied to another name and
// continues there.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/model/text.h"
#include "profiling/session/layout.h"
#include "profiling/session/limits.h"
#include "profiling/session/live_recording.h"
#include "profiling/session/recording_file.h"
#include "profiling/session/session_file.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/table_reader.h"
#include "profiling/session/table_writer.h"

namespace profiling {
namespace {

constexpr std::size_t kMaxNoteBytes = 1 << 20;

/// Names of the numbers in `records`, for people who query the file.
engine::Status write_names(const Target& to, const char* table, const engine::Type& type) {
  ENGINE_ASSIGN(
      Statement row,
      Statement::prepare(to.database, to.path, fmt::format("INSERT INTO {} VALUES(?, ?)", table)));
  for (const engine::EnumName& entry : type.names) {
    ENGINE_TRY(row.integer(entry.value).text(entry.name).execute());
  }
  return {};
}

engine::Status create_tables(const Target& to) {
  const auto run = [&](const std::string& sql) { return execute_sql(to.database, to.path, sql); };
  ENGINE_TRY(run("BEGIN"));
  ENGINE_TRY(run(fmt::format("PRAGMA application_id={}", kApplicationId)));
  ENGINE_TRY(run(fmt::format("PRAGMA user_version={}", kFormat)));
  for (const TableDefinition& table : session_tables()) ENGINE_TRY(run(table.sql));
  ENGINE_TRY(write_names(to, "stages", engine::kType<engine::Stage>));
  ENGINE_TRY(write_names(to, "written_values", engine::kType<engine::WrittenValue>));
  ENGINE_TRY(write_names(to, "activity_kinds", engine::kType<ActivityKind>));
  return run("COMMIT");
}

/// There may be millions, and limits.cpp checks everything about records and events.
RecordedRun without_records(const RecordedRun& run) {
  return {.request = run.request,
          .result = run.result,
          .activity = {.names = run.activity.names, .records = {}, .nodes = run.activity.nodes},
          .wall_clock_ms = run.wall_clock_ms,
          .snapshot = run.snapshot,
          .power = run.power,
          .group = run.group,
          .notes = run.notes};
}
template <class Other>
const Other& without_records(const Other& other) {
  return other;
}

/// What was captured with it; null = nothing.
template <class Recorded>
const Snapshot* snapshot_of(const Recorded& recorded) {
  const Snapshot* snapshot = nullptr;
  if constexpr (std::is_same_v<Recorded, RecordedRun>) snapshot = &recorded.snapshot;
  if constexpr (std::is_same_v<Recorded, RecordedVisit>) snapshot = &recorded.report.snapshot;
  return snapshot == nullptr || *snapshot == Snapshot{} ? nullptr : snapshot;
}

/// As number `id` of its kind, with its snapshot, if it has one, as number `snapshot_id`.
template <class Recorded>
engine::Status write(const Target& to, std::int64_t id, std::int64_t snapshot_id,
                     const Recorded& recorded) {
  ENGINE_TRY(write_recorded(to, id, recorded));
  const Snapshot* snapshot = snapshot_of(recorded);
  if (snapshot == nullptr) return {};
  constexpr bool kOfRun = std::is_same_v<Recorded, RecordedRun>;
  const RecordedSnapshot kept{
      .owner = kOfRun ? RecordedSnapshot::Owner::Run : RecordedSnapshot::Owner::Visit,
      .owner_id = id,
      .snapshot = *snapshot};
  return write_recorded(to, snapshot_id, kept);
}

}  // namespace

struct SessionWriter::State {
  std::unique_ptr<LiveRecording> file;
  Database rehearsal;  // the same tables in memory, always empty between calls
  std::string notice{};
  Records<CountOf> counts{};  // of what is in the file
  std::int64_t snapshots = 0;
  engine::Status outcome{};  // of closing

  void add_notice(std::string_view words) {
    if (!notice.empty()) notice += ' ';
    notice += words;
  }
};

engine::Result<std::unique_ptr<SessionWriter>> SessionWriter::create(const std::string& path) {
  const auto fill = [&](sqlite3* empty) {
    return create_tables({.database = empty, .path = path});
  };
  ENGINE_ASSIGN(Database rehearsal, open_database(":memory:", SQLITE_OPEN_READWRITE, path));
  ENGINE_TRY(fill(rehearsal.get()));
  ENGINE_ASSIGN(std::unique_ptr<LiveRecording> file, LiveRecording::create(path, fill));
  return std::make_unique<SessionWriter>(std::unique_ptr<State>(
      new State{.file = std::move(file), .rehearsal = std::move(rehearsal)}));
}

SessionWriter::SessionWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
SessionWriter::~SessionWriter() { static_cast<void>(close()); }

/// The counters advance only if everything is in the file.
template <class Recorded>
engine::Status SessionWriter::append(const Recorded& recorded) {
  constexpr std::string_view kName = Recorded::kKind.name;
  engine::Status limits = check(recorded);
  if (limits.ok()) limits = rehearse(recorded);
  if (!limits.ok()) {
    return engine::Error{limits.error().code, fmt::format("{}: the {} is not recorded: {}", path(),
                                                          kName, limits.error().message)};
  }
  // Retries a failed copy before more goes into a file that has lost its name.
  engine::Status status = keep_in_place();
  std::size_t& count = of_kind<Recorded>(state_->counts);
  if (status.ok()) {
    status = in_transaction([&] {
      return write({.database = state_->file->database(), .path = path()},
                   static_cast<std::int64_t>(count) + 1, state_->snapshots + 1, recorded);
    });
  }
  if (!status.ok()) {
    return engine::Error{
        status.error().code,
        fmt::format("{}; {} {} is not in the recording, which has {} run(s)",
                    status.error().message, kName, count + 1, state_->counts.runs)};
  }
  ++count;
  if (snapshot_of(recorded) != nullptr) ++state_->snapshots;
  // It is committed: should the copy fail now, the next call or close() says so.
  static_cast<void>(keep_in_place());
  return {};
}
template engine::Status SessionWriter::append(const RecordedRun&);
template engine::Status SessionWriter::append(const RecordedComparison&);
template engine::Status SessionWriter::append(const RecordedVisit&);

/// A value that the reader refuses would make the whole file unreadable. So everything is first
/// written to memory and read back there, which applies the reader's checks.
template <class Recorded>
engine::Status SessionWriter::rehearse(const Recorded& recorded) {
  static const std::string kWords = "it could not be read again";
  sqlite3* database = state_->rehearsal.get();
  engine::Status status = execute_sql(database, kWords, "BEGIN");
  if (status.ok()) {
    status = write({.database = database, .path = kWords}, 1, 1, without_records(recorded));
  }
  if (status.ok()) status = check_readable(database, kWords);
  sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);
  if (status.ok() || status.error().code == engine::ErrorCode::OutOfMemory) return status;
  // Also for SQLite's own errors: no disk is involved.
  return engine::Error{engine::ErrorCode::InvalidArgument, status.error().message};
}

engine::Status SessionWriter::in_transaction(const std::function<engine::Status()>& work) {
  return state_->file->in_transaction(work);
}

engine::Status SessionWriter::check_appended(std::size_t run) const {
  if (run < state_->counts.runs) return {};
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format("{}: there is no run {}; it has {}", path(), run + 1, state_->counts.runs)};
}

engine::Status SessionWriter::set_run_name(std::size_t run, const std::string& name) {
  ENGINE_TRY(check_appended(run));
  ENGINE_TRY(check_run_name(name));
  return in_transaction([&] {
    return replace_run_name({.database = state_->file->database(), .path = path()}, run, name);
  });
}

engine::Status SessionWriter::set_time_notes(std::size_t run, const std::vector<TimeNote>& notes) {
  ENGINE_TRY(check_appended(run));
  ENGINE_TRY(check(notes));
  return in_transaction([&] {
    return replace_time_notes({.database = state_->file->database(), .path = path()}, run, notes);
  });
}

engine::Status SessionWriter::set_note(const std::string& key, const std::string& value) {
  if (!engine::is_clean_text(key) || !engine::is_clean_text(value) ||
      key.size() + value.size() > kMaxNoteBytes) {
    return engine::Error{
        engine::ErrorCode::InvalidArgument,
        fmt::format("{}: note '{}' has {} bytes; it must be UTF-8 text of at most {} bytes", path(),
                    key.substr(0, 40), key.size() + value.size(), kMaxNoteBytes)};
  }
  return in_transaction([&]() -> engine::Status {
    ENGINE_ASSIGN(Statement statement,
                  Statement::prepare(state_->file->database(), path(),
                                     "INSERT INTO notes VALUES(?, ?) ON CONFLICT(key) DO "
                                     "UPDATE SET value = excluded.value"));
    return statement.text(key).text(value).execute();
  });
}

engine::Status SessionWriter::keep_in_place() {
  const std::string displacement = state_->file->displacement();
  if (displacement.empty()) return {};
  return continue_elsewhere(displacement, " and continues there",
                            [&](const std::string& free) { return move_to(free); });
}

/// Beside the old file, or where else there is room: its folder may be gone, and the measurements
/// must not be lost with it.
engine::Status SessionWriter::continue_elsewhere(
    const std::string& displacement, std::string_view and_then,
    const std::function<engine::Status(const std::string& free_path)>& copy) {
  std::error_code error;
  const std::string old_path = path();
  const std::filesystem::path name = std::filesystem::path(old_path).filename();
  engine::Status status;
  for (const std::filesystem::path& folder :
       {std::filesystem::path(old_path).parent_path(), std::filesystem::current_path(error),
        std::filesystem::temp_directory_path(error)}) {
    status = copy(free_name_beside((folder / name).string()));
    if (!status.ok()) continue;
    state_->add_notice(fmt::format("{} {} during recording. The whole recording is now in {}{}.",
                                   old_path, displacement, path(), and_then));
    return {};
  }
  return engine::Error{status.error().code,
                       fmt::format("{} {} during recording, and the recording cannot be copied: {}",
                                   old_path, displacement, status.error().message)};
}

engine::Status SessionWriter::move_to(const std::string& path) {
  std::unique_ptr<LiveRecording>& file = state_->file;
  ENGINE_ASSIGN(
      std::unique_ptr<LiveRecording> copy,
      LiveRecording::create(path, [&](sqlite3* empty) { return file->copy_into(empty); }));
  if (file->displacement().empty()) {
    note_log_left(file->close());
  } else {
    file->abandon(LiveRecording::OwnLog::Removed);
  }
  file = std::move(copy);
  return {};
}

/// `why` is empty where there is none.
void SessionWriter::note_log_left(const std::string& why) {
  if (why.empty()) return;
  state_->add_notice(
      fmt::format("The recording is in two files that belong together, {} and {}: copy or move "
                  "both. They could not be merged: {}",
                  path(), state_->file->log_path(), why));
}

engine::Status SessionWriter::close() {
  if (!closed()) state_->outcome = close_file();
  return state_->outcome;
}

/// There was no room for a copy: the file that people see is made what it was.
engine::Status SessionWriter::write_back(const engine::Status& uncopied) {
  LiveRecording& file = *state_->file;
  if (!file.write_back()) return uncopied;
  state_->add_notice(uncopied.error().message +
                     ". So what the other program wrote into it was undone.");
  return {};
}

engine::Status SessionWriter::close_file() {
  engine::Status status = keep_in_place();
  if (!status.ok()) status = write_back(status);
  LiveRecording& kept = *state_->file;  // keep_in_place() may have replaced it
  if (!status.ok()) {
    const bool log = kept.has_log();
    kept.abandon(LiveRecording::OwnLog::Kept);
    return engine::Error{
        status.error().code,
        fmt::format("{}. What is left of it is {}{}", status.error().message, path(),
                    log ? " and its log " + kept.log_path() + ": keep both together" : "")};
  }
  note_log_left(kept.close());
  // Every byte: what is reported as recorded must be in the file.
  const std::string displacement = kept.displacement(StoredFile::Check::EveryByte);
  if (!displacement.empty()) {
    status = continue_elsewhere(displacement, "",
                                [&](const std::string& free) { return kept.copy_closed_to(free); });
    if (!status.ok()) status = write_back(status);
  }
  kept.release();
  return status;
}

bool SessionWriter::discard_if_empty() {
  bool empty = true;
  for_each_kind(state_->counts,
                [&empty]<class Recorded>(std::size_t count) { empty = empty && count == 0; });
  const std::string at = path();
  // If it cannot be closed in its place, the file there may be another program's.
  if (!empty || !close().ok() || path() != at) return false;
  ::unlink(at.c_str());
  return true;
}

bool SessionWriter::closed() const { return state_->file->database() == nullptr; }
const Records<CountOf>& SessionWriter::counts() const { return state_->counts; }
const std::string& SessionWriter::path() const { return state_->file->path(); }
std::string SessionWriter::take_notice() { return std::exchange(state_->notice, {}); }

}  // namespace profiling
