// The graphs of one experiment: captured, changed as it asks, instantiated. What is loaded during a
// capture that is not replayed is watched.
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
#include "profiling/hazards/proofs/marker_board.h"
#include "profiling/hazards/proofs/moved_inputs.h"
#include "profiling/hazards/snapshot/graph_reader.h"

namespace profiling {

struct CapturedGraph {
  engine::Graph graph;
  ReadGraph read;
  engine::Graph unmarked;  // the same before the markers were added; none where CUDA copies none
  std::optional<MarkerBoard> board;
  engine::GraphExec executable;
  engine::GraphExec unmarked_executable;
  std::vector<engine::DeviceBuffer> moved;             // outlive `executable`'s launches
  std::map<int, std::vector<Relocation>> relocations;  // into `moved`, by node
};

class ExperimentCaptures {
 public:
  explicit ExperimentCaptures(ExperimentState& state) : state_(state) {}

  /// The graphs that are replayed; the program goes on after each capture as it does.
  engine::Status capture();
  /// Captured again after a change of inputs, in place of the first.
  engine::Status capture_again();
  /// Whether everything that the experiment names is there.
  engine::Status find_memory() const;
  engine::Status make_executables();
  /// Every workspace is filled with the byte that the experiment asks for.
  engine::Status poison_workspaces() const;
  /// What differs when the same program is captured with other inputs: only read, never replayed.
  /// Last, because a capture may change what the program remembers.
  engine::Status capture_variant();
  /// What a capture that is not replayed has shown.
  engine::Status end_capture_only();

  /// The inputs lie elsewhere in launches from now on.
  engine::Status move_inputs();

  std::vector<CapturedGraph>& graphs() { return graphs_; }
  MovedInputs* moved_inputs() { return moved_inputs_ ? &*moved_inputs_ : nullptr; }

 private:
  /// `variant_of` = -1: the graphs that are replayed.
  engine::Status capture_all(std::vector<CapturedGraph>& captured,
                             std::vector<GraphSnapshot>& snapshots, int variant_of);
  engine::Status make_executable(std::size_t index);
  engine::Status check_ref(const NodeRef& ref) const;
  engine::Status move_memory(CapturedGraph& captured, int graph) const;
  void read_ledger();
  void start_load_watch(int variant_of);
  void note_loads(GraphSnapshot& snapshot);

  ExperimentState& state_;
  std::vector<CapturedGraph> graphs_;
  std::optional<MovedInputs> moved_inputs_;
  std::unique_ptr<LoadWatch> load_watch_;
  std::string loads_;      // during the captures of this experiment
  std::string unwatched_;  // why they are not known
};

}  // namespace profiling
