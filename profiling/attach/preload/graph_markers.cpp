#include "profiling/attach/preload/graph_markers.h"

#include <atomic>

#include "profiling/attach/preload/address_table.h"
#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/graph_api.h"
#include "profiling/attach/preload/marker_watch.h"
#include "profiling/attach/preload/scratch.h"
#include "profiling/attach/preload/spin_lock.h"
#include "profiling/attach/preload/spool_file.h"

namespace attach {
namespace {

constinit std::atomic<bool> g_marks{false};

/// The first word: the replay has begun. Its node waits for nothing, and nothing waits for it.
constexpr std::size_t kBegan = 0;
constexpr std::size_t kFirstNode = 1;

// ---- Executable graphs that were made from copies ----------------------------------------------

struct Marked {
  std::uint64_t address;  // CUgraphExec; 0 = an empty place
  std::uint64_t number;   // GraphBegan::graph
  CUgraph copy;
  MarkerWords words;
  std::uint64_t sampled;  // hash of the words when they were looked at last
  std::uint64_t written;  // of those in the newest frame; 0 = none
  std::uint64_t written_at;
};
constinit SpinLock g_lock;
constinit AddressTable<Marked, 4096> g_graphs;

class Locked {
 public:
  Locked() { g_lock.lock(); }
  ~Locked() { g_lock.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

std::uint64_t address_of(CUgraphExec exec) { return reinterpret_cast<std::uint64_t>(exec); }

/// Null = it was made from the program's own graph.
CUgraph copy_of(CUgraphExec exec, MarkerWords* words = nullptr) {
  const Locked locked;
  const Marked* marked = g_graphs.find(address_of(exec));
  if (marked == nullptr) return nullptr;
  if (words != nullptr) *words = marked->words;
  return marked->copy;
}

// ---- The driver's functions that copying needs -------------------------------------------------

template <class Function>
bool find(Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(driver_symbol(symbol));
  return function != nullptr;
}

struct CopyApi {
  decltype(&::cuGraphClone) clone;
  decltype(&::cuGraphNodeFindInClone) find_in_clone;
  decltype(&::cuGraphDestroy) destroy;
  decltype(&::cuGraphAddBatchMemOpNode) add_write;
  decltype(&::cuGraphAddMemsetNode) add_memset;
  decltype(&::cuCtxGetCurrent) current;
  bool complete;
};

CopyApi copy_api() {
  CopyApi api{};
  api.complete =
      find(api.clone, "cuGraphClone") & find(api.find_in_clone, "cuGraphNodeFindInClone") &
      find(api.destroy, "cuGraphDestroy") & find(api.add_write, "cuGraphAddBatchMemOpNode") &
      find(api.add_memset, "cuGraphAddMemsetNode") & find(api.current, "cuCtxGetCurrent");
  return api;
}

Refusal refusal(CUresult result, const char* call) { return {.result = result, .call = call}; }

}  // namespace

// ---- Copies ------------------------------------------------------------------------------------

void mark_graphs() { g_marks.store(true, std::memory_order_relaxed); }

MarkedCopy::MarkedCopy(CUgraph graph) : graph_(graph) {
  if (!g_marks.load(std::memory_order_relaxed) || spool_header() == nullptr) return;
  own_words_ = true;
  why_not_ = make();
  if (why_not_) destroy();
}

MarkedCopy::MarkedCopy(CUgraph graph, CUgraphExec exec) : graph_(graph) {
  if (copy_of(exec, &words_) == nullptr) return;
  why_not_ = make();
  if (why_not_) destroy();
}

MarkedCopy::~MarkedCopy() { destroy(); }

Refusal MarkedCopy::make() {
  const GraphApi& api = graph_api();
  const CopyApi copying = copy_api();
  if (!api.complete || !copying.complete) return refusal(CUDA_ERROR_NOT_FOUND, "cuGraphClone");
  const RelaxedCapture relaxed(api);
  std::size_t count = 0;
  CUresult result = api.get_nodes(graph_, nullptr, &count);
  if (result != CUDA_SUCCESS) return refusal(result, "cuGraphGetNodes");
  constexpr std::size_t kMostNodes = std::size_t{1} << 18;  // whose bytes fit into a frame
  if (count == 0 || count > kMostNodes) return refusal(CUDA_ERROR_NOT_SUPPORTED, "its size");
  // An update with another number of nodes fails, as it would without markers.
  if (!own_words_ && words_.count != count + kFirstNode)
    return refusal(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "cuGraphExecUpdate");
  result = copying.clone(&copy_, graph_);
  if (result != CUDA_SUCCESS) {
    copy_ = nullptr;
    return refusal(result, "cuGraphClone");
  }
  if (own_words_) {
    const Locked locked;
    if (g_graphs.is_full()) return refusal(CUDA_ERROR_OUT_OF_MEMORY, "too many graphs");
    if (const Refusal refused = take_marker_words(count + kFirstNode, words_)) return refused;
  }
  return add_markers();
}

Refusal MarkedCopy::add_markers() {
  const GraphApi& api = graph_api();
  const CopyApi copying = copy_api();
  std::size_t count = words_.count - kFirstNode;
  Scratch<CUgraphNode> nodes(count);
  Scratch<CUgraphNode> markers(count + kFirstNode);
  if (nodes.data() == nullptr || markers.data() == nullptr)
    return refusal(CUDA_ERROR_OUT_OF_MEMORY, "mmap");
  CUresult result = api.get_nodes(graph_, nodes.data(), &count);
  if (result != CUDA_SUCCESS) return refusal(result, "cuGraphGetNodes");
  for (std::size_t n = 0; n < count; ++n) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    if (api.get_type(nodes[n], &type) != CUDA_SUCCESS)
      return refusal(CUDA_ERROR_INVALID_VALUE, "cuGraphNodeGetType");
    // The driver does not find the nodes of a child graph in the copy, and the program may change
    // them in the executable graph.
    if (type == CU_GRAPH_NODE_TYPE_GRAPH)
      return refusal(CUDA_ERROR_NOT_SUPPORTED, "cuGraphNodeFindInClone in child graphs");
    result = copying.find_in_clone(&nodes[n], nodes[n], copy_);
    if (result != CUDA_SUCCESS) return refusal(result, "cuGraphNodeFindInClone");
  }
  CUcontext context = nullptr;
  result = copying.current(&context);
  if (result != CUDA_SUCCESS) return refusal(result, "cuCtxGetCurrent");
  const auto add = [&](std::size_t word, const CUgraphNode* behind) {
    CUstreamBatchMemOpParams write{};
    write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    write.writeValue.address = words_.device + word * sizeof(std::uint32_t);
    write.writeValue.value = 1;
    CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{};
    parameters.ctx = context;
    parameters.count = 1;
    parameters.paramArray = &write;
    return copying.add_write(&markers[markers_++], copy_, behind, behind == nullptr ? 0 : 1,
                             &parameters);
  };
  result = add(kBegan, nullptr);
  for (std::size_t n = 0; n < count && result == CUDA_SUCCESS; ++n) {
    result = add(kFirstNode + n, &nodes[n]);
  }
  if (result != CUDA_SUCCESS) return refusal(result, "cuGraphAddBatchMemOpNode");
  // A marker only ever writes 1, so the end of a replay clears them for the next one: what is set
  // belongs to a replay under way.
  CUDA_MEMSET_NODE_PARAMS clear{};
  clear.dst = words_.device;
  clear.elementSize = sizeof(std::uint32_t);
  clear.width = words_.count;
  clear.height = 1;
  CUgraphNode cleared = nullptr;
  return refusal(copying.add_memset(&cleared, copy_, markers.data(), markers_, &clear, context),
                 "cuGraphAddMemsetNode");
}

CUgraphNode MarkedCopy::original(CUgraphNode node) const {
  const GraphApi& api = graph_api();
  if (copy_ == nullptr || node == nullptr) return node;
  const CopyApi copying = copy_api();
  std::size_t count = words_.count - kFirstNode;
  Scratch<CUgraphNode> nodes(count);
  if (nodes.data() == nullptr || api.get_nodes(graph_, nodes.data(), &count) != CUDA_SUCCESS)
    return nullptr;
  for (std::size_t n = 0; n < count; ++n) {
    CUgraphNode copied = nullptr;
    if (copying.find_in_clone(&copied, nodes[n], copy_) == CUDA_SUCCESS && copied == node)
      return nodes[n];
  }
  return nullptr;  // a marker
}

void MarkedCopy::refused(CUresult result, const char* call) {
  why_not_ = refusal(result, call);
  destroy();
}

void MarkedCopy::became(CUgraphExec exec, std::uint64_t number) {
  if (!own_words_) return;
  if (copy_ != nullptr) {
    const Locked locked;
    const Marked marked{.address = address_of(exec),
                        .number = number,
                        .copy = copy_,
                        .words = words_,
                        .sampled = 0,
                        .written = 0,
                        .written_at = 0};
    g_graphs.put(marked);
    copy_ = nullptr;
    words_ = {};
  }
  const std::uint32_t call_bytes = why_not_ ? text_bytes(why_not_.call) : 0;
  {
    Frame<spool::GraphMarked> frame(call_bytes);
    if (!frame) return;
    frame->graph = number;
    frame->markers = why_not_ ? 0 : markers_;
    frame->result = why_not_.result;
    frame->call_bytes = call_bytes;
    frame.append(why_not_.call, call_bytes);
  }
  if (!why_not_) watch_markers();
}

void MarkedCopy::destroy() {
  if (copy_ != nullptr) {
    const RelaxedCapture relaxed(graph_api());
    copy_api().destroy(copy_);
  }
  copy_ = nullptr;
  if (own_words_ && words_.count > 0) {
    const Locked locked;
    return_marker_words(words_);
  }
  words_ = {};
}

CUgraphNode node_in(CUgraphExec exec, CUgraphNode node) {
  const CUgraph copy = copy_of(exec);
  if (copy == nullptr) return node;
  CUgraphNode copied = nullptr;
  return copy_api().find_in_clone(&copied, node, copy) == CUDA_SUCCESS ? copied : node;
}

void forget_markers(CUgraphExec exec) {
  Marked gone{};
  {
    const Locked locked;
    const Marked* marked = g_graphs.find(address_of(exec));
    if (marked == nullptr) return;
    gone = *marked;
    g_graphs.remove(gone.address);
    return_marker_words(gone.words);
  }
  const RelaxedCapture relaxed(graph_api());
  copy_api().destroy(gone.copy);
}

void drop_markers_of_parent() {
  g_lock.reset();
  g_marks.store(false);
  g_graphs.clear();
  drop_marker_words_of_parent();
  forget_marker_watch();
}

// ---- What they show ----------------------------------------------------------------------------

namespace {

std::uint64_t hash_of(const MarkerWords& words) {
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < words.count; ++i)
    state = (state ^ (words.words[i] != 0 ? 1 : 0)) * 0x9E3779B97F4A7C15 + (state >> 32);
  return state | 1;
}

void write_state(const Marked& marked) {
  Frame<spool::MarkerState> frame(marked.words.count - kFirstNode);
  if (!frame) return;
  frame->graph = marked.number;
  frame->nodes = static_cast<std::uint32_t>(marked.words.count - kFirstNode);
  for (std::size_t i = kFirstNode; i < marked.words.count; ++i) {
    const std::uint8_t ended = marked.words.words[i] != 0 ? 1 : 0;
    frame.append(&ended, sizeof ended);
  }
}

}  // namespace

void write_marker_states(std::uint64_t since) {
  const Locked locked;
  for (std::size_t place = 0; place < g_graphs.places(); ++place) {
    Marked& marked = g_graphs.at(place);
    if (marked.address == 0 || marked.words.words[kBegan] == 0) continue;
    const std::uint64_t hash = hash_of(marked.words);
    const bool stands = hash == marked.sampled;
    marked.sampled = hash;
    if (!stands || (hash == marked.written && marked.written_at >= since)) continue;
    write_state(marked);
    marked.written = hash;
    marked.written_at = now();
  }
}

}  // namespace attach
