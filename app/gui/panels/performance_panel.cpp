// Performance: where the time of the step goes. Everything below the timeline follows its selected
// range.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/panels/card.h"
#include "app/gui/panels/performance_model.h"
#include "app/gui/plot/histogram_plot.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/plot/series_plot.h"

namespace app {
namespace {

class PerformancePanel : public WorkspacePanel {
 public:
  void draw(const PanelContext& context, ImVec2 size) override;

 private:
  void follow_run(const PanelContext& context);
  void draw_figures(const PanelContext& context, float width);
  void draw_timeline_card(const PanelContext& context, ImVec2 size);
  void draw_stage_sums(const PanelContext& context, float width);
  void draw_experts(const PanelContext& context, ImVec2 size);
  void draw_kernels(const PanelContext& context, ImVec2 size);
  void draw_iterations(const PanelContext& context, ImVec2 size);
  void draw_row_histogram(const PanelContext& context, ImVec2 size);
  std::string range_note() const;
  std::string experts_text(char separator) const;

  PerformanceModel model_;
  bool has_run_ = false;
  ThemeKind theme_kind_ = ThemeKind::Dark;
  plot::PlotView timeline_view_;
  plot::PlotView expert_view_;
  plot::PlotView iteration_view_;
  plot::PlotView row_view_;
  plot::TableState table_;
  StaleVeil veil_;
};

void PerformancePanel::follow_run(const PanelContext& context) {
  const SessionView& view = context.view;
  if (!view.run) {
    has_run_ = false;
    return;
  }
  const bool changed = !has_run_ || model_.generation() != view.run_generation;
  if (!changed && theme_kind_ == context.theme.kind) return;
  if (changed) {
    model_.set_run(view.run, view.run_generation);
    // A range of the last run's axis means nothing on this one's.
    timeline_view_.selection.reset();
    timeline_view_.drag_start.reset();
    table_.selected = -1;
    model_.set_row(-1);
  }
  has_run_ = true;
  theme_kind_ = context.theme.kind;
  model_.set_range(timeline_view_.selection, context.theme);
}

std::string PerformancePanel::range_note() const {
  if (!timeline_view_.selection) return "all timed iterations";
  return "selected " + plot::duration_text(timeline_view_.selection->span());
}

void PerformancePanel::draw_figures(const PanelContext& context, float width) {
  const engine::RunResult& result = model_.run().result;
  const profiling::Distribution& step = model_.iterations();
  const double seconds = step.median * 1e-9;
  const auto tokens = static_cast<double>(model_.run().result.effective.shape.tokens);
  const bool graph = result.effective.launch.kind == engine::LaunchKind::GraphReplay;
  std::vector<Figure> figures;
  figures.push_back(
      {.id = "performance.spread",
       .label = graph ? "replay, p5 \u2013 p95" : "step, p5 \u2013 p95",
       .value = {plot::duration(step.p5).text() + " \u2013 " + plot::duration(step.p95).figure,
                 plot::duration(step.p95).unit},
       .note = "",
       .tooltip = fmt::format("Spread over {} timed iterations. Method: {}", step.n,
                              result.iteration_method)});
  figures.push_back({.id = "performance.tokens",
                     .label = "tokens",
                     .value = {plot::si_text(tokens / seconds), "/s"},
                     .note = "",
                     .tooltip = "Routed rows of X divided by the median step"});
  for (const StageSum& sum : model_.stage_sums()) {
    if (sum.stage != engine::Stage::Fprop) continue;
    figures.push_back(
        {.id = "performance.fprop_share",
         .label = "fprop share",
         .value = {fmt::format("{:.1f}", 100.0 * sum.sum_ns / model_.total_ns()), "%"},
         .note = "",
         .tooltip = "Of the summed time of the records in the range"});
  }
  figures.push_back({.id = "performance.records",
                     .label = result.dropped_records > 0 ? "records, some dropped" : "records",
                     .value = {plot::count_text(model_.run().activity.records.size()), ""},
                     .note = result.dropped_records > 0
                                 ? plot::count_text(result.dropped_records) + " dropped"
                                 : std::string(),
                     .tooltip = "Method: " + result.activity_method,
                     .color = result.dropped_records > 0 ? context.theme.colors.warn : 0});
  draw_headline(context, figures, width);
}

void PerformancePanel::draw_stage_sums(const PanelContext& context, float width) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const ImFont* font = theme.fonts.label;
  float x = origin.x;
  const std::string lead = range_note() + ":";
  plot::draw_text(draw, font, ImVec2(x, origin.y), theme.colors.dim_text, lead);
  x += plot::text_size(font, lead).x + theme.px(kGapLarge);
  std::string value;
  for (const StageSum& sum : model_.stage_sums()) {
    const std::string name(engine::stage_name(sum.stage));
    const std::string figure =
        fmt::format("{} ({:.0f} %, n {})", plot::duration_text(sum.sum_ns),
                    100.0 * sum.sum_ns / model_.total_ns(), plot::count_text(sum.records));
    const float wanted = theme.px(14) + plot::text_size(font, name).x + theme.px(kGapSmall) +
                         plot::text_size(font, figure).x;
    value += fmt::format("{}={:.0f};", name, sum.sum_ns);
    if (x + wanted > origin.x + width) continue;
    const float side = theme.px(8);
    const float top = origin.y + 0.5F * (font->FontSize - side);
    draw->AddRectFilled(ImVec2(x, top), ImVec2(x + side, top + side), theme.stage(sum.stage),
                        theme.px(1));
    x += theme.px(14);
    plot::draw_text(draw, font, ImVec2(x, origin.y), theme.colors.dim_text, name);
    x += plot::text_size(font, name).x + theme.px(kGapSmall);
    plot::draw_text(draw, font, ImVec2(x, origin.y), theme.colors.text, figure);
    x += plot::text_size(font, figure).x + theme.px(kGapSection);
  }
  controls::record(context, "performance.stage_sums", "sums by stage", "text", value, origin,
                   ImVec2(origin.x + width, origin.y + font->FontSize));
  ImGui::Dummy(ImVec2(width, font->FontSize));
}

void PerformancePanel::draw_timeline_card(const PanelContext& context, ImVec2 size) {
  const profiling::RecordedRun& run = model_.run();
  Card card(
      context,
      {.id = "performance.timeline_card",
       .title = "Timeline",
       .question = "When did what run? Wheel zooms at the cursor, right drag or Shift+drag pans, "
                   "left drag selects a range, double click or Home shows the timed iterations, "
                   "once more all records.",
       .note = run.result.activity_method,
       .measured = "Records: " + run.result.activity_method +
                   ".\nSpans narrower than 3 pixels are folded into one block with a line "
                   "across; it carries their count and takes the colour of the longest.",
       .text = [this] { return plot::table_text(kernel_columns(), model_.kernel_rows()); },
       .csv = [this] { return plot::table_csv(kernel_columns(), model_.kernel_rows()); }},
      size);
  const ImVec2 room = card.room();
  if (run.activity.records.empty()) {
    if (draw_empty(context, room, "No records",
                   "This run left no activity: " + run.result.activity_method, "performance.again",
                   "Run again")) {
      context.commands.run_now = true;
    }
    return;
  }
  const float sums = context.theme.fonts.label->FontSize + context.theme.px(6);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 plot_size(room.x, room.y - sums);
  const plot::TimelineResult shown = plot::draw_timeline(
      context, "##performance.timeline", plot_size, run.activity, model_.lanes(), timeline_view_);
  if (shown.selection_changed) {
    model_.set_range(timeline_view_.selection, context.theme);
    table_.selected = -1;
    model_.set_row(-1);
  }
  const plot::Range range = timeline_view_.x;
  std::string value = fmt::format("records={};blocks={};from_ns={:.0f};to_ns={:.0f}",
                                  shown.visible_records, shown.drawn_blocks, range.min, range.max);
  if (timeline_view_.selection) {
    value += fmt::format(";selected_from_ns={:.0f};selected_to_ns={:.0f};selected_records={}",
                         timeline_view_.selection->min, timeline_view_.selection->max,
                         model_.records_in_range());
  }
  controls::record(context, "performance.timeline", "timeline", "plot", value, at,
                   ImVec2(at.x + plot_size.x, at.y + plot_size.y));
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + plot_size.y + context.theme.px(4)));
  draw_stage_sums(context, room.x);
}

