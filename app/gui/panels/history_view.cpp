// Settings, order, state and layout of the scrubber; its plots are in history_plots.cpp.
#include "app/gui/panels/history_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/gui/cards/card.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/panels/order_bar.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

constexpr std::chrono::milliseconds kPlayStep{250};

/// Width of a number field with its label before it.
float field_width(const Theme& theme, const char* label, float width) {
  return plot::text_size(theme.fonts.body, label).x + theme.px(kGapSmall + width);
}

}  // namespace

engine::AmaxHistoryRequest HistoryView::wanted(const PanelContext& context) const {
  return history_order(settings_, context.view.requested);
}

void HistoryView::order(const PanelContext& context) {
  asked_ = wanted(context);
  context.commands.push_back(*asked_);
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
  const bool can_ask = !view.from_file && view.link.state != LinkState::Lost && view.hello;
  if (live_ && can_ask && engine::validate(wanted(context)).ok() &&
      (!asked_ || *asked_ != wanted(context))) {
    order(context);
  }
  shown_ = !view.histories.empty();
  if (!shown_) return;
  const Recorded& newest = view.histories.back();
  // A history that arrives after the choice is what was requested last.
  if (newest_ != newest) chosen_ = nullptr;
  newest_ = newest;
  const bool listed = std::ranges::find(view.histories, chosen_) != view.histories.end();
  show(context, listed ? chosen_ : newest);
}

