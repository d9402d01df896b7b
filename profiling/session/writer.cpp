// Writes a session: one transaction a run, so that a crash leaves whole runs only. WAL with
// synchronous FULL: what was committed survives a power loss too; closing folds the log back into
// one file. The open file is what counts, not its name: when the name is taken away, the recording
// is copied to another one and goes on there.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/model/text.h"
#include "profiling/session/comparison_rules.h"
#include "profiling/session/comparison_tables.h"
#include "profiling/session/doctor_rules.h"
#include "profiling/session/event_tables.h"
#include "profiling/session/float_blob.h"
#include "profiling/session/history_tables.h"
#include "profiling/session/measurement_tables.h"
#include "profiling/session/numerics_tables.h"
#include "profiling/session/recording_file.h"
#include "profiling/session/run_rules.h"
#include "profiling/session/run_tables.h"
#include "profiling/session/schema.h"
#include "profiling/session/session_file.h"
#include "profiling/session/snapshot_tables.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/step_tables.h"
#include "profiling/session/table_writer.h"
#include "profiling/session/ulp_tables.h"
#include "profiling/session/visit_tables.h"
#include "profiling/session/watch_tables.h"

namespace profiling {
namespace {

engine::Status write_header(const Target& to, std::int64_t run_id, const RecordedRun& run,
                            const RequestCodec& codec) {
  const engine::RunResult& result = run.result;
  const engine::DeviceFacts& device = result.device;
  TableWriter runs(to, "runs", 19);
  runs.row(run_id, result.id, run.wall_clock_ms, codec.to_json(run.request),
           codec.to_json(result.effective), device.name, device.driver, device.compute_capability,
           device.cublaslt_version, device.cublaslt_path, device.blas, device.multiprocessors,
           device.memory_bytes, result.iteration_method, result.activity_method,
           result.dropped_records, result.flop, result.wall_ns, run.activity.records.size());
  return runs.take();
}

engine::Status write_deviations(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter deviations(to, "deviations", 6);
  std::int64_t position = 0;
  for (const engine::Deviation& deviation : run.result.deviations) {
    deviations.row(run_id, position++, deviation.field, deviation.requested, deviation.effective,
                   deviation.reason);
  }
  return deviations.take();
}

engine::Status write_splits(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter splits(to, "splits", 3);
  std::int64_t expert = 0;
  for (const std::int64_t tokens : run.result.splits) splits.row(run_id, expert++, tokens);
  return splits.take();
}

engine::Status write_experts(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter experts(to, "experts", 9);
  std::int64_t position = 0;
  for (const engine::ExpertResult& expert : run.result.experts) {
    experts.row(run_id, position++, expert.rows, expert.snr_db, expert.max_abs_error,
                expert.reference_rms, expert.saturated, expert.underflowed, expert.x_snr_db);
  }
  return experts.take();
}

engine::Status write_iterations(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter iterations(to, "iterations", 4);
  std::int64_t position = 0;
  for (const engine::Iteration& iteration : run.result.iterations) {
    iterations.row(run_id, position++, iteration.start_ns, iteration.duration_ns);
  }
  return iterations.take();
}

engine::Status write_replay_checks(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter checks(to, "replay_checks", 5);
  TableWriter wrong(to, "replay_wrong_experts", 3);
  std::int64_t position = 0;
  for (const engine::ReplayCheck& check : run.result.replay_checks) {
    checks.row(run_id, position, check.replay, check.layer, check.wrong_experts.size());
    for (const int expert : check.wrong_experts) wrong.row(run_id, position, expert);
    ++position;
  }
  engine::Status status = checks.take();
  return status.ok() ? wrong.take() : std::move(status);
}

/// In the order of kOperandNames; dY only where there was a backward pass.
std::vector<const engine::OperandStatistics*> operands_of(const RecordedRun& run) {
  std::vector<const engine::OperandStatistics*> operands = {&run.result.activations,
                                                            &run.result.weights};
  if (run.result.backward) operands.push_back(&run.result.gradients);
  return operands;
}

engine::Status write_histograms(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter histograms(to, "histograms", 8);
  TableWriter bins(to, "histogram_bins", 6);
  std::size_t operand_name = 0;
  for (const engine::OperandStatistics* operand : operands_of(run)) {
    const std::string_view name = kOperandNames[operand_name++];
    std::size_t kind_name = 0;
    for (const engine::MagnitudeHistogram* histogram :
         {&operand->before, &operand->after, &operand->amax, &operand->scale}) {
      const std::string_view kind = kHistogramKinds[kind_name++];
      histograms.row(run_id, name, kind, histogram->first_bin, histogram->counts.size(),
                     histogram->zeros, histogram->infinities, histogram->nans);
      int bin = histogram->first_bin;
      for (const std::uint64_t count : histogram->counts) {
        if (count != 0) bins.row(run_id, name, kind, bin, histogram_lower_edge(bin), count);
        ++bin;
      }
    }
  }
  engine::Status status = histograms.take();
  return status.ok() ? bins.take() : std::move(status);
}

engine::Status write_operands(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter operands(to, "operands", 6);
  TableWriter maps(to, "scale_maps", 10);
  TableWriter map_experts(to, "scale_map_experts", 4);
  std::size_t operand_name = 0;
  for (const engine::OperandStatistics* operand : operands_of(run)) {
    const std::string_view name = kOperandNames[operand_name++];
    operands.row(run_id, name, operand->elements, operand->saturated, operand->underflowed,
                 operand->snr_db);
    const engine::ScaleMap& map = operand->scale_map;
    maps.row(run_id, name, map.block_rows, map.block_columns, map.source_rows, map.source_columns,
             map.rows, map.columns, compress_floats(map.mean), compress_floats(map.maximum));
    std::int64_t position = 0;
    for (const std::int64_t row : map.expert_first_row) {
      map_experts.row(run_id, name, position++, row);
    }
  }
  engine::Status status = operands.take();
  if (status.ok()) status = maps.take();
  return status.ok() ? map_experts.take() : std::move(status);
}

engine::Status write_records(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter names(to, "names", 3);
  std::int64_t name_id = 0;
  for (const std::string& name : run.activity.names) names.row(run_id, name_id++, name);
  TableWriter records(to, "records", 12);
  for (const ActivityRecord& record : run.activity.records) {
    records.row(nullptr, run_id, record.start_ns, record.end_ns,
                std::bit_cast<std::int64_t>(record.node_id), record.name, record.iteration,
                record.expert, record.layer, static_cast<int>(record.kind), record.lane,
                static_cast<int>(record.stage));
  }
  engine::Status status = names.take();
  return status.ok() ? records.take() : std::move(status);
}

engine::Status write_graph(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter nodes(to, "graph_nodes", 6);
  TableWriter edges(to, "graph_edges", 4);
  std::int64_t position = 0;
  for (const GraphNode& node : run.activity.nodes) {
    nodes.row(run_id, position, std::bit_cast<std::int64_t>(node.id), node.name,
              static_cast<int>(node.stage), node.layer);
    std::int64_t edge = 0;
    for (const std::uint64_t dependency : node.dependencies) {
      edges.row(run_id, position, edge++, std::bit_cast<std::int64_t>(dependency));
    }
    ++position;
  }
  engine::Status status = nodes.take();
  return status.ok() ? edges.take() : std::move(status);
}

engine::Status create_tables(const Target& to) {
  const auto run = [&](const std::string& sql) { return execute_sql(to.database, to.path, sql); };
  engine::Status status = run("BEGIN");
  if (status.ok()) status = run(fmt::format("PRAGMA application_id={}", kApplicationId));
  if (status.ok()) status = run(fmt::format("PRAGMA user_version={}", kSchemaVersion));
  for (const TableDefinition& table : session_tables()) {
    if (status.ok()) status = run(table.sql);
  }
  if (!status.ok()) return status;
  TableWriter stages(to, "stages", 2);
  int stage = 0;
  for (const std::string_view name : engine::kStageNames) stages.row(stage++, name);
  TableWriter kinds(to, "activity_kinds", 2);
  int kind = 0;
  for (const std::string_view name : kActivityKindNames) kinds.row(kind++, name);
  status = stages.take();
  if (status.ok()) status = kinds.take();
  if (status.ok()) status = write_doctor_words(to);
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
  engine::Status status = create_tables({.database = raw, .path = path});
  if (!status.ok()) return status.error();
  return database;
}

/// A file of them: no half of it is ever on a disk.
engine::Result<std::vector<std::byte>> file_of(sqlite3* tables, const std::string& path) {
  sqlite3_int64 bytes = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> image(
      sqlite3_serialize(tables, "main", &bytes, 0), &sqlite3_free);
  if (image == nullptr) {
    return engine::Error{engine::ErrorCode::OutOfMemory, path + ": no memory for its tables"};
  }
  const auto* first = reinterpret_cast<const std::byte*>(image.get());
  std::vector<std::byte> file(first, first + bytes);
  // Write and read version 2 mean WAL (sqlite.org/fileformat.html, section 1.3). Asked of SQLite
  // later, the change would pass through a rollback journal, and a kill then would leave that.
  file.at(18) = file.at(19) = std::byte{2};
  return file;
}

/// The log of an earlier recording of this name would be taken for the log of a later one.
engine::Status check_nothing_beside(const std::string& path) {
  for (const char* side : {"-wal", "-journal"}) {
    if (identity_of(path + side)) {
      return engine::Error{
          engine::ErrorCode::Io,
          fmt::format("{}: {}{} is left from another recording; choose another name", path, path,
                      side)};
    }
  }
  return {};
}

/// A recording's files as SQLite holds them open. It never replaces one of them by itself.
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

