#include "profiling/session/doctor_rules.h"

#include <cmath>

#include "profiling/hazards/model/snapshot_check.h"
#include "profiling/session/doctor_schema.h"

namespace profiling {
namespace {

void check_graph(const GraphSnapshot& graph, Rules& rules) {
  rules.text("graph name", graph.name);
  rules.text("graph changed", graph.changed);
  rules.text("capture failure", graph.failure.name);
  rules.text("capture failure call", graph.failure.call);
  rules.between("capture failure code", graph.failure.code, 0, 1 << 20);
  rules.size("graph nodes", graph.nodes.size(), kMaxGraphNodes);
  rules.size("graph edges", graph.edges.size(), kMaxGraphEdges);
  rules.size("capture events", graph.events.size(), kMaxCaptureEvents);
  for (const CaptureEvent& event : graph.events) rules.text("capture event", event.what);
  for (const SnapshotNode& node : graph.nodes) {
    if (!rules.ok()) return;
    rules.text("node name", node.name);
    rules.between("node layer", node.layer, 0, kMaxGraphNodes);
    const auto* kernel = std::get_if<KernelNode>(&node.parameters);
    if (kernel == nullptr) continue;
    rules.text("kernel function", kernel->function);
    rules.size("kernel parameters", kernel->parameters.size(), kMaxParameterBytes);
    rules.size("parameter slots", kernel->slots.size(), kMaxSlots);
  }
}

/// Of the visit's own snapshot.
void check_node(const char* field, NodeRef place, const Snapshot& snapshot, Rules& rules) {
  rules.between(field, place.graph, 0, std::ssize(snapshot.graphs) - 1);
  if (!rules.ok()) return;
  const auto& nodes = snapshot.graphs[static_cast<std::size_t>(place.graph)].nodes;
  rules.between(field, place.node, 0, std::ssize(nodes) - 1);
}

void check_real(const char* field, double value, Rules& rules) {
  rules.require(std::isfinite(value) && value >= 0.0, [&] {
    return fmt::format("{} is {}; it must be finite and at least 0", field, value);
  });
}

void check_experiment(const Experiment& made, const Snapshot& snapshot, Rules& rules) {
  rules.between("replays", made.replays, 0, 1'000'000);
  rules.between("poisoned_workspaces", made.poisoned_workspaces, -1, 255);
  check_real("deadline_seconds", made.deadline_seconds, rules);
  for (const std::size_t size :
       {made.moved.size(), made.filled.size(), made.delayed.size(), made.ordered.size()}) {
    rules.size("changes of an experiment", size, kMaxExperimentParts);
  }
  for (const MovedMemory& moved : made.moved) {
    check_node("moved node", moved.node, snapshot, rules);
    rules.text("moved owner", moved.owner);
  }
  for (const FilledMemory& filled : made.filled) rules.text("filled owner", filled.owner);
  for (const NodeRef& node : made.delayed) check_node("delayed node", node, snapshot, rules);
  for (const auto& [first, second] : made.ordered) {
    check_node("ordered node", first, snapshot, rules);
    check_node("ordered node", second, snapshot, rules);
  }
}

void check_finding(const Finding& finding, const Snapshot& snapshot, Rules& rules) {
  for (const std::string* text :
       {&finding.rule, &finding.title, &finding.explanation, &finding.missing_order,
        &finding.fix.words, &finding.fix.cublaslt, &finding.fix.pytorch,
        &finding.fix.transformer_engine, &finding.proof.words}) {
    rules.text("finding text", *text);
  }
  rules.between("hazard", finding.hazard, 0, 1000);
  rules.between("confidence", static_cast<int>(finding.confidence), 0,
                static_cast<int>(Confidence::Disproved));
  for (const std::size_t size :
       {finding.nodes.size(), finding.accesses.size(), finding.evidence.size()}) {
    rules.size("parts of a finding", size, kMaxFindingParts);
  }
  for (const NodeRef& node : finding.nodes) check_node("finding node", node, snapshot, rules);
  for (const Access& access : finding.accesses) {
    check_node("access node", access.node, snapshot, rules);
    rules.text("access place", access.place);
    rules.text("access owner", access.owner);
  }
  for (const std::string& fact : finding.evidence) rules.text("evidence", fact);
  check_experiment(finding.proof.shows, snapshot, rules);
  check_experiment(finding.proof.cures, snapshot, rules);
}

void check_stall(const Stall& stall, const Snapshot& snapshot, Rules& rules) {
  rules.between("stall replay", stall.replay, 0, 1'000'000);
  check_real("stall waited_seconds", stall.waited_seconds, rules);
  check_real("stall deadline_seconds", stall.deadline_seconds, rules);
  check_real("stall p99_seconds", stall.p99_seconds, rules);
  rules.between("stall kind", static_cast<int>(stall.kind), 0,
                static_cast<int>(StallKind::Unknown));
  rules.text("stall evidence", stall.evidence);
  rules.text("stall core_dump", stall.core_dump);
  // An experiment can stall without a graph: eager launches.
  if (snapshot.graphs.empty()) {
    rules.between("stall graph", stall.graph, 0, 0);
    rules.size("stall nodes", stall.nodes.size(), 0);
  } else {
    rules.between("stall graph", stall.graph, 0, std::ssize(snapshot.graphs) - 1);
    if (!rules.ok()) return;
    const auto& nodes = snapshot.graphs[static_cast<std::size_t>(stall.graph)].nodes;
    rules.size("stall nodes", stall.nodes.size(), std::ssize(nodes));
    rules.between("stall last_finished", stall.last_finished, -1, std::ssize(nodes) - 1);
  }
  for (const NodeState state : stall.nodes) {
    rules.between("stall node", static_cast<int>(state), 0, static_cast<int>(NodeState::Unmarked));
  }
}

void check_outcome(const Outcome& outcome, const Snapshot& snapshot, Rules& rules) {
  rules.between("verdict", static_cast<int>(outcome.verdict), 0, static_cast<int>(Verdict::NotRun));
  rules.text("outcome message", outcome.message);
  check_real("outcome seconds", outcome.seconds, rules);
  rules.size("outcome replays", outcome.replay_us.size(), 1'000'000);
  rules.between("marker cost samples", outcome.marker_cost.samples, 0, 1'000'000);
  check_real("marker cost with_us", outcome.marker_cost.with_us, rules);
  check_real("marker cost without_us", outcome.marker_cost.without_us, rules);
  for (const double microseconds : outcome.replay_us) {
    check_real("outcome replay_us", microseconds, rules);
  }
  rules.size("output checks", outcome.checks.size(), kMaxExperimentParts);
  for (const OutputCheck& check : outcome.checks) {
    rules.between("output check replay", check.replay, 1, 1'000'000);
    rules.text("output check output", check.output);
    rules.between("output check parts", check.parts, 1, kMaxExperimentParts);
    std::int64_t least = 0;
    for (const int part : check.wrong_parts) {
      rules.between("output check wrong part (ascending)", part, least,
                    saturated_sum(check.parts, -1));
      least = saturated_sum(part, 1);
    }
    if (!rules.ok()) return;
  }
  rules.size("stalls of an experiment", outcome.stall.size(), 1);
  if (!rules.ok()) return;
  for (const Stall& stall : outcome.stall) check_stall(stall, snapshot, rules);
}

}  // namespace

void check_kept_snapshot(const Snapshot& snapshot, Rules& rules) {
  for (const std::string* text : {&snapshot.subject, &snapshot.cublaslt_version, &snapshot.device,
                                  &snapshot.compute_capability, &snapshot.driver}) {
    rules.text("snapshot", *text);
  }
  rules.size("graphs", snapshot.graphs.size(), kMaxSnapshotGraphs);
  rules.size("allocations", snapshot.ledger.size(), kMaxAllocations);
  for (const engine::Allocation& allocation : snapshot.ledger) {
    rules.text("allocation owner", allocation.owner);
  }
  for (const GraphSnapshot& graph : snapshot.graphs) {
    if (rules.ok()) check_graph(graph, rules);
  }
  if (rules.ok()) rules.status("snapshot", check_snapshot(snapshot));
}

engine::Status check_visit(const RecordedVisit& visit) {
  Rules rules;
  const DoctorReport& report = visit.report;
  rules.status("request", engine::validate(visit.request));
  rules.between("wall_clock_ms", visit.wall_clock_ms, 0, kMaxTime_ns);
  rules.text("conclusion", report.conclusion);
  rules.size("findings", report.findings.size(), kMaxFindings);
  rules.size("experiments", report.experiments.size(), kMaxExperiments);
  rules.size("smallest cure", report.smallest_cure.size(), kMaxExperimentParts);
  if (rules.ok()) check_kept_snapshot(report.snapshot, rules);
  for (const Finding& finding : report.findings) {
    if (rules.ok()) check_finding(finding, report.snapshot, rules);
  }
  for (const ExperimentRecord& record : report.experiments) {
    if (!rules.ok()) break;
    rules.text("experiment title", record.title);
    rules.between("experiment finding", record.finding, -1, std::ssize(report.findings) - 1);
    check_experiment(record.experiment, report.snapshot, rules);
    if (rules.ok()) check_outcome(record.outcome, report.snapshot, rules);
  }
  for (const MovedMemory& moved : report.smallest_cure) {
    check_node("cured node", moved.node, report.snapshot, rules);
    rules.text("cured owner", moved.owner);
  }
  return rules.take();
}

}  // namespace profiling
