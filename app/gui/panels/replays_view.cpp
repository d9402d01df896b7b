#include "app/gui/panels/replays_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/cards/card.h"
#include "app/gui/cards/card_ground.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/measure_words.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/plot/series_plot.h"
#include "engine/model/backend_traits.h"

namespace app {

bool ReplaysView::tick() {
  if (model_.take()) return true;
  if (!model_.deriving()) return false;
  // Long work must become visible even if the mouse does not move.
  const auto now = std::chrono::steady_clock::now();
  if (now - pulse_ < std::chrono::milliseconds(100)) return false;
  pulse_ = now;
  return true;
}

void ReplaysView::follow_run(const PanelContext& context) {
  const SessionView& view = context.view;
  if (!view.run) {
    has_run_ = false;
    return;
  }
  if (!has_run_ || model_.generation() != view.run_generation) {
    model_.set_run(view.run, view.run_generation);
  }
  has_run_ = true;
  if (!model_.ready()) return;
  model_.lay_out(context.theme);
}

void ReplaysView::draw_figures(const PanelContext& context, float width) {
  const Theme& theme = context.theme;
  const engine::RunResult& result = model_.run().result;
  const profiling::Distribution& step = model_.iterations();
  const bool graph = model_.has_graph();
  std::vector<Figure> figures;
  figures.push_back({.id = "graphs.node_count",
                     .label = graph ? "graph nodes" : "pieces of work",
                     .value = {plot::count_text(graph ? model_.run().activity.nodes.size()
                                                      : model_.matrix().rows.size()),
                               ""},
                     .note = "",
                     .tooltip = "Rows of the heatmap"});
  figures.push_back(
      {.id = "graphs.slowest",
       .label = "slowest against median",
       .value = {fmt::format("{:+.1f}", 100.0 * (step.maximum / step.median - 1.0)), "%"},
       .note = "",
       .tooltip = "Longest of the timed iterations"});
  if (model_.checks().checks > 0) {
    figures.push_back(
        {.id = "graphs.checked",
         .label = "replay = eager",
         .value = {model_.checks().wrong == 0
                       ? std::string("all equal")
                       : fmt::format("{} of {} differ", model_.checks().wrong,
                                     model_.checks().checks),
                   ""},
         .note = model_.checks().wrong == 0 ? fmt::format("n {}", model_.checks().checks) : "",
         .tooltip = model_.checks().sentence,
         .color = model_.checks().wrong == 0 ? theme.colors.good : theme.colors.bad});
  }
  if (graph) {
    figures.push_back(
        {.id = "graphs.workspace",
         .label = "workspace",
         .value = {std::string(engine::traits_of(result.effective.workspace).label), ""},
         .note = "",
         .tooltip = "Workspace strategy of the run on screen"});
  }
  draw_headline(context, figures, width);
}

void ReplaysView::draw_no_graph(const PanelContext& context, ImVec2 size) {
  const Theme& theme = context.theme;
  const bool cpu = !engine::traits_of(model_.run().result.effective.backend).device;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled(at, ImVec2(at.x + size.x, at.y + size.y), theme.colors.raised,
                      theme.px(kRounding));
  draw->AddRectFilled(at, ImVec2(at.x + theme.px(3), at.y + size.y), theme.colors.accent,
                      theme.px(kRounding));
  const char* label = "Open the recording made on an H200";
  const float button_width = plot::text_size(theme.fonts.body, label).x + theme.px(32);
  const std::string title = cpu ? "CUDA graphs need a GPU; this run was made on the CPU"
                                : "This run was launched eagerly, without a graph";
  const std::string sentence =
      cpu ? "Below: the same heatmap for the eager iterations of this run, per expert."
          : "Choose graph replay in the rail to capture the step. Below: its eager iterations.";
  const float x = at.x + theme.px(kGapSection);
  const float text_room = size.x - button_width - theme.px(3 * kGapSection);
  const float top = at.y + 0.5F * (size.y - theme.fonts.title->FontSize -
                                   theme.fonts.body->FontSize - theme.px(kGapSmall));
  plot::draw_text(draw, theme.fonts.title, ImVec2(x, top), theme.colors.text,
                  plot::fitted(theme.fonts.title, title, text_room));
  plot::draw_text(draw, theme.fonts.body,
                  ImVec2(x, top + theme.fonts.title->FontSize + theme.px(kGapSmall)),
                  theme.colors.dim_text, plot::fitted(theme.fonts.body, sentence, text_room));
  ImGui::SetCursorScreenPos(ImVec2(at.x + size.x - button_width - theme.px(kGapLarge),
                                   at.y + 0.5F * (size.y - theme.px(kRowHeight))));
  ImGui::PushStyleColor(ImGuiCol_Button, theme.colors.accent);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, plot::faded(theme.colors.accent, 0.85F));
  ImGui::PushStyleColor(ImGuiCol_Text, theme.colors.window);
  if (controls::button(context, "graphs.open_sample", label,
                       {.tooltip = "A recording that ships with the program: graph replays with "
                                   "their nodes, no GPU needed to look at it",
                        .width = button_width})) {
    context.commands.push_back(Action::OpenSample);
  }
  ImGui::PopStyleColor(3);
}

