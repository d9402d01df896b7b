#include "app/gui/graph/graph_scene.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "app/plot/pointer_arrays.h"
#include "profiling/hazards/snapshot/accesses.h"
#include "profiling/trace/statistics.h"

namespace app {
namespace {

/// Severity by confidence: a disproved fault ranks below a possible one.
int severity(profiling::Confidence confidence) {
  switch (confidence) {
    case profiling::Confidence::Disproved:
      return 0;
    case profiling::Confidence::Possible:
      return 1;
    case profiling::Confidence::Likely:
      return 2;
    case profiling::Confidence::Proved:
      return 3;
  }
  return 0;
}

/// The first that was proved, else the first. -1 = none.
int most_certain(const profiling::DoctorReport* report) {
  if (report == nullptr || report->findings.empty()) return -1;
  const auto found = std::ranges::find(report->findings, profiling::Confidence::Proved,
                                       &profiling::Finding::confidence);
  return found == report->findings.end() ? 0 : static_cast<int>(found - report->findings.begin());
}

/// Graphs of a program that runs come and go. -1 = it is gone.
int place_in(const profiling::DoctorReport& report, const profiling::GraphSnapshot* graph) {
  if (graph == nullptr) return -1;
  const auto& graphs = report.snapshot.graphs;
  const auto found = std::ranges::find_if(graphs, [graph](const auto& one) {
    return one.name == graph->name && one.variant_of == graph->variant_of &&
           one.nodes.size() == graph->nodes.size();
  });
  return found == graphs.end() ? -1 : static_cast<int>(found - graphs.begin());
}

/// More certain findings come first, so a place changes as soon as one is proved. -1 = it is gone.
int place_in(const profiling::DoctorReport& report, const profiling::Finding* finding) {
  if (finding == nullptr) return -1;
  const auto found = std::ranges::find_if(report.findings, [finding](const auto& one) {
    return one.rule == finding->rule && one.nodes == finding->nodes;
  });
  return found == report.findings.end() ? -1 : static_cast<int>(found - report.findings.begin());
}

void add_durations(const profiling::GraphSnapshot& graph, const profiling::Activity& activity,
                   GraphFacts& facts) {
  std::unordered_map<std::uint64_t, double> medians;
  for (const profiling::NodeMatrix::Row& row : profiling::node_matrix(activity).rows) {
    if (row.node_id != 0) medians[row.node_id] = row.time.median / 1e3;
  }
  for (const profiling::SnapshotNode& node : graph.nodes) {
    const auto found = medians.find(node.id);
    const bool known = node.id != 0 && found != medians.end();
    facts.node_us.push_back(known ? found->second : std::numeric_limits<double>::quiet_NaN());
    if (known) facts.longest_us = std::max(facts.longest_us, found->second);
  }
}

}  // namespace

void GraphScene::show(const Report& report, const Run& run, const Request& request) {
  request_ = request;
  if (report == report_ && run == run_) return;
  // A report that has grown keeps the user's choices in it.
  const bool grown = report != nullptr && report_ != nullptr &&
                     report->snapshot.subject == report_->snapshot.subject;
  const int kept = grown ? place_in(*report, graph()) : -1;
  const bool same =
      kept >= 0 || (grown && report->snapshot.graphs.size() == report_->snapshot.graphs.size());
  if (kept >= 0) graph_ = kept;
  if (same) finding_ = place_in(*report, chosen_finding());
  if (kept < 0) ++graph_generation_;
  report_ = report;
  run_ = run;
  ++report_generation_;
  cached_memory_ = report != nullptr &&
                   std::ranges::find(report->snapshot.ledger, engine::AllocationRole::Cached,
                                     &engine::Allocation::role) != report->snapshot.ledger.end();
  if (!same) {
    graph_ = 0;
    node_ = -1;
    finding_ = -1;
    choice_made_ = false;
  }
  restart();
  if (choice_made_) return;
  (void)take_finding(most_certain(report.get()));
  if (finding_ < 0) show_hung_graph();
}

void GraphScene::show_hung_graph() {
  if (report_ == nullptr) return;
  for (const profiling::ExperimentRecord& record : report_->experiments) {
    for (const profiling::Stall& stall : record.outcome.stall) {
      const bool known = stall.graph >= 0 && !stall.nodes.empty() &&
                         static_cast<std::size_t>(stall.graph) < report_->snapshot.graphs.size();
      if (known) return show_graph(stall.graph);
    }
  }
}

void GraphScene::show_graph(int graph) {
  if (graph == graph_) return;
  graph_ = graph;
  node_ = -1;
  ++graph_generation_;
  restart();
}

const profiling::GraphSnapshot* GraphScene::graph() const {
  if (report_ == nullptr || graph_ < 0) return nullptr;
  const auto& graphs = report_->snapshot.graphs;
  return static_cast<std::size_t>(graph_) < graphs.size()
             ? &graphs[static_cast<std::size_t>(graph_)]
             : nullptr;
}

void GraphScene::restart() {
  ++generation_;
  facts_.reset();
  task_.drop();
  suspicion_.clear();
  find_named_accesses();
  if (graph() == nullptr) return;
  changed_at_once(suspicion_, [this](std::vector<int>& all) { all = suspicions(); });
  (void)made_at_once([this] {
    start_facts();
    return true;
  });
}

std::vector<int> GraphScene::suspicions() const {
  std::vector<int> all(graph()->nodes.size(), -1);
  for (const profiling::Finding& finding : report_->findings) {
    for (const profiling::NodeRef& node : finding.nodes) {
      if (node.graph != graph_ || node.node < 0) continue;
      if (static_cast<std::size_t>(node.node) >= all.size()) continue;
      int& now = all[static_cast<std::size_t>(node.node)];
      if (now < 0 ||
          severity(finding.confidence) > severity(static_cast<profiling::Confidence>(now))) {
        now = static_cast<int>(finding.confidence);
      }
    }
  }
  return all;
}

void GraphScene::start_facts() {
  task_.start([report = report_, run = run_, index = static_cast<std::size_t>(graph_)] {
    const profiling::GraphSnapshot& graph = report->snapshot.graphs[index];
    GraphFacts facts{
        .layout = lay_out(graph),
        .memory = map_memory(report->snapshot, static_cast<int>(index), report->findings)};
    facts.arrays = pointer_arrays(report->snapshot, graph, facts.memory);
    facts.compared = profiling::compared_sentences(report->snapshot, graph);
    facts.operands = operands_of(report->snapshot, graph, facts.memory);
    facts.labels = node_labels(report->snapshot.step, graph, facts.operands);
    if (run != nullptr) add_durations(graph, run->activity, facts);
    return std::make_shared<const GraphFacts>(std::move(facts));
  });
}

bool GraphScene::tick() {
  auto facts = task_.take();
  if (facts) facts_ = std::move(*facts);
  return facts.has_value();
}

std::string GraphScene::caption() const {
  if (report_ == nullptr) return {};
  const profiling::Snapshot& snapshot = report_->snapshot;
  std::string text = "Graphs of " + snapshot.subject;
  if (!snapshot.device.empty()) text += "\n" + snapshot.device;
  if (!snapshot.driver.empty()) text += " · driver " + snapshot.driver;
  if (!snapshot.cublaslt_version.empty()) text += " · cuBLASLt " + snapshot.cublaslt_version;
  return text;
}

void GraphScene::choose_node(int node) {
  const profiling::GraphSnapshot* shown = graph();
  const bool known =
      shown != nullptr && node >= 0 && static_cast<std::size_t>(node) < shown->nodes.size();
  node_ = known ? node : -1;
}

std::uint64_t GraphScene::node_id() const {
  return node_ < 0 || graph() == nullptr ? 0 : graph()->nodes[static_cast<std::size_t>(node_)].id;
}

void GraphScene::choose_node_by_id(std::uint64_t id) {
  if (id == 0 || report_ == nullptr) return choose_node(-1);
  const std::vector<profiling::GraphSnapshot>& graphs = report_->snapshot.graphs;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const auto& nodes = graphs[i].nodes;
    const auto found = std::ranges::find(nodes, id, &profiling::SnapshotNode::id);
    if (found == nodes.end()) continue;
    show_graph(static_cast<int>(i));
    return choose_node(static_cast<int>(found - nodes.begin()));
  }
  choose_node(-1);
}

