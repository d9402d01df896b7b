#include "profiling/hazards/proofs/experiment_captures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/device/allocation_ledger.h"
#include "engine/device/check.h"
#include "profiling/hazards/proofs/graph_changes.h"
#include "profiling/hazards/proofs/marker_cost.h"
#include "profiling/hazards/proofs/subject_capture.h"
#include "profiling/hazards/snapshot/accesses.h"
#include "profiling/hazards/snapshot/graph_reader.h"

namespace profiling {

using engine::Error;
using engine::ErrorCode;
using engine::Result;
using engine::Status;

Status ExperimentCaptures::capture() {
  ENGINE_ASSIGN(plan_, plan_launches(state_.subject, state_.experiment));
  Snapshot& snapshot = state_.reply.snapshot;
  ENGINE_TRY(capture_all(graphs_, snapshot.graphs, -1));
  if (!state_.experiment.captured_per_launch) snapshot.launches = state_.subject.launches();
  snapshot.pools = state_.subject.graph_pools();
  return {};
}

Status ExperimentCaptures::capture_again() {
  const auto discarded = std::exchange(graphs_, {});
  std::vector<GraphSnapshot> again;
  ENGINE_TRY(capture_all(graphs_, again, -1));
  return make_executables();
}

Status ExperimentCaptures::make_executables() {
  for (std::size_t g = 0; g < graphs_.size(); ++g) ENGINE_TRY(make_executable(g));
  return {};
}

void ExperimentCaptures::read_ledger() {
  const engine::AllocationLedger& ledger = engine::AllocationLedger::of_process();
  state_.reply.snapshot.ledger = ledger.read();
  state_.reply.snapshot.ledger_clock = ledger.clock();
  add_driver_memory(state_.driver, state_.reply.snapshot);
}

Status ExperimentCaptures::poison_workspaces() const {
  if (state_.experiment.poisoned_workspaces < 0) return {};
  for (const engine::Allocation& allocation : engine::AllocationLedger::of_process().read()) {
    if (allocation.role != engine::AllocationRole::Workspace || !allocation.live()) continue;
    ENGINE_CUDA_TRY(
        cudaMemsetAsync(reinterpret_cast<void*>(allocation.address),
                        state_.experiment.poisoned_workspaces, allocation.bytes, state_.stream),
        "Filling a workspace");
  }
  return {};
}

void ExperimentCaptures::start_load_watch(int variant_of) {
  if (state_.experiment.replays > 0 || variant_of >= 0) return;
  Result<std::unique_ptr<LoadWatch>> watch = LoadWatch::start();
  if (watch.ok()) {
    load_watch_ = std::move(watch).value();
  } else {
    unwatched_ = watch.error().message;
  }
}

void ExperimentCaptures::note_loads(GraphSnapshot& snapshot) {
  if (load_watch_ == nullptr) return;
  const Result<std::vector<std::string>> loads = load_watch_->stop();
  load_watch_.reset();
  if (!loads.ok()) {
    unwatched_ = loads.error().message;
    return;
  }
  for (const std::string& load : loads.value()) {
    snapshot.events.push_back({.kind = CaptureEvent::Kind::LazyLoad, .what = load});
    loads_ += loads_.empty() ? load : "; " + load;
  }
}

Status ExperimentCaptures::end_capture_only() {
  if (!loads_.empty()) return state_.end(Verdict::Wrong, "loaded during the capture: " + loads_);
  if (unwatched_.empty()) return state_.end(Verdict::Right);
  return state_.end(Verdict::NotRun,
                    "captured, but module loads could not be watched: " + unwatched_);
}

Result<CapturedGraph> ExperimentCaptures::capture_one(int graph, int number, GraphSnapshot about,
                                                      std::vector<GraphSnapshot>& snapshots) {
  ENGINE_TRY(poison_workspaces());
  ENGINE_TRY(state_.subject.before_launch(number, state_.stream));
  if (const cudaError_t synced = cudaStreamSynchronize(state_.stream); synced != cudaSuccess) {
    return state_.end(Verdict::Crashed, engine::cuda_error(synced, "Before the capture").message)
        .error();
  }
  start_load_watch(about.variant_of);
  ENGINE_ASSIGN(Capture capture,
                capture_graph(state_.driver, state_.subject, graph, state_.stream));
  note_loads(capture.read.snapshot);
  GraphSnapshot snapshot = capture.read.snapshot;
  snapshot.name = std::move(about.name);
  snapshot.variant_of = about.variant_of;
  snapshot.changed = std::move(about.changed);
  snapshots.push_back(std::move(snapshot));
  if (capture.refused) {
    read_ledger();
    return state_.end(Verdict::Refused, capture.refused->message).error();
  }
  CapturedGraph captured;
  captured.graph = std::move(capture.graph);
  captured.read = std::move(capture.read);
  return captured;
}

Status ExperimentCaptures::capture_all(std::vector<CapturedGraph>& captured,
                                       std::vector<GraphSnapshot>& snapshots, int variant_of) {
  const std::vector<std::string> names = state_.subject.graph_names();
  const std::vector<GraphLaunch> launches = launches_of(state_.subject);
  const auto capture = [&](int graph, int number, std::string name) -> Status {
    GraphSnapshot about{.name = std::move(name)};
    if (variant_of >= 0) {
      about.variant_of = variant_of + graph;
      about.changed = "inputs";
    }
    ENGINE_ASSIGN(CapturedGraph made, capture_one(graph, number, std::move(about), snapshots));
    captured.push_back(std::move(made));
    return variant_of < 0 ? state_.subject.captured(graph, state_.stream) : Status{};
  };
  if (state_.experiment.captured_per_launch && variant_of < 0) {
    for (int number = 0; number < static_cast<int>(launches.size()); ++number) {
      const int graph = launches[static_cast<std::size_t>(number)].graph;
      ENGINE_TRY(capture(
          graph, number,
          fmt::format("{}, launch {}", names[static_cast<std::size_t>(graph)], number + 1)));
    }
  } else {
    for (int graph = 0; graph < static_cast<int>(names.size()); ++graph) {
      const auto first = std::ranges::find(launches, graph, &GraphLaunch::graph);
      ENGINE_TRY(capture(graph, static_cast<int>(first - launches.begin()),
                         names[static_cast<std::size_t>(graph)]));
    }
  }
  if (variant_of < 0) read_ledger();
  return {};
}

Status ExperimentCaptures::check_ref(const NodeRef& ref) const {
  const bool known = ref.graph >= 0 && static_cast<std::size_t>(ref.graph) < graphs_.size() &&
                     ref.node >= 0 &&
                     static_cast<std::size_t>(ref.node) <
                         graphs_[static_cast<std::size_t>(ref.graph)].read.snapshot.nodes.size();
  if (known) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("The experiment names node {} of graph {}, which was not captured",
                           ref.node, ref.graph)};
}

