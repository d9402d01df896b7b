// The conclusion is chosen from what the experiments have shown; without them, from the rules
// alone.
#include "app/doctor/report_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "app/doctor/opened_report.h"
#include "engine/model/counted.h"
#include "engine/program/operation_words.h"
#include "profiling/document/quantity.h"
#include "profiling/hazards/model/names.h"
#include "profiling/hazards/rules/diagnosis.h"

namespace app {
namespace {

using profiling::Confidence;
using profiling::DoctorReport;
using profiling::Experiment;
using profiling::ExperimentRecord;
using profiling::Finding;
using profiling::Outcome;
using profiling::Verdict;

constexpr std::size_t kNamedNodes = 3;

/// The graphs that make up a step, without their second captures.
std::ptrdiff_t graphs_of_step(const profiling::Snapshot& snapshot) {
  return std::ranges::count_if(snapshot.graphs,
                               [](const auto& graph) { return graph.variant_of < 0; });
}

std::string graph_title(const profiling::Snapshot& snapshot, int graph) {
  const auto index = static_cast<std::size_t>(graph);
  return graph >= 0 && index < snapshot.graphs.size() ? snapshot.graphs[index].name
                                                      : fmt::format("graph {}", graph);
}

/// Several nodes can be of one operation.
bool alone_in_operation(const profiling::GraphSnapshot& graph,
                        const profiling::SnapshotNode& node) {
  return 1 == std::ranges::count_if(graph.nodes, [&](const profiling::SnapshotNode& other) {
           return other.type == node.type && other.stage == node.stage &&
                  other.layer == node.layer && other.writes == node.writes;
         });
}

std::string listed(const profiling::Snapshot& snapshot,
                   const std::vector<profiling::NodeRef>& nodes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < nodes.size() && i < kNamedNodes; ++i) {
    names.push_back(node_title(snapshot, nodes[i]));
  }
  const std::string list = fmt::format("{}", fmt::join(names, " and "));
  return nodes.size() <= kNamedNodes
             ? list
             : fmt::format("{} and {} more", list, nodes.size() - kNamedNodes);
}

std::string times(int count) { return count == 3 ? "three times" : fmt::format("{} times", count); }

const ExperimentRecord* find_record(const DoctorReport& report,
                                    const std::function<bool(const Experiment&)>& wanted) {
  const auto found = std::ranges::find_if(report.experiments, [&](const ExperimentRecord& record) {
    return wanted(record.experiment);
  });
  return found == report.experiments.end() ? nullptr : &*found;
}

std::ptrdiff_t count(const DoctorReport& report, Confidence confidence) {
  return std::ranges::count(report.findings, confidence, &Finding::confidence);
}

/// The first with this confidence, worded to continue a sentence.
std::string title_of_first(const DoctorReport& report, Confidence confidence) {
  const auto found = std::ranges::find(report.findings, confidence, &Finding::confidence);
  std::string title = found == report.findings.end() ? "" : found->title;
  while (!title.empty() && (title.back() == '.' || title.back() == ' ')) title.pop_back();
  return title;
}

std::string cure_of(const DoctorReport& report) {
  std::vector<profiling::NodeRef> nodes;
  for (const profiling::MovedMemory& moved : report.smallest_cure) nodes.push_back(moved.node);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (nodes.size() == 1) {
    return fmt::format("once {} has separate memory", node_title(report.snapshot, nodes.front()));
  }
  return fmt::format("once {} nodes have separate memory, {} among them", nodes.size(),
                     node_title(report.snapshot, nodes.front()));
}

/// Replays of the unchanged graph, in conditions that should not matter.
bool is_stress(Experiment experiment) {
  if (experiment.recaptured || experiment.patched_host) return false;
  experiment.changed_inputs = false;
  experiment.moved_inputs = false;
  experiment.red_zones = false;
  experiment.poisoned_workspaces = -1;
  return experiment.is_plain();
}

/// Capitalizes: a clause becomes a sentence.
std::string sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text.ends_with('.') ? text : text + '.';
}