std::string PerformancePanel::experts_text(char separator) const {
  std::string text = fmt::format("expert{0}tokens{0}n{0}median_ns{0}p5_ns{0}p95_ns\n", separator);
  for (const profiling::ExpertTime& expert : model_.experts()) {
    const auto index = static_cast<std::size_t>(expert.expert);
    const std::vector<std::int64_t>& splits = model_.run().result.splits;
    text += fmt::format("{1}{0}{2}{0}{3}{0}{4:.0f}{0}{5:.0f}{0}{6:.0f}\n", separator, expert.expert,
                        index < splits.size() ? splits[index] : 0, expert.time.n,
                        expert.time.median, expert.time.p5, expert.time.p95);
  }
  return text;
}

void PerformancePanel::draw_experts(const PanelContext& context, ImVec2 size) {
  const Theme& theme = context.theme;
  const engine::RunResult& result = model_.run().result;
  const std::vector<engine::Stage>& stages = model_.expert_stages();
  const float widgets = stages.size() > 1 ? theme.px(74) * static_cast<float>(stages.size()) : 0.0F;
  std::size_t samples = 0;
  for (const profiling::ExpertTime& expert : model_.experts()) {
    samples = std::max(samples, expert.time.n);
  }
  Card card(
      context,
      {.id = "performance.experts_card",
       .title = "Per expert",
       .question = "Which expert takes how long in one iteration, and does it follow its tokens?",
       .note = stages.empty() ? "" : fmt::format("{}, n {}", range_note(), samples),
       .measured = "Sum of an expert's records of one stage in one iteration; bar = median, "
                   "whiskers = p5 to p95 over iterations. Records: " +
                   result.activity_method +
                   ". Where one launch serves all experts, no time is given to any of them.",
       .text = [this] { return experts_text('\t'); },
       .csv = [this] { return experts_text(','); },
       .header_widgets = widgets},
      size);
  if (stages.size() > 1) {
    card.begin_header_widgets();
    int index = static_cast<int>(model_.stage_index());
    std::vector<std::string> names;
    for (const engine::Stage stage : stages) names.emplace_back(engine::stage_name(stage));
    if (controls::segmented(context, "performance.expert_stage", index, names,
                            {.width = widgets - theme.px(kGap)})) {
      model_.set_stage(static_cast<std::size_t>(index), theme);
    }
    card.end_header_widgets();
  }
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  std::string value = "none";
  if (model_.experts().empty()) {
    const bool grouped = result.effective.backend == engine::GemmBackend::CublasLtGrouped;
    draw_empty(context, room, grouped ? "One launch, all experts" : "No time per expert",
               grouped
                   ? "The grouped kernel computes every expert in one launch, so no record belongs "
                     "to a single expert, and a share by FLOP would be a guess. The totals of each "
                     "kernel are in the table beside this. Method: " +
                         result.activity_method + "."
                   : "No record in " + range_note() +
                         " names an expert. Method: " + result.activity_method + ".",
               "", nullptr);
  } else {
    double highest = 0.0;
    for (const plot::Bar& bar : model_.expert_bars()) {
      if (std::isfinite(bar.value)) highest = std::max(highest, bar.high);
    }
    const int hovered = plot::draw_bars(
        context,
        {.id = "##performance.experts",
         .size = room,
         .y = {.kind = plot::AxisKind::Nanoseconds,
               .label = fmt::format("{} / iteration", plot::time_unit(highest).name),
               .limits = {0.0, std::max(highest * 1.1, 1.0)}},
         .x_label = "expert",
         .companion_label = "tokens"},
        model_.expert_bars(), expert_view_);
    value = fmt::format("experts={};stage={}", model_.experts().size(),
                        engine::stage_name(stages[model_.stage_index()]));
    if (hovered >= 0) {
      const plot::Bar& bar = model_.expert_bars()[static_cast<std::size_t>(hovered)];
      std::vector<plot::ReadOutLine> lines = {
          {"tokens", plot::count_text(static_cast<std::uint64_t>(bar.companion)),
           theme.colors.warn},
          {"median", plot::duration_text(bar.value), bar.color},
          {"p5 \u2013 p95",
           plot::duration_text(bar.low) + " \u2013 " + plot::duration_text(bar.high), 0}};
      if (bar.companion > 0.0 && std::isfinite(bar.value)) {
        lines.push_back({"per token", plot::duration_text(bar.value / bar.companion), 0});
      }
      plot::read_out(context, fmt::format("expert {}", hovered), lines);
    }
  }
  controls::record(context, "performance.experts", "time per expert", "plot", value, at,
                   ImVec2(at.x + room.x, at.y + room.y));
}

