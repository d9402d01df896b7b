// Experiments are not repeated; which come next depends on the outcomes so far.
#include "app/doctor/visit.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "app/doctor/isolation.h"
#include "app/doctor/report_words.h"
#include "profiling/hazards/model/gallery_catalogue.h"
#include "profiling/session/limits.h"

namespace app {
namespace {

using profiling::Confidence;
using profiling::DoctorReport;
using profiling::Experiment;
using profiling::ExperimentRecord;
using profiling::Finding;
using profiling::MovedMemory;
using profiling::NodeRef;
using profiling::Outcome;
using profiling::Snapshot;
using profiling::Verdict;
using MovedSet = std::vector<MovedMemory>;

constexpr int kEagerLaunches = 3;
/// An isolation that has not finished after this many experiments leaves the smallest set found so
/// far.
constexpr int kMaxIsolationTrials = 40;
/// Up to this many smaller sets are all tried: 3 products have 6 of them, 6 products 41 of up to 3.
constexpr std::size_t kMaxSmallerSets = 41;
/// Findings that are examined with all other memory moved away.
constexpr int kMaxIsolated = 24;

int rank(Confidence confidence) {
  switch (confidence) {
    case Confidence::Proved:
      return 0;
    case Confidence::Likely:
      return 1;
    case Confidence::Possible:
      return 2;
    case Confidence::Disproved:
      break;
  }
  return 3;
}

/// Most certain first; ties in the order of the rules. Records follow their findings.
void order_by_certainty(DoctorReport& report) {
  std::vector<Finding>& findings = report.findings;
  std::vector<std::size_t> order(findings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rank(findings[i].confidence); });
  std::vector<Finding> sorted;
  std::vector<int> place(findings.size());
  for (const std::size_t i : order) {
    place[i] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(findings[i]));
  }
  findings = std::move(sorted);
  for (ExperimentRecord& record : report.experiments) {
    if (record.finding >= 0) record.finding = place[static_cast<std::size_t>(record.finding)];
  }
}

bool same_node(const Snapshot& ours, const Snapshot& theirs, NodeRef ref) {
  const auto node_of = [ref](const Snapshot& snapshot) -> const profiling::SnapshotNode* {
    const auto graph = static_cast<std::size_t>(ref.graph);
    const auto node = static_cast<std::size_t>(ref.node);
    if (ref.graph < 0 || ref.node < 0 || graph >= snapshot.graphs.size()) return nullptr;
    if (node >= snapshot.graphs[graph].nodes.size()) return nullptr;
    return &snapshot.graphs[graph].nodes[node];
  };
  const profiling::SnapshotNode* here = node_of(ours);
  const profiling::SnapshotNode* there = node_of(theirs);
  return here != nullptr && there != nullptr && here->type == there->type &&
         here->name == there->name;
}

std::vector<NodeRef> named_nodes(const Experiment& experiment) {
  std::vector<NodeRef> nodes = experiment.delayed;
  for (const MovedMemory& moved : experiment.moved) nodes.push_back(moved.node);
  for (const auto& [first, second] : experiment.ordered) {
    nodes.push_back(first);
    nodes.push_back(second);
  }
  return nodes;
}

/// The first node named by `experiment` in `ours` that `theirs`, another process's capture, lacks
/// or has as a different node. Empty if nothing was captured: then nothing was changed either.
std::optional<NodeRef> find_foreign_node(const Snapshot& ours, const Snapshot& theirs,
                                         const Experiment& experiment) {
  if (theirs.graphs.empty()) return std::nullopt;
  for (const NodeRef node : named_nodes(experiment)) {
    if (!same_node(ours, theirs, node)) return node;
  }
  return std::nullopt;
}

/// Plain replays that fail in both of them prove nothing.
bool can_be_settled(const profiling::Proof& proof) {
  return !proof.needs_cure || proof.shows != proof.cures;
}

Experiment eager_launches() {
  Experiment eager;
  eager.graph = false;
  eager.replays = kEagerLaunches;
  return eager;
}

class Visit {
 public:
  Visit(const DoctorSubject& subject, const VisitOptions& options, ExperimentRunner& runner,
        const std::function<void(const VisitProgress&)>& progress, const std::atomic<bool>& cancel)
      : subject_(subject),
        options_(options),
        runner_(runner),
        progress_(progress),
        cancel_(cancel) {}

  engine::Result<DoctorReport> make(const std::vector<profiling::LibraryFact>& facts);

