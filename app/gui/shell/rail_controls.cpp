// Any control of the table: what is not supported is greyed out with the gate table's own sentence;
// what has no effect says why; what is hazardous carries a mark and stays possible.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "app/controllers/request_controls.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/theme/text.h"
#include "engine/gemm/support.h"

namespace app {
namespace {

/// A choice as the gate table allows it, with its sentence.
controls::Options gate(const engine::Verdict& verdict) {
  return {.enabled = verdict.support != engine::Support::Refused,
          .reason = verdict.sentence,
          .tooltip = verdict.sentence};
}

}  // namespace

void ControlRail::row_label(const char* label) {
  const float start = ImGui::GetCursorPosX();
  const float taken = ImGui::GetContentRegionAvail().x * controls::kLabelShare;
  ImGui::AlignTextToFramePadding();
  const TextColorScope color(context_->theme.colors.dim_text);
  show_text(label);
  ImGui::SameLine();
  ImGui::SetCursorPosX(start + taken);
}

bool ControlRail::is_wrong(std::string_view field) const {
  const std::string_view wrong = problem_.field;
  return !problem_.message.empty() && wrong.starts_with(field) &&
         (wrong.size() == field.size() || wrong[field.size()] == '.');
}

void ControlRail::error_under(std::string_view field) {
  if (!is_wrong(field)) return;
  const TextColorScope color(context_->theme.colors.bad);
  show_wrapped(problem_.message);
  controls::record(*context_, fmt::format("error.{}", field).c_str(), std::string(field).c_str(),
                   "text", problem_.message, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

bool ControlRail::gates_count(const RequestControl& control) const {
  // What this worker supports says nothing about a run that was recorded elsewhere.
  return control.options.gated && link_->hello() && context_->read_only.empty();
}

engine::Verdict ControlRail::verdict_on(const RequestControl& control, engine::RunRequest request,
                                        std::int64_t value) const {
  set_control_value(control, request, value);
  return control_support(control, request, *link_);
}

controls::Options ControlRail::options_of(const RequestControl& control,
                                          const engine::RunRequest& request) {
  controls::Options options{.tooltip = control.options.tooltip, .per_row = control.options.per_row};
  if (control.kind == ControlKind::Decades) {
    options.tooltip += ". Drag to change it by decades, click to type, double click for 0";
  }
  // A comparison has every recipe in it, with these settings.
  if (control.options.compared && context_->view.recipes) return options;
  options.reason = engine::inapplicable_reason(control.field, request);
  options.enabled = options.reason.empty();
  if (control.options.compared && !options.enabled) {
    options.reason += ", or show Numerics, Recipes";
  }
  return options;
}

void ControlRail::draw_controls(const char* first, const char* last, engine::RunRequest& request) {
  const RequestControl* const end = &request_control(last) + 1;
  for (const RequestControl* one = &request_control(first); one != end; ++one) {
    draw_control(*one, request);
  }
}

void ControlRail::draw_control(const RequestControl& control, engine::RunRequest& request) {
  if (!control.options.beside) row_ = {.label = control.options.row};
  if (!shows(control)) return;
  draw_by_kind(control, request);
  if (const std::string refusal = controls::refusal_of(*context_, control.id); !refusal.empty()) {
    const TextColorScope color(context_->theme.colors.bad);
    show_wrapped(refusal);
    controls::record(*context_, fmt::format("refused.{}", control.id).c_str(), control.label,
                     "text", refusal, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  }
  error_under(control.field);
}

void ControlRail::draw_by_kind(const RequestControl& control, engine::RunRequest& request) {
  switch (control.kind) {
    case ControlKind::Segments:
      draw_segments(control, request);
      break;
    case ControlKind::List:
      draw_list(control, request);
      break;
    case ControlKind::Switch:
      draw_switch(control, request);
      break;
    case ControlKind::Number:
      draw_number(control, request);
      break;
    case ControlKind::Decades: {
      mark_changed(control);
      auto value = static_cast<float>(control_value(control, request));
      const ControlRange range = control_range(control);
      if (controls::drag_float(*context_, control.id, control.label, value, 0.0F,
                               static_cast<float>(range.high), static_cast<float>(range.reset),
                               options_of(control, request))) {
        set_control_value(control, request, static_cast<double>(value));
      }
      break;
    }
  }
}

std::vector<controls::Options> ControlRail::gates_of(const RequestControl& control,
                                                     const engine::RunRequest& request, int chosen,
                                                     controls::Options& options) const {
  std::vector<controls::Options> gates;
  if (!gates_count(control)) return gates;
  for (const ControlChoice& choice : control.options.choices) {
    const engine::Verdict verdict = verdict_on(control, request, choice.value);
    const bool is_chosen = std::ssize(gates) == chosen;
    gates.push_back(gate(verdict));
    if (is_chosen && options.enabled && verdict.support == engine::Support::Hazardous) {
      options.hazardous = true;
      options.reason = verdict.sentence;
    }
  }
  return gates;
}

void ControlRail::draw_segments(const RequestControl& control, engine::RunRequest& request) {
  controls::Options options = options_of(control, request);
  int index = chosen_index(control, request);
  const std::vector<controls::Options> gates = gates_of(control, request, index, options);
  mark_changed(control);
  if (control.label[0] != '\0') row_label(control.label);
  if (controls::segmented(*context_, control.id, index, choice_labels(control), options, gates)) {
    set_control_value(control, request,
                      control.options.choices[static_cast<std::size_t>(index)].value);
  }
}

void ControlRail::draw_list(const RequestControl& control, engine::RunRequest& request) {
  controls::Options options = options_of(control, request);
  int index = chosen_index(control, request);
  const std::vector<controls::Options> gates = gates_of(control, request, index, options);
  mark_changed(control);
  if (controls::combo(*context_, control.id, control.label, index, choice_labels(control), options,
                      gates)) {
    set_control_value(control, request,
                      control.options.choices[static_cast<std::size_t>(index)].value);
  }
}

void ControlRail::draw_switch(const RequestControl& control, engine::RunRequest& request) {
  controls::Options options = options_of(control, request);
  bool on = control_number(control, request) != 0;
  // Only switching it on is gated: it can always be switched off.
  if (gates_count(control) && options.enabled && !on) {
    const auto refused = [](const engine::Verdict& verdict) {
      return verdict.support == engine::Support::Refused;
    };
    const engine::Verdict verdict = verdict_on(control, request, 1);
    if (refused(verdict) && !refused(verdict_on(control, request, 0))) {
      options = gate(verdict);
    }
  }
  place_in_row(context_->theme.px(row_.label == nullptr ? kGapSection : kGapLarge));
  mark_changed(control);
  if (controls::checkbox(*context_, control.id, control.label, on, options)) {
    set_control_value(control, request, std::int64_t{on ? 1 : 0});
  }
}

void ControlRail::draw_number(const RequestControl& control, engine::RunRequest& request) {
  const ControlRange range = control_range(control);
  controls::Options options = options_of(control, request);
  options.zero = control.options.zero;
  std::string label = control.label;
  if (row_.label != nullptr) {
    // Two share it.
    label.insert(0, "##");
    const float gap = context_->theme.px(kGapSmall);
    place_in_row(gap);
    if (!control.options.beside) {
      options.share = 0.5F * (1 - gap / ImGui::GetContentRegionAvail().x);
    }
  }
  mark_changed(control);
  if (is_real(control)) {
    double value = control_value(control, request);
    if (controls::drag_real(*context_, control.id, label.c_str(), value, range.low, range.high,
                            range.reset, options)) {
      set_control_value(control, request, value);
    }
    return;
  }
  std::int64_t value = control_number(control, request);
  if (controls::drag_int(
          *context_, control.id, label.c_str(), value, static_cast<std::int64_t>(range.low),
          static_cast<std::int64_t>(range.high), static_cast<std::int64_t>(range.reset), options)) {
    set_control_value(control, request, value);
  }
}

}  // namespace app
