// What the memory before and after replays says: inputs that nobody refreshes, and what a replay
// carries over to the next one. Both are possible at most: a benchmark replays the same inputs, and
// weights of a captured optimizer are meant to change.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "profiling/hazards/model/names.h"
#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

using engine::Allocation;

constexpr std::size_t kRepeated = 3;  // replays that must agree before anything is said

using Compared = std::vector<const ComparedReplay*>;  // ascending

bool overlaps(const ChangedMemory& changed, const Allocation& memory) {
  return changed.address < memory.address + memory.bytes &&
         memory.address < changed.address + changed.bytes;
}

/// The memory that a graph's arguments reach. Of a segment and a tensor in it, both.
std::vector<int> reached_by(const RuleContext& context, int graph) {
  std::vector<int> reached;
  for (const Touch& touch : context.touches(graph)) {
    if (touch.allocation >= 0) reached.push_back(touch.allocation);
  }
  std::ranges::sort(reached);
  const auto repeated = std::ranges::unique(reached);
  reached.erase(repeated.begin(), repeated.end());
  return reached;
}

class ComparedGraph {
 public:
  ComparedGraph(const RuleContext& context, int graph)
      : context_(context), graph_(graph), reached_(reached_by(context, graph)) {}

  bool reaches(const ChangedMemory& changed) const {
    return std::ranges::any_of(reached_, [&](int allocation) {
      return overlaps(changed, *context_.allocation(allocation));
    });
  }
  /// Something that the graph reads or writes was changed since its comparison before.
  bool inputs_changed(const ComparedReplay& replay) const {
    return std::ranges::any_of(replay.changed, [&](const ChangedMemory& changed) {
      return changed.by_program && reaches(changed);
    });
  }
  static bool wrote(const ComparedReplay& replay) {
    return std::ranges::any_of(replay.changed, &ChangedMemory::by_replay);
  }

  bool ever_wrote(const Allocation& memory) const {
    return std::ranges::any_of(context_.graph(graph_).compared, [&](const ComparedReplay& replay) {
      return std::ranges::any_of(replay.changed, [&](const ChangedMemory& changed) {
        return changed.by_replay && overlaps(changed, memory);
      });
    });
  }

  /// The newest kRepeated comparisons or more for which `holds`; empty = fewer. Only those of a
  /// replay whose predecessor was compared too: what changed before others may be the work of
  /// replays that were not.
  template <class Holds>
  Compared newest(Holds holds) const {
    const std::vector<ComparedReplay>& all = context_.graph(graph_).compared;
    Compared found;
    for (std::size_t i = all.size(); i-- > 1;) {
      if (all[i - 1].replay + 1 != all[i].replay) continue;
      if (all[i].partial || !holds(all[i])) break;
      found.insert(found.begin(), &all[i]);
    }
    return found.size() < kRepeated ? Compared() : found;
  }

  const std::vector<int>& reached() const { return reached_; }
  int graph() const { return graph_; }

 private:
  const RuleContext& context_;
  int graph_;
  std::vector<int> reached_;
};

