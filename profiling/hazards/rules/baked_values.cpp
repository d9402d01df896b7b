// Hazards 8 and 9: values that a capture fixed although the program changes them. Visible if the
// graph was captured a second time, with other inputs or for the next launch in the same step: what
// differs between the two is baked.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "profiling/hazards/rules/rules.h"
#include "profiling/hazards/snapshot/accesses.h"
#include "profiling/hazards/snapshot/graph_addresses.h"

namespace profiling {
namespace {

constexpr std::size_t kMaxDifferences = 16;  // shown per finding

/// A difference between a node and its twin in the second capture.
struct Difference {
  int node = 0;
  bool launch = false;   // grid, cluster, shared memory: not an argument
  bool certain = false;  // a separate parameter; in a structure it may be padding
  std::string text;
};

std::string text_of(const Extent& extent) {
  return fmt::format("{} x {} x {}", extent.x, extent.y, extent.z);
}

std::uint64_t word_at(const std::vector<std::byte>& bytes, std::size_t at, std::size_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, size);
  return word;
}

class Comparison {
 public:
  Comparison(const RuleContext& context, int graph, int variant)
      : context_(context),
        graph_(graph),
        variant_(variant),
        addresses_(context.snapshot, context.graph(graph)),
        other_addresses_(context.snapshot, context.graph(variant)) {}

  std::vector<Difference> differences;

  void run() {
    const GraphSnapshot& first = context_.graph(graph_);
    const GraphSnapshot& second = context_.graph(variant_);
    if (first.nodes.size() != second.nodes.size()) {
      add({.launch = true,
           .certain = true,
           .text = fmt::format("{} nodes at first, {} after the change", first.nodes.size(),
                               second.nodes.size())});
      return;
    }
    for (int n = 0; n < static_cast<int>(first.nodes.size()); ++n) compare(n);
  }

 private:
  void add(Difference difference) { differences.push_back(std::move(difference)); }

  void compare(int n) {
    const SnapshotNode& a = context_.node({graph_, n});
    const SnapshotNode& b = context_.node({variant_, n});
    const auto* before = std::get_if<KernelNode>(&a.parameters);
    const auto* after = std::get_if<KernelNode>(&b.parameters);
    if (a.type != b.type || (before == nullptr) != (after == nullptr) ||
        (before != nullptr && before->function != after->function)) {
      add({.node = n,
           .launch = true,
           .certain = true,
           .text = fmt::format("another {}: {} at first, {} after the change",
                               a.type == b.type ? "kernel" : "node", a.name, b.name)});
      return;
    }
    if (before != nullptr) return compare_kernels(n, *before, *after);
    compare_sizes(n, a.parameters, b.parameters);
  }

  void compare_sizes(int n, const NodeParameters& a, const NodeParameters& b) {
    const auto changed = [&](std::uint64_t before, std::uint64_t after, const char* what) {
      if (before == after) return;
      add({.node = n,
           .launch = true,
           .certain = true,
           .text = fmt::format("{} {} bytes at first, {} after the change", what, before, after)});
    };
    const auto* memset = std::get_if<MemsetNode>(&a);
    const auto* other_memset = std::get_if<MemsetNode>(&b);
    if (memset != nullptr && other_memset != nullptr) {
      changed(memset->bytes(), other_memset->bytes(), "sets");
    }
    const auto* copy = std::get_if<MemcpyNode>(&a);
    const auto* other_copy = std::get_if<MemcpyNode>(&b);
    if (copy != nullptr && other_copy != nullptr) changed(copy->bytes, other_copy->bytes, "copies");
  }

