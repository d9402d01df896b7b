#include "app/protocol/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/model/text.h"

namespace app {
namespace {

using profiling::Activity;

template <class Choice>
engine::Status read_valid(Choice& choice, const google::protobuf::Message& message) {
  ENGINE_TRY(read_choice(engine::kType<Choice>, &choice, message));
  return std::visit([](const auto& value) { return engine::validate(value); }, choice);
}

/// Elements [first, first + kMaxChunkRecords) of the list.
template <class Record>
std::vector<Record> slice(const std::vector<Record>& list, std::size_t first) {
  const auto begin = list.begin() + static_cast<std::ptrdiff_t>(std::min(first, list.size()));
  const auto count = std::min<std::ptrdiff_t>(list.end() - begin, kMaxChunkRecords);
  return {begin, begin + count};
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

/// Lengths of the lists of an activity, or of a part of one.
struct Lengths {
  std::size_t names, records, nodes, host_events, memory_events, shapes, calls;
};

Lengths lengths_of(const Activity& activity) {
  return {.names = activity.names.size(),
          .records = activity.records.size(),
          .nodes = activity.nodes.size(),
          .host_events = activity.host_events.size(),
          .memory_events = activity.memory_events.size(),
          .shapes = activity.shapes.size(),
          .calls = activity.calls.size()};
}

/// Columns of different lengths are refused when they are read.
Lengths lengths_of(const wire::Activity& chunk) {
  const auto size = [](int length) { return static_cast<std::size_t>(length); };
  return {.names = size(chunk.names_size()),
          .records = size(chunk.records().start_ns_size()),
          .nodes = size(chunk.nodes_size()),
          .host_events = size(chunk.host_events().start_ns_size()),
          .memory_events = size(chunk.memory_events().time_ns_size()),
          .shapes = size(chunk.shapes().grid_x_size()),
          .calls = size(chunk.calls().start_ns_size())};
}

/// Which list of a chunk is too long, by itself or after what came before it; empty = none.
std::string length_error(const Lengths& chunk, const Lengths& before) {
  struct List {
    std::string_view name;
    std::size_t Lengths::* length;
    std::size_t most;  // of all chunks
    std::size_t most_a_chunk;
  };
  constexpr auto kAtOnce = SIZE_MAX;  // sent with the first chunk, all of them
  const List lists[] = {
      {"names", &Lengths::names, profiling::kMaxNames, kAtOnce},
      {"records", &Lengths::records, kMaxActivityRecords, kMaxChunkRecords},
      {"nodes", &Lengths::nodes, engine::kMaxGraphNodes, kAtOnce},
      {"host_events", &Lengths::host_events, profiling::kMaxHostEvents, kMaxChunkRecords},
      {"memory_events", &Lengths::memory_events, profiling::kMaxMemoryEvents, kMaxChunkRecords},
      {"shapes", &Lengths::shapes, profiling::kMaxShapes, kAtOnce},
      {"calls", &Lengths::calls, profiling::kMaxCalls, kAtOnce},
  };
  for (const List& list : lists) {
    const std::size_t more = chunk.*list.length;
    const std::size_t all = before.*list.length + more;
    if (more > list.most_a_chunk) {
      return fmt::format("{} has {} entries in one frame; the limit is {}", list.name, more,
                         list.most_a_chunk);
    }
    if (all > list.most) {
      return fmt::format("{} has {} entries; the limit is {}", list.name, all, list.most);
    }
  }
  return {};
}

engine::Error broken_activity(const std::string& flaw) {
  return {engine::ErrorCode::Protocol, "activity." + flaw};
}

/// What is wrong with a chunk, given what came before it; empty = nothing.
std::string chunk_error(const Activity& chunk, const Activity& before) {
  if (std::string flaw = length_error(lengths_of(chunk), lengths_of(before)); !flaw.empty()) {
    return flaw;
  }
  const std::size_t names = before.names.size() + chunk.names.size();
  const auto beyond = [names](const auto& entry) { return entry.name >= names; };
  if (std::ranges::any_of(chunk.records, beyond)) {
    return "records.name points beyond the names sent";
  }
  if (std::ranges::any_of(chunk.host_events, beyond)) {
    return "host_events.name points beyond the names sent";
  }
  if (std::ranges::any_of(chunk.calls, beyond)) return "calls.name points beyond the names sent";
  const std::size_t shapes = before.shapes.size() + chunk.shapes.size();
  const std::size_t calls = before.calls.size() + chunk.calls.size();
  for (const profiling::ActivityRecord& record : chunk.records) {
    if (record.shape > shapes) return "records.shape points beyond the shapes sent";
    if (record.call > calls) return "records.call points beyond the calls sent";
  }
  return {};
}

}  // namespace

wire::Order to_wire(const Order& order) {
  wire::Order message;
  message.set_id(order.id);
  for (const std::string& path : order.allowed_libraries) {
    message.add_allowed_libraries(engine::valid_utf8(path));
  }
  write_choice(engine::kType<Task>, &order.task, message);
  return message;
}

engine::Result<Order> from_wire(const wire::Order& message) {
  Order order{.id = message.id(),
              .task = {},
              .allowed_libraries = {message.allowed_libraries().begin(),
                                    message.allowed_libraries().end()}};
  ENGINE_TRY(read_valid(order.task, message));
  return order;
}

wire::Answer to_wire(std::uint64_t id, const Answer& answer) {
  wire::Answer message;
  message.set_id(id);
  write_choice(engine::kType<Answer>, &answer, message);
  return message;
}

engine::Result<Answer> from_wire(const wire::Answer& message) {
  Answer answer;
  const engine::Status read = read_valid(answer, message);
  if (read.ok()) return answer;
  engine::Error error = read.error();
  if (message.result_case() == wire::Answer::RESULT_NOT_SET) return error;
  error.message =
      fmt::format("{}.{}", engine::ChoiceNames<Answer>::names[answer.index()], error.message);
  return error;
}

std::size_t chunked_length(const Activity& activity) {
  return std::max(
      {activity.records.size(), activity.host_events.size(), activity.memory_events.size()});
}

Activity activity_chunk(const Activity& activity, std::size_t first) {
  Activity chunk;
  if (first == 0) {
    chunk.names = activity.names;
    chunk.nodes = activity.nodes;
    chunk.shapes = activity.shapes;
    chunk.calls = activity.calls;
  }
  chunk.records = slice(activity.records, first);
  chunk.host_events = slice(activity.host_events, first);
  chunk.memory_events = slice(activity.memory_events, first);
  return chunk;
}

engine::Status ActivityAssembler::admit(std::uint64_t id, const wire::Activity& chunk) const {
  const Lengths before = id == id_ ? lengths_of(activity_) : Lengths{};
  if (const std::string flaw = length_error(lengths_of(chunk), before); !flaw.empty()) {
    return broken_activity(flaw);
  }
  return {};
}

engine::Status ActivityAssembler::add(std::uint64_t id, Activity chunk) {
  if (id != id_) {
    id_ = id;
    activity_ = {};
  }
  if (std::string flaw = chunk_error(chunk, activity_); !flaw.empty()) {
    activity_ = {};
    return broken_activity(flaw);
  }
  append(activity_.names, chunk.names);
  append(activity_.records, chunk.records);
  append(activity_.nodes, chunk.nodes);
  append(activity_.host_events, chunk.host_events);
  append(activity_.memory_events, chunk.memory_events);
  append(activity_.shapes, chunk.shapes);
  append(activity_.calls, chunk.calls);
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