std::string ReplaysView::matrix_list(char separator) const {
  const profiling::NodeMatrix& matrix = model_.matrix();
  std::string text = "node";
  for (int i = 0; i < matrix.iterations; ++i)
    text += fmt::format("{}{}", separator, i + first_number());
  text += '\n';
  for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
    text += model_.row_labels()[row];
    for (int i = 0; i < matrix.iterations; ++i) {
      const float value = model_.duration_ns(static_cast<int>(row), i);
      text += std::isnan(value) ? std::string(1, separator)
                                : fmt::format("{}{:.0f}", separator, static_cast<double>(value));
    }
    text += '\n';
  }
  return text;
}

void ReplaysView::draw_matrix_read_out(const PanelContext& context,
                                       const plot::HeatmapHover& hover) const {
  const profiling::NodeMatrix::Row& row = model_.matrix().rows[static_cast<std::size_t>(hover.row)];
  const float value = model_.duration_ns(hover.row, hover.column);
  std::vector<plot::ReadOutLine> lines = {
      {iteration_noun(), std::to_string(hover.column + first_number()), 0},
      {"stage", std::string(engine::stage_name(row.stage)), context.theme.stage(row.stage)},
      {"duration",
       std::isnan(value) ? "no record" : plot::duration_text(static_cast<double>(value)), 0}};
  if (!std::isnan(value)) {
    lines.push_back(
        {"against the row's median",
         fmt::format("{:+.1f} %", 100.0 * (static_cast<double>(value) / row.time.median - 1.0)),
         0});
  }
  lines.push_back({"row median", plot::duration_text(row.time.median), 0});
  lines.push_back(
      {"row p5 \u2013 p95",
       plot::duration_text(row.time.p5) + " \u2013 " + plot::duration_text(row.time.p95), 0});
  lines.push_back({"row n", plot::count_text(row.time.n), 0});
  if (row.expert >= 0) lines.push_back({"expert", std::to_string(row.expert), 0});
  plot::read_out(context, row.label.size() > 160 ? plot::short_kernel_name(row.label) : row.label,
                 lines);
}

