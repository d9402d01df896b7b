// Ranges first (engine::validate), then references, which may rely on the checked sizes.
#include "profiling/session/limits.h"

#include <fmt/format.h>
#include <algorithm>

#include <numeric>
#include <string>
#include <unordered_set>
#include <utility>

#include "engine/model/projections.h"
#include "engine/model/text.h"
#include "engine/model/values.h"

namespace profiling {
namespace {

constexpr auto kMaxTime_ns = static_cast<std::int64_t>(engine::kMaxTime_ns);

/// Keeps the first broken limit; later checks then do nothing.
class Limits {
 public:
  bool ok() const { return status_.ok(); }
  engine::Status take() { return std::move(status_); }

  template <class Describe>
  void require(bool holds, Describe describe) {
    if (holds || !status_.ok()) return;
    status_ = engine::Error{engine::ErrorCode::InvalidArgument, describe()};
  }
  void between(const char* member, std::int64_t value, std::int64_t low, std::int64_t high) {
    require(value >= low && value <= high, [&] {
      return fmt::format("{} is {}; it must be between {} and {}", member, value, low, high);
    });
  }
  void size(const char* member, std::size_t size, std::size_t most) {
    require(size <= most,
            [&] { return fmt::format("{} has {} entries; the limit is {}", member, size, most); });
  }
  /// Of all members of a value, and of theirs.
  template <class Value>
  void ranges(const char* member, const Value& value) {
    if (!status_.ok()) return;
    const engine::Status valid = engine::validate(value);
    require(valid.ok(), [&] { return fmt::format("{}: {}", member, valid.error().message); });
  }

