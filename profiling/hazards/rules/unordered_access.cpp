// Hazard 14: two nodes that no edge orders access the same memory, and one of them writes. Argument
// bytes do not distinguish readers from writers, so this uses only what is certain: memset and copy
// nodes write, and two kernels with exactly the same address in memory that only the step fills
// cannot both read what was never written before.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

using engine::Allocation;
using engine::AllocationRole;
using engine::Stage;

// Tens of millions of queries take a fraction of a second. A graph that needs more has thousands of
// unordered nodes on the same memory, and its first pairs have been seen by then.
constexpr std::int64_t kMaxQuestions = 20'000'000;
constexpr std::size_t kEarliest = 8;

struct Clash {
  const Touch* first = nullptr;  // the one that should come first
  const Touch* second = nullptr;
  Confidence confidence = Confidence::Possible;
  std::string why;
};

/// Do both certainly access a common byte? A kernel accesses at least the byte it points to.
bool meet(const Touch& writer, const Touch& other) {
  const std::uint64_t bytes = other.by_kernel() ? 1 : std::max<std::uint64_t>(other.bytes, 1);
  return writer.bytes > 0 && writer.word < other.word + bytes &&
         other.word < writer.word + writer.bytes;
}

bool may_clash(AllocationRole role) {
  return role == AllocationRole::Output || role == AllocationRole::Workspace ||
         role == AllocationRole::Counter || role == AllocationRole::Quantized ||
         role == AllocationRole::Tickets;
}

bool prepares(Stage stage) {
  return stage == Stage::Offsets || stage == Stage::Amax || stage == Stage::Quantize ||
         stage == Stage::Memory || stage == Stage::Dequantize || stage == Stage::Activation ||
         stage == Stage::Permute || stage == Stage::Unpermute;
}

class Search {
 public:
  Search(RuleContext& context, int graph)
      : context_(context), graph_(graph), order_(context.any_order(graph)) {}

  /// All accesses to one allocation, ascending by node; null if none is known.
  std::optional<Clash> find_clash(const Allocation* allocation,
                                  const std::vector<const Touch*>& touches) {
    std::vector<int> nodes;
    for (const Touch* touch : touches) {
      if (nodes.empty() || nodes.back() != touch->node) nodes.push_back(touch->node);
    }
    questions_ += static_cast<std::int64_t>(nodes.size());
    if (order_.chain(nodes)) return std::nullopt;
    std::optional<Clash> clash = certain_writer(touches);
    if (clash && clash->confidence == Confidence::Likely) return clash;
    if (allocation == nullptr || !may_clash(allocation->role)) return clash;
    std::optional<Clash> kernels = same_word(*allocation, touches);
    return kernels && (!clash || kernels->confidence > clash->confidence) ? kernels : clash;
  }

 private:
  bool unordered(const Touch& a, const Touch& b) {
    ++questions_;
    return a.node != b.node && !order_.ordered(a.node, b.node) && !order_.exclusive(a.node, b.node);
  }

  const SnapshotNode& node(const Touch& touch) const { return context_.node({graph_, touch.node}); }

  /// Who should come first: the certain writer, the stage that prepares, the one captured first.
  Clash clash_of(const Touch& a, const Touch& b, Confidence confidence, std::string why) const {
    const auto later = [&](const Touch& left, const Touch& right) {
      if (left.writes() != right.writes()) return right.writes();
      const bool left_prepares = prepares(node(left).stage);
      const bool right_prepares = prepares(node(right).stage);
      if (left_prepares != right_prepares) return right_prepares;
      const std::uint64_t left_id = node(left).id;
      const std::uint64_t right_id = node(right).id;
      if (left_id != 0 && right_id != 0 && left_id != right_id) return left_id > right_id;
      return left.node > right.node;
    };
    Clash clash{.first = &a, .second = &b, .confidence = confidence, .why = std::move(why)};
    if (later(a, b)) std::swap(clash.first, clash.second);
    return clash;
  }

  std::optional<Clash> certain_writer(const std::vector<const Touch*>& touches) {
    std::optional<Clash> possible;
    for (const Touch* writer : touches) {
      if (!writer->writes()) continue;
      for (const Touch* other : touches) {
        if (questions_ > kMaxQuestions) return possible;
        if (!meet(*writer, *other) || !unordered(*writer, *other)) continue;
        const bool both_set = writer->place == Touch::Place::MemsetTarget &&
                              other->place == Touch::Place::MemsetTarget;
        if (!both_set) {
          return clash_of(*writer, *other, Confidence::Likely,
                          "One of the two certainly writes there.");
        }
        if (!possible) {
          possible = clash_of(*writer, *other, Confidence::Possible,
                              "Both set the memory: harmless if the values are equal.");
        }
      }
    }
    return possible;
  }

  /// The earliest kernels and copies that may have written the allocation.
  static std::vector<const Touch*> earliest(const std::vector<const Touch*>& touches) {
    std::vector<const Touch*> holders;
    for (const Touch* touch : touches) {
      if (!touch->by_kernel() && touch->place != Touch::Place::CopyTarget) continue;
      holders.push_back(touch);
      if (holders.size() == kEarliest) break;
    }
    return holders;
  }

