#include "app/gui/panels/replays_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"
#include "app/protocol/shipped_recordings.h"
#include "engine/model/backend_traits.h"
#include "profiling/document/columns.h"
#include "profiling/document/run_tables.h"

namespace app {

bool ReplaysView::tick() { return model_.take() || pulse_.due(model_.deriving()); }

bool ReplaysView::shows(const profiling::RecordedRun& run) const {
  return has_run_ && model_.ready() && &model_.run() == &run;
}

std::uint64_t ReplaysView::chosen_node() const {
  if (!has_run_ || !model_.ready() || !model_.has_graph()) return 0;
  const std::vector<profiling::GraphNode>& nodes = model_.run().activity.nodes;
  const auto row = plot::selected_row(table_, nodes.size());
  return row ? nodes[*row].id : 0;
}

void ReplaysView::choose_node(std::uint64_t id) {
  if (!has_run_ || !model_.ready() || !model_.has_graph()) return;
  const std::vector<profiling::GraphNode>& nodes = model_.run().activity.nodes;
  const auto found =
      id == 0 ? nodes.end() : std::ranges::find(nodes, id, &profiling::GraphNode::id);
  table_.selected = found == nodes.end() ? -1 : static_cast<int>(found - nodes.begin());
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
  const profiling::Distribution& step = model_.iterations().time(context.view.skip_throttled);
  const bool graph = model_.has_graph();
  std::vector<Figure> figures;
  figures.push_back({.id = "graphs.node_count",
                     .label = graph ? "graph nodes" : "pieces of work",
                     .value = {plot::count_text(graph ? model_.run().activity.nodes.size()
                                                      : model_.matrix().rows.size()),
                               ""},
                     .tooltip = "Rows of the heatmap"});
  figures.push_back({.id = "graphs.slowest",
                     .label = "slowest against median",
                     .value = {plot::percent_change(step.maximum / step.median), "%"},
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
  plot::draw_fitted(context, theme.fonts.title, ImVec2(x, top), theme.colors.text, title,
                    text_room);
  plot::draw_fitted(context, theme.fonts.body,
                    ImVec2(x, top + theme.fonts.title->FontSize + theme.px(kGapSmall)),
                    theme.colors.dim_text, sentence, text_room);
  ImGui::SetCursorScreenPos(ImVec2(at.x + size.x - button_width - theme.px(kGapLarge),
                                   at.y + 0.5F * (size.y - theme.px(kRowHeight))));
  if (accent_button(context, "graphs.open_sample", label,
                    {.tooltip = "A recording that ships with the program: graph replays with "
                                "their nodes, no GPU needed to look at it",
                     .width = button_width})) {
    context.commands.push_back(OpenShipped{kExampleRecording});
  }
}

profiling::Table ReplaysView::matrix_list() const {
  const profiling::NodeMatrix& matrix = model_.matrix();
  const int first = first_iteration(model_.has_graph());
  std::vector<profiling::Column> columns = {profiling::column("node")};
  for (int i = 0; i < matrix.iterations; ++i) {
    columns.push_back(profiling::column(std::to_string(i + first), profiling::Measure::Time));
  }
  return {.name = "node_durations",
          .columns = std::move(columns),
          .rows = [this, &matrix](const profiling::RowSink& sink) {
            for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
              profiling::Row made{.cells = profiling::cells_of(model_.row_labels()[row])};
              for (int i = 0; i < matrix.iterations; ++i) {
                made.cells.push_back(profiling::known(
                    static_cast<double>(model_.duration_ns(static_cast<int>(row), i))));
              }
              sink(made);
            }
          }};
}

void ReplaysView::draw_matrix_read_out(const PanelContext& context,
                                       const plot::HeatmapHover& hover) const {
  const profiling::NodeMatrix::Row& row = model_.matrix().rows[static_cast<std::size_t>(hover.row)];
  const float value = model_.duration_ns(hover.row, hover.column);
  std::vector<plot::ReadOutLine> lines = {
      {iteration_noun(model_.has_graph()),
       std::to_string(hover.column + first_iteration(model_.has_graph()))},
      {"stage", std::string(engine::stage_name(row.stage)), context.theme.stage(row.stage)},
      {"duration",
       std::isnan(value) ? "no record" : plot::duration_text(static_cast<double>(value))}};
  if (!std::isnan(value)) {
    lines.push_back({"against the row's median",
                     plot::percent_change(static_cast<double>(value) / row.time.median) + " %"});
  }
  lines.push_back({"row median", plot::duration_text(row.time.median)});
  lines.push_back({"row p5 \u2013 p95", plot::duration_text(row.time.p5) + " \u2013 " +
                                            plot::duration_text(row.time.p95)});
  lines.push_back({"row n", plot::count_text(row.time.n)});
  if (row.expert >= 0) lines.push_back({"expert", std::to_string(row.expert)});
  plot::read_out(context, row.label.size() > 160 ? plot::short_kernel_name(row.label) : row.label,
                 lines);
}

namespace {

std::string timer_words(double step_ns) {
  if (step_ns <= 0.0) return {};
  return fmt::format("; a difference of one step of the timer, {}, counts as none",
                     plot::duration_text(step_ns));
}

}  // namespace

CardSpec ReplaysView::matrix_card(const PanelContext& context) {
  const bool graph = model_.has_graph();
  const profiling::NodeMatrix& matrix = model_.matrix();
  const std::string& method = model_.run().result.activity_method;
  const float widgets = context.theme.px(200);
  const auto choose_scale = [this, &context, widgets] {
    if (controls::segmented(
            context, "graphs.cell_scale", scale_, {"vs row median", "duration"},
            {.tooltip = "What the colours mean", .width = widgets - context.theme.px(kGap)})) {
      model_.set_scale(static_cast<CellScale>(scale_));
    }
  };
  return {.id = "graphs.matrix_card",
          .title = graph ? "Replay x node" : "Eager iteration x work",
          .question =
              "Which node is slow, and in which replay? Columns are replays, rows are nodes in "
              "topological order.",
          .note = method,
          .measured =
              "Duration of each node in each replay, joined by node id, never by order of "
              "records. Without a graph: spans of one stage, layer and expert. Method: " +
              method +
              ". Colours span the 2nd to the 95th percentile when they compare with the "
              "row's median" +
              timer_words(model_.timer_step_ns()) + ".",
          .list = [this] { return matrix_list(); },
          .header_widgets = widgets,
          .header = choose_scale,
          .empty = [&matrix, &method]() -> EmptyState {
            if (!matrix.rows.empty() && matrix.iterations > 0) return {};
            return {"No records to compare",
                    "This run left no activity in its timed iterations. Method: " + method + "."};
          },
          .draw = [this, &context](const Area& room) { draw_matrix(context, room.size); },
          .read_out = {"graphs.matrix", "node durations by replay", [&matrix, graph] {
                         return fmt::format("nodes={};iterations={};graph={}", matrix.rows.size(),
                                            matrix.iterations, graph);
                       }}};
}

void ReplaysView::draw_matrix(const PanelContext& context, ImVec2 size) {
  const plot::Range colors = model_.colors();
  const bool relative = scale_ == 0;
  const plot::HeatmapHover hover = plot::draw_heatmap(
      context,
      {.id = "##graphs.matrix",
       .size = size,
       .x_label = iteration_noun(model_.has_graph()),
       .x_offset = static_cast<double>(first_iteration(model_.has_graph())),
       .row_labels = model_.row_labels(),
       .row_colors = model_.row_colors(),
       .row_margin = model_.row_margin(),
       .margin_title = "median, p95",
       .colors = colors,
       .legend = relative ? "of the row's median" : "duration",
       .legend_ends =
           relative ? std::vector<std::string>{fmt::format("{:.0f} %", 100.0 * colors.min),
                                               fmt::format("{:.0f} % and more", 100.0 * colors.max)}
                    : std::vector<std::string>{plot::duration_text(std::pow(10.0, colors.min)),
                                               plot::duration_text(std::pow(10.0, colors.max))}},
      model_.grid(), model_.grid_generation(), matrix_state_);
  if (hover.inside) draw_matrix_read_out(context, hover);
}

CardSpec ReplaysView::nodes_card() {
  const bool graph = model_.has_graph();
  return {
      .id = "graphs.nodes_card",
      .title = graph ? "Nodes" : "Work",
      .question = graph ? "What is in the captured graph, and which node waits for which?"
                        : "What does one iteration consist of?",
      .note = graph ? "topological order" : "order of first start",
      .measured = graph ? "Nodes and edges as the driver lists them after capture; durations from "
                          "activity records with the same node id."
                        : "Spans of the eager iterations, by stage, layer, expert and name.",
      // Two tables with separate columns: ImGui remembers sorting and widths by id.
      .table = {.id = graph ? "##graphs.nodes" : "##graphs.work",
                .drawn = &model_.nodes_table(),
                .generation = model_.generation(),
                .state = &table_}};
}

CardSpec ReplaysView::checks_card(const PanelContext& context) {
  const std::vector<engine::ReplayCheck>& checks = model_.run().result.replay_checks;
  return {.id = "graphs.checks_card",
          .title = "Replay = eager",
          .question = "Did every replay compute what the eager run computed?",
          .note = model_.checks().sentence,
          .measured =
              "Order-independent checksums of each expert's output bits after a replay, "
              "against those of an eager run of the same request.",
          .list = [this] { return profiling::replay_checks_table(model_.run().result); },
          .empty = [this, &checks]() -> EmptyState {
            if (!checks.empty()) return {};
            return {"Nothing to compare",
                    model_.has_graph() ? "No replay of this run was compared with an eager run."
                                       : "An eager run is its own reference. Replays of a graph "
                                         "are compared here, expert by expert."};
          },
          .draw =
              [this, &context, &checks](const Area& room) {
                draw_replay_checks(context, room.size, model_.check_strip(), checks, check_view_);
              },
          .read_out = {"graphs.checks", "replay equals eager", [this] {
                         return fmt::format("checks={};wrong={}", model_.checks().checks,
                                            model_.checks().wrong);
                       }}};
}

void ReplaysView::draw(const PanelContext& context, ImVec2 size) {
  follow_run(context);
  if (!has_run_) {
    draw_no_run(context, size, "graphs");
    return;
  }
  if (!model_.ready()) {
    draw_sorting(context, size, " by node and replay");
    return;
  }
  const Theme& theme = context.theme;
  const float gap = theme.px(kGap);
  const Area page{ImGui::GetCursorScreenPos(), size};
  draw_figures(context, size.x);
  Area cards = page.below(headline_height(theme) + gap);
  if (!model_.has_graph()) {
    const float banner = theme.px(56);
    ImGui::SetCursorScreenPos(cards.at);
    draw_no_graph(context, ImVec2(cards.size.x, banner));
    cards = cards.below(banner + gap);
  }
  draw_cards(context, cards);
  veil_.draw(context, model_.deriving() ? "sorting the records" : "", page.at, page.end());
}

void ReplaysView::draw_cards(const PanelContext& context, const Area& area) {
  const Theme& theme = context.theme;
  const auto high = [&theme](float height) { return CardPart{theme.px(height), theme.px(height)}; };
  const float width = theme.px(160);
  CardPlan plan{.id = "graphs.stacked", .parts = {high(260), high(200), high(200), high(180)}};
  if (area.size.x >= theme.px(560)) {
    plan = {.id = "graphs.cards",
            .parts = {{0.66F, theme.px(240), {{0.6F, width}, {0.4F, width}}},
                      {0.34F, theme.px(136), {{0.6F, width}, {0.4F, width}}}}};
  }
  const bool replays = model_.has_graph();
  const auto series_card = [&](const Area&) {
    return iterations_card(context, {.id = "graphs.series_card",
                                     .title = replays ? "Replay durations" : "Iteration durations",
                                     .question = "Do replays follow each other at a constant pace?",
                                     .plot_id = "##graphs.series",
                                     .control = "graphs.series",
                                     .label = "duration of each replay",
                                     .replays = replays,
                                     .run = model_.run(),
                                     .series = model_.iterations(),
                                     .generation = model_.grid_generation(),
                                     .view = series_view_});
  };
  board_.draw(
      context, area, plan,
      {[&](const Area&) { return matrix_card(context); }, [&](const Area&) { return nodes_card(); },
       series_card, [&](const Area&) { return checks_card(context); }});
}

}  // namespace app
