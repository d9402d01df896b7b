// A search scans all records, a step only those nearby.
#include "profiling/trace/record_search.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <unordered_set>

#include "engine/program/operation_words.h"

namespace profiling {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// In lower case.
int expert_of(std::string_view text) {
  if (text.starts_with("expert ")) {
    text.remove_prefix(7);
  } else if (text.starts_with('e')) {
    text.remove_prefix(1);
  } else {
    return -1;
  }
  int expert = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), expert);
  return error == std::errc() && end == text.data() + text.size() ? expert : -1;
}

std::size_t operation_number(engine::Stage stage, engine::WrittenValue writes) {
  return static_cast<std::size_t>(stage) << 8 | static_cast<std::size_t>(writes);
}

/// By operation_number(): whether the operation's name contains the text. A trace has millions of
/// records, and a step few operations.
std::vector<bool> operations_with(engine::StepKind step, const std::string& wanted) {
  std::vector<bool> found(engine::kStageNames.size() << 8);
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = lower(engine::operation_name(step, static_cast<engine::Stage>(i >> 8),
                                            static_cast<engine::WrittenValue>(i & 0xFF)))
                   .find(wanted) != std::string::npos;
  }
  return found;
}

template <class Wanted>
std::vector<std::uint32_t> where(const Activity& activity, Wanted wanted) {
  std::vector<std::uint32_t> hits;
  for (std::size_t i = 0; i < activity.records.size(); ++i) {
    if (wanted(activity.records[i])) hits.push_back(static_cast<std::uint32_t>(i));
  }
  return hits;
}

/// Among the records of this iteration, from `from` in the direction of the step, with a node in
/// `nodes`: the one preferred by `better`.
template <class Better>
std::optional<std::uint32_t> best_of(const Activity& activity, std::uint32_t from, int step,
                                     const std::unordered_set<std::uint64_t>& nodes,
                                     Better better) {
  // Replays may overlap at their edges; beyond that there are no records of this one.
  constexpr std::size_t kStrangersInARow = 100'000;
  const std::vector<ActivityRecord>& records = activity.records;
  const std::int32_t iteration = records[from].iteration;
  std::optional<std::uint32_t> best;
  std::size_t strangers = 0;
  for (std::int64_t i = std::int64_t{from} + step; i >= 0 && i < std::ssize(records); i += step) {
    const ActivityRecord& record = records[static_cast<std::size_t>(i)];
    if (record.iteration != iteration) {
      if (++strangers > kStrangersInARow) break;
      continue;
    }
    strangers = 0;
    if (!nodes.contains(record.node_id)) continue;
    if (!best || better(record, records[*best])) best = static_cast<std::uint32_t>(i);
  }
  return best;
}

}  // namespace

int searched_expert(const std::string& text) { return expert_of(lower(text)); }

std::vector<std::uint32_t> find_records(const Activity& activity, engine::StepKind step,
                                        const std::string& text) {
  const std::string wanted = lower(text);
  if (wanted.empty()) return {};
  if (const int expert = expert_of(wanted); expert >= 0) {
    return where(activity, [&](const ActivityRecord& record) { return record.expert == expert; });
  }
  const auto stage = std::ranges::find(engine::kStageNames, std::string_view(wanted));
  if (stage != engine::kStageNames.end()) {
    const auto number = static_cast<engine::Stage>(stage - engine::kStageNames.begin());
    return where(activity, [&](const ActivityRecord& record) { return record.stage == number; });
  }
  std::vector<bool> named;
  for (const std::string& name : activity.names) {
    named.push_back(lower(name).find(wanted) != std::string::npos);
  }
  const std::vector<bool> operations = operations_with(step, wanted);
  return where(activity, [&](const ActivityRecord& record) {
    const std::size_t operation = operation_number(record.stage, record.writes);
    return (record.name < named.size() && named[record.name]) ||
           (operation < operations.size() && operations[operation]);
  });
}

std::optional<std::size_t> next_hit(std::span<const std::uint32_t> hits, std::int64_t from,
                                    int direction) {
  if (hits.empty()) return std::nullopt;
  if (direction > 0) {
    const auto next = std::partition_point(hits.begin(), hits.end(),
                                           [&](std::uint32_t hit) { return hit <= from; });
    return next == hits.end() ? 0 : static_cast<std::size_t>(next - hits.begin());
  }
  const auto next =
      std::partition_point(hits.begin(), hits.end(), [&](std::uint32_t hit) { return hit < from; });
  return (next == hits.begin() ? hits.size() : static_cast<std::size_t>(next - hits.begin())) - 1;
}

std::optional<std::uint32_t> neighbour(std::span<const TimelineLane> lanes,
                                       const Activity& activity, std::uint32_t record,
                                       int direction) {
  for (const TimelineLane& lane : lanes) {
    for (const TimelineLod& row : lane.rows) {
      if (row.records().data() != activity.records.data()) continue;  // iteration spans
      const std::span<const std::uint32_t> members = row.members();
      const auto found = std::lower_bound(members.begin(), members.end(), record);
      if (found == members.end() || *found != record) continue;
      const std::int64_t at = (found - members.begin()) + direction;
      if (at < 0 || at >= std::ssize(members)) return std::nullopt;
      return members[static_cast<std::size_t>(at)];
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> along_edge(const Activity& activity, std::uint32_t record,
                                        int direction) {
  if (record >= activity.records.size()) return std::nullopt;
  const std::uint64_t id = activity.records[record].node_id;
  if (id == 0) return std::nullopt;
  std::unordered_set<std::uint64_t> nodes;
  for (const GraphNode& node : activity.nodes) {
    if (direction < 0 && node.id == id) {
      nodes.insert(node.dependencies.begin(), node.dependencies.end());
    }
    if (direction > 0 && std::ranges::find(node.dependencies, id) != node.dependencies.end()) {
      nodes.insert(node.id);
    }
  }
  if (nodes.empty()) return std::nullopt;
  if (direction < 0) {
    return best_of(activity, record, -1, nodes, [](const auto& record_a, const auto& record_b) {
      return record_a.end_ns > record_b.end_ns;
    });
  }
  return best_of(activity, record, 1, nodes, [](const auto& record_a, const auto& record_b) {
    return record_a.start_ns < record_b.start_ns;
  });
}

}  // namespace profiling
