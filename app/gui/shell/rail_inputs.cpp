// Parts of the rail that are more than rows of the table: shape, operands and routing, which can
// come from files (opened by the worker, never here), and the engine with its library.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "app/controllers/operand_file.h"
#include "app/controllers/request_controls.h"
#include "app/controllers/routing_file.h"
#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/theme/text.h"
#include "engine/input/tensor_file.h"
#include "engine/model/projections.h"
#include "engine/model/step_tensors.h"
#include "profiling/document/algorithm_text.h"

namespace app {
namespace {

/// How long what is said of a routing file is believed. Only a frame asks again, and an idle window
/// draws none.
constexpr std::chrono::seconds kAskedAgainAfter{2};

/// Texts for an operand's file.
struct OperandText {
  const char* prefix;  // of its controls' ids
  const char* field;
  FilePurpose purpose;
};

const OperandText& text_of(RequestOperand operand) {
  static constexpr std::array<OperandText, kRequestOperands> kTexts = {{
      {"activations", "activations", FilePurpose::Activations},
      {"weights", "weights", FilePurpose::Weights},
      {"down_weights", "expert_layer.down_weights", FilePurpose::DownWeights},
      {"gradients", "products.gradients", FilePurpose::Gradients},
  }};
  return kTexts[static_cast<std::size_t>(operand)];
}

/// Over a text field that is not edited: it would show the beginning of a long path, which says
/// least about it.
void draw_end_of_path(const std::string& path) {
  const ImVec2 padding = ImGui::GetStyle().FramePadding;
  const ImVec2 low = ImGui::GetItemRectMin();
  const ImVec2 high = ImGui::GetItemRectMax();
  const float room = high.x - low.x - 2.0F * padding.x;
  const ImFont* font = ImGui::GetFont();
  if (shown_size(font, path).x <= room) return;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled(low, high, ImGui::GetColorU32(ImGuiCol_FrameBg),
                      ImGui::GetStyle().FrameRounding);
  draw_shown(draw, font, {low.x + padding.x, low.y + padding.y}, ImGui::GetColorU32(ImGuiCol_Text),
             fitted_end(font, path, room));
}

}  // namespace

void ControlRail::draw_shape(engine::RunRequest& request) {
  engine::ShapeSpec& shape = request.shape;
  const engine::ShapePreset* const chosen = preset_named(shape.preset);
  int index = chosen == nullptr ? 0 : static_cast<int>(chosen - presets_.data()) + 1;
  if (controls::combo(*context_, "shape.preset", "Shape", index, preset_labels_,
                      {.tooltip = "Layer shapes of published models, and small ones for a laptop"},
                      preset_options_)) {
    if (index == 0) {
      shape.preset.clear();
    } else {
      engine::apply_preset(presets_[static_cast<std::size_t>(index) - 1], request);
    }
  }
  const engine::ShapeSpec before = shape;
  draw_controls("shape.experts", "shape.k", request);
  if (!(shape == before)) shape.preset.clear();
}

void ControlRail::draw_operand(RequestOperand operand, engine::RunRequest& request) {
  const std::string prefix = text_of(operand).prefix;
  RequestControl source = request_control(prefix + ".source");
  // Next to Wdown, W is the up projection's.
  if (operand == RequestOperand::W && engine::is_expert_layer(request)) source.label = "Wup";
  engine::InputSpec& input = input_of(request, operand);
  // The table's choices are those without a file.
  std::vector<std::string> names = choice_labels(source);
  const int from_file = static_cast<int>(names.size());
  names.emplace_back("From a file");
  const bool synthetic = std::holds_alternative<engine::SyntheticInput>(input);
  int index = synthetic ? chosen_index(source, request) : from_file;
  if (!shows(request_control(source.id))) return;
  mark_changed(request_control(source.id));
  controls::Options options = options_of(source, request);
  // What has no effect is one greyed line.
  const bool one_line = !synthetic || !options.enabled;
  options.share = one_line ? 1.0F : 0.58F;
  if (controls::combo(*context_, source.id, source.label, index, names, options)) {
    if (index == from_file) {
      const std::string& named = file_field(operand).text;
      if (named.empty()) input = engine::FileInput{};
      if (!named.empty()) wishes_.tensor = UseTensor{named, operand};
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
                       {.tooltip = text.empty() ? tooltip : text + "\n" + tooltip,
                        .share = 1 - (browse_width + gap) / row});
  const bool edited = ImGui::IsItemDeactivatedAfterEdit();
  if (!ImGui::IsItemActive()) draw_end_of_path(text);
  ImGui::SameLine(0, gap);
  if (controls::button(*context_, (prefix + ".browse").c_str(), "...", {.width = browse_width})) {
    wishes_.browse = purpose;
  }
  return edited;
}

void ControlRail::draw_operand_file(RequestOperand operand, engine::RunRequest& request) {
  const OperandText& text = text_of(operand);
  const std::string prefix = text.prefix;
  engine::InputSpec& input = input_of(request, operand);
  auto& file = std::get<engine::FileInput>(input);
  FileField& field = file_field(operand);
  if (draw_path(prefix, field.text, "A .npy, .npz or .safetensors file on the worker's machine",
                text.purpose)) {
    if (field.text.empty()) file = {};
    if (!field.text.empty()) wishes_.tensor = UseTensor{field.text, operand};
  }
  if (!file.path.empty() && field.inspected_path != file.path) {
    field = {.text = file.path, .inspected_path = file.path, .error = {}, .tensors = {}};
  }
  // Asked again until answered, because a worker may start after the path was chosen.
  // A recording does not decide which files the worker opens.
  const bool own = context_->read_only.empty();
  if (own && !file.path.empty() && field.tensors.empty() && field.error.empty()) {
    wishes_.inspect = FileQuestion{.path = file.path};
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
    names.push_back(
        fmt::format("{} {} {}", tensor.name, tensor.dtype, engine::shape_text(tensor.shape)));
    controls::Options option;
    option.enabled = tensor.usable;
    option.reason = tensor.reason;
    options.push_back(option);
  }
  if (controls::combo(*context_, (prefix + ".tensor").c_str(), "  Tensor", index, names, {},
                      options)) {
    const engine::TensorEntry& chosen = field.tensors[static_cast<std::size_t>(index)];
    // The step had its sizes from the tensor before, or this one completes the opening of the file.
    const auto before = std::ranges::find(field.tensors, file.tensor, &engine::TensorEntry::name);
    bool follows = before == field.tensors.end();
    if (!follows) {
      const auto shape = shape_of(*before, operand, request);
      follows = shape.ok() && shape.value() == request.shape;
    }
    file.tensor = chosen.name;
    if (const auto shape = shape_of(chosen, operand, request); follows && shape.ok()) {
      request.shape = shape.value();
    }
  }
  draw_use_all(operand, request);
  if (index < 0) return;
  const auto shape = shape_of(field.tensors[static_cast<std::size_t>(index)], operand, request);
  if (shape.ok() && shape.value() == request.shape) return;
  row_label("");
  if (controls::button(*context_, (prefix + ".use_shape").c_str(), "Use this file's shape",
                       {.enabled = shape.ok(),
                        .reason = shape.ok() ? "" : shape.error().message,
                        .width = -1})) {
    request.shape = shape.value();
  }
}

void ControlRail::draw_use_all(RequestOperand operand, const engine::RunRequest& request) {
  const std::vector<DumpPart> parts = parts_for(file_field(operand).dump, request);
  if (parts.size() < 2 || uses_all(request, parts)) return;
  row_label("");
  const std::string label = "Use all: " + dump_words(parts);
  if (controls::button(*context_, (std::string(text_of(operand).prefix) + ".use_all").c_str(),
                       label.c_str(),
                       {.tooltip = parts.front().tensor.empty()
                                       ? "The .npy files beside it are named like a whole step: "
                                         "every operand and the routing come from them"
                                       : "The file's tensors are named like a whole step: every "
                                         "operand and the routing come from them",
                        .width = -1})) {
    wishes_.dump = UseDump{parts};
  }
}

void ControlRail::draw_routing_file(engine::RunRequest& request) {
  engine::RoutingSpec& routing = request.routing;
  if (routing.distribution != engine::RoutingDistribution::File) return;
  if (draw_path("routing", routing_.text,
                "Routing file: rows per expert for one or several steps, or the experts of every "
                "token; a .json, .npy, .npz or .safetensors file on the worker's machine",
                FilePurpose::Routing)) {
    name_routing_file(routing, routing_.text);
  }
  error_under("routing.path");
  if (routing.path.empty()) return;
  draw_recording(request);
  if (!routing.path.ends_with(".npy")) {
    controls::input_text(
        *context_, "routing.tensor", "  Tensor", routing_.tensor,
        {.tooltip = "Name of the tensor or list in the file; empty = the only one, "
                    "or one with a usual name"});
    if (ImGui::IsItemDeactivatedAfterEdit()) routing.tensor = routing_.tensor;
    error_under("routing.tensor");
  }
  draw_controls("routing.numbers", "routing.steps", request);
}

void ControlRail::draw_recording(engine::RunRequest& request) {
  engine::RoutingSpec question = request.routing;
  question.alignment = 1;  // does not change what is in the file
  const bool answered = routing_.asked == question;
  // The file may have been written anew: a worker that finds it unchanged does not read it again.
  const bool outdated = answered && !wishes_.inspect &&
                        std::chrono::steady_clock::now() - routing_.answered_at > kAskedAgainAfter;
  // A recording does not decide which files the worker opens.
  if ((!answered || outdated) && context_->read_only.empty()) {
    wishes_.inspect = FileQuestion{.path = question.path, .routing = question};
  }
  if (!answered) return;
  if (!routing_.facts && !routing_.readings.empty()) return draw_readings(request);
  if (!routing_.facts) {
    const TextColorScope color(context_->theme.colors.bad);
    return show_wrapped(routing_.error);
  }
  const engine::RoutingFacts& facts = *routing_.facts;
  std::string text = fmt::format("{}: {} of {} step{}, up to {} rows", facts.source, facts.steps,
                                 facts.file_steps, facts.file_steps == 1 ? "" : "s",
                                 plot::count_text(static_cast<std::uint64_t>(facts.largest_step)));
  if (facts.layers > 1) text += fmt::format("; {} layers", facts.layers);
  if (facts.dropped > 0) {
    text += fmt::format("; {} choice{} without an expert",
                        plot::count_text(static_cast<std::uint64_t>(facts.dropped)),
                        facts.dropped == 1 ? "" : "s");
  }
  {
    const TextColorScope color(context_->theme.colors.dim_text);
    show_wrapped(text);
  }
  controls::record(*context_, "routing.recorded", "what the routing file holds", "text", text,
                   ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  const engine::RunRequest fitted = engine::fitted_to_routing(request, facts);
  if (std::exchange(routing_.chosen, std::nullopt) == question) request = fitted;
  if (fitted == request) return;
  row_label("");
  if (controls::button(*context_, "routing.use_sizes", "Use this file's sizes",
                       {.tooltip = fmt::format(
                            "{} experts, {} rows, {} iterations: every step once",
                            fitted.shape.num_experts, fitted.shape.rows, fitted.launch.iterations),
                        .width = -1})) {
    request = fitted;
  }
}

void ControlRail::draw_readings(engine::RunRequest& request) {
  const std::string text = fmt::format("The file can be read in {} ways. What does it contain?",
                                       routing_.readings.size());
  {
    const TextColorScope color(context_->theme.colors.bad);
    show_wrapped(text);
  }
  controls::record(*context_, "routing.question", "how the routing file is to be read", "text",
                   text, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  for (const engine::RoutingReading& one : routing_.readings) {
    // All of the rail's width: the words are the choice.
    if (controls::button(
            *context_, fmt::format("routing.read_as.{}", engine::name_of(one.numbers)).c_str(),
            one.words.c_str(),
            {.tooltip = fmt::format(
                 "{}: {}", choice_label("routing.numbers", static_cast<std::int64_t>(one.numbers)),
                 one.words),
             .width = -1})) {
      request.routing.numbers = one.numbers;
      routing_.chosen = request.routing;
      routing_.chosen->alignment = 1;  // as asked
    }
  }
}

void ControlRail::draw_engine(engine::RunRequest& request) {
  draw_backend(request);
  draw_cublaslt(request);
  draw_controls("engine.workspace", "engine.try_algorithms", request);
  draw_algorithm_gains();
  draw_controls("engine.launch", "engine.in_flight", request);
  RequestControl iterations = request_control("engine.iterations");
  iterations.label = request.launch.kind == engine::LaunchKind::Eager ? "Steps" : "Replays";
  draw_control(iterations, request);
  draw_controls("engine.median_within", "engine.time_limit", request);
  draw_controls("engine.deadline_factor", "engine.layers", request);
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
    const engine::StepKind step = view.run->result.effective.step;
    const char* const part = engine::symbols_of(step, engine::projection_at(choice.layer)).part;
    const std::string line =
        fmt::format("{}{}{}: {}", engine::name_of(choice.product), *part == '\0' ? "" : " ", part,
                    profiling::algorithm_text(choice));
    show_wrapped(line);
    all += line + "\n";
  }
  show_wrapped(profiling::kAlgorithmTrial);
  all += profiling::kAlgorithmTrial;
  controls::record(*context_, "engine.algorithm_gains", "What trying algorithms has gained", "text",
                   all, from, ImGui::GetItemRectMax());
}

void ControlRail::draw_cublaslt(engine::RunRequest& request) {
  if (!sections_->full.contains("Engine") &&
      !engine::inapplicable_reason("cublaslt_library", request).empty()) {
    return;
  }
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
