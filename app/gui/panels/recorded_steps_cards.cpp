#include "app/gui/panels/recorded_steps_cards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/plot/plot_text.h"
#include "engine/model/snr_words.h"
#include "profiling/document/ranked_steps_table.h"
#include "profiling/document/run_tables.h"

namespace app {
namespace {

/// A line over the steps covers at least this much, so that noise does not look like a trend.
constexpr double kLeastSnrSpan = 3.0;  // dB
constexpr double kLeastImbalanceSpan = 0.5;

std::string figure_or(double value, const char* missing, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : std::string(missing);
}

std::string snr_text(double snr_db, std::uint64_t left_out) {
  if (std::isnan(snr_db) && left_out == 0) return "not measured";
  return engine::snr_text(snr_db, left_out, plot::kSnrDecimals);
}

/// What a line of the strip shows of a step.
using StepFigure = double engine::RecordedStep::*;

plot::Range range_of(const std::vector<engine::RecordedStep>& steps, StepFigure figure) {
  plot::Range range = plot::kNoValues;
  for (const engine::RecordedStep& step : steps) range = plot::widened(range, step.*figure);
  return range;
}

/// A line over the steps on a scale of its own that fills the plot up to `height`; the legend has
/// its ends.
plot::Line line_of(const std::vector<engine::RecordedStep>& steps, StepFigure figure,
                   double least_span, double height, plot::Line line) {
  plot::Range range = range_of(steps, figure);
  const double missing = std::max(0.5 * (least_span - range.span()), 0.0);
  range = {range.min - missing, range.max + missing};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double part = (steps[i].*figure - range.min) / range.span();
    line.points.push_back({static_cast<double>(i), height * (0.06 + 0.86 * part)});
  }
  return line;
}

std::string range_text(const plot::Range& range, const char* unit, int digits) {
  if (!plot::has_values(range)) return "not measured";
  return fmt::format("{:.{}f} \u2013 {:.{}f}{}", range.min, digits, range.max, digits, unit);
}

}  // namespace

bool RecordedStepsCards::follow(const PanelContext& context, const profiling::RecordedRun& run,
                                std::uint64_t generation) {
  if (!run.result.recorded_routing || run.result.recorded_routing->steps.empty()) {
    ranked_ = nullptr;
    return false;
  }
  const bool same = ranked_ != nullptr && generation_ == generation;
  const bool skip = context.view.skip_throttled;
  if (same && skip_throttled_ == skip && rows_theme_ == context.theme.kind) return true;
  const std::size_t steps_before = ranked_ == nullptr ? 0 : steps().size();
  ranked_ = profiling::ranked_steps(run.result, run.power.samples, skip);
  if (!same) {
    backward_ = run.result.backward;
    // The same steps again: the one that was looked at stays.
    if (steps().size() != steps_before) chosen_ = static_cast<int>(ranked_->order.front());
  }
  if (!same || skip_throttled_ != skip) table_ = {};
  choose(chosen_);
  generation_ = generation;
  skip_throttled_ = skip;
  rows_theme_ = context.theme.kind;
  drawn_ = plot::drawn(profiling::ranked_steps_table(ranked_, steps().size()), context.theme);
  return true;
}

const engine::RecordedStep& RecordedStepsCards::chosen() const {
  return steps()[static_cast<std::size_t>(chosen_)];
}

void RecordedStepsCards::choose(int index) {
  chosen_ = std::clamp(index, 0, count() - 1);
  const auto row = std::ranges::find(ranked_->order, static_cast<std::size_t>(chosen_));
  table_.selected = static_cast<int>(row - ranked_->order.begin());
}

bool RecordedStepsCards::is_slow(std::size_t index) const {
  return std::ranges::find(ranked_->slowest, index) != ranked_->slowest.end();
}

std::string RecordedStepsCards::time_text(int index) const {
  const engine::RecordedStep& step = steps()[static_cast<std::size_t>(index)];
  if (step.visits == 0) return "not run";
  const profiling::StepTime& time = ranked_->times[static_cast<std::size_t>(index)];
  if (std::isfinite(step.median_ns)) {
    return fmt::format("{} (n {})", plot::duration_text(step.median_ns),
                       profiling::visits_words(step, time));
  }
  return time.visits == profiling::StepVisits::OnlyThrottled ? "only while throttled"
                                                             : "not timed alone";
}

EmptyState RecordedStepsCards::nothing() const {
  if (count() > 1) return {};
  return {"One step", "The file has the routing of one step (" + ranked_->recorded.source +
                          "). Choose in the rail how many tokens form a step, or open a routing "
                          "file of several steps."};
}

std::string RecordedStepsCards::strip_note() const {
  if (count() < 2) return "";
  const auto reached = std::ranges::count_if(
      steps(), [](const engine::RecordedStep& step) { return step.visits > 0; });
  std::string note = fmt::format("{} of {} steps", count(), ranked_->recorded.file_steps);
  if (reached < count()) {
    note += fmt::format(", {} run: {} iterations reach all", reached, count());
  }
  return note + ", " + profiling::slowest_words(*ranked_);
}

