// The driver's initialization and look-up, executable graphs from instantiation to destruction, and
// modules.
#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "profiling/attach/preload/compared_replays.h"
#include "profiling/attach/preload/conditional_nodes.h"
#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/graph_markers.h"
#include "profiling/attach/preload/graph_walk.h"
#include "profiling/attach/preload/process.h"
#include "profiling/attach/preload/spool_file.h"
#include "profiling/attach/preload/waits.h"

namespace attach {
namespace {

using profiling::spool::GraphCounter;
using profiling::spool::GraphReason;

// Through whichever version of the look-up the program uses: an older driver has only the first.
void* ask_first_version(const char* name, int version, std::uint64_t flags) {
  void* found = nullptr;
  return real<&cuGetProcAddress>(name, &found, version, flags) == CUDA_SUCCESS ? found : nullptr;
}
void* ask_second_version(const char* name, int version, std::uint64_t flags) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  return real<&cuGetProcAddress_v2>(name, &found, version, flags, &status) == CUDA_SUCCESS
             ? found
             : nullptr;
}

std::uint64_t number(const void* handle) { return reinterpret_cast<std::uint64_t>(handle); }

/// The counter of an executable graph; null = it has none. Looked up at every launch: its place
/// follows from the handle.
GraphCounter* counter_of(std::uint64_t exec) {
  spool::FileHeader* header = spool_header();
  if (header == nullptr) return nullptr;
  const std::uint64_t hash = exec * 0x9E3779B97F4A7C15 >> 20;
  constexpr std::size_t kProbes = 64;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    GraphCounter& counter = header->graphs[(hash + probe) % spool::kLiveGraphs];
    if (counter.exec.load(std::memory_order_acquire) == exec) return &counter;
  }
  return nullptr;
}

GraphCounter* new_counter(std::uint64_t exec) {
  GraphCounter* known = counter_of(exec);
  spool::FileHeader* header = spool_header();
  if (known != nullptr || header == nullptr) return known;
  const std::uint64_t hash = exec * 0x9E3779B97F4A7C15 >> 20;
  constexpr std::size_t kProbes = 64;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    GraphCounter& counter = header->graphs[(hash + probe) % spool::kLiveGraphs];
    std::uint64_t unused = 0;
    if (counter.exec.compare_exchange_strong(unused, exec)) return &counter;
  }
  return nullptr;  // too many are alive: this one's launches are not counted
}

/// `instantiate`: the driver's call, for a graph that it is given.
template <class Instantiate>
CUresult instantiated(CUgraphExec* exec, CUgraph graph, const Instantiate& instantiate) {
  MarkedCopy copy(graph);
  CUresult result = instantiate(copy.graph());
  if (copy.exists() && result != CUDA_SUCCESS) {
    copy.refused(result, "cuGraphInstantiate");
    result = instantiate(graph);
  }
  spool::FileHeader* header = spool_header();
  if (result != CUDA_SUCCESS || header == nullptr) return result;
  const std::uint64_t handle = number(*exec);
  const std::uint64_t of_graph = header->graphs_made.fetch_add(1) + 1;
  if (GraphCounter* counter = new_counter(handle)) {
    counter->launches.store(0);
    counter->last_launch.store(0);
    counter->graph.store(of_graph);
  }
  note_device();
  note_libraries();
  record_graph(of_graph, *exec, graph, GraphReason::Instantiated);
  copy.became(*exec, of_graph);
  return result;
}

CUresult added(const CUgraphNode* node, const CUgraphNodeParams* parameters, CUresult result) {
  if (result == CUDA_SUCCESS && spool_header() != nullptr &&
      parameters->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    note_conditional(*node, parameters->conditional);
  }
  return result;
}

/// `update`: the driver's call, for a graph that it is given; it says in `reported` which nodes it
/// could not update.
template <class Update>
CUresult updated(CUgraphExec exec, CUgraph graph, std::initializer_list<CUgraphNode*> reported,
                 const Update& update) {
  const MarkedCopy copy(graph, exec);
  const CUresult result = update(copy.graph());
  if (copy.exists() && result != CUDA_SUCCESS) {
    for (CUgraphNode* node : reported) {
      if (node != nullptr) *node = copy.original(*node);
    }
  }
  const GraphCounter* counter = result == CUDA_SUCCESS ? counter_of(number(exec)) : nullptr;
  if (counter != nullptr) record_graph(counter->graph.load(), exec, graph, GraphReason::Updated);
  return result;
}

/// Counted from 1; 0 = launches of this graph are not counted.
std::uint64_t next_replay(const GraphCounter* counter) {
  return counter == nullptr ? 0 : counter->launches.load(std::memory_order_relaxed) + 1;
}

