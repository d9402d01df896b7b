// Writes a session: one transaction per run, so that a crash leaves complete runs only. WAL with
// synchronous FULL: committed runs survive a power loss too; closing merges the log into the file.
// If the open file loses its name, the recording is copied to another one and continues there.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <filesystem>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/model/text.h"
#include "profiling/session/layout.h"
#include "profiling/session/limits.h"
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
  ENGINE_TRY(write_names(to, "activity_kinds", engine::kType<ActivityKind>));
  return run("COMMIT");
}

/// The tables of a recording that has no runs yet, in memory.
engine::Result<Database> empty_tables(const std::string& path) {
  ENGINE_ASSIGN(Database database, open_database(":memory:", SQLITE_OPEN_READWRITE, path));
  ENGINE_TRY(create_tables({.database = database.get(), .path = path}));
  return database;
}

/// The bytes of a file with these tables, to be written whole.
engine::Result<std::vector<std::byte>> file_of(sqlite3* tables, const std::string& path) {
  sqlite3_int64 bytes = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> image(
      sqlite3_serialize(tables, "main", &bytes, 0), &sqlite3_free);
  if (image == nullptr) {
    return engine::Error{engine::ErrorCode::OutOfMemory, path + ": no memory for its tables"};
  }
  const auto* first = reinterpret_cast<const std::byte*>(image.get());
  std::vector<std::byte> file(first, first + bytes);
  // Write and read version 2 mean WAL (sqlite.org/fileformat.html, section 1.3). If SQLite made the
  // change later, a kill would leave its rollback journal.
  file.at(18) = file.at(19) = std::byte{2};
  return file;
}