CardSpec RecordedStepsCards::strip(const PanelContext& context) {
  return {
      .id = "performance.steps_card",
      .title = "Recorded steps",
      .question =
          "Which steps of the recorded routing are slow, and does imbalance explain it? "
          "Drag over the strip, or press the arrow keys above it.",
      .note = strip_note(),
      .measured = ranked_->recorded.source +
                  ". Iteration i used the splits of step i, wrapping around after the last step. " +
                  profiling::kRankWords +
                  " Imbalance: the largest split over the mean split. SNR of Y: " +
                  ranked_->recorded.numerics +
                  ". Hatched: not run. A line at the foot: the step ran in flight with other "
                  "micro-batches, so it has no separate time.",
      .list = [this] { return profiling::ranked_steps_table(ranked_); },
      .empty = [this] { return nothing(); },
      .draw = [this, &context](const Area& room) { draw_strip(context, room); },
      .read_out = {"performance.steps", "recorded steps", [this] {
                     std::string slowest;
                     for (const std::size_t index : ranked_->slowest) {
                       slowest +=
                           fmt::format("{}{}", slowest.empty() ? "" : ",", steps()[index].step);
                     }
                     return fmt::format("steps={};chosen={};longest={};slowest={}", count(),
                                        chosen().step, steps()[ranked_->order.front()].step,
                                        slowest);
                   }}};
}

void RecordedStepsCards::draw_strip(const PanelContext& context, const Area& room) {
  const Theme& theme = context.theme;
  double highest = 0.0;
  for (const engine::RecordedStep& step : steps()) {
    if (std::isfinite(step.median_ns)) highest = std::max(highest, step.median_ns);
  }
  // The keys belong to the scrubber here; the plot must not pan with them too.
  PanelContext quiet = context;
  quiet.keys.pan = 0;
  const plot::Range snr = range_of(steps(), &engine::RecordedStep::y_snr_db);
  const ImU32 imbalance_color = theme.colors.warn;
  const ImU32 snr_color = theme.colors.good;
  float legend = theme.fonts.label->FontSize + theme.px(kGapSmall);
  legend += plot::draw_legend(
      context,
      {.id = "performance.steps_legend",
       .right = ImVec2(room.end().x, room.at.y),
       .left = room.at.x,
       .gap = theme.px(kGapLarge)},
      {{fmt::format("imbalance {}",
                    range_text(range_of(steps(), &engine::RecordedStep::imbalance), "", 2)),
        imbalance_color},
       {fmt::format("SNR of Y {}", range_text(snr, " dB", 2)), snr_color}});
  const Area below = room.below(legend);
  ImGui::SetCursorScreenPos(below.at);
  const double height = highest > 0.0 ? 1.1 * highest : 1.0;
  plot::PlotFrame frame(
      quiet,
      {.id = "##performance.steps",
       .size = below.size,
       .x = {.kind = plot::AxisKind::Integer,
             .label = "step, in the order of replay",
             .limits = {-0.5, static_cast<double>(count()) - 0.5}},
       .y = {.kind = plot::AxisKind::Nanoseconds,
             .label = fmt::format("time of a step, {}", plot::time_unit(highest).name),
             .limits = {0.0, height}},
       .selectable = false,
       .min_span = 4.0},
      strip_view_);
  std::vector<plot::Bar> bars;
  plot::Spans untimed{.color = plot::faded(theme.colors.accent, 0.55F),
                      .kind = plot::Spans::Kind::Foot};
  for (int i = 0; i < count(); ++i) {
    const engine::RecordedStep& step = steps()[static_cast<std::size_t>(i)];
    const bool slow = is_slow(static_cast<std::size_t>(i));
    bars.push_back({.value = step.visits == 0 ? NAN : step.median_ns,
                    .color = plot::faded(theme.colors.accent, slow ? 0.9F : 0.55F)});
    if (step.visits == 0 || std::isfinite(step.median_ns)) continue;
    bars.back() = {};
    untimed.ranges.push_back({i - 0.5, i + 0.5});
  }
  const float width = theme.px(1.5F);
  const int hovered =
      plot::draw_marks(quiet, frame,
                       {untimed, plot::Bars{.bars = &bars, .strength = 1.0F},
                        line_of(steps(), &engine::RecordedStep::imbalance, kLeastImbalanceSpan,
                                height, {.color = imbalance_color, .width = width}),
                        line_of(steps(), &engine::RecordedStep::y_snr_db, kLeastSnrSpan, height,
                                {.color = snr_color, .width = width}),
                        plot::Spans{.ranges = {{chosen_ - 0.5, chosen_ + 0.5}},
                                    .color = theme.colors.text,
                                    .kind = plot::Spans::Kind::Framed}})
          .index;
  if (!frame.hovered()) return;
  if (context.keys.pan != 0) choose(chosen_ + context.keys.pan);
  if (hovered < 0) return;
  if (ImGui::IsMouseDown(ImGuiMouseButton_Left) && !ImGui::GetIO().KeyShift) choose(hovered);
  draw_strip_read_out(context, hovered);
}

