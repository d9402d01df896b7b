#include "profiling/trace/stamped_spans.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "profiling/trace/timeline_lanes.h"

namespace profiling {

namespace {

constexpr const char* kSeveral = "several stamped launches are of one operation";
constexpr const char* kKernels = "several kernels are of one operation";
constexpr const char* kRouting = "the recorded steps differ in their rows per expert";
constexpr const char* kInstant = "the stamped launch has no duration";

/// Overlapping spans as one; in any order before, by begin after.
std::vector<TileSpan> joined(std::vector<TileSpan> spans) {
  std::ranges::sort(spans, {}, &TileSpan::begin_ns);
  std::vector<TileSpan> apart;
  for (const TileSpan& span : spans) {
    if (!apart.empty() && span.begin_ns <= apart.back().end_ns) {
      apart.back().end_ns = std::max(apart.back().end_ns, span.end_ns);
    } else {
      apart.push_back(span);
    }
  }
  return apart;
}

std::vector<StampedLane> lanes_of(const engine::TiledLaunch& launch, int experts, int together) {
  std::vector<std::vector<TileSpan>> tiles(
      static_cast<std::size_t>((experts + together - 1) / together));
  std::vector<std::optional<TileSpan>> spans(static_cast<std::size_t>(experts));
  for (const engine::LaunchTile& tile : launch.kept) {
    const TileSpan ran{tile.begin_ns, tile.end_ns};
    tiles[static_cast<std::size_t>(tile.expert / together)].push_back(ran);
    std::optional<TileSpan>& span = spans[static_cast<std::size_t>(tile.expert)];
    if (!span) span = ran;
    span->begin_ns = std::min(span->begin_ns, ran.begin_ns);
    span->end_ns = std::max(span->end_ns, ran.end_ns);
  }
  std::vector<StampedLane> lanes(tiles.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].busy = joined(std::move(tiles[i]));
  for (int expert = 0; expert < experts; ++expert) {
    const std::optional<TileSpan>& span = spans[static_cast<std::size_t>(expert)];
    if (!span) continue;
    StampedLane& lane = lanes[static_cast<std::size_t>(expert / together)];
    lane.experts.push_back({.expert = expert, .span = *span});
    lane.whole.push_back(*span);
  }
  for (StampedLane& lane : lanes) lane.whole = joined(std::move(lane.whole));
  return lanes;
}

bool of_all_experts_in_layer_0(const ActivityRecord& record, engine::StepKind step) {
  const int products = step == engine::StepKind::ExpertLayer ? 2 : 1;  // of a layer
  return record.kind == ActivityKind::Kernel && record.expert < 0 && record.layer < products;
}

/// What the records of timed iterations show of an operation.
struct Occurrence {
  bool stamped = false;
  bool seen = false;
  bool several_kernels = false;
  std::uint32_t name = 0;
};

/// By stage and written value. Files may hold any number as either.
class Occurrences {
 public:
  Occurrence& of(engine::Stage stage, engine::WrittenValue writes) {
    return all_[std::min(static_cast<std::size_t>(stage), kStages - 1)]
               [std::min(static_cast<std::size_t>(writes), engine::kWrittenValues - 1)];
  }

