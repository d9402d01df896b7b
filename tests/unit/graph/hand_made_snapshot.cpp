#include "tests/unit/graph/hand_made_snapshot.h"

#include <cstring>

namespace profiling {

HandMade::HandMade() {
  snapshot.subject = "made by hand";
  snapshot.cublaslt_version = "13.10.0";
  snapshot.ledger_clock = 300;
  graph("step");
}

std::uint64_t HandMade::allocate(std::string owner, engine::AllocationRole role,
                                 std::uint64_t bytes) {
  const std::uint64_t address = next_address_;
  next_address_ += (bytes + 0x1fffff) / 0x200000 * 0x200000;
  allocate_at(address, std::move(owner), role, bytes);
  return address;
}

engine::Allocation& HandMade::allocate_at(std::uint64_t address, std::string owner,
                                          engine::AllocationRole role, std::uint64_t bytes) {
  snapshot.ledger.push_back({.id = snapshot.ledger.size() + 1,
                             .address = address,
                             .bytes = bytes,
                             .role = role,
                             .owner = std::move(owner),
                             .allocated_at = clock_++});
  return snapshot.ledger.back();
}

engine::Allocation& HandMade::allocation(const std::string& owner) {
  for (engine::Allocation& allocation : snapshot.ledger) {
    if (allocation.owner == owner) return allocation;
  }
  return snapshot.ledger.front();
}

GraphSnapshot& HandMade::graph(std::string name) {
  GraphSnapshot made;
  made.name = std::move(name);
  made.capture_began = 100 + 20 * snapshot.graphs.size();
  made.capture_ended = made.capture_began + 10;
  snapshot.graphs.push_back(std::move(made));
  return snapshot.graphs.back();
}

int HandMade::node(NodeType type, NodeParameters parameters, const std::vector<int>& after) {
  const int index = static_cast<int>(graph().nodes.size());
  SnapshotNode made;
  made.type = type;
  made.parameters = std::move(parameters);
  graph().nodes.push_back(std::move(made));
  for (const int from : after) edge(from, index);
  return index;
}

int HandMade::kernel(std::string name, const std::vector<std::uint64_t>& words,
                     const std::vector<int>& after) {
  KernelNode kernel = kernel_of(words);
  kernel.function = name;
  const int index = node(NodeType::Kernel, std::move(kernel), after);
  graph().nodes.back().name = std::move(name);
  return index;
}

int HandMade::memset(std::uint64_t address, std::uint64_t bytes, const std::vector<int>& after) {
  return node(NodeType::Memset, MemsetNode{.address = address, .width = bytes}, after);
}

int HandMade::memcpy(MemcpyNode copy, const std::vector<int>& after) {
  return node(NodeType::Memcpy, copy, after);
}

void HandMade::edge(int from, int to, EdgeKind kind) {
  graph().edges.push_back({.from = from, .to = to, .kind = kind});
}

KernelNode& HandMade::kernel_at(int node) {
  return std::get<KernelNode>(graph().nodes[static_cast<std::size_t>(node)].parameters);
}

KernelNode kernel_of(const std::vector<std::uint64_t>& words) {
  KernelNode kernel;
  kernel.parameters.resize(8 * words.size());
  if (!words.empty()) std::memcpy(kernel.parameters.data(), words.data(), 8 * words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    kernel.slots.push_back({.offset = static_cast<std::uint32_t>(8 * i), .bytes = 8});
  }
  return kernel;
}

}  // namespace profiling
