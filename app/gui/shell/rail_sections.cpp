// The rail's sections that are more than rows of the table: shape, operands and routing, which can
// come from files (opened by the worker, never here), and the engine with its library.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "app/controllers/request_controls.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/theme/text.h"
#include "engine/model/backend_traits.h"
#include "engine/model/projections.h"

namespace app {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Takes the sizes of a run from a tensor; false if its rank does not fit the operand.
bool take_shape(const engine::TensorEntry& tensor, RailOperand operand,
                engine::RunRequest& request) {
  const std::vector<std::int64_t>& sizes = tensor.shape;
  engine::ShapeSpec& shape = request.shape;
  // Columns of Wdown are those of A; its rows are K.
  const bool down = operand == RailOperand::WDown;
  const auto take_weight = [&](std::int64_t rows, std::int64_t columns) {
    const int halves = engine::traits_of(request.expert_layer.activation).halves();
    shape.n = down ? columns * halves : rows;
    shape.k = down ? rows : columns;
    return true;
  };
  switch (operand) {
    case RailOperand::X:
      if (sizes.size() != 2) return false;
      shape.tokens = sizes[0];
      shape.k = sizes[1];
      return true;
    case RailOperand::W:
    case RailOperand::WDown:
      if (sizes.size() == 3) {
        shape.num_experts =
            static_cast<int>(std::min<std::int64_t>(sizes[0], engine::kMaxExperts + 1));
        return take_weight(sizes[1], sizes[2]);
      }
      if (sizes.size() != 2 || shape.num_experts <= 0 || sizes[0] % shape.num_experts != 0) {
        return false;
      }
      return take_weight(sizes[0] / shape.num_experts, sizes[1]);
    case RailOperand::DY:
      break;
  }
  if (sizes.size() != 2) return false;
  shape.tokens = sizes[0];
  (engine::is_expert_layer(request) ? shape.k : shape.n) = sizes[1];
  return true;
}

/// Texts for an operand's file.
struct OperandText {
  const char* prefix;  // of its controls' ids
  const char* field;
  const char* shape;  // what a tensor that does not fit should have been
  FilePurpose purpose;
};

const OperandText& text_of(RailOperand operand) {
  static constexpr std::array<OperandText, 4> kTexts = {{
      {"activations", "activations", "X must be [tokens, K]", FilePurpose::Activations},
      {"weights", "weights", "W must be [experts, N, K] or [experts * N, K]", FilePurpose::Weights},
      {"down_weights", "expert_layer.down_weights",
       "Wdown must be [experts, K, columns of A] or [experts * K, columns of A]",
       FilePurpose::DownWeights},
      {"gradients", "linear.gradients", "dY must be [tokens, N], of an expert layer [tokens, K]",
       FilePurpose::Gradients},
  }};
  return kTexts[static_cast<std::size_t>(operand)];
}

/// "fprop: 412.0 us → 398.1 us, 3.4 % less (number 3 of 8)", as measured before the iterations.
std::string gain_text(const engine::AlgorithmChoice& choice) {
  const std::string first = plot::duration_text(1e3 * choice.first_us);
  if (choice.chosen == 0 || choice.first_us <= 0) {
    return fmt::format("{}: {}, the first of {} is the quickest", engine::name_of(choice.product),
                       first, choice.candidates);
  }
  return fmt::format(
      "{}: {} → {}, {:.1f} % less (number {} of {})", engine::name_of(choice.product), first,
      plot::duration_text(1e3 * choice.chosen_us),
      100.0 * (1.0 - choice.chosen_us / choice.first_us), choice.chosen + 1, choice.candidates);
}

}  // namespace

engine::InputSpec& input_of(engine::RunRequest& request, RailOperand operand) {
  switch (operand) {
    case RailOperand::X:
      return request.activations;
    case RailOperand::W:
      return request.weights;
    case RailOperand::WDown:
      return request.expert_layer.down_weights;
    case RailOperand::DY:
      break;
  }
  return request.linear.gradients;
}

