// One experiment on a captured graph: what it changes, how often the graph is replayed, and the
// outcome. A proof is two experiments: one that shows the fault and one that removes it. Plain
// values; profiling/hazards/proofs runs them, each in its own process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/fields.h"
#include "engine/model/stage.h"
#include "profiling/hazards/model/core_place.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

inline constexpr int kMaxExperimentReplays = 10'000;
inline constexpr int kMaxReplays = 1'000'000;  // of a run, which a stall can end
inline constexpr int kMaxParts = 1 << 20;      // of an output, an experiment or a finding

/// A node of a snapshot.
struct NodeRef {
  int graph = 0;
  int node = 0;  // index into GraphSnapshot::nodes
  auto operator<=>(const NodeRef&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&NodeRef::graph>({.low = 0, .high = 1000}),
                      engine::field<&NodeRef::node>({.low = 0, .high = engine::kMaxGraphNodes})};
  }
};

/// The node's references to the allocation are redirected to a new buffer of the same size and
/// contents; a preceding memset that only prepares it moves with it.
struct MovedMemory {
  NodeRef node = {};
  std::string owner = {};  // Allocation::owner
  bool operator==(const MovedMemory&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&MovedMemory::node, &MovedMemory::owner>();
  }
};

/// All references of this graph to the allocation are redirected to a new buffer of the same size
/// and contents. Graphs with the same owner share the buffer.
struct FreshMemory {
  std::string owner = {};  // Allocation::owner
  int graph = 0;           // index into Snapshot::graphs
  bool operator==(const FreshMemory&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&FreshMemory::owner>(),
                      engine::field<&FreshMemory::graph>({.low = 0, .high = kMaxSnapshotGraphs})};
  }
};

/// Before every replay the allocation is filled with this byte.
struct FilledMemory {
  std::string owner = {};
  std::uint8_t value = 0;
  bool operator==(const FilledMemory&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&FilledMemory::owner, &FilledMemory::value>();
  }
};

/// A full edge from the first to the second, in place of any other edge between them.
struct OrderedNodes {
  NodeRef first = {};
  NodeRef second = {};
  bool operator==(const OrderedNodes&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&OrderedNodes::first, &OrderedNodes::second>();
  }
};

struct Experiment {
  bool graph = true;  // false: eager launches, nothing is captured
  int replays = 6;    // 0 = capture and instantiate only, and watch for module loads
  std::vector<MovedMemory> moved = {};
  std::vector<FilledMemory> filled = {};
  std::vector<FreshMemory> fresh = {};
  /// Filled between two graphs of a replay: before every launch that waits for another.
  std::vector<FilledMemory> filled_between = {};
  /// The graphs in another order, or overlapping otherwise, than the step launches them; empty =
  /// as the step does. Each graph as often as in the step.
  std::vector<GraphLaunch> launches = {};
  /// A graph that the step launches several times is captured for each of these launches.
  bool captured_per_launch = false;
  /// Every allocation with AllocationRole::Workspace is filled with this byte before the capture
  /// and before every graph of replays 1 and 2; -1 = not filled.
  int poisoned_workspaces = -1;
  bool red_zones = false;       // a pattern around every buffer, checked after the replays
  bool changed_inputs = false;  // from replay 2 on: other splits, other values, other scalars
  bool recaptured = false;      // with changed_inputs: captured again after the change
  bool scribbled_host = false;  // host memory that a copy node reads is overwritten before replays
  /// From replay 2 on every input is in other memory: the addresses in the graph and in arrays of
  /// addresses are updated, the old memory holds a poison while a replay runs.
  bool moved_inputs = false;
  bool patched_host = false;  // with moved_inputs: also update addresses in host memory read by
                              // copy nodes
  std::vector<NodeRef> delayed = {};  // a delay of a few milliseconds right before each node
  std::vector<OrderedNodes> ordered = {};
  bool free_on_launch = false;  // instantiated so that unfreed allocations are freed by a relaunch
  bool eager_loading = false;   // the process loads all kernels before the capture
  bool markers = true;          // marker board: a host-visible word per kernel node
  double deadline_seconds = 0;  // for one replay; 0 = derived from the times of eager launches
  bool operator==(const Experiment&) const = default;

