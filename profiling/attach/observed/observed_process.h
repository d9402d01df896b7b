// One attached process, as its spool tells it so far: its memory, captures, graphs and their
// launches. Frames go in, the doctor's snapshot comes out. The frames are untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/model/allocation.h"
#include "profiling/attach/observed/recent_events.h"
#include "profiling/attach/spool/spool_reader.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

struct ObservedLibrary {
  std::string path;
  std::string version;  // empty = it reports none
};

/// By the name that facts about it have; none without a version, or for another library.
std::optional<LoadedLibrary> known_library(const ObservedLibrary& library);

/// "graph 3": the name of an instantiated graph, by its number.
std::string graph_name(std::uint64_t number);

/// A communicator that a capture has used.
struct ObservedCommunicator {
  std::uint64_t handle = 0;     // at that time: another one may have it later
  std::uint64_t last_used = 0;  // position
  CapturedCommunicator shown;
};

/// A replay that stood still while some thread waited.
struct ObservedReplay {
  std::uint64_t graph = 0;       // ObservedGraph::number
  std::uint64_t seen = 0;        // nanoseconds on CLOCK_MONOTONIC; 0 = never
  std::vector<NodeState> nodes;  // as in the graph's snapshot
  int last_finished = -1;        // the last node of the list that has ended; -1 = none
};

struct ObservedUpdate {
  std::string call;
  std::uint64_t node = 0;  // CUgraphNode; 0 = the whole graph
  std::uint64_t time = 0;  // nanoseconds on CLOCK_MONOTONIC
};

/// One instantiated graph.
struct ObservedGraph {
  std::uint64_t number = 0;  // counts the process's instantiations from 1
  std::uint64_t exec = 0;
  GraphSnapshot graph;
  std::vector<std::uint64_t> handles;        // CUgraphNode of each node
  std::vector<std::uint64_t> modules;        // of each node's kernel; 0 = none or not known
  std::vector<std::uint64_t> communicators;  // handles of graph.communicators
  bool complete = false;                     // all its nodes were read
  bool updated = false;                      // from another graph, after the instantiation
  std::map<int, int> bodies;  // conditional node -> the body whose nodes are being read
  // Since its last comparison, as those of other graphs saw it.
  std::vector<ChangedMemory> changed_meanwhile;
  bool missed_changes = false;  // more than fit
  std::vector<int> listed;      // nodes of the top level in the order of their frames
  bool marked = false;
  std::string unmarked{};                 // why it is not, though that was asked for
  ObservedReplay replay;                  // the newest that stood still
  std::vector<ObservedUpdate> updates{};  // at most kMostRecent, the newest last
};

class ObservedProcess {
 public:
  void take(const SpoolFrame& frame);
  /// Counts of launches, after frames have been taken.
  void take(const SpoolState& state);

  std::uint32_t process() const { return process_; }
  const std::string& pci_bus_id() const { return pci_bus_id_; }  // empty = not known
  int rank() const { return rank_; }                             // -1 = none
  /// "train.py (process 1234, rank 0)".
  std::string title() const;
  /// "thread 77 \"loader\"".
  std::string thread_text(std::uint32_t thread) const;
  std::uint64_t graphs_seen() const { return graphs_seen_; }  // destroyed ones too
  std::uint64_t launches() const { return launches_; }        // of all of them
  std::uint64_t lost_frames() const { return lost_frames_; }
  /// Of each graph the replay that was seen under way from this time on, on CLOCK_MONOTONIC.
  std::vector<ObservedReplay> replays_since(std::uint64_t time) const;
  std::uint64_t graphs_marked() const { return graphs_marked_; }  // destroyed ones too
  /// Whether replays of this graph show how far they get, and why not though that was asked for.
  bool is_marked(std::uint64_t graph) const;
  std::string why_unmarked(std::uint64_t graph) const;
  RecentEvents recent_events(std::uint64_t graph) const;
  /// Replays before and after which memory was hashed.
  std::uint64_t compared() const { return compared_; }
  /// Snapshot::not_compared.
  const std::string& not_compared() const { return not_compared_; }

  /// All that the rules need: memory, graphs that exist or were launched after something that they
  /// use was gone, and captures that failed. At most kMaxSnapshotGraphs graphs, the newest.
  Snapshot snapshot() const;

 private:
  struct Function {
    std::string name;
    std::uint64_t module = 0;
    std::uint64_t code = 0;  // KernelNode::code
    Known waits = Known::Unknown;
    std::size_t eager_launches = 0;  // that were taken
    std::vector<ParameterSlot> slots;
  };
  struct Capture {
    std::uint64_t number = 0;  // counts captures that began from 1
    std::uint64_t began = 0;
    std::uint64_t ended = 0;
    std::uint32_t thread = 0;
    std::uint32_t mode = 0;
    std::vector<CaptureEvent> events;
    std::vector<ObservedCommunicator> communicators;
    std::vector<std::uint64_t> made;  // ids of the memory that was allocated for it
  };

