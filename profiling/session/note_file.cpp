// Changes the notes of an existing recording, the only part of a written run that may change.
#include <fmt/format.h>

#include "engine/input/regular_file.h"
#include "profiling/session/layout.h"
#include "profiling/session/limits.h"
#include "profiling/session/session_file.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/table_writer.h"

namespace profiling {
namespace {

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
                         fmt::format("{}: notes are not kept: {}", path, why)};
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

engine::Status store_time_notes(const std::string& path, std::size_t run,
                                const std::vector<TimeNote>& notes) {
  ENGINE_TRY(check(notes));
  // It may have been replaced by a FIFO, for which SQLite would wait.
  if (const engine::Status regular = engine::check_regular_file(path); !regular.ok()) {
    return engine::Error{regular.error().code,
                         fmt::format("{}: notes are not kept: {}", path, regular.error().message)};
  }
  ENGINE_ASSIGN(const Database database,
                open_database(path, SQLITE_OPEN_READWRITE, path + ": notes are not kept"));
  sqlite3* const raw = database.get();
  set_guards(raw);
  constexpr int kBusyMilliseconds = 5000;
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  ENGINE_TRY(check_still_ours(raw, path, run));
  // With a log, readers need not wait, and a crash leaves a readable file.
  ENGINE_TRY(use_log(raw, path));
  engine::Status status = in_transaction(
      raw, path, [&] { return replace_time_notes({.database = raw, .path = path}, run, notes); });
  // Back to one file without a log, unless another process has it open: then that one merges it.
  sqlite3_busy_timeout(raw, 0);
  sqlite3_exec(raw, "PRAGMA journal_mode=MEMORY", nullptr, nullptr, nullptr);
  return status;
}

}  // namespace profiling