  /// What became of the name; empty = the files are where they were.
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

  /// Everything committed so far into a file of this name, which must be free.
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
      // Nobody knows the file yet: it needs no journal, and publish() brings it to the disk.
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

  /// Closes it. `keep`: as one plain file, which is what people copy; should a step fail, the log
  /// stays beside the file, and both together are still a whole recording. Otherwise what is left
  /// under its name is removed, as far as it is its own.
  void close(bool keep) {
    if (database_ == nullptr) return;
    if (keep) {
      sqlite3_exec(database(), "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
      // MEMORY: leaving WAL writes one page; a journal of it would outlive a kill.
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

  // Whoever wants to hear of a failure calls close().
  ~SqliteSessionWriter() override { static_cast<void>(close()); }

  engine::Status append(const RecordedRun& run) override {
    return append_one("run", counts_.runs, run, check_run(run), &run.snapshot);
  }
  engine::Status append(const RecordedVisit& visit) override {
    return append_one("visit", counts_.visits, visit, check_visit(visit), &visit.report.snapshot);
  }
  engine::Status append(const RecordedComparison& comparison) override {
    return append_one("comparison", counts_.comparisons, comparison, check_comparison(comparison));
  }
  engine::Status append(const RecordedHistory& history) override {
    return append_one("history", counts_.histories, history, check_history(history));
  }

  engine::Status set_time_notes(std::size_t run, const std::vector<TimeNote>& notes) override {
    if (static_cast<std::int64_t>(run) >= counts_.runs) {
      return engine::Error{engine::ErrorCode::InvalidArgument,
                           fmt::format("{}: there is no run {} to pin notes to", path(), run + 1)};
    }
    if (engine::Status status = check_time_notes(notes); !status.ok()) return status;
    return in_transaction(
        [&] { return replace_time_notes(target(), static_cast<std::int64_t>(run) + 1, notes); });
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
    // The folder may be gone too; what was measured must not go with it.
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
          "{} {} while it was written. The whole recording is in {} now and goes "
          "on there.",
          old_path, displacement, path());
      return {};
    }
    return engine::Error{
        status.error().code,
        fmt::format("{} {} while it was written, and the recording cannot be copied: {}", path(),
                    displacement, status.error().message)};
  }

  engine::Status move_to(const std::string& path) override {
    engine::Status status = file_.copy_to(path);
    if (!status.ok()) return status;
    engine::Result<OpenRecording> copy = OpenRecording::open(path);
    if (!copy.ok()) return copy.error();
    file_.close(file_.displacement().empty());
    file_ = std::move(copy).value();
    return {};
  }

  engine::Status close() override {
    if (file_.database() == nullptr) return {};
    engine::Status status = keep_in_place();
    // A file that nobody can name any more needs no log.
    file_.close(status.ok());
    return status;
  }

  const std::string& path() const override { return file_.path(); }
  std::string take_notice() override { return std::exchange(notice_, {}); }

 private:
  static constexpr std::size_t kMaxNoteBytes = 1 << 20;

  Target target() const { return {.database = file_.database(), .path = file_.path()}; }

  /// What is in a file; the next of each kind has the next number.
  struct Counts {
    std::int64_t runs = 0;
    std::int64_t comparisons = 0;
    std::int64_t histories = 0;
    std::int64_t visits = 0;
    std::int64_t snapshots = 0;
  };

  /// The counters move on only if all of it is in the file.
  template <class Recorded>
  engine::Status append_one(const char* kind, std::int64_t& counter, const Recorded& recorded,
                            engine::Status rules, const Snapshot* snapshot = nullptr) {
    if (rules.ok()) rules = rehearse(recorded);
    if (!rules.ok()) {
      return engine::Error{rules.error().code, fmt::format("{}: the {} is not recorded: {}", path(),
                                                           kind, rules.error().message)};
    }
    // A failed copy is tried again before more goes where nobody can find it.
    engine::Status status = keep_in_place();
    if (status.ok()) {
      status = in_transaction([&] { return write(target(), counts_, recorded); });
    }
    if (!status.ok()) {
      return engine::Error{status.error().code,
                           fmt::format("{}; {} {} is not in the recording, which has {} run(s)",
                                       status.error().message, kind, counter + 1, counts_.runs)};
    }
    ++counter;
    if (snapshot != nullptr && is_kept(*snapshot)) ++counts_.snapshots;
    // It is committed: should the copy fail now, the next call or close() says so.
    static_cast<void>(keep_in_place());
    return {};
  }

  /// What a reader refuses would cost the file all that is in it already. So everything is written
  /// into memory first and read back there: the reader's rules hold here without being said again.
  template <class Recorded>
  engine::Status rehearse(const Recorded& recorded) {
    static const std::string kWords = "it could not be read again";
    sqlite3* database = rehearsal_.get();
    engine::Status status = execute_sql(database, kWords, "BEGIN");
    if (status.ok()) status = write({database, kWords}, {}, without_records(recorded));
    if (status.ok()) status = check_readable(database, kWords, codec_);
    sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);
    if (status.ok() || status.error().code == engine::ErrorCode::OutOfMemory) return status;
    // Also what SQLite itself refused: no disk had a part in it.
    return engine::Error{engine::ErrorCode::InvalidArgument, status.error().message};
  }

