// Value types to wire messages and back. The way in trusts nothing: every enum, every narrowing and
// every pair of arrays that must fit is checked, and the refusal names the field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "app/protocol/wire.h"
#include "app/protocol/worker_link.h"
#include "engine/backend/backend.h"
#include "engine/model/amax_history.h"
#include "engine/model/error.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "profiling/trace/activity.h"

namespace app {

wire::RunRequest to_wire(const engine::RunRequest& request);
/// Absent fields keep RunRequest's defaults. Limits are validate()'s business, not this one's.
engine::Result<engine::RunRequest> from_wire(const wire::RunRequest& message);

wire::RunResult to_wire(const engine::RunResult& result);
engine::Result<engine::RunResult> from_wire(const wire::RunResult& message);

wire::DeviceFacts to_wire(const engine::DeviceFacts& facts);
engine::DeviceFacts from_wire(const wire::DeviceFacts& message);

wire::HelloReply to_wire(const WorkerHello& hello);
engine::Result<WorkerHello> from_wire(const wire::HelloReply& message);

engine::Result<PulseReport> from_wire(const wire::Pulse& message);

wire::RunFailed to_wire(const RunError& failure);
engine::Result<RunError> from_wire(const wire::RunFailed& message);

wire::FileInspected to_wire(const FileReport& report);
FileReport from_wire(const wire::FileInspected& message);

wire::QuantizeCommand to_wire(const QuantizeOrder& order);
engine::Result<QuantizeOrder> from_wire(const wire::QuantizeCommand& message);

wire::ComparisonRequest to_wire(const engine::ComparisonRequest& request);
/// Absent fields keep ComparisonRequest's defaults.
engine::Result<engine::ComparisonRequest> from_wire(const wire::ComparisonRequest& message);

wire::RecipeComparison to_wire(const engine::RecipeComparison& comparison);
engine::Result<engine::RecipeComparison> from_wire(const wire::RecipeComparison& message);

wire::AmaxHistoryRequest to_wire(const engine::AmaxHistoryRequest& request);
engine::Result<engine::AmaxHistoryRequest> from_wire(const wire::AmaxHistoryRequest& message);
wire::AmaxHistory to_wire(const engine::AmaxHistory& history);
engine::Result<engine::AmaxHistory> from_wire(const wire::AmaxHistory& message);

inline constexpr std::size_t kMaxChunkRecords = 65536;
inline constexpr std::size_t kMaxActivityRecords = 20'000'000;

/// Chunks begin at every multiple of kMaxChunkRecords below this: that of the longest list.
std::size_t chunked_length(const profiling::Activity& activity);
/// Records, host events and memory events [first, first + kMaxChunkRecords) of an activity. The
/// chunk that starts at 0 also carries all names and graph nodes.
wire::ActivityChunk make_activity_chunk(std::uint64_t id, const profiling::Activity& activity,
                                        std::size_t first);

/// Puts the chunks of one run together again.
class ActivityAssembler {
 public:
  engine::Status add(const wire::ActivityChunk& chunk);
  /// What has arrived for this run; empty if all that arrived belongs to another.
  profiling::Activity take(std::uint64_t id);

 private:
  std::uint64_t id_ = 0;
  profiling::Activity activity_;
};

}  // namespace app
