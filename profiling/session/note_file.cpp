// Changes the notes and the name of a run in an existing recording, the only parts of a written run
// that may change.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "engine/model/path_text.h"
#include "profiling/session/database_vfs.h"
#include "profiling/session/layout.h"
#include "profiling/session/limits.h"
#include "profiling/session/recording_file.h"
#include "profiling/session/recording_source.h"
#include "profiling/session/session_file.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/table_writer.h"

namespace profiling {
namespace {

// Larger than any change, so that the log is merged once, at the end.
constexpr std::int64_t kMaxChangeBytes = std::int64_t{64} << 20;

constexpr const char* kNotKept = "the change is not kept";

engine::Result<std::int64_t> number_of(sqlite3* database, const std::string& path,
                                       const std::string& sql) {
  auto statement = Statement::prepare(database, path, sql);
  if (!statement.ok()) return statement.error();
  ENGINE_ASSIGN(const bool row, statement.value().next());
  return row ? sqlite3_column_int64(statement.value().get(), 0) : 0;
}

/// open_session() has accepted the file, but it may have been replaced since.
engine::Status check_still_ours(sqlite3* database, const std::string& path, std::size_t run) {
  const auto refuse = [&](const std::string& why) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("{}: {}: {}", engine::shown_path(path), kNotKept, why)};
  };
  const auto id = number_of(database, path, "PRAGMA application_id");
  if (!id.ok()) return id.error();
  if (id.value() != kApplicationId) return refuse("it is not a recording");
  const auto format = number_of(database, path, "PRAGMA user_version");
  if (!format.ok()) return format.error();
  if (format.value() != kFormat) {
    return refuse(fmt::format("it has format {}; this program writes {}", format.value(), kFormat));
  }
  const auto runs = number_of(database, path, "SELECT count(*) FROM runs");
  if (!runs.ok()) return runs.error();
  if (static_cast<std::int64_t>(run) >= runs.value()) {
    return refuse(fmt::format("it has no run {}", run + 1));
  }
  return {};
}

}  // namespace

engine::Status replace_time_notes(const Target& to, std::size_t run,
                                  const std::vector<TimeNote>& notes) {
  RecordedRun holder;
  holder.notes = notes;
  return RecordWriter(to, layout_of<RecordedRun>())
      .replace("time_notes", static_cast<std::int64_t>(run) + 1, &holder);
}

engine::Status replace_run_name(const Target& to, std::size_t run, const std::string& name) {
  ENGINE_ASSIGN(const std::int64_t columns,
                number_of(to.database, to.path,
                          "SELECT count(*) FROM pragma_table_info('runs') WHERE name = 'name'"));
  if (columns == 0) {
    ENGINE_TRY(execute_sql(to.database, to.path,
                           "ALTER TABLE runs ADD COLUMN name TEXT NOT NULL DEFAULT ''"));
  }
  ENGINE_ASSIGN(
      Statement statement,
      Statement::prepare(to.database, to.path, "UPDATE runs SET name = ? WHERE run_id = ?"));
  return statement.text(name).integer(static_cast<std::int64_t>(run) + 1).execute();
}