  /// There may be millions, and run_rules.h has all the rules of records and events.
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

  static bool is_kept(const Snapshot& snapshot) { return !(snapshot == Snapshot{}); }
  static engine::Status keep(const Target& to, const Counts& before, const Snapshot& snapshot,
                             SnapshotOwner owner) {
    if (!is_kept(snapshot)) return {};
    return write_snapshot(to, before.snapshots + 1, owner, snapshot);
  }

  engine::Status write(const Target& to, const Counts& before, const RecordedRun& run) const {
    const std::int64_t run_id = before.runs + 1;
    engine::Status status = write_header(to, run_id, run, codec_);
    for (const auto write_part :
         {write_deviations, write_splits, write_experts, write_iterations, write_replay_checks,
          write_operands, write_histograms, write_records, write_graph, write_step_tables,
          write_measurement_tables, write_numerics_tables, write_event_tables, write_expert_ulps,
          write_replay_watch}) {
      if (!status.ok()) return status;
      status = write_part(to, run_id, run);
    }
    return status.ok() ? keep(to, before, run.snapshot, {.visit = false, .id = run_id}) : status;
  }
  engine::Status write(const Target& to, const Counts& before, const RecordedVisit& visit) const {
    const std::int64_t id = before.visits + 1;
    engine::Status status = write_visit(to, id, visit, codec_);
    return status.ok() ? keep(to, before, visit.report.snapshot, {.visit = true, .id = id})
                       : status;
  }
  engine::Status write(const Target& to, const Counts& before,
                       const RecordedComparison& comparison) const {
    return write_comparison(to, before.comparisons + 1, comparison, codec_);
  }
  engine::Status write(const Target& to, const Counts& before,
                       const RecordedHistory& history) const {
    return write_history(to, before.histories + 1, history, codec_);
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
  engine::Result<Database> tables = empty_tables(path);
  if (!tables.ok()) return tables.error();
  const engine::Result<std::vector<std::byte>> empty = file_of(tables.value().get(), path);
  if (!empty.ok()) return empty.error();
  engine::Result<UnpublishedFile> file = UnpublishedFile::create(path);
  if (!file.ok()) return file.error();
  status = file.value().write(empty.value());
  if (status.ok()) status = file.value().publish();
  if (!status.ok()) return status.error();
  engine::Result<OpenRecording> opened = OpenRecording::open(path);
  if (!opened.ok()) {
    for (const char* part : {"", "-wal", "-shm"}) ::unlink((path + part).c_str());
    return opened.error();
  }
  return std::unique_ptr<SessionWriter>(std::make_unique<SqliteSessionWriter>(
      std::move(opened).value(), std::move(tables).value(), codec));
}

}  // namespace profiling
