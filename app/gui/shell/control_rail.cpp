// The rail's frame, and any control of the table: what is not supported is greyed out with the gate
// table's own sentence; what has no effect says why; what is hazardous carries a mark and stays
// possible. The footer always shows Run, Live, the error and where effective settings differ from
// requested ones.
#include "app/gui/shell/control_rail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "app/controllers/foreseen_changes.h"
#include "app/controllers/request_actions.h"
#include "app/controllers/request_controls.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/text.h"
#include "engine/gemm/support.h"

namespace app {
namespace {

/// The most of the rail's height that an error takes; a longer one is scrolled.
constexpr float kErrorShare = 0.25F;

/// A choice as the gate table allows it, with its sentence.
controls::Options gate(const engine::Verdict& verdict) {
  return {.enabled = verdict.support != engine::Support::Refused,
          .reason = verdict.sentence,
          .tooltip = verdict.sentence};
}

bool same_sizes(const engine::ShapeSpec& a, const engine::ShapeSpec& b) {
  return a.num_experts == b.num_experts && a.rows == b.rows && a.n == b.n && a.k == b.k;
}

/// Empty = the rail shows the user's own request, and the page what came of it.
std::string whose_request(const SessionView& view) {
  if (!view.from_file) {
    const bool apart = view.subject && !view.subject->answers_request;
    return apart ? "The request of your next run, not of this page" : "";
  }
  // The rail has more words than the page's headline: without this it would seem to describe it.
  const bool others = view.subject && view.subject->shape &&
                      !same_sizes(*view.subject->shape, view.requested.shape);
  const std::string page =
      others ? fmt::format("Not what this page shows ({}): ", shape_words(*view.subject->shape))
             : "";
  if (!view.recorded_request) {
    return page + (others ? "your own request. The" : "Your own request: the") +
           " recording does not say which request its results are of.";
  }
  // What a recording compared need not be what its run did.
  if (!view.subject) return "The recorded request";
  return page + (others ? "the" : "The") + " request of the recorded run in the list above";
}

}  // namespace

ControlRail::ControlRail(std::vector<engine::ShapePreset> presets)
    : presets_(std::move(presets)), preset_labels_{"By hand"}, preset_options_(1) {
  for (const engine::ShapePreset& preset : presets_) {
    preset_labels_.push_back(preset.laptop ? preset.name + " · quick on a CPU" : preset.name);
    preset_options_.push_back({.tooltip = preset.description});
  }
}

const engine::ShapePreset* ControlRail::laptop_preset() const {
  if (const engine::ShapePreset* small = preset_named("Laptop small")) return small;
  const auto found = std::ranges::find(presets_, true, &engine::ShapePreset::laptop);
  return found == presets_.end() ? nullptr : &*found;
}

const engine::ShapePreset* ControlRail::preset_named(const std::string& name) const {
  const auto found = std::ranges::find(presets_, name, &engine::ShapePreset::name);
  return found == presets_.end() ? nullptr : &*found;
}

void ControlRail::file_inspected(const FileReport& report) {
  if (report.asked) {
    routing_.asked = *report.asked;
    routing_.facts = report.routing;
    routing_.error = report.error;
    routing_.readings = report.readings;
    routing_.answered_at = std::chrono::steady_clock::now();
    return;
  }
  for (FileField& field : files_) {
    if (field.inspected_path != report.path) continue;
    field.tensors = report.tensors;
    field.dump = dump_of(report);
    field.error = report.error;
  }
}

void ControlRail::forget_files() {
  for (FileField& field : files_) {
    field.tensors.clear();
    field.error.clear();
  }
  routing_.asked.reset();
}

void ControlRail::follow(const engine::RunRequest& request) {
  engine::RunRequest shown = request;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const engine::InputSpec& input = input_of(shown, static_cast<RequestOperand>(i));
    if (const auto* file = std::get_if<engine::FileInput>(&input)) files_[i].text = file->path;
  }
  routing_.text = request.routing.path;
  routing_.tensor = request.routing.tensor;
}

