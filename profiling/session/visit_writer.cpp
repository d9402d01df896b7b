#include <string_view>
#include <utility>

#include "profiling/session/doctor_schema.h"
#include "profiling/session/event_tables.h"
#include "profiling/session/visit_tables.h"
#include "profiling/session/watch_tables.h"

namespace profiling {
namespace {

engine::Status write_findings(const Target& to, std::int64_t id, const DoctorReport& report) {
  TableWriter findings(to, "findings", 14);
  TableWriter nodes(to, "finding_nodes", 5);
  TableWriter accesses(to, "finding_accesses", 9);
  TableWriter evidence(to, "finding_evidence", 4);
  std::int64_t number = 0;
  for (const Finding& finding : report.findings) {
    findings.row(id, number, finding.rule, finding.hazard, static_cast<int>(finding.confidence),
                 finding.title, finding.explanation, finding.missing_order, finding.fix.words,
                 finding.fix.cublaslt, finding.fix.pytorch, finding.fix.transformer_engine,
                 finding.proof.words, finding.proof.needs_cure);
    std::int64_t position = 0;
    for (const NodeRef& node : finding.nodes) {
      nodes.row(id, number, position++, node.graph, node.node);
    }
    position = 0;
    for (const Access& access : finding.accesses) {
      accesses.row(id, number, position++, access.node.graph, access.node.node, access.place,
                   access.word, access.owner, access.offset);
    }
    position = 0;
    for (const std::string& fact : finding.evidence) {
      evidence.row(id, number, position++, fact);
    }
    ++number;
  }
  engine::Status status = findings.take();
  for (TableWriter* table : {&nodes, &accesses, &evidence}) {
    if (status.ok()) status = table->take();
  }
  return status;
}

class ExperimentWriter {
 public:
  ExperimentWriter(const Target& to, std::int64_t visit_id)
      : visit_(visit_id),
        experiments_(to, "experiments", 16),
        changes_(to, "experiment_changes", 11) {}

  void write(std::size_t purpose, std::int64_t position, std::string_view title, int finding,
             const Experiment& made) {
    experiments_.row(visit_, kPurposes[purpose], position, title, finding, made.graph, made.replays,
                     made.poisoned_workspaces, made.red_zones, made.changed_inputs, made.recaptured,
                     made.scribbled_host, made.free_on_launch, made.eager_loading, made.markers,
                     made.deadline_seconds);
    constexpr NodeRef kNone = {.graph = -1, .node = -1};
    // One row of experiment_changes; what a change does not have is -1 or empty.
    const auto change = [&](std::size_t kind, std::int64_t at, NodeRef node, NodeRef target,
                            std::string_view owner, int value) {
      changes_.row(visit_, kPurposes[purpose], position, kChanges[kind], at, node.graph, node.node,
                   target.graph, target.node, owner, value);
    };
    std::int64_t at = 0;
    for (const MovedMemory& moved : made.moved) change(0, at++, moved.node, kNone, moved.owner, -1);
    at = 0;
    for (const FilledMemory& filled : made.filled) {
      change(1, at++, kNone, kNone, filled.owner, filled.value);
    }
    at = 0;
    for (const NodeRef& delayed : made.delayed) change(2, at++, delayed, kNone, "", -1);
    at = 0;
    for (const auto& [first, second] : made.ordered) change(3, at++, first, second, "", -1);
    if (made.moved_inputs) change(4, 0, kNone, kNone, "", 1);
    if (made.patched_host) change(5, 0, kNone, kNone, "", 1);
  }
  engine::Status take() {
    engine::Status status = experiments_.take();
    return status.ok() ? changes_.take() : status;
  }

 private:
  std::int64_t visit_;
  TableWriter experiments_;
  TableWriter changes_;
};

engine::Status write_experiments(const Target& to, std::int64_t id, const DoctorReport& report) {
  ExperimentWriter experiments(to, id);
  std::int64_t number = 0;
  int index = 0;
  for (const Finding& finding : report.findings) {
    experiments.write(1, number, "", index, finding.proof.shows);
    experiments.write(2, number++, "", index++, finding.proof.cures);
  }
  number = 0;
  for (const ExperimentRecord& record : report.experiments) {
    experiments.write(0, number++, record.title, record.finding, record.experiment);
  }
  return experiments.take();
}

engine::Status write_outcomes(const Target& to, std::int64_t id, const DoctorReport& report) {
  TableWriter outcomes(to, "experiment_outcomes", 5);
  TableWriter replays(to, "experiment_replays", 4);
  TableWriter checks(to, "experiment_checks", 6);
  TableWriter wrong(to, "experiment_wrong_parts", 5);
  TableWriter stalls(to, "experiment_stalls", 10);
  TableWriter stalled(to, "experiment_stall_nodes", 4);
  std::int64_t number = 0;
  for (const ExperimentRecord& record : report.experiments) {
    const Outcome& outcome = record.outcome;
    outcomes.row(id, number, static_cast<int>(outcome.verdict), outcome.message, outcome.seconds);
    std::int64_t position = 0;
    for (const double microseconds : outcome.replay_us) {
      replays.row(id, number, position++, microseconds);
    }
    position = 0;
    for (const OutputCheck& check : outcome.checks) {
      checks.row(id, number, position, check.replay, check.output, check.parts);
      std::int64_t at = 0;
      for (const int part : check.wrong_parts) wrong.row(id, number, position, at++, part);
      ++position;
    }
    for (const Stall& stall : outcome.stall) {
      stalls.row(id, number, stall.replay, stall.graph, stall.waited_seconds,
                 stall.deadline_seconds, stall.last_finished, static_cast<int>(stall.kind),
                 stall.evidence, stall.core_dump);
      position = 0;
      for (const NodeState state : stall.nodes) {
        stalled.row(id, number, position++, static_cast<int>(state));
      }
    }
    ++number;
  }
  engine::Status status = outcomes.take();
  for (TableWriter* table : {&replays, &checks, &wrong, &stalls, &stalled}) {
    if (status.ok()) status = table->take();
  }
  return status;
}

}  // namespace

engine::Status write_visit(const Target& to, std::int64_t visit_id, const RecordedVisit& visit,
                           const RequestCodec& codec) {
  TableWriter visits(to, "visits", 4);
  visits.row(visit_id, visit.wall_clock_ms, codec.to_json(visit.request), visit.report.conclusion);
  TableWriter cures(to, "smallest_cures", 5);
  std::int64_t position = 0;
  for (const MovedMemory& moved : visit.report.smallest_cure) {
    cures.row(visit_id, position++, moved.node.graph, moved.node.node, moved.owner);
  }
  engine::Status status = visits.take();
  if (status.ok()) status = cures.take();
  for (const auto write : {write_findings, write_experiments, write_outcomes}) {
    if (status.ok()) status = write(to, visit_id, visit.report);
  }
  if (status.ok()) status = write_marker_costs(to, visit_id, visit.report);
  if (status.ok()) status = write_stall_percentiles(to, visit_id, visit.report);
  return status;
}

}  // namespace profiling