/// "replays 2 to 9, 17 and 33".
std::string replays_text(const Compared& replays) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < replays.size();) {
    std::size_t last = i;
    while (last + 1 < replays.size() && replays[last + 1]->replay == replays[last]->replay + 1)
      ++last;
    parts.push_back(last == i ? fmt::format("{}", replays[i]->replay)
                              : fmt::format("{} to {}", replays[i]->replay, replays[last]->replay));
    i = last + 1;
  }
  std::string text = "replays " + parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i)
    text += (i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

/// The smallest living memory that holds the change's beginning; null = it is not known.
const Allocation* memory_at(const RuleContext& context, const ChangedMemory& changed) {
  const Allocation* found = nullptr;
  for (const Allocation& memory : context.snapshot.ledger) {
    const bool here = memory.address < changed.address + changed.bytes &&
                      changed.address < memory.address + memory.bytes;
    if (here && memory.live() && (found == nullptr || memory.bytes < found->bytes)) found = &memory;
  }
  return found;
}

bool reached_by_any(const std::vector<ComparedGraph>& graphs, const ChangedMemory& changed) {
  return std::ranges::any_of(graphs,
                             [&](const ComparedGraph& graph) { return graph.reaches(changed); });
}

std::vector<NodeRef> nodes_holding(const RuleContext& context, int graph, int allocation) {
  std::vector<NodeRef> nodes;
  for (const Touch& touch : context.touches(graph)) {
    if (touch.allocation == allocation) add_node(nodes, {.graph = graph, .node = touch.node});
  }
  return nodes;
}

std::string measured_text(const Compared& replays) {
  return fmt::format("Before and after {} all of the device's memory, {}, was hashed.",
                     replays_text(replays), size_text(replays.back()->hashed_bytes));
}

/// What the program writes before each of these replays and no graph reads.
const Allocation* written_elsewhere(const RuleContext& context,
                                    const std::vector<ComparedGraph>& graphs,
                                    const Compared& replays, const Allocation*& input,
                                    const ComparedGraph& graph) {
  for (const ChangedMemory& changed : replays.back()->changed) {
    if (!changed.by_program || reached_by_any(graphs, changed)) continue;
    const Allocation* written = memory_at(context, changed);
    if (written == nullptr || !is_subjects_device_memory(*written)) continue;
    const bool each_time = std::ranges::all_of(replays, [&](const ComparedReplay* replay) {
      return std::ranges::any_of(replay->changed, [&](const ChangedMemory& other) {
        return other.by_program && overlaps(other, *written);
      });
    });
    if (!each_time) continue;
    for (const int allocation : graph.reached()) {
      const Allocation* reached = context.allocation(allocation);
      if (reached->bytes != written->bytes || !is_subjects_device_memory(*reached) ||
          graph.ever_wrote(*reached))
        continue;
      input = reached;
      return written;
    }
  }
  return nullptr;
}

void find_stale_input(const RuleContext& context, const std::vector<ComparedGraph>& graphs,
                      const ComparedGraph& graph, std::vector<Finding>& findings) {
  const Compared replays = graph.newest([&](const ComparedReplay& replay) {
    return !graph.inputs_changed(replay) && !ComparedGraph::wrote(replay);
  });
  if (replays.empty()) return;
  const Allocation* input = nullptr;
  const Allocation* written = written_elsewhere(context, graphs, replays, input, graph);
  if (written == nullptr) return;
  const int index = static_cast<int>(input - context.snapshot.ledger.data());
  Finding finding{.rule = "stale-input", .hazard = 24, .confidence = Confidence::Possible};
  finding.nodes = nodes_holding(context, graph.graph(), index);
  finding.title = fmt::format(
      "Every replay of {} repeats the same result: the program writes {}, which no graph reads, "
      "and "
      "not {}",
      context.graph(graph.graph()).name, text(*written), text(*input));
  finding.explanation =
      "A replay reads the memory whose addresses were captured. New data that arrive in another "
      "buffer of the same size are never read: results are those of the data at capture, and "
      "nothing fails.";
  finding.evidence.push_back(measured_text(replays));
  finding.evidence.push_back(
      "None of the memory that the graph's arguments reach changed between or in these replays.");
  finding.evidence.push_back(fmt::format(
      "The program wrote to {} before each of them; the graph holds the address of {} ({:#x}).",
      text(*written), text(*input), input->address));
  finding.evidence.push_back(
      "Possible, not certain: the buffer may be meant for something else, and the input may be "
      "meant "
      "to stay.");
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "A replay after the new data were copied to the captured buffer has another result.";
  finding.proof.needs_cure = false;
  findings.push_back(std::move(finding));
}

void find_carried_over(const RuleContext& context, const ComparedGraph& graph,
                       std::vector<Finding>& findings) {
  const Compared replays = graph.newest([&](const ComparedReplay& replay) {
    return !graph.inputs_changed(replay) && ComparedGraph::wrote(replay);
  });
  if (replays.empty()) return;
  std::vector<const Allocation*> written;
  std::uint64_t bytes = 0;
  for (const ChangedMemory& changed : replays.back()->changed) {
    if (!changed.by_replay) continue;
    bytes += changed.bytes;
    const Allocation* memory = memory_at(context, changed);
    if (memory != nullptr && !std::ranges::count(written, memory)) written.push_back(memory);
  }
  if (written.size() < 2) return;  // a state that nothing else depends on
  // Flags and counters are small.
  std::ranges::stable_sort(written, {}, &Allocation::bytes);
  Finding finding{.rule = "carried-over", .hazard = 25, .confidence = Confidence::Possible};
  for (const Allocation* memory : written) {
    const int index = static_cast<int>(memory - context.snapshot.ledger.data());
    for (const NodeRef node : nodes_holding(context, graph.graph(), index))
      add_node(finding.nodes, node);
  }
  finding.title = fmt::format(
      "{} of {} had the same inputs and wrote something else each: the graph carries something "
      "over",
      replays_text(replays), context.graph(graph.graph()).name);
  finding.title.front() = 'R';  // a sentence begins here
  finding.explanation =
      "What a replay leaves in memory, a flag, a counter or a partial sum, is what the next one "
      "begins with. If it should begin anew each time, the first replay is right and later ones "
      "are "
      "not.";
  finding.evidence.push_back(measured_text(replays));
  finding.evidence.push_back(
      "Between them the program and other graphs changed nothing that the graph's arguments "
      "reach.");
  constexpr std::size_t kNamed = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, written.size()); ++i)
    names += (i == 0 ? "" : ", ") + text(*written[i]);
  finding.evidence.push_back(
      fmt::format("Replay {} changed {} in {} allocations, the smallest first: {}.",
                  replays.back()->replay, size_text(bytes), written.size(), names));
  finding.evidence.push_back(
      "Possible, not certain: weights, moments and step numbers of a captured optimizer are meant "
      "to "
      "go on, and sums that threads add to in any order differ as well.");
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "Two replays that begin with the same memory, everything that a replay writes included, are "
      "compared.";
  finding.proof.needs_cure = false;
  findings.push_back(std::move(finding));
}

}  // namespace

void find_mistakes_in_memory(RuleContext& context, std::vector<Finding>& findings) {
  std::vector<ComparedGraph> graphs;
  for (int graph = 0; graph < context.graphs(); ++graph) {
    if (context.graph(graph).variant_of < 0) graphs.emplace_back(context, graph);
  }
  for (const ComparedGraph& graph : graphs) {
    if (context.graph(graph.graph()).compared.empty()) continue;
    find_stale_input(context, graphs, graph, findings);
    find_carried_over(context, graph, findings);
  }
}

}  // namespace profiling
