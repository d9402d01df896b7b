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

/// Names of the numbers in `records`, for people who query the file.
engine::Status write_names(const Target& to, const char* table, const engine::Type& type) {
  auto row =
      Statement::prepare(to.database, to.path, fmt::format("INSERT INTO {} VALUES(?, ?)", table));
  if (!row.ok()) return row.error();
  engine::Status status;
  for (const engine::EnumName& entry : type.names) {
    if (status.ok()) status = row.value().integer(entry.value).text(entry.name).execute();
  }
  return status;
}

engine::Status create_tables(const Target& to) {
  const auto run = [&](const std::string& sql) { return execute_sql(to.database, to.path, sql); };
  engine::Status status = run("BEGIN");
  if (status.ok()) status = run(fmt::format("PRAGMA application_id={}", kApplicationId));
  if (status.ok()) status = run(fmt::format("PRAGMA user_version={}", kFormat));
  for (const TableDefinition& table : session_tables()) {
    if (status.ok()) status = run(table.sql);
  }
  if (status.ok()) status = write_names(to, "stages", engine::kType<engine::Stage>);
  if (status.ok()) status = write_names(to, "activity_kinds", engine::kType<ActivityKind>);
  return status.ok() ? run("COMMIT") : status;
}

/// The tables of a recording that has no runs yet, in memory.
engine::Result<Database> empty_tables(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) {
    return engine::Error{engine::ErrorCode::OutOfMemory,
                         fmt::format("{}: {}", path, sqlite3_errstr(code))};
  }
  ENGINE_TRY(create_tables({.database = raw, .path = path}));
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

