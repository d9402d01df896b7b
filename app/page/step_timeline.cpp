#include "app/page/step_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "app/page/svg_frame.h"
#include "engine/program/operation_words.h"
#include "profiling/document/iteration_words.h"
#include "profiling/document/quantity.h"
#include "profiling/hazards/model/kernel_name.h"
#include "profiling/trace/statistics.h"
#include "profiling/trace/timeline_lanes.h"

namespace app {
namespace {

using profiling::ActivityRecord;
using profiling::TimelineLane;

constexpr double kRowHeight = 20;
constexpr double kLaneGap = 4;
constexpr double kNames = 84;  // of the lanes
constexpr std::size_t kMostLaneRows = 24;

/// A copy of one iteration's records: the rows of lanes refer to them.
std::vector<ActivityRecord> records_of_median(const profiling::Activity& activity) {
  const std::vector<ActivityRecord> spans = profiling::iteration_spans(activity.records);
  const ActivityRecord* const middle = profiling::median_iteration(spans);
  if (middle == nullptr) return {};
  std::vector<ActivityRecord> records;
  for (const ActivityRecord& one : activity.records) {
    if (one.iteration == middle->iteration) records.push_back(one);
  }
  return records;
}

std::string lane_name(const TimelineLane& lane) {
  return fmt::format("{} {}", lane.kind == profiling::LaneKind::Thread ? "thread" : "stream",
                     lane.first);
}

/// One entry per stage that occurs, in lines above the lanes. Returns the height of the lines;
/// with a null picture nothing is drawn.
double add_stages(SvgPicture* picture, const std::set<engine::Stage>& stages) {
  double x = kNames;
  double line = 0.0;
  for (const engine::Stage stage : stages) {
    const std::string name(engine::stage_name(stage));
    const double width = svg_text_width(name) + 28.0;
    if (x + width > kSvgWidth) {
      x = kNames;
      line += kSvgLineHeight;
    }
    if (picture != nullptr) {
      picture->box({.x = x, .y = line + 3, .width = 9, .height = 9},
                   {.fill = svg_stage_color(stage)});
      picture->text({x + 14, line + kSvgTextSize}, name);
    }
    x += width;
  }
  return line + kSvgLineHeight;
}

class TimelineDrawing {
 public:
  TimelineDrawing(const profiling::RecordedRun& run, std::vector<ActivityRecord> records)
      : run_(run),
        records_(std::move(records)),
        lanes_(profiling::lanes_by_stream(records_)),
        operations_(run.result.effective.step) {
    begin_ = records_.front().start_ns;
    for (const ActivityRecord& one : records_) {
      end_ = std::max(end_, one.end_ns);
      stages_.insert(one.stage);
    }
    end_ = std::max(end_, begin_ + 1);
  }

  StepTimeline draw() {
    std::size_t rows = 0;
    std::size_t shown_lanes = 0;
    for (const TimelineLane& lane : lanes_) {
      if (rows + lane.rows.size() > kMostLaneRows && shown_lanes > 0) break;
      rows += lane.rows.size();
      ++shown_lanes;
    }
    const double legend = add_stages(nullptr, stages_);
    const double bodies =
        static_cast<double>(rows) * kRowHeight + static_cast<double>(shown_lanes) * kLaneGap;
    constexpr double kAxis = 2 * kSvgLineHeight + 11.0;
    SvgPicture picture(kSvgWidth, legend + bodies + kAxis, "Timeline of one step");
    add_stages(&picture, stages_);
    const SvgFrame frame(
        picture, {.x = 0, .y = legend, .width = kSvgWidth, .height = bodies + kAxis},
        {.kind = plot::AxisKind::Nanoseconds,
         .label = "time",
         .limits = {0.0, static_cast<double>(end_ - begin_)}},
        {.kind = plot::AxisKind::Integer, .label = "", .limits = {0.0, 1.0}, .ticks = false},
        kNames);
    double y = frame.inner().y + 0.5 * kLaneGap;
    for (std::size_t lane = 0; lane < shown_lanes; ++lane) {
      picture.text({5, y + 0.7 * kRowHeight}, lane_name(lanes_[lane]),
                   {.color = kSvgDim, .room = kNames - 10});
      for (const profiling::TimelineLod& row : lanes_[lane].rows) {
        draw_row(picture, frame, row, y);
        y += kRowHeight;
      }
      y += kLaneGap;
    }
    const std::size_t left_out = lanes_.size() - shown_lanes;
    const bool replays = !run_.activity.nodes.empty();
    return {.picture = std::move(picture),
            .note = fmt::format(
                "{} {} is the median of those traced: {} from the start of its first work to the "
                "end of "
                "its last{}",
                replays ? "Replay" : "Iteration",
                profiling::shown_iteration(replays, records_.front().iteration),
                profiling::duration_text(static_cast<double>(end_ - begin_)),
                left_out == 0 ? "" : fmt::format("; {} more lanes are not shown", left_out))};
  }