std::string by_rules_alone(const DoctorReport& report) {
  const std::ptrdiff_t likely = count(report, Confidence::Likely);
  const std::ptrdiff_t possible = count(report, Confidence::Possible);
  if (likely > 0) {
    return fmt::format("The rules find {}, not yet proved: {}.",
                       engine::counted(likely, "likely hazard"),
                       title_of_first(report, Confidence::Likely));
  }
  if (possible > 0) {
    return fmt::format("The rules find nothing likely, and {}: {}.",
                       engine::counted(possible, "possible hazard"),
                       title_of_first(report, Confidence::Possible));
  }
  const bool one = report.snapshot.graphs.size() == 1;
  const std::string nothing =
      fmt::format("The rules find nothing wrong with {}", one ? "this graph" : "these graphs");
  if (examines_attached(report.snapshot)) return nothing + ".";
  return fmt::format("{}; only experiments can show whether {} replays are right.", nothing,
                     one ? "its" : "their");
}

std::string no_graph_bug(const ExperimentRecord& eager) {
  return sentence(fmt::format("even without a graph, {}: this is not a graph bug",
                              symptom_of(eager.experiment, eager.outcome)));
}

std::string proved(const DoctorReport& report) {
  const std::ptrdiff_t number = count(report, Confidence::Proved);
  const std::string title = title_of_first(report, Confidence::Proved);
  std::string text = number == 1 ? fmt::format("Proved: {}", title)
                                 : fmt::format("{} are proved, the first: {}",
                                               engine::counted(number, "finding"), title);
  if (!report.smallest_cure.empty()) text += "; replays are right " + cure_of(report);
  return sentence(std::move(text));
}

std::string unexplained(const DoctorReport& report, const ExperimentRecord& plain) {
  const std::string symptom = symptom_of(plain.experiment, plain.outcome);
  if (!report.smallest_cure.empty()) {
    return sentence(
        fmt::format("{}; no rule explains it, but replays are right {}", symptom, cure_of(report)));
  }
  const std::ptrdiff_t open =
      count(report, Confidence::Likely) + count(report, Confidence::Possible);
  if (open > 0) {
    const Confidence best =
        count(report, Confidence::Likely) > 0 ? Confidence::Likely : Confidence::Possible;
    return sentence(fmt::format("{}, and none of {} could be proved to be the cause; the first: {}",
                                symptom, engine::counted(open, "finding"),
                                title_of_first(report, best)));
  }
  const bool tried = find_record(report, [](const Experiment& experiment) {
                       return !experiment.moved.empty();
                     }) != nullptr;
  return sentence(fmt::format("{}, and no rule explains why; {}", symptom,
                              tried ? "separate workspaces for all products do not cure it"
                                    : "next, try a separate workspace for each product"));
}

