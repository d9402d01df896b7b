// Hazard 22: a value that the program changed from launch to launch before the capture, and that
// every replay repeats: a frozen seed, a frozen split count. Found without knowing what arguments
// mean, by comparing a captured kernel with its launches outside of captures.
//
// Most arguments that differ between launches are healthy: the same kernel is called at several
// places with several constants, or on other sizes. So only launches of the same shape on the same
// memory are compared with each other, and a value is only a finding if the captures do not hold
// the others too.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "profiling/hazards/rules/rules.h"
#include "profiling/hazards/snapshot/graph_addresses.h"

namespace profiling {
namespace {

constexpr std::size_t kMostValues = 6;  // shown of one kind
/// In a structure, where unread padding changes too: so many that only rise are no padding.
constexpr std::size_t kRisingValues = 3;

/// A word of the arguments that cannot be part of two parameters.
struct Word {
  std::uint32_t at = 0;
  std::uint32_t bytes = 4;
  int parameter = -1;     // index; -1 = the layout is not known
  bool separate = false;  // a parameter of its own; in a structure it may be padding
  auto operator<=>(const Word&) const = default;
};

std::uint64_t value_at(const std::vector<std::byte>& bytes, const Word& word) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + word.at, word.bytes);
  return value;
}

std::vector<Word> words_of(const KernelNode& kernel) {
  std::vector<Word> words;
  const auto size = static_cast<std::uint32_t>(kernel.parameters.size());
  const auto add = [&](ParameterSlot slot, int parameter) {
    const bool separate = parameter >= 0 && slot.bytes <= 8;
    if (separate) {
      words.push_back({slot.offset, slot.bytes, parameter, true});
      return;
    }
    const std::uint32_t end = slot.offset + slot.bytes;
    for (std::uint32_t at = slot.offset; at < end; at += 4) {
      if (tensor_map_at(kernel, at) == nullptr)  // bits of an encoding are no values
        words.push_back({at, std::min(4U, end - at), parameter, false});
    }
  };
  if (kernel.slots.empty()) add({.offset = 0, .bytes = size}, -1);
  for (std::size_t i = 0; i < kernel.slots.size(); ++i) {
    const ParameterSlot& slot = kernel.slots[i];
    if (slot.offset <= size && slot.bytes <= size - slot.offset) add(slot, static_cast<int>(i));
  }
  return words;
}

/// The 8-byte words that may be addresses, with their places: launches with the same ones work on
/// the same memory.
using Memory = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
Memory memory_of(const KernelNode& kernel, const GraphAddresses& addresses) {
  Memory memory;
  any_argument_word(kernel, [&](const ParameterSlot&, std::uint64_t at, std::uint64_t word) {
    if (addresses.may_hold(word)) memory.emplace_back(at, word);
    return false;
  });
  return memory;
}

/// Of a launch like that of a captured kernel, whose tensor maps alone are known: the same bytes
/// are the same map, other bytes a map of other memory.
Memory memory_of(const EagerLaunch& launch, const KernelNode& captured,
                 const GraphAddresses& addresses) {
  KernelNode kernel;
  kernel.parameters = launch.parameters;
  kernel.slots = captured.slots;
  Memory other_maps;
  for (const TensorMap& map : captured.tensor_maps) {
    const auto bytes = std::span(launch.parameters).subspan(map.offset, kTensorMapBytes);
    if (std::ranges::equal(bytes,
                           std::span(captured.parameters).subspan(map.offset, kTensorMapBytes))) {
      kernel.tensor_maps.push_back(map);
      continue;
    }
    any_word(bytes, [&](std::uint64_t at, std::uint64_t word) {
      other_maps.emplace_back(map.offset + at, word);
      return false;
    });
  }
  Memory memory = memory_of(kernel, addresses);
  memory.insert(memory.end(), other_maps.begin(), other_maps.end());
  return memory;
}

bool is_address(const Memory& memory, const Word& word) {
  return std::ranges::any_of(memory, [&](const auto& address) {
    return word.at + word.bytes > address.first && word.at < address.first + kAddressBytes;
  });
}

bool same_shape(const KernelNode& kernel, const EagerLaunch& launch) {
  return kernel.grid == launch.grid && kernel.block == launch.block &&
         kernel.dynamic_shared_bytes == launch.dynamic_shared_bytes &&
         kernel.parameters.size() == launch.parameters.size();
}
bool same_shape(const KernelNode& a, const KernelNode& b) {
  return a.grid == b.grid && a.block == b.block &&
         a.dynamic_shared_bytes == b.dynamic_shared_bytes &&
         a.parameters.size() == b.parameters.size();
}

std::string value_text(std::uint64_t value, std::uint32_t bytes) {
  constexpr std::uint64_t kPlain = 1 << 20;
  if (value < kPlain) return fmt::to_string(value);
  if (bytes == 4) {
    const float number = std::bit_cast<float>(static_cast<std::uint32_t>(value));
    const float size = number < 0 ? -number : number;
    if (size > 1e-8F && size < 1e8F) return fmt::format("{:#x} (as a float {})", value, number);
  }
  return fmt::format("{:#x}", value);
}