  std::optional<Clash> same_word(const Allocation& allocation,
                                 const std::vector<const Touch*>& touches) {
    std::map<std::uint64_t, std::vector<const Touch*>> words;
    for (const Touch* touch : touches) {
      if (!touch->by_kernel()) continue;
      std::vector<const Touch*>& of_word = words[touch->word];
      if (of_word.empty() || of_word.back()->node != touch->node) of_word.push_back(touch);
    }
    const std::vector<const Touch*> holders = earliest(touches);
    std::optional<Clash> possible;
    for (const auto& [word, of_word] : words) {
      for (std::size_t i = 0; i < of_word.size(); ++i) {
        for (std::size_t j = i + 1; j < of_word.size(); ++j) {
          if (questions_ > kMaxQuestions) return possible;
          if (!unordered(*of_word[i], *of_word[j])) continue;
          const std::optional<Clash> clash =
              of_kernels(allocation, holders, *of_word[i], *of_word[j]);
          if (!clash) continue;
          if (clash->confidence == Confidence::Likely) return clash;
          if (!possible) possible = clash;
        }
      }
    }
    return possible;
  }

  std::optional<Clash> of_kernels(const Allocation& allocation,
                                  const std::vector<const Touch*>& holders, const Touch& a,
                                  const Touch& b) {
    switch (allocation.role) {
      case AllocationRole::Workspace:
      case AllocationRole::Tickets:
        return clash_of(a, b, Confidence::Likely,
                        "Kernels that are given such memory write to it, so both do.");
      case AllocationRole::Counter:
        return clash_of(a, b, Confidence::Possible,
                        "Kernels that signal each other through it are meant to run together.");
      default:
        break;
    }
    // After a writer that precedes both, both may be readers: nothing to report.
    for (const Touch* holder : holders) {
      if (holder->node >= std::min(a.node, b.node)) break;
      questions_ += 2;
      if (holder->word <= a.word && order_.before(holder->node, a.node) &&
          order_.before(holder->node, b.node)) {
        return std::nullopt;
      }
    }
    // Equal kernels may both read what an earlier step left.
    const bool alike =
        allocation.role == AllocationRole::Quantized && node(a).stage == node(b).stage;
    return clash_of(a, b, alike ? Confidence::Possible : Confidence::Likely,
                    "No earlier kernel or copy fills it, so one of the two must.");
  }

  RuleContext& context_;
  int graph_;
  const Reachability& order_;
  std::int64_t questions_ = 0;
};

Finding finding_of(const RuleContext& context, int graph, const Allocation* allocation,
                   const Clash& clash) {
  const NodeRef first{graph, clash.first->node};
  const NodeRef second{graph, clash.second->node};
  Finding finding{.rule = "unordered-access", .hazard = 14, .confidence = clash.confidence};
  add_node(finding.nodes, first);
  add_node(finding.nodes, second);
  add_access(finding.accesses, context.access(graph, *clash.first));
  add_access(finding.accesses, context.access(graph, *clash.second));
  const std::string memory = allocation != nullptr
                                 ? text(*allocation)
                                 : fmt::format("the memory at {:#x}", clash.second->word);
  finding.title = fmt::format("{} and {} access {} in no fixed order", context.text(first),
                              context.text(second), memory);
  finding.explanation =
      "Nothing in the graph makes one of the two wait for the other, so the device may run them in "
      "either order or at the same time, depending on what else is running: results are correct "
      "only while the writer happens to be fast enough.";
  finding.missing_order =
      fmt::format("no path between node {} and node {}", first.node, second.node);
  finding.evidence.push_back(clash.why);
  finding.fix = fix_of(finding.rule);
  finding.proof.words = fmt::format(
      "Node {} is delayed by a few milliseconds; then the same with a full edge from node {} to "
      "node {}. Wrong results before and correct ones after prove it.",
      first.node, first.node, second.node);
  finding.proof.shows.delayed = {first};
  finding.proof.cures.delayed = {first};
  finding.proof.cures.ordered = {{first, second}};
  return finding;
}

}  // namespace

void find_unordered_accesses(RuleContext& context, std::vector<Finding>& findings) {
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g) || context.too_large_to_order(g)) continue;
    // Without a ledger (-1) memset and copy ranges still count.
    std::map<int, std::vector<const Touch*>> memory;
    for (const Touch& touch : context.touches(g)) {
      const Allocation* allocation = context.allocation(touch.allocation);
      const bool own = allocation != nullptr && allocation->role == AllocationRole::Check;
      const bool access = touch.place != Touch::Place::Descriptor &&
                          touch.place != Touch::Place::Allocates &&
                          touch.place != Touch::Place::Frees;
      if (access && !own) memory[touch.allocation].push_back(&touch);
    }
    Search search(context, g);
    for (const auto& [index, touches] : memory) {
      const Allocation* allocation = context.allocation(index);
      if (const std::optional<Clash> clash = search.find_clash(allocation, touches)) {
        findings.push_back(finding_of(context, g, allocation, *clash));
      }
    }
  }
}

}  // namespace profiling
