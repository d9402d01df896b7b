#include "app/gui/panels/recipe_steps_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/controllers/background.h"
#include "app/gui/cards/card.h"
#include "app/gui/cards/card_caption.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

constexpr std::chrono::milliseconds kPlayStep{250};

bool is_stepping(const SessionView& view) { return view.comparing && view.compares_steps; }

/// Width of a number field with its label before it.
float field_width(const Theme& theme, const char* label, float width) {
  return plot::text_size(theme.fonts.body, label).x + theme.px(kGapSmall + width);
}

/// A number of the settings; lists of them are drawn one after the other.
struct NumberField {
  const char* id;
  const char* label;
  int* value;
  std::int64_t low;
  std::int64_t high;
  std::int64_t reset;
  const char* tooltip;
};

/// True when the user has changed one. `width`: of each, without its label.
bool draw_numbers(const PanelContext& context, controls::Flow& flow, float width,
                  std::initializer_list<NumberField> fields) {
  bool changed = false;
  for (const NumberField& field : fields) {
    std::int64_t value = *field.value;
    flow.next(field_width(context.theme, field.label, width));
    if (controls::drag_int(context, field.id, field.label, value, field.low,
                           std::max(field.low, field.high), field.reset,
                           {.tooltip = field.tooltip, .width = context.theme.px(width)})) {
      *field.value = static_cast<int>(value);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

engine::ComparisonRequest RecipeStepsView::wanted(const PanelContext& context) const {
  return series_order(settings_, context.view.requested);
}

void RecipeStepsView::set_idle() {
  engine::StepSeries& series = settings_.series;
  series.idle.clear();
  if (idle_expert_ < 0) return;
  for (int step = idle_from_; step <= std::min(idle_to_, series.steps - 1); ++step) {
    series.idle.push_back({.step = step, .expert = idle_expert_});
  }
}

void RecipeStepsView::follow(const PanelContext& context) {
  const SessionView& view = context.view;
  if (!settled_) {
    settled_ = true;
    const engine::ComparisonRequest first = engine::default_series(view.requested);
    settings_.series = *first.series;
    settings_.delayed = first.recipes.front().delayed;
  }
  orders_.follow(context, wanted(context), engine::validate(wanted(context)));
  listed_.clear();
  for (const Recorded& one : view.comparisons) {
    if (has_delayed_steps(one->comparison)) listed_.push_back(one);
  }
  shown_ = !listed_.empty();
  if (!shown_) return;
  const Recorded& newest = listed_.back();
  // A comparison that arrives after the choice is what was requested last.
  if (newest_ != newest) chosen_ = nullptr;
  newest_ = newest;
  const bool listed = std::ranges::find(listed_, chosen_) != listed_.end();
  show(context, listed ? chosen_ : newest);
  shown_ = model_.recorded() != nullptr;
}

void RecipeStepsView::show(const PanelContext& context, const Recorded& found) {
  if (found == recorded_) return;
  const bool first = recorded_ == nullptr;
  recorded_ = found;
  if (!changed_at_once(model_, [&](RecipeStepsModel& model) { model.set(found); })) return;
  engine::StepSeries& series = settings_.series;
  if (context.view.from_file) {
    // The controls show the settings it was requested with; Step would request the same again.
    series = *model_.request().series;
    settings_.delayed = model_.recipe().delayed;
    settings_.rows = model_.request().request.shape.rows;
    idle_expert_ = series.idle.empty() ? -1 : series.idle.front().expert;
    if (!series.idle.empty()) {
      idle_from_ = series.idle.front().step;
      idle_to_ = series.idle.back().step;
    }
  }
  if ((first || context.view.from_file) && series.outlier_step >= 0) step_ = series.outlier_step;
  expert_ = std::clamp(expert_, 0, std::max(model_.experts() - 1, 0));
  step_ = std::clamp(step_, 0, std::max(model_.steps() - 1, 0));
}

void RecipeStepsView::draw_choice(const PanelContext& context, controls::Flow& flow) {
  if (listed_.size() < 2) return;
  const Theme& theme = context.theme;
  std::vector<std::string> names;
  int index = 0;
  for (const Recorded& one : listed_) {
    if (one == recorded_) index = static_cast<int>(names.size());
    const engine::StepSeries& series = *one->comparison.request.series;
    const std::string outlier = series.outlier_step < 0
                                    ? std::string("no outlier")
                                    : fmt::format("outlier at {}", series.outlier_step);
    names.push_back(fmt::format("{}: {} steps, {}", names.size() + 1, series.steps, outlier));
  }
  flow.next(theme.px(180));
  if (controls::combo(context, "steps.which", "", index, names,
                      {.tooltip = "Comparisons over steps so far, or those of the recording",
                       .width = theme.px(180)})) {
    chosen_ = listed_[static_cast<std::size_t>(index)];
  }
}

bool RecipeStepsView::tick() {
  if (!playing_ || !shown_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - played_at_ < kPlayStep) return false;
  played_at_ = now;
  step_ = (step_ + 1) % std::max(model_.steps(), 1);
  return true;
}

void RecipeStepsView::draw_settings(const PanelContext& context, controls::Flow& flow) {
  const Theme& theme = context.theme;
  engine::StepSeries& series = settings_.series;
  bool changed = draw_numbers(
      context, flow, 50,
      {{"steps.steps", "steps", &series.steps, 1, engine::kMaxSeriesSteps, 32, "Number of steps"}});
  flow.next(field_width(theme, "rows", 64));
  std::int64_t rows = wanted(context).request.shape.rows;
  if (controls::drag_int(
          context, "steps.rows", "rows", rows, 1,
          std::max<std::int64_t>(context.view.requested.shape.rows, 1), 4096,
          {.tooltip = "Rows per step, at most the number in the rail", .width = theme.px(64)})) {
    settings_.rows = rows;
  }
  const std::int64_t last = series.steps - 1;
  const int last_expert = context.view.requested.shape.num_experts - 1;
  draw_numbers(context, flow, 46,
               {{"steps.outlier_step", "outlier at step", &series.outlier_step, -1, last, 8,
                 "Step with the outlier; -1 = none"},
                {"steps.outlier_expert", "expert", &series.outlier_expert, 0, last_expert, 0,
                 "Expert whose largest element grows"}});
  flow.next(field_width(theme, "x", 56));
  auto factor = static_cast<float>(series.outlier_factor);
  if (controls::drag_float(context, "steps.outlier_factor", "x", factor, 1.0F, 1e6F, 64.0F,
                           {.tooltip = "Factor of that element", .width = theme.px(56)})) {
    series.outlier_factor = static_cast<double>(std::max(factor, 1.0F));
  }
  changed |= draw_numbers(
      context, flow, 46,
      {{"steps.idle_expert", "idle expert (-1: none)", &idle_expert_, -1, last_expert, -1,
        "Expert that gets no rows for some steps; -1 = none"},
       {"steps.idle_from", "from", &idle_from_, 0, last, 12, "First step without rows"},
       {"steps.idle_to", "to", &idle_to_, 0, last, 15, "Last step without rows"}});
  if (changed) set_idle();
}

float RecipeStepsView::draw_controls(const PanelContext& context, const Area& area,
                                     float taken_left) {
  const Theme& theme = context.theme;
  const ImVec2 at = control_row(theme, area, taken_left, theme.px(590)).at;
  ImGui::SetCursorScreenPos(at);
  controls::Flow flow(theme, at.x, area.end().x);
  constexpr OrderWords kWords{
      .name = "steps",
      .verb = "step",
      .label = "Step",
      .tooltip =
          "Step delayed scaling with these settings on the CPU twins, with X as set in the "
          "rail and seed + step",
      .live_tooltip = "Step again whenever a setting changes; the newest request wins"};
  const engine::ComparisonRequest order = wanted(context);
  orders_.draw_bar(context, kWords, {is_stepping(context.view), engine::validate(order)}, flow,
                   order);
  draw_choice(context, flow);
  flow.next(theme.px(60));
  const char* play = playing_ ? "Pause" : "Play";
  if (controls::button(context, "steps.play", play,
                       {.enabled = shown_,
                        .reason = "There is nothing to play yet: Step first",
                        .tooltip = "Advances four steps per second",
                        .width = theme.px(60)})) {
    playing_ = !playing_;
    played_at_ = std::chrono::steady_clock::now();
  }
  flow.next(theme.px(150));
  engine::DelayedScaling& delayed = settings_.delayed;
  bool largest = delayed.algorithm == kernels::AmaxAlgorithm::Max;
  if (controls::either(context, "steps.algorithm", largest, "Most recent", "Max",
                       {.tooltip = "Which amax the scale is based on", .width = theme.px(150)})) {
    delayed.algorithm = largest ? kernels::AmaxAlgorithm::Max : kernels::AmaxAlgorithm::MostRecent;
  }
  draw_numbers(context, flow, 50,
               {{"steps.length", "length", &delayed.history_length, 1, engine::kMaxHistoryLength,
                 16, "Rows of the amax history"},
                {"steps.margin", "margin", &delayed.margin, -engine::kMaxMargin, engine::kMaxMargin,
                 0, "Divides the scale by 2^margin"}});
  // The separate rows begin at the left edge of the page.
  ImGui::SetCursorScreenPos(ImVec2(area.at.x, flow.bottom()));
  controls::Flow settings(theme, area.at.x, area.end().x);
  draw_settings(context, settings);
  const Area status{ImVec2(area.at.x, settings.bottom()),
                    ImVec2(area.size.x, theme.fonts.label->FontSize)};
  draw_status(context, status);
  return status.end().y + theme.px(kGap);
}

std::string RecipeStepsView::shown_text() const {
  return fmt::format("{} steps, {} experts, {} rows per step, CPU twins", model_.steps(),
                     model_.experts(), model_.request().request.shape.rows);
}

PageSubject RecipeStepsView::subject() const {
  const std::string title = "Recipes over steps";
  if (!shown_) return {.words = title};
  return {.words = title + ": " + shown_text(), .shape = model_.request().request.shape};
}

void RecipeStepsView::draw_status(const PanelContext& context, const Area& area) {
  const SessionView& view = context.view;
  OrderStatus status{.id = "steps.status",
                     .label = "state of the steps",
                     .error = view.compares_steps ? view.comparison_error : std::string()};
  if (is_stepping(view)) {
    status.in_progress = fmt::format("stepping: {:.0f} %", 100.0 * view.link.pulse.fraction);
  }
  if (shown_) {
    status.shown = (view.from_file ? "recorded: " : "") + shown_text();
    if (!view.from_file && model_.request() != wanted(context)) {
      status.stale = "answers other settings: Step again";
    }
  }
  draw_order_status(context, area, status);
}

void RecipeStepsView::draw_nothing(const PanelContext& context, const Area& area) {
  const SessionView& view = context.view;
  const std::string sentence =
      "Step quantizes X of the rail with delayed scaling, step after step, and keeps the history "
      "of amax: see what a stale scale does to an outlier and to an expert without rows.";
  if (draw_no_result(context, area, is_stepping(view),
                     {.in_progress_title = "Stepping",
                      .in_progress = "Delayed scaling is stepped over X.",
                      .title = "No steps yet",
                      .sentence = sentence,
                      .recorded = "This recording holds no comparison over steps. " + sentence,
                      .error = view.compares_steps ? view.comparison_error : std::string(),
                      .button_id = "steps.step_now",
                      .button_label = "Step"})) {
    orders_.send(context, wanted(context));
  }
}

void RecipeStepsView::draw(const PanelContext& context, const Area& area, float taken_left) {
  follow(context);
  const Area rest = area.below(draw_controls(context, area, taken_left) - area.at.y);
  if (!shown_) return draw_nothing(context, rest);
  // The keys belong to the scrubber here; the plots must not pan with them too.
  PanelContext quiet = context;
  quiet.keys.pan = 0;
  move_by_keys(context);
  constexpr Steps kAmax{.id = "steps.amax_card",
                        .title = "Amax",
                        .question = "What was the amax, and which amax was the scale based on?",
                        .note = "of the step (blue), from history (grey)",
                        .control = "steps.amax",
                        .label = "amax over the steps",
                        .plot_id = "##steps.amax",
                        .axis = "amax",
                        .first = &engine::DelayedScale::amax,
                        .second = &engine::DelayedScale::history_amax};
  constexpr Steps kScale{
      .id = "steps.scale_card",
      .title = "Scale",
      .question = "Where is the stale scale too large (red: it saturates) or too small?",
      .note = "used (blue), wanted (grey); red saturates, hatched has no rows",
      .control = "steps.scale",
      .label = "scale over the steps",
      .plot_id = "##steps.scale",
      .axis = "scale",
      .first = &engine::DelayedScale::scale_used,
      .second = &engine::DelayedScale::scale_wanted};
  const float width = context.theme.px(160);
  const float height = context.theme.px(120);
  board_.draw(quiet, rest,
              {.id = "steps.cards",
               .columns = true,
               .parts = {{0.62F, width, {{1.0F, height}, {1.0F, height}}},
                         {0.38F, width, {{0.36F, height}, {0.28F, height}, {0.36F, height}}}},
               .caption =
                   [this] {
                     return "Recipes over steps, CPU twins: " +
                            request_caption(model_.request().request, {});
                   }},
              {[&](const Area&) { return steps_card(quiet, kAmax); },
               [&](const Area&) { return steps_card(quiet, kScale); },
               [&](const Area&) { return point_card(quiet); },
               [&](const Area&) { return history_card(quiet); },
               [&](const Area&) { return experts_card(quiet); }});
}

void RecipeStepsView::move_by_keys(const PanelContext& context) {
  if (context.keys.pan == 0) return;
  step_ = std::clamp(step_ + context.keys.pan, 0, std::max(model_.steps() - 1, 0));
  playing_ = false;
}

}  // namespace app
