// Activity in chunks: parallel arrays on the wire (they pack well), records in memory.
#include <algorithm>

#include "app/protocol/convert.h"
#include "app/protocol/convert_events.h"
#include "app/protocol/field_check.h"

namespace app {
namespace {

static_assert(static_cast<int>(engine::Stage::Offsets) == wire::OFFSETS &&
              static_cast<int>(engine::Stage::Amax) == wire::AMAX &&
              static_cast<int>(engine::Stage::Quantize) == wire::QUANTIZE &&
              static_cast<int>(engine::Stage::Fprop) == wire::FPROP &&
              static_cast<int>(engine::Stage::Memory) == wire::MEMORY &&
              static_cast<int>(engine::Stage::Check) == wire::CHECK &&
              static_cast<int>(engine::Stage::Other) == wire::OTHER &&
              static_cast<int>(engine::Stage::Dgrad) == wire::DGRAD &&
              static_cast<int>(engine::Stage::Wgrad) == wire::WGRAD &&
              static_cast<int>(engine::Stage::Bias) == wire::BIAS &&
              static_cast<int>(engine::Stage::Dequantize) == wire::DEQUANTIZE);

constexpr auto kKinds = static_cast<std::uint32_t>(profiling::ActivityKind::Graph) + 1;

bool is_stage(std::uint32_t value) {
  return value <= static_cast<std::uint32_t>(wire::Stage_MAX) &&
         wire::Stage_IsValid(static_cast<int>(value));
}

void read_record(profiling::ActivityRecord& record, const wire::ActivityChunk& chunk, int i,
                 std::size_t num_names, FieldCheck& check) {
  record.start_ns = chunk.start_ns(i);
  record.end_ns = chunk.end_ns(i);
  record.node_id = chunk.node_id(i);
  record.name = chunk.name(i);
  record.iteration = chunk.iteration(i);
  check.integer(record.expert, chunk.expert(i), "activity.expert");
  check.integer(record.layer, chunk.layer(i), "activity.layer");
  check.integer(record.lane, chunk.lane(i), "activity.lane");
  check.require(record.end_ns >= record.start_ns, "activity.end_ns lies before its start_ns");
  check.require(record.name < num_names, "activity.name points beyond the names sent");
  check.require(record.iteration >= -1, "activity.iteration is below -1");
  check.require(chunk.kind(i) < kKinds, "activity.kind is not one this version knows");
  check.require(is_stage(chunk.stage(i)), "activity.stage is not one this version knows");
  record.kind = static_cast<profiling::ActivityKind>(chunk.kind(i));
  record.stage = static_cast<engine::Stage>(chunk.stage(i));
}

}  // namespace

std::size_t chunked_length(const profiling::Activity& activity) {
  return std::max(
      {activity.records.size(), activity.host_events.size(), activity.memory_events.size()});
}

wire::ActivityChunk make_activity_chunk(std::uint64_t id, const profiling::Activity& activity,
                                        std::size_t first) {
  wire::ActivityChunk chunk;
  chunk.set_id(id);
  if (first == 0) {
    for (const std::string& name : activity.names) chunk.add_names(name);
    for (const profiling::GraphNode& node : activity.nodes) {
      wire::GraphNode& added = *chunk.add_nodes();
      added.set_id(node.id);
      added.set_name(node.name);
      added.set_stage(static_cast<wire::Stage>(node.stage));
      added.set_layer(node.layer);
      added.mutable_dependencies()->Add(node.dependencies.begin(), node.dependencies.end());
    }
  }
  const std::size_t last = std::min(activity.records.size(), first + kMaxChunkRecords);
  for (std::size_t i = first; i < last; ++i) {
    const profiling::ActivityRecord& record = activity.records[i];
    chunk.add_start_ns(record.start_ns);
    chunk.add_end_ns(record.end_ns);
    chunk.add_node_id(record.node_id);
    chunk.add_name(record.name);
    chunk.add_iteration(record.iteration);
    chunk.add_expert(record.expert);
    chunk.add_layer(record.layer);
    chunk.add_kind(static_cast<std::uint32_t>(record.kind));
    chunk.add_lane(record.lane);
    chunk.add_stage(static_cast<std::uint32_t>(record.stage));
  }
  add_events(chunk, activity, first, kMaxChunkRecords);
  return chunk;
}

engine::Status ActivityAssembler::add(const wire::ActivityChunk& chunk) {
  if (chunk.id() != id_) {
    id_ = chunk.id();
    activity_ = {};
  }
  const int count = chunk.start_ns_size();
  for (const int size : {chunk.end_ns_size(), chunk.node_id_size(), chunk.name_size(),
                         chunk.iteration_size(), chunk.expert_size(), chunk.layer_size(),
                         chunk.kind_size(), chunk.lane_size(), chunk.stage_size()}) {
    if (size != count) {
      return engine::Error{
          engine::ErrorCode::Protocol,
          fmt::format("activity has {} starts but {} entries in another array", count, size)};
    }
  }
  const std::size_t total = activity_.records.size() + static_cast<std::size_t>(count);
  if (total > kMaxActivityRecords) {
    return engine::Error{
        engine::ErrorCode::Protocol,
        fmt::format("activity has {} records; the limit is {}", total, kMaxActivityRecords)};
  }
  FieldCheck check;
  activity_.names.insert(activity_.names.end(), chunk.names().begin(), chunk.names().end());
  for (const wire::GraphNode& node : chunk.nodes()) {
    profiling::GraphNode& added = activity_.nodes.emplace_back();
    added.id = node.id();
    added.name = node.name();
    check.enumerator(added.stage, node.stage(), wire::Stage_IsValid, "activity.nodes.stage");
    check.integer(added.layer, node.layer(), "activity.nodes.layer");
    added.dependencies.assign(node.dependencies().begin(), node.dependencies().end());
  }
  activity_.records.reserve(total);
  for (int i = 0; i < count && check.ok(); ++i) {
    read_record(activity_.records.emplace_back(), chunk, i, activity_.names.size(), check);
  }
  read_events(chunk, activity_, check);
  engine::Result<bool> verdict = check.result(true);
  if (verdict.ok()) return {};
  activity_ = {};
  return verdict.error();
}

profiling::Activity ActivityAssembler::take(std::uint64_t id) {
  profiling::Activity taken;
  if (id == id_) taken = std::move(activity_);
  activity_ = {};
  id_ = 0;
  return taken;
}

}  // namespace app
