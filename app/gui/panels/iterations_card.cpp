#include "app/gui/panels/iterations_card.h"

#include <fmt/format.h>

#include "app/gui/controls/widgets.h"
#include "profiling/document/columns.h"

namespace app {
namespace {

/// "warm, sustained", "cold, burst": two runs under different conditions are not the same
/// measurement.
std::string conditions_text(const engine::MeasureOptions& measure) {
  return fmt::format("{}, {}", measure.cache == engine::CacheMode::Cold ? "cold" : "warm",
                     measure.pace == engine::Pace::Burst ? "burst" : "sustained");
}

profiling::Table durations_table(const IterationsCard& card) {
  using profiling::column;
  using profiling::Measure;
  return {.name = "iterations",
          .columns = {column(iteration_noun(card.replays), Measure::Count),
                      column("duration_ns", Measure::Time, "duration"), column("throttled")},
          .rows = [&series = card.series,
                   first = first_iteration(card.replays)](const profiling::RowSink& sink) {
            const std::vector<bool>& throttled = series.times.throttled;
            for (std::size_t i = 0; i < series.ns.values.size(); ++i) {
              sink({.cells = profiling::cells_of(
                        first + static_cast<int>(i), series.ns.values[i],
                        throttled.empty() ? profiling::Cell()
                                          : profiling::worded(throttled[i] ? 1 : 0,
                                                              throttled[i] ? "yes" : "no"))});
            }
          }};
}

void draw_durations(const PanelContext& context, const IterationsCard& card, ImVec2 size) {
  const char* noun = iteration_noun(card.replays);
  const int first = first_iteration(card.replays);
  const profiling::StepTimes& times = card.series.times;
  const double median = card.series.time(context.view.skip_throttled).median;
  const int hovered = plot::draw_duration_series(context,
                                                 {.id = card.plot_id,
                                                  .size = size,
                                                  .x_label = noun,
                                                  .generation = card.generation,
                                                  .x_offset = static_cast<double>(first),
                                                  .median = median,
                                                  .color = context.theme.colors.accent,
                                                  .marked = &times.throttled,
                                                  .mark_color = context.theme.colors.warn,
                                                  .mark_name = throttled_words(times.reasons)},
                                                 card.series.ns, card.view);
  if (hovered < 0) return;
  const auto index = static_cast<std::size_t>(hovered);
  const double value = card.series.ns.values[index];
  std::vector<plot::ReadOutLine> lines = {
      {"duration", plot::duration_text(value)},
      {"against the median", plot::percent_change(value / median) + " %"}};
  if (times.throttled_count > 0 && times.throttled[index]) {
    lines.push_back(
        {"throttled by", profiling::clock_reason_names(times.reasons), context.theme.colors.warn});
  }
  plot::read_out(context, fmt::format("{} {}", noun, hovered + first), lines);
}

constexpr const char* kSkip = "skip throttled";
constexpr float kSkipWidth = 130;

void draw_skip_throttled(const PanelContext& context, const IterationsCard& card) {
  bool skip = context.view.skip_throttled;
  const std::string id = fmt::format("{}.skip_throttled", card.control);
  if (controls::checkbox(
          context, id.c_str(), kSkip, skip,
          {.enabled = card.series.times.mixed(),
           .reason = fmt::format("All {} were throttled", card.series.times.throttled_count),
           .tooltip = fmt::format(
               "Leaves the {} of {} {}s during which the device was throttled ({}) out of median, "
               "spread and rates of the step. Times of kernels and experts include them",
               card.series.times.throttled_count, card.series.times.durations_ns.size(),
               iteration_noun(card.replays),
               profiling::clock_reason_names(card.series.times.reasons)),
           .width = -1})) {
    context.commands.push_back(SkipThrottled{skip});
  }
}

}  // namespace

IterationSeries iteration_series(const profiling::RecordedRun& run) {
  IterationSeries series;
  series.times = profiling::step_times(run.result.iterations, run.power.samples);
  series.all = profiling::summarize(series.times.durations_ns);
  series.counted = profiling::summarize(series.times.counted_ns(true));
  series.ns = plot::fold_series(series.times.durations_ns);
  return series;
}

CardSpec iterations_card(const PanelContext& context, const IterationsCard& card) {
  const engine::RunResult& result = card.run.result;
  const std::string conditions = conditions_text(result.effective.measure);
  const bool skip = context.view.skip_throttled;
  const profiling::Distribution& time = card.series.time(skip);
  const bool choice = card.series.times.throttled_count > 0;
  return {
      .id = card.id,
      .title = card.title,
      .question = card.question,
      .note = fmt::format("{} \u00b7 {} \u00b7 {}", profiling::sample_text(card.series.times, skip),
                          conditions, result.iteration_method),
      .measured =
          "Method: " + result.iteration_method +
          ". The axis starts near the data. Marked at the bottom: NVML's reading before, in "
          "or after it (50 per second) reports throttling by power, heat or a brake.",
      .list = [card] { return durations_table(card); },
      .header_widgets = choice ? context.theme.px(kSkipWidth) : 0.0F,
      .header =
          choice ? std::function<void()>([&context, card] { draw_skip_throttled(context, card); })
                 : nullptr,
      .draw = [&context, card](const Area& room) { draw_durations(context, card, room.size); },
      .read_out = {card.control, card.label,
                   [conditions, &time, throttled = card.series.times.throttled_count] {
                     return fmt::format("n={};median_ns={:.0f};conditions={};throttled={}", time.n,
                                        time.median, conditions, throttled);
                   }}};
}

}  // namespace app
