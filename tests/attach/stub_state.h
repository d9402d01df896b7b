// What the parts of the stub driver share. All of it is guarded by stub::mutex().
#pragma once

#define __CUDA_API_VERSION_INTERNAL  // declares every version of each function, and renames none
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

struct CUmod_st {
  std::vector<std::unique_ptr<CUfunc_st>> functions;
  unsigned long long context = 0;  // that it was loaded into
};
struct CUfunc_st {
  std::string name;
  std::vector<std::pair<std::size_t, std::size_t>> slots;  // offset, bytes
  CUmodule module = nullptr;
};
struct CUgraphNode_st {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  std::vector<std::vector<std::byte>> arguments;
  std::vector<void*> pointers;
  CUDA_MEMSET_NODE_PARAMS_v1 memset{};
  CUDA_MEMCPY3D_v2 memcpy{};
  CUdeviceptr address = 0;  // that it allocates or frees
  std::size_t bytes = 0;
  CUgraphConditionalNodeType condition = CU_GRAPH_COND_TYPE_IF;
  std::vector<std::unique_ptr<CUgraph_st>> bodies;
  std::vector<CUgraph> body_handles;
  std::vector<CUstreamBatchMemOpParams> writes;
  CUgraphNode original = nullptr;     // that this one is a copy of
  const CUgraph_st* graph = nullptr;  // that it is in
};
struct StubEdge {
  CUgraphNode from = nullptr;
  CUgraphNode to = nullptr;
  bool programmatic = false;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
  std::vector<StubEdge> edges;
};
struct CUgraphExec_st {
  std::unique_ptr<CUgraph_st> graph;  // a copy, whose originals are the program's nodes
  int launches = 0;
};
struct CUstream_st {
  bool hangs = false;
  CUstream origin = nullptr;          // whose capture it takes part in, itself for the first one
  std::vector<CUgraphNode> newest{};  // what its next node depends on
  // Of the stream that began the capture:
  cuuint64_t capture = 0;  // counts captures from 1
  std::unique_ptr<CUgraph_st> graph;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  std::vector<CUstream> forked{};
};
struct CUevent_st {
  CUstream origin = nullptr;  // of the capture in which it was recorded; null = in none
  std::vector<CUgraphNode> after{};
};
struct CUmemPoolHandle_st {
  int device = 0;
  std::vector<std::pair<CUdeviceptr, std::size_t>> free;  // mapped, for its next allocations
};

namespace stub {

std::mutex& mutex();

inline bool captured(CUstream stream) { return stream != nullptr && stream->origin != nullptr; }

/// A call that may wait or allocate: refused while somebody captures in global mode, unless its
/// thread is relaxed.
CUresult unsafe_call();

void keep_arguments(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2& from);
/// Nodes and edges, without the bodies of conditional nodes.
std::unique_ptr<CUgraph_st> copy_of(const CUgraph_st& graph);
/// Nodes that it waits for, or that wait for it, in the order of its edges.
std::vector<CUgraphNode> before(CUgraphNode node);
std::vector<CUgraphNode> behind(CUgraphNode node);
/// Adds a node that waits for these.
CUgraphNode add_node(CUgraph graph, std::unique_ptr<CUgraphNode_st> node,
                     const CUgraphNode* dependencies, std::size_t count);
/// What the node does, without its place in a graph.
void take_parameters(CUgraphNode to, const CUgraphNode_st& from);

/// The next node of a captured stream.
CUgraphNode add_node(CUstream stream, CUgraphNodeType type);

/// What the device does: memory gets contents (stub_contents.cpp).
void write(CUdeviceptr address, std::uint64_t value);
void write(CUdeviceptr address, const void* bytes, std::size_t count);
CUresult run(const CUDA_KERNEL_NODE_PARAMS_v2& kernel);
/// Nodes behind one that never ends do not run. What the launch gave, and whether it ended.
struct Replay {
  CUresult result = CUDA_SUCCESS;
  bool ended = true;
};
enum class Slow : bool { Runs, Ended };  // kernels named "slow"
Replay run(const CUgraph_st& graph, Slow slow);
/// Of memory that the program registered, or a marker's; false = it is not the host's.
bool write_host(CUdeviceptr address, std::uint32_t value, std::size_t words);
/// Counts resets.
unsigned long long context();
bool is_readable(CUdeviceptr address, std::size_t bytes);

/// A number of the environment, such as a version that the stub pretends to have.
int number_of(const char* variable, int otherwise);

}  // namespace stub
