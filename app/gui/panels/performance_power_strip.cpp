// Clock and power under the timeline, on its axis: what limited the device while the kernels ran.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/performance_panel.h"
#include "app/gui/plot/label_places.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/plot/ticks.h"
#include "profiling/document/run_tables.h"
#include "profiling/export/csv.h"

namespace app {
namespace {

using profiling::PowerSample;

// Height of the strip relative to its highest sample.
constexpr double kHeadroom = 1.08;

struct Curve {
  const char* name;
  const char* unit;
  double (*value)(const PowerSample&);  // negative = the device did not report it
  ImU32 color;
  double highest = 0.0;
};

/// The samples around a view: one more on each side, so that lines leave it at the right slope.
struct Visible {
  std::size_t first = 0;
  std::size_t last = 0;
};

Visible visible(const std::vector<PowerSample>& samples, plot::Range view) {
  const auto before = [](const PowerSample& sample, double time) {
    return static_cast<double>(sample.time_ns) < time;
  };
  const auto first = std::lower_bound(samples.begin(), samples.end(), view.min, before);
  const auto last = std::lower_bound(first, samples.end(), view.max, before);
  return {static_cast<std::size_t>(std::max<std::ptrdiff_t>(first - samples.begin() - 1, 0)),
          static_cast<std::size_t>(
              std::min<std::ptrdiff_t>(last - samples.begin() + 1, std::ssize(samples)))};
}

void draw_curve(const plot::PlotFrame& frame, const std::vector<PowerSample>& samples,
                Visible shown, const Curve& curve, plot::LabelPlaces& places) {
  // At most one line per pixel: a stride's largest and smallest values are both on it.
  const auto pixels = static_cast<std::size_t>(std::max(frame.max().x - frame.min().x, 1.0F));
  const std::size_t stride = std::max<std::size_t>((shown.last - shown.first) / pixels, 1);
  const auto y_of = [&](double value) {
    return frame.y().to_pixel(value / std::max(curve.highest, 1.0));
  };
  ImVec2 previous;
  bool joined = false;
  for (std::size_t i = shown.first; i < shown.last; i += stride) {
    double low = 0.0;
    double high = -1.0;
    for (std::size_t j = i; j < std::min(i + stride, shown.last); ++j) {
      const double value = curve.value(samples[j]);
      if (value < 0.0) continue;
      low = high < 0.0 ? value : std::min(low, value);
      high = std::max(high, value);
    }
    if (high < 0.0) {
      joined = false;
      continue;
    }
    const float x = frame.x().to_pixel(static_cast<double>(samples[i].time_ns));
    const ImVec2 at(x, y_of(high));
    if (joined) {
      frame.draw()->AddLine(previous, at, curve.color, 1.5F);
      places.keep_free_line(previous, at);
    }
    if (stride > 1) {
      frame.draw()->AddLine(at, ImVec2(x, y_of(low)), curve.color);
      places.keep_free_line(at, ImVec2(x, y_of(low)));
    }
    previous = ImVec2(x, y_of(stride > 1 ? low : high));
    joined = true;
  }
}

/// Ticks of the curve's own unit, left or right of the frame; the unit is on the highest one.
void draw_axis(const PanelContext& context, const plot::PlotFrame& frame, const Curve& curve,
               bool left) {
  const Theme& theme = context.theme;
  const ImFont* font = theme.fonts.label;
  const float height = frame.max().y - frame.min().y;
  const int most = std::max(2, static_cast<int>(height / (font->FontSize + theme.px(2))));
  const plot::Range range{0.0, kHeadroom * std::max(curve.highest, 1.0)};
  const std::vector<plot::Tick> ticks = plot::ticks(plot::AxisKind::Integer, range, most);
  frame.open_clip();
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const float y = frame.y().to_pixel(ticks[i].value / std::max(curve.highest, 1.0));
    const std::string label =
        fmt::format("{:.0f}{}{}", ticks[i].value, i + 1 == ticks.size() ? " " : "",
                    i + 1 == ticks.size() ? curve.unit : "");
    const float edge = left ? frame.min().x : frame.max().x;
    frame.draw()->AddLine(ImVec2(edge, y), ImVec2(edge + theme.px(left ? -3 : 3), y),
                          theme.colors.dim_text);
    const float top = std::min(std::max(y - 0.5F * font->FontSize, frame.min().y),
                               frame.max().y - font->FontSize);
    const float away = theme.px(5);
    const float x = left ? edge - away - plot::text_size(font, label).x : edge + away;
    plot::draw_text(frame.draw(), font, ImVec2(x, top), theme.colors.dim_text, label);
  }
  frame.close_clip();
}

/// A band where something limited the clock.
void draw_limits(const PanelContext& context, const plot::PlotFrame& frame,
                 const std::vector<PowerSample>& samples, Visible shown) {
  const float top = frame.max().y - context.theme.px(3);
  for (std::size_t i = shown.first; i + 1 < shown.last; ++i) {
    if ((samples[i].clock_reasons & profiling::kThrottleReasons) == 0) continue;
    frame.draw()->AddRectFilled(
        ImVec2(frame.x().to_pixel(static_cast<double>(samples[i].time_ns)), top),
        ImVec2(frame.x().to_pixel(static_cast<double>(samples[i + 1].time_ns)), frame.max().y),
        context.theme.colors.warn);
  }
}

void show_sample(const PanelContext& context, const profiling::PowerTrace& power,
                 std::size_t sample, std::span<const Curve> curves) {
  plot::ChipColors chips;
  for (const Curve& curve : curves) chips.emplace_back(curve.name, curve.color);
  const double time = static_cast<double>(power.samples[sample].time_ns);
  plot::read_out(
      context, "clock and power at " + plot::duration_text(time),
      plot::row_lines(profiling::power_table(power), sample, context.theme.colors, chips));
}

}  // namespace