 private:
  engine::Status take_snapshot();
  engine::Status prove();
  engine::Status prove_finding(std::size_t index);
  engine::Status stress(const Outcome& plain);
  engine::Status isolate_memory(const Outcome& plain);
  engine::Status decide_by_isolation(std::size_t index, const MovedSet& candidates);
  void end();

  /// One process. Only Cancelled is an error, or any failure of the first one.
  engine::Result<ExperimentRunner::Reply> run(const std::string& title,
                                              const Experiment& experiment);
  /// The outcome of an experiment that is run at most once per visit.
  engine::Result<Outcome> outcome_of(Experiment experiment, int finding);
  engine::Status judge_finding(std::size_t index);
  bool wanted(const Finding& finding) const;
  void tell() const {
    if (progress_) progress_(state_);
  }
  DoctorReport& report() { return state_.so_far; }

  const DoctorSubject& subject_;
  const VisitOptions& options_;
  ExperimentRunner& runner_;
  const std::function<void(const VisitProgress&)>& progress_;
  const std::atomic<bool>& cancel_;
  VisitProgress state_;  // holds the report in progress: it is not copied for every pulse
};

engine::Result<ExperimentRunner::Reply> Visit::run(const std::string& title,
                                                   const Experiment& experiment) {
  if (cancel_) return engine::Error{engine::ErrorCode::Cancelled, "the visit was cancelled"};
  state_.doing = title;
  ++state_.experiment;
  state_.experiments = std::max(state_.experiments, state_.experiment);
  state_.replay = 0;
  state_.board.clear();
  tell();
  engine::Result<ExperimentRunner::Reply> reply = runner_.run(
      subject_, experiment,
      [this](int replay, const std::vector<profiling::NodeState>& board) {
        state_.replay = replay;
        state_.board = board;
        tell();
      },
      cancel_);
  state_.replay = 0;
  state_.board.clear();
  return reply;
}

engine::Result<Outcome> Visit::outcome_of(Experiment experiment, int finding) {
  experiment.deadline_seconds = options_.deadline_seconds;
  experiment.markers = options_.markers;
  for (const ExperimentRecord& record : report().experiments) {
    if (record.experiment == experiment) return record.outcome;
  }
  const std::string title = experiment_title(report().snapshot, experiment);
  engine::Result<ExperimentRunner::Reply> reply = run(title, experiment);
  ExperimentRecord record{
      .title = title, .finding = finding, .experiment = experiment, .outcome = {}};
  if (!reply.ok()) {
    if (reply.error().code == engine::ErrorCode::Cancelled) return reply.error();
    // One process of many did not start: the others are still meaningful.
    record.outcome.message = reply.error().message;
  } else {
    record.outcome = std::move(reply.value().outcome);
    // Without a graph there is no node that a hang could be in.
    if (report().snapshot.graphs.empty()) {
      for (profiling::Stall& stall : record.outcome.stall) {
        stall.nodes.clear();
        stall.last_finished = -1;
        stall.graph = 0;
      }
    }
    const Snapshot& captured = reply.value().snapshot;
    if (const auto node = find_foreign_node(report().snapshot, captured, experiment)) {
      record.outcome = {};
      record.outcome.message =
          fmt::format("this process captured a different graph: {} is not in it",
                      node_title(report().snapshot, *node));
    } else if (const engine::Status fits = profiling::check(record.outcome, report().snapshot);
               !fits.ok()) {
      // Every process captures again; a report has one graph, and everything in it is of that one.
      record.outcome = {};
      record.outcome.message =
          "what this process reported does not fit the captured graph: " + fits.error().message;
    }
  }
  report().experiments.push_back(record);
  tell();
  return record.outcome;
}

bool Visit::wanted(const Finding& finding) const {
  return options_.rules.empty() ||
         std::ranges::find(options_.rules, finding.rule) != options_.rules.end();
}

/// Captured and not launched, for the rules to read. Not among the report's experiments.
engine::Status Visit::take_snapshot() {
  Experiment capture;
  capture.replays = 0;
  capture.deadline_seconds = options_.deadline_seconds;
  ENGINE_ASSIGN(ExperimentRunner::Reply reply, run("capturing", capture));
  report().snapshot = std::move(reply.snapshot);
  // A case that is a real step has a step's name; the visit must name the case.
  if (!subject_.gallery_case.empty()) {
    report().snapshot.subject =
        profiling::subject_title({.id = subject_.gallery_case, .healthy = subject_.healthy});
  }
  if (!report().snapshot.graphs.empty()) return {};
  const Outcome& outcome = reply.outcome;
  if (options_.prove) {
    // There is nothing to capture if the launches before it already fail: that is worth a report.
    ENGINE_ASSIGN(const Outcome eager, outcome_of(eager_launches(), -1));
    if (failed(eager)) return {};
  }
  const bool unsupported =
      outcome.verdict == Verdict::NotRun || outcome.verdict == Verdict::Refused;
  return engine::Error{unsupported ? engine::ErrorCode::Unsupported : engine::ErrorCode::Device,
                       fmt::format("nothing was captured: {}", outcome.verdict == Verdict::Right
                                                                   ? "the worker sent no graph"
                                                                   : symptom_of(capture, outcome))};
}

