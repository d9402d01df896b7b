// Activity in chunks: a run may have millions of records, which do not fit in one frame.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/protocol/convert.h"

namespace app {
namespace {

using profiling::Activity;

/// Elements [first, first + kMaxChunkRecords) of the list, as columns.
template <class Record>
void write_slice(const std::vector<Record>& list, std::size_t first,
                 google::protobuf::Message& message) {
  const std::size_t begin = std::min(first, list.size());
  const std::size_t count = std::min(list.size() - begin, kMaxChunkRecords);
  write_columns(engine::kType<Record>, list.data() + begin, count, message);
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

engine::Error refused(std::string what) {
  return {engine::ErrorCode::Protocol, "activity." + std::move(what)};
}

/// What is wrong with a chunk, given what came before it; empty = nothing.
std::string flaw_of(const Activity& chunk, const Activity& before) {
  const auto too_many = [](std::string_view what, std::size_t have, std::size_t more,
                           std::size_t most) {
    if (have + more <= most) return std::string();
    return fmt::format("{} has {} entries; the limit is {}", what, have + more, most);
  };
  for (std::string flaw :
       {too_many("records", before.records.size(), chunk.records.size(), kMaxActivityRecords),
        too_many("host_events", before.host_events.size(), chunk.host_events.size(),
                 profiling::kMostHostEvents),
        too_many("memory_events", before.memory_events.size(), chunk.memory_events.size(),
                 profiling::kMostMemoryEvents)}) {
    if (!flaw.empty()) return flaw;
  }
  const std::size_t names = before.names.size() + chunk.names.size();
  const auto beyond = [names](const auto& entry) { return entry.name >= names; };
  if (std::ranges::any_of(chunk.records, beyond)) {
    return "records.name points beyond the names sent";
  }
  if (std::ranges::any_of(chunk.host_events, beyond)) {
    return "host_events.name points beyond the names sent";
  }
  return {};
}

}  // namespace

std::size_t chunked_length(const Activity& activity) {
  return std::max(
      {activity.records.size(), activity.host_events.size(), activity.memory_events.size()});
}

wire::ActivityChunk make_activity_chunk(std::uint64_t id, const Activity& activity,
                                        std::size_t first) {
  wire::ActivityChunk chunk;
  if (first == 0) {
    chunk = to_wire(Activity{.names = activity.names, .records = {}, .nodes = activity.nodes});
  }
  chunk.set_id(id);
  write_slice(activity.records, first, *chunk.mutable_records());
  write_slice(activity.host_events, first, *chunk.mutable_host_events());
  write_slice(activity.memory_events, first, *chunk.mutable_memory_events());
  return chunk;
}

engine::Status ActivityAssembler::add(const wire::ActivityChunk& chunk) {
  if (chunk.id() != id_) {
    id_ = chunk.id();
    activity_ = {};
  }
  engine::Result<Activity> read = from_wire(chunk);
  std::string flaw = read.ok() ? flaw_of(read.value(), activity_) : read.error().message;
  if (!flaw.empty()) {
    activity_ = {};
    return refused(std::move(flaw));
  }
  Activity& more = read.value();
  append(activity_.names, more.names);
  append(activity_.records, more.records);
  append(activity_.nodes, more.nodes);
  append(activity_.host_events, more.host_events);
  append(activity_.memory_events, more.memory_events);
  return {};
}

Activity ActivityAssembler::take(std::uint64_t id) {
  Activity taken;
  if (id == id_) taken = std::move(activity_);
  activity_ = {};
  id_ = 0;
  return taken;
}

}  // namespace app
