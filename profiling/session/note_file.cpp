// Changes the notes and the name of a run in an existing recording, the only parts of a written run
// that may change.
#include <fmt/format.h>

#include <functional>

#include "engine/input/regular_file.h"
#include "profiling/session/layout.h"
#include "profiling/session/limits.h"
#include "profiling/session/session_file.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/table_writer.h"

namespace profiling {
namespace {

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
                         fmt::format("{}: {}: {}", path, kNotKept, why)};
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

/// `change` in one transaction of a file that may have been replaced since it was opened.
engine::Status change_run(const std::string& path, std::size_t run,
                          const std::function<engine::Status(const Target&)>& change) {
  // It may be a FIFO now, for which SQLite would wait.
  if (const engine::Status regular = engine::check_regular_file(path); !regular.ok()) {
    return engine::Error{regular.error().code,
                         fmt::format("{}: {}: {}", path, kNotKept, regular.error().message)};
  }
  ENGINE_ASSIGN(const Database database,
                open_database(path, SQLITE_OPEN_READWRITE, path + ": " + kNotKept));
  sqlite3* const raw = database.get();
  set_guards(raw);
  constexpr int kBusyMilliseconds = 5000;
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  ENGINE_TRY(check_still_ours(raw, path, run));
  // With a log, readers need not wait, and a crash leaves a readable file.
  ENGINE_TRY(use_log(raw, path));
  engine::Status status =
      in_transaction(raw, path, [&] { return change({.database = raw, .path = path}); });
  // Back to one file without a log, unless another process has it open: then that one merges it.
  sqlite3_busy_timeout(raw, 0);
  sqlite3_exec(raw, "PRAGMA journal_mode=MEMORY", nullptr, nullptr, nullptr);
  return status;
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
