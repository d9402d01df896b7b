// When the experts of one launch ran, as its stamped launch shows it: spans that the timeline draws
// in the lanes of experts. They are derived: no record of a run, and in no sum, search or export.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/run_result.h"
#include "profiling/trace/activity.h"

namespace profiling {

struct TileSpan {
  std::int64_t begin_ns = 0;  // since the begin of the stamped launch's first tile
  std::int64_t end_ns = 0;
  bool operator==(const TileSpan&) const = default;
};

/// From the begin of an expert's first tile to the end of its last.
struct ExpertTiles {
  int expert = 0;
  TileSpan span{};
};

/// The experts that share a lane of the timeline. All spans are by begin, and apart from each
/// other.
struct StampedLane {
  std::vector<ExpertTiles> experts{};  // those with tiles, by number
  std::vector<TileSpan> whole{};       // from first to last tiles
  std::vector<TileSpan> busy{};        // with a tile running
};

/// A stamped launch as the pattern of all launches of its operation.
struct StampedOperation {
  engine::Stage stage = engine::Stage::Fprop;
  engine::WrittenValue writes = engine::WrittenValue::Unknown;
  std::uint32_t name = 0;        // of its kernel, in Activity::names
  std::int64_t duration_ns = 0;  // TiledLaunch, and the following
  int launches = 0;
  int kept_every = 1;
  std::vector<StampedLane> lanes{};  // experts_per_lane() each, from expert 0
};

/// A stamped launch that is no pattern, and why.
struct UnusedStamps {
  engine::Stage stage = engine::Stage::Fprop;
  engine::WrittenValue writes = engine::WrittenValue::Unknown;
  const char* reason = "";
};

struct StampedSpans {
  int experts = 0;   // one more than the highest number, of tiles and of records
  int together = 1;  // experts_per_lane()
  engine::StepKind step = engine::StepKind::Linear;
  std::vector<StampedOperation> operations{};  // that occur in timed iterations
  std::vector<UnusedStamps> unused{};

  bool empty() const { return operations.empty(); }
  /// The pattern of a launch for all experts in layer 0, by stage, written value and kernel; null =
  /// there is none.
  const StampedOperation* of(const ActivityRecord& record) const;
};

/// Visits all records of a run that has stamped launches.
StampedSpans stamped_spans(const engine::RunResult& result,
                           std::span<const ActivityRecord> records);

/// Where a time of the stamped launch lies in another launch of the operation: in proportion, and
/// never outside of it.
std::int64_t placed_ns(const ActivityRecord& record, const StampedOperation& operation,
                       std::int64_t tile_ns);

/// The spans placed in the launch that lie in [begin_ns, end_ns); those closer to each other than
/// `joined_ns` as one.
std::vector<TileSpan> placed_spans(const ActivityRecord& record, const StampedOperation& operation,
                                   std::span<const TileSpan> spans, TileSpan view,
                                   std::int64_t joined_ns);

/// The experts of the lane that are between their first and last tile at a time in the launch.
std::vector<ExpertTiles> experts_at(const ActivityRecord& record, const StampedOperation& operation,
                                    const StampedLane& lane, std::int64_t time_ns);

}  // namespace profiling
