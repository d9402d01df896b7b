// The graphs of one experiment: captured, changed as requested, instantiated. Module loads during a
// capture that is not replayed are watched.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/device/handles.h"
#include "profiling/cupti/load_watch.h"
#include "profiling/hazards/proofs/experiment_state.h"
#include "profiling/hazards/proofs/graph_changes.h"
#include "profiling/hazards/proofs/launch_plan.h"
#include "profiling/hazards/proofs/marker_board.h"
#include "profiling/hazards/proofs/moved_inputs.h"
#include "profiling/hazards/snapshot/graph_reader.h"

namespace profiling {

struct CapturedGraph {
  engine::Graph graph;
  ReadGraph read;
  engine::Graph unmarked;  // the same without markers; none if CUDA cannot copy the graph
  std::optional<MarkerBoard> board;
  engine::GraphExec executable;
  engine::GraphExec unmarked_executable;
  std::vector<engine::DeviceBuffer> moved;             // outlive `executable`'s launches
  std::map<int, std::vector<Relocation>> relocations;  // by node; into `moved` or fresh memory
};

class ExperimentCaptures {
 public:
  explicit ExperimentCaptures(ExperimentState& state) : state_(state) {}

  /// Captures the graphs to replay; after each capture the program continues as usual.
  engine::Status capture();
  /// Captures again after a change of inputs, replacing the first capture.
  engine::Status capture_again();
  /// Whether everything that the experiment names exists.
  engine::Status find_memory() const;
  engine::Status make_executables();
  /// Fills every workspace with the byte that the experiment specifies.
  engine::Status poison_workspaces() const;
  /// Captures the same program with other inputs, and graphs that a step launches several times for
  /// their second launch: only read, never replayed. Last, because a capture may change the
  /// program's state.
  engine::Status capture_variants();
  /// Verdict of a capture that is not replayed.
  engine::Status end_capture_only();

  /// From now on the inputs of launches are in other memory.
  engine::Status move_inputs();

  std::vector<CapturedGraph>& graphs() { return graphs_; }
  /// The launches of one replay.
  const std::vector<PlannedLaunch>& plan() const { return plan_; }
  MovedInputs* moved_inputs() { return moved_inputs_ ? &*moved_inputs_ : nullptr; }

 private:
  /// `variant_of` = -1: the graphs that are replayed.
  engine::Status capture_all(std::vector<CapturedGraph>& captured,
                             std::vector<GraphSnapshot>& snapshots, int variant_of);
  /// A graph as the step captures it for this launch. Its snapshot, with the names of `about`, is
  /// added to `snapshots`, also if CUDA refuses the capture.
  engine::Result<CapturedGraph> capture_one(int graph, int number, GraphSnapshot about,
                                            std::vector<GraphSnapshot>& snapshots);
  engine::Status capture_next_launches(std::vector<GraphSnapshot>& snapshots);
  /// The result of the replays remains valid, whatever a further capture did.
  engine::Status keep_outcome(Outcome so_far, std::vector<GraphSnapshot> variants, bool captured);
  engine::Status make_executable(std::size_t index);
  engine::Status check_ref(const NodeRef& ref) const;
  engine::Status move_memory(CapturedGraph& captured, int graph) const;
  engine::Status freshen_memory(CapturedGraph& captured, int graph);
  void read_ledger();
  void start_load_watch(int variant_of);
  void note_loads(GraphSnapshot& snapshot);

  ExperimentState& state_;
  std::map<std::string, engine::DeviceBuffer> fresh_;  // by owner; outlive the graphs' launches
  std::vector<PlannedLaunch> plan_;
  std::vector<CapturedGraph> graphs_;
  std::optional<MovedInputs> moved_inputs_;
  std::unique_ptr<LoadWatch> load_watch_;
  std::string loads_;      // during the captures of this experiment
  std::string unwatched_;  // why they are unknown
};

}  // namespace profiling
