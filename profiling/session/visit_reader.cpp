#include <fmt/format.h>

#include <utility>
#include <vector>

#include "profiling/session/doctor_schema.h"
#include "profiling/session/table_cells.h"
#include "profiling/session/visit_table.h"
#include "profiling/session/visit_tables.h"

namespace profiling {
namespace {

constexpr std::int64_t kMaxReplays = 1'000'000;

bool flag(RowReader& rows, const char* column) { return rows.integer<int>(column, 0, 1) == 1; }

template <class Enum>
Enum number_of(RowReader& rows, const char* column, Enum last) {
  return static_cast<Enum>(rows.integer<int>(column, 0, static_cast<int>(last)));
}

/// Ranges against the snapshot: doctor_rules.h.
NodeRef node_of(RowReader& rows, const char* graph, const char* node) {
  NodeRef place;
  place.graph = rows.integer<int>(graph, -1, kMaxSnapshotGraphs);
  place.node = rows.integer<int>(node, -1, kMaxGraphNodes);
  return place;
}

engine::Status read_heads(const TableSource& source, Session& session) {
  RowReader rows(source.database, source.path, "visits", "SELECT * FROM visits ORDER BY visit_id",
                 source.budget, sizeof(RecordedVisit));
  while (rows.next()) {
    const auto id = rows.integer<std::int64_t>("visit_id", 1, RowReader::kAnyHigh);
    if (rows.ok() && id != std::ssize(session.visits) + 1) {
      rows.refuse(fmt::format("visit_id is {} where {} comes next", id, session.visits.size() + 1));
    }
    if (rows.ok() && std::ssize(session.visits) >= source.limits.max_runs) {
      rows.refuse(fmt::format("more visits than the limit of {}", source.limits.max_runs));
    }
    RecordedVisit visit;
    visit.wall_clock_ms = rows.count("wall_clock_ms");
    visit.request = request_of(rows, "request_json", source.codec);
    visit.report.conclusion = rows.text("conclusion");
    if (rows.ok()) session.visits.push_back(std::move(visit));
  }
  return rows.take();
}

engine::Status read_findings(const TableSource& source, Session& session) {
  VisitTable table(source, session, "findings", "SELECT * FROM findings ORDER BY visit_id, finding",
                   sizeof(Finding));
  return table.each([](DoctorReport& report, RowReader& rows) {
    if (!at_next(rows, "finding", report.findings.size(), kMaxFindings)) return;
    Finding finding;
    finding.rule = rows.text("rule");
    finding.hazard = rows.integer<int>("hazard", 0, 1000);
    finding.confidence = number_of(rows, "confidence", Confidence::Disproved);
    for (const auto& [column, target] :
         {std::pair{"title", &finding.title}, std::pair{"explanation", &finding.explanation},
          std::pair{"missing_order", &finding.missing_order},
          std::pair{"fix_words", &finding.fix.words},
          std::pair{"fix_cublaslt", &finding.fix.cublaslt},
          std::pair{"fix_pytorch", &finding.fix.pytorch},
          std::pair{"fix_transformer_engine", &finding.fix.transformer_engine},
          std::pair{"proof_words", &finding.proof.words}}) {
      *target = rows.text(column);
    }
    finding.proof.needs_cure = flag(rows, "needs_cure");
    report.findings.push_back(std::move(finding));
  });
}

engine::Status read_finding_parts(const TableSource& source, Session& session) {
  VisitTable nodes(source, session, "finding_nodes",
                   "SELECT * FROM finding_nodes ORDER BY visit_id, finding, position",
                   sizeof(NodeRef));
  engine::Status status = nodes.each_finding([](Finding& finding, RowReader& rows) {
    if (!at_next(rows, "position", finding.nodes.size(), kMaxFindingParts)) return;
    finding.nodes.push_back(node_of(rows, "graph", "node"));
  });
  if (!status.ok()) return status;
  VisitTable accesses(source, session, "finding_accesses",
                      "SELECT * FROM finding_accesses ORDER BY visit_id, finding, position",
                      sizeof(Access));
  status = accesses.each_finding([](Finding& finding, RowReader& rows) {
    if (!at_next(rows, "position", finding.accesses.size(), kMaxFindingParts)) return;
    Access access;
    access.node = node_of(rows, "graph", "node");
    access.place = rows.text("place");
    access.word = rows.integer<std::uint64_t>("word", RowReader::kAnyLow, RowReader::kAnyHigh);
    access.owner = rows.text("owner");
    access.offset = rows.integer<std::uint64_t>("offset", RowReader::kAnyLow, RowReader::kAnyHigh);
    finding.accesses.push_back(std::move(access));
  });
  if (!status.ok()) return status;
  VisitTable evidence(source, session, "finding_evidence",
                      "SELECT * FROM finding_evidence ORDER BY visit_id, finding, position",
                      sizeof(std::string));
  return evidence.each_finding([](Finding& finding, RowReader& rows) {
    if (!at_next(rows, "position", finding.evidence.size(), kMaxFindingParts)) return;
    finding.evidence.push_back(rows.text("evidence"));
  });
}

/// The experiment of a row's purpose and position; null after a refusal.
Experiment* experiment_at(DoctorReport& report, RowReader& rows, std::size_t purpose,
                          const char* column) {
  const bool made = purpose == 0;
  const std::int64_t count = made ? std::ssize(report.experiments) : std::ssize(report.findings);
  const auto at = rows.integer<std::size_t>(column, 0, count - 1);
  if (!rows.ok()) return nullptr;
  if (made) return &report.experiments[at].experiment;
  Proof& proof = report.findings[at].proof;
  return purpose == 1 ? &proof.shows : &proof.cures;
}

engine::Status read_experiments(const TableSource& source, Session& session) {
  VisitTable table(source, session, "experiments",
                   "SELECT * FROM experiments ORDER BY visit_id, purpose, position",
                   sizeof(ExperimentRecord));
  return table.each([](DoctorReport& report, RowReader& rows) {
    const std::size_t purpose = rows.choice("purpose", kPurposes);
    if (rows.ok() && purpose == 0 && std::ssize(report.experiments) < kMaxExperiments) {
      report.experiments.emplace_back();
    }
    Experiment* const made = experiment_at(report, rows, purpose, "position");
    if (made == nullptr) return;
    if (purpose == 0 && made != &report.experiments.back().experiment) {
      return rows.refuse("position is not the one that comes next");
    }
    const std::string title = rows.text("title");
    const auto finding = rows.integer<int>("finding", -1, std::ssize(report.findings) - 1);
    if (purpose == 0) {
      report.experiments.back().title = title;
      report.experiments.back().finding = finding;
    }
    made->graph = flag(rows, "graph");
    made->replays = rows.integer<int>("replays", 0, kMaxReplays);
    made->poisoned_workspaces = rows.integer<int>("poisoned_workspaces", -1, 255);
    for (const auto& [column, target] :
         {std::pair{"red_zones", &made->red_zones},
          std::pair{"changed_inputs", &made->changed_inputs},
          std::pair{"recaptured", &made->recaptured},
          std::pair{"scribbled_host", &made->scribbled_host},
          std::pair{"free_on_launch", &made->free_on_launch},
          std::pair{"eager_loading", &made->eager_loading}, std::pair{"markers", &made->markers}}) {
      *target = flag(rows, column);
    }
    made->deadline_seconds = rows.real("deadline_seconds");
  });
}

engine::Status read_changes(const TableSource& source, Session& session) {
  VisitTable table(source, session, "experiment_changes",
                   "SELECT * FROM experiment_changes ORDER BY visit_id, purpose, experiment, "
                   "change, position",
                   sizeof(MovedMemory));
  return table.each([](DoctorReport& report, RowReader& rows) {
    const std::size_t purpose = rows.choice("purpose", kPurposes);
    Experiment* const made = experiment_at(report, rows, purpose, "experiment");
    const std::size_t kind = rows.choice("change", kChanges);
    if (made == nullptr || !rows.ok()) return;
    const std::size_t sizes[] = {
        made->moved.size(), made->filled.size(), made->delayed.size(), made->ordered.size(), 0, 0};
    if (!at_next(rows, "position", sizes[kind], kMaxExperimentParts)) return;
    const NodeRef node = node_of(rows, "graph", "node");
    const NodeRef target = node_of(rows, "to_graph", "to_node");
    const std::string owner = rows.text("owner");
    const int value = rows.integer<int>("value", -1, 255);
    if (kind == 0) made->moved.push_back({.node = node, .owner = owner});
    if (kind == 1) {
      made->filled.push_back({.owner = owner, .value = static_cast<std::uint8_t>(value)});
    }
    if (kind == 2) made->delayed.push_back(node);
    if (kind == 3) made->ordered.push_back({node, target});
    if (kind >= 4 && value != 1) return rows.refuse("value is not 1");
    if (kind == 4) made->moved_inputs = true;
    if (kind == 5) made->patched_host = true;
  });
}

engine::Status read_outcomes(const TableSource& source, Session& session) {
  VisitTable outcomes(source, session, "experiment_outcomes",
                      "SELECT * FROM experiment_outcomes ORDER BY visit_id, experiment", 0);
  engine::Status status = outcomes.each_outcome([](Outcome& outcome, RowReader& rows) {
    outcome.verdict = number_of(rows, "verdict", Verdict::NotRun);
    outcome.message = rows.text("message");
    outcome.seconds = rows.real("seconds");
  });
  if (!status.ok()) return status;
  VisitTable replays(source, session, "experiment_replays",
                     "SELECT * FROM experiment_replays ORDER BY visit_id, experiment, position",
                     sizeof(double));
  return replays.each_outcome([](Outcome& outcome, RowReader& rows) {
    if (!at_next(rows, "position", outcome.replay_us.size(), kMaxReplays)) return;
    outcome.replay_us.push_back(rows.real("replay_us"));
  });
}

engine::Status read_checks(const TableSource& source, Session& session) {
  VisitTable checks(source, session, "experiment_checks",
                    "SELECT * FROM experiment_checks ORDER BY visit_id, experiment, position",
                    sizeof(OutputCheck));
  engine::Status status = checks.each_outcome([](Outcome& outcome, RowReader& rows) {
    if (!at_next(rows, "position", outcome.checks.size(), kMaxExperimentParts)) return;
    OutputCheck check;
    check.replay = rows.integer<int>("replay", 1, kMaxReplays);
    check.output = rows.text("output");
    check.parts = rows.integer<int>("parts", 1, kMaxExperimentParts);
    outcome.checks.push_back(std::move(check));
  });
  if (!status.ok()) return status;
  VisitTable wrong(source, session, "experiment_wrong_parts",
                   "SELECT * FROM experiment_wrong_parts ORDER BY visit_id, experiment, "
                   "check_position, position",
                   sizeof(int));
  return wrong.each_outcome([](Outcome& outcome, RowReader& rows) {
    const auto at = rows.integer<std::size_t>("check_position", 0, std::ssize(outcome.checks) - 1);
    if (!rows.ok()) return;
    OutputCheck& check = outcome.checks[at];
    if (!at_next(rows, "position", check.wrong_parts.size(), kMaxExperimentParts)) return;
    check.wrong_parts.push_back(rows.integer<int>("part", 0, check.parts - 1));
  });
}

engine::Status read_stalls(const TableSource& source, Session& session) {
  VisitTable stalls(source, session, "experiment_stalls",
                    "SELECT * FROM experiment_stalls ORDER BY visit_id, experiment", sizeof(Stall));
  engine::Status status = stalls.each_outcome([](Outcome& outcome, RowReader& rows) {
    Stall stall;
    stall.replay = rows.integer<int>("replay", 0, kMaxReplays);
    stall.graph = rows.integer<int>("graph", 0, kMaxSnapshotGraphs);
    stall.waited_seconds = rows.real("waited_seconds");
    stall.deadline_seconds = rows.real("deadline_seconds");
    stall.last_finished = rows.integer<int>("last_finished", -1, kMaxGraphNodes);
    stall.kind = number_of(rows, "kind", StallKind::Unknown);
    stall.evidence = rows.text("evidence");
    stall.core_dump = rows.text("core_dump");
    outcome.stall.push_back(std::move(stall));
  });
  if (!status.ok()) return status;
  VisitTable nodes(source, session, "experiment_stall_nodes",
                   "SELECT * FROM experiment_stall_nodes ORDER BY visit_id, experiment, node",
                   sizeof(NodeState));
  return nodes.each_outcome([](Outcome& outcome, RowReader& rows) {
    if (outcome.stall.empty()) return rows.refuse("this experiment has no stall");
    std::vector<NodeState>& states = outcome.stall.front().nodes;
    if (!at_next(rows, "node", states.size(), kMaxGraphNodes)) return;
    states.push_back(number_of(rows, "state", NodeState::Unmarked));
  });
}

engine::Status read_cures(const TableSource& source, Session& session) {
  VisitTable cures(source, session, "smallest_cures",
                   "SELECT * FROM smallest_cures ORDER BY visit_id, position", sizeof(MovedMemory));
  return cures.each([](DoctorReport& report, RowReader& rows) {
    if (!at_next(rows, "position", report.smallest_cure.size(), kMaxExperimentParts)) return;
    MovedMemory moved;
    moved.node = node_of(rows, "graph", "node");
    moved.owner = rows.text("owner");
    report.smallest_cure.push_back(std::move(moved));
  });
}

}  // namespace

engine::Status read_visits(const TableSource& source, Session& session) {
  for (const auto read : {read_heads, read_findings, read_finding_parts, read_experiments,
                          read_changes, read_outcomes, read_checks, read_stalls, read_cures}) {
    if (engine::Status status = read(source, session); !status.ok()) return status;
  }
  return {};
}

}  // namespace profiling
