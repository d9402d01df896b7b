// Sizes first, then ranges: a range test may already rely on the sizes above it.
#include "profiling/session/run_rules.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>

#include "engine/model/values.h"
#include "profiling/session/doctor_rules.h"
#include "profiling/session/measurement_schema.h"
#include "profiling/session/rules.h"
#include "profiling/session/schema.h"
#include "profiling/session/watch_schema.h"

namespace profiling {
void check_device(const engine::DeviceFacts& device, Rules& rules) {
  rules.text("device name", device.name);
  rules.text("device driver", device.driver);
  rules.text("compute capability", device.compute_capability);
  rules.text("cuBLASLt version", device.cublaslt_version);
  rules.text("cuBLASLt path", device.cublaslt_path);
  rules.text("BLAS", device.blas);
  rules.between("multiprocessors", device.multiprocessors, 0, 1 << 20);
  rules.between("memory_bytes", device.memory_bytes, 0, std::numeric_limits<std::int64_t>::max());
}

namespace {

void check_notes(const std::vector<TimeNote>& notes, Rules& rules) {
  rules.size("time notes", notes.size(), kMaxTimeNotes);
  for (const TimeNote& note : notes) {
    rules.between("begin of a time note", note.begin_ns, -kMaxTime_ns, kMaxTime_ns);
    rules.between("end of a time note", note.end_ns, note.begin_ns, kMaxTime_ns);
    rules.text("text of a time note", note.text);
    rules.between("created_ms of a time note", note.created_ms, 0, kMaxTime_ns);
  }
}

void check_histogram(const engine::MagnitudeHistogram& histogram, Rules& rules) {
  rules.between("histogram first_bin", histogram.first_bin, 0, kHistogramBins);
  rules.size("histogram", histogram.counts.size(),
             saturated_sum(kHistogramBins, -std::int64_t{histogram.first_bin}));
  for (const std::uint64_t count : histogram.counts) rules.count("histogram count", count);
  rules.count("histogram zeros", histogram.zeros);
  rules.count("histogram infinities", histogram.infinities);
  rules.count("histogram nans", histogram.nans);
}

void check_scale_map(const engine::ScaleMap& map, std::size_t experts, Rules& rules) {
  constexpr std::int64_t kMaxRows = engine::kMaxDimension * engine::kMaxExperts;
  rules.between("scale map rows", map.rows, 0, kMaxMapSide);
  rules.between("scale map columns", map.columns, 0, kMaxMapSide);
  if (!rules.ok()) return;
  const auto cells = static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.columns);
  rules.require(map.mean.size() == cells && map.maximum.size() == cells, [&] {
    return fmt::format("scale map of {} x {} cells has {} means and {} maxima", map.rows,
                       map.columns, map.mean.size(), map.maximum.size());
  });
  for (const std::vector<float>* optional :
       {&map.minimum, &map.deviation, &map.saturated_share, &map.underflowed_share}) {
    rules.require(optional->empty() || optional->size() == cells, [&] {
      return fmt::format("scale map of {} x {} cells has {} of another figure", map.rows,
                         map.columns, optional->size());
    });
  }
  rules.count("scales", map.summary.scales);
  rules.count("distinct scales", map.summary.distinct);
  rules.count("saturated scales", map.summary.saturated);
  rules.count("underflowed scales", map.summary.underflowed);
  rules.between("scale map block_rows", map.block_rows, 0, kMaxRows);
  rules.between("scale map block_columns", map.block_columns, 0, kMaxRows);
  rules.between("scale map source_rows", map.source_rows, 0, kMaxRows);
  rules.between("scale map source_columns", map.source_columns, 0, kMaxRows);
  const std::vector<std::int64_t>& first = map.expert_first_row;
  rules.require(first.empty() || first.size() == experts + 1, [&] {
    return fmt::format("scale map names the rows of {} experts, the run has {}", first.size() - 1,
                       experts);
  });
  std::int64_t previous = 0;
  for (const std::int64_t row : first) {
    rules.between("scale map expert_first_row", row, previous, map.source_rows);
    previous = row;
  }
}

}  // namespace

void check_operand(const engine::OperandStatistics& operand, std::size_t experts, Rules& rules) {
  rules.count("elements", operand.elements);
  rules.count("saturated", operand.saturated);
  rules.count("underflowed", operand.underflowed);
  for (const engine::MagnitudeHistogram* histogram :
       {&operand.before, &operand.after, &operand.amax, &operand.scale}) {
    check_histogram(*histogram, rules);
  }
  check_scale_map(operand.scale_map, experts, rules);
}