void RecordedStepsCards::draw_strip_read_out(const PanelContext& context, int index) const {
  const engine::RecordedStep& step = steps()[static_cast<std::size_t>(index)];
  const Theme& theme = context.theme;
  std::vector<plot::ReadOutLine> lines = {
      {"time", time_text(index), theme.colors.accent, step.median_ns},
      {"rows", plot::count_text(static_cast<std::uint64_t>(step.rows))},
      {"imbalance", figure_or(step.imbalance, "no rows", 2), theme.colors.warn, step.imbalance},
      {"SNR of Y", snr_text(step.y_snr_db, step.y_left_out), theme.colors.good, step.y_snr_db}};
  if (step.dropped > 0) {
    lines.push_back(
        {"without an expert", plot::count_text(static_cast<std::uint64_t>(step.dropped))});
  }
  plot::read_out(context, fmt::format("step {}", step.step), lines);
}

CardSpec RecordedStepsCards::table() {
  return {.id = "performance.step_table_card",
          .title = "Slowest steps",
          .question = "Which steps take longest? A click on a row chooses the step.",
          .note = profiling::slowest_words(*ranked_),
          .measured = std::string(profiling::kRankWords) + " A click on a title sorts.",
          .table = {.id = "##performance.step_table",
                    .drawn = &drawn_,
                    .generation = 2 * generation_ + (skip_throttled_ ? 1 : 0),
                    .state = &table_,
                    .chosen =
                        [this](std::optional<std::size_t> row) {
                          // One step is always chosen.
                          choose(row ? static_cast<int>(ranked_->order[*row]) : chosen_);
                        }},
          .empty = [this] {
            return count() > 1 ? EmptyState{}
                               : EmptyState{"One step", "There is nothing to compare it with."};
          }};
}

std::string RecordedStepsCards::step_note() const {
  const engine::RecordedStep& step = chosen();
  std::string note = fmt::format("{} rows, imbalance {}, {}",
                                 plot::count_text(static_cast<std::uint64_t>(step.rows)),
                                 figure_or(step.imbalance, "none", 2), time_text(chosen_));
  if (count() == 1) return note;  // its numerics are those of the run
  note += ", SNR of Y " + snr_text(step.y_snr_db, step.y_left_out);
  if (backward_) {
    note += fmt::format(", dX {}, dW {}", snr_text(step.dx_snr_db, step.dx_left_out),
                        snr_text(step.dw_snr_db, step.dw_left_out));
  }
  return note;
}

CardSpec RecordedStepsCards::step(const PanelContext& context) {
  return {.id = "performance.step_card",
          .title = fmt::format("Step {}", chosen().step),
          .question = "How are the rows of the chosen step spread over the experts?",
          .note = step_note(),
          .measured =
              "The splits from the routing file that this step used. A click selects an expert.",
          .list = [this] { return profiling::splits_table(chosen().splits); },
          .draw = [this, &context](const Area& room) { draw_step(context, room); },
          .read_out = {"performance.step", "the chosen step", [this] {
                         return fmt::format("step={};rows={};visits={};splits={}", chosen().step,
                                            chosen().rows, chosen().visits,
                                            fmt::join(chosen().splits, ","));
                       }}};
}

void RecordedStepsCards::draw_step(const PanelContext& context, const Area& room) {
  const engine::RecordedStep& step = chosen();
  std::vector<plot::Bar> bars;
  for (const std::int64_t rows : step.splits) {
    bars.push_back({.value = static_cast<double>(rows), .color = context.theme.colors.accent});
  }
  const plot::MarkHit hit = plot::draw_bars(context,
                                            {.id = "##performance.step",
                                             .size = room.size,
                                             .y = {.kind = plot::AxisKind::Number, .label = "rows"},
                                             .x_label = "expert",
                                             .selected = context.view.expert},
                                            bars, step_view_);
  if (hit.index >= 0) {
    const auto rows = static_cast<double>(step.splits[static_cast<std::size_t>(hit.index)]);
    const double mean = static_cast<double>(step.rows) / static_cast<double>(step.splits.size());
    plot::read_out(context, fmt::format("expert {}", hit.index),
                   {{"rows", plot::count_text(static_cast<std::uint64_t>(rows)), 0, rows},
                    {"against the mean", mean > 0.0 ? plot::percent_change(rows / mean) + " %"
                                                    : std::string("no rows")}});
  }
  if (hit.clicked) select_expert(context, hit.index);
}

}  // namespace app
