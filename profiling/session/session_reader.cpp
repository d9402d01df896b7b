// Opens a session file that may come from anywhere. Everything in it is checked before use, and no
// allocation relies on its word alone: identity, SQLite's guards, tables, cells, limits. It is read
// in one transaction, so that a file that is being written is seen at one moment, and a reading
// counts only if the file did not change meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/input/file_kind.h"
#include "engine/model/path_text.h"
#include "profiling/session/former_subject.h"
#include "profiling/session/former_tables.h"
#include "profiling/session/layout.h"
#include "profiling/session/limits.h"
#include "profiling/session/recording_source.h"
#include "profiling/session/session_file.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/table_reader.h"

namespace profiling {
namespace {

engine::Error refuse(const std::string& path, const std::string& why) {
  return {engine::ErrorCode::InvalidArgument, fmt::format("{}: {}", engine::shown_path(path), why)};
}

/// Whether it is a session file that this program reads.
engine::Result<FileHeader> check_identity(const RecordingSource& source, const std::string& path) {
  FileHeader header{};
  if (!source.read_header(header)) {
    return refuse(path, fmt::format("has {} bytes and cannot be read as a session file; the header "
                                    "alone takes {}",
                                    source.file_bytes(), header.size()));
  }
  const std::string_view start(reinterpret_cast<const char*>(header.data()), header.size());
  if (!start.starts_with(kDatabaseMagic) || start[kDatabaseMagic.size()] != '\0') {
    const std::string kind = engine::kind_of_file(
        {reinterpret_cast<const char*>(header.data()), engine::kFileKindBytes});
    return refuse(path, kind.empty() ? "is not an SQLite database, so it is not a session file"
                                     : "is not a session file but " + kind);
  }
  const auto application = static_cast<std::int32_t>(header_number(header, 68));
  if (application != kApplicationId) {
    return refuse(path, fmt::format("is an SQLite database of another program (application_id {}, "
                                    "a session file has {})",
                                    application, kApplicationId));
  }
  const auto format = static_cast<std::int32_t>(header_number(header, 60));
  if (format != kFormat) {
    return refuse(
        path,
        fmt::format("has format {}; this program reads format {}{}", format, kFormat,
                    format > kFormat ? ": a newer Expertscope wrote it"
                                     : ": an older Expertscope wrote it, which can open it; any "
                                       "SQLite program can read its tables"));
  }
  // 1 stands for 65536. With a log, the file may be shorter than declared.
  const std::int64_t stored = header_number(header, 16) >> 16;
  const std::int64_t page_bytes = stored == 1 ? 65536 : stored;
  const std::int64_t declared = page_bytes * header_number(header, 28);
  if (source.log_bytes() == 0 && declared > source.file_bytes()) {
    return refuse(path, fmt::format("is cut short: it has {} bytes and declares {}",
                                    source.file_bytes(), declared));
  }
  return header;
}

/// Stops statements that do not end in a damaged tree. A row costs about 20 instructions.
class WorkLimit {
 public:
  WorkLimit(sqlite3* database, const SessionLimits& limits)
      : left_(1000 + limits.max_records * 50 / kStep) {
    sqlite3_progress_handler(database, kStep, &WorkLimit::spend, this);
  }
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

 private:
  static constexpr int kStep = 10000;
  static int spend(void* self) { return --static_cast<WorkLimit*>(self)->left_ < 0 ? 1 : 0; }
  std::int64_t left_;
};

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// Whatever has the name of a session table must be a table: a view or a virtual table would run
/// foreign code. Other objects are never queried.
engine::Status check_tables(sqlite3* database, const std::string& path, MemoryBudget& budget) {
  std::set<std::string> ours;
  for (const TableDefinition& table : session_tables()) ours.insert(table.name);
  for (const std::string& table : former_tables()) ours.insert(table);
  bool has_runs = false;
  RowReader rows(database, path, "sqlite_schema", "SELECT type, name, rootpage FROM sqlite_schema",
                 budget, 0);
  while (rows.next()) {
    const std::string type = rows.text(0, "type");
    const std::string name = lower_case(rows.exact_text(1, "name"));
    if (!rows.ok() || !ours.contains(name) || type == "index") continue;
    if (type != "table" || rows.integer(2, "rootpage") < 1) {
      rows.refuse(fmt::format("'{}' is a {} where a table belongs", name,
                              type == "table" ? "virtual table" : type.substr(0, 40)));
    }
    has_runs |= name == "runs";
  }
  engine::Status status = rows.take_status();
  if (status.ok() && !has_runs) return refuse(path, "has no table 'runs'");
  return status;
}

/// An open database whose guards are set and whose reading transaction has begun. SQLite holds
/// addresses inside it.
class Opening {
 public:
  static engine::Result<std::unique_ptr<Opening>> begin(const RecordingSource& source,
                                                        const std::string& path,
                                                        const SessionLimits& limits) {
    std::unique_ptr<Opening> opening(new Opening(source));
    ENGINE_ASSIGN(opening->database_, opening->vfs_.open(path));
    sqlite3* const raw = opening->database();
    set_guards(raw);
    opening->work_ = std::make_unique<WorkLimit>(raw, limits);
    ENGINE_TRY(execute_sql(raw, path, "PRAGMA cell_size_check=ON"));
    // It must not try to merge the log.
    sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    // The first row, not BEGIN, starts the snapshot.
    ENGINE_TRY(execute_sql(raw, path, "BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1"));
    return opening;
  }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  sqlite3* database() const { return database_.get(); }

