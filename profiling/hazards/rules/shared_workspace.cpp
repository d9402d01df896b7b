// Hazard 1: grouped cuBLASLt matmuls with one workspace in a captured graph. The library keeps TMA
// descriptors there, and some versions read outdated ones from the second replay on. The address
// is a plain word of the kernel's arguments; its position is searched for, since it depends on the
// version.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "profiling/hazards/rules/diagnosis.h"
#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

constexpr std::uint64_t kCounterBytes = 64;  // what the memset before a matmul may clear

struct Use {
  NodeRef node;
  std::vector<Touch> touches;  // of the kernel, and of the memset before it
};

bool holds_word(const KernelNode& kernel, std::uint64_t word) {
  return any_argument_word(kernel, [word](const ParameterSlot&, std::uint64_t,
                                          std::uint64_t found) { return found == word; });
}

const std::string& name_of_kernel(const SnapshotNode& node, const KernelNode& kernel) {
  return node.name.empty() ? kernel.function : node.name;
}

bool grouped_by_name(const std::string& name) { return name.find("ptrGroup") != std::string::npos; }

/// cuBLASLt's names begin with the types of the operands: "tst" is BF16, "hsh" FP16.
bool sixteen_bit_by_name(const std::string& name) {
  return name.find("_tst_") != std::string::npos || name.find("_hsh_") != std::string::npos;
}

bool is_product(engine::Stage stage) {
  return stage == engine::Stage::Fprop || stage == engine::Stage::Dgrad ||
         stage == engine::Stage::Wgrad;
}

class Uses {
 public:
  Uses(RuleContext& context, int graph) : context_(context), graph_(graph) {
    const GraphSnapshot& read = context.graph(graph);
    memsets_.resize(read.nodes.size());
    for (const SnapshotEdge& edge : read.edges) {
      if (read.nodes[static_cast<std::size_t>(edge.from)].type == NodeType::Memset) {
        memsets_[static_cast<std::size_t>(edge.to)].push_back(edge.from);
      }
    }
    first_touch_.assign(read.nodes.size() + 1, 0);
    for (const Touch& touch : context.touches(graph)) {
      ++first_touch_[static_cast<std::size_t>(touch.node) + 1];
    }
    for (std::size_t n = 1; n < first_touch_.size(); ++n) first_touch_[n] += first_touch_[n - 1];
  }

  /// By the workspace's address.
  void add_to(std::map<std::uint64_t, std::vector<Use>>& uses) const {
    const GraphSnapshot& read = context_.graph(graph_);
    for (int n = 0; n < static_cast<int>(read.nodes.size()); ++n) {
      const SnapshotNode& node = read.nodes[static_cast<std::size_t>(n)];
      const auto* kernel = std::get_if<KernelNode>(&node.parameters);
      if (kernel == nullptr) continue;
      const std::string& name = name_of_kernel(node, *kernel);
      if (!grouped_by_name(name) && !(name.empty() && is_product(node.stage))) continue;
      std::map<std::uint64_t, Use> found;
      by_ledger(n, found);
      by_memset(n, *kernel, found);
      for (auto& [address, use] : found) uses[address].push_back(std::move(use));
    }
  }

 private:
  std::pair<std::size_t, std::size_t> range(int node) const {
    return {first_touch_[static_cast<std::size_t>(node)],
            first_touch_[static_cast<std::size_t>(node) + 1]};
  }

  void by_ledger(int node, std::map<std::uint64_t, Use>& found) const {
    const std::vector<Touch>& touches = context_.touches(graph_);
    std::map<int, std::vector<Touch>> of_allocation;
    for (auto [t, end] = range(node); t < end; ++t) {
      const engine::Allocation* allocation = context_.allocation(touches[t].allocation);
      if (allocation == nullptr || allocation->role != engine::AllocationRole::Workspace) continue;
      of_allocation[touches[t].allocation].push_back(touches[t]);
    }
    for (auto& [allocation, words] : of_allocation) {
      const auto lowest =
          std::min_element(words.begin(), words.end(),
                           [](const Touch& a, const Touch& b) { return a.word < b.word; });
      const std::uint64_t address = lowest->word;
      found[address] = {.node = {graph_, node}, .touches = std::move(words)};
    }
  }

  /// cuBLASLt clears the head of the workspace right before every grouped matmul: that identifies
  /// it without a ledger. Without argument bytes the memset's word has to suffice.
  void by_memset(int node, const KernelNode& kernel, std::map<std::uint64_t, Use>& found) const {
    const std::vector<Touch>& touches = context_.touches(graph_);
    for (const int before : memsets_[static_cast<std::size_t>(node)]) {
      for (auto [t, end] = range(before); t < end; ++t) {
        const Touch& cleared = touches[t];
        if (!cleared.writes() || cleared.bytes > kCounterBytes) continue;
        if (!kernel.parameters.empty() && !holds_word(kernel, cleared.word)) continue;
        Use& use = found[cleared.word];
        use.node = {graph_, node};
        use.touches.push_back(cleared);
      }
    }
  }

