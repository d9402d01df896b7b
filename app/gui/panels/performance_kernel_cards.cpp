// Kernels, and the durations of one kernel.
#include <fmt/format.h>

#include <algorithm>

#include "app/gui/panels/performance_panel.h"
#include "app/gui/plot/histogram_plot.h"

namespace app {

CardSpec PerformancePanel::kernels_card() {
  return {.id = "performance.kernels_card",
          .title = "Kernels",
          .question = "Which kernels or spans take the time? A click on a row shows its durations.",
          .note = range_note(),
          .measured =
              "Records that start in the range, by name and stage. Quantiles interpolate "
              "linearly between samples. Records: " +
              model_.run().result.activity_method,
          .table = {.id = "##performance.kernels",
                    .columns = kernel_columns(),
                    .rows = &model_.kernel_rows(),
                    .generation = model_.table_generation(),
                    .state = &table_,
                    .chosen = [this] { row_view_ = {}; }},
          .empty = [this]() -> EmptyState {
            if (!model_.kernel_rows().empty()) return {};
            return {"Nothing starts in this range",
                    "Select a wider range in the timeline, or click into it to see the whole run."};
          }};
}

std::string PerformancePanel::durations_list() const {
  std::string text = "from_ns\tto_ns\tcount\n";
  const plot::Bins& bins = model_.row_bins(table_.selected);
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    text +=
        fmt::format("{:.1f}\t{:.1f}\t{:.0f}\n", bins.edges[i], bins.edges[i + 1], bins.counts[i]);
  }
  return text;
}

CardSpec PerformancePanel::durations_card(const PanelContext& context) {
  const auto shown = static_cast<std::size_t>(std::max(table_.selected, 0));
  const std::string name = model_.kernels().empty()
                               ? std::string("none")
                               : model_.kernel_rows()[shown].cells.front().text;
  return {.id = "performance.durations_card",
          .title = "Durations",
          .question =
              "How are the durations of the chosen kernel distributed? Two humps mean two regimes.",
          .note = table_.selected >= 0 ? name : name + " (largest sum; click a row for another)",
          .measured = "Durations of the row's records in equal bins, " + range_note() + ".",
          .list = [this] { return durations_list(); },
          .empty = [this]() -> EmptyState {
            if (!model_.row_bins(table_.selected).counts.empty()) return {};
            return {"No durations", "No record of this row starts in the range."};
          },
          .draw =
              [this, &context, name, shown](const Area& room) {
                const plot::Bins& bins = model_.row_bins(table_.selected);
                const plot::HistogramSpec spec{
                    .id = "##performance.durations",
                    .size = room.size,
                    .x = {.kind = plot::AxisKind::Nanoseconds,
                          .limits = plot::histogram_limits({&bins}, plot::AxisKind::Nanoseconds)},
                    .y_label = "records / bin",
                    .per_bin = true,
                    .end_bins = false};
                const ImU32 color = context.theme.stage(model_.kernels()[shown].stage);
                plot::draw_histogram(context, spec, {{.name = name, .color = color, .bins = &bins}},
                                     row_view_);
              },
          .read_out = {"performance.durations", "durations of one row", [this, name] {
                         return fmt::format("row={};n={:.0f}", name,
                                            model_.row_bins(table_.selected).total());
                       }}};
}

}  // namespace app