/// Counts it. Before the launch: it must not seem to come after what follows it.
void launching(GraphCounter* counter, CUstream stream) {
  if (counter == nullptr) return;
  spool::FileHeader* header = spool_header();
  counter->last_launch.store(header->end.load(std::memory_order_relaxed),
                             std::memory_order_relaxed);
  counter->last_stream.store(number(stream), std::memory_order_relaxed);
  counter->launches.fetch_add(1, std::memory_order_relaxed);
}

void destroying(CUgraphExec exec) {
  GraphCounter* counter = counter_of(number(exec));
  {
    Frame<spool::GraphDestroyed> frame;
    if (frame) {
      frame->exec = number(exec);
      frame->launches = counter == nullptr ? 0 : counter->launches.load();
      frame->last_launch = counter == nullptr ? 0 : counter->last_launch.load();
    }
  }
  if (counter != nullptr) counter->exec.store(0, std::memory_order_release);
}

void unloading(std::uint64_t module) {
  {
    Frame<spool::ModuleUnloaded> frame;
    if (frame) frame->module = module;
  }
  forget_functions();
}

}  // namespace
}  // namespace attach

using attach::number;
using attach::real;

extern "C" {

CUresult cuInit(unsigned flags) {
  const CUresult result = real<&cuInit>(flags);
  if (result == CUDA_SUCCESS) attach::start_recording();
  return result;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  const CUresult result = real<&cuGetProcAddress>(symbol, function, version, flags);
  if (result == CUDA_SUCCESS && function != nullptr && *function != nullptr) {
    *function = attach::wrapped(symbol, flags, *function, attach::ask_first_version);
  }
  return result;
}
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  const CUresult result = real<&cuGetProcAddress_v2>(symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS && function != nullptr && *function != nullptr) {
    *function = attach::wrapped(symbol, flags, *function, attach::ask_second_version);
  }
  return result;
}

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                            size_t log_bytes) {
  return attach::instantiated(exec, graph, [&](CUgraph given) {
    return real<&cuGraphInstantiate>(exec, given, error_node, log, log_bytes);
  });
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                               size_t log_bytes) {
  return attach::instantiated(exec, graph, [&](CUgraph given) {
    return real<&cuGraphInstantiate_v2>(exec, given, error_node, log, log_bytes);
  });
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return attach::instantiated(exec, graph, [&](CUgraph given) {
    return real<&cuGraphInstantiateWithFlags>(exec, given, flags);
  });
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return attach::instantiated(exec, graph, [&](CUgraph given) {
    return real<&cuGraphInstantiateWithParams>(exec, given, parameters);
  });
}
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return attach::instantiated(exec, graph, [&](CUgraph given) {
    return real<&cuGraphInstantiateWithParams_ptsz>(exec, given, parameters);
  });
}
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, CUgraphNodeParams* parameters) {
  return attach::added(node, parameters,
                       real<&cuGraphAddNode>(node, graph, dependencies, count, parameters));
}
CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* edges, size_t count,
                           CUgraphNodeParams* parameters) {
  return attach::added(
      node, parameters,
      real<&cuGraphAddNode_v2>(node, graph, dependencies, edges, count, parameters));
}
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                           CUgraphExecUpdateResult* update) {
  return attach::updated(exec, graph, {error_node}, [&](CUgraph given) {
    return real<&cuGraphExecUpdate>(exec, given, error_node, update);
  });
}
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  const bool reports = info != nullptr;
  return attach::updated(
      exec, graph, {reports ? &info->errorNode : nullptr, reports ? &info->errorFromNode : nullptr},
      [&](CUgraph given) { return real<&cuGraphExecUpdate_v2>(exec, given, info); });
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  attach::WaitScope wait(attach::spool::WaitCall::GraphLaunch, stream);
  attach::GraphCounter* counter = attach::counter_of(number(exec));
  attach::ComparedReplay compared(number(exec), attach::next_replay(counter), {.stream = stream},
                                  wait);
  attach::launching(counter, stream);  // what waits for a comparison has not begun
  return compared.launched(real<&cuGraphLaunch>(exec, stream));
}
CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  attach::WaitScope wait(attach::spool::WaitCall::GraphLaunch, stream);
  attach::GraphCounter* counter = attach::counter_of(number(exec));
  attach::ComparedReplay compared(number(exec), attach::next_replay(counter),
                                  {.stream = stream, .per_thread = true}, wait);
  attach::launching(counter, stream);
  return compared.launched(real<&cuGraphLaunch_ptsz>(exec, stream));
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  attach::destroying(exec);
  attach::DestroyedMarkers markers(exec);
  return markers.ended(real<&cuGraphExecDestroy>(exec));
}

CUresult cuModuleUnload(CUmodule module) {
  attach::unloading(number(module));
  return real<&cuModuleUnload>(module);
}
CUresult cuLibraryUnload(CUlibrary library) {
  attach::unloading(number(library));
  return real<&cuLibraryUnload>(library);
}

}  // extern "C"
