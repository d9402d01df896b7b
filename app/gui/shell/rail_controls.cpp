// Draws any control of the table. What cannot be had is greyed out with the gate table's own
// sentence; what has no effect says why; what is hazardous carries a mark and stays possible.
#include "app/controllers/request_controls.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/control_rail.h"
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

engine::Verdict ControlRail::verdict_on(const RequestControl& control, engine::RunRequest request,
                                        std::int64_t value) const {
  set_control_value(control, request, value);
  return control_support(control, request, *link_);
}

controls::Options ControlRail::options_of(const RequestControl& control,
                                          const engine::RunRequest& request) {
  controls::Options options{.tooltip = control.options.tooltip, .per_row = control.options.per_row};
  // A comparison has every recipe in it, with these settings.
  if (control.options.compared && context_->view.recipes) return options;
  options.reason = engine::inapplicable_reason(control.field, request);
  options.enabled = options.reason.empty();
  if (control.options.compared && !options.enabled) {
    options.reason += "; or show Numerics, Recipes";
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
  error_under(control.field);
}

void ControlRail::draw_segments(const RequestControl& control, engine::RunRequest& request) {
  controls::Options options = options_of(control, request);
  int index = chosen_index(control, request);
  std::vector<controls::Options> gates;
  for (const ControlChoice& choice : control.options.choices) {
    if (!control.options.gated || !link_->hello()) break;
    const engine::Verdict verdict = verdict_on(control, request, choice.value);
    const bool chosen = std::ssize(gates) == index;
    gates.push_back(gate(verdict));
    if (chosen && options.enabled && verdict.support == engine::Support::Hazardous) {
      options.hazardous = true;
      options.reason = verdict.sentence;
    }
  }
  if (control.label[0] != '\0') row_label(control.label);
  if (controls::segmented(*context_, control.id, index, choice_labels(control), options, gates)) {
    set_control_value(control, request,
                      control.options.choices[static_cast<std::size_t>(index)].value);
  }
}

void ControlRail::draw_list(const RequestControl& control, engine::RunRequest& request) {
  int index = chosen_index(control, request);
  if (controls::combo(*context_, control.id, control.label, index, choice_labels(control),
                      options_of(control, request))) {
    set_control_value(control, request,
                      control.options.choices[static_cast<std::size_t>(index)].value);
  }
}

void ControlRail::draw_switch(const RequestControl& control, engine::RunRequest& request) {
  controls::Options options = options_of(control, request);
  bool on = control_number(control, request) != 0;
  // Only the change that a click would make is gated: what is set can always be taken back.
  if (control.options.gated && options.enabled && !on) {
    const auto refused = [](const engine::Verdict& verdict) {
      return verdict.support == engine::Support::Refused;
    };
    const engine::Verdict verdict = verdict_on(control, request, 1);
    if (refused(verdict) && !refused(verdict_on(control, request, 0))) {
      options = gate(verdict);
    }
  }
  if (control.options.row != nullptr) {
    row_label(control.options.row);
    labelled_row_ = true;
  } else if (control.options.beside) {
    ImGui::SameLine(0, context_->theme.px(labelled_row_ ? kGapLarge : kGapSection));
  } else {
    labelled_row_ = false;
  }
  if (controls::checkbox(*context_, control.id, control.label, on, options)) {
    set_control_value(control, request, std::int64_t{on ? 1 : 0});
  }
}

void ControlRail::draw_number(const RequestControl& control, engine::RunRequest& request) {
  const ControlRange range = control_range(control);
  std::int64_t value = control_number(control, request);
  if (controls::drag_int(*context_, control.id, control.label, value, range.low, range.high,
                         range.reset, options_of(control, request))) {
    set_control_value(control, request, value);
  }
}

}  // namespace app
