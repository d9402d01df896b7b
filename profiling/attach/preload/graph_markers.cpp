#include "profiling/attach/preload/graph_markers.h"

#include <atomic>
#include <mutex>

#include "profiling/attach/preload/address_table.h"
#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/graph_api.h"
#include "profiling/attach/preload/marker_watch.h"
#include "profiling/attach/preload/scratch.h"
#include "profiling/attach/preload/spin_lock.h"
#include "profiling/attach/preload/spool_file.h"
#include "profiling/attach/preload/update_order.h"

namespace attach {
namespace {

constinit std::atomic<bool> g_marks{false};
constinit SpinLock g_lock;  // never held during a call of the driver, nor while a frame is written
constinit AddressTable<MarkedGraph, 4096> g_graphs;

/// The first word: the replay has begun. Its node waits for nothing, and nothing waits for it.
constexpr std::size_t kBegan = 0;
constexpr std::size_t kFirstNode = 1;

std::uint64_t address_of(CUgraphExec exec) { return reinterpret_cast<std::uint64_t>(exec); }

/// Its address is 0 if the executable graph was made from the program's own graph.
MarkedGraph find_marked(CUgraphExec exec) {
  if (!g_marks.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(g_lock);
  const MarkedGraph* marked = g_graphs.find(address_of(exec));
  return marked == nullptr ? MarkedGraph() : *marked;
}

// ---- The driver's functions that copying needs -------------------------------------------------

struct CopyApi {
  decltype(&::cuGraphClone) clone;
  decltype(&::cuGraphNodeFindInClone) find_in_clone;
  decltype(&::cuGraphDestroy) destroy;
  decltype(&::cuGraphAddBatchMemOpNode) add_write;
  decltype(&::cuGraphAddMemsetNode) add_memset;
  bool complete;
};

CopyApi copy_api() {
  CopyApi api{};
  api.complete = find_call(api.clone, "cuGraphClone") &
                 find_call(api.find_in_clone, "cuGraphNodeFindInClone") &
                 find_call(api.destroy, "cuGraphDestroy") &
                 find_call(api.add_write, "cuGraphAddBatchMemOpNode") &
                 find_call(api.add_memset, "cuGraphAddMemsetNode");
  return api;
}

void destroy_copy(CUgraph copy) {
  const RelaxedCapture relaxed(graph_api());
  copy_api().destroy(copy);
}

bool is_updated_by_device(const GraphApi& api, CUgraphNode kernel) {
  CUlaunchAttributeValue value{};
  return api.get_attribute != nullptr &&
         api.get_attribute(kernel, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value) ==
             CUDA_SUCCESS &&
         value.deviceUpdatableKernelNode.deviceUpdatable != 0;
}

}  // namespace

// ---- Copies ------------------------------------------------------------------------------------

void mark_graphs() { g_marks.store(true, std::memory_order_relaxed); }

MarkedCopy::MarkedCopy(CUgraph graph) : graph_(graph) {
  if (!g_marks.load(std::memory_order_relaxed) || spool_header() == nullptr) return;
  own_words_ = true;
  if (!make()) destroy();
}

MarkedCopy::MarkedCopy(CUgraph graph, CUgraphExec exec) : graph_(graph) {
  const MarkedGraph marked = find_marked(exec);
  if (marked.address == 0) return;
  words_ = marked.words;
  if (!make()) destroy();
}

MarkedCopy::~MarkedCopy() { destroy(); }

bool MarkedCopy::fail(const char* why, CUresult result) {
  why_not_ = why;
  result_ = result;
  return false;
}

bool MarkedCopy::make() {
  const GraphApi& api = graph_api();
  const CopyApi copying = copy_api();
  if (!api.complete || !copying.complete) return fail("the driver is too old");
  const RelaxedCapture relaxed(api);
  std::size_t count = 0;
  CUresult result = api.get_nodes(graph_, nullptr, &count);
  if (result != CUDA_SUCCESS) return fail("cuGraphGetNodes", result);
  if (count == 0) return fail("it has no nodes");
  if (count + kFirstNode > kMostMarkerWords) return fail("it has too many nodes");
  // An update with another number of nodes fails, as it would without markers.
  if (!own_words_ && words_.count != count + kFirstNode) return fail("it has other nodes");
  result = copying.clone(&copy_, graph_);
  if (result != CUDA_SUCCESS) {
    copy_ = nullptr;
    return fail("cuGraphClone", result);
  }
  if (own_words_) {
    result = CUDA_SUCCESS;
    if (const char* why = take_marker_words(count + kFirstNode, words_, result))
      return fail(why, result);
  }
  return add_markers();
}

bool MarkedCopy::add_markers() {
  const GraphApi& api = graph_api();
  const CopyApi copying = copy_api();
  std::size_t count = words_.count - kFirstNode;
  Scratch<CUgraphNode> nodes(count);
  Scratch<std::uint32_t> order(count);
  if (nodes.data() == nullptr || order.data() == nullptr) return fail("there is no memory");
  CUresult result = api.get_nodes(graph_, nodes.data(), &count);
  if (result != CUDA_SUCCESS) return fail("cuGraphGetNodes", result);
  if (!update_order(nodes.data(), count, order.data()))
    return fail("the order of its nodes cannot be read");
  for (std::size_t n = 0; n < count; ++n) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    result = api.get_type(nodes[n], &type);
    if (result != CUDA_SUCCESS) return fail("cuGraphNodeGetType", result);
    // The driver does not find the nodes of a child graph in the copy, and the program may change
    // them in the executable graph.
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) return fail("it has child graphs");
    // The device names the program's own node.
    if (type == CU_GRAPH_NODE_TYPE_KERNEL && is_updated_by_device(api, nodes[n]))
      return fail("the device updates its kernels");
    result = copying.find_in_clone(&nodes[n], nodes[n], copy_);
    if (result != CUDA_SUCCESS) return fail("cuGraphNodeFindInClone", result);
  }
  return mark(nodes.data(), order.data());
}

