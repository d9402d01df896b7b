// The rail's upper half: shape, operands and routing. A file is opened by the worker, never here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "app/controllers/request_controls.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/shell/scopes.h"
#include "app/gui/theme/text.h"
#include "engine/model/backend_traits.h"

namespace app {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Sizes of a run that this tensor would fill; false when its rank does not fit the role.
bool take_shape(const engine::TensorEntry& tensor, engine::OperandRole role,
                engine::ShapeSpec& shape) {
  const std::vector<std::int64_t>& sizes = tensor.shape;
  if (role == engine::OperandRole::Activations && sizes.size() == 2) {
    shape.tokens = sizes[0];
    shape.k = sizes[1];
    return true;
  }
  if (role == engine::OperandRole::Weights && sizes.size() == 3) {
    shape.num_experts = static_cast<int>(std::min<std::int64_t>(sizes[0], engine::kMaxExperts + 1));
    shape.n = sizes[1];
    shape.k = sizes[2];
    return true;
  }
  if (role == engine::OperandRole::Weights && sizes.size() == 2 && shape.num_experts > 0 &&
      sizes[0] % shape.num_experts == 0) {
    shape.n = sizes[0] / shape.num_experts;
    shape.k = sizes[1];
    return true;
  }
  if (role == engine::OperandRole::Gradients && sizes.size() == 2) {
    shape.tokens = sizes[0];
    shape.n = sizes[1];
    return true;
  }
  return false;
}

/// What the rail says about an operand's file, by role.
struct OperandText {
  const char* prefix;  // of its controls' ids
  const char* field;
  const char* shape;  // what a tensor that does not fit should have been
  FilePurpose purpose;
};

const OperandText& text_of(engine::OperandRole role) {
  static constexpr std::array<OperandText, 3> kTexts = {{
      {"activations", "activations", "X must be [tokens, K]", FilePurpose::Activations},
      {"weights", "weights", "W must be [experts, N, K] or [experts * N, K]", FilePurpose::Weights},
      {"gradients", "linear.gradients", "dY must be [tokens, N]", FilePurpose::Gradients},
  }};
  return kTexts[static_cast<std::size_t>(role)];
}

}  // namespace

engine::InputSpec& input_of(engine::RunRequest& request, engine::OperandRole role) {
  switch (role) {
    case engine::OperandRole::Activations:
      return request.activations;
    case engine::OperandRole::Weights:
      return request.weights;
    case engine::OperandRole::Gradients:
      break;
  }
  return request.linear.gradients;
}

ControlRail::FileField& ControlRail::file_field(engine::OperandRole role) {
  switch (role) {
    case engine::OperandRole::Activations:
      return activations_;
    case engine::OperandRole::Weights:
      return weights_;
    case engine::OperandRole::Gradients:
      break;
  }
  return gradients_;
}

void ControlRail::draw_shape(engine::RunRequest& request, bool& live) {
  section("Input");
  engine::ShapeSpec& shape = request.shape;
  std::vector<std::string> names = {"By hand"};
  std::vector<controls::Options> options(1);
  int index = 0;
  for (std::size_t i = 0; i < presets_.size(); ++i) {
    const engine::ShapePreset& preset = presets_[i];
    names.push_back(preset.laptop ? preset.name + " · live on a CPU" : preset.name);
    controls::Options option;
    option.tooltip = preset.description;
    options.push_back(option);
    if (preset.name == shape.preset) index = static_cast<int>(i) + 1;
  }
  if (controls::combo(*context_, "shape.preset", "Shape", index, names,
                      {.tooltip = "Layer shapes of published models, and small ones for a laptop"},
                      options)) {
    if (index == 0) {
      shape.preset.clear();
    } else {
      const engine::ShapePreset& preset = presets_[static_cast<std::size_t>(index) - 1];
      shape = preset.shape;
      shape.preset = preset.name;
      // Live must answer within a blink; on a CPU that holds for the small shapes only.
      if (!engine::traits_of(request.backend).device) live = preset.laptop;
    }
  }
  const engine::ShapeSpec before = shape;
  draw_controls("shape.experts", "shape.k", request);
  if (!(shape == before)) shape.preset.clear();
}