namespace {

bool is_empty(const engine::OperandStatistics& operand) {
  return engine::leaf_texts(operand) == engine::leaf_texts(engine::OperandStatistics{});
}

void check_result(const engine::RunResult& result, Rules& rules) {
  rules.size("deviations", result.deviations.size(), kMaxDeviations);
  rules.size("splits", result.splits.size(), engine::kMaxExperts);
  rules.size("iterations", result.iterations.size(), engine::kMaxIterations);
  rules.size("replay checks", result.replay_checks.size(), kMaxReplayChecks);
  if (!rules.ok()) return;
  for (const engine::Deviation& deviation : result.deviations) {
    for (const std::string* part :
         {&deviation.field, &deviation.requested, &deviation.effective, &deviation.reason}) {
      rules.text("deviation", *part);
    }
  }
  const std::size_t experts = result.splits.size();
  rules.require(experts == 0 || std::cmp_equal(experts, result.effective.shape.num_experts), [&] {
    return fmt::format("splits has {} entries, the effective shape has {} experts", experts,
                       result.effective.shape.num_experts);
  });
  rules.require(result.experts.empty() || result.experts.size() == experts, [&] {
    return fmt::format("{} experts have results, splits has {} entries", result.experts.size(),
                       experts);
  });
  for (const std::int64_t tokens : result.splits) {
    rules.between("split", tokens, 0, engine::kMaxDimension);
  }
  for (const engine::ExpertResult& expert : result.experts) {
    rules.between("expert rows", expert.rows, 0, engine::kMaxDimension);
    rules.count("expert saturated", expert.saturated);
    rules.count("expert underflowed", expert.underflowed);
    // Compared so that NaN passes: it says "could not be measured".
    rules.require(!(expert.max_abs_error < 0.0) && !(expert.reference_rms < 0.0), [&] {
      return fmt::format("expert error {} or reference {} is negative", expert.max_abs_error,
                         expert.reference_rms);
    });
  }
  check_operand(result.activations, experts, rules);
  check_operand(result.weights, experts, rules);
  // Without a backward pass there is no dY, and nothing would check, show or keep what a file has.
  if (result.backward) {
    check_operand(result.gradients, experts, rules);
  } else {
    rules.require(is_empty(result.gradients),
                  [] { return std::string("it has statistics of dY but no backward pass"); });
  }
  for (const engine::Iteration& iteration : result.iterations) {
    rules.between("iteration start_ns", iteration.start_ns, -kMaxTime_ns, kMaxTime_ns);
    rules.between("iteration duration_ns", iteration.duration_ns, 0, kMaxTime_ns);
  }
  for (const engine::ReplayCheck& check : result.replay_checks) {
    rules.between("replay check replay", check.replay, 1, engine::kMaxIterations);
    rules.between("replay check layer", check.layer, 0, saturated_sum(result.effective.layers, -1));
    std::int64_t lowest = 0;
    for (const int expert : check.wrong_experts) {
      rules.between("replay check expert", expert, lowest, static_cast<std::int64_t>(experts) - 1);
      lowest = saturated_sum(expert, 1);  // ascending and without repeats
    }
  }
  check_device(result.device, rules);
  const engine::ReplayWatchFacts& watch = result.watch;
  rules.between("watched replays", watch.replays, 0, kMaxWatchedReplays);
  rules.between("markers", watch.markers, 0, kMaxGraphNodes);
  for (const double value : {watch.p99_us, watch.deadline_seconds}) {
    rules.require(std::isfinite(value) && value >= 0.0, [value] {
      return fmt::format("a figure of the replays' watch is {}; it must be finite and at least 0",
                         value);
    });
  }
  rules.text("iteration_method", result.iteration_method);
  rules.text("activity_method", result.activity_method);
  rules.count("dropped_records", result.dropped_records);
  rules.require(std::isfinite(result.flop) && result.flop >= 0.0, [&] {
    return fmt::format("flop is {}; it must be finite and at least 0", result.flop);
  });
  rules.between("wall_ns", result.wall_ns, 0, kMaxTime_ns);
}

void check_nodes(const Activity& activity, const engine::RunResult& result, Rules& rules) {
  rules.size("graph nodes", activity.nodes.size(), kMaxGraphNodes);
  if (!rules.ok()) return;
  std::unordered_set<std::uint64_t> earlier;
  std::int64_t edges = 0;
  for (const GraphNode& node : activity.nodes) {
    rules.text("graph node name", node.name);
    rules.between("graph node stage", static_cast<int>(node.stage), 0,
                  std::ssize(engine::kStageNames) - 1);
    rules.between("graph node layer", node.layer, 0, saturated_sum(result.effective.layers, -1));
    for (const std::uint64_t dependency : node.dependencies) {
      rules.require(earlier.contains(dependency), [&] {
        return fmt::format("graph node {} depends on {}, which does not come before it", node.id,
                           dependency);
      });
    }
    edges += std::ssize(node.dependencies);
    rules.between("graph edges", edges, 0, kMaxGraphEdges);
    rules.require(earlier.insert(node.id).second,
                  [&] { return fmt::format("graph node {} is there twice", node.id); });
    if (!rules.ok()) return;
  }
}

void check_records(const Activity& activity, const engine::RunResult& result, Rules& rules) {
  rules.size("names", activity.names.size(), kMaxNames);
  for (const std::string& name : activity.names) rules.text("name", name);
  std::int64_t previous_ns = -kMaxTime_ns;
  for (const ActivityRecord& record : activity.records) {
    rules.between("record start_ns (ascending)", record.start_ns, previous_ns, kMaxTime_ns);
    rules.between("record end_ns", record.end_ns, record.start_ns, kMaxTime_ns);
    rules.between("record name", record.name, 0, std::ssize(activity.names) - 1);
    rules.between("record iteration", record.iteration, -1, std::ssize(result.iterations) - 1);
    rules.between("record expert", record.expert, -1, std::ssize(result.splits) - 1);
    rules.between("record layer", record.layer, 0, saturated_sum(result.effective.layers, -1));
    rules.between("record kind", static_cast<int>(record.kind), 0,
                  std::ssize(kActivityKindNames) - 1);
    rules.between("record stage", static_cast<int>(record.stage), 0,
                  std::ssize(engine::kStageNames) - 1);
    if (!rules.ok()) return;
    previous_ns = record.start_ns;
  }
}

template <class Event>
void check_event_place(const Event& event, const engine::RunResult& result, Rules& rules) {
  rules.between("event iteration", event.iteration, -1, std::ssize(result.iterations) - 1);
  rules.between("event layer", event.layer, 0, saturated_sum(result.effective.layers, -1));
  rules.between("event stage", static_cast<int>(event.stage), 0,
                std::ssize(engine::kStageNames) - 1);
}

void check_events(const Activity& activity, const engine::RunResult& result, Rules& rules) {
  rules.size("host events", activity.host_events.size(), kMostHostEvents);
  rules.size("memory events", activity.memory_events.size(), kMostMemoryEvents);
  std::int64_t previous_ns = -kMaxTime_ns;
  for (const HostEvent& event : activity.host_events) {
    rules.between("host event start_ns (ascending)", event.start_ns, previous_ns, kMaxTime_ns);
    rules.between("host event end_ns", event.end_ns, event.start_ns, kMaxTime_ns);
    rules.between("host event name", event.name, 0, std::ssize(activity.names) - 1);
    rules.between("host event kind", static_cast<int>(event.kind), 0,
                  std::ssize(kHostEventNames) - 1);
    check_event_place(event, result, rules);
    if (!rules.ok()) return;
    previous_ns = event.start_ns;
  }
  previous_ns = -kMaxTime_ns;
  for (const MemoryEvent& event : activity.memory_events) {
    rules.between("memory event time_ns (ascending)", event.time_ns, previous_ns, kMaxTime_ns);
    rules.between("memory event operation", static_cast<int>(event.operation), 0,
                  std::ssize(kMemoryOperationNames) - 1);
    check_event_place(event, result, rules);
    if (!rules.ok()) return;
    previous_ns = event.time_ns;
  }
}

}  // namespace

engine::Status check_time_notes(const std::vector<TimeNote>& notes) {
  Rules rules;
  check_notes(notes, rules);
  return rules.take();
}

engine::Status check_run(const RecordedRun& run) {
  Rules rules;
  rules.status("request", engine::validate(run.request));
  rules.status("effective request", engine::validate(run.result.effective));
  rules.between("wall_clock_ms", run.wall_clock_ms, 0, kMaxTime_ns);
  rules.between("group id", run.group.id, 0, kMaxTime_ns);
  rules.between("group position", run.group.position, 0, kMaxGroupRuns - 1);
  rules.text("group label", run.group.label);
  check_notes(run.notes, rules);
  if (rules.ok()) check_result(run.result, rules);
  if (rules.ok()) check_nodes(run.activity, run.result, rules);
  if (rules.ok()) check_records(run.activity, run.result, rules);
  if (rules.ok()) check_events(run.activity, run.result, rules);
  if (rules.ok()) check_kept_snapshot(run.snapshot, rules);
  return rules.take();
}

}  // namespace profiling
