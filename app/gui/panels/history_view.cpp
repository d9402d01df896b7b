#include "app/gui/panels/history_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/controllers/background.h"
#include "app/gui/cards/card.h"
#include "app/gui/cards/card_caption.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

constexpr std::chrono::milliseconds kPlayStep{250};

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

engine::AmaxHistoryRequest HistoryView::wanted(const PanelContext& context) const {
  return history_order(settings_, context.view.requested);
}

void HistoryView::set_idle() {
  settings_.idle.clear();
  if (idle_expert_ < 0) return;
  for (int step = idle_from_; step <= std::min(idle_to_, settings_.steps - 1); ++step) {
    settings_.idle.push_back({.step = step, .expert = idle_expert_});
  }
}

void HistoryView::follow(const PanelContext& context) {
  const SessionView& view = context.view;
  if (!settled_) {
    settled_ = true;
    settings_.request.recipe.delayed = view.requested.recipe.delayed;
    settings_.request.recipe.delayed.history_length =
        std::min(settings_.request.recipe.delayed.history_length, 16);
    settings_.outlier_step = 8;
  }
  orders_.follow(context, wanted(context), engine::validate(wanted(context)));
  shown_ = !view.histories.empty();
  if (!shown_) return;
  const Recorded& newest = view.histories.back();
  // A history that arrives after the choice is what was requested last.
  if (newest_ != newest) chosen_ = nullptr;
  newest_ = newest;
  const bool listed = std::ranges::find(view.histories, chosen_) != view.histories.end();
  show(context, listed ? chosen_ : newest);
  shown_ = model_.history() != nullptr;
}

void HistoryView::show(const PanelContext& context, const Recorded& found) {
  if (found == recorded_) return;
  const bool first = recorded_ == nullptr;
  recorded_ = found;
  const bool set =
      changed_at_once(model_, [&](HistoryModel& model) { model.set({found, &found->history}); });
  if (!set) return;
  const engine::AmaxHistory& history = found->history;
  if (context.view.from_file) {
    // The controls show the settings it was requested with; Step would request the same again.
    settings_ = history.request;
    idle_expert_ = settings_.idle.empty() ? -1 : settings_.idle.front().expert;
    if (!settings_.idle.empty()) {
      idle_from_ = settings_.idle.front().step;
      idle_to_ = settings_.idle.back().step;
    }
  }
  if ((first || context.view.from_file) && settings_.outlier_step >= 0) {
    step_ = settings_.outlier_step;
  }
  expert_ = std::clamp(expert_, 0, std::max(history.experts - 1, 0));
  step_ = std::clamp(step_, 0, std::max(history.steps - 1, 0));
}

void HistoryView::draw_choice(const PanelContext& context, controls::Flow& flow) {
  const auto& histories = context.view.histories;
  if (histories.size() < 2) return;
  const Theme& theme = context.theme;
  std::vector<std::string> names;
  int index = 0;
  for (const Recorded& one : histories) {
    if (one == recorded_) index = static_cast<int>(names.size());
    const engine::AmaxHistory& history = one->history;
    const std::string outlier = history.request.outlier_step < 0
                                    ? std::string("no outlier")
                                    : fmt::format("outlier at {}", history.request.outlier_step);
    names.push_back(fmt::format("{}: {} steps, {}", names.size() + 1, history.steps, outlier));
  }
  flow.next(theme.px(180));
  if (controls::combo(context, "history.which", "", index, names,
                      {.tooltip = "Histories computed so far, or those of the recording",
                       .width = theme.px(180)})) {
    chosen_ = histories[static_cast<std::size_t>(index)];
  }
}

bool HistoryView::tick() {
  if (!playing_ || !shown_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - played_at_ < kPlayStep) return false;
  played_at_ = now;
  step_ = (step_ + 1) % std::max(model_.history()->steps, 1);
  return true;
}

