// What the memory before and after replays says: inputs that nobody refreshes, and what a replay
// carries over to the next one. Both are possible at most: a benchmark replays the same inputs, and
// weights of a captured optimizer are meant to change.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "profiling/hazards/model/names.h"
#include "profiling/hazards/rules/rules.h"
#include "profiling/hazards/snapshot/compared_memory.h"

namespace profiling {
namespace {

using engine::Allocation;

constexpr std::size_t kRepeated = 3;  // replays that must agree before anything is said
constexpr std::uint64_t kMostState = std::uint64_t{64} << 10;  // flags and counters are small

using Compared = std::vector<const ComparedReplay*>;  // ascending

class ComparedGraph {
 public:
  ComparedGraph(const RuleContext& context, int graph)
      : context_(context),
        graph_(graph),
        reached_(reached_memory(context.touches(graph))),
        changes_(memory_changes(context.snapshot, context.graph(graph), reached_)) {}

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

  /// A memset or copy node sets it, so that it is no state.
  bool sets(const Allocation& memory) const {
    return std::ranges::any_of(context_.touches(graph_), [&](const Touch& touch) {
      return touch.writes() && context_.allocation(touch.allocation) == &memory;
    });
  }
  /// Reached, and changed by no compared replay.
  std::vector<const Allocation*> inputs() const {
    std::vector<const Allocation*> found;
    if (changes_.empty()) return found;
    for (const int index : reached_) {
      const Allocation* memory = context_.allocation(index);
      const MemoryChanges& changes = changes_[static_cast<std::size_t>(index)];
      if (is_subjects_device_memory(*memory) && changes.replays > 0 && changes.by_replays == 0)
        found.push_back(memory);
    }
    return found;
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

  int graph() const { return graph_; }

 private:
  const RuleContext& context_;
  int graph_;
  std::vector<int> reached_;
  std::vector<MemoryChanges> changes_;  // of the ledger; empty = no replay was compared
};

/// The smallest living memory that holds the change's beginning; null = it is not known.
const Allocation* memory_at(const RuleContext& context, const ChangedMemory& changed) {
  const Allocation* found = nullptr;
  for (const Allocation& memory : context.snapshot.ledger) {
    if (!memory.live() || !overlaps(changed, memory)) continue;
    if (found == nullptr || memory.bytes < found->bytes) found = &memory;
  }
  return found;
}

bool reached_by_any(const std::vector<ComparedGraph>& graphs, const ChangedMemory& changed) {
  return std::ranges::any_of(graphs,
                             [&](const ComparedGraph& graph) { return graph.reaches(changed); });
}

/// The program wrote to it since the comparison before.
bool refreshed(const ComparedReplay& replay, const Allocation& memory) {
  return std::ranges::any_of(replay.changed, [&](const ChangedMemory& changed) {
    return changed.by_program && overlaps(changed, memory);
  });
}

void add_nodes_holding(const RuleContext& context, int graph, const Allocation& memory,
                       std::vector<NodeRef>& nodes) {
  for (const Touch& touch : context.touches(graph)) {
    if (context.allocation(touch.allocation) == &memory)
      add_node(nodes, {.graph = graph, .node = touch.node});
  }
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
    const bool each_time = std::ranges::all_of(
        replays, [&](const ComparedReplay* replay) { return refreshed(*replay, *written); });
    if (!each_time) continue;
    for (const Allocation* reached : graph.inputs()) {
      if (reached->bytes != written->bytes) continue;
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
  Finding finding{.rule = "stale-input", .hazard = 24, .confidence = Confidence::Possible};
  add_nodes_holding(context, graph.graph(), *input, finding.nodes);
  finding.title = fmt::format(
      "Every replay of {} repeats the same result: the program writes {}, which no graph reads, "
      "and not {}",
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
      "meant to stay.");
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "A replay after the new data were copied to the captured buffer has another result.";
  finding.proof.needs_cure = false;
  findings.push_back(std::move(finding));
}

/// An input that the program used to refresh stays, while it goes on with another one.
void find_partly_stale_input(const RuleContext& context, const ComparedGraph& graph,
                             std::vector<Finding>& findings) {
  constexpr std::size_t kBefore = 2;  // times that it was refreshed: once may be its first filling
  const Compared all = successive(context.graph(graph.graph()));
  if (all.size() < kBefore + kRepeated) return;
  const std::span<const ComparedReplay* const> newest = std::span(all).last(kRepeated);
  const std::span<const ComparedReplay* const> earlier =
      std::span(all).first(all.size() - kRepeated);
  const auto times = [](std::span<const ComparedReplay* const> replays, const Allocation& memory) {
    return static_cast<std::size_t>(std::ranges::count_if(
        replays, [&](const ComparedReplay* replay) { return refreshed(*replay, memory); }));
  };
  const std::vector<const Allocation*> inputs = graph.inputs();
  const auto goes_on = std::ranges::find_if(
      inputs, [&](const Allocation* input) { return times(newest, *input) == kRepeated; });
  if (goes_on == inputs.end()) return;
  const auto stays = std::ranges::find_if(inputs, [&](const Allocation* input) {
    return !share_bytes(*input, **goes_on) && times(newest, *input) == 0 &&
           times(earlier, *input) >= kBefore;
  });
  if (stays == inputs.end()) return;
  const auto last = std::ranges::find_if(
      earlier.rbegin(), earlier.rend(),
      [&](const ComparedReplay* replay) { return refreshed(*replay, **stays); });
  Finding finding{.rule = "stale-input", .hazard = 24, .confidence = Confidence::Possible};
  add_nodes_holding(context, graph.graph(), **stays, finding.nodes);
  finding.title = fmt::format(
      "{} reads {}, which the program refreshed up to replay {}, and since then only {}",
      context.graph(graph.graph()).name, text(**stays), (*last)->replay, text(**goes_on));
  finding.explanation =
      "Inputs of a replay belong together: a new batch with the mask, the positions or the table "
      "of an earlier one gives a wrong result, and nothing fails.";
  const Compared shown(newest.begin(), newest.end());
  finding.evidence.push_back(measured_text(shown));
  finding.evidence.push_back(fmt::format(
      "Before {} of the earlier compared replays {} changed, before {} it did not; {} changed "
      "before each of these.",
      times(earlier, **stays), text(**stays), replays_text(shown), text(**goes_on)));
  finding.evidence.push_back(
      "Possible, not certain: it may be meant to stay, as a rate that has reached its value, or "
      "equal data may have been written again.");
  finding.fix = fix_of(finding.rule);
  finding.proof.words = "A replay after this input was refreshed too has another result.";
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
  bool has_state = false;
  for (const ChangedMemory& changed : replays.back()->changed) {
    if (!changed.by_replay) continue;
    bytes += changed.bytes;
    const Allocation* memory = memory_at(context, changed);
    if (memory == nullptr) continue;
    if (!std::ranges::count(written, memory)) written.push_back(memory);
    has_state = has_state ||
                (changed.bytes <= kMostState && graph.reaches(changed) && !graph.sets(*memory));
  }
  // Large results alone differ when threads add in any order; a state alone is one that nothing
  // else depends on.
  if (!has_state || written.size() < 2) return;
  // Flags and counters are small.
  std::ranges::stable_sort(written, {}, &Allocation::bytes);
  Finding finding{.rule = "carried-over", .hazard = 25, .confidence = Confidence::Possible};
  for (const Allocation* memory : written)
    add_nodes_holding(context, graph.graph(), *memory, finding.nodes);
  finding.title = fmt::format(
      "{} of {} had the same inputs and wrote something else each: the graph carries something "
      "over",
      replays_text(replays), context.graph(graph.graph()).name);
  finding.title.front() = 'R';  // a sentence begins here
  finding.explanation =
      "What a replay leaves in memory, a flag, a counter or a partial sum, is what the next one "
      "begins with. If it should begin anew each time, the first replay is right and later ones "
      "are not.";
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
      "to go on, and sums that threads add to in any order differ as well.");
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
    find_partly_stale_input(context, graph, findings);
    find_carried_over(context, graph, findings);
  }
}

}  // namespace profiling