  RuleContext& context_;
  int graph_;
  std::vector<std::vector<int>> memsets_;
  std::vector<std::size_t> first_touch_;  // [nodes + 1]
};

struct VersionView {
  bool right = false;  // measured, without a fault
  bool corrupt = false;
  std::vector<std::string> evidence;
};

VersionView view_of(const RuleContext& context) {
  const std::string& version = context.snapshot.cublaslt_version;
  VersionView view;
  bool newer = !version.empty();
  for (const LibraryFact& fact : context.facts) {
    const bool about_sharing = fact.id.starts_with("shared-workspace");
    if (fact.library != kCublasLt || (!about_sharing && fact.id != "stale-descriptors")) continue;
    newer = newer && !fact.last.empty() && compare_versions(version, fact.last) > 0;
    if (!holds_for(fact, version)) continue;
    view.corrupt = view.corrupt || fact.id.starts_with("shared-workspace-corrupt");
    view.right = view.right || fact.id.starts_with("shared-workspace-right");
    view.evidence.push_back(fmt::format("cuBLASLt {} is loaded. {}", version, evidence_of(fact)));
  }
  if (version.empty()) {
    view.evidence.push_back(
        "The version of cuBLASLt is unknown; some versions give wrong results when a workspace is "
        "shared.");
  } else if (newer && !context.facts.empty()) {
    view.evidence.push_back(
        fmt::format("cuBLASLt {} is newer than any version that was measured.", version));
  } else if (view.evidence.empty()) {
    view.evidence.push_back(fmt::format("Nothing is known about cuBLASLt {}.", version));
  }
  return view;
}

const LibraryFact* sixteen_bit_fact(const RuleContext& context) {
  for (const LibraryFact& fact : context.facts) {
    if (fact.library == kCublasLt && fact.id == "bf16-shared-workspace-right" &&
        holds_for(fact, context.snapshot.cublaslt_version)) {
      return &fact;
    }
  }
  return nullptr;
}

bool all_sixteen_bit(const RuleContext& context, const std::vector<Use>& uses) {
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    return sixteen_bit_by_name(context.node(use.node).name);
  });
}

bool in_one_graph(const std::vector<Use>& uses) {
  for (std::size_t i = 1; i < uses.size(); ++i) {
    if (uses[i].node.graph == uses[i - 1].node.graph) return true;
  }
  return false;
}

Finding finding_of(const RuleContext& context, std::uint64_t address, const std::vector<Use>& uses,
                   const VersionView& version) {
  Finding finding{.rule = "shared-workspace", .hazard = 1};
  const engine::Allocation* workspace = nullptr;
  for (const Use& use : uses) {
    add_node(finding.nodes, use.node);
    for (const Touch& touch : use.touches) {
      add_access(finding.accesses, context.access(use.node.graph, touch));
      if (workspace == nullptr) workspace = context.allocation(touch.allocation);
    }
  }
  const std::string memory =
      workspace != nullptr ? text(*workspace) : fmt::format("the workspace at {:#x}", address);
  finding.title = fmt::format("{} grouped matmuls of {} share {}", uses.size(),
                              in_one_graph(uses) ? "one graph" : "several graphs", memory);
  finding.explanation = fmt::format(
      "{} all use scratch memory at {:#x}. cuBLASLt keeps TMA descriptors of the matrices there. "
      "In a replay the kernels follow each other without the library's host code in between, and "
      "on some versions a kernel then reads what the previous one left: products are silently "
      "wrong from the second replay on, or the replay hangs. Eager calls are correct, and the "
      "memset before each matmul, which clears a counter, does not help.",
      context.text(finding.nodes), address);
  finding.evidence = version.evidence;
  finding.confidence = Confidence::Possible;
  const LibraryFact* sixteen_bit = sixteen_bit_fact(context);
  if (sixteen_bit != nullptr && all_sixteen_bit(context, uses)) {
    finding.evidence.push_back("The kernels' names indicate 16-bit operands. " +
                               evidence_of(*sixteen_bit));
  } else if (version.corrupt && in_one_graph(uses)) {
    finding.confidence = Confidence::Likely;
  }
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "Plain replays are compared with eager launches; then every matmul but the first gets its "
      "own workspace by changing its arguments in the executable graph. Wrong results before and "
      "correct ones after prove it.";
  if (workspace == nullptr || workspace->owner.empty()) return finding;
  for (std::size_t i = 1; i < finding.nodes.size(); ++i) {
    finding.proof.cures.moved.push_back({.node = finding.nodes[i], .owner = workspace->owner});
  }
  return finding;
}

}  // namespace

void find_shared_workspaces(RuleContext& context, std::vector<Finding>& findings) {
  const VersionView version = view_of(context);
  if (version.right && !version.corrupt) return;
  std::map<std::uint64_t, std::vector<Use>> uses;
  for (int g = 0; g < context.graphs(); ++g) {
    if (!context.left_out(g)) Uses(context, g).add_to(uses);
  }
  for (const auto& [address, of_address] : uses) {
    if (of_address.size() < 2) continue;
    findings.push_back(finding_of(context, address, of_address, version));
  }
}

}  // namespace profiling
