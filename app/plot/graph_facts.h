// What is derived from one captured graph, once and off the window's thread: the places of its
// nodes in layers from left to right, wrapped into bands like lines of text, so that a chain of
// thousands still fills the view; the memory map; durations. No ImGui.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/model/snapshot.h"
#include "profiling/hazards/snapshot/accesses.h"
#include "profiling/hazards/snapshot/compared_memory.h"

namespace app {

/// Unit: the height of a box. A box is kBoxWidth x 1, centred on its node's place.
struct GraphLayout {
  static constexpr float kBoxWidth = 7.0F;
  static constexpr float kColumnStep = 8.2F;
  static constexpr float kRowStep = 1.6F;

  struct Place {
    float x = 0.0F;
    float y = 0.0F;
    int layer = 0;
    int band = 0;
  };
  std::vector<Place> places;  // of each node
  int layers = 0;
  int bands = 0;
  float width = 0.0F;  // boxes lie within [0, width] x [0, height]
  float height = 0.0F;
};

/// Deterministic. Edges that are dangling or point backwards are left out. Children of a child
/// graph are placed between their parent and what follows it. Near linear: 10,000 nodes take a
/// fraction of a second.
GraphLayout lay_out(const profiling::GraphSnapshot& graph);

struct MemoryCell {
  int node = 0;
  bool writes = false;      // known to write: memset or copy
  int unordered_with = -1;  // a node that may touch the same memory at the same time; -1 = none
};

struct MemoryRow {
  int allocation = -1;                 // index into Snapshot::ledger
  std::vector<MemoryCell> cells = {};  // ascending by node, one per node
  bool red = false;                    // some cell is unordered
  profiling::MemoryChanges changes = {};
};

/// The memory map: which node holds addresses of which allocation, and where two of them may
/// touch the same memory at the same time.
struct MemoryMap {
  std::vector<profiling::Touch> touches = {};  // ascending by node
  std::vector<MemoryRow> rows = {};            // by role, then by first node; untouched ones last
  int clashes = 0;                             // rows with an unordered cell
};

/// Scratch and counters clash as a whole. In other memory, whose parts belong to different experts,
/// two touches clash when one is known to write and their ranges overlap; and where a finding that
/// is not disproved names both as accesses whose order is missing, which no argument byte shows if
/// both are kernels. `graph`: an index into the snapshot's.
MemoryMap map_memory(const profiling::Snapshot& snapshot, int graph,
                     std::span<const profiling::Finding> findings);

/// The operand that each node prepares for the products, "X", "W" or "dY", by the quantized memory
/// whose addresses it holds; empty = none, or not known.
std::vector<std::string> operands_of(const profiling::Snapshot& snapshot,
                                     const profiling::GraphSnapshot& graph, const MemoryMap& map);

/// "quantize Wup, columnwise"; in recordings without operations the stage and the operand that the
/// node prepares, if that is known.
std::string node_operation(engine::StepKind step, const profiling::SnapshotNode& node,
                           const std::string& operand);

/// What there is room for in the box of each node: "fprop up", "quantize X, rowwise", as the rows
/// of "Replay x node" call the same work. `operands` as above, for recordings without operations.
std::vector<std::string> node_labels(engine::StepKind step, const profiling::GraphSnapshot& graph,
                                     const std::vector<std::string>& operands);

/// A grouped product holds the addresses of arrays, and the arrays those of its operands. What is
/// in an array is no argument byte, so such a product has no mark in its operands' rows; the nodes
/// that fill the arrays have it.
struct PointerArrays {
  std::vector<int> products = {};  // nodes that reach their operands through arrays, ascending
  std::vector<int> fillers = {};   // other nodes that hold addresses of these arrays, ascending
};
/// Derived from one graph of a report.
struct GraphFacts {
  GraphLayout layout;
  MemoryMap memory;
  PointerArrays arrays = {};
  std::string compared = {};               // compared_sentences()
  std::vector<std::string> operands = {};  // of each node
  std::vector<std::string> labels = {};    // of each node
  std::vector<double> node_us = {};        // median duration of each node, NaN = not known
  double longest_us = 0.0;
};

}  // namespace app