bool MarkedCopy::mark(const CUgraphNode* nodes, const std::uint32_t* order) {
  const CopyApi copying = copy_api();
  Scratch<CUgraphNode> markers(words_.count);
  if (markers.data() == nullptr) return fail("there is no memory");
  // The last node waits for the markers in this order, so that an update pairs them as it pairs the
  // program's nodes.
  for (std::size_t at = 0; at < words_.count; ++at) {
    const std::size_t word = at == 0 ? kBegan : kFirstNode + order[at - 1];
    const CUgraphNode* behind = word == kBegan ? nullptr : &nodes[word - kFirstNode];
    CUstreamBatchMemOpParams write{};
    write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    write.writeValue.address = words_.device + word * sizeof(std::uint32_t);
    write.writeValue.value = words_.tag;
    CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{};
    parameters.ctx = words_.context;
    parameters.count = 1;
    parameters.paramArray = &write;
    const CUresult result =
        copying.add_write(&markers[at], copy_, behind, behind == nullptr ? 0 : 1, &parameters);
    if (result != CUDA_SUCCESS) return fail("cuGraphAddBatchMemOpNode", result);
  }
  // A marker only ever writes the tag, so the end of a replay clears them for the next one: what is
  // set belongs to a replay under way.
  CUDA_MEMSET_NODE_PARAMS clear{};
  clear.dst = words_.device;
  clear.elementSize = sizeof(std::uint32_t);
  clear.width = words_.count;
  clear.height = 1;
  CUgraphNode cleared = nullptr;
  const CUresult result =
      copying.add_memset(&cleared, copy_, markers.data(), words_.count, &clear, words_.context);
  return result == CUDA_SUCCESS || fail("cuGraphAddMemsetNode", result);
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
  return nullptr;
}

void MarkedCopy::refused(CUresult result, const char* call) {
  fail(call, result);
  destroy();
}