RailWishes ControlRail::draw(const PanelContext& context, const LinkSupervisor& link,
                             engine::RunRequest& request, RailSections& sections, bool live,
                             const std::string& last_error) {
  PanelContext settings = context;
  if (context.view.recorded_request) {
    settings.read_only =
        "This is the recorded request. To change it, press \"Use as my request\" below";
  }
  context_ = &settings;
  link_ = &link;
  sections_ = &sections;
  wishes_ = {};
  const engine::Status status = engine::validate(request);
  problem_ = status.ok() ? engine::Error() : status.error();
  find_usual(request);

  const Theme& theme = context.theme;
  error_height_ = kErrorShare * ImGui::GetWindowHeight();
  {
    const ChildScope body("##rail_body", {0, -footer_height_}, theme.colors.panel,
                          {theme.px(kPanelPadding), theme.px(kGap)});
    draw_whose_request();
    if (section("Input")) {
      draw_shape(request);
      draw_operand(RequestOperand::X, request);
      draw_operand(RequestOperand::W, request);
      draw_operand(RequestOperand::WDown, request);
      draw_controls("input.seed", "input.seed", request);
    }
    if (section("Routing")) {
      draw_controls("routing.distribution", "routing.distribution", request);
      draw_routing_file(request);
      draw_controls("routing.alignment", "routing.alignment", request);
    }
    if (section("Step")) {
      const engine::StepKind step = request.step;
      draw_controls("step.kind", "step.kind", request);
      if (request.step != step) request.shape.preset.clear();  // it named another step
      draw_controls("step.activation", "step.bias", request);
      draw_operand(RequestOperand::DY, request);
      draw_controls("step.wgrad_type", "step.weight_reuse", request);
    }
    if (section("Recipe")) draw_controls("recipe.scaling", "recipe.stochastic", request);
    if (section("Engine")) draw_engine(request);
    if (section("Measure")) {
      draw_controls("measure.trace", "measure.recorded_steps", request);
    }
  }
  context_ = &context;
  {
    const ChildScope foot("##rail_foot", {0, 0}, theme.colors.panel,
                          {theme.px(kPanelPadding), theme.px(kGap)},
                          ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    const ImVec2 at = ImGui::GetWindowPos();
    ImGui::GetWindowDrawList()->AddLine(at, {at.x + ImGui::GetWindowWidth(), at.y},
                                        theme.colors.line);
    draw_footer(request, live, last_error);
    footer_height_ = ImGui::GetCursorPosY() + theme.px(kGapSmall);
  }
  return std::move(wishes_);
}

void ControlRail::draw_footer(engine::RunRequest& request, bool live,
                              const std::string& last_error) {
  const Theme& theme = context_->theme;
  draw_deviations(request);
  if (context_->view.recorded_request) return draw_take_over();
  if (!last_error.empty() || !problem_.message.empty()) {
    const std::string& text = problem_.message.empty() ? last_error : problem_.message;
    show_error(text);
    controls::record(*context_, "run.error", "What blocks the run", "text", text,
                     ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  }
  const LinkState state = link_->status().state;
  controls::Options run;
  run.width = (ImGui::GetContentRegionAvail().x - theme.px(kGap)) * 0.55F;
  run.tooltip = "Run this request once (Ctrl+R or F5)";
  if (!problem_.message.empty()) {
    run.enabled = false;
    run.reason = problem_.message;
  } else if (state == LinkState::Lost) {
    run.enabled = false;
    run.reason = "There is no worker: " + link_->status().reason;
  }
  if (link_->waiting() && state != LinkState::Lost) {
    if (controls::button(*context_, "run.cancel", "Cancel", {.width = run.width})) {
      wishes_.cancel = true;
    }
  } else {
    ImGui::PushStyleColor(ImGuiCol_Button, theme.colors.accent);
    ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.colors.accent);
    const TextColorScope color(theme.colors.window);
    wishes_.run = controls::button(*context_, "run.now", "Run", run);
    ImGui::PopStyleColor(2);
  }
  ImGui::SameLine(0, theme.px(kGapLarge));
  if (controls::checkbox(*context_, "run.live", "Live", live,
                         {.tooltip = "Every change of a control runs at once; the newest wins."})) {
    context_->commands.push_back(Action::ToggleLive);
  }
}

void ControlRail::show_error(const std::string& text) {
  const TextColorScope color(context_->theme.colors.bad);
  if (shown_size(text, ImGui::GetContentRegionAvail().x).y <= error_height_) {
    return show_wrapped(text);
  }
  {
    const ChildScope part("##run_error", {0, error_height_}, context_->theme.colors.panel, {0, 0});
    show_wrapped(text);
  }
  if (ImGui::IsMouseHoveringRect(ImGui::GetItemRectMin(), ImGui::GetItemRectMax()) &&
      ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows)) {
    controls::tooltip(*context_, text);
  }
}