namespace {

engine::Error not_kept(const engine::Error& why) {
  return {why.code, fmt::format("{}: {}", kNotKept, why.message)};
}

/// An existing recording, open for writing and locked; closed as one file without a log.
class ChangedRecording {
 public:
  static engine::Result<std::unique_ptr<ChangedRecording>> open(const std::string& path) {
    const auto refuse = [&](engine::ErrorCode code, const std::string& why) {
      return engine::Error{code,
                           fmt::format("{}: {}: {}", engine::shown_path(path), kNotKept, why)};
    };
    engine::Result<RecordingSource> found =
        RecordingSource::open(path, SessionLimits{}.max_file_bytes);
    if (!found.ok()) return not_kept(found.error());
    const RecordingSource& source = found.value();
    std::unique_ptr<ChangedRecording> changed(new ChangedRecording);
    changed->log_path_ = source.log_path();
    engine::UniqueFd file(::open(source.resolved_path().c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!file.valid()) return not_kept(io_error(path, "cannot be written", errno));
    if (!lock(file.get())) {
      return refuse(engine::ErrorCode::Io,
                    "another program is using the file; try again when it is done");
    }
    // Whoever had the lock may have replaced the file, or removed the log.
    const std::optional<FileIdentity> identity = identity_of(file.get());
    if (identity != identity_of(source.resolved_path())) {
      return refuse(engine::ErrorCode::Io, "it was replaced meanwhile; open it again");
    }
    // As it is now: during another window's change it looks like a recording that was not closed.
    if (const std::string doubt = doubt_of(path); !doubt.empty()) {
      return refuse(engine::ErrorCode::InvalidArgument, doubt);
    }
    engine::UniqueFd log(::open(changed->log_path_.c_str(),
                                O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
    if (!log.valid()) return not_kept(io_error(path, "its log cannot be written", errno));
    changed->log_identity_ = identity_of(log.get());
    changed->file_ = StoredFile(std::move(file));
    changed->log_ = StoredFile(std::move(log));
    ENGINE_ASSIGN(changed->database_, changed->vfs_.open(path));
    set_guards(changed->database());
    return changed;
  }
  ~ChangedRecording() {
    sqlite3_exec(database(), "PRAGMA journal_mode=MEMORY", nullptr, nullptr, nullptr);
    database_.reset();
    if (log_.size() == 0) remove_log();
  }
  ChangedRecording(const ChangedRecording&) = delete;
  ChangedRecording& operator=(const ChangedRecording&) = delete;

  sqlite3* database() const { return database_.get(); }

 private:
  ChangedRecording() = default;
  /// Why a change could drop runs. An empty log has none to drop, and is also what is left where a
  /// program was killed at the beginning of a change.
  static std::string doubt_of(const std::string& path) {
    const auto source = RecordingSource::open(path, SessionLimits{}.max_file_bytes);
    if (!source.ok()) return source.error().message;
    FileHeader header{};
    if (!source.value().read_header(header)) return {};
    const bool emptied = source.value().has_log() && source.value().log_bytes() == 0 &&
                         source.value().file_state().links == 1;
    return emptied ? std::string() : source.value().doubt(header);
  }
  /// Another window needs milliseconds for its change, a writer keeps the lock.
  static bool lock(int file) {
    constexpr auto kPatience = std::chrono::seconds(5);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!lock_for_writing(file)) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  void remove_log() {
    if (log_identity_ && identity_of(log_path_) == log_identity_) ::unlink(log_path_.c_str());
  }

  StoredFile file_;
  StoredFile log_;
  std::string log_path_;
  std::optional<FileIdentity> log_identity_;
  DatabaseVfs vfs_{file_, log_, DatabaseVfs::Access::Write, [this] { remove_log(); }};
  Database database_;
};

/// `change` in one transaction of a file that may have been replaced since it was opened.
engine::Status change_run(const std::string& path, std::size_t run,
                          const std::function<engine::Status(const Target&)>& change) {
  ENGINE_ASSIGN(const std::unique_ptr<ChangedRecording> opened, ChangedRecording::open(path));
  sqlite3* const raw = opened->database();
  ENGINE_TRY(check_still_ours(raw, path, run));
  // With a log, a crash leaves a readable file.
  ENGINE_TRY(use_log(raw, path, kMaxChangeBytes));
  return in_transaction(raw, path, [&] { return change({.database = raw, .path = path}); });
}

}  // namespace

engine::Status store_time_notes(const std::string& path, std::size_t run,
                                const std::vector<TimeNote>& notes) {
  ENGINE_TRY(check(notes));
  return change_run(path, run,
                    [&](const Target& to) { return replace_time_notes(to, run, notes); });
}

engine::Status store_run_name(const std::string& path, std::size_t run, const std::string& name) {
  ENGINE_TRY(check_run_name(name));
  return change_run(path, run, [&](const Target& to) { return replace_run_name(to, run, name); });
}

}  // namespace profiling
