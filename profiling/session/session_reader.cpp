// Opens a session file that may come from anywhere. Everything in it is checked before use, and no
// allocation relies on its word alone: identity, SQLite's guards, tables, cells, limits. It is read
// in one transaction, so that a file that is being written is seen at one moment. Without a lock, a
// reading counts only if the file did not change meanwhile.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/input/file_kind.h"
#include "profiling/session/layout.h"
#include "profiling/session/limits.h"
#include "profiling/session/session_file.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/table_reader.h"

namespace profiling {
namespace {

engine::Error refuse(const std::string& path, const std::string& why) {
  return {engine::ErrorCode::InvalidArgument, fmt::format("{}: {}", path, why)};
}

/// State of a file at one moment; different values mean that it was written.
struct FileState {
  bool there = false;
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const FileState&) const = default;
};
struct FileFacts {
  FileState file;
  FileState log;  // the write-ahead log of a running or crashed writer
  bool operator==(const FileFacts&) const = default;
};

/// Regular files only: a pipe or a device would block or never end.
engine::Result<FileState> regular_file(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return FileState{};
  if (!S_ISREG(found.st_mode)) return refuse(path, "is not a regular file");
  return FileState{
      .there = true,
      .device = found.st_dev,
      .inode = found.st_ino,
      .bytes = found.st_size,
      .changed_ns = found.st_mtim.tv_sec * std::int64_t{1'000'000'000} + found.st_mtim.tv_nsec};
}

engine::Result<FileFacts> examine_files(const std::string& path, const SessionLimits& limits) {
  const engine::Result<FileState> file = regular_file(path);
  if (!file.ok()) return file.error();
  if (!file.value().there) {
    return engine::Error{engine::ErrorCode::NotFound, fmt::format("{}: no such file", path)};
  }
  ENGINE_ASSIGN(const FileState log, regular_file(path + "-wal"));
  const FileFacts facts{.file = file.value(), .log = log};
  std::error_code ignored;
  if (std::filesystem::exists(path + "-journal", ignored)) {
    return refuse(path, fmt::format("there is a {}-journal, so a change was interrupted; open it "
                                    "once with sqlite3 to undo the change",
                                    path));
  }
  const std::int64_t bytes = std::max(facts.file.bytes, facts.log.bytes);
  if (bytes > limits.max_file_bytes) {
    return refuse(path, fmt::format("has {} bytes; the limit is {}", bytes, limits.max_file_bytes));
  }
  return facts;
}

/// SQLite's file header is big-endian (sqlite.org/fileformat.html, section 1.3).
using FileHeader = std::array<unsigned char, 100>;

std::uint32_t header_word(const FileHeader& header, std::size_t offset) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word = word << 8 | header.at(offset + i);
  return word;
}

/// Whether it is a session file that this program reads.
engine::Status check_identity(sqlite3* database, const std::string& path, const FileFacts& facts) {
  FileHeader header{};
  if (!read_file_start(database, header)) {
    return refuse(path, fmt::format("has {} bytes and cannot be read as a session file; the header "
                                    "alone takes {}",
                                    facts.file.bytes, header.size()));
  }
  constexpr char kMagic[] = "SQLite format 3";
  if (std::memcmp(header.data(), kMagic, sizeof(kMagic)) != 0) {
    const std::string kind = engine::kind_of_file(
        {reinterpret_cast<const char*>(header.data()), engine::kFileKindBytes});
    return refuse(path, kind.empty() ? "is not an SQLite database, so it is not a session file"
                                     : "is not a session file but " + kind);
  }
  const auto application = static_cast<std::int32_t>(header_word(header, 68));
  if (application != kApplicationId) {
    return refuse(path, fmt::format("is an SQLite database of another program (application_id {}, "
                                    "a session file has {})",
                                    application, kApplicationId));
  }
  const auto format = static_cast<std::int32_t>(header_word(header, 60));
  if (format != kFormat) {
    return refuse(
        path,
        fmt::format("has format {}; this program reads format {}{}", format, kFormat,
                    format > kFormat ? ": a newer Expertscope wrote it"
                                     : ": an older Expertscope wrote it, which can open it; any "
                                       "SQLite program can read its tables"));
  }
  // 1 stands for 65536. With a log, the file may be shorter than declared.
  const std::int64_t stored = header[16] << 8 | header[17];
  const std::int64_t page_bytes = stored == 1 ? 65536 : stored;
  const std::int64_t declared = page_bytes * header_word(header, 28);
  if (facts.log.bytes == 0 && declared > facts.file.bytes) {
    return refuse(path, fmt::format("is cut short: it has {} bytes and declares {}",
                                    facts.file.bytes, declared));
  }
  return {};
}

/// How SQLite opens a file that this program must not change.
enum class Locking {
  Locked,     // a running writer is not held up, and is seen at one moment
  Immutable,  // no lock and no files next to it: read-only media
  Unlocked,   // the same with a crashed writer's log, whose index is kept in memory
};

/// A path as an SQLite URI.
std::string uri_of(const std::string& path, Locking locking) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/._-~").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  switch (locking) {
    case Locking::Locked:
      return uri + "?mode=ro";
    case Locking::Immutable:
      return uri + "?immutable=1";
    case Locking::Unlocked:
      return uri + "?mode=ro&vfs=unix-none";
  }
  return uri;
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

struct Opening {
  std::unique_ptr<WorkLimit> work;  // outlives the statements of the database
  Database database;
  bool locked = false;
};

/// Opens the file, sets the guards, checks its identity and begins the transaction that reads it.
engine::Result<Opening> begin_reading(const std::string& path, const FileFacts& facts,
                                      const SessionLimits& limits, Locking locking) {
  constexpr int kBusyMilliseconds = 2000;
  ENGINE_ASSIGN(Database database,
                open_database(uri_of(path, locking),
                              SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, path));
  sqlite3* const raw = database.get();
  Opening opening{
      .work = nullptr, .database = std::move(database), .locked = locking == Locking::Locked};
  ENGINE_TRY(check_identity(raw, path, facts));
  set_guards(raw);
  opening.work = std::make_unique<WorkLimit>(raw, limits);
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  ENGINE_TRY(execute_sql(raw, path, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0"));
  if (locking == Locking::Unlocked) {
    // Exclusive: SQLite then keeps the log's index in memory. It must not merge the log either.
    sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    ENGINE_TRY(execute_sql(raw, path, "PRAGMA locking_mode=EXCLUSIVE"));
  }
  // The first row, not BEGIN, starts the snapshot.
  ENGINE_TRY(execute_sql(raw, path, "BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1"));
  return opening;
}

/// With locks if there is a writer and they are available.
engine::Result<Opening> begin_reading(const std::string& path, const FileFacts& facts,
                                      const SessionLimits& limits) {
  // A writer has a log. Without one, SQLite would create an index file and leave it behind.
  if (!facts.log.there) return begin_reading(path, facts, limits, Locking::Immutable);
  engine::Result<Opening> opened = begin_reading(path, facts, limits, Locking::Locked);
  std::error_code ignored;
  if (opened.ok() || std::filesystem::exists(path + "-shm", ignored)) return opened;
  // No index can be created: the writer has crashed and the folder is read-only.
  return begin_reading(path, facts, limits, Locking::Unlocked);
}

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
  if (status.ok()) status = read_snapshots(source, session);
  for_each_kind(session, [&]<class Recorded>(const std::vector<Recorded>& all) {
    if (status.ok()) status = check_each(source.path, all);
  });
  return status;
}

struct Reading {
  Session session;
  bool locked = false;
};

engine::Result<Reading> read_once(const std::string& path, const SessionLimits& limits) {
  ENGINE_ASSIGN(const FileFacts before, examine_files(path, limits));
  ENGINE_ASSIGN(const Opening opened, begin_reading(path, before, limits));
  sqlite3* database = opened.database.get();
  // As of the transaction: a writer may have made the files larger since.
  ENGINE_ASSIGN(const FileFacts facts, examine_files(path, limits));
  MemoryBudget budget(limits.max_memory_bytes);
  Session session;
  session.path = path;
  const TableSource source{.database = database,
                           .path = path,
                           .limits = limits,
                           .file_bytes = facts.file.bytes + facts.log.bytes,
                           .budget = budget};
  engine::Status status = check_tables(database, path, budget);
  if (status.ok()) status = read_all(source, session);
  if (!status.ok()) return status.error();
  return Reading{.session = std::move(session), .locked = opened.locked};
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
    const engine::Result<FileFacts> before = examine_files(path, limits);
    engine::Result<Reading> reading = read_once(path, limits);
    if (reading.ok() && reading.value().locked) return std::move(reading).value().session;
    // A reading without a lock counts only if the file did not change; errors too.
    const engine::Result<FileFacts> after = examine_files(path, limits);
    if (!before.ok() || !after.ok() || before.value() == after.value()) {
      if (!reading.ok()) return reading.error();
      return std::move(reading).value().session;
    }
    if (std::chrono::steady_clock::now() >= end) {
      return refuse(path,
                    fmt::format("is being written by another program and could not be read "
                                "in {} s between its writes; try again when it is done ({})",
                                kReadLimit.count(),
                                reading.ok() ? "it changed meanwhile" : reading.error().message));
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace profiling
