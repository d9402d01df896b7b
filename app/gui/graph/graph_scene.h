// The shared state of the views of captured graphs: a report with its snapshot, one of its graphs,
// the chosen node and finding. Layout and memory map are computed once per graph, off the window's
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/background.h"
#include "app/plot/graph_facts.h"
#include "profiling/hazards/model/doctor_report.h"
#include "profiling/session/session_file.h"

namespace app {

/// An address that the chosen finding names: held by a node of the graph shown.
struct NamedAccess {
  int allocation = -1;  // index into Snapshot::ledger
  int node = 0;
  std::uint64_t offset = 0;  // bytes into the allocation
};

class GraphScene {
 public:
  /// `wake` is called from a background thread when tick() would find a result.
  explicit GraphScene(const std::function<void()>& wake) : task_(wake) {}

  using Report = std::shared_ptr<const profiling::DoctorReport>;
  using Run = std::shared_ptr<const profiling::RecordedRun>;
  using Request = std::shared_ptr<const engine::RunRequest>;

  /// Another report clears the chosen node and finding; the same one changes nothing. Until a
  /// finding is chosen, the first proved one counts as chosen. `run` gives the durations of the
  /// nodes, `request` is what the graph was captured for; null = not known.
  void show(const Report& report, const Run& run, const Request& request);
  void show_graph(int graph);
  /// Takes in the results for the graph shown; true if there were any.
  bool tick();

  const profiling::DoctorReport* report() const { return report_.get(); }
  const Report& shared_report() const { return report_; }
  const engine::RunRequest* request() const { return request_.get(); }
  /// Says what the layers of the nodes count.
  engine::StepKind step() const {
    return report_ == nullptr ? engine::StepKind::Linear : report_->snapshot.step;
  }
  /// Below pictures of its cards: what was captured, and where. Empty without a report.
  std::string caption() const;
  /// Null if there is none: no report, or a refused capture without graphs.
  const profiling::GraphSnapshot* graph() const;
  int graph_index() const { return graph_; }
  const GraphFacts* facts() const { return facts_.get(); }
  /// Some replays of the graph were compared.
  bool compared() const { return graph() != nullptr && !graph()->compared.empty(); }
  /// Of one of the rows of facts().
  const engine::Allocation& memory_of(const MemoryRow& row) const {
    return report_->snapshot.ledger[static_cast<std::size_t>(row.allocation)];
  }
  /// Changes with the report and with the graph.
  std::uint64_t generation() const { return generation_; }
  /// Changes with the graph, but not when a report has grown that still has it: where the user has
  /// scrolled to stays.
  std::uint64_t graph_generation() const { return graph_generation_; }
  /// Changes with the report.
  std::uint64_t report_generation() const { return report_generation_; }

  int node() const { return node_; }
  void choose_node(int node);
  /// Of the chosen node, as in the run's records; 0 = none is chosen, or it is not known.
  std::uint64_t node_id() const;
  /// Shows the graph that has this node, and chooses it; 0, or no such node: none is chosen.
  void choose_node_by_id(std::uint64_t id);
  const Run& run() const { return run_; }
  int finding() const { return finding_; }
  /// Some memory belongs to a framework's cache.
  bool cached_memory() const { return cached_memory_; }
  /// Null if none is chosen.
  const profiling::Finding* chosen_finding() const;
  /// Shows the graph that holds the first of the finding's nodes.
  void choose_finding(int finding);
  bool of_chosen_finding(int node) const;
  /// The memory that the chosen finding names, as the graph shown holds it; ascending by
  /// allocation.
  const std::vector<NamedAccess>& named_accesses() const { return named_; }
  bool names_memory(int allocation) const;
  bool names_access(int allocation, int node) const;
  /// Confidence of the most certain finding that names the node.
  std::optional<profiling::Confidence> suspicion(int node) const;
  /// Median duration in microseconds; NaN = not known.
  double node_us(int node) const;
  double longest_us() const { return facts_ == nullptr ? 0.0 : facts_->longest_us; }

 private:
  /// The graph in which the program hangs, if its nodes are known to.
  void show_hung_graph();
  /// What is derived for the graph shown; what fails is reported, and empty.
  void restart();
  /// Per node of the graph shown.
  std::vector<int> suspicions() const;
  void start_facts();
  /// Shows the finding's graph; returns the first of its nodes, null = none.
  const profiling::NodeRef* take_finding(int finding);
  void find_named_accesses();

  Report report_;
  Run run_;
  Request request_;
  int graph_ = 0;
  int node_ = -1;
  int finding_ = -1;
  bool choice_made_ = false;  // of the finding, by the user
  bool cached_memory_ = false;
  std::uint64_t generation_ = 0;
  std::uint64_t graph_generation_ = 0;
  std::uint64_t report_generation_ = 0;
  std::shared_ptr<const GraphFacts> facts_;
  std::vector<int> suspicion_;  // per node, -1 = none
  std::vector<NamedAccess> named_;
  BackgroundTask<std::shared_ptr<const GraphFacts>> task_;
};

}  // namespace app