/// Uses the outcomes known so far and runs the missing experiments.
engine::Status Visit::judge_finding(std::size_t index) {
  const profiling::Proof proof = report().findings[index].proof;
  const int number = static_cast<int>(index);
  ENGINE_ASSIGN(const Outcome shows, outcome_of(proof.shows, number));
  Outcome cures;
  if (proof.needs_cure && failed(shows)) {
    ENGINE_ASSIGN(cures, outcome_of(proof.cures, number));
  }
  Finding& finding = report().findings[index];
  finding.confidence = profiling::judge(proof, finding.confidence, shows, cures);
  tell();
  return {};
}

/// Is anything read that was not written, written where nothing should be, or kept that should be
/// read again?
engine::Status Visit::stress(const Outcome& plain) {
  if (plain.verdict != Verdict::Right && plain.verdict != Verdict::Wrong) return {};
  for (const int poison : {0x00, 0xFF}) {
    Experiment poisoned;
    poisoned.poisoned_workspaces = poison;
    if (const auto made = outcome_of(poisoned, -1); !made.ok()) return made.error();
  }
  Experiment zones;
  zones.red_zones = true;
  if (const auto made = outcome_of(zones, -1); !made.ok()) return made.error();
  if (plain.verdict != Verdict::Right) return {};
  Experiment changed;
  changed.changed_inputs = true;
  if (const auto made = outcome_of(changed, -1); !made.ok()) return made.error();
  Experiment moved;
  moved.moved_inputs = true;
  if (const auto made = outcome_of(moved, -1); !made.ok()) return made.error();
  return {};
}

/// With everything else moved away, does the finding's own memory still cause the fault, and no
/// longer once its share of the smallest cure moves too?
engine::Status Visit::decide_by_isolation(std::size_t index, const MovedSet& candidates) {
  const MovedSet own = candidates_of(report().findings[index]);
  const MovedSet others = without(candidates, own);
  MovedSet share = without(own, without(own, report().smallest_cure));
  if (share.empty()) share = report().findings[index].proof.cures.moved;
  const Finding before = report().findings[index];
  Finding& finding = report().findings[index];
  finding.proof.shows.moved = others;
  finding.proof.cures.moved = united(others, share);
  if (!others.empty())
    finding.proof.words += " All other nodes in question have separate memory then.";
  if (before.confidence == Confidence::Proved) finding.confidence = Confidence::Likely;
  ENGINE_TRY(judge_finding(index));
  const Confidence now = report().findings[index].confidence;
  const bool decided = now == Confidence::Proved || now == Confidence::Disproved;
  if (!decided) report().findings[index] = before;  // restores the proof that it already had
  return {};
}

