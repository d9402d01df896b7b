// Layout, figures, kernels and state of the Performance page; its other cards are in separate
// files.
#include "app/gui/panels/performance_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "app/gui/plot/histogram_plot.h"

namespace app {
namespace {

/// With more rows than this in the timeline, each gets less than a line of text.
constexpr std::size_t kMostReadable = 10;

// Sizes that the user chose belong to a plan: with cards of recorded steps, with that of launches.
constexpr const char* kStackedPlans[2][2] = {
    {"performance.stacked", "performance.stacked_launches"},
    {"performance.stacked_steps", "performance.stacked_steps_launches"}};
constexpr const char* kWidePlans[2][2] = {
    {"performance.cards", "performance.cards_launches"},
    {"performance.cards_steps", "performance.cards_steps_launches"}};

constexpr float kWorkWidth = 190;  // of the choice between kernels and operations

/// The time after which a replay of this run would have counted as stalled.
void add_deadline_figure(const engine::ReplayWatchFacts& watch, std::vector<Figure>& figures) {
  if (watch.replays == 0) return;
  const bool endless = watch.deadline_seconds <= 0.0;
  figures.push_back(
      {.id = "performance.deadline",
       .label = "replay deadline",
       .value = endless ? plot::Quantity{"none", ""} : plot::duration(1e9 * watch.deadline_seconds),
       .note =
           fmt::format("p99 {} · n {}{}", plot::duration_text(1e3 * watch.p99_us), watch.replays,
                       watch.markers > 0 ? fmt::format(" · {} markers", watch.markers) : ""),
       .tooltip = "A replay that takes longer ends the run as a stall: the rail's factor times the "
                  "99th percentile of the replays before, at least 0.5 s. Markers show which node "
                  "finished last; with them replays follow each other one at a time"});
}

/// The graphs of a step that is captured as several, one to a line.
std::string graph_words(const engine::RunResult& result) {
  std::string words;
  for (const engine::StepGraph& one : result.graphs) {
    words += fmt::format("\n{}: {} kernels, {} (median of {})", one.name, one.contents.kernels,
                         plot::duration_text(1000.0 * one.median_us), one.samples);
  }
  return words;
}

void add_observer_figure(const engine::Measurements& measured, std::vector<Figure>& figures) {
  const auto timing = [&](engine::TraceLevel level) {
    const auto found = std::ranges::find(measured.observer, level, &engine::ObserverTiming::level);
    return found == measured.observer.end() ? nullptr : &*found;
  };
  const engine::ObserverTiming* const off = timing(engine::TraceLevel::Off);
  const engine::ObserverTiming* const nodes = timing(engine::TraceLevel::Nodes);
  if (off == nullptr || nodes == nullptr || off->median_ns <= 0.0) return;
  const auto row = [&](const char* name, const engine::ObserverTiming* one) {
    return one == nullptr
               ? std::string()
               : fmt::format("\n{}: {} ({} \u2013 {}, n {}), {} %", name,
                             plot::duration_text(one->median_ns), plot::duration_text(one->p5_ns),
                             plot::duration_text(one->p95_ns), one->samples,
                             plot::percent_change(one->median_ns / off->median_ns, 2));
  };
  // Spreads that overlap this much show no difference.
  const bool ambiguous = nodes->median_ns >= off->p5_ns && nodes->median_ns <= off->p95_ns;
  figures.push_back(
      {.id = "performance.observer",
       .label = ambiguous ? "tracing overhead, within the spread" : "tracing overhead",
       .value = {plot::percent_change(nodes->median_ns / off->median_ns), "%"},
       .tooltip = "The same step, blocks of all levels interleaved (median, p5 \u2013 p95):" +
                  row("nothing traced", off) +
                  row("graph launches traced", timing(engine::TraceLevel::Graphs)) +
                  row("every node traced", nodes)});
}

}  // namespace

bool PerformancePanel::tick() {
  const bool found = find_.take();
  return model_.take() || found || pulse_.due(model_.deriving());
}

void PerformancePanel::follow_run(const PanelContext& context) {
  const SessionView& view = context.view;
  if (!view.run) {
    has_run_ = false;
    return;
  }
  if (!has_run_ || model_.generation() != view.run_generation) {
    model_.set_run(view.run, view.run_generation);
    // A range on the last run's axis means nothing on this one's.
    timeline_view_.selection.reset();
    timeline_view_.kept.clear();
    notes_.forget();
    timeline_view_.drag_start.reset();
    table_.selected = -1;
  }
  has_run_ = true;
  if (!model_.ready()) return;
  model_.lay_out(context.theme);
  if (!model_.ready()) return;
  find_.show(model_.shared_picture());
}

std::string PerformancePanel::range_note() const {
  if (!timeline_view_.selection) return "all timed iterations";
  return "selected " + plot::duration_text(timeline_view_.selection->span());
}

void PerformancePanel::draw_figures(const PanelContext& context, float width) {
  const engine::RunResult& result = model_.run().result;
  const profiling::Distribution& step = model_.iterations().time(context.view.skip_throttled);
  const double seconds = step.median * 1e-9;
  // With a routing file, these are the mean splits of the iterations.
  const std::vector<std::int64_t> routed = engine::mean_splits(result);
  const double rows =
      result.effective.launch.in_flight *
      static_cast<double>(std::accumulate(routed.begin(), routed.end(), std::int64_t{0}));
  const int top_k = result.effective.expert_layer.top_k;
  const bool graph = result.effective.launch.kind == engine::LaunchKind::GraphReplay;
  std::vector<Figure> figures;
  figures.push_back(
      {.id = "performance.spread",
       .label = graph ? "replay, p5 \u2013 p95" : "step, p5 \u2013 p95",
       .value = {plot::duration(step.p5).text() + " \u2013 " + plot::duration(step.p95).figure,
                 plot::duration(step.p95).unit},
       .tooltip = fmt::format("Spread over {} timed iterations. Method: {}", step.n,
                              result.iteration_method)});
  figures.push_back({.id = "performance.tokens",
                     .label = top_k > 0 ? "tokens" : "rows",
                     .value = {plot::si_text(rows / std::max(top_k, 1) / seconds), "/s"},
                     .tooltip = top_k > 0
                                    ? fmt::format("Tokens, each with {} rows of X, divided by "
                                                  "the median step",
                                                  top_k)
                                    : "Routed rows of X divided by the median step"});
  // Only these two follow the selection.
  const char* where = timeline_view_.selection ? ", selected" : "";
  for (const StageSum& sum : model_.stage_sums()) {
    if (sum.stage != engine::Stage::Fprop) continue;
    figures.push_back(
        {.id = "performance.fprop_share",
         .label = fmt::format("fprop share{}", where),
         .value = {fmt::format("{:.1f}", 100.0 * sum.sum_ns / model_.total_ns()), "%"},
         .tooltip = "Share of the summed time of all records inside the range"});
  }
  if (const auto& gaps = model_.gaps()) {
    figures.push_back(
        {.id = "performance.gaps",
         .label = fmt::format("gaps{}", where),
         .value = plot::duration(gaps->gaps.median),
         .note = fmt::format("{:.1f} %, longest {}", 100.0 * gaps->median_share,
                             plot::duration_text(static_cast<double>(gaps->longest_ns))),
         .tooltip =
             fmt::format("Time in which no kernel, copy or memset of the step ran on any "
                         "stream, between its first and its last: median of {} {} in the "
                         "range, and its share. Recording every node lengthens gaps a little",
                         gaps->gaps.n, graph ? "replays" : "steps")});
  }
  const engine::GraphFacts& facts = result.graph;
  if (facts.kernels + facts.memsets + facts.copies + facts.allocations + facts.host_calls > 0) {
    figures.push_back(
        {.id = "performance.graph",
         .label = result.graphs.empty() ? std::string("kernels in the graph")
                                        : fmt::format("kernels in {} graphs", result.graphs.size()),
         .value = {std::to_string(facts.kernels), ""},
         .note = fmt::format("memsets {} · copies {} · allocs {} · host calls {}", facts.memsets,
                             facts.copies, facts.allocations, facts.host_calls),
         .tooltip = "Nodes of the captured step; allocs are memory nodes, allocate or free" +
                    graph_words(result)});
    figures.push_back(
        {.id = "performance.host_launch",
         .label = "host launch",
         .value = plot::duration(static_cast<double>(facts.host_launch_ns)),
         .tooltip = result.graphs.empty()
                        ? "Host cost of one launch of the graph: median of cudaGraphLaunch()"
                        : "Host cost of launching all graphs of a step: median"});
  }
  if (const engine::GraphMemoryFacts& memory = result.graph_memory; memory.pools > 0) {
    figures.push_back(
        {.id = "performance.graph_memory",
         .label = memory.pools == 1 ? "graph pool" : fmt::format("{} graph pools", memory.pools),
         .value = {plot::bytes_text(static_cast<std::uint64_t>(memory.bytes)), ""},
         .note = fmt::format("{} without sharing",
                             plot::bytes_text(static_cast<std::uint64_t>(memory.unshared_bytes))),
         .tooltip = "Device memory that only the graphs use: saved tensors, scratch, workspaces. "
                    "Without sharing, every tensor in it has memory of its own"});
  }
  add_observer_figure(result.measurements, figures);
  const bool dropped = result.dropped_records > 0;
  Figure records{.id = "performance.records",
                 .label = dropped ? "records, some dropped" : "records",
                 .value = {plot::count_text(model_.run().activity.records.size()), ""},
                 .note = dropped ? plot::count_text(result.dropped_records) + " dropped" : "",
                 .tooltip = "Method: " + result.activity_method,
                 .color = dropped ? context.theme.colors.warn : 0};
  // A narrow window drops the last figures: this one must not be among them.
  figures.insert(dropped ? figures.begin() : figures.end(), std::move(records));
  add_deadline_figure(result.watch, figures);
  draw_headline(context, figures, width);
}

void PerformancePanel::draw(const PanelContext& context, ImVec2 size) {
  follow_run(context);
  if (!has_run_) {
    draw_no_run(context, size, "performance");
    return;
  }
  if (!model_.ready()) {
    draw_sorting(context, size);
    return;
  }
  if (const auto wanted = std::exchange(wanted_, std::nullopt)) {
    timeline_view_.selection.reset();
    if (const auto& range = wanted->timeline_ns) {
      timeline_view_.selection = plot::clamped({(*range)[0], (*range)[1]}, model_.lanes().limits);
    }
    model_.set_range(timeline_view_.selection);
  }
  // Here and not in the timeline's card, which is not drawn while another one fills the page.
  if (context.keys.export_trace) order_export(context, false);
  if (context.keys.export_records) order_export(context, true);
  const Theme& theme = context.theme;
  const Area page{ImGui::GetCursorScreenPos(), size};
  draw_figures(context, size.x);
  draw_cards(context, page.below(headline_height(theme) + theme.px(kGap)));
  veil_.draw(context, model_.deriving() ? "adding up" : "", page.at, page.end());
}

Selection PerformancePanel::selected() const {
  Selection selection;
  if (const auto& range = timeline_view_.selection)
    selection.timeline_ns = {range->min, range->max};
  return selection;
}

void PerformancePanel::draw_cards(const PanelContext& context, const Area& area) {
  const Theme& theme = context.theme;
  const auto card = [&](CardSpec (PerformancePanel::*make)(const PanelContext&)) {
    return [this, &context, make](const Area&) { return (this->*make)(context); };
  };
  has_steps_ = steps_.follow(context, model_.run(), model_.generation());
  has_launches_ = !model_.run().result.measurements.tiled_launches.empty();
  std::vector<CardBoard::MakeCard> cards = {
      [&](const Area& room) { return timeline_card(context, room); }};
  if (has_steps_) {
    cards.insert(cards.end(), {[&](const Area&) { return steps_.strip(context); },
                               [&](const Area&) { return steps_.table(); },
                               [&](const Area&) { return steps_.step(context); }});
  }
  if (has_launches_) cards.push_back(card(&PerformancePanel::launch_card));
  cards.insert(cards.end(),
               {[&](const Area& room) { return experts_card(context, room); },
                card(shows_operations_ ? &PerformancePanel::operations_card
                                       : &PerformancePanel::kernels_card),
                card(&PerformancePanel::replays_card), card(&PerformancePanel::durations_card),
                card(&PerformancePanel::roofline_card)});
  board_.draw(context, area,
              area.size.x < theme.px(560) ? stacked_plan(theme) : wide_plan(theme, area.size.y),
              cards);
}

float PerformancePanel::timeline_height(const Theme& theme, float lane, std::size_t most) const {
  const plot::TimelineLanes& lanes = model_.lanes();
  std::size_t rows = 0;
  float headings = 0.0F;
  for (const plot::LaneLine& line : lane_order_.lines(lanes.labels, lanes.groups)) {
    if (line.heading) headings += plot::heading_height(theme) + theme.px(kGapSmall);
    if (!line.heading) rows += lanes.lanes[line.lane].rows.size();
  }
  // A second line of sums must not make the lanes too low for their texts.
  const float sums = stage_sums_height(theme, sums_width_) - theme.fonts.label->FontSize;
  return theme.px(96) + sums + stamped_caption_height(theme) + power_strip_height(theme) +
         headings + theme.px(lane) * static_cast<float>(std::min(rows, most));
}

CardPlan PerformancePanel::stacked_plan(const Theme& theme) const {
  const float row = theme.px(200);
  const float timeline = std::max(row, timeline_height(theme, 15, kMostReadable));
  CardPlan plan{.id = kStackedPlans[has_steps_][has_launches_], .parts = {{timeline, timeline}}};
  if (has_steps_) plan.parts.insert(plan.parts.end(), 3, {row, row});
  if (has_launches_) plan.parts.push_back({1.5F * row, 1.5F * row});
  plan.parts.push_back({1.1F * row, 1.1F * row});
  plan.parts.insert(plan.parts.end(), 4, {row, row});
  return plan;
}

CardPlan PerformancePanel::wide_plan(const Theme& theme, float height) const {
  const float room = std::max(height - 2.0F * theme.px(kGap), 1.0F);
  // The timeline gets a line's height per row; tables and plots take the rest.
  const float wanted = std::clamp(timeline_height(theme, 26, SIZE_MAX), 0.26F * room, 0.42F * room);
  const float rest = room - wanted;
  const float width = theme.px(140);
  CardPlan plan{.id = kWidePlans[has_steps_][has_launches_],
                .parts = {{.share = wanted, .least = timeline_height(theme, 15, kMostReadable)}}};
  if (has_steps_) {
    plan.parts.push_back({.share = 0.5F * rest,
                          .least = theme.px(170),
                          .parts = {{0.42F, width}, {0.30F, width}, {0.28F, width}}});
  }
  // High enough for all SMs of today's devices.
  if (has_launches_) plan.parts.push_back({.share = 0.7F * rest, .least = theme.px(280)});
  plan.parts.push_back(
      {.share = 0.55F * rest, .least = theme.px(160), .parts = {{0.42F, width}, {0.58F, width}}});
  plan.parts.push_back({.share = 0.45F * rest,
                        .least = theme.px(136),
                        .parts = {{0.34F, width}, {0.32F, width}, {0.34F, width}}});
  return plan;
}

CardSpec PerformancePanel::replays_card(const PanelContext& context) {
  const engine::RunResult& result = model_.run().result;
  const bool replays = result.effective.launch.kind == engine::LaunchKind::GraphReplay;
  return iterations_card(context, {.id = "performance.iterations_card",
                                   .title = replays ? "Replays" : "Iterations",
                                   .question = "Is the step steady, or does it drift and jump?",
                                   .plot_id = "##performance.iterations",
                                   .control = "performance.iterations",
                                   .label = "duration of each iteration",
                                   .replays = replays,
                                   .run = model_.run(),
                                   .series = model_.iterations(),
                                   .generation = model_.derived(),
                                   .view = iteration_view_});
}

void PerformancePanel::choose_work(const PanelContext& context) {
  controls::either(context, "performance.work", shows_operations_, "Kernels", "Operations",
                   {.tooltip = "What ran and how long it took, or what the step consists of",
                    .width = context.theme.px(kWorkWidth) - context.theme.px(kGap)});
}

CardSpec PerformancePanel::operations_card(const PanelContext& context) {
  return {.id = "performance.operations_card",
          .title = "What the step does",
          .question =
              "Which operations does a step consist of, in which order, and what does each read, "
              "write and compute at least?",
          .note = fmt::format("{} operations", model_.operations_table().rows.size()),
          .measured =
              "Nothing of this is measured. The operations follow from the settings that were in "
              "effect; `expertscope run --explain` prints the same before a run. Bytes: each value "
              "read or written once, with the padding of its layout. FLOP: 2 m n k of a product "
              "and one per code that is written, for the routed rows.",
          .table = {.id = "##performance.operations",
                    .drawn = &model_.operations_table(),
                    .generation = model_.derived(),
                    .state = &operations_table_},
          .header_widgets = context.theme.px(kWorkWidth),
          .header = [this, &context] { choose_work(context); }};
}

CardSpec PerformancePanel::kernels_card(const PanelContext& context) {
  return {.id = "performance.kernels_card",
          .title = "Kernels",
          .question = "Which kernels or spans take the time? A click on a row shows its durations.",
          .note = range_note(),
          .measured =
              "Records by operation of the step and name of the kernel, of all layers. Sum and "
              "share count the time inside the range, of records "
              "that it cuts too; n and the quantiles, which interpolate linearly between samples, "
              "count records that lie inside as a whole. Records: " +
              model_.run().result.activity_method,
          .table = {.id = "##performance.kernels",
                    .drawn = &model_.kernels_table(),
                    .generation = model_.table_generation(),
                    .state = &table_,
                    .chosen = [this](std::optional<std::size_t>) { row_view_ = {}; }},
          .header_widgets = context.theme.px(kWorkWidth),
          .header = [this, &context] { choose_work(context); },
          .empty = [this]() -> EmptyState {
            if (!model_.kernels_table().rows.empty()) return {};
            return {"Nothing runs in this range",
                    "Select a wider range in the timeline, or click into it to see the whole run."};
          },
          .sentence = [this] { return model_.longest_kernels(); }};
}

CardSpec PerformancePanel::durations_card(const PanelContext& context) {
  const auto shown = static_cast<std::size_t>(std::max(table_.selected, 0));
  const std::string name = model_.kernels().empty()
                               ? std::string("none")
                               : model_.kernels_table().rows[shown].cells.front().text;
  return {
      .id = "performance.durations_card",
      .title = "Durations",
      .question =
          "How are the durations of the chosen kernel distributed? Two humps mean two regimes.",
      .note = table_.selected >= 0 ? name : name + " \u00b7 largest sum; click a row for another",
      .measured = "Durations of the row's records in equal bins, " + range_note() + ".",
      .list =
          [this, name] {
            return plot::bins_table("row", {{name, &model_.row_bins(table_.selected)}},
                                    plot::kTimeEdges);
          },
      .empty = [this]() -> EmptyState {
        if (!model_.row_bins(table_.selected).counts.empty()) return {};
        return {"No durations", "No record of this row lies wholly in the range."};
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

std::unique_ptr<PagePanel> make_performance_panel(const std::function<void()>& wake) {
  return std::make_unique<PerformancePanel>(wake);
}

}  // namespace app