/// The log of an earlier recording of this name would be taken for the log of a later one.
engine::Status check_nothing_beside(const std::string& path) {
  for (const char* side : {"-wal", "-journal"}) {
    if (identity_of(path + side)) {
      return engine::Error{engine::ErrorCode::Io,
                           fmt::format("{}: {}{} belongs to another recording; choose another name",
                                       path, path, side)};
    }
  }
  return {};
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

/// A recording's files as SQLite holds them open; SQLite never replaces one of them.
class SessionWriter::File {
 public:
  static engine::Result<File> open(const std::string& path) {
    File opened;
    opened.path_ = path;
    ENGINE_ASSIGN(opened.database_, open_database(path, SQLITE_OPEN_READWRITE, path));
    sqlite3* const raw = opened.database();
    // Notes may be written by another window, and a reader may be about to recover the log.
    sqlite3_busy_timeout(raw, kBusyMilliseconds);
    ENGINE_TRY(use_log(raw, path));
    // The first row makes SQLite open the log.
    ENGINE_TRY(execute_sql(raw, path, "SELECT count(*) FROM runs"));
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      opened.parts_[i] = identity_of(path + kParts[i]);
    }
    return opened;
  }

  sqlite3* database() const { return database_.get(); }
  const std::string& path() const { return path_; }

  /// What happened to the files; empty = they are still in place.
  std::string displacement() const {
    const std::optional<FileIdentity> now = identity_of(path_);
    if (now != parts_[0]) {
      return now ? "was replaced by another file" : "was deleted or moved away";
    }
    for (std::size_t i = 1; i < kParts.size(); ++i) {
      if (identity_of(path_ + kParts[i]) != parts_[i]) {
        return fmt::format("lost the {} file that belongs to it", kParts[i]);
      }
    }
    return "";
  }

  /// Copies everything committed so far to this path, which must be free.
  engine::Status copy_to(const std::string& path) const {
    ENGINE_TRY(check_nothing_beside(path));
    ENGINE_ASSIGN(UnpublishedFile file, UnpublishedFile::create(path));
    {
      ENGINE_ASSIGN(const Database copy, open_database(file.name(), SQLITE_OPEN_READWRITE, path));
      // The file is not published yet: it needs no journal, and publish() flushes it.
      ENGINE_TRY(execute_sql(copy.get(), path, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF"));
      sqlite3_backup* backup = sqlite3_backup_init(copy.get(), "main", database(), "main");
      sqlite3_backup_step(backup, -1);
      if (sqlite3_backup_finish(backup) != SQLITE_OK) {
        return database_error(copy.get(), path, "copying the recording");
      }
    }
    return file.publish();
  }

  /// Closes it. `keep`: as one file without a log, which is what people copy; if a step fails, the
  /// log stays next to the file, and both together are a complete recording. Otherwise the log and
  /// index are removed if they are its own.
  void close(bool keep) {
    if (database_ == nullptr) return;
    if (keep) {
      sqlite3_exec(database(), "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
      // MEMORY: leaving WAL writes one page, and a kill must not leave a journal of it.
      sqlite3_exec(database(), "PRAGMA journal_mode=MEMORY", nullptr, nullptr, nullptr);
    } else {
      sqlite3_db_config(database(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    }
    database_.reset();
    for (std::size_t i = 1; !keep && i < kParts.size(); ++i) {
      const std::string part = path_ + kParts[i];
      if (parts_[i] && identity_of(part) == parts_[i]) ::unlink(part.c_str());
    }
  }

 private:
  static constexpr int kBusyMilliseconds = 5000;
  static constexpr std::array<const char*, 3> kParts = {"", "-wal", "-shm"};

  File() = default;

  Database database_;
  std::string path_;
  std::array<std::optional<FileIdentity>, 3> parts_;
};

struct SessionWriter::State {
  File file;
  Database rehearsal;  // the same tables in memory, always empty between calls
  std::string notice{};
  Records<CountOf> counts{};  // of what is in the file
  std::int64_t snapshots = 0;
};

engine::Result<std::unique_ptr<SessionWriter>> SessionWriter::create(const std::string& path) {
  ENGINE_TRY(check_nothing_beside(path));
  ENGINE_ASSIGN(Database tables, empty_tables(path));
  ENGINE_ASSIGN(const std::vector<std::byte> empty, file_of(tables.get(), path));
  ENGINE_ASSIGN(UnpublishedFile unpublished, UnpublishedFile::create(path));
  ENGINE_TRY(unpublished.write(empty));
  ENGINE_TRY(unpublished.publish());
  engine::Result<File> opened = File::open(path);
  if (!opened.ok()) {
    for (const char* part : {"", "-wal", "-shm"}) ::unlink((path + part).c_str());
    return opened.error();
  }
  return std::make_unique<SessionWriter>(std::unique_ptr<State>(
      new State{.file = std::move(opened).value(), .rehearsal = std::move(tables)}));
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
      return write({.database = state_->file.database(), .path = path()},
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
template engine::Status SessionWriter::append(const RecordedHistory&);
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
  return profiling::in_transaction(state_->file.database(), path(), work);
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
    return replace_run_name({.database = state_->file.database(), .path = path()}, run, name);
  });
}

engine::Status SessionWriter::set_time_notes(std::size_t run, const std::vector<TimeNote>& notes) {
  ENGINE_TRY(check_appended(run));
  ENGINE_TRY(check(notes));
  return in_transaction([&] {
    return replace_time_notes({.database = state_->file.database(), .path = path()}, run, notes);
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
                  Statement::prepare(state_->file.database(), path(),
                                     "INSERT INTO notes VALUES(?, ?) ON CONFLICT(key) DO "
                                     "UPDATE SET value = excluded.value"));
    return statement.text(key).text(value).execute();
  });
}

engine::Status SessionWriter::keep_in_place() {
  const std::string displacement = state_->file.displacement();
  if (displacement.empty()) return {};
  // The folder may be gone too; the measurements must not be lost with it.
  std::error_code error;
  const std::filesystem::path name = std::filesystem::path(path()).filename();
  engine::Status status;
  for (const std::filesystem::path& folder :
       {std::filesystem::path(path()).parent_path(), std::filesystem::current_path(error),
        std::filesystem::temp_directory_path(error)}) {
    const std::string old_path = path();
    status = move_to(free_name_beside((folder / name).string()));
    if (!status.ok()) continue;
    state_->notice =
        fmt::format("{} {} during recording. The whole recording is now in {} and continues there.",
                    old_path, displacement, path());
    return {};
  }
  return engine::Error{status.error().code,
                       fmt::format("{} {} during recording, and the recording cannot be copied: {}",
                                   path(), displacement, status.error().message)};
}

engine::Status SessionWriter::move_to(const std::string& path) {
  File& file = state_->file;
  ENGINE_TRY(file.copy_to(path));
  ENGINE_ASSIGN(File copy, File::open(path));
  file.close(file.displacement().empty());
  file = std::move(copy);
  return {};
}

engine::Status SessionWriter::close() {
  if (state_->file.database() == nullptr) return {};
  engine::Status status = keep_in_place();
  // A file without a name needs no log.
  state_->file.close(status.ok());
  return status;
}

bool SessionWriter::discard_if_empty() {
  bool empty = true;
  for_each_kind(state_->counts,
                [&empty]<class Recorded>(std::size_t count) { empty = empty && count == 0; });
  const std::string at = path();
  // Of a file that cannot be closed in its place it is not known whose it is.
  if (!empty || !close().ok() || path() != at) return false;
  for (const char* part : {"-wal", "-shm", ""}) ::unlink((at + part).c_str());
  return true;
}

const std::string& SessionWriter::path() const { return state_->file.path(); }
std::string SessionWriter::take_notice() { return std::exchange(state_->notice, {}); }

}  // namespace profiling