void MarkedCopy::became(CUgraphExec exec, std::uint64_t number) {
  if (!own_words_) return;
  const auto markers = static_cast<std::uint32_t>(copy_ == nullptr ? 0 : words_.count);
  {
    const std::lock_guard lock(g_lock);
    // One with this handle may have gone with its context, which no call says.
    g_graphs.remove(address_of(exec));
    if (copy_ != nullptr) {
      const MarkedGraph marked{
          .address = address_of(exec), .number = number, .copy = copy_, .words = words_};
      // Without a place the program's later calls name nodes that the driver does not find.
      if (!g_graphs.put(marked)) fail("there are too many graphs");
      copy_ = nullptr;
      words_ = {};
    }
  }
  if (why_not_ == nullptr && !watch_markers()) fail("no thread could be started");
  const std::uint32_t why_bytes = text_bytes(why_not_);
  Frame<spool::GraphMarked> frame(why_bytes);
  if (!frame) return;
  frame->graph = number;
  frame->markers = why_not_ == nullptr ? markers : 0;
  frame->result = result_;
  frame->why_bytes = why_bytes;
  if (why_bytes > 0) frame.append(why_not_, why_bytes);
}

void MarkedCopy::destroy() {
  if (copy_ != nullptr) destroy_copy(copy_);
  copy_ = nullptr;
  if (own_words_ && words_.count > 0) return_marker_words(words_);
  words_ = {};
}

CUgraphNode node_in(CUgraphExec exec, CUgraphNode node) {
  const MarkedGraph marked = find_marked(exec);
  CUgraphNode copied = nullptr;
  return marked.address != 0 && copy_api().find_in_clone(&copied, node, marked.copy) == CUDA_SUCCESS
             ? copied
             : node;
}

DestroyedMarkers::DestroyedMarkers(CUgraphExec exec) : marked_(find_marked(exec)) {
  if (marked_.address == 0) return;
  const std::lock_guard lock(g_lock);
  g_graphs.remove(marked_.address);
}

CUresult DestroyedMarkers::ended(CUresult result) {
  if (marked_.address == 0) return result;
  if (result != CUDA_SUCCESS) {
    const std::lock_guard lock(g_lock);
    g_graphs.put(marked_);
    return result;
  }
  return_marker_words(marked_.words);
  destroy_copy(marked_.copy);
  return result;
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
    state = (state ^ (words.is_set(i) ? 1 : 0)) * 0x9E3779B97F4A7C15 + (state >> 32);
  return state | 1;
}

/// `nodes` = 0: the replay that had a frame has moved on.
void write_state(const MarkedGraph& marked, std::size_t nodes) {
  const std::size_t bytes = (nodes + 7) / 8;
  Frame<spool::MarkerState> frame(bytes);
  if (!frame) return;
  frame->graph = marked.number;
  frame->nodes = static_cast<std::uint32_t>(nodes);
  for (std::size_t at = 0; at < bytes; ++at) {
    std::uint8_t ended = 0;
    for (std::size_t bit = 0; bit < 8 && 8 * at + bit < nodes; ++bit) {
      if (marked.words.is_set(kFirstNode + 8 * at + bit))
        ended = static_cast<std::uint8_t>(ended | 1U << bit);
    }
    frame.append(&ended, sizeof ended);
  }
}

/// Looks at one graph; true = `marked` changed.
bool look_at(MarkedGraph& marked, std::uint64_t since) {
  const bool under_way = marked.words.is_set(kBegan);
  const std::uint64_t hash = under_way ? hash_of(marked.words) : 0;
  const bool stands = hash == marked.sampled;
  const bool changed = !stands;
  marked.sampled = hash;
  if (hash != marked.written && marked.written != 0) {
    write_state(marked, 0);
    marked.written = 0;
    return true;
  }
  if (!under_way || !stands || (hash == marked.written && marked.written_at >= since))
    return changed;
  write_state(marked, marked.words.count - kFirstNode);
  marked.written = hash;
  marked.written_at = now();
  return true;
}

}  // namespace

void write_marker_states(std::uint64_t since) {
  std::size_t places = 0;
  {
    const std::lock_guard lock(g_lock);
    places = g_graphs.places();
  }
  for (std::size_t place = 0; place < places; ++place) {
    MarkedGraph marked;
    {
      const std::lock_guard lock(g_lock);
      marked = g_graphs.at(place);
    }
    // Its words stay where they are, also if it is destroyed meanwhile.
    if (marked.address == 0 || !look_at(marked, since)) continue;
    const std::lock_guard lock(g_lock);
    MarkedGraph* known = g_graphs.find(marked.address);
    if (known != nullptr && known->number == marked.number) *known = marked;
  }
}

}  // namespace attach