 private:
  explicit Opening(const RecordingSource& source)
      : file_(source.stored_file()), log_(source.stored_log()) {}

  StoredFile file_;
  StoredFile log_;
  DatabaseVfs vfs_{file_, log_, DatabaseVfs::Access::Read};
  std::unique_ptr<WorkLimit> work_;  // outlives the statements of the database
  Database database_;
};

engine::Status read_notes(const TableSource& source, Session& session) {
  RowReader rows(source.database, source.path, "notes", "SELECT key, value FROM notes ORDER BY key",
                 source.budget, sizeof(session.notes[0]));
  while (rows.next()) {
    if (std::ssize(session.notes) == kMaxNotes) {
      rows.refuse(fmt::format("the file has more notes than the limit of {}", kMaxNotes));
      break;
    }
    std::string key = rows.text(0, "key");
    session.notes.emplace_back(std::move(key), rows.text(1, "value"));
  }
  return rows.take_status();
}

/// Gives every captured graph to its run or visit.
engine::Status read_snapshots(const TableSource& source, Session& session) {
  std::vector<RecordedSnapshot> kept;
  engine::Status status = read_recorded(source, kept);
  std::set<std::pair<RecordedSnapshot::Owner, std::int64_t>> owners;
  for (RecordedSnapshot& snapshot : kept) {
    const bool of_run = snapshot.owner == RecordedSnapshot::Owner::Run;
    const std::string_view owner = engine::name_of(snapshot.owner);
    const std::size_t most = of_run ? session.runs.size() : session.visits.size();
    if (!status.ok()) break;
    if (std::cmp_greater(snapshot.owner_id, most)) {
      status = refuse(source.path, fmt::format("a snapshot's owner_id is {}, but there are {} {}s",
                                               snapshot.owner_id, most, owner));
    } else if (!owners.emplace(snapshot.owner, snapshot.owner_id).second) {
      status =
          refuse(source.path, fmt::format("{} {} has two snapshots", owner, snapshot.owner_id));
    } else {
      const auto index = static_cast<std::size_t>(snapshot.owner_id - 1);
      // Snapshots of runs that are older than the member are of the run's own step.
      if (of_run && snapshot.snapshot.step == engine::StepKind::Linear) {
        snapshot.snapshot.step = session.runs[index].result.effective.step;
      }
      snapshot.snapshot.subject = present_subject(std::move(snapshot.snapshot.subject));
      (of_run ? session.runs[index].snapshot : session.visits[index].report.snapshot) =
          std::move(snapshot.snapshot);
    }
  }
  return status;
}

template <class Recorded>
engine::Status check_each(const std::string& path, const std::vector<Recorded>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const engine::Status limits = check(all[i]);
    if (!limits.ok()) {
      return refuse(path,
                    fmt::format("{} {}: {}", Recorded::kKind.name, i + 1, limits.error().message));
    }
  }
  return {};
}

engine::Status read_all(const TableSource& source, Session& session) {
  engine::Status status = read_notes(source, session);
  for_each_kind(session, [&]<class Recorded>(std::vector<Recorded>& all) {
    if (status.ok()) status = read_recorded(source, all);
  });
  if (status.ok()) status = read_former_tensors(source, session.runs);
  if (status.ok()) status = read_former_histories(source, session.comparisons);
  if (status.ok()) status = read_snapshots(source, session);
  for_each_kind(session, [&]<class Recorded>(const std::vector<Recorded>& all) {
    if (status.ok()) status = check_each(source.path, all);
  });
  return status;
}

engine::Result<Session> read_once(const RecordingSource& source, const std::string& path,
                                  const SessionLimits& limits) {
  ENGINE_ASSIGN(const FileHeader header, check_identity(source, path));
  ENGINE_ASSIGN(const std::unique_ptr<Opening> opened, Opening::begin(source, path, limits));
  MemoryBudget budget(limits.max_memory_bytes);
  Session session;
  session.path = path;
  session.doubt = source.doubt(header);
  const TableSource tables{.database = opened->database(),
                           .path = path,
                           .limits = limits,
                           .file_bytes = source.bytes_now(),
                           .budget = budget};
  engine::Status status = check_tables(opened->database(), path, budget);
  if (status.ok()) status = read_all(tables, session);
  if (!status.ok()) return status.error();
  return session;
}

}  // namespace

engine::Status check_readable(sqlite3* database, const std::string& path) {
  const SessionLimits limits;
  MemoryBudget budget(limits.max_memory_bytes);
  Session session;
  return read_all({.database = database,
                   .path = path,
                   .limits = limits,
                   .file_bytes = limits.max_file_bytes,
                   .budget = budget},
                  session);
}

engine::Result<Session> open_session(const std::string& path, const SessionLimits& limits) {
  constexpr auto kReadLimit = std::chrono::seconds(5);
  constexpr auto kPause = std::chrono::milliseconds(20);
  const auto end = std::chrono::steady_clock::now() + kReadLimit;
  while (true) {
    ENGINE_ASSIGN(const RecordingSource source, RecordingSource::open(path, limits.max_file_bytes));
    engine::Result<Session> session = read_once(source, path, limits);
    // An error counts only then, too.
    if (source.unchanged()) return session;
    if (std::chrono::steady_clock::now() >= end) {
      return refuse(path,
                    fmt::format("is being written by another program and could not be read "
                                "in {} s between its writes; try again when it is done ({})",
                                kReadLimit.count(),
                                session.ok() ? "it changed meanwhile" : session.error().message));
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace profiling
