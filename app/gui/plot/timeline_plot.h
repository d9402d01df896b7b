// Records of a run on one time axis: one lane per stream or thread, stage colours, folding below 3
// pixels that keeps counts and the longest. The cost per frame depends on the pixels, not the
// records.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/gui/plot/kept_drawing.h"
#include "app/gui/plot/lane_order.h"
#include "app/gui/plot/memory_curve.h"
#include "app/gui/plot/plot_frame.h"
#include "app/gui/plot/timeline_lane_kinds.h"
#include "profiling/document/work_labels.h"
#include "profiling/trace/activity.h"
#include "profiling/trace/stamped_spans.h"
#include "profiling/trace/timeline_lanes.h"

namespace app::plot {

enum class LaneChoice { Streams, Replays, Experts };

/// Built once per run and choice; refers to the activity and spans it was made from, which must
/// outlive it.
struct TimelineLanes {
  LaneChoice choice = LaneChoice::Streams;
  std::vector<profiling::TimelineLane> lanes;
  std::vector<std::string> labels;  // one per lane
  std::vector<std::string> groups;  // of the lanes, one per lane
  Range limits;
  Range timed;         // of the timed iterations; empty if there are none
  Range step;          // of one of them, which is shown first; empty if there are none
  MemoryCurve memory;  // drawn over the lane of memory events
  /// Of the records on the blocks; of none: blocks of several kernels may have one name.
  profiling::WorkLabels names;
  /// Drawn into the lanes of experts; null = none, or other lanes.
  const profiling::StampedSpans* stamped = nullptr;
  std::size_t rows() const;
  std::size_t memory_bytes() const;
};
/// `spans`: profiling::iteration_spans(). `events`: profiling::event_records(); their lanes come
/// last, and are left out if there is one lane per expert, which alone show `stamped`. The caller
/// sets the limits and the names.
TimelineLanes make_timeline(const profiling::Activity& activity,
                            std::span<const profiling::ActivityRecord> spans,
                            const profiling::EventSpans& events,
                            const profiling::StampedSpans& stamped, LaneChoice choice);

/// A launch whose experts are drawn as its stamped launch ran.
struct StampedLaunch {
  std::uint32_t record = 0;
  const profiling::StampedOperation* operation = nullptr;
};

/// The blocks of the last frame and their picture: a view that has not moved queries no pyramid and
/// redraws no block.
struct TimelineBlocks {
  struct Asked {
    std::uint64_t generation = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    int pixels = 0;
    bool operator==(const Asked&) const = default;
  };
  Asked asked{};
  std::vector<std::vector<profiling::TimelineSegment>> rows;  // of all lanes, in order
  std::vector<std::size_t> records;                           // in each of these rows
  std::vector<StampedLaunch> stamped;
  KeptDrawing drawing;
};

/// The position of a lane's label, or of a group's heading.
struct LaneLabel {
  LaneLine line{};
  ImVec2 min{};
  ImVec2 max{};
};

/// A single event, by its place in the activity.
struct TimelineEvent {
  EventList list = EventList::Records;
  std::uint32_t index = 0;
  bool operator==(const TimelineEvent&) const = default;
};

/// Arrow from the host's launch of the chosen record to its start.
struct LaunchArrow {
  double launched_ns = 0.0;
  bool exact = true;  // false = somewhere after that time
};

struct TimelineSpec {
  const char* id = "";
  ImVec2 size{};
  std::uint64_t generation = 0;                  // identifies the lanes
  std::optional<std::uint32_t> chosen{};         // record to be outlined
  std::optional<LaunchArrow> launch{};           // of that record
  const profiling::TimelineLod* hits = nullptr;  // of a search: marked above the lanes
  const LaneOrder* order = nullptr;              // null = all, in their order
  float right_margin = 0.0F;                     // 0 = a small gap
};

struct TimelineResult {
  bool selection_changed = false;
  std::size_t visible_records = 0;  // records that touch the view
  std::size_t drawn_blocks = 0;
  std::size_t stamped_launches = 0;      // whose experts are drawn as stamped
  bool clicked = false;                  // without a drag
  std::optional<TimelineEvent> event{};  // under that click; the longest of a fold
  std::vector<LaneLabel> labels;         // of the lanes shown, where there was room
  float left = 0.0F;                     // screen pixels between which the time axis lies
  float right = 0.0F;
  std::string group;  // the pointer is over one of its lanes; empty = none
};

/// Height of the line with a group's name.
float heading_height(const Theme& theme);

TimelineResult draw_timeline(const PanelContext& context, const TimelineSpec& spec,
                             const profiling::Activity& activity, const TimelineLanes& lanes,
                             PlotView& view, TimelineBlocks& blocks);

/// The lanes in which the record has a block, as indices.
std::vector<std::size_t> lanes_with(const TimelineLanes& lanes, const profiling::Activity& activity,
                                    std::uint32_t record);

/// Moves the view, keeping its span, until the record lies in it. `legible`: also zooms in until
/// the record is wide enough to be seen.
void bring_into_view(const profiling::ActivityRecord& record, const TimelineLanes& lanes,
                     bool legible, PlotView& view);

/// The whole recording in one strip, with the view as a draggable window in it. `generation`
/// identifies the lanes. Returns the number of busy pixels, for the control map.
class TimelineMinimap {
 public:
  int draw(const PanelContext& context, const char* id, ImVec2 size, const TimelineLanes& lanes,
           std::uint64_t generation, PlotView& view);

 private:
  void add_up(const TimelineLanes& lanes, int pixels);

  std::uint64_t generation_ = 0;
  std::vector<float> busy_;  // 0..1 per pixel
  int shown_ = 0;            // number of busy ones
  KeptDrawing drawing_;
};

}  // namespace app::plot
