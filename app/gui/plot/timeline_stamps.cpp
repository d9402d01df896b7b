#include "app/gui/plot/timeline_stamps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "engine/model/counted.h"
#include "engine/program/operation_words.h"

namespace app::plot {
namespace {

using profiling::ActivityRecord;
using profiling::StampedLane;
using profiling::StampedOperation;
using profiling::TileSpan;

// From here on the pauses between an expert's tiles are drawn: a view has room for few such
// launches and so for the tiles of few.
constexpr double kPixelsWithPauses = 160.0;
constexpr float kPausing = 0.16F;  // opacity
constexpr float kRunning = 0.4F;
constexpr float kRunningInLowRows = 0.6F;  // which have no outline above and below
constexpr float kLeastOutlined = 7.0F;     // pixels of a row
constexpr float kEdge = 0.9F;

double pixels_per_ns(const TimelineBlocks& drawn) {
  const double span = static_cast<double>(drawn.asked.end_ns - drawn.asked.begin_ns);
  return span > 0.0 ? drawn.asked.pixels / span : 0.0;
}

const StampedLane* lane_of(const TimelineLanes& lanes, const Band& band,
                           const StampedOperation& operation) {
  if (lanes.stamped == nullptr || band.of->kind != profiling::LaneKind::Experts ||
      !band.first_row) {
    return nullptr;
  }
  const auto index = static_cast<std::size_t>(band.of->first / lanes.stamped->together);
  return index < operation.lanes.size() ? &operation.lanes[index] : nullptr;
}

/// A pixel wide each, boxes as everywhere: antialiased lines cost ten of them.
void draw_outline(ImDrawList* draw, ImVec2 min, ImVec2 max, ImU32 color) {
  draw->AddRectFilled(min, ImVec2(min.x + 1.0F, max.y), color);
  draw->AddRectFilled(ImVec2(max.x - 1.0F, min.y), max, color);
  // In low rows these two would be all there is.
  if (max.y - min.y < kLeastOutlined || max.x - min.x < 3.0F) return;
  draw->AddRectFilled(ImVec2(min.x + 1.0F, min.y), ImVec2(max.x - 1.0F, min.y + 1.0F), color);
  draw->AddRectFilled(ImVec2(min.x + 1.0F, max.y - 1.0F), ImVec2(max.x - 1.0F, max.y), color);
}

/// Lanes of one band for one launch.
class Painter {
 public:
  Painter(const PlotFrame& frame, const Band& band, ImU32 color)
      : frame_(frame), band_(band), color_(color) {}

  void fill(std::span<const TileSpan> spans, float strength) const {
    for (const TileSpan& span : spans) {
      frame_.draw()->AddRectFilled(ImVec2(left_of(span), band_.top),
                                   ImVec2(right_of(span), band_.bottom), faded(color_, strength));
    }
  }
  void outline(std::span<const TileSpan> spans) const {
    for (const TileSpan& span : spans) {
      draw_outline(frame_.draw(), ImVec2(left_of(span), band_.top),
                   ImVec2(right_of(span), band_.bottom), faded(color_, kEdge));
    }
  }
  float left_of(const TileSpan& span) const {
    return frame_.x().to_pixel(static_cast<double>(span.begin_ns));
  }
  float right_of(const TileSpan& span) const {
    return std::max(frame_.x().to_pixel(static_cast<double>(span.end_ns)), left_of(span) + 1.0F);
  }

