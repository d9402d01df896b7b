#include "app/gui/plot/memory_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"

namespace app::plot {

std::size_t MemoryCurve::before(double time) const {
  const auto after =
      std::upper_bound(time_ns.begin(), time_ns.end(), static_cast<std::int64_t>(std::floor(time)));
  return after == time_ns.begin() ? time_ns.size()
                                  : static_cast<std::size_t>(after - time_ns.begin()) - 1;
}

MemoryCurve make_memory_curve(const profiling::Activity& activity) {
  MemoryCurve curve;
  curve.time_ns.reserve(activity.memory_events.size());
  for (const profiling::MemoryEvent& event : activity.memory_events) {
    curve.time_ns.push_back(event.time_ns);
  }
  curve.live = profiling::live_memory(activity.memory_events);
  std::vector<double> bytes(curve.live.device_bytes.begin(), curve.live.device_bytes.end());
  for (const double one : bytes) curve.peak_bytes = std::max(curve.peak_bytes, one);
  curve.device = fold_series(std::move(bytes));
  return curve;
}

void draw_memory_curve(const PanelContext& context, const PlotFrame& frame,
                       const MemoryCurve& curve, float top, float bottom) {
  const Theme& theme = context.theme;
  const float left = frame.min().x;
  if (curve.empty()) {
    draw_text(
        frame.draw(), theme.fonts.label,
        ImVec2(left + theme.px(kGapSmall), 0.5F * (top + bottom - theme.fonts.label->FontSize)),
        theme.colors.dim_text, "no allocation or release was recorded");
    return;
  }
  if (curve.peak_bytes <= 0.0) return;
  const float right = frame.max().x;
  const auto height_of = [&](double bytes) {
    return bottom - static_cast<float>(bytes / curve.peak_bytes) * (bottom - top);
  };
  const auto pixel_of = [&](std::size_t index) {
    return std::floor(frame.x().to_pixel(static_cast<double>(curve.time_ns[index])));
  };
  const ImU32 fill = faded(theme.colors.accent, 0.3F);
  const auto step = [&](float from, float to, Range bytes) {
    if (to <= from || bytes.max <= 0.0) return;
    const float high = height_of(bytes.max);
    frame.draw()->AddRectFilled(ImVec2(from, high), ImVec2(to, bottom), fill);
    // As thick as the range of the values in a pixel.
    frame.draw()->AddRectFilled(ImVec2(from, high),
                                ImVec2(to, std::max(high + 1.0F, height_of(bytes.min))),
                                theme.colors.accent);
  };
  const auto name_peak = [&] {
    const ImFont* font = theme.fonts.label;
    if (bottom - top < font->FontSize) return;
    draw_text(frame.draw(), font, ImVec2(left + theme.px(kGapSmall), top + theme.px(1)),
              theme.colors.text,
              "peak " + bytes_text(static_cast<std::uint64_t>(curve.peak_bytes)));
  };
  std::size_t index = curve.before(frame.x().view.min);
  double held = index < curve.time_ns.size() ? curve.device.values[index] : 0.0;
  index = index < curve.time_ns.size() ? index + 1 : 0;
  float x = left;
  while (index < curve.time_ns.size() && x < right) {
    const float next = std::min(pixel_of(index), right);
    step(x, next, {held, held});
    x = std::max(x, next);
    if (x >= right) break;
    // All events of this pixel at once.
    const double end = frame.x().to_value(x + 1.0F);
    const auto last = static_cast<std::size_t>(
        std::lower_bound(curve.time_ns.begin() + static_cast<std::ptrdiff_t>(index),
                         curve.time_ns.end(), static_cast<std::int64_t>(std::ceil(end))) -
        curve.time_ns.begin());
    const std::size_t past = std::max(last, index + 1);
    Range here = curve.device.extremes(index, past);
    here = {std::min(here.min, held), std::max(here.max, held)};
    step(x, x + 1.0F, here);
    held = curve.device.values[past - 1];
    index = past;
    x += 1.0F;
  }
  step(x, right, {held, held});
  name_peak();
}

std::vector<ReadOutLine> live_lines(const MemoryCurve& curve, std::size_t index) {
  const auto text = [](std::uint64_t bytes) {
    return fmt::format("{} ({} B)", bytes_text(bytes), count_text(bytes));
  };
  std::vector<ReadOutLine> lines = {{"live on the device", text(curve.live.device_bytes[index])}};
  if (curve.live.host_bytes[index] > 0) {
    lines.push_back({"live on the host", text(curve.live.host_bytes[index])});
  }
  if (curve.live.pool_bytes[index] > 0) {
    lines.push_back({"pools hold", text(curve.live.pool_bytes[index])});
  }
  lines.push_back({"peak of the run", bytes_text(static_cast<std::uint64_t>(curve.peak_bytes))});
  if (curve.live.unknown_releases > 0) {
    lines.push_back({"releases of earlier memory", count_text(curve.live.unknown_releases)});
  }
  return lines;
}

std::string memory_csv(const profiling::Activity& activity, const MemoryCurve& curve) {
  std::string text =
      "time_ns,operation,address,bytes,live_device_bytes,live_host_bytes,pool_bytes\n";
  for (std::size_t i = 0; i < curve.time_ns.size(); ++i) {
    const profiling::MemoryEvent& event = activity.memory_events[i];
    text += fmt::format("{},{},{:#x},{},{},{},{}\n", event.time_ns,
                        profiling::kMemoryOperationNames[static_cast<std::size_t>(event.operation)],
                        event.address, event.bytes, curve.live.device_bytes[i],
                        curve.live.host_bytes[i], curve.live.pool_bytes[i]);
  }
  return text;
}

}  // namespace app::plot
