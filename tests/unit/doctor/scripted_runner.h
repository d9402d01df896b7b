// A runner that answers from a function instead of a process, and a step with products as its
// subject.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/doctor/visit.h"

namespace app::testing {

class ScriptedRunner : public ExperimentRunner {
 public:
  using Script = std::function<engine::Result<profiling::Outcome>(const profiling::Experiment&)>;

  ScriptedRunner(profiling::Snapshot captured, Script script)
      : snapshot(std::move(captured)), script_(std::move(script)) {}

  engine::Result<Reply> run(const DoctorSubject&, const profiling::Experiment& experiment,
                            const Watch& watch, const std::atomic<bool>& cancel) override {
    made.push_back(experiment);
    if (on_run) on_run(static_cast<int>(made.size()));
    if (cancel) return engine::Error{engine::ErrorCode::Cancelled, "cancelled"};
    watch(1, {profiling::NodeState::Done, profiling::NodeState::Running});
    engine::Result<profiling::Outcome> outcome = script_(experiment);
    if (!outcome.ok()) return outcome.error();
    return Reply{.snapshot = experiment.graph ? snapshot : profiling::Snapshot{},
                 .outcome = std::move(outcome).value()};
  }

  profiling::Snapshot snapshot;
  std::vector<profiling::Experiment> made;
  std::function<void(int number)> on_run;  // with the number of the experiment, from 1

 private:
  Script script_;
};

/// One graph with one kernel node per product, all with the shared workspace among their arguments.
inline profiling::Snapshot shared_workspace_step(int products) {
  profiling::Snapshot snapshot;
  snapshot.subject = "products";
  engine::Allocation workspace;
  workspace.id = 1;
  workspace.address = 0x1000;
  workspace.bytes = 0x100;
  workspace.role = engine::AllocationRole::Workspace;
  workspace.owner = "workspace";
  snapshot.ledger = {workspace};
  profiling::GraphSnapshot graph;
  graph.name = "step";
  for (int i = 0; i < products; ++i) {
    profiling::KernelNode kernel;
    kernel.parameters = {std::byte{0}, std::byte{0x10}, std::byte{0}, std::byte{0},
                         std::byte{0}, std::byte{0},    std::byte{0}, std::byte{0}};
    profiling::SnapshotNode node;
    node.type = profiling::NodeType::Kernel;
    node.name = "product";
    node.stage = engine::Stage::Fprop;
    node.layer = i;
    node.parameters = kernel;
    graph.nodes.push_back(node);
    if (i > 0) graph.edges.push_back({.from = i - 1, .to = i});
  }
  snapshot.graphs = {graph};
  return snapshot;
}

inline profiling::MovedMemory moved(int node) { return {{0, node}, "workspace"}; }

/// "These two share a workspace": moving the second of them is the cure.
inline profiling::Finding shared_by(int first, int second) {
  profiling::Finding finding;
  finding.rule = "shared-workspace";
  finding.hazard = 1;
  finding.confidence = profiling::Confidence::Likely;
  finding.title = "Two products share a workspace.";
  finding.nodes = {{0, first}, {0, second}};
  for (const int node : {first, second}) {
    profiling::Access access;
    access.node = {0, node};
    access.owner = "workspace";
    finding.accesses.push_back(access);
  }
  finding.proof.cures.moved = {moved(second)};
  return finding;
}

inline profiling::Outcome outcome(profiling::Verdict verdict) {
  profiling::Outcome made;
  made.verdict = verdict;
  if (verdict == profiling::Verdict::Wrong) {
    made.checks = {{.replay = 1, .output = "Y, layer 0", .parts = 4, .wrong_parts = {}},
                   {.replay = 2, .output = "Y, layer 1", .parts = 4, .wrong_parts = {0, 3}}};
  }
  if (verdict == profiling::Verdict::Hung) {
    made.stall.emplace_back();
    made.stall.back().replay = 2;
  }
  if (verdict == profiling::Verdict::Refused || verdict == profiling::Verdict::Crashed ||
      verdict == profiling::Verdict::NotRun) {
    made.message = "a reason";
  }
  return made;
}

}  // namespace app::testing