void HistoryView::show(const PanelContext& context, const Recorded& found) {
  if (found == recorded_) return;
  const bool first = recorded_ == nullptr;
  recorded_ = found;
  model_.set({found, &found->history});
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
                      {.tooltip = "Histories stepped so far, or those of the recording",
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

void HistoryView::draw_idle_controls(const PanelContext& context, controls::Flow& flow) {
  const Theme& theme = context.theme;
  const std::int64_t last = settings_.steps - 1;
  const int experts = context.view.requested.shape.num_experts;
  const auto drag = [&](const char* id, const char* label, int& value, std::int64_t low,
                        std::int64_t high, std::int64_t reset, const char* tooltip) {
    std::int64_t wide = value;
    flow.next(field_width(theme, label, 46));
    const bool changed = controls::drag_int(context, id, label, wide, low, std::max(low, high),
                                            reset, {.tooltip = tooltip, .width = theme.px(46)});
    if (changed) value = static_cast<int>(wide);
    return changed;
  };
  drag("history.outlier_step", "outlier at step", settings_.outlier_step, -1, last, 8,
       "Step with the outlier; -1 = none");
  drag("history.outlier_expert", "expert", settings_.outlier_expert, 0, experts - 1, 0,
       "Expert whose largest element grows");
  flow.next(field_width(theme, "x", 56));
  auto factor = static_cast<float>(settings_.outlier_factor);
  if (controls::drag_float(context, "history.outlier_factor", "x", factor, 1.0F, 1e6F, 64.0F,
                           {.tooltip = "Factor of that element", .width = theme.px(56)})) {
    settings_.outlier_factor = static_cast<double>(std::max(factor, 1.0F));
  }
  bool idle = drag("history.idle_expert", "idle expert", idle_expert_, -1, experts - 1, -1,
                   "Expert that gets no tokens for some steps; -1 = none");
  idle |= drag("history.idle_from", "from", idle_from_, 0, last, 12, "First step without tokens");
  idle |= drag("history.idle_to", "to", idle_to_, 0, last, 15, "Last step without tokens");
  if (idle) set_idle();
}

float HistoryView::draw_controls(const PanelContext& context, const Area& area, float taken_left) {
  const Theme& theme = context.theme;
  const float gap = theme.px(kGap);
  const float row = theme.px(kRowHeight) + theme.px(kGapSmall);
  const bool side_by_side = area.size.x - taken_left >= theme.px(590);
  ImVec2 at(side_by_side ? area.at.x + taken_left : area.at.x,
            side_by_side ? area.at.y : area.at.y + row);
  ImGui::SetCursorScreenPos(at);
  controls::Flow flow(theme, at.x, area.end().x);
  const OrderBar bar{
      .name = "history",
      .verb = "step",
      .label = "Step",
      .tooltip =
          "Step delayed scaling with these settings on the CPU twins, with X as "
          "set in the rail and seed + step",
      .live_tooltip = "Step again whenever a setting changes; the newest request wins",
      .under_way = context.view.stepping,
      .valid = engine::validate(wanted(context))};
  if (draw_order_bar(context, bar, flow, live_)) order(context);
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
  int algorithm = settings_.request.recipe.delayed.algorithm == kernels::AmaxAlgorithm::Max ? 1 : 0;
  if (controls::segmented(context, "history.algorithm", algorithm, {"Most recent", "Max"},
                          {.tooltip = "What the scale is made from", .width = theme.px(150)})) {
    settings_.request.recipe.delayed.algorithm =
        algorithm == 1 ? kernels::AmaxAlgorithm::Max : kernels::AmaxAlgorithm::MostRecent;
  }
  controls::Flow* rows = &flow;
  const auto drag = [&](const char* id, const char* label, int& value, int low, int high, int reset,
                        const char* tooltip) {
    std::int64_t wide = value;
    rows->next(field_width(theme, label, 50));
    if (controls::drag_int(context, id, label, wide, low, high, reset,
                           {.tooltip = tooltip, .width = theme.px(50)})) {
      value = static_cast<int>(wide);
      set_idle();
    }
  };
  engine::DelayedScaling& delayed = settings_.request.recipe.delayed;
  drag("history.length", "length", delayed.history_length, 1, engine::kMaxHistoryLength, 16,
       "Rows of the amax history");
  drag("history.margin", "margin", delayed.margin, -engine::kMaxMargin, engine::kMaxMargin, 0,
       "The scale is 2^margin smaller");
  // The separate rows begin at the left edge of the page.
  ImGui::SetCursorScreenPos(ImVec2(area.at.x, flow.bottom()));
  controls::Flow settings(theme, area.at.x, area.end().x);
  rows = &settings;
  drag("history.steps", "steps", settings_.steps, 1, engine::kMaxHistorySteps, 32,
       "Steps in a row");
  settings.next(field_width(theme, "tokens", 64));
  std::int64_t tokens = wanted(context).tokens;
  if (controls::drag_int(
          context, "history.tokens", "tokens", tokens, 1,
          std::max<std::int64_t>(context.view.requested.shape.tokens, 1), 4096,
          {.tooltip = "Tokens per step, at most as many as in the rail", .width = theme.px(64)})) {
    settings_.tokens = tokens;
  }
  draw_idle_controls(context, settings);
  const float bottom = settings.bottom();
  draw_status(context, {ImVec2(area.at.x, bottom), ImVec2(area.size.x, theme.px(14))});
  return bottom + theme.fonts.label->FontSize + gap;
}

void HistoryView::draw_status(const PanelContext& context, const Area& area) {
  const Theme& theme = context.theme;
  const SessionView& view = context.view;
  std::string text;
  ImU32 color = theme.colors.dim_text;
  if (view.stepping) {
    text = fmt::format("stepping: {:.0f} %", 100.0 * view.link.pulse.fraction);
    color = theme.colors.accent;
  } else if (!view.history_error.empty()) {
    text = view.history_error;
    color = theme.colors.bad;
  } else if (shown_) {
    const engine::AmaxHistory& history = *model_.history();
    text = fmt::format("{} steps, {} experts, {} tokens per step, CPU twins", history.steps,
                       history.experts, history.request.tokens);
    if (view.from_file) {
      text = "recorded: " + text;
    } else if (history.request != wanted(context)) {
      text = "answers other settings: Step again   (" + text + ")";
      color = theme.colors.warn;
    }
  }
  plot::draw_text(ImGui::GetWindowDrawList(), theme.fonts.label, area.at, color,
                  plot::fitted(theme.fonts.label, text, area.size.x));
  controls::record(context, "history.status", "state of the steps", "text", text, area.at,
                   area.end());
}

void HistoryView::draw_nothing(const PanelContext& context, const Area& area) {
  ImGui::SetCursorScreenPos(area.at);
  const SessionView& view = context.view;
  if (view.stepping) {
    draw_empty(context, area.size, "Stepping", "Delayed scaling is stepped over X.", "", nullptr);
    return;
  }
  const bool lost = view.link.state == LinkState::Lost;
  std::string sentence =
      "Step quantizes X of the rail with delayed scaling, step after step, and keeps the history "
      "of amax: see what a stale scale does to an outlier and to an expert without tokens.";
  if (view.from_file) sentence = "This recording holds no amax history. " + sentence;
  if (!view.history_error.empty()) sentence = view.history_error;
  if (lost) sentence += " There is no worker: start one first.";
  if (draw_empty(context, area.size, "No steps yet", sentence, "history.step_now",
                 lost ? nullptr : "Step")) {
    order(context);
  }
}

void HistoryView::draw(const PanelContext& context, const Area& area, float taken_left) {
  follow(context);
  const Theme& theme = context.theme;
  const float gap = theme.px(kGap);
  const float top = draw_controls(context, area, taken_left);
  const Area rest{ImVec2(area.at.x, top), ImVec2(area.size.x, area.end().y - top)};
  if (!shown_) return draw_nothing(context, rest);
  // The keys belong to the scrubber here; the plots must not pan with them too.
  PanelContext quiet = context;
  quiet.keys.pan = 0;
  move_by_keys(context);
  const std::vector<Area> columns = columns_of(rest, gap, {0.62F, 0.38F});
  const std::vector<Area> left = rows_of(columns[0], gap, {1.0F, 1.0F});
  const std::vector<Area> right = rows_of(columns[1], gap, {0.36F, 0.28F, 0.36F});
  draw_amax(quiet, left[0]);
  draw_scale(quiet, left[1]);
  draw_point(quiet, right[0]);
  draw_ring(quiet, right[1]);
  draw_experts(quiet, right[2]);
}

}  // namespace app