void ControlRail::draw_operand(engine::OperandRole role, engine::RunRequest& request) {
  const std::string prefix = text_of(role).prefix;
  const RequestControl& source = request_control(prefix + ".source");
  engine::InputSpec& input = input_of(request, role);
  // The table's choices are those without a file.
  std::vector<std::string> names = choice_labels(source);
  const int from_file = static_cast<int>(names.size());
  names.emplace_back("From a file");
  const bool synthetic = std::holds_alternative<engine::SyntheticInput>(input);
  int index = synthetic ? chosen_index(source, request) : from_file;
  controls::Options options = options_of(source, request);
  // Nothing reads what has no effect: one greyed line.
  const bool one_line = !synthetic || !options.enabled;
  options.share = one_line ? 1.0F : 0.58F;
  if (controls::combo(*context_, source.id, source.label, index, names, options)) {
    if (index == from_file) {
      input = engine::FileInput{file_field(role).text, {}};
    } else {
      set_control_value(source, request,
                        source.options.choices[static_cast<std::size_t>(index)].value);
    }
  }
  if (!options.enabled) return;
  if (std::holds_alternative<engine::FileInput>(input)) return draw_operand_file(role, request);
  if (one_line) return;  // drawn in one row from the next frame on
  ImGui::SameLine(0, context_->theme.px(kGapSmall));
  draw_list(request_control(prefix + ".element"), request);
}

void ControlRail::draw_operand_file(engine::OperandRole role, engine::RunRequest& request) {
  const OperandText& text = text_of(role);
  const std::string prefix = text.prefix;
  engine::InputSpec& input = input_of(request, role);
  auto& file = std::get<engine::FileInput>(input);
  FileField& field = file_field(role);
  const float browse_width = context_->theme.px(32);
  const float gap = context_->theme.px(kGapSmall);
  const float row = ImGui::GetContentRegionAvail().x;
  controls::Options path;
  path.share = 1 - (browse_width + gap) / (row * (1 - controls::kLabelShare));
  path.tooltip = "A .npy or .safetensors file, as the worker's machine names it";
  controls::input_text(*context_, (prefix + ".path").c_str(), "  File", field.text, path);
  if (ImGui::IsItemDeactivatedAfterEdit()) file = {field.text, {}};
  ImGui::SameLine(0, gap);
  if (controls::button(*context_, (prefix + ".browse").c_str(), "...", {.width = browse_width})) {
    wishes_.browse = text.purpose;
  }
  if (!file.path.empty() && field.inspected_path != file.path) {
    field = {.text = file.path, .inspected_path = file.path, .error = {}, .tensors = {}};
  }
  // Asked again until answered, because a worker may start after the path was chosen.
  if (!file.path.empty() && field.tensors.empty() && field.error.empty()) {
    wishes_.inspect = file.path;
  }
  error_under(text.field);
  if (!field.error.empty()) {
    const TextColorScope color(context_->theme.colors.bad);
    show_wrapped(field.error);
  }
  if (field.tensors.empty()) return;

  int index = -1;
  std::vector<std::string> names;
  std::vector<controls::Options> options;
  for (const engine::TensorEntry& tensor : field.tensors) {
    if (tensor.name == file.tensor) index = static_cast<int>(names.size());
    names.push_back(fmt::format("{} {} {}", tensor.name, tensor.dtype, shape_text(tensor.shape)));
    controls::Options option;
    option.enabled = tensor.usable;
    option.reason = tensor.reason;
    options.push_back(option);
  }
  if (controls::combo(*context_, (prefix + ".tensor").c_str(), "  Tensor", index, names, {},
                      options)) {
    file.tensor = field.tensors[static_cast<std::size_t>(index)].name;
  }
  if (index < 0) return;
  engine::ShapeSpec shape = request.shape;
  const bool fits = take_shape(field.tensors[static_cast<std::size_t>(index)], role, shape);
  if (shape == request.shape && fits) return;
  row_label("");
  if (controls::button(*context_, (prefix + ".use_shape").c_str(), "Use this file's shape",
                       {.enabled = fits, .reason = text.shape, .width = -1})) {
    shape.preset.clear();
    request.shape = shape;
  }
}

void ControlRail::draw_routing_file(engine::RoutingSpec& routing) {
  if (routing.distribution != engine::RoutingDistribution::File) return;
  const float browse_width = context_->theme.px(32);
  const float gap = context_->theme.px(kGapSmall);
  const float row = ImGui::GetContentRegionAvail().x;
  controls::Options path;
  path.share = 1 - (browse_width + gap) / (row * (1 - controls::kLabelShare));
  path.tooltip = "A .json list or .npy of integers, one split per expert";
  controls::input_text(*context_, "routing.path", "  File", routing_text_, path);
  if (ImGui::IsItemDeactivatedAfterEdit()) routing.path = routing_text_;
  ImGui::SameLine(0, gap);
  if (controls::button(*context_, "routing.browse", "...", {.width = browse_width})) {
    wishes_.browse = FilePurpose::Routing;
  }
  error_under("routing.path");
}

}  // namespace app