  /// Identical replays: nothing is changed. The deadline and the marker board are not changes.
  bool is_plain() const {
    Experiment plain;
    plain.deadline_seconds = deadline_seconds;
    plain.markers = markers;
    plain.replays = replays;
    return replays > 0 && *this == plain;
  }
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&Experiment::graph>(),
        engine::field<&Experiment::replays>({.low = 0, .high = kMaxExperimentReplays}),
        engine::field<&Experiment::moved>({.most = kMaxParts}),
        engine::field<&Experiment::filled>({.most = kMaxParts}),
        engine::field<&Experiment::fresh>({.most = kMaxParts}),
        engine::field<&Experiment::filled_between>({.most = kMaxParts}),
        engine::field<&Experiment::launches>({.most = kMaxGraphLaunches}),
        engine::field<&Experiment::captured_per_launch>(),
        engine::field<&Experiment::poisoned_workspaces>({.low = -1, .high = 255}),
        engine::field<&Experiment::red_zones>(),
        engine::field<&Experiment::changed_inputs>(),
        engine::field<&Experiment::recaptured>(),
        engine::field<&Experiment::scribbled_host>(),
        engine::field<&Experiment::moved_inputs>(),
        engine::field<&Experiment::patched_host>(),
        engine::field<&Experiment::delayed>({.most = kMaxParts}),
        engine::field<&Experiment::ordered>({.most = kMaxParts}),
        engine::field<&Experiment::free_on_launch>(),
        engine::field<&Experiment::eager_loading>(),
        engine::field<&Experiment::markers>(),
        engine::field<&Experiment::deadline_seconds>({.low = 0})};
  }
};

enum class Verdict : std::uint8_t {
  Right,    // all outputs equal the eager ones bit for bit, in every replay
  Wrong,    // some differ; without replays: kernels were loaded during the capture, as message says
  Hung,     // a replay passed its deadline
  Refused,  // CUDA refused the capture, the instantiation or a launch: message says what
  Crashed,  // the process died, or the device reported a fault
  NotRun,   // could not be run here: message says why
};
constexpr auto enum_names(Verdict) {
  return std::to_array<std::string_view>(
      {"right", "wrong", "hung", "refused", "crashed", "not run"});
}

/// One output of one replay. Parts are experts, or 1 for an output without experts.
struct OutputCheck {
  int replay = 0;           // 1-based
  std::string output = {};  // "Y, layer 0", "dW, layer 1", ...
  int parts = 1;
  std::vector<int> wrong_parts = {};  // ascending; empty = equal
  bool operator==(const OutputCheck&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&OutputCheck::replay>({.low = 1, .high = kMaxReplays}),
        engine::field<&OutputCheck::output>(),
        engine::field<&OutputCheck::parts>({.low = 1, .high = kMaxParts}),
        engine::field<&OutputCheck::wrong_parts>({.low = 0, .high = kMaxParts, .most = kMaxParts})};
  }
};

enum class NodeState : std::uint8_t { NotReached, Running, Done, Unmarked };
constexpr auto enum_names(NodeState) {
  return std::to_array<std::string_view>({"not reached", "running", "done", "unmarked"});
}

enum class StallKind : std::uint8_t {
  KernelSpins,  // the device does other work, this graph's stream makes no progress
  NothingRuns,  // the device is idle or makes no progress at all
  HostBlocked,  // the launch call itself has not returned
  Unknown,
};
constexpr auto enum_names(StallKind) {
  return std::to_array<std::string_view>(
      {"a kernel spins", "nothing runs", "the host is blocked", "unknown"});
}