Status ExperimentCaptures::find_memory() const {
  for (const MovedMemory& moved : state_.experiment.moved) ENGINE_TRY(check_ref(moved.node));
  for (const NodeRef& node : state_.experiment.delayed) ENGINE_TRY(check_ref(node));
  for (const auto& [first, second] : state_.experiment.ordered) {
    ENGINE_TRY(check_ref(first));
    ENGINE_TRY(check_ref(second));
  }
  const auto need = [&](const std::string& owner) -> Status {
    if (state_.allocation_of(owner) != nullptr) return {};
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("The experiment names memory \"{}\", which was not allocated", owner)};
  };
  for (const MovedMemory& moved : state_.experiment.moved) ENGINE_TRY(need(moved.owner));
  for (const FilledMemory& filled : state_.experiment.filled) ENGINE_TRY(need(filled.owner));
  for (const FilledMemory& filled : state_.experiment.filled_between) {
    ENGINE_TRY(need(filled.owner));
  }
  for (const FreshMemory& fresh : state_.experiment.fresh) {
    ENGINE_TRY(check_ref({.graph = fresh.graph, .node = 0}));
    ENGINE_TRY(need(fresh.owner));
  }
  return {};
}

Status ExperimentCaptures::make_executable(std::size_t index) {
  CapturedGraph& captured = graphs_[index];
  const int graph = static_cast<int>(index);
  for (const auto& [first, second] : state_.experiment.ordered) {
    if (first.graph != graph || second.graph != graph) continue;
    ENGINE_TRY(
        order_nodes(state_.driver, captured.graph.get(), captured.read, first.node, second.node));
  }
  for (const NodeRef& node : state_.experiment.delayed) {
    if (node.graph != graph) continue;
    ENGINE_TRY(delay_node(state_.driver, captured.graph.get(), captured.read, node.node));
  }
  if (state_.experiment.markers) {
    if (measures_markers(state_.experiment)) captured.unmarked = copy_of(captured);
    ENGINE_ASSIGN(MarkerBoard board,
                  MarkerBoard::add(state_.driver, captured.graph.get(), captured.read));
    captured.board.emplace(std::move(board));
  }
  cudaGraphExec_t raw = nullptr;
  const unsigned flags =
      state_.experiment.free_on_launch ? unsigned{cudaGraphInstantiateFlagAutoFreeOnLaunch} : 0U;
  if (const cudaError_t made = cudaGraphInstantiateWithFlags(&raw, captured.graph.get(), flags);
      made != cudaSuccess) {
    return state_.end(Verdict::Refused,
                      engine::cuda_error(made, "Instantiating the graph").message);
  }
  captured.executable = engine::GraphExec(raw);
  ENGINE_TRY(freshen_memory(captured, graph));
  return move_memory(captured, graph);
}