void HistoryView::draw_settings(const PanelContext& context, controls::Flow& flow) {
  const Theme& theme = context.theme;
  bool changed = draw_numbers(context, flow, 50,
                              {{"history.steps", "steps", &settings_.steps, 1,
                                engine::kMaxHistorySteps, 32, "Steps in a row"}});
  flow.next(field_width(theme, "tokens", 64));
  std::int64_t tokens = wanted(context).tokens;
  if (controls::drag_int(
          context, "history.tokens", "tokens", tokens, 1,
          std::max<std::int64_t>(context.view.requested.shape.rows, 1), 4096,
          {.tooltip = "Tokens per step, at most the number in the rail", .width = theme.px(64)})) {
    settings_.tokens = tokens;
  }
  const std::int64_t last = settings_.steps - 1;
  const int last_expert = context.view.requested.shape.num_experts - 1;
  draw_numbers(context, flow, 46,
               {{"history.outlier_step", "outlier at step", &settings_.outlier_step, -1, last, 8,
                 "Step with the outlier; -1 = none"},
                {"history.outlier_expert", "expert", &settings_.outlier_expert, 0, last_expert, 0,
                 "Expert whose largest element grows"}});
  flow.next(field_width(theme, "x", 56));
  auto factor = static_cast<float>(settings_.outlier_factor);
  if (controls::drag_float(context, "history.outlier_factor", "x", factor, 1.0F, 1e6F, 64.0F,
                           {.tooltip = "Factor of that element", .width = theme.px(56)})) {
    settings_.outlier_factor = static_cast<double>(std::max(factor, 1.0F));
  }
  changed |= draw_numbers(
      context, flow, 46,
      {{"history.idle_expert", "idle expert (-1: none)", &idle_expert_, -1, last_expert, -1,
        "Expert that gets no tokens for some steps; -1 = none"},
       {"history.idle_from", "from", &idle_from_, 0, last, 12, "First step without tokens"},
       {"history.idle_to", "to", &idle_to_, 0, last, 15, "Last step without tokens"}});
  if (changed) set_idle();
}

float HistoryView::draw_controls(const PanelContext& context, const Area& area, float taken_left) {
  const Theme& theme = context.theme;
  const ImVec2 at = control_row(theme, area, taken_left, theme.px(590)).at;
  ImGui::SetCursorScreenPos(at);
  controls::Flow flow(theme, at.x, area.end().x);
  constexpr OrderWords kWords{
      .name = "history",
      .verb = "step",
      .label = "Step",
      .tooltip =
          "Step delayed scaling with these settings on the CPU twins, with X as set in the "
          "rail and seed + step",
      .live_tooltip = "Step again whenever a setting changes; the newest request wins"};
  const engine::AmaxHistoryRequest order = wanted(context);
  orders_.draw_bar(context, kWords, {context.view.stepping, engine::validate(order)}, flow, order);
  draw_choice(context, flow);
  flow.next(theme.px(60));
  const char* play = playing_ ? "Pause" : "Play";
  if (controls::button(context, "history.play", play,
                       {.enabled = shown_,
                        .reason = "There is nothing to play yet: Step first",
                        .tooltip = "Advances four steps per second",
                        .width = theme.px(60)})) {
    playing_ = !playing_;
    played_at_ = std::chrono::steady_clock::now();
  }
  flow.next(theme.px(150));
  engine::DelayedScaling& delayed = settings_.request.recipe.delayed;
  bool largest = delayed.algorithm == kernels::AmaxAlgorithm::Max;
  if (controls::either(context, "history.algorithm", largest, "Most recent", "Max",
                       {.tooltip = "What the scale is made from", .width = theme.px(150)})) {
    delayed.algorithm = largest ? kernels::AmaxAlgorithm::Max : kernels::AmaxAlgorithm::MostRecent;
  }
  draw_numbers(context, flow, 50,
               {{"history.length", "length", &delayed.history_length, 1, engine::kMaxHistoryLength,
                 16, "Rows of the amax history"},
                {"history.margin", "margin", &delayed.margin, -engine::kMaxMargin,
                 engine::kMaxMargin, 0, "The scale is 2^margin smaller"}});
  // The separate rows begin at the left edge of the page.
  ImGui::SetCursorScreenPos(ImVec2(area.at.x, flow.bottom()));
  controls::Flow settings(theme, area.at.x, area.end().x);
  draw_settings(context, settings);
  const Area status{ImVec2(area.at.x, settings.bottom()),
                    ImVec2(area.size.x, theme.fonts.label->FontSize)};
  draw_status(context, status);
  return status.end().y + theme.px(kGap);
}