/// The conclusion where plain replays are right.
std::string right(const DoctorReport& report, const ExperimentRecord& plain) {
  for (const ExperimentRecord& record : report.experiments) {
    if (record.experiment.poisoned_workspaces < 0 || !failed(record.outcome)) continue;
    return sentence(fmt::format(
        "replays are right only because of what happens to be in the workspaces: filled with "
        "{:#04x} before them, {}",
        record.experiment.poisoned_workspaces, symptom_of(record.experiment, record.outcome)));
  }
  const ExperimentRecord* zones =
      find_record(report, [](const Experiment& experiment) { return experiment.red_zones; });
  if (zones != nullptr && failed(zones->outcome)) {
    return sentence("replays are right, and yet with red zones around every buffer " +
                    symptom_of(zones->experiment, zones->outcome));
  }
  const ExperimentRecord* changed = find_record(report, [](const Experiment& experiment) {
    return experiment.changed_inputs && !experiment.recaptured;
  });
  if (changed != nullptr && failed(changed->outcome)) {
    return sentence(fmt::format(
        "replays are right only for the inputs of the capture: with other splits, values and "
        "scalars {}",
        symptom_of(changed->experiment, changed->outcome)));
  }
  const ExperimentRecord* moved = find_record(report, [](const Experiment& experiment) {
    return experiment.moved_inputs && is_stress(experiment);
  });
  if (moved != nullptr && failed(moved->outcome)) {
    std::string text = fmt::format(
        "replays are right only while the inputs stay where they were at capture: in other memory, "
        "with every address in the graph patched, {}",
        symptom_of(moved->experiment, moved->outcome));
    const bool found = moved->outcome.verdict == Verdict::Wrong && !moved->outcome.message.empty();
    return sentence(found ? text + "; " + moved->outcome.message : text);
  }
  const std::ptrdiff_t open =
      count(report, Confidence::Likely) + count(report, Confidence::Possible);
  std::string text = fmt::format("{} equal the eager launches bit for bit",
                                 engine::counted(plain.experiment.replays, "replay"));
  std::vector<std::string> also;
  if (changed != nullptr && changed->outcome.verdict == Verdict::Right) {
    also.emplace_back("with other inputs");
  }
  if (moved != nullptr && moved->outcome.verdict == Verdict::Right) {
    also.emplace_back("with the inputs in other memory");
  }
  if (!also.empty()) text += fmt::format(", {} too", fmt::join(also, " and "));
  if (open > 0) text += fmt::format("; {} still open", engine::counted(open, "finding"));
  return sentence(std::move(text));
}

}  // namespace

std::string node_title(const profiling::Snapshot& snapshot, profiling::NodeRef node) {
  const auto graph_index = static_cast<std::size_t>(node.graph);
  const auto node_index = static_cast<std::size_t>(node.node);
  if (node.graph < 0 || node.node < 0 || graph_index >= snapshot.graphs.size() ||
      node_index >= snapshot.graphs[graph_index].nodes.size()) {
    return fmt::format("node {}", node.node);
  }
  const profiling::GraphSnapshot& graph = snapshot.graphs[graph_index];
  const profiling::SnapshotNode& named = graph.nodes[node_index];
  std::string title;
  if (named.stage == engine::Stage::Other) {
    title = fmt::format("{} (node {})", named.name, node.node);
  } else {
    title = engine::operation_title(snapshot.step, named.stage, named.writes, named.layer);
    if (!alone_in_operation(graph, named)) title += fmt::format(" (node {})", node.node);
  }
  if (graphs_of_step(snapshot) > 1) title += " of " + graph.name;
  return title;
}

