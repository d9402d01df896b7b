#include "app/gui/panels/iterations_card.h"

#include <fmt/format.h>

namespace app {
namespace {

/// "warm, sustained", "cold, burst": two runs under different conditions are not the same
/// measurement.
std::string conditions_text(const engine::MeasureOptions& measure) {
  return fmt::format("{}, {}", measure.cache == engine::CacheMode::Cold ? "cold" : "warm",
                     measure.pace == engine::Pace::Burst ? "burst" : "sustained");
}

std::string durations_list(const IterationsCard& card) {
  std::string text = fmt::format("{}\tduration_ns\n", iteration_noun(card.replays));
  int number = first_iteration(card.replays);
  for (const double ns : card.series.ns.values) text += fmt::format("{}\t{:.0f}\n", number++, ns);
  return text;
}

void draw_durations(const PanelContext& context, const IterationsCard& card, ImVec2 size) {
  const char* noun = iteration_noun(card.replays);
  const int first = first_iteration(card.replays);
  const double median = card.series.time.median;
  const int hovered = plot::draw_duration_series(context,
                                                 {.id = card.plot_id,
                                                  .size = size,
                                                  .x_label = noun,
                                                  .generation = card.generation,
                                                  .x_offset = static_cast<double>(first),
                                                  .median = median,
                                                  .color = context.theme.colors.accent},
                                                 card.series.ns, card.view);
  if (hovered < 0) return;
  const double value = card.series.ns.values[static_cast<std::size_t>(hovered)];
  plot::read_out(context, fmt::format("{} {}", noun, hovered + first),
                 {{"duration", plot::duration_text(value)},
                  {"against the median", plot::percent_change(value / median) + " %"}});
}

}  // namespace

std::vector<double> durations_ns(const engine::RunResult& result) {
  std::vector<double> ns;
  ns.reserve(result.iterations.size());
  for (const engine::Iteration& iteration : result.iterations) {
    ns.push_back(static_cast<double>(iteration.duration_ns));
  }
  return ns;
}

IterationSeries iteration_series(const engine::RunResult& result) {
  std::vector<double> ns = durations_ns(result);
  IterationSeries series{.ns = {}, .time = profiling::summarize(ns)};
  series.ns = plot::fold_series(std::move(ns));
  return series;
}

CardSpec iterations_card(const PanelContext& context, const IterationsCard& card) {
  const std::string conditions = conditions_text(card.result.effective.measure);
  const profiling::Distribution& time = card.series.time;
  return {
      .id = card.id,
      .title = card.title,
      .question = card.question,
      .note = fmt::format("{}, n {}, {}", conditions, time.n, card.result.iteration_method),
      .measured = "Method: " + card.result.iteration_method + ". The axis starts near the data.",
      .list = [card] { return durations_list(card); },
      .draw = [&context, card](const Area& room) { draw_durations(context, card, room.size); },
      .read_out = {card.control, card.label, [conditions, &time] {
                     return fmt::format("n={};median_ns={:.0f};conditions={}", time.n, time.median,
                                        conditions);
                   }}};
}

}  // namespace app