void ControlRail::draw_shape(engine::RunRequest& request, bool& live) {
  section("Input");
  engine::ShapeSpec& shape = request.shape;
  const engine::ShapePreset* const chosen = preset_named(shape.preset);
  int index = chosen == nullptr ? 0 : static_cast<int>(chosen - presets_.data()) + 1;
  if (controls::combo(*context_, "shape.preset", "Shape", index, preset_labels_,
                      {.tooltip = "Layer shapes of published models, and small ones for a laptop"},
                      preset_options_)) {
    if (index == 0) {
      shape.preset.clear();
    } else {
      const engine::ShapePreset& preset = presets_[static_cast<std::size_t>(index) - 1];
      engine::apply_preset(preset, request);
      // Live must answer within a blink; on a CPU that holds for the small shapes only.
      if (!engine::traits_of(request.backend).device) live = preset.laptop;
    }
  }
  const engine::ShapeSpec before = shape;
  draw_controls("shape.experts", "shape.k", request);
  if (!(shape == before)) shape.preset.clear();
}

void ControlRail::draw_operand(RailOperand operand, engine::RunRequest& request) {
  const std::string prefix = text_of(operand).prefix;
  RequestControl source = request_control(prefix + ".source");
  // Next to Wdown, W is the up projection's.
  if (operand == RailOperand::W && engine::is_expert_layer(request)) source.label = "Wup";
  engine::InputSpec& input = input_of(request, operand);
  // The table's choices are those without a file.
  std::vector<std::string> names = choice_labels(source);
  const int from_file = static_cast<int>(names.size());
  names.emplace_back("From a file");
  const bool synthetic = std::holds_alternative<engine::SyntheticInput>(input);
  int index = synthetic ? chosen_index(source, request) : from_file;
  controls::Options options = options_of(source, request);
  // What has no effect is one greyed line.
  const bool one_line = !synthetic || !options.enabled;
  options.share = one_line ? 1.0F : 0.58F;
  if (controls::combo(*context_, source.id, source.label, index, names, options)) {
    if (index == from_file) {
      input = engine::FileInput{file_field(operand).text, {}};
    } else {
      set_control_value(source, request,
                        source.options.choices[static_cast<std::size_t>(index)].value);
    }
  }
  if (!options.enabled) return;
  if (std::holds_alternative<engine::FileInput>(input)) return draw_operand_file(operand, request);
  if (one_line) return;  // drawn in one row from the next frame on
  ImGui::SameLine(0, context_->theme.px(kGapSmall));
  draw_list(request_control(prefix + ".element"), request);
}

bool ControlRail::draw_path(const std::string& prefix, std::string& text, const char* tooltip,
                            FilePurpose purpose) {
  const float browse_width = context_->theme.px(32);
  const float gap = context_->theme.px(kGapSmall);
  const float row = ImGui::GetContentRegionAvail().x * (1 - controls::kLabelShare);
  controls::input_text(*context_, (prefix + ".path").c_str(), "  File", text,
                       {.tooltip = tooltip, .share = 1 - (browse_width + gap) / row});
  const bool edited = ImGui::IsItemDeactivatedAfterEdit();
  ImGui::SameLine(0, gap);
  if (controls::button(*context_, (prefix + ".browse").c_str(), "...", {.width = browse_width})) {
    wishes_.browse = purpose;
  }
  return edited;
}