std::string experiment_title(const profiling::Snapshot& snapshot,
                             const profiling::Experiment& experiment) {
  std::vector<std::string> parts;
  if (!experiment.graph) parts.push_back("eager, " + times(experiment.replays));
  if (experiment.graph && experiment.replays == 0) {
    parts.emplace_back("captured only, loading watched");
  }
  if (!experiment.moved.empty()) {
    std::vector<profiling::NodeRef> nodes;
    for (const profiling::MovedMemory& moved : experiment.moved) nodes.push_back(moved.node);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    parts.push_back(listed(snapshot, nodes) + " in other memory");
  }
  for (const profiling::FilledMemory& filled : experiment.filled) {
    parts.push_back(fmt::format("{} filled with {:#04x}", filled.owner, filled.value));
  }
  for (const profiling::FilledMemory& filled : experiment.filled_between) {
    parts.push_back(
        fmt::format("{} filled with {:#04x} between graphs", filled.owner, filled.value));
  }
  std::vector<std::string> fresh;
  for (const profiling::FreshMemory& one : experiment.fresh) {
    if (std::ranges::find(fresh, one.owner) == fresh.end()) fresh.push_back(one.owner);
  }
  for (const std::string& owner : fresh) {
    std::vector<std::string> graphs;
    for (const profiling::FreshMemory& one : experiment.fresh) {
      if (one.owner == owner) graphs.push_back(graph_title(snapshot, one.graph));
    }
    parts.push_back(fmt::format("new memory for {} in {}", owner, fmt::join(graphs, " and ")));
  }
  if (!experiment.launches.empty()) {
    std::vector<std::string> graphs;
    for (const profiling::GraphLaunch& launch : experiment.launches) {
      graphs.push_back((launch.overlaps ? "with it " : "") + graph_title(snapshot, launch.graph));
    }
    parts.push_back(fmt::format("launched {}", fmt::join(graphs, ", ")));
  }
  if (experiment.captured_per_launch) parts.emplace_back("captured for every launch");
  if (experiment.poisoned_workspaces >= 0) {
    parts.push_back(fmt::format("workspaces filled with {:#04x}", experiment.poisoned_workspaces));
  }
  if (experiment.changed_inputs) parts.emplace_back("other inputs from replay 2 on");
  if (experiment.recaptured) parts.emplace_back("captured again after the change");
  if (experiment.scribbled_host) parts.emplace_back("host memory overwritten after the capture");
  if (experiment.moved_inputs) {
    parts.emplace_back(experiment.patched_host
                           ? "inputs in other memory from replay 2 on, addresses on the host too"
                           : "inputs in other memory from replay 2 on");
  }
  if (!experiment.delayed.empty()) {
    parts.push_back(listed(snapshot, experiment.delayed) + " delayed");
  }
  for (const auto& [first, second] : experiment.ordered) {
    parts.push_back(
        fmt::format("{} waits for {}", node_title(snapshot, second), node_title(snapshot, first)));
  }
  if (experiment.free_on_launch) parts.emplace_back("unfreed memory freed by the next launch");
  if (experiment.red_zones) parts.emplace_back("red zones around every buffer");
  if (experiment.eager_loading) parts.emplace_back("all kernels loaded before the capture");
  return parts.empty() ? "replayed" : fmt::format("{}", fmt::join(parts, "; "));
}

Health health_of(const DoctorReport& report) {
  const ExperimentRecord* eager =
      find_record(report, [](const Experiment& experiment) { return !experiment.graph; });
  const ExperimentRecord* plain = find_record(report, std::mem_fn(&Experiment::is_plain));
  bool wrong = count(report, Confidence::Proved) > 0 || count(report, Confidence::Likely) > 0;
  for (const ExperimentRecord* record : {eager, plain}) {
    if (record == nullptr) continue;
    if (record->outcome.verdict == Verdict::Hung) return Health::Hang;
    wrong = wrong || failed(record->outcome);
  }
  if (eager != nullptr && failed(eager->outcome)) {
    return eager->outcome.verdict == Verdict::Wrong ? Health::Findings : Health::NotRun;
  }
  for (const ExperimentRecord& record : report.experiments) {
    wrong = wrong || (is_stress(record.experiment) && failed(record.outcome));
  }
  if (wrong) return Health::Findings;
  const bool not_replayed = plain != nullptr && plain->outcome.verdict == Verdict::NotRun;
  return not_replayed ? Health::NotRun : Health::Healthy;
}

std::string disproved_text(const profiling::Finding& finding) {
  if (finding.confidence != Confidence::Disproved) return {};
  return "Disproved: replays were right in the experiment that was to show it. Nothing needs to be "
         "changed.";
}

std::string smallest_cure_text(const DoctorReport& report) {
  std::vector<std::string> owners;
  for (const profiling::MovedMemory& moved : report.smallest_cure) {
    if (std::ranges::find(owners, moved.owner) == owners.end()) owners.push_back(moved.owner);
  }
  std::string text;
  for (const std::string& owner : owners) {
    std::vector<profiling::NodeRef> nodes;
    for (const profiling::MovedMemory& moved : report.smallest_cure) {
      if (moved.owner == owner) nodes.push_back(moved.node);
    }
    text += fmt::format("{}separate memory for {} in place of \"{}\".",
                        text.empty() ? "Smallest cure: " : "\nAnd ", listed(report.snapshot, nodes),
                        owner);
  }
  return text;
}