void ReplaysView::draw_matrix(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const Theme& theme = context.theme;
  const bool graph = model_.has_graph();
  const float widgets = theme.px(200);
  Card card(
      context,
      {.id = "graphs.matrix_card",
       .title = graph ? "Replay x node" : "Eager iteration x work",
       .question =
           "Which node is slow, and in which replay? Columns are replays, rows are nodes in "
           "topological order.",
       .note = model_.run().result.activity_method,
       .measured = "Duration of each node in each replay, joined by node id, never by order of "
                   "records. Without a graph: spans of one stage, layer and expert. Method: " +
                   model_.run().result.activity_method +
                   ". Colours span the 2nd to the 95th percentile when they compare with the "
                   "row's median.",
       .text = [this] { return matrix_list('\t'); },
       .csv = [this] { return matrix_list(','); },
       .header_widgets = widgets},
      area.size);
  ;
  card.begin_header_widgets();
  if (controls::segmented(
          context, "graphs.cell_scale", scale_, {"vs row median", "duration"},
          {.tooltip = "What the colours mean", .width = widgets - theme.px(kGap)})) {
    model_.set_scale(static_cast<CellScale>(scale_));
  }
  card.end_header_widgets();
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const profiling::NodeMatrix& matrix = model_.matrix();
  if (matrix.rows.empty() || matrix.iterations == 0) {
    draw_empty(context, room, "No records to compare",
               "This run left no activity in its timed iterations. Method: " +
                   model_.run().result.activity_method + ".",
               "", nullptr);
  } else {
    const plot::Range colors = model_.colors();
    const bool relative = scale_ == 0;
    const plot::HeatmapHover hover = plot::draw_heatmap(
        context,
        {.id = "##graphs.matrix",
         .size = room,
         .x_label = iteration_noun(),
         .x_offset = static_cast<double>(first_number()),
         .row_labels = model_.row_labels(),
         .row_colors = model_.row_colors(),
         .row_margin = model_.row_margin(),
         .margin_title = "median, p95",
         .colors = colors,
         .legend = relative ? "of the row's median" : "duration",
         .legend_ends =
             relative
                 ? std::vector<std::string>{fmt::format("{:.0f} %", 100.0 * colors.min),
                                            fmt::format("{:.0f} % and more", 100.0 * colors.max)}
                 : std::vector<std::string>{plot::duration_text(std::pow(10.0, colors.min)),
                                            plot::duration_text(std::pow(10.0, colors.max))}},
        model_.grid(), model_.grid_generation(), matrix_state_);
    if (hover.inside) draw_matrix_read_out(context, hover);
  }
  controls::record(
      context, "graphs.matrix", "node durations by replay", "plot",
      fmt::format("nodes={};iterations={};graph={}", matrix.rows.size(), matrix.iterations, graph),
      at, ImVec2(at.x + room.x, at.y + room.y));
}

void ReplaysView::draw_nodes(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const bool graph = model_.has_graph();
  Card card(
      context,
      {.id = "graphs.nodes_card",
       .title = graph ? "Nodes" : "Work",
       .question = graph ? "What is in the captured graph, and which node waits for which?"
                         : "What does one iteration consist of?",
       .note = graph ? "topological order" : "order of first start",
       .measured = graph ? "Nodes and edges as the driver lists them after capture; durations from "
                           "activity records with the same node id."
                         : "Spans of the eager iterations, by stage, layer, expert and name.",
       .text = [this] { return plot::table_text(model_.node_columns(), model_.node_rows()); },
       .csv = [this] { return plot::table_csv(model_.node_columns(), model_.node_rows()); }},
      area.size);
  ;
  // Two tables with separate columns: ImGui remembers sorting and widths by id.
  plot::draw_table(context, graph ? "##graphs.nodes" : "##graphs.work", model_.node_columns(),
                   model_.node_rows(), model_.generation(), card.room(), table_);
}

void ReplaysView::draw_series(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const engine::RunResult& result = model_.run().result;
  const auto listed = [this](char separator) {
    std::string text = fmt::format("{}{}duration_ns\n", iteration_noun(), separator);
    for (std::size_t i = 0; i < model_.iteration_ns().size(); ++i) {
      text += fmt::format("{}{}{:.0f}\n", i + static_cast<std::size_t>(first_number()), separator,
                          model_.iteration_ns()[i]);
    }
    return text;
  };
  Card card(context,
            {.id = "graphs.series_card",
             .title = model_.has_graph() ? "Replay durations" : "Iteration durations",
             .question = "Do replays follow each other at a constant pace?",
             .note = fmt::format("{}, n {}, {}", conditions_text(result.effective.measure),
                                 model_.iterations().n, result.iteration_method),
             .measured = "Method: " + result.iteration_method + ". The axis starts near the data.",
             .text = [listed] { return listed('\t'); },
             .csv = [listed] { return listed(','); }},
            area.size);
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const int hovered = plot::draw_duration_series(context,
                                                 {.id = "##graphs.series",
                                                  .size = room,
                                                  .x_label = iteration_noun(),
                                                  .generation = model_.grid_generation(),
                                                  .x_offset = static_cast<double>(first_number()),
                                                  .median = model_.iterations().median,
                                                  .color = context.theme.colors.accent},
                                                 model_.iteration_series(), series_view_);
  if (hovered >= 0) {
    const double value = model_.iteration_ns()[static_cast<std::size_t>(hovered)];
    plot::read_out(
        context, fmt::format("{} {}", iteration_noun(), hovered + first_number()),
        {{"duration", plot::duration_text(value), 0},
         {"against the median",
          fmt::format("{:+.1f} %", 100.0 * (value / model_.iterations().median - 1.0)), 0}});
  }
  controls::record(
      context, "graphs.series", "duration of each replay", "plot",
      fmt::format("n={};median_ns={:.0f};conditions={}", model_.iterations().n,
                  model_.iterations().median, conditions_text(result.effective.measure)),
      at, ImVec2(at.x + room.x, at.y + room.y));
}

