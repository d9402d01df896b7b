// Writes a session: one transaction a run, so that a crash leaves whole runs only. WAL with
// synchronous NORMAL survives the death of the process; closing folds the log back into one file.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
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
#include "profiling/session/run_rules.h"
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

class SqliteSessionWriter final : public SessionWriter {
 public:
  SqliteSessionWriter(Database database, std::string path, const RequestCodec& codec)
      : database_(std::move(database)), path_(std::move(path)), codec_(codec) {}
  SqliteSessionWriter(const SqliteSessionWriter&) = delete;
  SqliteSessionWriter& operator=(const SqliteSessionWriter&) = delete;

  ~SqliteSessionWriter() override {
    // One plain file is what people copy. Should a step fail, the log stays beside the file, and
    // both together are still a whole recording.
    sqlite3_exec(database_.get(), "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
    sqlite3_exec(database_.get(), "PRAGMA journal_mode=DELETE", nullptr, nullptr, nullptr);
  }

  engine::Status append(const RecordedRun& run) override {
    if (engine::Status status = check_run(run); !status.ok()) {
      return engine::Error{status.error().code, fmt::format("{}: the run is not recorded: {}",
                                                            path_, status.error().message)};
    }
    return counted(runs_, run.snapshot, [&] { return write_run(run); });
  }

  engine::Status append(const RecordedVisit& visit) override {
    if (engine::Status status = check_visit(visit); !status.ok()) {
      return engine::Error{status.error().code, fmt::format("{}: the visit is not recorded: {}",
                                                            path_, status.error().message)};
    }
    const Target to{.database = database_.get(), .path = path_};
    return counted(visits_, visit.report.snapshot, [&] {
      const std::int64_t id = visits_ + 1;
      engine::Status status = write_visit(to, id, visit, codec_);
      return status.ok() ? keep(visit.report.snapshot, {.visit = true, .id = id}) : status;
    });
  }

  engine::Status append(const RecordedComparison& comparison) override {
    if (engine::Status status = check_comparison(comparison); !status.ok()) {
      return engine::Error{
          status.error().code,
          fmt::format("{}: the comparison is not recorded: {}", path_, status.error().message)};
    }
    const Target to{.database = database_.get(), .path = path_};
    engine::Status status =
        in_transaction([&] { return write_comparison(to, comparisons_ + 1, comparison, codec_); });
    if (status.ok()) ++comparisons_;
    return status;
  }

  engine::Status append(const RecordedHistory& history) override {
    if (engine::Status status = check_history(history); !status.ok()) {
      return engine::Error{status.error().code, fmt::format("{}: the history is not recorded: {}",
                                                            path_, status.error().message)};
    }
    const Target to{.database = database_.get(), .path = path_};
    engine::Status status =
        in_transaction([&] { return write_history(to, histories_ + 1, history, codec_); });
    if (status.ok()) ++histories_;
    return status;
  }

  engine::Status set_time_notes(std::size_t run, const std::vector<TimeNote>& notes) override {
    if (static_cast<std::int64_t>(run) >= runs_) {
      return engine::Error{engine::ErrorCode::InvalidArgument,
                           fmt::format("{}: there is no run {} to pin notes to", path_, run + 1)};
    }
    if (engine::Status status = check_time_notes(notes); !status.ok()) return status;
    const Target to{.database = database_.get(), .path = path_};
    return in_transaction(
        [&] { return replace_time_notes(to, static_cast<std::int64_t>(run) + 1, notes); });
  }

  engine::Status set_note(const std::string& key, const std::string& value) override {
    if (!engine::is_clean_text(key) || !engine::is_clean_text(value) ||
        key.size() + value.size() > kMaxNoteBytes) {
      return engine::Error{
          engine::ErrorCode::InvalidArgument,
          fmt::format("{}: note '{}' has {} bytes; it must be UTF-8 text of at most {} bytes",
                      path_, key.substr(0, 40), key.size() + value.size(), kMaxNoteBytes)};
    }
    auto statement = Statement::prepare(database_.get(), path_,
                                        "INSERT INTO notes VALUES(?, ?) ON CONFLICT(key) DO "
                                        "UPDATE SET value = excluded.value");
    if (!statement.ok()) return statement.error();
    return statement.value().text(key).text(value).execute();
  }

 private:
  static constexpr std::size_t kMaxNoteBytes = 1 << 20;

  template <class Work>
  engine::Status in_transaction(Work work) {
    engine::Status status = execute_sql(database_.get(), path_, "BEGIN IMMEDIATE");
    if (!status.ok()) return status;
    status = work();
    if (status.ok()) status = execute_sql(database_.get(), path_, "COMMIT");
    // A failed COMMIT may leave the transaction open, which would swallow every later run.
    if (!status.ok()) sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
  }

  /// The counters move on only if all of it is in the file.
  template <class Work>
  engine::Status counted(std::int64_t& counter, const Snapshot& snapshot, Work work) {
    engine::Status status = in_transaction(work);
    if (!status.ok()) return status;
    ++counter;
    if (is_kept(snapshot)) ++snapshots_;
    return status;
  }
  static bool is_kept(const Snapshot& snapshot) { return !(snapshot == Snapshot{}); }
  engine::Status keep(const Snapshot& snapshot, SnapshotOwner owner) {
    if (!is_kept(snapshot)) return {};
    const Target to{.database = database_.get(), .path = path_};
    return write_snapshot(to, snapshots_ + 1, owner, snapshot);
  }

  engine::Status write_run(const RecordedRun& run) {
    const Target to{.database = database_.get(), .path = path_};
    const std::int64_t run_id = runs_ + 1;
    engine::Status status = write_header(to, run_id, run, codec_);
    for (const auto write :
         {write_deviations, write_splits, write_experts, write_iterations, write_replay_checks,
          write_operands, write_histograms, write_records, write_graph, write_step_tables,
          write_measurement_tables, write_numerics_tables, write_event_tables, write_expert_ulps,
          write_replay_watch}) {
      if (!status.ok()) break;
      status = write(to, run_id, run);
    }
    if (status.ok()) status = keep(run.snapshot, {.visit = false, .id = run_id});
    return status;
  }

  Database database_;
  std::string path_;
  const RequestCodec& codec_;
  std::int64_t runs_ = 0;
  std::int64_t comparisons_ = 0;
  std::int64_t histories_ = 0;
  std::int64_t visits_ = 0;
  std::int64_t snapshots_ = 0;
};

engine::Status create_tables(const Target& to) {
  const auto run = [&](const std::string& sql) { return execute_sql(to.database, to.path, sql); };
  engine::Status status = run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; BEGIN");
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
  // The checkpoint puts the file's identity and tables into the main file, so that a reader can
  // tell what it is before it trusts a log beside it.
  return status.ok() ? run("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)") : status;
}

}  // namespace