 private:
  std::string name_of(const ActivityRecord& record) {
    const std::string& operation = operations_.of(record.stage, record.writes);
    const std::string name = profiling::name_of(run_.activity, record.name);
    if (!operation.empty()) return operation;
    // Bars are narrow, and a stage says more than half of a library's name, which is under the
    // mouse.
    return record.stage == engine::Stage::Other ? profiling::short_kernel_name(name)
                                                : std::string(engine::stage_name(record.stage));
  }

  void draw_row(SvgPicture& picture, const SvgFrame& frame, const profiling::TimelineLod& row,
                double y) {
    const auto pixels = static_cast<int>(frame.inner().width);
    for (const profiling::TimelineSegment& one : row.query(begin_, end_, pixels)) {
      const ActivityRecord& record = records_[one.longest];
      const double left = frame.x(static_cast<double>(one.begin_ns - begin_));
      const double right = frame.x(static_cast<double>(one.end_ns - begin_));
      const std::string name = name_of(record);
      const std::string full = profiling::work_name(operations_.of(record.stage, record.writes),
                                                    profiling::name_of(run_.activity, record.name));
      const std::string hover =
          one.count == 1
              ? fmt::format("{}: {}", full,
                            profiling::duration_text(static_cast<double>(record.duration_ns())))
              : fmt::format("{} records, busy for {}; the longest: {}", one.count,
                            profiling::duration_text(static_cast<double>(one.busy_ns)), full);
      picture.box({.x = left,
                   .y = y + 1,
                   .width = std::max(right - left - 0.4, 0.6),
                   .height = kRowHeight - 2},
                  {.fill = svg_stage_color(record.stage)}, hover);
      constexpr double kLeastRoom = 30;
      if (one.count == 1 && right - left > kLeastRoom) {
        // Readable on the colour of every stage, in both themes.
        picture.text({left + 3, y + 0.7 * kRowHeight}, name,
                     {.color = text_on(record.stage), .room = right - left - 6});
      }
    }
  }

  /// Black or white, whichever stands out from the stage's colour.
  static SvgColor text_on(engine::Stage stage) {
    const plot::Rgb color = plot::stage_color(stage).value_or(0x808080);
    const double light =
        0.299 * (color >> 16 & 0xFFU) + 0.587 * (color >> 8 & 0xFFU) + 0.114 * (color & 0xFFU);
    return light > 120.0 ? SvgColor(plot::Rgb{0x000000}) : SvgColor(plot::Rgb{0xFFFFFF});
  }

  const profiling::RecordedRun& run_;
  std::vector<ActivityRecord> records_;
  std::vector<TimelineLane> lanes_;
  engine::OperationNames operations_;
  std::set<engine::Stage> stages_;
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace

StepTimeline step_timeline(const profiling::RecordedRun& run) {
  std::vector<ActivityRecord> records = records_of_median(run.activity);
  if (records.empty()) return {};
  return TimelineDrawing(run, std::move(records)).draw();
}

}  // namespace app