  void compare_kernels(int n, const KernelNode& a, const KernelNode& b) {
    bool launch = false;
    const auto changed = [&](const auto& before, const auto& after, const char* what,
                             const auto& text) {
      if (before == after) return;
      launch = true;
      add({.node = n,
           .launch = true,
           .certain = true,
           .text = fmt::format("{} {} at first, {} after the change", what, text(before),
                               text(after))});
    };
    const auto extent = [](const Extent& value) { return text_of(value); };
    changed(a.grid, b.grid, "grid", extent);
    changed(a.block, b.block, "block", extent);
    changed(a.cluster, b.cluster, "cluster", extent);
    changed(a.dynamic_shared_bytes, b.dynamic_shared_bytes, "bytes of dynamic shared memory:",
            [](std::uint32_t bytes) { return fmt::to_string(bytes); });
    // Differing arguments would only repeat the same statement.
    if (launch) return;
    if (a.parameters.size() != b.parameters.size()) return;  // one of them could not be read
    const auto size = static_cast<std::uint32_t>(a.parameters.size());
    if (a.slots.empty()) return compare_words(n, a, b, {.offset = 0, .bytes = size}, false);
    for (const ParameterSlot& slot : a.slots) {
      if (slot.offset > size || slot.bytes > size - slot.offset) continue;
      compare_words(n, a, b, slot, slot.bytes <= 8);
    }
  }

  void compare_words(int n, const KernelNode& a, const KernelNode& b, ParameterSlot slot,
                     bool certain) {
    const std::size_t end = std::size_t{slot.offset} + slot.bytes;
    for (std::size_t at = slot.offset; at < end;) {
      const std::size_t left = end - at;
      const bool wide = left >= 8 && at % 8 == 0;
      // Both halves of an address may differ, so an aligned pair is first compared as one word.
      if (wide) {
        const std::uint64_t before = word_at(a.parameters, at, 8);
        const std::uint64_t after = word_at(b.parameters, at, 8);
        if (before == after || addresses_.may_hold(before) || other_addresses_.may_hold(after)) {
          at += 8;
          continue;
        }
      }
      const std::size_t bytes = std::min<std::size_t>(left, 4);
      const std::uint64_t before = word_at(a.parameters, at, bytes);
      const std::uint64_t after = word_at(b.parameters, at, bytes);
      if (before != after) {
        add({.node = n,
             .certain = certain,
             .text = fmt::format("parameter byte {}: {:#x} at first, {:#x} after the change", at,
                                 before, after)});
      }
      at += bytes;
    }
  }

