#include "app/attach/recent_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <string_view>
#include <vector>

#include "app/doctor/report_words.h"
#include "engine/model/counted.h"
#include "engine/model/text.h"
#include "engine/model/time_text.h"
#include "profiling/hazards/rules/rules.h"

namespace app {
namespace {

constexpr std::size_t kMostTitle = 200;  // bytes of a node's title, whose name is the file's

struct Subject {
  const profiling::Snapshot& snapshot;
  std::uint64_t graph;  // 0 = none
  std::uint64_t since;  // nanoseconds on CLOCK_MONOTONIC
};

std::string when(const Subject& subject, std::uint64_t time) {
  const bool before = time <= subject.since;
  const std::uint64_t apart = before ? subject.since - time : time - subject.since;
  return fmt::format("{} {}", engine::time_text(static_cast<double>(apart)),
                     before ? "before the wait" : "into the wait");
}

std::string title_of(const Subject& subject, std::uint64_t graph, int node) {
  const profiling::NodeRef named{.graph = graph_in(subject.snapshot, graph), .node = node};
  return engine::shown_text(node_title(subject.snapshot, named), kMostTitle);
}

/// Events of one sort.
struct Events {
  std::string_view what;           // "releases"
  std::string of_graph;            // "memory of graph 3": whose they are
  std::string unknown;             // what is not known of that graph; empty = whose they are is
  bool own = false;                // they are the graph's; else it has none, and these are others
  std::vector<std::string> items;  // a phrase for each
};

std::string sentence(const Subject& subject, const Events& events) {
  if (events.items.empty()) return fmt::format("No {} are known. ", events.what);
  const std::string concerns = subject.graph == 0       ? ""
                               : events.own             ? " of " + events.of_graph
                               : events.unknown.empty() ? ", none of them of " + events.of_graph
                                                        : fmt::format(" ({})", events.unknown);
  return fmt::format("Newest {}{}: {}. ", events.what, concerns, fmt::join(events.items, "; "));
}

std::string of_memory(const Subject& subject, std::string_view what, bool known,
                      const std::vector<profiling::RecentMemory>& recent) {
  const std::string graph = profiling::graph_name(subject.graph);
  Events events{.what = what,
                .of_graph = "memory of " + graph,
                .unknown = known ? "" : fmt::format("which memory {} holds is not known", graph),
                .own = !recent.empty() && recent.front().node >= 0,
                .items = {}};
  for (const profiling::RecentMemory& one : recent) {
    events.items.push_back(
        fmt::format("{}{}, {}", profiling::text(one.memory),
                    one.node < 0 ? "" : ", held by " + title_of(subject, subject.graph, one.node),
                    when(subject, one.time)));
  }
  return sentence(subject, events);
}

std::string of_updates(const Subject& subject, bool known,
                       const std::vector<profiling::RecentUpdate>& updates) {
  const std::string graph = profiling::graph_name(subject.graph);
  Events events{.what = "updates",
                .of_graph = graph,
                .unknown = known ? "" : fmt::format("those of {} are not known", graph),
                .own = !updates.empty() && updates.front().graph == subject.graph,
                .items = {}};
  for (const profiling::RecentUpdate& update : updates) {
    const std::string of_its_graph = " of " + profiling::graph_name(update.graph);
    std::string of = update.node < 0 ? "" : " of " + title_of(subject, update.graph, update.node);
    if (!events.own && !of.ends_with(of_its_graph)) of += of_its_graph;
    events.items.push_back(fmt::format("{}{}, {}", update.call, of, when(subject, update.time)));
  }
  return sentence(subject, events);
}

}  // namespace

int graph_in(const profiling::Snapshot& snapshot, std::uint64_t graph) {
  const auto found = std::ranges::find(snapshot.graphs, profiling::graph_name(graph),
                                       &profiling::GraphSnapshot::name);
  return found == snapshot.graphs.end() ? -1 : static_cast<int>(found - snapshot.graphs.begin());
}

std::string recent_words(const profiling::ObservedProcess& process,
                         const profiling::Snapshot& snapshot, std::uint64_t graph,
                         std::uint64_t since) {
  const Subject subject{.snapshot = snapshot, .graph = graph, .since = since};
  const profiling::RecentEvents events = process.recent_events(graph);
  std::string words = of_memory(subject, "releases", events.memory_known, events.released) +
                      of_memory(subject, "allocations", events.memory_known, events.allocated) +
                      of_updates(subject, events.updates_known, events.updates);
  if (process.lost_frames() > 0) {
    words += fmt::format("Newer ones may be missing: {} could not be kept ({}). ",
                         engine::counted(process.lost_frames(), "record"), kMoreRecords);
  }
  return words;
}

}  // namespace app
