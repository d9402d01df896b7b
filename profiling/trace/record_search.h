// Finds records by kernel name, stage or expert, and steps from record to record: within a row,
// along the edges of the graph, from hit to hit. Indices are into Activity::records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/step_tensors.h"
#include "profiling/trace/activity.h"
#include "profiling/trace/timeline_lanes.h"

namespace profiling {

/// The expert that a search for "e5" or "expert 5" looks for; -1 = it looks for no expert.
int searched_expert(const std::string& text);

/// Records that match `text`, by start: "e5" and "expert 5" match an expert, a stage's whole name
/// the stage, anything else a part of the kernel's name or of its operation's (case-insensitive).
/// An empty text finds nothing. Scans all records.
std::vector<std::uint32_t> find_records(const Activity& activity, engine::StepKind step,
                                        const std::string& text);

/// The hit after (`direction` 1) or before (-1) `from` in `hits`, wrapping around at the end. None
/// if there are no hits. `from` is an index, not necessarily of a hit.
std::optional<std::size_t> next_hit(std::span<const std::uint32_t> hits, std::int64_t from,
                                    int direction);

/// The record after or before this one in its row of the timeline.
std::optional<std::uint32_t> neighbour(std::span<const TimelineLane> lanes,
                                       const Activity& activity, std::uint32_t record,
                                       int direction);

/// Along the graph within one replay: -1 = among the nodes that this record's node waited for, the
/// record that ended last; 1 = among the nodes that wait for it, the one that started first.
std::optional<std::uint32_t> along_edge(const Activity& activity, std::uint32_t record,
                                        int direction);

}  // namespace profiling