template <class Values>
std::string values_text(const Values& values, std::uint32_t bytes) {
  std::vector<std::string> texts;
  for (const std::uint64_t value : values) {
    if (texts.size() == kMostValues) break;
    texts.push_back(value_text(value, bytes));
  }
  std::string text = fmt::format("{}", fmt::join(texts, ", "));
  if (values.size() > kMostValues) text += fmt::format(" and {} more", values.size() - kMostValues);
  return text;
}

/// A captured value that the launches before did not repeat.
struct Frozen {
  std::vector<NodeRef> nodes;
  std::set<std::uint64_t> baked;
  std::vector<std::uint64_t> eager;  // in the order of the launches
  bool by_captures = false;          // the captures differ, and there is one launch outside
};
using Place = std::pair<std::uint64_t, Word>;  // code, word

class FrozenSearch {
 public:
  explicit FrozenSearch(const RuleContext& context) : context_(context) {
    for (const EagerLaunch& launch : context.snapshot.eager) eager_[launch.code].push_back(&launch);
    for (auto& [code, launches] : eager_)
      std::ranges::stable_sort(launches, {}, &EagerLaunch::first_seen);
    for (int g = 0; g < context.graphs(); ++g) {
      if (context.graph(g).variant_of >= 0) continue;
      for (int n = 0; n < static_cast<int>(context.graph(g).nodes.size()); ++n) {
        const auto* kernel = std::get_if<KernelNode>(&context.node({g, n}).parameters);
        if (kernel != nullptr && kernel->code != 0 && eager_.contains(kernel->code))
          captured_[kernel->code].push_back({g, n});
      }
    }
  }

  std::map<Place, Frozen> run() {
    for (const auto& [code, nodes] : captured_) {
      for (const NodeRef node : nodes) {
        const GraphSnapshot& graph = context_.graph(node.graph);
        // Launched once, it repeats nothing.
        const bool repeated = graph.launches < 0 || graph.launches > 1;
        if (!graph.over && repeated && !kernel_at(node).updated) examine(code, node);
      }
    }
    return std::move(found_);
  }

 private:
  const KernelNode& kernel_at(NodeRef node) const {
    return std::get<KernelNode>(context_.node(node).parameters);
  }
  const GraphAddresses& addresses(int graph) {
    std::unique_ptr<GraphAddresses>& known = addresses_[graph];
    if (!known) known = std::make_unique<GraphAddresses>(context_.snapshot, context_.graph(graph));
    return *known;
  }

  /// Launches before the capture like this node's, by the memory that they work on.
  std::map<Memory, std::vector<const EagerLaunch*>> comparable(std::uint64_t code, NodeRef node) {
    const KernelNode& kernel = kernel_at(node);
    std::map<Memory, std::vector<const EagerLaunch*>> launches;
    for (const EagerLaunch* launch : eager_.at(code)) {
      if (launch->first_seen > context_.graph(node.graph).capture_began ||
          !same_shape(kernel, *launch))
        continue;
      launches[memory_of(*launch, kernel, addresses(node.graph))].push_back(launch);
    }
    return launches;
  }

  void examine(std::uint64_t code, NodeRef node) {
    const auto launches = comparable(code, node);
    if (launches.empty()) return;
    const KernelNode& kernel = kernel_at(node);
    const Memory memory = memory_of(kernel, addresses(node.graph));
    for (const Word& word : words_of(kernel)) {
      if (is_address(memory, word)) continue;  // the kernel reads the value from memory
      const std::uint64_t baked = value_at(kernel.parameters, word);
      std::vector<std::uint64_t> eager;
      for (const auto& [where, group] : launches) {
        if (is_address(where, word)) continue;
        const std::vector<std::uint64_t> values = different(group, word);
        if (values.size() > 1) eager.insert(eager.end(), values.begin(), values.end());
      }
      if (changed_before(code, word, eager, baked)) {
        add(code, word, node, baked, eager, false);
        continue;
      }
      const auto same_memory = launches.find(memory);
      if (same_memory == launches.end() || !word.separate) continue;
      const std::vector<std::uint64_t> once = different(same_memory->second, word);
      if (changed_between_captures(code, word, once, node))
        add(code, word, node, baked, once, true);
    }
  }