 private:
  engine::Status status_;
};

void check_notes(const std::vector<TimeNote>& notes, Limits& limits) {
  limits.size("time notes", notes.size(), kMaxTimeNotes);
  for (const TimeNote& note : notes) limits.ranges("time note", note);
}

void check_experts_of(std::string_view operand, const engine::OperandStatistics& statistics,
                      std::size_t experts, Limits& limits) {
  const std::size_t named = statistics.scale_map.expert_first_row.size();
  limits.require(named == 0 || named == experts + 1, [&] {
    return fmt::format("the scale map of {} has the rows of {} experts, but there are {}", operand,
                       named - 1, experts);
  });
  const std::size_t measured = statistics.experts.size();
  limits.require(measured == 0 || measured == experts, [&] {
    return fmt::format("{} has rows of {} experts, but there are {}", operand, measured, experts);
  });
}

void check_channel_experts(const engine::ChannelStatistics& channels, std::size_t experts,
                           Limits& limits) {
  for (const engine::ChannelProfile* axis : {&channels.columns, &channels.rows}) {
    for (const auto* list : {&axis->largest, &axis->noisiest, &axis->lowest_snr}) {
      for (const engine::Channel& one : *list) {
        limits.between("expert of a row or column", one.expert, -1,
                       static_cast<std::int64_t>(experts) - 1);
      }
    }
  }
}

/// Against the tensor whose rows and columns they are.
void check_channels(const engine::TensorResult& tensor, std::size_t experts, Limits& limits) {
  const engine::ChannelStatistics& channels = *tensor.quantization->channels;
  limits.require(
      channels.columns.channels == tensor.columns && channels.rows.channels == tensor.rows, [&] {
        return fmt::format(
            "the tensor {} is {} x {}, but its statistics have {} rows and {} columns",
            engine::name_of(tensor.tensor), tensor.rows, tensor.columns, channels.rows.channels,
            channels.columns.channels);
      });
  check_channel_experts(channels, experts, limits);
}

void check_error(std::string_view of, const engine::ProductAccuracy& error, Limits& limits) {
  // Compared so that NaN passes: it means "could not be measured".
  limits.require(!(error.max_abs_error < 0.0) && !(error.reference_rms < 0.0), [&] {
    return fmt::format("the error of {} is {} and its reference {}; neither can be negative", of,
                       error.max_abs_error, error.reference_rms);
  });
}

void check_tensors(const engine::RunResult& result, Limits& limits) {
  const engine::RunRequest& step = result.effective;
  const std::size_t experts = result.splits.size();
  std::int64_t least = 0;
  for (const engine::TensorResult& row : result.tensors) {
    const std::string_view name = engine::name_of(row.tensor);
    const auto number = static_cast<std::int64_t>(row.tensor);
    limits.require(number >= least, [&] {
      return fmt::format("the tensor {} has two rows, or its row is after that of a later one",
                         name);
    });
    least = number + 1;
    limits.require(
        engine::has_tensor(step, row.tensor) &&
            (result.backward || !engine::traits_of(row.tensor).backward),
        [&] { return fmt::format("it has the tensor {}, but its step has none", name); });
    if (!limits.ok()) return;
    const std::int64_t columns = engine::extent_of(step, row.tensor).columns;
    const std::int64_t rows = engine::total_rows(step, row.tensor, result.splits);
    limits.require(row.columns == columns && (experts == 0 || row.rows == rows), [&] {
      return fmt::format("the tensor {} is {} x {}; in this step it is {} x {}", name, row.rows,
                         row.columns, rows, columns);
    });
    check_error(name, row.error, limits);
    if (!row.quantization) continue;
    check_experts_of(name, *row.quantization, experts, limits);
    if (row.quantization->channels) check_channels(row, experts, limits);
  }
}

void check_recorded_routing(const engine::RunResult& result, Limits& limits) {
  if (!result.recorded_routing) return;
  const engine::RecordedRouting& recorded = *result.recorded_routing;
  limits.between("splits of recorded steps", std::ssize(recorded.steps) * std::ssize(result.splits),
                 0, engine::kMaxRecordedSplits);
  for (const engine::RecordedStep& step : recorded.steps) {
    limits.require(step.splits.size() == result.splits.size(), [&] {
      return fmt::format("recorded step {} has {} splits, the run has {}", step.step,
                         step.splits.size(), result.splits.size());
    });
    const std::int64_t sum =
        std::accumulate(step.splits.begin(), step.splits.end(), std::int64_t{0});
    limits.require(sum == step.rows, [&] {
      return fmt::format("recorded step {} has {} rows, its splits sum to {}", step.step, step.rows,
                         sum);
    });
    limits.require(!(step.median_ns < 0.0) && !(step.imbalance < 0.0), [&] {
      return fmt::format("recorded step {} has a time of {} ns and an imbalance of {}", step.step,
                         step.median_ns, step.imbalance);
    });
    if (!limits.ok()) return;
  }
}

void check_launch(const engine::TiledLaunch& launch, std::int64_t experts, Limits& limits) {
  limits.between("kept tiles", std::ssize(launch.kept), 0, launch.tiles);
  limits.between("tail of a launch", launch.tail_ns, 0, launch.duration_ns);
  int multiprocessor = 0;
  std::int64_t previous_ns = 0;
  for (const engine::LaunchTile& tile : launch.kept) {
    limits.between("tile multiprocessor (ascending)", tile.multiprocessor, multiprocessor,
                   launch.multiprocessors - 1);
    if (tile.multiprocessor > multiprocessor) previous_ns = 0;
    multiprocessor = tile.multiprocessor;
    limits.between("tile begin_ns (ascending)", tile.begin_ns, previous_ns, tile.end_ns);
    limits.between("tile end_ns", tile.end_ns, tile.begin_ns, launch.duration_ns);
    previous_ns = tile.begin_ns;
    limits.between("tile expert", tile.expert, 0, experts - 1);
    if (!limits.ok()) return;
  }
}

void check_result(const engine::RunResult& result, Limits& limits) {
  const std::size_t experts = result.splits.size();
  limits.require(experts == 0 || std::cmp_equal(experts, result.effective.shape.num_experts), [&] {
    return fmt::format("splits has {} entries, the effective shape has {} experts", experts,
                       result.effective.shape.num_experts);
  });
  limits.require(result.experts.empty() || result.experts.size() == experts, [&] {
    return fmt::format("{} experts have results, splits has {} entries", result.experts.size(),
                       experts);
  });
  for (const engine::ExpertResult& expert : result.experts) {
    for (const engine::ProductAccuracy* error : {&expert.fprop, &expert.dgrad, &expert.wgrad}) {
      check_error("an expert", *error, limits);
    }
  }
  check_tensors(result, limits);
  for (const engine::ReplayCheck& check : result.replay_checks) {
    limits.between("replay check layer", check.layer, 0,
                   engine::linear_layers(result.effective) - 1);
    std::int64_t lowest = 0;
    for (const int expert : check.wrong_experts) {
      limits.between("replay check expert", expert, lowest, std::ssize(result.splits) - 1);
      lowest = saturated_sum(expert, 1);  // ascending and without repeats
    }
  }
  check_recorded_routing(result, limits);
  for (const engine::ExpertTiming& timing : result.measurements.experts) {
    limits.between("expert timing expert", timing.expert, 0, std::ssize(result.splits) - 1);
  }
  for (const engine::TiledLaunch& launch : result.measurements.tiled_launches) {
    check_launch(launch, std::ssize(result.splits), limits);
  }
}

void check_power(const PowerTrace& power, Limits& limits) {
  std::int64_t previous_ns = std::numeric_limits<std::int64_t>::min();
  for (const PowerSample& sample : power.samples) {
    limits.between("power sample time_ns (ascending)", sample.time_ns, previous_ns,
                   std::numeric_limits<std::int64_t>::max());
    previous_ns = sample.time_ns;
  }
}

void check_nodes(const Activity& activity, const engine::RunResult& result, Limits& limits) {
  limits.size("graph nodes", activity.nodes.size(), engine::kMaxGraphNodes);
  std::unordered_set<std::uint64_t> earlier;
  std::int64_t edges = 0;
  for (const GraphNode& node : activity.nodes) {
    limits.between("graph node layer", node.layer, 0, engine::linear_layers(result.effective) - 1);
    for (const std::uint64_t dependency : node.dependencies) {
      limits.require(earlier.contains(dependency), [&] {
        return fmt::format("graph node {} depends on {}, which does not come before it", node.id,
                           dependency);
      });
    }
    edges += std::ssize(node.dependencies);
    limits.between("graph edges", edges, 0, engine::kMaxGraphEdges);
    limits.require(earlier.insert(node.id).second,
                   [&] { return fmt::format("graph node {} occurs twice", node.id); });
    if (!limits.ok()) return;
  }
}

/// What records and events have in common.
template <class Event>
void check_place(const char* layer, const char* iteration, const Event& event,
                 const engine::RunResult& result, Limits& limits) {
  limits.between(iteration, event.iteration, -1, std::ssize(result.iterations) - 1);
  limits.between(layer, event.layer, 0, engine::linear_layers(result.effective) - 1);
}

void check_records(const Activity& activity, const engine::RunResult& result, Limits& limits) {
  limits.size("names", activity.names.size(), kMaxNames);
  std::int64_t previous_ns = -kMaxTime_ns;
  for (const ActivityRecord& record : activity.records) {
    limits.between("record start_ns (ascending)", record.start_ns, previous_ns, kMaxTime_ns);
    limits.between("record end_ns", record.end_ns, record.start_ns, kMaxTime_ns);
    limits.between("record name", record.name, 0, std::ssize(activity.names) - 1);
    limits.between("record expert", record.expert, -1, std::ssize(result.splits) - 1);
    limits.between("record shape", record.shape, 0, std::ssize(activity.shapes));
    limits.between("record call", record.call, 0, std::ssize(activity.calls));
    check_place("record layer", "record iteration", record, result, limits);
    if (!limits.ok()) return;
    previous_ns = record.start_ns;
  }
}

void check_calls(const Activity& activity, Limits& limits) {
  limits.size("shapes", activity.shapes.size(), kMaxShapes);
  limits.size("calls", activity.calls.size(), kMaxCalls);
  for (const HostCall& call : activity.calls) {
    limits.between("call start_ns", call.start_ns, -kMaxTime_ns, kMaxTime_ns);
    limits.between("call end_ns", call.end_ns, call.start_ns, kMaxTime_ns);
    limits.between("call name", call.name, 0, std::ssize(activity.names) - 1);
    if (!limits.ok()) return;
  }
}

void check_events(const Activity& activity, const engine::RunResult& result, Limits& limits) {
  limits.size("host events", activity.host_events.size(), kMaxHostEvents);
  limits.size("memory events", activity.memory_events.size(), kMaxMemoryEvents);
  std::int64_t previous_ns = -kMaxTime_ns;
  for (const HostEvent& event : activity.host_events) {
    limits.between("host event start_ns (ascending)", event.start_ns, previous_ns, kMaxTime_ns);
    limits.between("host event end_ns", event.end_ns, event.start_ns, kMaxTime_ns);
    limits.between("host event name", event.name, 0, std::ssize(activity.names) - 1);
    check_place("event layer", "event iteration", event, result, limits);
    if (!limits.ok()) return;
    previous_ns = event.start_ns;
  }
  previous_ns = -kMaxTime_ns;
  for (const MemoryEvent& event : activity.memory_events) {
    limits.between("memory event time_ns (ascending)", event.time_ns, previous_ns, kMaxTime_ns);
    check_place("event layer", "event iteration", event, result, limits);
    if (!limits.ok()) return;
    previous_ns = event.time_ns;
  }
}

/// Of the visit's own snapshot.
void check_node(const char* member, NodeRef place, const Snapshot& snapshot, Limits& limits) {
  limits.between(member, place.graph, 0, std::ssize(snapshot.graphs) - 1);
  if (!limits.ok()) return;
  const auto& nodes = snapshot.graphs[static_cast<std::size_t>(place.graph)].nodes;
  limits.between(member, place.node, 0, std::ssize(nodes) - 1);
}

void check_experiment(const Experiment& made, const Snapshot& snapshot, Limits& limits) {
  for (const MovedMemory& moved : made.moved) {
    check_node("moved node", moved.node, snapshot, limits);
  }
  for (const NodeRef& node : made.delayed) check_node("delayed node", node, snapshot, limits);
  for (const auto& [first, second] : made.ordered) {
    check_node("ordered node", first, snapshot, limits);
    check_node("ordered node", second, snapshot, limits);
  }
  const std::int64_t last_graph = std::ssize(snapshot.graphs) - 1;
  for (const FreshMemory& fresh : made.fresh) {
    limits.between("graph with fresh memory", fresh.graph, 0, last_graph);
  }
  for (const GraphLaunch& launch : made.launches) {
    limits.between("launched graph", launch.graph, 0, last_graph);
  }
}

void check_finding(const Finding& finding, const Snapshot& snapshot, Limits& limits) {
  for (const NodeRef& node : finding.nodes) check_node("finding node", node, snapshot, limits);
  for (const Access& access : finding.accesses) {
    check_node("access node", access.node, snapshot, limits);
  }
  check_experiment(finding.proof.shows, snapshot, limits);
  check_experiment(finding.proof.cures, snapshot, limits);
}

void check_stall(const Stall& stall, const Snapshot& snapshot, Limits& limits) {
  // An experiment can stall without a graph: eager launches.
  if (snapshot.graphs.empty()) {
    limits.between("stall graph", stall.graph, 0, 0);
    limits.size("stall nodes", stall.nodes.size(), 0);
    return;
  }
  limits.between("stall graph", stall.graph, 0, std::ssize(snapshot.graphs) - 1);
  if (!limits.ok()) return;
  const auto& nodes = snapshot.graphs[static_cast<std::size_t>(stall.graph)].nodes;
  limits.size("stall nodes", stall.nodes.size(), nodes.size());
  limits.between("stall last_finished", stall.last_finished, -1, std::ssize(nodes) - 1);
}

void check_outcome(const Outcome& outcome, const Snapshot& snapshot, Limits& limits) {
  for (const OutputCheck& check : outcome.checks) {
    std::int64_t least = 0;
    for (const int part : check.wrong_parts) {
      limits.between("output check wrong part (ascending)", part, least,
                     saturated_sum(check.parts, -1));
      least = saturated_sum(part, 1);
    }
    if (!limits.ok()) return;
  }
  for (const Stall& stall : outcome.stall) check_stall(stall, snapshot, limits);
}

/// A report per step and recipe, in this order, whose lists have an entry where one is shown.
void check_series(const engine::RecipeComparison& comparison, Limits& limits) {
  const std::vector<engine::Recipe>& recipes = comparison.request.recipes;
  const std::int64_t expected = std::ssize(recipes) * comparison.request.series->steps;
  limits.require(!recipes.empty() && std::ssize(comparison.reports) == expected, [&] {
    return fmt::format("the series has {} reports; {} steps of {} recipes have {}",
                       comparison.reports.size(), comparison.request.series->steps, recipes.size(),
                       expected);
  });
  for (std::size_t i = 0; i < comparison.reports.size() && limits.ok(); ++i) {
    const engine::QuantizationReport& report = comparison.reports[i];
    const engine::Recipe& recipe = recipes[i % recipes.size()];
    const std::size_t first = comparison.reports[i % recipes.size()].experts.size();
    limits.require(report.experts.size() == first, [&] {
      return fmt::format("report {} has rows of {} experts, but that of step 0 has {}", i,
                         report.experts.size(), first);
    });
    limits.require(report.step == static_cast<int>(i / recipes.size()) && report.recipe == recipe,
                   [&] { return fmt::format("report {} is of another step or recipe", i); });
    const std::size_t kept = report.experts.empty()
                                 ? 0
                                 : static_cast<std::size_t>(engine::kept_history_rows(
                                       recipe, comparison.request.series->steps));
    limits.require(report.history.size() == kept * report.experts.size(), [&] {
      return fmt::format("the history of report {} has {} amaxes; {} rows of {} experts have {}", i,
                         report.history.size(), kept, report.experts.size(),
                         kept * report.experts.size());
    });
    const auto differs = [kept](const engine::ExpertQuantization& one) {
      return one.delayed.has_value() != (kept > 0);
    };
    limits.require(std::ranges::none_of(report.experts, differs), [&] {
      return fmt::format("report {} has delayed scales of some experts, or of another recipe", i);
    });
  }
}

}  // namespace

engine::Status check(const std::vector<TimeNote>& notes) {
  Limits limits;
  check_notes(notes, limits);
  return limits.take();
}

engine::Status check_run_name(const std::string& name) {
  if (engine::is_clean_text(name) && name.size() <= kMaxRunNameBytes) return {};
  return engine::Error{engine::ErrorCode::InvalidArgument,
                       fmt::format("the name has {} bytes; it must be UTF-8 text of at most {} "
                                   "without control characters",
                                   name.size(), kMaxRunNameBytes)};
}

engine::Status check(const RecordedRun& run) {
  Limits limits;
  limits.ranges("request", run.request);
  limits.between("wall_clock_ms", run.wall_clock_ms, 0, kMaxTime_ns);
  limits.ranges("group", run.group);
  check_notes(run.notes, limits);
  ENGINE_TRY(limits.take());
  return check(run.result, run.activity, run.snapshot, run.power);
}

engine::Status check(const engine::RunResult& result, const Activity& activity,
                     const Snapshot& snapshot, const PowerTrace& power) {
  Limits limits;
  limits.ranges("result", result);
  limits.ranges("power", power);
  if (limits.ok()) check_result(result, limits);
  if (limits.ok()) check_power(power, limits);
  // Millions: their members are checked one by one here, or by the reader of their cells.
  if (limits.ok()) check_nodes(activity, result, limits);
  if (limits.ok()) check_records(activity, result, limits);
  if (limits.ok()) check_calls(activity, limits);
  if (limits.ok()) check_events(activity, result, limits);
  limits.ranges("snapshot", snapshot);
  return limits.take();
}

engine::Status check(const RecordedComparison& recorded) {
  Limits limits;
  limits.between("wall_clock_ms", recorded.wall_clock_ms, 0, kMaxTime_ns);
  ENGINE_TRY(limits.take());
  return check(recorded.comparison);
}

engine::Status check(const engine::RecipeComparison& comparison) {
  Limits limits;
  limits.ranges("comparison", comparison);
  if (!limits.ok()) return limits.take();
  const std::size_t experts = comparison.splits.size();
  for (const engine::QuantizationReport& report : comparison.reports) {
    check_experts_of("the operand", report.statistics, experts, limits);
    if (const auto& channels = report.statistics.channels) {
      check_channel_experts(*channels, experts, limits);
    }
    limits.require(!(report.max_relative_error < 0.0), [&] {
      return fmt::format("max_relative_error is {}; it must be at least 0",
                         report.max_relative_error);
    });
    limits.require(report.experts.empty() || report.experts.size() == experts, [&] {
      return fmt::format("the report has rows of {} experts, but there are {}",
                         report.experts.size(), experts);
    });
  }
  if (limits.ok() && comparison.request.series) check_series(comparison, limits);
  return limits.take();
}

engine::Status check(const Outcome& outcome, const Snapshot& snapshot) {
  Limits limits;
  limits.ranges("outcome", outcome);
  if (limits.ok()) check_outcome(outcome, snapshot, limits);
  return limits.take();
}

engine::Status check(const RecordedVisit& visit) {
  const DoctorReport& report = visit.report;
  Limits limits;
  limits.ranges("visit", visit);
  for (const Finding& finding : report.findings) {
    if (limits.ok()) check_finding(finding, report.snapshot, limits);
  }
  for (const ExperimentRecord& record : report.experiments) {
    if (!limits.ok()) break;
    limits.between("experiment finding", record.finding, -1, std::ssize(report.findings) - 1);
    check_experiment(record.experiment, report.snapshot, limits);
    if (limits.ok()) check_outcome(record.outcome, report.snapshot, limits);
  }
  for (const MovedMemory& moved : report.smallest_cure) {
    check_node("cured node", moved.node, report.snapshot, limits);
  }
  return limits.take();
}

}  // namespace profiling
