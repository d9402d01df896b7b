// Opens a session file that may come from anywhere. Nothing in it is believed before it is checked,
// and nothing is allocated by its word alone: identity, then SQLite's guards, tables, cells, rules.
// All of it is read in one transaction, so that a file that is being written is seen as it was at
// one moment. Where SQLite can take no lock, a reading counts only if the file held still.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "profiling/session/comparison_rules.h"
#include "profiling/session/comparison_tables.h"
#include "profiling/session/doctor_rules.h"
#include "profiling/session/event_tables.h"
#include "profiling/session/history_tables.h"
#include "profiling/session/measurement_tables.h"
#include "profiling/session/numerics_tables.h"
#include "profiling/session/run_rules.h"
#include "profiling/session/run_tables.h"
#include "profiling/session/schema.h"
#include "profiling/session/session_file.h"
#include "profiling/session/snapshot_tables.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/step_tables.h"
#include "profiling/session/ulp_tables.h"
#include "profiling/session/visit_tables.h"
#include "profiling/session/watch_tables.h"

namespace profiling {
namespace {

engine::Error refuse(const std::string& path, const std::string& why) {
  return {engine::ErrorCode::InvalidArgument, fmt::format("{}: {}", path, why)};
}

/// How a file stood when it was looked at; different values mean that somebody wrote.
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
  FileState log;  // the write-ahead log that a living or dead writer left
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
  const engine::Result<FileState> log = regular_file(path + "-wal");
  if (!log.ok()) return log.error();
  const FileFacts facts{.file = file.value(), .log = log.value()};
  std::error_code ignored;
  if (std::filesystem::exists(path + "-journal", ignored)) {
    return refuse(path, fmt::format("{}-journal lies beside it, so a change was interrupted; open "
                                    "both with sqlite3 once to undo it",
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

/// The schema version of a file that is a session file.
engine::Result<std::int32_t> check_identity(sqlite3* database, const std::string& path,
                                            const FileFacts& facts) {
  FileHeader header{};
  if (!read_file_start(database, header)) {
    return refuse(path, fmt::format("has {} bytes and cannot be read as a session file; the header "
                                    "alone takes {}",
                                    facts.file.bytes, header.size()));
  }
  constexpr char kMagic[] = "SQLite format 3";
  if (std::memcmp(header.data(), kMagic, sizeof(kMagic)) != 0) {
    return refuse(path, "is not an SQLite database, so it is no session file");
  }
  const auto application = static_cast<std::int32_t>(header_word(header, 68));
  if (application != kApplicationId) {
    return refuse(path, fmt::format("is an SQLite database of another program (application_id {}, "
                                    "a session file has {})",
                                    application, kApplicationId));
  }
  const auto version = static_cast<std::int32_t>(header_word(header, 60));
  if (version < kOldestSchemaVersion || version > kSchemaVersion) {
    return refuse(
        path, fmt::format("has schema version {}; this program reads versions {} to {}{}", version,
                          kOldestSchemaVersion, kSchemaVersion,
                          version > kSchemaVersion ? ": a newer Expertscope wrote it" : ""));
  }
  // 1 stands for 65536. With a log beside it the file may rightly be shorter than it will be.
  const std::int64_t stored = header[16] << 8 | header[17];
  const std::int64_t page_bytes = stored == 1 ? 65536 : stored;
  const std::int64_t declared = page_bytes * header_word(header, 28);
  if (facts.log.bytes == 0 && declared > facts.file.bytes) {
    return refuse(path, fmt::format("is cut short: it has {} bytes and declares {}",
                                    facts.file.bytes, declared));
  }
  return version;
}

/// How SQLite may be let to a file that this program must not change.
enum class Locking {
  Locked,     // a living writer waits for nobody and is seen as of one moment
  Immutable,  // no lock and nothing made beside the file: read-only media
  Unlocked,   // likewise, with a dead writer's log beside it, whose index is kept in memory
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

/// Stops statements that run on over a damaged tree. A row costs about 20 instructions.
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

/// The tables must be the writer's own, byte for byte, and nothing else may be there: a view, a
/// trigger or an index with an expression would be code from a stranger.
engine::Status check_tables(sqlite3* database, const std::string& path, std::int32_t version,
                            MemoryBudget& budget) {
  std::map<std::string_view, std::string_view> expected;
  for (const TableDefinition& table : session_tables(version)) expected[table.name] = table.sql;
  RowReader rows(database, path, "sqlite_schema", "SELECT type, name, sql FROM sqlite_schema",
                 budget, 0);
  while (rows.next()) {
    const std::string type = rows.text("type");
    const std::string name = rows.text("name");
    const auto known = expected.find(name);
    if (!rows.ok()) break;
    if (type != "table" || known == expected.end()) {
      rows.refuse(fmt::format("{} '{}' does not belong into a session file", type.substr(0, 40),
                              name.substr(0, 80)));
      break;
    }
    if (rows.exact_text("sql") != known->second) {
      rows.refuse(
          fmt::format("table '{}' is not defined as schema version {} defines it", name, version));
      break;
    }
    expected.erase(known);
  }
  engine::Status status = rows.take();
  if (status.ok() && !expected.empty()) {
    return refuse(path, fmt::format("has no table '{}'", expected.begin()->first));
  }
  return status;
}

struct Opening {
  std::unique_ptr<WorkLimit> work;  // outlives the statements of the database
  Database database;
  std::int32_t version = 0;
  bool locked = false;
};

/// Opened, guarded, its identity checked, and at the begin of the one transaction that reads it.
engine::Result<Opening> begin_reading(const std::string& path, const FileFacts& facts,
                                      const SessionLimits& limits, Locking locking) {
  constexpr int kBusyMilliseconds = 2000;
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(uri_of(path, locking).c_str(), &raw,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  Opening opening{.work = nullptr, .database = Database(raw), .locked = locking == Locking::Locked};
  if (code != SQLITE_OK) return refuse(path, sqlite3_errstr(code));
  const engine::Result<std::int32_t> version = check_identity(raw, path, facts);
  if (!version.ok()) return version.error();
  opening.version = version.value();
  set_guards(raw);
  opening.work = std::make_unique<WorkLimit>(raw, limits);
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  engine::Status status = execute_sql(raw, path, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0");
  if (status.ok() && locking == Locking::Unlocked) {
    // Exclusive: SQLite then keeps the log's index in memory. It must not tidy up either.
    sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    status = execute_sql(raw, path, "PRAGMA locking_mode=EXCLUSIVE");
  }
  // The first row, not BEGIN, fixes the moment that is seen.
  if (status.ok()) status = execute_sql(raw, path, "BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1");
  if (!status.ok()) return status.error();
  return opening;
}

/// With locks where they can be had and anybody may need them.
engine::Result<Opening> begin_reading(const std::string& path, const FileFacts& facts,
                                      const SessionLimits& limits) {
  // A writer has a log. Without one SQLite would make its index and leave it behind.
  if (!facts.log.there) return begin_reading(path, facts, limits, Locking::Immutable);
  engine::Result<Opening> opened = begin_reading(path, facts, limits, Locking::Locked);
  std::error_code ignored;
  if (opened.ok() || std::filesystem::exists(path + "-shm", ignored)) return opened;
  // No index, and none can be made: the writer is dead and the folder cannot be written.
  return begin_reading(path, facts, limits, Locking::Unlocked);
}

engine::Status read_all(const TableSource& source, std::int32_t version, Session& session) {
  engine::Status status = read_tables(source, session);
  if (status.ok() && version >= kComparisonsVersion) status = read_comparisons(source, session);
  if (status.ok() && version >= kLinearStepVersion) status = read_step_tables(source, session);
  if (status.ok() && version >= kDoctorVersion) {
    status = read_visits(source, session);
    if (status.ok()) status = read_snapshots(source, session);
  }
  if (status.ok() && version >= kMeasurementVersion) {
    status = read_measurement_tables(source, session);
    if (status.ok()) status = read_numerics_tables(source, session);
  }
  if (status.ok() && version >= kEventVersion) {
    status = read_event_tables(source, session);
    if (status.ok()) status = read_expert_ulps(source, session);
    if (status.ok()) status = read_marker_costs(source, session);
  }
  if (status.ok() && version >= kWatchAndHistoryVersion) {
    status = read_replay_watches(source, session);
    if (status.ok()) status = read_stall_percentiles(source, session);
    if (status.ok()) status = read_histories(source, session);
  }
  return status;
}

engine::Status check_all(const Session& session) {
  const auto check = [&](const char* kind, const auto& all,
                         const auto& rules_of) -> engine::Status {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (engine::Status rules = rules_of(all[i]); !rules.ok()) {
        return refuse(session.path, fmt::format("{} {}: {}", kind, i + 1, rules.error().message));
      }
    }
    return {};
  };
  engine::Status status = check("run", session.runs, check_run);
  if (status.ok()) status = check("comparison", session.comparisons, check_comparison);
  if (status.ok()) status = check("history", session.histories, check_history);
  if (status.ok()) status = check("visit", session.visits, check_visit);
  return status;
}

struct Reading {
  Session session;
  bool locked = false;
};

engine::Result<Reading> read_once(const std::string& path, const RequestCodec& codec,
                                  const SessionLimits& limits) {
  const engine::Result<FileFacts> before = examine_files(path, limits);
  if (!before.ok()) return before.error();
  const engine::Result<Opening> opened = begin_reading(path, before.value(), limits);
  if (!opened.ok()) return opened.error();
  sqlite3* database = opened.value().database.get();
  // As of the transaction: a writer may have made the files larger since.
  const engine::Result<FileFacts> facts = examine_files(path, limits);
  if (!facts.ok()) return facts.error();
  MemoryBudget budget(limits.max_memory_bytes);
  Session session;
  session.path = path;
  std::vector<std::int64_t> record_counts;
  const TableSource source{.database = database,
                           .path = path,
                           .codec = codec,
                           .limits = limits,
                           .file_bytes = facts.value().file.bytes + facts.value().log.bytes,
                           .budget = budget,
                           .record_counts = record_counts};
  engine::Status status = check_tables(database, path, opened.value().version, budget);
  if (status.ok()) status = read_all(source, opened.value().version, session);
  if (status.ok()) status = check_all(session);
  if (!status.ok()) return status.error();
  return Reading{.session = std::move(session), .locked = opened.value().locked};
}

}  // namespace

engine::Status check_readable(sqlite3* database, const std::string& path,
                              const RequestCodec& codec) {
  const SessionLimits limits;
  MemoryBudget budget(limits.max_memory_bytes);
  std::vector<std::int64_t> record_counts;
  Session session;
  session.path = path;
  engine::Status status = read_all({.database = database,
                                    .path = path,
                                    .codec = codec,
                                    .limits = limits,
                                    .file_bytes = limits.max_file_bytes,
                                    .budget = budget,
                                    .record_counts = record_counts},
                                   kSchemaVersion, session);
  return status.ok() ? check_all(session) : status;
}

engine::Result<Session> open_session(const std::string& path, const RequestCodec& codec,
                                     const SessionLimits& limits) {
  constexpr auto kPatience = std::chrono::seconds(5);
  constexpr auto kPause = std::chrono::milliseconds(20);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    const engine::Result<FileFacts> before = examine_files(path, limits);
    engine::Result<Reading> reading = read_once(path, codec, limits);
    if (reading.ok() && reading.value().locked) return std::move(reading).value().session;
    // What was read without a lock is believed only of a file that held still; errors too.
    const engine::Result<FileFacts> after = examine_files(path, limits);
    if (!before.ok() || !after.ok() || before.value() == after.value()) {
      if (!reading.ok()) return reading.error();
      return std::move(reading).value().session;
    }
    if (std::chrono::steady_clock::now() >= end) {
      return refuse(path,
                    fmt::format("is being written by another program and could not be read "
                                "in {} s between its writes; try again when it is done ({})",
                                kPatience.count(),
                                reading.ok() ? "it changed meanwhile" : reading.error().message));
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace profiling
