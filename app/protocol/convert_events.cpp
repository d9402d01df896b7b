#include "app/protocol/convert_events.h"

#include <algorithm>
#include <string>

namespace app {
namespace {

using profiling::HostEvent;
using profiling::MemoryEvent;

template <class Enum>
void numbered(Enum& out, std::uint32_t number, std::size_t known, const char* field,
              FieldCheck& check) {
  if (number < known) {
    out = static_cast<Enum>(number);
  } else {
    check.refuse(fmt::format("{} is {}, which this version does not know", field, number));
  }
}

constexpr std::size_t kSpaces = static_cast<std::size_t>(engine::MemorySpace::Managed) + 1;

/// Where in the run an event of either kind lies.
template <class Event, class Message>
void write_place(const Event& event, Message& to) {
  to.set_iteration(event.iteration);
  to.set_layer(event.layer);
  to.set_stage(static_cast<std::uint32_t>(event.stage));
}

template <class Message, class Event>
void read_place(const Message& from, Event& event, FieldCheck& check) {
  event.iteration = from.iteration();
  check.require(event.iteration >= -1, "events.iteration is below -1");
  check.integer(event.layer, from.layer(), "events.layer");
  numbered(event.stage, from.stage(), engine::kStageNames.size(), "events.stage", check);
}

HostEvent read(const wire::HostEvent& from, std::size_t num_names, FieldCheck& check) {
  HostEvent event{.start_ns = from.start_ns(), .end_ns = from.end_ns(), .name = from.name()};
  check.require(event.end_ns >= event.start_ns, "host_events.end_ns lies before its start_ns");
  check.require(event.name < num_names, "host_events.name points beyond the names sent");
  check.integer(event.lane, from.lane(), "host_events.lane");
  numbered(event.kind, from.kind(), profiling::kHostEventNames.size(), "host_events.kind", check);
  read_place(from, event, check);
  return event;
}

MemoryEvent read(const wire::MemoryEvent& from, FieldCheck& check) {
  MemoryEvent event{.time_ns = from.time_ns(),
                    .address = from.address(),
                    .bytes = from.bytes(),
                    .pool = from.pool(),
                    .pool_bytes = from.pool_bytes(),
                    .pool_used = from.pool_used(),
                    .stream_ordered = from.stream_ordered()};
  numbered(event.operation, from.operation(), profiling::kMemoryOperationNames.size(),
           "memory_events.operation", check);
  numbered(event.space, from.space(), kSpaces, "memory_events.space", check);
  read_place(from, event, check);
  return event;
}

void limit(std::size_t have, int more, std::size_t most, const char* what, FieldCheck& check) {
  if (have + static_cast<std::size_t>(more) <= most) return;
  check.refuse(fmt::format("activity has more than {} {}", most, what));
}

}  // namespace

void add_events(wire::ActivityChunk& chunk, const profiling::Activity& activity, std::size_t first,
                std::size_t count) {
  const std::size_t last = first + count;
  for (std::size_t i = first; i < std::min(last, activity.host_events.size()); ++i) {
    const HostEvent& event = activity.host_events[i];
    wire::HostEvent& added = *chunk.add_host_events();
    added.set_start_ns(event.start_ns);
    added.set_end_ns(event.end_ns);
    added.set_name(event.name);
    added.set_kind(static_cast<std::uint32_t>(event.kind));
    added.set_lane(event.lane);
    write_place(event, added);
  }
  for (std::size_t i = first; i < std::min(last, activity.memory_events.size()); ++i) {
    const MemoryEvent& event = activity.memory_events[i];
    wire::MemoryEvent& added = *chunk.add_memory_events();
    added.set_time_ns(event.time_ns);
    added.set_address(event.address);
    added.set_bytes(event.bytes);
    added.set_pool(event.pool);
    added.set_pool_bytes(event.pool_bytes);
    added.set_pool_used(event.pool_used);
    added.set_operation(static_cast<std::uint32_t>(event.operation));
    added.set_space(static_cast<std::uint32_t>(event.space));
    write_place(event, added);
    added.set_stream_ordered(event.stream_ordered);
  }
}

void read_events(const wire::ActivityChunk& chunk, profiling::Activity& activity,
                 FieldCheck& check) {
  limit(activity.host_events.size(), chunk.host_events_size(), profiling::kMostHostEvents,
        "host events", check);
  limit(activity.memory_events.size(), chunk.memory_events_size(), profiling::kMostMemoryEvents,
        "memory events", check);
  for (int i = 0; i < chunk.host_events_size() && check.ok(); ++i) {
    activity.host_events.push_back(read(chunk.host_events(i), activity.names.size(), check));
  }
  for (int i = 0; i < chunk.memory_events_size() && check.ok(); ++i) {
    activity.memory_events.push_back(read(chunk.memory_events(i), check));
  }
}

}  // namespace app