/// Notes the relocations, which move_memory() makes.
Status ExperimentCaptures::freshen_memory(CapturedGraph& captured, int graph) {
  for (const FreshMemory& fresh : state_.experiment.fresh) {
    if (fresh.graph != graph) continue;
    const engine::Allocation& allocation = *state_.allocation_of(fresh.owner);
    engine::DeviceBuffer& buffer = fresh_[fresh.owner];
    if (!buffer) {
      ENGINE_ASSIGN(buffer, copy_elsewhere(allocation));
    }
    const Relocation range{.address = allocation.address,
                           .bytes = allocation.bytes,
                           .target = reinterpret_cast<std::uint64_t>(buffer.data())};
    bool held = false;
    for (const Touch& touch : find_touches(state_.reply.snapshot, captured.read.snapshot)) {
      if (!range.holds(touch.word)) continue;
      held = true;
      std::vector<Relocation>& ranges = captured.relocations[touch.node];
      const auto known = std::ranges::find(ranges, range.target, &Relocation::target);
      if (known == ranges.end()) ranges.push_back(range);
    }
    if (!held) {
      return Error{ErrorCode::NotFound,
                   fmt::format("Graph {} holds no address in \"{}\"", graph, fresh.owner)};
    }
  }
  return {};
}

Status ExperimentCaptures::move_memory(CapturedGraph& captured, int graph) const {
  const auto patch = [&](int node, std::span<const Relocation> ranges) {
    return relocate_node(state_.driver, captured.executable.get(), captured.read, node, ranges);
  };
  for (const MovedMemory& moved : state_.experiment.moved) {
    if (moved.node.graph != graph) continue;
    const engine::Allocation& allocation = *state_.allocation_of(moved.owner);
    ENGINE_ASSIGN(engine::DeviceBuffer fresh, copy_elsewhere(allocation));
    const Relocation range{.address = allocation.address,
                           .bytes = allocation.bytes,
                           .target = reinterpret_cast<std::uint64_t>(fresh.data())};
    captured.moved.push_back(std::move(fresh));
    const Result<bool> holds = patch(moved.node.node, {&range, 1});
    if (!holds.ok()) return holds.error();
    if (!holds.value()) {
      return Error{ErrorCode::NotFound,
                   fmt::format("Node {} holds no address in \"{}\"", moved.node.node, moved.owner)};
    }
    captured.relocations[moved.node.node].push_back(range);
    for (const int memset : memsets_before(captured.read.snapshot, moved.node.node)) {
      captured.relocations[memset].push_back(range);
    }
  }
  for (const auto& [node, ranges] : captured.relocations) {
    if (const Result<bool> patched = patch(node, ranges); !patched.ok()) return patched.error();
  }
  return {};
}

Status ExperimentCaptures::move_inputs() {
  Result<MovedInputs> moved =
      MovedInputs::create(state_.driver, graphs_, state_.experiment.patched_host);
  if (!moved.ok()) {
    if (moved.error().code != ErrorCode::Unsupported) return state_.end_with(moved.error());
    return state_.end(Verdict::NotRun, moved.error().message);
  }
  moved_inputs_.emplace(std::move(moved).value());
  return {};
}

Status ExperimentCaptures::keep_outcome(Outcome so_far, std::vector<GraphSnapshot> variants,
                                        bool captured) {
  if (!captured) {
    state_.reply.outcome = std::move(so_far);
    state_.finished = false;
    return {};
  }
  for (GraphSnapshot& variant : variants) {
    state_.reply.snapshot.graphs.push_back(std::move(variant));
  }
  return {};
}

Status ExperimentCaptures::capture_next_launches(std::vector<GraphSnapshot>& snapshots) {
  const std::vector<std::string> names = state_.subject.graph_names();
  const std::vector<GraphLaunch> launches = launches_of(state_.subject);
  std::vector<int> seen(names.size(), 0);
  for (int number = 0; number < static_cast<int>(launches.size()); ++number) {
    const int graph = launches[static_cast<std::size_t>(number)].graph;
    if (++seen[static_cast<std::size_t>(graph)] != 2) continue;
    GraphSnapshot about{.name = names[static_cast<std::size_t>(graph)], .variant_of = graph};
    about.changed = kNextLaunch;
    const Result<CapturedGraph> read_only = capture_one(graph, number, std::move(about), snapshots);
    if (!read_only.ok()) return read_only.error();
  }
  return {};
}

Status ExperimentCaptures::capture_variants() {
  if (state_.experiment.changed_inputs || state_.experiment.captured_per_launch) return {};
  const Outcome so_far = state_.reply.outcome;
  std::vector<GraphSnapshot> next;
  const bool next_captured = capture_next_launches(next).ok();
  ENGINE_TRY(keep_outcome(so_far, std::move(next), next_captured));
  // A subject whose inputs cannot change has no variant; that is not an error.
  if (!state_.subject.set_inputs(true, state_.stream).ok()) return {};
  std::vector<GraphSnapshot> variants;
  std::vector<CapturedGraph> unused;
  const bool captured = capture_all(unused, variants, 0).ok();
  return keep_outcome(so_far, std::move(variants), captured);
}

}  // namespace profiling
