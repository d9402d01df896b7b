// Kernels, the iterations of the run, and the durations of one kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/measure_words.h"
#include "app/gui/panels/performance_panel.h"
#include "app/gui/plot/histogram_plot.h"
#include "app/gui/plot/series_plot.h"

namespace app {

void PerformancePanel::draw_kernels(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  Card card(
      context,
      {.id = "performance.kernels_card",
       .title = "Kernels",
       .question = "Which kernels or spans take the time? A click on a row shows its durations.",
       .note = range_note(),
       .measured = "Records that start in the range, by name and stage. Quantiles interpolate "
                   "linearly between samples. Records: " +
                   model_.run().result.activity_method,
       .text = [this] { return plot::table_text(kernel_columns(), model_.kernel_rows()); },
       .csv = [this] { return plot::table_csv(kernel_columns(), model_.kernel_rows()); }},
      area.size);
  ;
  if (model_.kernel_rows().empty()) {
    draw_empty(context, card.room(), "Nothing starts in this range",
               "Select a wider range in the timeline, or click into it to see the whole run.", "",
               nullptr);
    return;
  }
  if (plot::draw_table(context, "##performance.kernels", kernel_columns(), model_.kernel_rows(),
                       model_.table_generation(), card.room(), table_)) {
    row_view_ = {};
  }
}

void PerformancePanel::draw_iterations(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const engine::RunResult& result = model_.run().result;
  const bool graph = result.effective.launch.kind == engine::LaunchKind::GraphReplay;
  const std::size_t first = graph ? 1 : 0;  // replays count from 1, as the checks do
  const auto listed = [this, first, graph](char separator) {
    std::string text = fmt::format("{}{}duration_ns\n", graph ? "replay" : "iteration", separator);
    for (std::size_t i = 0; i < model_.iteration_ns().size(); ++i) {
      text += fmt::format("{}{}{:.0f}\n", i + first, separator, model_.iteration_ns()[i]);
    }
    return text;
  };
  Card card(context,
            {.id = "performance.iterations_card",
             .title = graph ? "Replays" : "Iterations",
             .question = "Is the step steady, or does it drift and jump?",
             .note = fmt::format("{}, n {}, {}", conditions_text(result.effective.measure),
                                 model_.iterations().n, result.iteration_method),
             .measured = "Method: " + result.iteration_method + ". The axis starts near the data.",
             .text = [listed] { return listed('\t'); },
             .csv = [listed] { return listed(','); }},
            area.size);
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const int hovered = plot::draw_duration_series(context,
                                                 {.id = "##performance.iterations",
                                                  .size = room,
                                                  .x_label = graph ? "replay" : "iteration",
                                                  .generation = model_.derived(),
                                                  .x_offset = graph ? 1.0 : 0.0,
                                                  .median = model_.iterations().median,
                                                  .color = context.theme.colors.accent},
                                                 model_.iteration_series(), iteration_view_);
  if (hovered >= 0) {
    const double value = model_.iteration_ns()[static_cast<std::size_t>(hovered)];
    plot::read_out(
        context, fmt::format("{} {}", graph ? "replay" : "iteration", hovered + (graph ? 1 : 0)),
        {{"duration", plot::duration_text(value), 0},
         {"against the median",
          fmt::format("{:+.1f} %", 100.0 * (value / model_.iterations().median - 1.0)), 0}});
  }
  controls::record(
      context, "performance.iterations", "duration of each iteration", "plot",
      fmt::format("n={};median_ns={:.0f};conditions={}", model_.iterations().n,
                  model_.iterations().median, conditions_text(result.effective.measure)),
      at, ImVec2(at.x + room.x, at.y + room.y));
}

void PerformancePanel::draw_row_histogram(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const int shown = std::max(table_.selected, 0);
  const bool any = !model_.kernels().empty();
  const std::string name =
      any ? model_.kernel_rows()[static_cast<std::size_t>(shown)].cells.front().text : "none";
  const auto listed = [this](char separator) {
    std::string text = fmt::format("from_ns{0}to_ns{0}count\n", separator);
    const plot::Bins& bins = model_.row_bins(table_.selected);
    for (std::size_t i = 0; i < bins.counts.size(); ++i) {
      text += fmt::format("{1:.1f}{0}{2:.1f}{0}{3:.0f}\n", separator, bins.edges[i],
                          bins.edges[i + 1], bins.counts[i]);
    }
    return text;
  };
  Card card(
      context,
      {.id = "performance.durations_card",
       .title = "Durations",
       .question =
           "How are the durations of the chosen kernel distributed? Two humps mean two regimes.",
       .note = table_.selected >= 0 ? name : name + " (largest sum; click a row for another)",
       .measured = "Durations of the row's records in equal bins, " + range_note() + ".",
       .text = [listed] { return listed('\t'); },
       .csv = [listed] { return listed(','); }},
      area.size);
  ;
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (!any || model_.row_bins(table_.selected).counts.empty()) {
    draw_empty(context, room, "No durations", "No record of this row starts in the range.", "",
               nullptr);
    return;
  }
  const plot::Bins& bins = model_.row_bins(table_.selected);
  const plot::Range limits = plot::histogram_limits({&bins}, plot::AxisKind::Nanoseconds);
  const engine::Stage stage = model_.kernels()[static_cast<std::size_t>(shown)].stage;
  plot::HistogramSpec spec;
  spec.id = "##performance.durations";
  spec.size = room;
  spec.x.kind = plot::AxisKind::Nanoseconds;
  spec.x.limits = limits;
  spec.y_label = "records / bin";
  spec.per_bin = true;
  spec.end_bins = false;
  const plot::HistogramSeries series{
      .name = name, .color = context.theme.stage(stage), .bins = &bins};
  plot::draw_histogram(context, spec, {series}, row_view_);
  controls::record(context, "performance.durations", "durations of one row", "plot",
                   fmt::format("row={};n={:.0f}", name, bins.total()), at,
                   ImVec2(at.x + room.x, at.y + room.y));
}

}  // namespace app
