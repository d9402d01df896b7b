// Opens a session file that may come from anywhere. Nothing in it is believed before it is checked,
// and nothing is allocated by its word alone: identity, then SQLite's guards, tables, cells, rules.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/input/regular_file.h"
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

/// Starts with the file, as all that is said of a recording does.
engine::Error refuse(const std::string& path, const engine::Error& why) {
  if (why.message.starts_with(path)) return why;
  return {why.code, fmt::format("{}: {}", path, why.message)};
}

struct FileFacts {
  std::int64_t bytes = 0;
  std::int64_t log_bytes = 0;  // of the write-ahead log that a living or dead writer left
};

/// Before SQLite opens it: SQLite would wait for a FIFO.
engine::Result<std::int64_t> regular_size(const std::string& path) {
  const engine::Result<engine::RegularFile> file = engine::RegularFile::open(path);
  if (!file.ok()) return refuse(path, file.error());
  return static_cast<std::int64_t>(file.value().size());
}

engine::Result<FileFacts> examine_files(const std::string& path, const SessionLimits& limits) {
  const engine::Result<std::int64_t> bytes = regular_size(path);
  if (!bytes.ok()) return bytes.error();
  FileFacts facts{.bytes = bytes.value()};
  std::error_code ignored;
  if (std::filesystem::exists(path + "-wal", ignored)) {
    const engine::Result<std::int64_t> log = regular_size(path + "-wal");
    if (!log.ok()) return log.error();
    facts.log_bytes = log.value();
  }
  if (std::filesystem::exists(path + "-journal", ignored)) {
    return refuse(path, fmt::format("{}-journal lies beside it, so a change was interrupted; open "
                                    "both with sqlite3 once to undo it",
                                    path));
  }
  if (facts.bytes > limits.max_file_bytes || facts.log_bytes > limits.max_file_bytes) {
    return refuse(path, fmt::format("has {} bytes; the limit is {}",
                                    std::max(facts.bytes, facts.log_bytes), limits.max_file_bytes));
  }
  return facts;
}

/// SQLite's file header is big-endian (sqlite.org/fileformat.html, section 1.3).
std::uint32_t header_word(const std::array<unsigned char, 100>& header, std::size_t offset) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word = word << 8 | header.at(offset + i);
  return word;
}

/// The schema version of a file that is a session file.
engine::Result<std::int32_t> check_identity(const std::string& path, const FileFacts& facts) {
  std::array<unsigned char, 100> header{};
  engine::Result<engine::RegularFile> file = engine::RegularFile::open(path);
  if (!file.ok()) return refuse(path, file.error());
  const engine::Result<std::string> begin = file.value().read(header.size());
  if (!begin.ok()) return refuse(path, begin.error());
  std::ranges::copy(begin.value(), header.begin());
  if (begin.value().size() < header.size()) {
    return refuse(path, fmt::format("has {} bytes and cannot be read as a session file; the header "
                                    "alone takes {}",
                                    facts.bytes, header.size()));
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
  if (facts.log_bytes == 0 && declared > facts.bytes) {
    return refuse(
        path, fmt::format("is cut short: it has {} bytes and declares {}", facts.bytes, declared));
  }
  return version;
}

/// A path as an SQLite URI. Without a log the file is opened as immutable: no lock and no file
/// beside it, so a recording on read-only media opens. With a log (a writer lives or has crashed)
/// SQLite must read it, and needs to make a -shm file for that.
std::string uri_of(const std::string& path, bool immutable) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/._-~").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + (immutable ? "?immutable=1" : "?mode=ro");
}