 private:
  static constexpr std::size_t kStages = engine::kStageNames.size();
  std::array<std::array<Occurrence, engine::kWrittenValues>, kStages> all_{};
};

/// In double: a tile's time by a record's duration may exceed 64 bits.
std::int64_t scaled(std::int64_t time_ns, std::int64_t to_ns, std::int64_t from_ns) {
  return std::llround(static_cast<double>(time_ns) * static_cast<double>(to_ns) /
                      static_cast<double>(from_ns));
}

}  // namespace

StampedSpans stamped_spans(const engine::RunResult& result,
                           std::span<const ActivityRecord> records) {
  StampedSpans spans;
  spans.step = result.effective.step;
  const std::vector<engine::TiledLaunch>& launches = result.measurements.tiled_launches;
  if (launches.empty()) return spans;
  Occurrences occurrences;
  for (const engine::TiledLaunch& launch : launches) {
    occurrences.of(launch.stage, launch.writes).stamped = true;
    for (const engine::LaunchTile& tile : launch.kept) {
      spans.experts = std::max(spans.experts, tile.expert + 1);
    }
  }
  for (const ActivityRecord& record : records) {
    spans.experts = std::max(spans.experts, record.expert + 1);
    if (record.iteration < 0 || !of_all_experts_in_layer_0(record, spans.step)) continue;
    Occurrence& one = occurrences.of(record.stage, record.writes);
    if (!one.stamped) continue;
    if (one.seen && one.name != record.name) one.several_kernels = true;
    one.seen = true;
    one.name = record.name;
  }
  spans.together = experts_per_lane(spans.experts);
  const bool routing_varies =
      result.recorded_routing.has_value() && result.recorded_routing->steps.size() > 1;
  for (const engine::TiledLaunch& launch : launches) {
    const Occurrence& one = occurrences.of(launch.stage, launch.writes);
    if (!one.seen) continue;
    const auto same = std::ranges::count_if(launches, [&](const engine::TiledLaunch& other) {
      return other.stage == launch.stage && other.writes == launch.writes;
    });
    const char* reason = same > 1                  ? kSeveral
                         : one.several_kernels     ? kKernels
                         : routing_varies          ? kRouting
                         : launch.duration_ns <= 0 ? kInstant
                                                   : nullptr;
    if (reason != nullptr) {
      const bool said = std::ranges::any_of(spans.unused, [&](const UnusedStamps& other) {
        return other.stage == launch.stage && other.writes == launch.writes;
      });
      if (!said) {
        spans.unused.push_back({.stage = launch.stage, .writes = launch.writes, .reason = reason});
      }
      continue;
    }
    spans.operations.push_back({.stage = launch.stage,
                                .writes = launch.writes,
                                .name = one.name,
                                .duration_ns = launch.duration_ns,
                                .launches = launch.launches,
                                .kept_every = launch.kept_every,
                                .lanes = lanes_of(launch, spans.experts, spans.together)});
  }
  return spans;
}

const StampedOperation* StampedSpans::of(const ActivityRecord& record) const {
  if (!of_all_experts_in_layer_0(record, step)) return nullptr;
  const auto found = std::ranges::find_if(operations, [&](const StampedOperation& one) {
    return one.stage == record.stage && one.writes == record.writes && one.name == record.name;
  });
  return found == operations.end() ? nullptr : &*found;
}

std::int64_t placed_ns(const ActivityRecord& record, const StampedOperation& operation,
                       std::int64_t tile_ns) {
  if (operation.duration_ns <= 0) return record.start_ns;
  const std::int64_t inside = std::clamp(tile_ns, std::int64_t{0}, operation.duration_ns);
  return record.start_ns + scaled(inside, record.duration_ns(), operation.duration_ns);
}

std::vector<TileSpan> placed_spans(const ActivityRecord& record, const StampedOperation& operation,
                                   std::span<const TileSpan> spans, TileSpan view,
                                   std::int64_t joined_ns) {
  std::vector<TileSpan> placed;
  if (record.duration_ns() <= 0) return placed;
  const auto first = std::ranges::partition_point(spans, [&](const TileSpan& span) {
    return placed_ns(record, operation, span.end_ns) <= view.begin_ns;
  });
  for (auto span = first; span != spans.end(); ++span) {
    const TileSpan one{placed_ns(record, operation, span->begin_ns),
                       placed_ns(record, operation, span->end_ns)};
    if (one.begin_ns >= view.end_ns) break;
    if (!placed.empty() && one.begin_ns - placed.back().end_ns < joined_ns) {
      placed.back().end_ns = one.end_ns;
    } else {
      placed.push_back(one);
    }
  }
  return placed;
}

std::vector<ExpertTiles> experts_at(const ActivityRecord& record, const StampedOperation& operation,
                                    const StampedLane& lane, std::int64_t time_ns) {
  std::vector<ExpertTiles> running;
  if (record.duration_ns() <= 0) return running;
  for (const ExpertTiles& one : lane.experts) {
    if (placed_ns(record, operation, one.span.begin_ns) <= time_ns &&
        placed_ns(record, operation, one.span.end_ns) > time_ns) {
      running.push_back(one);
    }
  }
  return running;
}

}  // namespace profiling