void ControlRail::draw_operand_file(RailOperand operand, engine::RunRequest& request) {
  const OperandText& text = text_of(operand);
  const std::string prefix = text.prefix;
  engine::InputSpec& input = input_of(request, operand);
  auto& file = std::get<engine::FileInput>(input);
  FileField& field = file_field(operand);
  if (draw_path(prefix, field.text, "A .npy or .safetensors file, as the worker's machine names it",
                text.purpose)) {
    file = {field.text, {}};
  }
  if (!file.path.empty() && field.inspected_path != file.path) {
    field = {.text = file.path, .inspected_path = file.path, .error = {}, .tensors = {}};
  }
  // Asked again until answered, because a worker may start after the path was chosen.
  // A recording does not decide which files the worker opens.
  const bool own = context_->read_only.empty();
  if (own && !file.path.empty() && field.tensors.empty() && field.error.empty()) {
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
  engine::RunRequest taken = request;
  const bool fits = take_shape(field.tensors[static_cast<std::size_t>(index)], operand, taken);
  if (taken.shape == request.shape && fits) return;
  row_label("");
  if (controls::button(*context_, (prefix + ".use_shape").c_str(), "Use this file's shape",
                       {.enabled = fits, .reason = text.shape, .width = -1})) {
    taken.shape.preset.clear();
    request.shape = taken.shape;
  }
}

void ControlRail::draw_routing_file(engine::RoutingSpec& routing) {
  if (routing.distribution != engine::RoutingDistribution::File) return;
  if (draw_path("routing", routing_text_, "A .json list or .npy of integers, one split per expert",
                FilePurpose::Routing)) {
    routing.path = routing_text_;
  }
  error_under("routing.path");
}

void ControlRail::draw_engine(engine::RunRequest& request) {
  section("Engine");
  draw_backend(request);
  draw_cublaslt(request);
  draw_controls("engine.workspace", "engine.try_algorithms", request);
  draw_algorithm_gains();
  draw_controls("engine.launch", "engine.launch", request);
  RequestControl iterations = request_control("engine.iterations");
  iterations.label = request.launch.kind == engine::LaunchKind::Eager ? "Steps" : "Replays";
  draw_control(iterations, request);
  if (request.launch.kind == engine::LaunchKind::GraphReplay) {
    draw_controls("engine.deadline_factor", "engine.deadline_factor", request);
  }
  draw_controls("engine.markers", "engine.layers", request);
}

void ControlRail::draw_backend(engine::RunRequest& request) {
  const RequestControl& backend = request_control("engine.backend");
  std::vector<controls::Options> options;
  for (const ControlChoice& choice : backend.options.choices) {
    const auto kind = static_cast<engine::GemmBackend>(choice.value);
    controls::Options option;
    if (context_->read_only.empty()) {
      option.reason = backend_refusal(kind, *link_);
      const engine::Verdict verdict = verdict_on(backend, request, choice.value);
      if (option.reason.empty() && verdict.support == engine::Support::Refused) {
        option.reason = verdict.sentence;
      }
    }
    option.enabled = option.reason.empty();
    if (const BackendOffer* offer = link_->offer(kind)) option.tooltip = offer->device.name;
    options.push_back(option);
  }
  int index = chosen_index(backend, request);
  if (controls::combo(*context_, backend.id, backend.label, index, choice_labels(backend),
                      options_of(backend, request), options)) {
    set_control_value(backend, request,
                      backend.options.choices[static_cast<std::size_t>(index)].value);
  }
}

void ControlRail::draw_algorithm_gains() {
  const SessionView& view = context_->view;
  if (view.run == nullptr || view.run->result.algorithms.empty()) return;
  const FontScope font(context_->theme.fonts.label);
  const TextColorScope color(context_->theme.colors.dim_text);
  std::string all;
  const ImVec2 from = ImGui::GetCursorScreenPos();
  for (const engine::AlgorithmChoice& choice : view.run->result.algorithms) {
    const std::string line = gain_text(choice);
    show_wrapped(line);
    all += line + "\n";
  }
  controls::record(*context_, "engine.algorithm_gains", "What trying algorithms has gained", "text",
                   all, from, ImGui::GetItemRectMax());
}

void ControlRail::draw_cublaslt(engine::RunRequest& request) {
  std::vector<std::string> libraries;
  if (link_->hello()) libraries = link_->hello()->cublaslt_libraries;
  std::vector<std::string> names = {"Worker's choice"};
  names.insert(names.end(), libraries.begin(), libraries.end());
  int index = 0;
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    if (libraries[i] == link_->cublaslt()) index = static_cast<int>(i) + 1;
  }
  if (!context_->read_only.empty()) {
    const bool chosen = !request.cublaslt_library.empty();
    names = {chosen ? request.cublaslt_library : names.front()};
    libraries = names;
    index = 0;
  }
  controls::Options options;
  options.enabled = !libraries.empty();
  options.reason = "No cuBLASLt library was found on the worker's machine";
  options.tooltip = "Another library starts another worker: one process can load only one";
  if (controls::combo(*context_, "engine.cublaslt", "cuBLASLt", index, names, options)) {
    const std::string chosen = index == 0 ? "" : libraries[static_cast<std::size_t>(index) - 1];
    request.cublaslt_library = chosen;
    wishes_.cublaslt = chosen;
  }
}

}  // namespace app