  const RuleContext& context_;
  int graph_;
  int variant_;
  GraphAddresses addresses_;
  GraphAddresses other_addresses_;
};

/// As nodes and evidence; certain ones make the finding likely.
void add_differences(const RuleContext& context, int graph,
                     const std::vector<Difference>& differences, Finding& finding) {
  std::size_t shown = 0;
  for (const Difference& difference : differences) {
    const NodeRef node{graph, difference.node};
    const bool has_node =
        static_cast<std::size_t>(difference.node) < context.graph(graph).nodes.size();
    if (has_node) add_node(finding.nodes, node);
    if (difference.certain) finding.confidence = Confidence::Likely;
    if (shown++ < kMaxDifferences) {
      finding.evidence.push_back(has_node ? context.text(node) + ": " + difference.text
                                          : difference.text);
    }
  }
  if (shown > kMaxDifferences) {
    finding.evidence.push_back(fmt::format("and {} more", shown - kMaxDifferences));
  }
  if (!differences.empty() && finding.confidence == Confidence::Possible) {
    finding.evidence.push_back("The words are part of a structure: they may be unread padding.");
  }
}

Finding finding_of(const RuleContext& context, int graph, int variant, bool launch,
                   const std::vector<Difference>& differences) {
  const std::string& changed = context.graph(variant).changed;
  Finding finding{.rule = launch ? "baked-launch" : "baked-scalar",
                  .hazard = launch ? 9 : 8,
                  .confidence = Confidence::Possible};
  add_differences(context, graph, differences, finding);
  const std::string what = changed.empty() ? "inputs" : changed;
  finding.title = fmt::format("{} of graph \"{}\" {} with other {}",
                              launch ? "The launches" : "Arguments", context.graph(graph).name,
                              launch ? "would differ" : "passed by value would differ", what);
  finding.explanation =
      launch
          ? "The graph keeps the grid, and with it the amount of work, for the numbers that were "
            "on the host at capture. With more rows an expert's last tiles are never launched; "
            "with fewer, kernels run past the end."
          : "The graph keeps the value that the argument had at capture. Later values never reach "
            "the kernel, and nothing fails: the results are just based on the old value.";
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "The inputs are changed from the second replay on and the results compared with eager "
      "launches of the changed inputs; then the graph is captured again after the change.";
  finding.proof.shows.changed_inputs = true;
  finding.proof.cures.changed_inputs = true;
  finding.proof.cures.recaptured = true;
  return finding;
}

/// Addresses that differ. In the same allocation they are places in an array, chosen by an index.
void compare_addresses(const RuleContext& context, int graph, int variant,
                       std::vector<Difference>& differences) {
  std::map<std::tuple<int, Touch::Place, std::uint32_t>, const Touch*> after;
  for (const Touch& touch : context.touches(variant)) {
    after[{touch.node, touch.place, touch.byte}] = &touch;
  }
  for (const Touch& before : context.touches(graph)) {
    const auto found = after.find({before.node, before.place, before.byte});
    if (found == after.end() || found->second->word == before.word) continue;
    const Access here = context.access(graph, before);
    const Access there = context.access(variant, *found->second);
    differences.push_back(
        {.node = before.node,
         .certain = before.allocation >= 0 && before.allocation == found->second->allocation,
         .text =
             fmt::format("{}: byte {} of \"{}\" at first, byte {} of \"{}\" for the next launch",
                         here.place, here.offset, here.owner, there.offset, there.owner)});
  }
}

std::ptrdiff_t launches_of_graph(const RuleContext& context, int graph) {
  const std::vector<GraphLaunch>& launches = context.snapshot.launches;
  return std::count_if(launches.begin(), launches.end(),
                       [graph](const GraphLaunch& launch) { return launch.graph == graph; });
}

Finding next_launch_finding(const RuleContext& context, int graph,
                            const std::vector<Difference>& differences) {
  Finding finding{.rule = "baked-index", .hazard = 8, .confidence = Confidence::Possible};
  add_differences(context, graph, differences, finding);
  finding.title = fmt::format(
      "Graph \"{}\" is replayed {} times in a step, but holds what only its first launch should "
      "use",
      context.graph(graph).name, launches_of_graph(context, graph));
  finding.explanation =
      "A second capture, made as for the next launch of the step, has other arguments: the program "
      "chooses them for each launch. Replays keep those of the first, so that all of them read and "
      "write the first one's places, such as one amax and one scale for every expert. The other "
      "places stay as they were before the capture.";
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "Plain replays are compared with eager launches; then the graph is captured for each of its "
      "launches.";
  finding.proof.cures.captured_per_launch = true;
  return finding;
}

}  // namespace

void find_baked_values(RuleContext& context, std::vector<Finding>& findings) {
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.graph(g).variant_of < 0) continue;
    const int base = context.graph(g).variant_of;
    if (context.graph(g).failure.code != 0 || context.graph(base).failure.code != 0) continue;
    Comparison comparison(context, base, g);
    comparison.run();
    if (context.graph(g).changed == kNextLaunch) {
      compare_addresses(context, base, g, comparison.differences);
      if (!comparison.differences.empty()) {
        findings.push_back(next_launch_finding(context, base, comparison.differences));
      }
      continue;
    }
    std::vector<Difference> launches;
    std::vector<Difference> scalars;
    for (Difference& difference : comparison.differences) {
      // Numbers that depend on the splits are sizes, however they are passed.
      const bool size = difference.launch || context.graph(g).changed == "splits";
      (size ? launches : scalars).push_back(std::move(difference));
    }
    if (!launches.empty()) findings.push_back(finding_of(context, base, g, true, launches));
    if (!scalars.empty()) findings.push_back(finding_of(context, base, g, false, scalars));
  }
}

}  // namespace profiling
