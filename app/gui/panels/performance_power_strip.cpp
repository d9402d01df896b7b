// Clock and power under the timeline, on its axis: what limited the device while the kernels ran.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/performance_panel.h"
#include "app/gui/plot/iteration_words.h"
#include "app/gui/plot/marks.h"
#include "app/gui/plot/plot_text.h"
#include "app/plot/ticks.h"
#include "profiling/document/run_tables.h"
#include "profiling/export/csv.h"
#include "profiling/power/power_refreshes.h"
#include "profiling/power/step_times.h"

namespace app {
namespace {

using profiling::PowerSample;

// Height of the strip relative to its highest sample.
constexpr double kHeadroom = 1.08;

struct Curve {
  const char* name;
  const char* column;  // key of its column in power_table()
  const char* unit;
  double (*value)(const PowerSample&);  // negative = the device did not report it
  ImU32 color;
  double highest = 0.0;     // of the whole run: the height of the strip
  double timed = -1.0;      // the highest in the timed iterations; negative = no sample is in them
  std::string refreshed{};  // "about every 100 ms", where readings repeat its value
};

/// "power (updates about every 100 ms), highest 735 W in the timed iterations, 875 W in the whole
/// run"
std::string label_of(const Curve& curve) {
  const std::string name = curve.refreshed.empty()
                               ? curve.name
                               : fmt::format("{} (updates {})", curve.name, curve.refreshed);
  if (curve.timed < 0.0) {
    return fmt::format("{}, highest {:.0f} {} in the whole run", name, curve.highest, curve.unit);
  }
  const std::string timed = fmt::format("{:.0f} {}", curve.timed, curve.unit);
  const std::string whole = fmt::format("{:.0f} {}", curve.highest, curve.unit);
  return timed == whole ? fmt::format("{}, highest {} (timed iterations)", name, timed)
                        : fmt::format("{}, highest {} in the timed iterations, {} in the whole run",
                                      name, timed, whole);
}

/// The samples around a view: one more on each side, so that lines reach both of its edges.
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

/// The samples that are shown, as ranges where several share a pixel. The height is 1 at the
/// highest of the run.
plot::Line line_of(const plot::PlotFrame& frame, const std::vector<PowerSample>& samples,
                   Visible shown, const Curve& curve) {
  plot::Line line{.color = curve.color, .width = 1.5F, .name = label_of(curve)};
  const auto pixels = static_cast<std::size_t>(std::max(frame.max().x - frame.min().x, 1.0F));
  const std::size_t stride = std::max<std::size_t>((shown.last - shown.first) / pixels, 1);
  const double highest = std::max(curve.highest, 1.0);
  // A slope between two readings would claim what nobody read.
  line.stepped = stride == 1;
  for (std::size_t i = shown.first; i < shown.last; i += stride) {
    plot::Range range = plot::kNoValues;
    for (std::size_t j = i; j < std::min(i + stride, shown.last); ++j) {
      const double value = curve.value(samples[j]);
      if (value >= 0.0) range = plot::widened(range, value);
    }
    const auto time = static_cast<double>(samples[i].time_ns);
    // Where nothing was reported the range is infinite, and the line is interrupted.
    line.points.push_back({time, range.max / highest});
    if (stride > 1) line.points.push_back({time, range.min / highest});
  }
  return line;
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

/// Where something limited the clock, and what.
plot::Spans limits_of(const PanelContext& context, const std::vector<PowerSample>& samples,
                      Visible shown) {
  plot::Spans limits{.color = context.theme.colors.warn, .kind = plot::Spans::Kind::Foot};
  std::uint64_t reasons = 0;
  for (std::size_t i = shown.first; i + 1 < shown.last; ++i) {
    const std::uint64_t limiting = samples[i].clock_reasons & profiling::kThrottleReasons;
    if (limiting == 0) continue;
    reasons |= limiting;
    limits.ranges.push_back(
        {static_cast<double>(samples[i].time_ns), static_cast<double>(samples[i + 1].time_ns)});
  }
  limits.name = throttled_words(reasons);
  return limits;
}

/// The reading that holds at this time: the last one until then.
const PowerSample* reading_at(std::span<const PowerSample> samples, double time) {
  const auto after = std::ranges::upper_bound(samples, time, {}, [](const PowerSample& sample) {
    return static_cast<double>(sample.time_ns);
  });
  if (samples.empty()) return nullptr;
  return after == samples.begin() ? &*after : &*std::prev(after);
}

void show_sample(const PanelContext& context, const PowerSample& sample,
                 std::span<const engine::Iteration> iterations, std::span<const Curve> curves) {
  plot::ChipColors chips;
  for (const Curve& curve : curves) chips.emplace_back(curve.column, curve.color);
  const double time = static_cast<double>(sample.time_ns);
  std::vector<plot::ReadOutLine> lines = plot::row_lines(
      profiling::power_table({&sample, 1}, iterations), 0, context.theme.colors, chips);
  const std::string& refreshed = curves.front().refreshed;
  if (!refreshed.empty()) {
    lines.push_back({"the power sensor refreshes", refreshed});
    lines.push_back({"power of a shorter step", "unknown"});
  }
  plot::read_out(context, "reading of clock and power at " + plot::duration_text(time), lines);
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
  context.commands.push_back(CsvOrder{
      "performance-power",
      profiling::csv_text(profiling::power_table(power.samples, model_.run().result.iterations))});
}

void PerformancePanel::draw_power_strip(const PanelContext& context, ImVec2 size,
                                        PixelSpan time_axis) {
  const profiling::PowerTrace& power = model_.run().power;
  const Theme& theme = context.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 end(at.x + size.x, at.y + size.y);
  if (power.samples.empty()) {
    if (power.missing.empty()) return;
    const std::string text = "No clock and power: " + power.missing;
    draw_text_line(context, {at, size},
                   {.id = "performance.power",
                    .label = "clock and power",
                    .text = text,
                    .color = theme.colors.dim_text});
    return;
  }
  Curve curves[] = {{"power", "power_w", "W", [](const PowerSample& s) { return s.power_w; },
                     theme.stage(engine::Stage::Fprop)},
                    {"SM clock", "sm_clock_mhz", "MHz",
                     [](const PowerSample& s) { return static_cast<double>(s.sm_clock_mhz); },
                     theme.stage(engine::Stage::Amax)}};
  const std::vector<engine::Iteration>& iterations = model_.run().result.iterations;
  const profiling::TimeSpan timed = profiling::timed_span(iterations);
  curves[0].refreshed = profiling::refresh_interval_text(model_.picture().refreshes);
  for (Curve& curve : curves) {
    for (const PowerSample& sample : power.samples) {
      const double value = curve.value(sample);
      curve.highest = std::max(curve.highest, value);
      if (timed.holds(sample.time_ns)) curve.timed = std::max(curve.timed, value);
    }
  }
  // Shares the timeline's view in both directions; its selection and drags stay separate.
  strip_view_.x = timeline_view_.x;
  strip_view_.held = timeline_view_.held;
  strip_view_.selection = timeline_view_.selection;
  const plot::Range before = strip_view_.x;
  Visible shown;
  const PowerSample* held = nullptr;
  std::string named_limits;
  {
    plot::PlotFrame frame(
        context,
        {.id = "##performance.power",
         .size = size,
         .x = {.kind = plot::AxisKind::Nanoseconds,
               .limits = model_.lanes().limits,
               .ticks = false,
               .fit = model_.lanes().timed,
               .first = model_.lanes().step},
         .y = {.kind = plot::AxisKind::Number, .limits = {0.0, kHeadroom}, .ticks = false},
         .selectable = false,
         .min_span = 20.0,
         .left_margin = time_axis.left - at.x,
         .right_margin = std::max(end.x - time_axis.right, 1.0F)},
        strip_view_);
    shown = visible(power.samples, frame.x().view);
    plot::Spans limits = limits_of(context, power.samples, shown);
    named_limits = limits.ranges.empty() ? "" : limits.name;
    plot::draw_marks(context, frame,
                     {std::move(limits), line_of(frame, power.samples, shown, curves[1]),
                      line_of(frame, power.samples, shown, curves[0])});
    draw_axis(context, frame, curves[0], true);
    draw_axis(context, frame, curves[1], false);
    if (frame.hovered() && shown.first < shown.last) {
      held = reading_at(power.samples, frame.hover_x());
      plot::draw_marks(context, frame,
                       {plot::Rule{.at = static_cast<double>(held->time_ns),
                                   .color = plot::faded(theme.colors.text, 0.6F),
                                   .upright = true}});
    }
  }
  if (held != nullptr) show_sample(context, *held, iterations, curves);
  if (strip_view_.x != before) {
    timeline_view_.x = strip_view_.x;
    timeline_view_.held = strip_view_.held;
  }
  controls::record(
      context, "performance.power", "clock and power", "plot",
      fmt::format("samples={};shown={};max_w={:.0f};max_mhz={:.0f};limits={};method={};label={}",
                  power.samples.size(), shown.last - shown.first, curves[0].highest,
                  curves[1].highest, named_limits, power.method, label_of(curves[0])),
      at, end);
}

}  // namespace app
