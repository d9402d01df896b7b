#include "app/attach/recent_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <string_view>
#include <vector>

#include "app/doctor/report_words.h"
#include "engine/model/counted.h"
#include "engine/model/time_text.h"
#include "profiling/hazards/rules/rules.h"

namespace app {
namespace {

struct Subject {
  const profiling::Snapshot& snapshot;
  std::uint64_t graph;  // 0 = none
  std::uint64_t since;
};

std::string when(const Subject& subject, std::uint64_t time) {
  const bool before = time <= subject.since;
  const std::uint64_t apart = before ? subject.since - time : time - subject.since;
  return fmt::format("{} {}", engine::time_text(static_cast<double>(apart)),
                     before ? "before the wait" : "into the wait");
}

/// `what`: "releases". `of`: "memory of"; what is in `items` concerns the graph, or others if it
/// has none.
std::string sentence(const Subject& subject, std::string_view what, std::string_view of, bool own,
                     const std::vector<std::string>& items) {
  if (items.empty()) return fmt::format("No {} are known. ", what);
  const std::string concerns = subject.graph == 0
                                   ? ""
                                   : fmt::format("{}{}{}", own ? " of " : ", none of them of ", of,
                                                 profiling::graph_name(subject.graph));
  return fmt::format("Newest {}{}: {}. ", what, concerns, fmt::join(items, "; "));
}

std::string of_memory(const Subject& subject, std::string_view what,
                      const std::vector<profiling::RecentMemory>& events) {
  std::vector<std::string> items;
  for (const profiling::RecentMemory& event : events) {
    const profiling::NodeRef node{.graph = graph_in(subject.snapshot, subject.graph),
                                  .node = event.node};
    items.push_back(
        fmt::format("{}{}, {}", profiling::text(event.memory),
                    event.node < 0 ? "" : ", held by " + node_title(subject.snapshot, node),
                    when(subject, event.time)));
  }
  const bool own = !events.empty() && events.front().node >= 0;
  return sentence(subject, what, "memory of ", own, items);
}

std::string of_updates(const Subject& subject,
                       const std::vector<profiling::RecentUpdate>& updates) {
  std::vector<std::string> items;
  const bool own = !updates.empty() && updates.front().graph == subject.graph;
  for (const profiling::RecentUpdate& update : updates) {
    const profiling::NodeRef node{.graph = graph_in(subject.snapshot, update.graph),
                                  .node = update.node};
    std::string of;
    if (update.node >= 0) {
      of = " of " + node_title(subject.snapshot, node);
    } else if (!own) {
      of = " of " + profiling::graph_name(update.graph);
    }
    items.push_back(fmt::format("{}{}, {}", update.call, of, when(subject, update.time)));
  }
  return sentence(subject, "updates", "", own, items);
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
  std::string words = of_memory(subject, "releases", events.released) +
                      of_memory(subject, "allocations", events.allocated) +
                      of_updates(subject, events.updates);
  if (process.lost_frames() > 0) {
    words += fmt::format("Newer ones may be missing: {} could not be kept. ",
                         engine::counted(process.lost_frames(), "record"));
  }
  return words;
}

}  // namespace app