void HistoryView::draw_status(const PanelContext& context, const Area& area) {
  const SessionView& view = context.view;
  OrderStatus status{
      .id = "history.status", .label = "state of the steps", .error = view.history_error};
  if (view.stepping) {
    status.in_progress = fmt::format("stepping: {:.0f} %", 100.0 * view.link.pulse.fraction);
  }
  if (shown_) {
    const engine::AmaxHistory& history = *model_.history();
    status.shown = fmt::format("{}{} steps, {} experts, {} tokens per step, CPU twins",
                               view.from_file ? "recorded: " : "", history.steps, history.experts,
                               history.request.tokens);
    if (!view.from_file && history.request != wanted(context)) {
      status.stale = "answers other settings: Step again";
    }
  }
  draw_order_status(context, area, status);
}

void HistoryView::draw_nothing(const PanelContext& context, const Area& area) {
  const SessionView& view = context.view;
  const std::string sentence =
      "Step quantizes X of the rail with delayed scaling, step after step, and keeps the history "
      "of amax: see what a stale scale does to an outlier and to an expert without tokens.";
  if (draw_no_result(context, area, view.stepping,
                     {.in_progress_title = "Stepping",
                      .in_progress = "Delayed scaling is stepped over X.",
                      .title = "No steps yet",
                      .sentence = sentence,
                      .recorded = "This recording holds no amax history. " + sentence,
                      .error = view.history_error,
                      .button_id = "history.step_now",
                      .button_label = "Step"})) {
    orders_.send(context, wanted(context));
  }
}

void HistoryView::draw(const PanelContext& context, const Area& area, float taken_left) {
  follow(context);
  const Area rest = area.below(draw_controls(context, area, taken_left) - area.at.y);
  if (!shown_) return draw_nothing(context, rest);
  // The keys belong to the scrubber here; the plots must not pan with them too.
  PanelContext quiet = context;
  quiet.keys.pan = 0;
  move_by_keys(context);
  constexpr Steps kAmax{.id = "history.amax_card",
                        .title = "Amax",
                        .question = "What was the amax, and which amax was the scale based on?",
                        .note = "of the step (blue), from history (grey)",
                        .control = "history.amax",
                        .label = "amax over the steps",
                        .plot_id = "##history.amax",
                        .axis = "amax",
                        .first = &engine::AmaxHistory::amax,
                        .second = &engine::AmaxHistory::history_amax};
  constexpr Steps kScale{
      .id = "history.scale_card",
      .title = "Scale",
      .question = "Where is the stale scale too large (red: it saturates) or too small?",
      .note = "used (blue), wanted (grey); red saturates, hatched has no tokens",
      .control = "history.scale",
      .label = "scale over the steps",
      .plot_id = "##history.scale",
      .axis = "scale",
      .first = &engine::AmaxHistory::scale_used,
      .second = &engine::AmaxHistory::scale_wanted};
  const float width = context.theme.px(160);
  const float height = context.theme.px(120);
  board_.draw(quiet, rest,
              {.id = "history.cards",
               .columns = true,
               .parts = {{0.62F, width, {{1.0F, height}, {1.0F, height}}},
                         {0.38F, width, {{0.36F, height}, {0.28F, height}, {0.36F, height}}}},
               .caption =
                   [this] {
                     return "Amax history, CPU twins: " +
                            request_caption(model_.history()->request.request, {});
                   }},
              {[&](const Area&) { return steps_card(quiet, kAmax); },
               [&](const Area&) { return steps_card(quiet, kScale); },
               [&](const Area&) { return point_card(quiet); },
               [&](const Area&) { return ring_card(quiet); },
               [&](const Area&) { return experts_card(quiet); }});
}

void HistoryView::move_by_keys(const PanelContext& context) {
  if (context.keys.pan == 0) return;
  step_ = std::clamp(step_ + context.keys.pan, 0, std::max(model_.history()->steps - 1, 0));
  playing_ = false;
}

}  // namespace app
