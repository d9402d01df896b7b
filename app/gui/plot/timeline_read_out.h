// What the timeline shows for the place under the mouse: a record, a fold of records, the live
// memory, or the gap between two records.
#pragma once

#include <cstdint>
#include <string>

#include "app/gui/plot/memory_curve.h"
#include "app/gui/plot/plot_frame.h"
#include "profiling/trace/activity.h"
#include "profiling/trace/timeline_lanes.h"

namespace app::plot {

/// What the records of a row represent.
enum class RowKind { Work, Iterations, HostEvents, MemoryEvents };
RowKind kind_of(const profiling::TimelineLane& lane);

/// The label on a block. `index` is that of `record` in the row.
std::string name_of(const profiling::Activity& activity, RowKind kind, std::uint32_t index,
                    const profiling::ActivityRecord& record);

/// For a block of the row.
void show_record(const PanelContext& context, const profiling::Activity& activity,
                 const MemoryCurve& curve, const profiling::TimelineLod& row, RowKind kind,
                 const profiling::TimelineSegment& block);
/// Between two events.
void show_live_memory(const PanelContext& context, const MemoryCurve& curve, double time_ns);
/// The idle time of the row around the mouse: measured between two records, not between two pixels,
/// and drawn at the height `middle`. Nothing if the row is busy or the gap is open.
void show_gap(const PanelContext& context, const PlotFrame& frame,
              const profiling::Activity& activity, const profiling::TimelineLod& row, RowKind kind,
              float middle);

}  // namespace app::plot