void PerformancePanel::draw_kernels(const PanelContext& context, ImVec2 size) {
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
      size);
  if (model_.kernel_rows().empty()) {
    draw_empty(context, card.room(), "Nothing starts in this range",
               "Select a wider range in the timeline, or click into it to see the whole run.", "",
               nullptr);
    return;
  }
  if (plot::draw_table(context, "##performance.kernels", kernel_columns(), model_.kernel_rows(),
                       model_.table_generation(), card.room(), table_)) {
    model_.set_row(table_.selected);
    row_view_ = {};
  }
}

void PerformancePanel::draw_iterations(const PanelContext& context, ImVec2 size) {
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
             .note = fmt::format("{}, n {}", result.iteration_method, model_.iterations().n),
             .measured = "Method: " + result.iteration_method + ". The axis starts near the data.",
             .text = [listed] { return listed('\t'); },
             .csv = [listed] { return listed(','); }},
            size);
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const int hovered = plot::draw_duration_series(context,
                                                 {.id = "##performance.iterations",
                                                  .size = room,
                                                  .x_label = graph ? "replay" : "iteration",
                                                  .x_offset = graph ? 1.0 : 0.0,
                                                  .median = model_.iterations().median,
                                                  .color = context.theme.colors.accent},
                                                 model_.iteration_ns(), iteration_view_);
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
      fmt::format("n={};median_ns={:.0f}", model_.iterations().n, model_.iterations().median), at,
      ImVec2(at.x + room.x, at.y + room.y));
}