/// What an attached program can be started with so that a hang of it shows more.
enum class HangDetail : std::uint8_t { Markers, CoreDump };
constexpr auto enum_names(HangDetail) {
  return std::to_array<std::string_view>({"markers", "core dump"});
}

struct Stall {
  int replay = 0;  // 1-based; 0 = a launch without a graph
  int graph = 0;
  double waited_seconds = 0;
  double deadline_seconds = 0;
  double p99_seconds = 0;  // of the replays before it, if the deadline is derived from them;
                           // 0 = derived from eager launches or given
  std::vector<NodeState> nodes = {};  // of that graph; empty without markers
  int last_finished = -1;             // node index; -1 = none
  StallKind kind = StallKind::Unknown;
  /// How the kind was determined: "a probe kernel on another stream finished in ...".
  std::string evidence = {};
  std::string core_dump = {};  // path on the worker's machine; empty = none
  CorePlace core = {};         // what was read in it
  /// Of an attached program: what it was not started with and could have been.
  std::vector<HangDetail> not_asked_for = {};
  bool operator==(const Stall&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&Stall::replay>({.low = 0, .high = kMaxReplays}),
        engine::field<&Stall::graph>({.low = 0, .high = 1000}),
        engine::field<&Stall::waited_seconds>({.low = 0}),
        engine::field<&Stall::deadline_seconds>({.low = 0}),
        engine::field<&Stall::p99_seconds>({.low = 0}),
        engine::field<&Stall::nodes>({.most = engine::kMaxGraphNodes}),
        engine::field<&Stall::last_finished>({.low = -1, .high = engine::kMaxGraphNodes}),
        engine::field<&Stall::kind>(),
        engine::field<&Stall::evidence>(),
        engine::field<&Stall::core_dump>(engine::kPath),
        engine::field<&Stall::core>({.sparse = true}),
        engine::field<&Stall::not_asked_for>(
            {.most = enum_names(HangDetail{}).size(), .sparse = true})};
  }
};

/// Overhead of the markers: one graph with and without them, replays interleaved. Medians.
struct MarkerCost {
  int samples = 0;  // replays of each; 0 = not measured
  double with_us = 0;
  double without_us = 0;
  bool operator==(const MarkerCost&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&MarkerCost::samples>({.low = 0, .high = kMaxReplays}),
                      engine::field<&MarkerCost::with_us>({.low = 0}),
                      engine::field<&MarkerCost::without_us>({.low = 0})};
  }
};

struct Outcome {
  Verdict verdict = Verdict::NotRun;
  std::string message = {};  // for Refused, Crashed and NotRun, for Wrong without wrong outputs,
                             // and for Wrong with moved inputs: where old addresses were found
  std::vector<OutputCheck> checks = {};
  std::vector<Stall> stall = {};       // one if hung, none otherwise
  double seconds = 0;                  // wall time of the process, start included
  std::vector<double> replay_us = {};  // one per replay, by CUDA events
  MarkerCost marker_cost = {};         // for plain replays with markers that gave correct results
  bool operator==(const Outcome&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&Outcome::verdict>(),
                      engine::field<&Outcome::message>(),
                      engine::field<&Outcome::checks>({.most = kMaxParts}),
                      engine::field<&Outcome::stall>({.most = 1}),
                      engine::field<&Outcome::seconds>({.low = 0}),
                      engine::field<&Outcome::replay_us>({.low = 0, .most = kMaxReplays}),
                      engine::field<&Outcome::marker_cost>({.sparse = true})};
  }
};

/// The first replay with a wrong output; 0 = none.
inline int first_wrong_replay(const Outcome& outcome) {
  int first = 0;
  for (const OutputCheck& check : outcome.checks) {
    if (!check.wrong_parts.empty() && (first == 0 || check.replay < first)) first = check.replay;
  }
  return first;
}

// A stalled run, as far as its state is known without waiting for it.

struct StalledRun {
  Snapshot snapshot;  // one graph and the ledger, or nothing before a capture; facts about the
                      // device are empty
  Stall stall;
};

}  // namespace profiling
