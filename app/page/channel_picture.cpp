#include "app/page/channel_picture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/page/svg_frame.h"
#include "engine/model/count_text.h"

namespace app {
namespace {

constexpr double kHeight = 170;
constexpr std::size_t kNamed = 3;

}  // namespace

SvgPicture channel_picture(const engine::ChannelStatistics& channels, std::string title) {
  const engine::ChannelProfile& columns = channels.columns;
  plot::Range range = plot::kNoValues;
  for (const float amax : columns.amax) {
    if (amax > 0) range = plot::widened(range, std::log2(static_cast<double>(amax)));
  }
  if (!plot::has_values(range)) return {};
  SvgPicture picture(kSvgWidth, kHeight, std::move(title));
  const SvgFrame frame(picture, {.x = 0, .y = 0, .width = kSvgWidth, .height = kHeight},
                       {.kind = plot::AxisKind::Integer,
                        .label = "column",
                        .limits = {0.0, static_cast<double>(columns.channels)}},
                       {.kind = plot::AxisKind::Log2,
                        .label = "amax",
                        .limits = {range.min - 0.5, range.max + 1.0}});
  std::vector<SvgPoint> outline;
  for (std::size_t cell = 0; cell < columns.cells(); ++cell) {
    const double left = static_cast<double>(columns.first_channel(cell));
    const double right = static_cast<double>(columns.first_channel(cell + 1));
    const auto amax = static_cast<double>(columns.amax[cell]);
    const double y = amax > 0 ? frame.y(std::log2(amax)) : frame.inner().bottom();
    outline.push_back({frame.x(left), y});
    outline.push_back({frame.x(right), y});
  }
  picture.polyline(outline, {.stroke = kSvgAccent});
  if (columns.median_amax > 0) {
    const double y = frame.y(std::log2(columns.median_amax));
    picture.line({frame.inner().x, y}, {frame.inner().right(), y},
                 {.stroke = kSvgDim, .dashes = "4 3"});
    // Below the line, where there is less to cover, unless that is outside the axes.
    const double below = y + kSvgTextSize + 2.0;
    picture.text({frame.inner().x + 4.0, below < frame.inner().bottom() ? below : y - 4.0},
                 "median", {.color = kSvgDim});
  }
  if (columns.outliers == 0) return picture;
  for (std::size_t i = 0; i < std::min(columns.largest.size(), kNamed); ++i) {
    const engine::Channel& one = columns.largest[i];
    if (!(columns.over_median(one) >= engine::kOutlierFactor)) break;
    const SvgPoint at{frame.x(static_cast<double>(one.index) + 0.5), frame.y(std::log2(one.amax))};
    picture.dot(at, 3.0, {.fill = kSvgWarn});
    const bool right = at.x > 0.5 * kSvgWidth;
    picture.text({at.x + (right ? -6.0 : 6.0), at.y + 4.0}, engine::count_text(one.index),
                 {.anchor = right ? SvgWords::Anchor::End : SvgWords::Anchor::Start});
  }
  return picture;
}

}  // namespace app