  static std::vector<std::uint64_t> different(const std::vector<const EagerLaunch*>& launches,
                                              const Word& word) {
    std::vector<std::uint64_t> values;
    for (const EagerLaunch* launch : launches) {
      const std::uint64_t value = value_at(launch->parameters, word);
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
    return values;
  }

  bool changed_before(std::uint64_t code, const Word& word, const std::vector<std::uint64_t>& eager,
                      std::uint64_t baked) {
    if (eager.size() < 2) return false;
    // Constants of several places in the program are in the captures too.
    std::set<std::uint64_t> outside(eager.begin(), eager.end());
    for (const std::uint64_t value : captured_values(code, word)) outside.erase(value);
    if (outside.size() < 2 || captured_again(code, word, baked)) return false;
    if (word.separate) return true;
    return outside.size() >= kRisingValues && std::ranges::is_sorted(eager) &&
           baked >= eager.back();
  }

  /// One launch outside, and captures that differ from it and from each other, on the same memory.
  bool changed_between_captures(std::uint64_t code, const Word& word,
                                const std::vector<std::uint64_t>& eager, NodeRef node) {
    if (eager.size() != 1) return false;
    const std::set<std::uint64_t>& values = captured_values(code, word);
    if (values.contains(eager.front())) return false;
    const KernelNode& kernel = kernel_at(node);
    const std::uint64_t baked = value_at(kernel.parameters, word);
    const Memory memory = memory_of(kernel, addresses(node.graph));
    const auto differs = [&](NodeRef other) {
      const KernelNode& twin = kernel_at(other);
      return other.graph != node.graph && !context_.graph(other.graph).over &&
             same_shape(kernel, twin) && value_at(twin.parameters, word) != baked &&
             memory_of(twin, addresses(other.graph)) == memory;
    };
    return std::ranges::any_of(captured_.at(code), differs) && !captured_again(code, word, baked);
  }

  /// In every graph, also those that are over.
  const std::set<std::uint64_t>& captured_values(std::uint64_t code, const Word& word) {
    const auto [known, made] = captured_values_.try_emplace({code, word});
    if (made) {
      for (const NodeRef node : captured_.at(code)) {
        const std::vector<std::byte>& bytes = kernel_at(node).parameters;
        if (std::size_t{word.at} + word.bytes <= bytes.size())
          known->second.insert(value_at(bytes, word));
      }
    }
    return known->second;
  }

  /// A graph with another value is over: the program captures again when the value changes.
  bool captured_again(std::uint64_t code, const Word& word, std::uint64_t baked) const {
    return std::ranges::any_of(captured_.at(code), [&](NodeRef node) {
      const std::vector<std::byte>& bytes = kernel_at(node).parameters;
      return context_.graph(node.graph).over && std::size_t{word.at} + word.bytes <= bytes.size() &&
             value_at(bytes, word) != baked;
    });
  }

  void add(std::uint64_t code, const Word& word, NodeRef node, std::uint64_t baked,
           const std::vector<std::uint64_t>& eager, bool by_captures) {
    Frozen& frozen = found_[{code, word}];
    add_node(frozen.nodes, node);
    frozen.baked.insert(baked);
    if (frozen.eager.empty()) frozen.eager = eager;
    frozen.by_captures = by_captures;
  }

  const RuleContext& context_;
  std::map<std::uint64_t, std::vector<const EagerLaunch*>> eager_;  // by code
  std::map<std::uint64_t, std::vector<NodeRef>> captured_;
  std::map<int, std::unique_ptr<GraphAddresses>> addresses_;
  std::map<Place, std::set<std::uint64_t>> captured_values_;
  std::map<Place, Frozen> found_;
};

std::string place_text(const Word& word) {
  if (word.parameter < 0) return fmt::format("argument byte {}", word.at);
  return fmt::format("parameter {} (argument byte {})", word.parameter, word.at);
}

Finding finding_of(const RuleContext& context, const Word& word, const Frozen& frozen) {
  Finding finding{.rule = "frozen-value", .hazard = 22, .confidence = Confidence::Possible};
  finding.nodes = frozen.nodes;
  const std::string baked = values_text(frozen.baked, word.bytes);
  const std::string eager = values_text(frozen.eager, word.bytes);
  finding.title =
      fmt::format("Every replay of {} uses {} as {}, which changed from launch to launch before",
                  context.text(frozen.nodes), baked, place_text(word));
  finding.explanation =
      "The graph keeps the value that the argument had at capture. A seed then draws the same "
      "random numbers in every replay; a count or a step number stays what it was. Nothing fails.";
  if (frozen.by_captures) {
    finding.evidence.push_back(
        fmt::format("A launch before the captures had {}; the captures have {}, each its own, on "
                    "the same memory.",
                    eager, values_text(frozen.baked, word.bytes)));
  } else {
    finding.evidence.push_back(fmt::format(
        "Launches before the capture, of the same size and on the same memory, had {}.", eager));
    finding.evidence.push_back(fmt::format("The capture has {}.", baked));
  }
  if (!word.separate) {
    finding.evidence.push_back(
        "The word is part of a structure; the values only rise, as unread padding would not.");
  }
  finding.evidence.push_back(
      "Possible, not certain: the value may have been meant for one launch each, or may not matter "
      "to the result.");
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "Replays are compared with launches outside of the graph that start from the same memory.";
  finding.proof.needs_cure = false;
  return finding;
}

}  // namespace

void find_frozen_values(RuleContext& context, std::vector<Finding>& findings) {
  if (context.snapshot.eager.empty()) return;
  for (const auto& [place, frozen] : FrozenSearch(context).run())
    findings.push_back(finding_of(context, place.second, frozen));
}

}  // namespace profiling