void ReplaysView::draw_checks(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const std::vector<engine::ReplayCheck>& checks = model_.run().result.replay_checks;
  const auto listed = [&checks](char separator) {
    std::string text = fmt::format("replay{0}layer{0}product{0}wrong_experts\n", separator);
    for (const engine::ReplayCheck& check : checks) {
      text += fmt::format("{1}{0}{2}{0}{3}{0}{4}\n", separator, check.replay, check.layer,
                          engine::output_name(check.product), fmt::join(check.wrong_experts, " "));
    }
    return text;
  };
  Card card(context,
            {.id = "graphs.checks_card",
             .title = "Replay = eager",
             .question = "Did every replay compute what the eager run computed?",
             .note = model_.checks().sentence,
             .measured = "Order-independent checksums of each expert's output bits after a replay, "
                         "against those of an eager run of the same request.",
             .text = [listed] { return listed('\t'); },
             .csv = [listed] { return listed(','); }},
            area.size);
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (checks.empty()) {
    draw_empty(context, room, "Nothing to compare",
               model_.has_graph() ? "No replay of this run was compared with an eager run."
                                  : "An eager run is its own reference. Replays of a graph are "
                                    "compared here, expert by expert.",
               "", nullptr);
  } else {
    draw_replay_checks(context, room, model_.check_strip(), checks, check_view_);
  }
  controls::record(context, "graphs.checks", "replay equals eager", "plot",
                   fmt::format("checks={};wrong={}", model_.checks().checks, model_.checks().wrong),
                   at, ImVec2(at.x + room.x, at.y + room.y));
}

void ReplaysView::draw(const PanelContext& context, ImVec2 size) {
  follow_run(context);
  if (!has_run_) {
    draw_no_run(context, size, "graphs");
    return;
  }
  if (!model_.ready()) {
    draw_empty(context, size, "Preparing the recording",
               fmt::format("Sorting {} records by node and replay.",
                           plot::count_text(context.view.run->activity.records.size())),
               "", nullptr);
    return;
  }
  const Theme& theme = context.theme;
  const float gap = theme.px(kGap);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  draw_figures(context, size.x);
  const float top = origin.y + headline_height(theme) + gap;
  Area cards{ImVec2(origin.x, top), ImVec2(size.x, origin.y + size.y - top)};
  if (!model_.has_graph()) {
    const float banner = theme.px(56);
    const std::vector<Area> parts = rows_of(cards, gap, {banner, cards.size.y - gap - banner});
    ImGui::SetCursorScreenPos(parts[0].at);
    draw_no_graph(context, parts[0].size);
    cards = parts[1];
  }
  draw_cards(context, cards);
  veil_.draw(context, model_.deriving() ? "sorting the records" : "", origin,
             ImVec2(origin.x + size.x, origin.y + size.y));
}

void ReplaysView::draw_cards(const PanelContext& context, const Area& area) {
  const float gap = context.theme.px(kGap);
  const CardGround ground(context, "##graphs.cards", area,
                          {.width = 560, .height = 400, .stacked_height = 860});
  if (ground.stacked()) {
    const std::vector<Area> rows = rows_of(ground.area(), gap, {260.0F, 200.0F, 200.0F, 180.0F});
    draw_matrix(context, rows[0]);
    draw_nodes(context, rows[1]);
    draw_series(context, rows[2]);
    draw_checks(context, rows[3]);
    return;
  }
  const std::vector<Area> rows = rows_of(ground.area(), gap, {0.66F, 0.34F});
  const std::vector<Area> upper = columns_of(rows[0], gap, {0.6F, 0.4F});
  const std::vector<Area> lower = columns_of(rows[1], gap, {0.6F, 0.4F});
  draw_matrix(context, upper[0]);
  draw_nodes(context, upper[1]);
  draw_series(context, lower[0]);
  draw_checks(context, lower[1]);
}

}  // namespace app