void ControlRail::draw_whose_request() {
  const std::string text = whose_request(context_->view);
  if (text.empty()) return;
  const TextColorScope color(context_->theme.colors.accent);
  show_wrapped(text);
  controls::record(*context_, "rail.whose", "Whose request the rail shows", "text", text,
                   ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

void ControlRail::draw_take_over() {
  const Theme& theme = context_->theme;
  ImGui::PushStyleColor(ImGuiCol_Button, theme.colors.accent);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, theme.colors.accent);
  const TextColorScope color(theme.colors.window);
  if (controls::button(*context_, "run.use_recorded", "Use as my request",
                       {.tooltip = "Leaves the recording with this request in the rail, where it "
                                   "can be changed and run; Ctrl+Z comes back",
                        .width = -1})) {
    context_->commands.push_back(Action::UseRecordedRequest);
  }
  ImGui::PopStyleColor(2);
}

void ControlRail::draw_deviations(engine::RunRequest& request) {
  const SessionView& view = context_->view;
  const bool own = !view.from_file && !view.recorded_request && view.hello;
  if (own && !view.answers) {
    const std::vector<engine::Deviation> coming = foreseen_changes(request, *view.hello);
    if (!coming.empty()) draw_changes("Run will change here:", coming, request, Reasons::InTooltip);
    // Of a run that had other settings it would say nothing about this request.
    if (!coming.empty()) return draw_use_cpu(request);
  }
  if (view.run == nullptr) return;
  const FontScope font(context_->theme.fonts.label);
  const std::vector<engine::Deviation>& deviations = view.run->result.deviations;
  // The request in the rail may have changed since; a recording has its own.
  const char* whose = view.from_file ? "The recorded run: "
                      : view.answers ? ""
                                     : "The run on screen: ";
  if (deviations.empty()) {
    const TextColorScope color(context_->theme.colors.dim_text);
    const std::string line =
        whose[0] == '\0' ? "Effective = requested" : std::string(whose) + "effective = requested";
    show_text(line);
    controls::record(*context_, "deviations", line.c_str(), "text", "", ImGui::GetItemRectMin(),
                     ImGui::GetItemRectMax());
    return;
  }
  draw_changes(whose, deviations, view.run->request, Reasons::Below);
  if (own) draw_use_cpu(request);
}

void ControlRail::draw_changes(const char* whose, const std::vector<engine::Deviation>& deviations,
                               const engine::RunRequest& requested, Reasons reasons) {
  const Theme& theme = context_->theme;
  const FontScope font(theme.fonts.label);
  std::string all;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (whose[0] != '\0') {
    const TextColorScope color(theme.colors.dim_text);
    show_text(whose);
  }
  std::vector<std::string> without_effect;
  for (const engine::Deviation& one : deviations) {
    const std::string label = setting_label(one.field);
    const std::string line =
        fmt::format("{}: {} → {}", label, setting_value(one.field, one.requested),
                    setting_value(one.field, one.effective));
    all += line + ": " + one.reason + "\n";
    // Left from another recipe or backend; its control is disabled and says why.
    if (!engine::inapplicable_reason(one.field, requested).empty()) {
      without_effect.push_back(label);
      continue;
    }
    {
      const TextColorScope color(theme.colors.warn);
      show_wrapped(line);
    }
    if (reasons == Reasons::InTooltip) {
      if (ImGui::IsItemHovered()) controls::tooltip(*context_, one.reason);
      continue;
    }
    const TextColorScope color(theme.colors.dim_text);
    show_wrapped(one.reason);
  }
  if (!without_effect.empty()) {
    const TextColorScope color(theme.colors.dim_text);
    show_wrapped(fmt::format("No effect here: {}", fmt::join(without_effect, ", ")));
  }
  controls::record(*context_, "deviations", "Deviations", "text", all, at, ImGui::GetItemRectMax());
}

void ControlRail::draw_use_cpu(engine::RunRequest& request) {
  if (!cpu_replaces_device(request, *context_->view.hello)) return;
  if (controls::button(*context_, "run.use_cpu", "Use the CPU reference",
                       {.tooltip = "Sets Backend: recipes and other settings that only this "
                                   "backend has can then be chosen. Ctrl+Z undoes it",
                        .width = -1})) {
    request.backend = engine::GemmBackend::CpuReference;
  }
}

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