  void take_process(const SpoolFrame& frame);
  void take_driver(const SpoolFrame& frame);
  void take_device(const SpoolFrame& frame);
  void take_library(const SpoolFrame& frame);
  void take_thread(const SpoolFrame& frame);
  void take_allocation(const SpoolFrame& frame);
  void take_release(const SpoolFrame& frame);
  void take_block(const SpoolFrame& frame);
  void take_block_released(const SpoolFrame& frame);
  void take_capture_began(const SpoolFrame& frame);
  void take_capture_ended(const SpoolFrame& frame);
  void take_call(const SpoolFrame& frame);
  void take_function(const SpoolFrame& frame);
  void take_eager_launch(const SpoolFrame& frame);
  void take_compared(const SpoolFrame& frame);
  void take_comparisons_stopped(const SpoolFrame& frame);
  void take_marked(const SpoolFrame& frame);
  void take_marker_state(const SpoolFrame& frame);
  void take_graph_began(const SpoolFrame& frame);
  void take_node(const SpoolFrame& frame);
  void take_body(const SpoolFrame& frame);
  void take_edges(const SpoolFrame& frame);
  void take_graph_read(const SpoolFrame& frame);
  void take_change(const SpoolFrame& frame);
  void take_node_call(const SpoolFrame& frame);
  void take_tensor_map(const SpoolFrame& frame);
  void take_destroyed(const SpoolFrame& frame);
  void take_unloaded(const SpoolFrame& frame);
  void take_address(const SpoolFrame& frame);
  void take_stack(const SpoolFrame& frame);
  void take_communicator(const SpoolFrame& frame);
  void take_communicator_captured(const SpoolFrame& frame);
  void take_communicator_ended(const SpoolFrame& frame);

  ObservedGraph* find(std::uint64_t number);
  const ObservedGraph* find(std::uint64_t number) const;
  using Live = std::map<std::uint64_t, std::size_t>;  // address -> index into ledger_
  struct When {
    std::uint64_t position = 0;
    std::uint64_t time = 0;  // nanoseconds on CLOCK_MONOTONIC; 0 = not known
  };
  static When when_of(const SpoolFrame& frame) {
    return {.position = frame.position, .time = frame.time};
  }
  /// Where an address has another owner already, its release was not seen: it has no time.
  void allocate(Live& live, When made, engine::Allocation block);
  /// Null = no memory of `live` is there.
  engine::Allocation* release(Live& live, When gone_at, std::uint64_t address);
  /// What is at this place of the ledger has been released.
  engine::Allocation& end_of(std::size_t place, When gone_at);
  /// `node`: CUgraphNode; 0 = the whole graph.
  static void note_update(ObservedGraph& graph, const SpoolFrame& frame, std::string_view call,
                          std::uint64_t node);
  std::vector<RecentUpdate> recent_updates(std::uint64_t graph) const;
  /// Fills what the node's type has; `rest` holds a kernel's argument bytes.
  void fill_node(const spool::Node& from, std::span<const std::byte> rest, SnapshotNode& to,
                 std::uint64_t& module) const;
  void forget_oldest();
  enum class Sure : bool { ItsThread, OrTheOnlyOne };
  /// The capture for which a call of this thread allocates; null = none, or it is not known.
  Capture* capture_of(std::uint32_t thread, Sure sure);
  /// Of the newest block in the ledger.
  void belongs_to(Capture& capture);
  /// Memory of the capture that became this graph.
  void name_owner(const Capture& capture, const std::string& graph);
  /// Memory of a capture: its pool keeps what is released, as long as that graph exists.
  bool kept_by_pool(const engine::Allocation& block) const;
  const std::string& communicator_name(std::uint64_t handle);

  std::uint32_t process_ = 0;
  int rank_ = -1;
  std::string program_;
  std::string device_;
  std::string pci_bus_id_;
  std::string compute_capability_;
  std::string driver_;
  std::string cuda_version_;  // that the driver supports, "13.0"; empty = not known
  std::vector<ObservedLibrary> libraries_;
  std::unordered_map<std::uint32_t, std::string> threads_;

  /// Nanoseconds on CLOCK_MONOTONIC; 0 = not known.
  struct BlockTimes {
    std::uint64_t allocated = 0;
    std::uint64_t released = 0;
  };
  std::vector<engine::Allocation> ledger_;
  std::vector<BlockTimes> ledger_times_;  // of each of them
  Live live_;
  Live live_blocks_;  // inside of them
  std::unordered_map<std::uint64_t, Function> functions_;
  std::uint64_t codes_ = 0;  // loaded kernels so far
  std::vector<EagerLaunch> eager_;
  std::unordered_map<std::uint64_t, Capture> open_captures_;  // by stream
  std::unordered_map<std::uint64_t, Capture> captures_;       // by the graph that they gave
  std::vector<GraphSnapshot> failed_captures_;
  std::uint64_t captures_begun_ = 0;
  std::unordered_map<std::uint64_t, std::string> communicators_;  // names of the living ones
  /// Of captures that have not ended, or failed; by the graph.
  std::unordered_map<std::uint64_t, std::vector<ObservedCommunicator>> open_communicators_;
  std::uint64_t communicators_made_ = 0;
  std::map<std::uint64_t, ObservedGraph> graphs_;             // by number
  std::unordered_map<std::uint64_t, std::uint64_t> of_exec_;  // exec -> number of the living graph
  std::unordered_map<std::uint64_t, std::string> addresses_;  // what is there, for people
  std::unordered_map<std::uint64_t, std::string> stacks_;     // by the node of the capture
  std::uint64_t clock_ = 0;
  std::uint64_t launches_ = 0;
  std::uint64_t launches_of_destroyed_ = 0;
  std::uint64_t graphs_seen_ = 0;
  std::uint64_t graphs_marked_ = 0;
  std::uint64_t compared_ = 0;
  std::string not_compared_;
  std::uint64_t lost_frames_ = 0;
  bool ended_ = false;  // by itself
};

/// "cudaErrorStreamCaptureInvalidated" for the driver's numbers 900 to 908; "" for others. The
/// runtime's errors have the same numbers.
std::string_view capture_error_name(std::uint32_t code);

}  // namespace profiling