std::string marker_cost_text(const DoctorReport& report) {
  for (const ExperimentRecord& record : report.experiments) {
    const profiling::MarkerCost& cost = record.outcome.marker_cost;
    if (cost.samples == 0 || cost.without_us <= 0.0) continue;
    return fmt::format(
        "Markers cost {:.1f} % of a replay: {} with them, {} without (medians of {} each, "
        "interleaved).",
        100.0 * (cost.with_us - cost.without_us) / cost.without_us,
        profiling::duration_text(1e3 * cost.with_us),
        profiling::duration_text(1e3 * cost.without_us), cost.samples);
  }
  return "";
}

bool failed(const Outcome& outcome) {
  return outcome.verdict != Verdict::Right && outcome.verdict != Verdict::NotRun;
}

std::string hang_sentence(const profiling::Snapshot& snapshot, const profiling::Stall& stall) {
  const auto ref = [&](int node) { return profiling::NodeRef{.graph = stall.graph, .node = node}; };
  std::vector<std::string> running;
  for (std::size_t n = 0; n < stall.nodes.size(); ++n) {
    if (stall.nodes[n] != profiling::NodeState::Running) continue;
    const profiling::NodeRef node = ref(static_cast<int>(n));
    const std::string place = profiling::capture_place(snapshot, node);
    running.push_back(node_title(snapshot, node) + (place.empty() ? "" : ", captured at " + place));
  }
  if (running.empty()) return "The program hangs.";
  return fmt::format(
      "The program hangs in {}{}.", fmt::join(running, " and in "),
      stall.last_finished < 0
          ? ""
          : fmt::format("; {} ended last", node_title(snapshot, ref(stall.last_finished))));
}

std::string symptom_of(const Experiment& experiment, const Outcome& outcome) {
  const char* const launch = experiment.graph ? "replay" : "launch";
  const char* const launches = experiment.graph ? "replays" : "launches";
  switch (outcome.verdict) {
    case Verdict::Right:
      if (experiment.graph && experiment.replays == 0) {
        return "nothing was loaded during the capture";
      }
      return fmt::format("all {} are right", launches);
    case Verdict::Wrong: {
      const int first = profiling::first_wrong_replay(outcome);
      if (first == 0 && !outcome.message.empty()) return outcome.message;
      return first == 0 ? fmt::format("{} are wrong", launches)
                        : fmt::format("{} are wrong from {} {} on", launches, launch, first);
    }
    case Verdict::Hung:
      return outcome.stall.empty() || outcome.stall.front().replay == 0
                 ? fmt::format("a {} hangs", launch)
                 : fmt::format("{} {} hangs", launch, outcome.stall.front().replay);
    case Verdict::Refused:
      return "CUDA refuses it: " + outcome.message;
    case Verdict::Crashed:
      return "it crashes: " + outcome.message;
    case Verdict::NotRun:
      return "it could not be run: " + outcome.message;
  }
  return {};
}

namespace {

std::string conclusion_of_search(const DoctorReport& report) {
  if (report.experiments.empty()) return by_rules_alone(report);
  const ExperimentRecord* eager =
      find_record(report, [](const Experiment& experiment) { return !experiment.graph; });
  if (eager != nullptr && failed(eager->outcome)) return no_graph_bug(*eager);
  if (count(report, Confidence::Proved) > 0) return proved(report);
  const ExperimentRecord* plain = find_record(report, std::mem_fn(&Experiment::is_plain));
  if (plain == nullptr) return by_rules_alone(report);
  if (failed(plain->outcome)) return unexplained(report, *plain);
  if (plain->outcome.verdict == Verdict::NotRun) {
    return sentence("the graph could not be replayed: " + plain->outcome.message);
  }
  return right(report, *plain);
}

}  // namespace

std::string conclusion_of(const DoctorReport& report) {
  std::string conclusion = conclusion_of_search(report);
  const std::vector<std::string> left = profiling::left_unsearched(report.snapshot);
  if (!left.empty()) conclusion += fmt::format(" Not searched: {}.", fmt::join(left, "; "));
  return conclusion;
}

}  // namespace app