/// A recording's files as SQLite holds them open; SQLite never replaces one of them.
class OpenRecording {
 public:
  static engine::Result<OpenRecording> open(const std::string& path) {
    OpenRecording opened;
    opened.path_ = path;
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
    opened.database_.reset(raw);
    if (code != SQLITE_OK) {
      return engine::Error{engine::ErrorCode::Io,
                           fmt::format("{}: {}", path, sqlite3_errstr(code))};
    }
    // Notes may be written by another window, and a reader may be about to recover the log.
    sqlite3_busy_timeout(raw, kBusyMilliseconds);
    engine::Status status = use_log(raw, path);
    // The first row makes SQLite open the log.
    if (status.ok()) status = execute_sql(raw, path, "SELECT count(*) FROM runs");
    if (!status.ok()) return status.error();
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
    engine::Status status = check_nothing_beside(path);
    if (!status.ok()) return status;
    engine::Result<UnpublishedFile> file = UnpublishedFile::create(path);
    if (!file.ok()) return file.error();
    {
      sqlite3* raw = nullptr;
      const int code =
          sqlite3_open_v2(file.value().name().c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
      const Database copy(raw);
      if (code != SQLITE_OK) {
        return engine::Error{engine::ErrorCode::Io,
                             fmt::format("{}: {}", path, sqlite3_errstr(code))};
      }
      // The file is not published yet: it needs no journal, and publish() flushes it.
      status = execute_sql(raw, path, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF");
      if (!status.ok()) return status;
      sqlite3_backup* backup = sqlite3_backup_init(raw, "main", database(), "main");
      sqlite3_backup_step(backup, -1);
      if (sqlite3_backup_finish(backup) != SQLITE_OK) {
        return database_error(raw, path, "copying the recording");
      }
    }
    return file.value().publish();
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

  OpenRecording() = default;

  Database database_;
  std::string path_;
  std::array<std::optional<FileIdentity>, 3> parts_;
};

class SqliteSessionWriter final : public SessionWriter {
 public:
  SqliteSessionWriter(OpenRecording file, Database rehearsal, const RequestCodec& codec)
      : file_(std::move(file)), rehearsal_(std::move(rehearsal)), codec_(codec) {}
  SqliteSessionWriter(const SqliteSessionWriter&) = delete;
  SqliteSessionWriter& operator=(const SqliteSessionWriter&) = delete;

  // Failures are reported by close() only.
  ~SqliteSessionWriter() override { static_cast<void>(close()); }

  engine::Status append(const RecordedRun& run) override {
    return append_one("run", counts_.runs, run);
  }
  engine::Status append(const RecordedVisit& visit) override {
    return append_one("visit", counts_.visits, visit);
  }
  engine::Status append(const RecordedComparison& comparison) override {
    return append_one("comparison", counts_.comparisons, comparison);
  }
  engine::Status append(const RecordedHistory& history) override {
    return append_one("history", counts_.histories, history);
  }

  engine::Status set_time_notes(std::size_t run, const std::vector<TimeNote>& notes) override {
    if (static_cast<std::int64_t>(run) >= counts_.runs) {
      return engine::Error{
          engine::ErrorCode::InvalidArgument,
          fmt::format("{}: there is no run {} to attach notes to", path(), run + 1)};
    }
    ENGINE_TRY(check(notes));
    return in_transaction([&] { return replace_time_notes(target(), run, notes); });
  }

  engine::Status set_note(const std::string& key, const std::string& value) override {
    if (!engine::is_clean_text(key) || !engine::is_clean_text(value) ||
        key.size() + value.size() > kMaxNoteBytes) {
      return engine::Error{
          engine::ErrorCode::InvalidArgument,
          fmt::format("{}: note '{}' has {} bytes; it must be UTF-8 text of at most {} bytes",
                      path(), key.substr(0, 40), key.size() + value.size(), kMaxNoteBytes)};
    }
    return in_transaction([&]() -> engine::Status {
      auto statement = Statement::prepare(file_.database(), path(),
                                          "INSERT INTO notes VALUES(?, ?) ON CONFLICT(key) DO "
                                          "UPDATE SET value = excluded.value");
      if (!statement.ok()) return statement.error();
      return statement.value().text(key).text(value).execute();
    });
  }

  engine::Status keep_in_place() override {
    const std::string displacement = file_.displacement();
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
      notice_ = fmt::format(
          "{} {} during recording. The whole recording is now in {} and continues there.", old_path,
          displacement, path());
      return {};
    }
    return engine::Error{
        status.error().code,
        fmt::format("{} {} during recording, and the recording cannot be copied: {}", path(),
                    displacement, status.error().message)};
  }

  engine::Status move_to(const std::string& path) override {
    ENGINE_TRY(file_.copy_to(path));
    ENGINE_ASSIGN(OpenRecording copy, OpenRecording::open(path));
    file_.close(file_.displacement().empty());
    file_ = std::move(copy);
    return {};
  }

  engine::Status close() override {
    if (file_.database() == nullptr) return {};
    engine::Status status = keep_in_place();
    // A file without a name needs no log.
    file_.close(status.ok());
    return status;
  }

  const std::string& path() const override { return file_.path(); }
  std::string take_notice() override { return std::exchange(notice_, {}); }

 private:
  static constexpr std::size_t kMaxNoteBytes = 1 << 20;

  Target target() const { return {.database = file_.database(), .path = file_.path()}; }

  /// Numbers of rows in the file, by kind.
  struct Counts {
    std::int64_t runs = 0;
    std::int64_t comparisons = 0;
    std::int64_t histories = 0;
    std::int64_t visits = 0;
    std::int64_t snapshots = 0;
  };

  /// The counters advance only if everything is in the file.
  template <class Recorded>
  engine::Status append_one(const char* kind, std::int64_t& counter, const Recorded& recorded) {
    engine::Status limits = check(recorded);
    if (limits.ok()) limits = rehearse(recorded);
    if (!limits.ok()) {
      return engine::Error{limits.error().code, fmt::format("{}: the {} is not recorded: {}",
                                                            path(), kind, limits.error().message)};
    }
    // Retries a failed copy before more goes into a file that has lost its name.
    engine::Status status = keep_in_place();
    if (status.ok()) {
      status = in_transaction([&] { return write(target(), counts_, counter + 1, recorded); });
    }
    if (!status.ok()) {
      return engine::Error{status.error().code,
                           fmt::format("{}; {} {} is not in the recording, which has {} run(s)",
                                       status.error().message, kind, counter + 1, counts_.runs)};
    }
    ++counter;
    if (is_kept(snapshot_of(recorded))) ++counts_.snapshots;
    // It is committed: should the copy fail now, the next call or close() says so.
    static_cast<void>(keep_in_place());
    return {};
  }

  /// A value that the reader refuses would make the whole file unreadable. So everything is first
  /// written to memory and read back there, which applies the reader's checks.
  template <class Recorded>
  engine::Status rehearse(const Recorded& recorded) {
    static const std::string kWords = "it could not be read again";
    sqlite3* database = rehearsal_.get();
    engine::Status status = execute_sql(database, kWords, "BEGIN");
    if (status.ok()) status = write({database, kWords}, {}, 1, without_records(recorded));
    if (status.ok()) status = check_readable(database, kWords, codec_);
    sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);
    if (status.ok() || status.error().code == engine::ErrorCode::OutOfMemory) return status;
    // Also for SQLite's own errors: no disk is involved.
    return engine::Error{engine::ErrorCode::InvalidArgument, status.error().message};
  }

  /// There may be millions, and limits.cpp checks everything about records and events.
  static RecordedRun without_records(const RecordedRun& run) {
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
  static const Other& without_records(const Other& other) {
    return other;
  }

  template <class Work>
  engine::Status in_transaction(Work work) {
    engine::Status status = execute_sql(file_.database(), path(), "BEGIN IMMEDIATE");
    if (!status.ok()) return status;
    status = work();
    if (status.ok()) status = execute_sql(file_.database(), path(), "COMMIT");
    // A failed COMMIT may leave the transaction open, which would swallow every later run.
    if (!status.ok()) sqlite3_exec(file_.database(), "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
  }

  static const Snapshot* snapshot_of(const RecordedRun& run) { return &run.snapshot; }
  static const Snapshot* snapshot_of(const RecordedVisit& visit) { return &visit.report.snapshot; }
  static const Snapshot* snapshot_of(const RecordedComparison&) { return nullptr; }
  static const Snapshot* snapshot_of(const RecordedHistory&) { return nullptr; }
  static bool is_kept(const Snapshot* snapshot) {
    return snapshot != nullptr && !(*snapshot == Snapshot{});
  }

  /// As number `id` of its kind, with its snapshot as the next one.
  template <class Recorded>
  engine::Status write(const Target& to, const Counts& before, std::int64_t id,
                       const Recorded& recorded) const {
    const engine::Status status = write_recorded(to, id, recorded, codec_);
    const Snapshot* snapshot = snapshot_of(recorded);
    if (!status.ok() || !is_kept(snapshot)) return status;
    constexpr bool kOfRun = std::is_same_v<Recorded, RecordedRun>;
    const RecordedSnapshot kept{
        .owner = kOfRun ? RecordedSnapshot::Owner::Run : RecordedSnapshot::Owner::Visit,
        .owner_id = id,
        .snapshot = *snapshot};
    return write_recorded(to, before.snapshots + 1, kept, codec_);
  }

  OpenRecording file_;
  Database rehearsal_;  // the same tables in memory, always empty between calls
  const RequestCodec& codec_;
  std::string notice_;
  Counts counts_;
};

}  // namespace

engine::Result<std::unique_ptr<SessionWriter>> SessionWriter::create(const std::string& path,
                                                                     const RequestCodec& codec) {
  engine::Status status = check_nothing_beside(path);
  if (!status.ok()) return status.error();
  ENGINE_ASSIGN(Database tables, empty_tables(path));
  ENGINE_ASSIGN(const std::vector<std::byte> empty, file_of(tables.get(), path));
  ENGINE_ASSIGN(UnpublishedFile file, UnpublishedFile::create(path));
  status = file.write(empty);
  if (status.ok()) status = file.publish();
  if (!status.ok()) return status.error();
  engine::Result<OpenRecording> opened = OpenRecording::open(path);
  if (!opened.ok()) {
    for (const char* part : {"", "-wal", "-shm"}) ::unlink((path + part).c_str());
    return opened.error();
  }
  return std::unique_ptr<SessionWriter>(
      std::make_unique<SqliteSessionWriter>(std::move(opened).value(), std::move(tables), codec));
}

}  // namespace profiling
