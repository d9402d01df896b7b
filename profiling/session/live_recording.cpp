#include "profiling/session/live_recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>

#include "profiling/session/recording_file.h"

namespace profiling {
namespace {

// A merge rewrites the log from its start, and a reader that overlaps with it starts again: it gets
// the time in which this much is recorded.
constexpr std::int64_t kMergeBytes = std::int64_t{256} << 20;

std::string log_of(const std::string& path) { return path + std::string(kLogSuffix); }

/// The log of an earlier recording of this name would be taken for the log of a later one.
engine::Status check_nothing_beside(const std::string& path) {
  for (const std::string_view suffix : {kLogSuffix, kJournalSuffix}) {
    if (identity_of(path + std::string(suffix))) {
      return engine::Error{engine::ErrorCode::Io,
                           fmt::format("{}: {}{} belongs to another recording; choose another name",
                                       path, path, suffix)};
    }
  }
  return {};
}

}  // namespace

engine::Result<std::unique_ptr<LiveRecording>> LiveRecording::create(const std::string& path,
                                                                     const Fill& fill) {
  ENGINE_TRY(check_nothing_beside(path));
  std::unique_ptr<LiveRecording> made(new LiveRecording(path));
  ENGINE_TRY(made->open(fill));
  ENGINE_TRY(made->publish());
  return made;
}

engine::Status LiveRecording::open(const Fill& fill) {
  ENGINE_ASSIGN(UnnamedFile main, create_unnamed(folder_of(path_)));
  ENGINE_ASSIGN(UnnamedFile log, create_unnamed(folder_of(path_)));
  main_ = StoredFile(std::move(main.file), std::move(main.folder));
  log_ = StoredFile(std::move(log.file), std::move(log.folder));
  vfs_ = std::make_unique<DatabaseVfs>(main_, log_, DatabaseVfs::Access::Write,
                                       [this] { remove_log(); });
  ENGINE_ASSIGN(database_, vfs_->open(path_));
  // Nobody sees the file yet: it needs no journal, and publish() flushes it.
  ENGINE_TRY(execute_sql(database(), path_, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF"));
  ENGINE_TRY(fill(database()));
  ENGINE_TRY(use_log(database(), path_, kMergeBytes));
  return begin_log();
}

/// A log that is empty may have been emptied. So that a reader can tell, it never is: it begins
/// with a transaction that writes what is there already.
engine::Status LiveRecording::begin_log() {
  ENGINE_ASSIGN(Statement version, Statement::prepare(database(), path_, "PRAGMA user_version"));
  ENGINE_TRY(version.next());
  const std::string same =
      fmt::format("PRAGMA user_version={}", sqlite3_column_int(version.get(), 0));
  sqlite3_reset(version.get());
  return execute_sql(database(), path_, same);
}

engine::Status LiveRecording::publish() {
  const auto failed = [&](int error) { return io_error(path_, "cannot be written", error); };
  ENGINE_ASSIGN(UnpublishedFile file, UnpublishedFile::create(path_));
  if (!main_.mirror_to(file.duplicate())) return failed(errno);
  lock_for_writing(file.descriptor());
  ENGINE_TRY(file.publish());
  main_.remember_mirror();
  const bool closed = database_ == nullptr && log_.size() == 0;
  if (closed) return {};
  const std::string log = log_path();
  engine::UniqueFd mirror(::open(log.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644));
  const bool created = mirror.valid();
  if (!created || !log_.mirror_to(std::move(mirror))) {
    const int error = errno;
    ::unlink(path_.c_str());
    if (created) ::unlink(log.c_str());
    return failed(error);
  }
  flush_folder_of(path_);
  return {};
}

engine::Status LiveRecording::in_transaction(const std::function<engine::Status()>& work) {
  return profiling::in_transaction(database(), path_, work);
}

std::string LiveRecording::log_path() const { return log_of(path_); }

bool LiveRecording::has_log() const { return log_.mirror() >= 0 && log_.size() > 0; }

std::string LiveRecording::displacement(StoredFile::Check check) {
  const std::optional<FileIdentity> now = identity_of(path_);
  if (!now) return "was deleted or moved away";
  if (now != identity_of(main_.mirror())) return "was replaced by another file";
  if (!main_.mirror_matches(check)) {
    return main_.undo_failed() ? "could not be made what it was after a failed write"
                               : "was overwritten or shortened by another program";
  }
  if (log_.mirror() < 0) return "";
  if (identity_of(log_path()) != identity_of(log_.mirror())) {
    return fmt::format("lost the {} file that belongs to it", kLogSuffix);
  }
  if (!log_.mirror_matches(check)) {
    return fmt::format("has a {} file that {}", kLogSuffix,
                       log_.undo_failed() ? "could not be made what it was after a failed write"
                                          : "was overwritten or shortened by another program");
  }
  return "";
}

engine::Status LiveRecording::copy_into(sqlite3* empty) const {
  sqlite3_backup* backup = sqlite3_backup_init(empty, "main", database(), "main");
  sqlite3_backup_step(backup, -1);
  if (sqlite3_backup_finish(backup) == SQLITE_OK) return {};
  return database_error(empty, path_, "copying the recording");
}

std::string LiveRecording::close() {
  // The log keeps its content until it is removed: a reader would doubt an empty one.
  engine::Status merged = execute_sql(database(), path_, "PRAGMA wal_checkpoint(FULL)");
  // MEMORY: leaving the log writes one page, and a kill must not leave a journal of it.
  if (merged.ok()) merged = execute_sql(database(), path_, "PRAGMA journal_mode=MEMORY");
  database_.reset();
  if (!has_log()) return "";
  return merged.ok() ? "the log could not be removed" : merged.error().message;
}

void LiveRecording::abandon(OwnLog log) {
  sqlite3_db_config(database(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  main_.release_mirror();
  database_.reset();
  log == OwnLog::Removed ? remove_log() : log_.release_mirror();
}

bool LiveRecording::owns_names() const {
  const auto owns = [](const std::string& path, const StoredFile& file) {
    const std::optional<FileIdentity> there = identity_of(path);
    return there.has_value() && there == identity_of(file.mirror());
  };
  return owns(path_, main_) && (log_.mirror() < 0 || owns(log_path(), log_));
}

bool LiveRecording::write_back() {
  // The log first: with a file that is as it was at the last merge, it is all that is needed.
  return owns_names() && (log_.mirror() < 0 || log_.rewrite_mirror()) && main_.rewrite_mirror();
}

void LiveRecording::remove_log() {
  const std::string log = log_path();
  if (log_.mirror() >= 0 && identity_of(log) == identity_of(log_.mirror())) ::unlink(log.c_str());
  log_.release_mirror();
}

engine::Status LiveRecording::copy_closed_to(const std::string& path) {
  ENGINE_TRY(check_nothing_beside(path));
  const std::string old_path = std::exchange(path_, path);
  StoredFile::Mirror old_main = main_.exchange_mirror({});
  StoredFile::Mirror old_log = log_.exchange_mirror({});
  engine::Status status = publish();
  if (!status.ok()) {
    path_ = old_path;
    main_.exchange_mirror(std::move(old_main));
    log_.exchange_mirror(std::move(old_log));
  }
  return status;
}

void LiveRecording::release() {
  main_.release_mirror();
  log_.release_mirror();
}

}  // namespace profiling
