// What the timeline does with each kind of lane that profiling builds: label, names of blocks,
// read-out, colour. A kind is one entry of the table in timeline_lane_kinds.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/plot/memory_curve.h"
#include "app/gui/plot/plot_frame.h"
#include "profiling/document/work_labels.h"
#include "profiling/trace/activity.h"
#include "profiling/trace/timeline_lanes.h"

namespace app::plot {

/// The list of an activity that an event is in.
enum class EventList : std::uint8_t { Records, HostEvents, MemoryEvents };

struct LaneTraits {
  profiling::LaneKind kind;
  const char* group;  // of lanes that collapse together
  std::string (*label)(const profiling::TimelineLane& lane, const profiling::Activity& activity);
  /// The label on a block. `index` is that of `record` in its row.
  std::string (*block_name)(const PanelContext& context, const profiling::Activity& activity,
                            const profiling::WorkLabels& names, std::uint32_t index,
                            const profiling::ActivityRecord& record);
  /// Shows the block under the mouse, whose longest record is `record`.
  void (*show_block)(const PanelContext& context, const profiling::Activity& activity,
                     const MemoryCurve& curve, const profiling::TimelineSegment& block,
                     const profiling::ActivityRecord& record);
  bool stage_colors = true;  // false = the accent: a block is no stage
  /// Kind of its blocks; empty = they only sum other lanes.
  std::optional<EventList> list = EventList::Records;
  bool records = true;       // its blocks are records of kernels, copies and host spans
  bool sums_others = false;  // its blocks cover those of other lanes
  bool curve = false;        // live memory is drawn behind its blocks, and shown between them
};

const LaneTraits& traits_of(profiling::LaneKind kind);

/// "5 of 12", in the order of the captured graph; empty for a record that is of none of its nodes.
std::string graph_node_text(const profiling::Activity& activity,
                            const profiling::ActivityRecord& record);

/// Shows live memory between two events.
void show_live_memory(const PanelContext& context, const MemoryCurve& curve, double time_ns);
/// The idle time of the row around the mouse: measured between two records, not between two pixels,
/// and drawn at the height `middle`. Nothing if the row is busy or the gap is open.
void show_gap(const PanelContext& context, const PlotFrame& frame,
              const profiling::Activity& activity, const profiling::WorkLabels& names,
              const profiling::TimelineLod& row, const LaneTraits& lane, float middle);

}  // namespace app::plot