 private:
  const PlotFrame& frame_;
  const Band& band_;
  ImU32 color_;
};

/// "expert 5: 41.0 to 63.2 %".
ReadOutLine share_line(const profiling::ExpertTiles& tiles, const StampedOperation& operation) {
  const auto share = [&](std::int64_t time_ns) {
    return 100.0 * static_cast<double>(time_ns) / static_cast<double>(operation.duration_ns);
  };
  return {fmt::format("expert {}", tiles.expert),
          fmt::format("{:.1f} to {:.1f} % of the launch", share(tiles.span.begin_ns),
                      share(tiles.span.end_ns))};
}

}  // namespace

std::vector<StampedLaunch> stamped_launches(const TimelineLanes& lanes,
                                            const TimelineBlocks& drawn) {
  std::vector<StampedLaunch> launches;
  if (lanes.stamped == nullptr || lanes.stamped->empty()) return launches;
  const double least_ns = kLeastStampedPixels / std::max(pixels_per_ns(drawn), 1e-12);
  std::size_t index = 0;
  for (const profiling::TimelineLane& lane : lanes.lanes) {
    for (const profiling::TimelineLod& row : lane.rows) {
      const std::vector<profiling::TimelineSegment>& blocks = drawn.rows[index++];
      if (lane.kind != profiling::LaneKind::Shared) continue;
      for (const profiling::TimelineSegment& block : blocks) {
        if (block.count != 1 || static_cast<double>(block.end_ns - block.begin_ns) < least_ns) {
          continue;
        }
        const StampedOperation* operation = lanes.stamped->of(row.records()[block.longest]);
        if (operation != nullptr) launches.push_back({block.longest, operation});
      }
    }
  }
  return launches;
}

void draw_stamped(const PanelContext& context, const PlotFrame& frame,
                  const profiling::Activity& activity, const TimelineLanes& lanes, const Band& band,
                  const TimelineBlocks& drawn) {
  const Theme& theme = context.theme;
  const double per_ns = pixels_per_ns(drawn);
  const TileSpan view{drawn.asked.begin_ns, drawn.asked.end_ns};
  const auto pixel_ns = static_cast<std::int64_t>(std::ceil(1.0 / std::max(per_ns, 1e-12)));
  const ImFont* font = theme.fonts.label;
  const float running = band.bottom - band.top < kLeastOutlined ? kRunningInLowRows : kRunning;
  for (const StampedLaunch& launch : drawn.stamped) {
    const StampedLane* lane = lane_of(lanes, band, *launch.operation);
    if (lane == nullptr) continue;
    const ActivityRecord& record = activity.records[launch.record];
    const Painter painter(frame, band, theme.stage(record.stage));
    const std::vector<TileSpan> whole =
        profiling::placed_spans(record, *launch.operation, lane->whole, view, pixel_ns);
    if (static_cast<double>(record.duration_ns()) * per_ns < kPixelsWithPauses) {
      painter.fill(whole, running);
    } else {
      painter.fill(whole, kPausing);
      painter.fill(profiling::placed_spans(record, *launch.operation, lane->busy, view, pixel_ns),
                   running);
    }
    painter.outline(whole);
    if (band.bottom - band.top < font->FontSize) continue;
    for (const TileSpan& span : whole) {
      const float left = std::max(painter.left_of(span), frame.min().x);
      const float room = std::min(painter.right_of(span), frame.max().x) - left - theme.px(6);
      if (room < theme.px(28)) continue;
      const std::string name =
          band.lane->block_name(context, activity, lanes.names, launch.record, record) +
          " as stamped";
      draw_text(frame.draw(), font,
                ImVec2(left + theme.px(3), 0.5F * (band.top + band.bottom - font->FontSize)),
                theme.colors.text, fitted(font, name, room));
    }
  }
}

std::optional<StampedHover> stamped_at(const profiling::Activity& activity,
                                       const TimelineLanes& lanes, const Band& band,
                                       const TimelineBlocks& drawn, double time_ns) {
  for (const StampedLaunch& launch : drawn.stamped) {
    const StampedLane* lane = lane_of(lanes, band, *launch.operation);
    if (lane == nullptr) continue;
    std::vector<profiling::ExpertTiles> experts =
        profiling::experts_at(activity.records[launch.record], *launch.operation, *lane,
                              static_cast<std::int64_t>(std::floor(time_ns)));
    if (!experts.empty()) return StampedHover{launch, std::move(experts)};
  }
  return std::nullopt;
}

void show_stamped(const PanelContext& context, const profiling::Activity& activity,
                  engine::StepKind step, const StampedHover& hover) {
  constexpr std::size_t kNamed = 4;
  const StampedOperation& operation = *hover.launch.operation;
  const ActivityRecord& record = activity.records[hover.launch.record];
  std::vector<ReadOutLine> lines;
  for (const profiling::ExpertTiles& tiles : hover.experts) {
    if (lines.size() == kNamed) {
      lines.push_back({"further experts", count_text(hover.experts.size() - kNamed)});
      break;
    }
    lines.push_back(share_line(tiles, operation));
  }
  lines.push_back({"as in", operation.launches == 1 ? "the stamped launch"
                                                    : "the stamped launch of median duration"});
  lines.push_back({"stamped launch", duration_text(static_cast<double>(operation.duration_ns))});
  lines.push_back({"this launch", duration_text(static_cast<double>(record.duration_ns()))});
  if (operation.kept_every > 1) {
    lines.push_back({"tiles of", fmt::format("1 in {} SMs", operation.kept_every)});
  }
  read_out(context,
           fmt::format("{}: not measured in this launch",
                       engine::operation_or_stage(step, record.stage, record.writes)),
           lines);
}

void draw_stamped_sample(const Theme& theme, ImDrawList* draw, ImVec2 min, ImVec2 max) {
  const ImU32 color = theme.colors.text;
  draw->AddRectFilled(min, max, faded(color, kRunning));
  draw_outline(draw, min, max, faded(color, kEdge));
}

}  // namespace app::plot