engine::Status Visit::isolate_memory(const Outcome& plain) {
  if (!failed(plain) || plain.verdict == Verdict::Refused) return {};
  const bool explained = std::ranges::any_of(report().findings, [this](const Finding& finding) {
    return wanted(finding) && finding.confidence == Confidence::Proved;
  });
  MovedSet candidates;
  for (const Finding& finding : report().findings) {
    const bool possible =
        wanted(finding) && concerns_memory(finding) && finding.confidence != Confidence::Disproved;
    if (possible) candidates = united(candidates, candidates_of(finding));
  }
  if (candidates.empty() && !explained) candidates = workspace_references(report().snapshot);
  if (candidates.empty()) return {};

  // A finding's own cure that worked is a better start than all candidates.
  MovedSet start = candidates;
  bool cured = false;
  for (const ExperimentRecord& record : report().experiments) {
    Experiment rest = record.experiment;
    rest.moved.clear();
    if (!rest.is_plain() || record.experiment.moved.empty()) continue;
    if (record.outcome.verdict != Verdict::Right) continue;
    if (!cured || record.experiment.moved.size() < start.size()) start = record.experiment.moved;
    cured = true;
  }
  engine::Status stopped;
  int trials = 0;
  const CuresReplays cures = [&](const MovedSet& moved) -> std::optional<bool> {
    if (++trials > kMaxIsolationTrials) return std::nullopt;
    Experiment experiment;
    experiment.moved = moved;
    const engine::Result<Outcome> made = outcome_of(experiment, -1);
    if (!made.ok()) {
      stopped = made.error();
      return std::nullopt;
    }
    return made.value().verdict == Verdict::Right;
  };
  if (!cured) {
    // Something else was proved, and this memory was already shown not to cure it.
    const std::optional<bool> all = cures(start);
    if (!stopped.ok()) return stopped;
    if (!all.value_or(false)) return {};
  }
  const Isolation found = isolate(start, candidates, kMaxSmallerSets, cures);
  if (!stopped.ok()) return stopped;
  report().smallest_cure = found.set;
  tell();
  int isolated = 0;
  for (std::size_t i = 0; i < report().findings.size() && isolated < kMaxIsolated; ++i) {
    const Finding& finding = report().findings[i];
    if (!wanted(finding) || !concerns_memory(finding) || !finding.proof.shows.is_plain()) continue;
    if (finding.confidence == Confidence::Disproved) continue;
    // Proved ones too: of three that share, moving one also cures what only the other two shared.
    const bool alone = without(candidates, candidates_of(finding)).empty();
    if (alone && finding.confidence == Confidence::Proved) continue;
    ++isolated;
    ENGINE_TRY(decide_by_isolation(i, candidates));
  }
  return {};
}

engine::Status Visit::prove() {
  // An initial estimate, so that the bar does not start full: eager, plain, five stress
  // experiments.
  state_.experiments = state_.experiment + 7;
  for (const Finding& finding : report().findings) {
    if (wanted(finding)) state_.experiments += finding.proof.shows.is_plain() ? 1 : 2;
  }
  ENGINE_ASSIGN(const Outcome launched, outcome_of(eager_launches(), -1));
  if (launched.verdict == Verdict::NotRun) {
    return engine::Error{engine::ErrorCode::Unsupported, launched.message};
  }
  if (failed(launched)) return {};
  ENGINE_ASSIGN(const Outcome plain, outcome_of({}, -1));
  for (std::size_t i = 0; i < report().findings.size(); ++i) {
    const Finding& finding = report().findings[i];
    if (!wanted(finding) || !can_be_settled(finding.proof)) continue;
    ENGINE_TRY(judge_finding(i));
  }
  ENGINE_TRY(isolate_memory(plain));
  return options_.rules.empty() ? stress(plain) : engine::Status{};
}

void Visit::end() {
  order_by_certainty(report());
  report().conclusion = conclusion_of(report());
  state_.doing = "done";
  state_.experiments = state_.experiment;
  tell();
}

engine::Result<DoctorReport> Visit::make(const std::vector<profiling::LibraryFact>& facts) {
  ENGINE_TRY(take_snapshot());
  report().findings = options_.diagnose ? options_.diagnose(report().snapshot, facts)
                                        : profiling::diagnose(report().snapshot, facts);
  tell();
  if (options_.prove) {
    ENGINE_TRY(prove());
  }
  end();
  return std::move(report());
}

}  // namespace

engine::Result<DoctorReport> visit(const DoctorSubject& subject, const VisitOptions& options,
                                   const std::vector<profiling::LibraryFact>& facts,
                                   ExperimentRunner& runner,
                                   const std::function<void(const VisitProgress&)>& progress,
                                   const std::atomic<bool>& cancel) {
  return Visit(subject, options, runner, progress, cancel).make(facts);
}

profiling::DoctorReport report_of_stall(const engine::RunRequest& request, const DoctorDone& seen,
                                        const std::vector<profiling::LibraryFact>& facts) {
  profiling::DoctorReport report;
  report.snapshot = seen.snapshot;
  report.findings = profiling::diagnose(report.snapshot, facts);
  const std::string rules = conclusion_of(report);
  profiling::ExperimentRecord& run = report.experiments.emplace_back();
  run.title = "the run itself";
  const bool eager = !seen.outcome.stall.empty() && seen.outcome.stall.front().replay == 0;
  run.experiment.graph = !eager;
  run.experiment.replays = request.launch.iterations;
  run.experiment.markers = request.launch.markers;
  run.outcome = seen.outcome;
  const std::string symptom = symptom_of(run.experiment, run.outcome);
  report.conclusion = fmt::format("In the run itself {}. {}", symptom, rules);
  return report;
}

}  // namespace app