engine::Result<std::unique_ptr<SessionWriter>> SessionWriter::create(const std::string& path,
                                                                     const RequestCodec& codec) {
  const auto fail = [&](std::string why) {
    return engine::Error{engine::ErrorCode::Io, fmt::format("{}: {}", path, why)};
  };
  for (const char* side : {"-wal", "-journal"}) {
    std::error_code ignored;
    if (std::filesystem::exists(path + side, ignored)) {
      return fail(
          fmt::format("{}{} is left from another recording; choose another name", path, side));
    }
  }
  // Exclusive creation is the only test of existence without a race.
  const int descriptor = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    if (errno == EEXIST) return fail("exists already and is not overwritten; choose another name");
    return fail(fmt::format("cannot be created: {}", std::strerror(errno)));
  }
  ::close(descriptor);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
  Database database(raw);
  engine::Status status;
  if (code != SQLITE_OK) status = fail(sqlite3_errstr(code));
  if (status.ok()) status = create_tables({.database = raw, .path = path});
  if (!status.ok()) {
    database.reset();
    for (const char* part : {"", "-wal", "-shm"}) ::unlink((path + part).c_str());
    return status.error();
  }
  return std::unique_ptr<SessionWriter>(
      std::make_unique<SqliteSessionWriter>(std::move(database), path, codec));
}

}  // namespace profiling