void PerformancePanel::draw_row_histogram(const PanelContext& context, ImVec2 size) {
  const int shown = std::max(table_.selected, 0);
  const bool any = !model_.kernels().empty();
  const std::string name =
      any ? model_.kernel_rows()[static_cast<std::size_t>(shown)].cells.front().text : "none";
  const auto listed = [this](char separator) {
    std::string text = fmt::format("from_ns{0}to_ns{0}count\n", separator);
    const plot::Bins& bins = model_.row_bins();
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
       .question = "How are the durations of the chosen kernel spread? Two humps mean two regimes.",
       .note = table_.selected >= 0 ? name : name + " (largest sum; click a row for another)",
       .measured = "Durations of the row's records in equal bins, " + range_note() + ".",
       .text = [listed] { return listed('\t'); },
       .csv = [listed] { return listed(','); }},
      size);
  const ImVec2 room = card.room();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (!any || model_.row_bins().counts.empty()) {
    draw_empty(context, room, "No durations", "No record of this row starts in the range.", "",
               nullptr);
    return;
  }
  const plot::Bins& bins = model_.row_bins();
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

void PerformancePanel::draw(const PanelContext& context, ImVec2 size) {
  follow_run(context);
  if (!has_run_) {
    draw_no_run(context, size, "performance");
    return;
  }
  const Theme& theme = context.theme;
  const float gap = theme.px(kGap);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  draw_figures(context, size.x);
  float y = origin.y + headline_height(theme) + gap;
  const float room = origin.y + size.y - y - 2.0F * gap;
  // The timeline needs a row's worth per lane, no more; tables and plots take the rest.
  const float wanted = theme.px(96) + theme.px(26) * static_cast<float>(model_.lanes().rows());
  const float timeline = std::clamp(wanted, std::max(0.26F * room, theme.px(120)), 0.36F * room);
  const float middle = 0.55F * (room - timeline);
  const float bottom = room - timeline - middle;
  const float left = std::floor(0.42F * (size.x - gap));
  const float right = size.x - gap - left;
  const auto place = [&](float x, float top) {
    ImGui::SetCursorScreenPos(ImVec2(std::floor(x), std::floor(top)));
  };
  place(origin.x, y);
  draw_timeline_card(context, ImVec2(size.x, timeline));
  y += timeline + gap;
  place(origin.x, y);
  draw_experts(context, ImVec2(left, middle));
  place(origin.x + left + gap, y);
  draw_kernels(context, ImVec2(right, middle));
  y += middle + gap;
  place(origin.x, y);
  draw_iterations(context, ImVec2(left, bottom));
  place(origin.x + left + gap, y);
  draw_row_histogram(context, ImVec2(right, bottom));
  veil_.draw(context, origin, ImVec2(origin.x + size.x, origin.y + size.y));
}

}  // namespace

std::unique_ptr<WorkspacePanel> make_performance_panel() {
  return std::make_unique<PerformancePanel>();
}

}  // namespace app
