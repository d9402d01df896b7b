#include "profiling/hazards/proofs/marker_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profiling/hazards/model/live_board.h"

namespace profiling {

engine::Result<MarkerBoard> MarkerBoard::add(const engine::DriverApi& driver, CUgraph graph,
                                             const ReadGraph& read) {
  MarkerBoard board;
  const std::vector<SnapshotNode>& nodes = read.snapshot.nodes;
  board.slots_.assign(nodes.size(), -1);
  board.dependencies_.resize(nodes.size());
  for (const SnapshotEdge& edge : read.snapshot.edges) {
    board.dependencies_[static_cast<std::size_t>(edge.to)].push_back(edge.from);
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].type == NodeType::Kernel && nodes[n].parent == -1) {
      board.slots_[n] = static_cast<int>(board.count_++);
    }
  }
  ENGINE_ASSIGN(board.words_, engine::PinnedBuffer::allocate(
                                  static_cast<std::int64_t>(board.count_ * sizeof(std::uint32_t)),
                                  {engine::AllocationRole::Check, "marker board"}));
  board.clear();

  CUcontext context = nullptr;
  (void)driver.ctx_get_current(&context);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (board.slots_[n] < 0) continue;
    CUstreamBatchMemOpParams write{};
    write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    write.writeValue.address =
        reinterpret_cast<CUdeviceptr>(board.words_.as<std::uint32_t>() + board.slots_[n]);
    write.writeValue.value = 1;
    CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{};
    parameters.ctx = context;
    parameters.count = 1;
    parameters.paramArray = &write;
    CUgraphNode marker = nullptr;
    ENGINE_TRY(engine::check_driver(
        driver.graph_add_batch_mem_op_node(&marker, graph, &read.handles[n], 1, &parameters),
        fmt::format("Adding a marker after node {}", n)));
  }
  return board;
}

void MarkerBoard::clear() { std::fill_n(words_.as<volatile std::uint32_t>(), count_, 0U); }

std::vector<NodeState> MarkerBoard::read() const {
  return LiveBoard::states(words(), slots_, dependencies_);
}

}  // namespace profiling