float PerformancePanel::power_strip_height(const Theme& theme) const {
  const profiling::PowerTrace& power = model_.run().power;
  if (!power.samples.empty()) return theme.px(54);
  return power.missing.empty() ? 0.0F : theme.fonts.label->FontSize + theme.px(kGapSmall);
}

float PerformancePanel::power_axis_width(const Theme& theme) const {
  return model_.run().power.samples.empty() ? 0.0F : theme.px(60);
}

void PerformancePanel::save_power(const PanelContext& context) const {
  const profiling::PowerTrace& power = model_.run().power;
  if (power.samples.empty()) {
    context.commands.push_back(
        StatusMessage{"This run has no samples of clock and power: " + power.missing});
    return;
  }
  context.commands.push_back(
      CsvOrder{"performance-power", profiling::csv_text(profiling::power_table(power))});
}

void PerformancePanel::draw_power_strip(const PanelContext& context, ImVec2 size,
                                        PixelSpan time_axis) {
  const profiling::PowerTrace& power = model_.run().power;
  const Theme& theme = context.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 end(at.x + size.x, at.y + size.y);
  const ImFont* font = theme.fonts.label;
  if (power.samples.empty()) {
    if (power.missing.empty()) return;
    const std::string text = "No clock and power: " + power.missing;
    plot::draw_text(ImGui::GetWindowDrawList(), font, ImVec2(at.x, at.y + theme.px(2)),
                    theme.colors.dim_text, plot::fitted(font, text, size.x));
    controls::record(context, "performance.power", "clock and power", "text", text, at, end);
    return;
  }
  Curve curves[] = {
      {"power", "W", [](const PowerSample& s) { return s.power_w; },
       theme.stage(engine::Stage::Fprop)},
      {"SM clock", "MHz", [](const PowerSample& s) { return static_cast<double>(s.sm_clock_mhz); },
       theme.stage(engine::Stage::Amax)}};
  for (Curve& curve : curves) {
    for (const PowerSample& sample : power.samples) {
      curve.highest = std::max(curve.highest, curve.value(sample));
    }
  }
  // Shares the timeline's view in both directions; its selection and drags stay separate.
  strip_view_.x = timeline_view_.x;
  strip_view_.held = timeline_view_.held;
  strip_view_.selection = timeline_view_.selection;
  const plot::Range before = strip_view_.x;
  Visible shown;
  std::optional<std::size_t> nearest;
  {
    plot::PlotFrame frame(
        context,
        {.id = "##performance.power",
         .size = size,
         .x = {.kind = plot::AxisKind::Nanoseconds,
               .limits = model_.lanes().limits,
               .ticks = false,
               .fit = model_.lanes().timed},
         .y = {.kind = plot::AxisKind::Number, .limits = {0.0, kHeadroom}, .ticks = false},
         .selectable = false,
         .min_span = 20.0,
         .left_margin = time_axis.left - at.x,
         .right_margin = std::max(end.x - time_axis.right, 1.0F)},
        strip_view_);
    shown = visible(power.samples, frame.x().view);
    draw_limits(context, frame, power.samples, shown);
    draw_axis(context, frame, curves[0], true);
    draw_axis(context, frame, curves[1], false);
    // The band along the bottom is also kept free.
    plot::LabelPlaces places(frame.min(), ImVec2(frame.max().x, frame.max().y - theme.px(4)));
    for (const Curve& curve : curves) draw_curve(frame, power.samples, shown, curve, places);
    for (const Curve& curve : curves) {
      const std::string text =
          fmt::format("{} \u2264 {:.0f} {}", curve.name, curve.highest, curve.unit);
      // A piece of the curve marks its label: a stage's colour is too pale for text on a light
      // background.
      const float chip = theme.px(14);
      const ImVec2 size_of_text = plot::text_size(font, text);
      plot::LabelPlaces::Place place =
          places.anywhere(ImVec2(chip + size_of_text.x, size_of_text.y), theme.px(kGapSmall));
      const float middle = place.at.y + 0.5F * size_of_text.y;
      frame.draw()->AddLine(ImVec2(place.at.x, middle),
                            ImVec2(place.at.x + chip - theme.px(4), middle), curve.color,
                            theme.px(2));
      place.at.x += chip;
      plot::draw_label(frame.draw(), theme, place, theme.colors.text, text);
    }
    if (frame.hovered() && shown.first < shown.last) {
      const double time = frame.hover_x();
      nearest = shown.first;
      for (std::size_t i = shown.first; i < shown.last; ++i) {
        if (std::abs(static_cast<double>(power.samples[i].time_ns) - time) <
            std::abs(static_cast<double>(power.samples[*nearest].time_ns) - time)) {
          nearest = i;
        }
      }
      const float x = frame.x().to_pixel(static_cast<double>(power.samples[*nearest].time_ns));
      frame.draw()->AddLine(ImVec2(x, frame.min().y), ImVec2(x, frame.max().y),
                            plot::faded(theme.colors.text, 0.6F));
    }
  }
  if (nearest) show_sample(context, power, *nearest, curves);
  if (strip_view_.x != before) {
    timeline_view_.x = strip_view_.x;
    timeline_view_.held = strip_view_.held;
  }
  controls::record(
      context, "performance.power", "clock and power", "plot",
      fmt::format("samples={};shown={};max_w={:.0f};max_mhz={:.0f};method={}", power.samples.size(),
                  shown.last - shown.first, curves[0].highest, curves[1].highest, power.method),
      at, end);
}

}  // namespace app