void GraphScene::choose_finding(int finding) {
  choice_made_ = true;
  if (const profiling::NodeRef* first = take_finding(finding)) choose_node(first->node);
}

const profiling::NodeRef* GraphScene::take_finding(int finding) {
  finding_ = finding;
  find_named_accesses();
  const profiling::Finding* chosen = chosen_finding();
  if (chosen == nullptr || chosen->nodes.empty()) return nullptr;
  show_graph(chosen->nodes.front().graph);
  return &chosen->nodes.front();
}

void GraphScene::find_named_accesses() {
  named_.clear();
  const profiling::Finding* chosen = chosen_finding();
  const profiling::GraphSnapshot* shown = graph();
  if (chosen == nullptr || shown == nullptr || chosen->accesses.empty()) return;
  changed_at_once(named_, [&](std::vector<NamedAccess>& all) {
    const profiling::AllocationIndex index(report_->snapshot, *shown);
    for (const profiling::Access& access : chosen->accesses) {
      if (access.node.graph != graph_) continue;
      const int allocation = index.find(access.word);
      if (allocation < 0) continue;
      all.push_back({.allocation = allocation, .node = access.node.node, .offset = access.offset});
    }
    std::ranges::stable_sort(all, {}, &NamedAccess::allocation);
  });
}

bool GraphScene::names_memory(int allocation) const {
  return std::ranges::binary_search(named_, allocation, {}, &NamedAccess::allocation);
}

bool GraphScene::names_access(int allocation, int node) const {
  const auto first = std::ranges::lower_bound(named_, allocation, {}, &NamedAccess::allocation);
  return std::any_of(first, named_.end(), [allocation, node](const NamedAccess& one) {
    return one.allocation == allocation && one.node == node;
  });
}

const profiling::Finding* GraphScene::chosen_finding() const {
  if (report_ == nullptr || finding_ < 0) return nullptr;
  const auto index = static_cast<std::size_t>(finding_);
  return index < report_->findings.size() ? &report_->findings[index] : nullptr;
}

bool GraphScene::of_chosen_finding(int node) const {
  const profiling::Finding* chosen = chosen_finding();
  if (chosen == nullptr) return false;
  const auto& nodes = chosen->nodes;
  return std::find(nodes.begin(), nodes.end(), profiling::NodeRef{graph_, node}) != nodes.end();
}

std::optional<profiling::Confidence> GraphScene::suspicion(int node) const {
  const auto index = static_cast<std::size_t>(node);
  if (node < 0 || index >= suspicion_.size() || suspicion_[index] < 0) return std::nullopt;
  return static_cast<profiling::Confidence>(suspicion_[index]);
}

double GraphScene::node_us(int node) const {
  const auto index = static_cast<std::size_t>(node);
  const bool known = facts_ != nullptr && node >= 0 && index < facts_->node_us.size();
  return known ? facts_->node_us[index] : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace app