/// Bounds on what one hostile cell or statement may cost.
void set_guards(sqlite3* database) {
  for (const auto& [option, value] :
       {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1}, std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        std::pair{SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
        std::pair{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}}) {
    sqlite3_db_config(database, option, value, nullptr);
  }
  for (const auto& [limit, value] :
       {std::pair{SQLITE_LIMIT_LENGTH, kMaxCellBytes}, std::pair{SQLITE_LIMIT_SQL_LENGTH, 16384},
        std::pair{SQLITE_LIMIT_COLUMN, 64}, std::pair{SQLITE_LIMIT_EXPR_DEPTH, 16},
        std::pair{SQLITE_LIMIT_VDBE_OP, 10000}, std::pair{SQLITE_LIMIT_ATTACHED, 0},
        std::pair{SQLITE_LIMIT_TRIGGER_DEPTH, 1}, std::pair{SQLITE_LIMIT_WORKER_THREADS, 0}}) {
    sqlite3_limit(database, limit, value);
  }
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

}  // namespace

engine::Result<Session> open_session(const std::string& path, const RequestCodec& codec,
                                     const SessionLimits& limits) {
  const engine::Result<FileFacts> facts = examine_files(path, limits);
  if (!facts.ok()) return facts.error();
  const engine::Result<std::int32_t> version = check_identity(path, facts.value());
  if (!version.ok()) return version.error();
  sqlite3* raw = nullptr;
  const bool immutable = facts.value().log_bytes == 0;
  const int code =
      sqlite3_open_v2(uri_of(path, immutable).c_str(), &raw,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  const Database database(raw);
  if (code != SQLITE_OK) return refuse(path, sqlite3_errstr(code));
  set_guards(raw);
  const WorkLimit work(raw, limits);
  MemoryBudget budget(limits.max_memory_bytes);
  engine::Status status = execute_sql(raw, path, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0");
  if (status.ok()) status = check_tables(raw, path, version.value(), budget);
  Session session;
  session.path = path;
  std::vector<std::int64_t> record_counts;
  const TableSource source{.database = raw,
                           .path = path,
                           .codec = codec,
                           .limits = limits,
                           .file_bytes = facts.value().bytes + facts.value().log_bytes,
                           .budget = budget,
                           .record_counts = record_counts};
  if (status.ok()) status = read_tables(source, session);
  if (status.ok() && version.value() >= kComparisonsVersion) {
    status = read_comparisons(source, session);
  }
  if (status.ok() && version.value() >= kLinearStepVersion) {
    status = read_step_tables(source, session);
  }
  if (status.ok() && version.value() >= kDoctorVersion) {
    status = read_visits(source, session);
    if (status.ok()) status = read_snapshots(source, session);
  }
  if (status.ok() && version.value() >= kMeasurementVersion) {
    status = read_measurement_tables(source, session);
    if (status.ok()) status = read_numerics_tables(source, session);
  }
  if (status.ok() && version.value() >= kEventVersion) {
    status = read_event_tables(source, session);
    if (status.ok()) status = read_expert_ulps(source, session);
    if (status.ok()) status = read_marker_costs(source, session);
  }
  if (status.ok() && version.value() >= kWatchAndHistoryVersion) {
    status = read_replay_watches(source, session);
    if (status.ok()) status = read_stall_percentiles(source, session);
    if (status.ok()) status = read_histories(source, session);
  }
  if (!status.ok()) return status.error();
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    if (engine::Status rules = check_run(session.runs[i]); !rules.ok()) {
      return refuse(path, fmt::format("run {}: {}", i + 1, rules.error().message));
    }
  }
  for (std::size_t i = 0; i < session.comparisons.size(); ++i) {
    if (engine::Status rules = check_comparison(session.comparisons[i]); !rules.ok()) {
      return refuse(path, fmt::format("comparison {}: {}", i + 1, rules.error().message));
    }
  }
  for (std::size_t i = 0; i < session.histories.size(); ++i) {
    if (engine::Status rules = check_history(session.histories[i]); !rules.ok()) {
      return refuse(path, fmt::format("history {}: {}", i + 1, rules.error().message));
    }
  }
  for (std::size_t i = 0; i < session.visits.size(); ++i) {
    if (engine::Status rules = check_visit(session.visits[i]); !rules.ok()) {
      return refuse(path, fmt::format("visit {}: {}", i + 1, rules.error().message));
    }
  }
  return session;
}

}  // namespace profiling
