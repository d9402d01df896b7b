// The rail's frame: whose request it shows, the sections, and below them the footer, which is
// always in view.
#include "app/gui/shell/control_rail.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/controllers/request_actions.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/text.h"

namespace app {
namespace {

/// The most of the rail's height that an error takes; a longer one is scrolled.
constexpr float kErrorShare = 0.25F;

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

void ControlRail::draw_whose_request() {
  const std::string text = whose_request(context_->view);
  if (text.empty()) return;
  const TextColorScope color(context_->theme.colors.accent);
  show_wrapped(text);
  controls::record(*context_, "rail.whose", "Whose request the rail shows", "text", text,
                   ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

}  // namespace app
