// Positions must count up from 0 without a gap, so that nothing is sized by a number in the file:
// vectors grow by the rows that are really there.
#include "profiling/session/run_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "profiling/session/run_table.h"
#include "profiling/session/schema.h"
#include "profiling/session/table_cells.h"

namespace profiling {
namespace {

engine::OperandStatistics& operand_of(RecordedRun& run, RowReader& rows) {
  engine::OperandStatistics* const operands[] = {&run.result.activations, &run.result.weights,
                                                 &run.result.gradients};
  return *operands[rows.choice("operand", kOperandNames)];
}

engine::MagnitudeHistogram& histogram_of(RecordedRun& run, RowReader& rows) {
  engine::OperandStatistics& operand = operand_of(run, rows);
  engine::MagnitudeHistogram* const kinds[] = {&operand.before, &operand.after, &operand.amax,
                                               &operand.scale};
  return *kinds[rows.choice("kind", kHistogramKinds)];
}

engine::Status read_notes(const TableSource& source, Session& session) {
  RowReader rows(source.database, source.path, "notes", "SELECT key, value FROM notes ORDER BY key",
                 source.budget, sizeof(session.notes[0]));
  while (rows.next()) {
    if (std::ssize(session.notes) == kMaxNotes) {
      rows.refuse(fmt::format("the file has more notes than the limit of {}", kMaxNotes));
      break;
    }
    std::string key = rows.text("key");
    session.notes.emplace_back(std::move(key), rows.text("value"));
  }
  return rows.take();
}

engine::Status read_runs(const TableSource& source, Session& session) {
  RowReader rows(source.database, source.path, "runs", "SELECT * FROM runs ORDER BY run_id",
                 source.budget, sizeof(RecordedRun));
  std::int64_t records = 0;
  while (rows.next()) {
    if (std::ssize(session.runs) == source.limits.max_runs) {
      rows.refuse(
          fmt::format("the file has more runs than the limit of {}", source.limits.max_runs));
      break;
    }
    RecordedRun run;
    at_next(rows, "run_id", session.runs.size() + 1, source.limits.max_runs + 1);
    run.result.id =
        rows.integer<std::uint64_t>("request_id", RowReader::kAnyLow, RowReader::kAnyHigh);
    run.wall_clock_ms = rows.count("wall_clock_ms");
    run.request = request_of(rows, "request_json", source.codec);
    run.result.effective = request_of(rows, "effective_json", source.codec);
    run.result.device = device_of(rows);
    run.result.iteration_method = rows.text("iteration_method");
    run.result.activity_method = rows.text("activity_method");
    run.result.dropped_records = static_cast<std::uint64_t>(rows.count("dropped_records"));
    run.result.flop = rows.real("flop");
    run.result.wall_ns = rows.count("wall_ns");
    // A row takes more than a byte, so the file's size bounds what may be reserved.
    const std::int64_t limit = std::min(source.limits.max_records - records, source.file_bytes);
    const std::int64_t count = rows.integer<std::int64_t>("record_count", 0, limit);
    records += count;
    if (!rows.ok()) break;
    if (!source.budget.take(static_cast<std::size_t>(count) * sizeof(ActivityRecord))) {
      rows.refuse(fmt::format("record_count is {}, which needs more memory than the limit of {}",
                              count, source.budget.limit()));
      break;
    }
    run.activity.records.reserve(static_cast<std::size_t>(count));
    source.record_counts.push_back(count);
    session.runs.push_back(std::move(run));
  }
  return rows.take();
}

engine::Status read_deviations(const TableSource& source, Session& session) {
  RunTable table(source, session, "deviations",
                 "SELECT * FROM deviations ORDER BY run_id, position", sizeof(engine::Deviation));
  return table.each([](RecordedRun& run, RowReader& rows) {
    if (!at_next(rows, "position", run.result.deviations.size(), kMaxDeviations)) return;
    engine::Deviation deviation;
    deviation.field = rows.text("field");
    deviation.requested = rows.text("requested");
    deviation.effective = rows.text("effective");
    deviation.reason = rows.text("reason");
    run.result.deviations.push_back(std::move(deviation));
  });
}

engine::Status read_splits(const TableSource& source, Session& session) {
  RunTable table(source, session, "splits", "SELECT * FROM splits ORDER BY run_id, expert",
                 sizeof(std::int64_t));
  return table.each([](RecordedRun& run, RowReader& rows) {
    if (!at_next(rows, "expert", run.result.splits.size(), engine::kMaxExperts)) return;
    run.result.splits.push_back(rows.count("tokens"));
  });
}

engine::Status read_experts(const TableSource& source, Session& session) {
  RunTable table(source, session, "experts", "SELECT * FROM experts ORDER BY run_id, expert",
                 sizeof(engine::ExpertResult));
  return table.each([](RecordedRun& run, RowReader& rows) {
    if (!at_next(rows, "expert", run.result.experts.size(), engine::kMaxExperts)) return;
    engine::ExpertResult expert;
    expert.rows = rows.count("tokens");
    expert.snr_db = rows.real_or_nan("snr_db");
    expert.max_abs_error = rows.real_or_nan("max_abs_error");
    expert.reference_rms = rows.real_or_nan("reference_rms");
    expert.saturated = static_cast<std::uint64_t>(rows.count("saturated"));
    expert.underflowed = static_cast<std::uint64_t>(rows.count("underflowed"));
    expert.x_snr_db = rows.real_or_nan("x_snr_db");
    run.result.experts.push_back(expert);
  });
}

engine::Status read_iterations(const TableSource& source, Session& session) {
  RunTable table(source, session, "iterations",
                 "SELECT * FROM iterations ORDER BY run_id, iteration", sizeof(engine::Iteration));
  return table.each([](RecordedRun& run, RowReader& rows) {
    if (!at_next(rows, "iteration", run.result.iterations.size(), engine::kMaxIterations)) return;
    engine::Iteration iteration;
    iteration.start_ns =
        rows.integer<std::int64_t>("start_ns", RowReader::kAnyLow, RowReader::kAnyHigh);
    iteration.duration_ns = rows.count("duration_ns");
    run.result.iterations.push_back(iteration);
  });
}

engine::Status read_replay_checks(const TableSource& source, Session& session) {
  RunTable checks(source, session, "replay_checks",
                  "SELECT * FROM replay_checks ORDER BY run_id, position",
                  sizeof(engine::ReplayCheck));
  engine::Status status = checks.each([](RecordedRun& run, RowReader& rows) {
    if (!at_next(rows, "position", run.result.replay_checks.size(), kMaxReplayChecks)) return;
    engine::ReplayCheck check;
    check.replay = rows.integer<int>("replay", 1, engine::kMaxIterations);
    check.layer = rows.integer<int>("layer", 0, engine::kMaxLayers - 1);
    run.result.replay_checks.push_back(check);
  });
  if (!status.ok()) return status;
  RunTable wrong(source, session, "replay_wrong_experts",
                 "SELECT * FROM replay_wrong_experts ORDER BY run_id, position, expert",
                 sizeof(int));
  return wrong.each([](RecordedRun& run, RowReader& rows) {
    std::vector<engine::ReplayCheck>& known = run.result.replay_checks;
    const auto position = rows.integer<std::size_t>("position", 0, std::ssize(known) - 1);
    const int expert = rows.integer<int>("expert", 0, engine::kMaxExperts - 1);
    if (rows.ok()) known[position].wrong_experts.push_back(expert);
  });
}

engine::Status read_operands(const TableSource& source, Session& session) {
  RunTable table(source, session, "operands", "SELECT * FROM operands ORDER BY run_id, operand", 0);
  return table.each([](RecordedRun& run, RowReader& rows) {
    engine::OperandStatistics& operand = operand_of(run, rows);
    operand.elements = static_cast<std::uint64_t>(rows.count("elements"));
    operand.saturated = static_cast<std::uint64_t>(rows.count("saturated"));
    operand.underflowed = static_cast<std::uint64_t>(rows.count("underflowed"));
    operand.snr_db = rows.real_or_nan("snr_db");
  });
}

engine::Status read_histograms(const TableSource& source, Session& session) {
  RunTable histograms(source, session, "histograms",
                      "SELECT * FROM histograms ORDER BY run_id, operand, kind",
                      kHistogramBins * sizeof(std::uint64_t));
  engine::Status status = histograms.each([](RecordedRun& run, RowReader& rows) {
    engine::MagnitudeHistogram& histogram = histogram_of(run, rows);
    histogram.first_bin = rows.integer<int>("first_bin", 0, kHistogramBins);
    histogram.counts.resize(
        rows.integer<std::size_t>("bin_count", 0, kHistogramBins - histogram.first_bin));
    histogram.zeros = static_cast<std::uint64_t>(rows.count("zeros"));
    histogram.infinities = static_cast<std::uint64_t>(rows.count("infinities"));
    histogram.nans = static_cast<std::uint64_t>(rows.count("nans"));
  });
  if (!status.ok()) return status;
  RunTable bins(source, session, "histogram_bins",
                "SELECT run_id, operand, kind, bin, count FROM histogram_bins "
                "ORDER BY run_id, operand, kind, bin",
                0);
  return bins.each([](RecordedRun& run, RowReader& rows) {
    engine::MagnitudeHistogram& histogram = histogram_of(run, rows);
    const std::int64_t first = histogram.first_bin;
    const auto bin =
        rows.integer<std::int64_t>("bin", first, first + std::ssize(histogram.counts) - 1);
    const auto count = static_cast<std::uint64_t>(rows.count("count"));
    if (rows.ok()) histogram.counts[static_cast<std::size_t>(bin - first)] = count;
  });
}

engine::Status read_scale_maps(const TableSource& source, Session& session) {
  RunTable maps(source, session, "scale_maps", "SELECT * FROM scale_maps ORDER BY run_id, operand",
                0);
  engine::Status status = maps.each([&source](RecordedRun& run, RowReader& rows) {
    engine::ScaleMap& map = operand_of(run, rows).scale_map;
    map.block_rows = rows.count("block_rows");
    map.block_columns = rows.count("block_columns");
    map.source_rows = rows.count("source_rows");
    map.source_columns = rows.count("source_columns");
    map.rows = rows.integer<int>("rows", 0, kMaxMapSide);
    map.columns = rows.integer<int>("columns", 0, kMaxMapSide);
    if (!rows.ok()) return;
    const auto cells = static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.columns);
    if (!source.budget.take(2 * cells * sizeof(float))) {
      rows.refuse(fmt::format("the file needs more memory than the limit of {} bytes",
                              source.budget.limit()));
      return;
    }
    map.mean = cells_of(rows, "mean", cells);
    map.maximum = cells_of(rows, "maximum", cells);
  });
  if (!status.ok()) return status;
  RunTable experts(source, session, "scale_map_experts",
                   "SELECT * FROM scale_map_experts ORDER BY run_id, operand, position",
                   sizeof(std::int64_t));
  return experts.each([](RecordedRun& run, RowReader& rows) {
    std::vector<std::int64_t>& first = operand_of(run, rows).scale_map.expert_first_row;
    if (!at_next(rows, "position", first.size(), engine::kMaxExperts + 1)) return;
    first.push_back(rows.count("first_row"));
  });
}

engine::Status read_names(const TableSource& source, Session& session) {
  RunTable table(source, session, "names", "SELECT * FROM names ORDER BY run_id, name_id",
                 sizeof(std::string));
  return table.each([](RecordedRun& run, RowReader& rows) {
    if (!at_next(rows, "name_id", run.activity.names.size(), kMaxNames)) return;
    run.activity.names.push_back(rows.text("name"));
  });
}

engine::Status read_records(const TableSource& source, Session& session) {
  // Memory was taken from the budget with record_count.
  RunTable table(source, session, "records",
                 "SELECT run_id, start_ns, end_ns, node_id, name_id, iteration, expert, layer, "
                 "kind, lane, stage FROM records ORDER BY record_id",
                 0);
  engine::Status status = table.each([&](RecordedRun& run, RowReader& rows) {
    constexpr std::int64_t kLow = RowReader::kAnyLow;
    constexpr std::int64_t kHigh = RowReader::kAnyHigh;
    std::vector<ActivityRecord>& records = run.activity.records;
    const std::int64_t expected =
        source.record_counts[static_cast<std::size_t>(&run - session.runs.data())];
    if (std::ssize(records) == expected) {
      rows.refuse(fmt::format("run has more records than its record_count of {}", expected));
      return;
    }
    ActivityRecord& record = records.emplace_back();
    record.start_ns = rows.integer<std::int64_t>("start_ns", kLow, kHigh);
    record.end_ns = rows.integer<std::int64_t>("end_ns", record.start_ns, kHigh);
    record.node_id = rows.integer<std::uint64_t>("node_id", kLow, kHigh);
    record.name = rows.integer<std::uint32_t>("name_id", 0, std::ssize(run.activity.names) - 1);
    record.iteration =
        rows.integer<std::int32_t>("iteration", -1, std::ssize(run.result.iterations) - 1);
    record.expert = rows.integer<std::int16_t>("expert", -1, engine::kMaxExperts - 1);
    record.layer = rows.integer<std::uint8_t>("layer", 0, engine::kMaxLayers - 1);
    record.kind = rows.integer<ActivityKind>("kind", 0, std::ssize(kActivityKindNames) - 1);
    record.lane = rows.integer<std::uint16_t>("lane", 0, 65535);
    record.stage = rows.integer<engine::Stage>("stage", 0, std::ssize(engine::kStageNames) - 1);
  });
  for (std::size_t i = 0; status.ok() && i < session.runs.size(); ++i) {
    const std::size_t found = session.runs[i].activity.records.size();
    if (std::cmp_equal(found, source.record_counts[i])) continue;
    status = engine::Error{engine::ErrorCode::InvalidArgument,
                           fmt::format("{}: run {} has {} records and a record_count of {}",
                                       source.path, i + 1, found, source.record_counts[i])};
  }
  return status;
}

engine::Status read_graph(const TableSource& source, Session& session) {
  RunTable nodes(source, session, "graph_nodes",
                 "SELECT * FROM graph_nodes ORDER BY run_id, position", sizeof(GraphNode));
  engine::Status status = nodes.each([](RecordedRun& run, RowReader& rows) {
    if (!at_next(rows, "position", run.activity.nodes.size(), kMaxGraphNodes)) return;
    GraphNode node;
    node.id = rows.integer<std::uint64_t>("node_id", RowReader::kAnyLow, RowReader::kAnyHigh);
    node.name = rows.text("name");
    node.stage = rows.integer<engine::Stage>("stage", 0, std::ssize(engine::kStageNames) - 1);
    node.layer = rows.integer<std::uint8_t>("layer", 0, engine::kMaxLayers - 1);
    run.activity.nodes.push_back(std::move(node));
  });
  if (!status.ok()) return status;
  RunTable edges(source, session, "graph_edges",
                 "SELECT * FROM graph_edges ORDER BY run_id, node_position, position",
                 sizeof(std::uint64_t));
  return edges.each([](RecordedRun& run, RowReader& rows) {
    std::vector<GraphNode>& known = run.activity.nodes;
    const auto node = rows.integer<std::size_t>("node_position", 0, std::ssize(known) - 1);
    if (!rows.ok()) return;
    std::vector<std::uint64_t>& dependencies = known[node].dependencies;
    if (!at_next(rows, "position", dependencies.size(), kMaxGraphEdges)) return;
    dependencies.push_back(
        rows.integer<std::uint64_t>("depends_on", RowReader::kAnyLow, RowReader::kAnyHigh));
  });
}

}  // namespace

engine::Status read_tables(const TableSource& source, Session& session) {
  for (const auto read : {read_notes, read_runs, read_deviations, read_splits, read_experts,
                          read_iterations, read_replay_checks, read_operands, read_histograms,
                          read_scale_maps, read_names, read_records, read_graph}) {
    if (engine::Status status = read(source, session); !status.ok()) return status;
  }
  return {};
}

}  // namespace profiling
