#include "app/controllers/request_controls.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "engine/gemm/support.h"
#include "engine/model/leaves.h"
#include "engine/model/projections.h"
#include "engine/model/values.h"

namespace app {
namespace {

engine::FoundLeaf leaf_of(const RequestControl& control, const engine::RunRequest& request) {
  return engine::find_leaf(engine::kType<engine::RunRequest>, &request, control.field);
}

engine::FoundLeaf leaf_or_default(const RequestControl& control,
                                  const engine::RunRequest& request) {
  static const engine::RunRequest kDefaults;
  const engine::FoundLeaf leaf = leaf_of(control, request);
  return leaf.value != nullptr ? leaf : leaf_of(control, kDefaults);
}

template <class Number>
void set_value(const RequestControl& control, engine::RunRequest& request, Number value) {
  const engine::Type& type = *leaf_of(control, request).type;
  engine::store(
      type, engine::choose_leaf(engine::kType<engine::RunRequest>, &request, control.field), value);
}

/// Every frame asks for many of them.
std::size_t index_of(std::string_view id) {
  static const auto kIndices = [] {
    std::unordered_map<std::string_view, std::size_t> indices;
    for (const RequestControl& control : request_controls())
      indices.emplace(control.id, indices.size());
    return indices;
  }();
  const auto found = kIndices.find(id);
  assert(found != kIndices.end() && "no control has this id");
  return found->second;
}

}  // namespace

const std::vector<std::string>& choice_labels(const RequestControl& control) {
  static const auto kLabels = [] {
    std::vector<std::vector<std::string>> labels;
    for (const RequestControl& one : request_controls()) {
      std::vector<std::string>& its = labels.emplace_back();
      for (const ControlChoice& choice : one.options.choices) its.emplace_back(choice.label);
    }
    return labels;
  }();
  return kLabels[index_of(control.id)];
}

const RequestControl& request_control(std::string_view id) {
  return request_controls()[index_of(id)];
}

double control_value(const RequestControl& control, const engine::RunRequest& request) {
  const engine::FoundLeaf leaf = leaf_or_default(control, request);
  return engine::real_number(*leaf.type, leaf.value);
}

bool is_real(const RequestControl& control) {
  static const engine::RunRequest kDefaults;
  return leaf_of(control, kDefaults).type->kind == engine::Kind::Real;
}

std::int64_t control_number(const RequestControl& control, const engine::RunRequest& request) {
  const engine::FoundLeaf leaf = leaf_or_default(control, request);
  switch (leaf.type->kind) {
    case engine::Kind::Real:
      return std::llround(engine::real_number(*leaf.type, leaf.value));
    case engine::Kind::Unsigned:
      return static_cast<std::int64_t>(engine::unsigned_number(*leaf.type, leaf.value));
    default:
      return engine::signed_number(*leaf.type, leaf.value);
  }
}

namespace {

ControlRange range_of(const RequestControl& control) {
  static const engine::RunRequest kDefaults;
  const engine::FieldRules& rules = leaf_of(control, kDefaults).field->rules;
  ControlRange range{.reset = control_value(control, kDefaults)};
  // No setting of this table means anything below 0 but the margin, whose limits are exact.
  if (std::isfinite(rules.low) && !rules.allow_zero) range.low = rules.low;
  range.high =
      std::isfinite(rules.high) ? rules.high : static_cast<double>(control.options.maximum);
  return range;
}

}  // namespace

ControlRange control_range(const RequestControl& control) {
  static const auto kRanges = [] {
    std::vector<ControlRange> ranges;
    for (const RequestControl& one : request_controls()) ranges.push_back(range_of(one));
    return ranges;
  }();
  return kRanges[index_of(control.id)];
}

void set_control_value(const RequestControl& control, engine::RunRequest& request,
                       std::int64_t value) {
  if (leaf_of(control, request).type->kind == engine::Kind::Real) {
    set_value(control, request, static_cast<double>(value));
  } else {
    set_value(control, request, value);
  }
}

void set_control_value(const RequestControl& control, engine::RunRequest& request, double value) {
  set_value(control, request, value);
}

namespace {

/// The values of an operand, which come from a file where the field is not there.
bool is_operand(const RequestControl& control) {
  return std::string_view(control.field).ends_with(".distribution") &&
         std::string_view(control.field).find(".synthetic.") != std::string_view::npos;
}

}  // namespace

bool differs_from_default(const RequestControl& control, const engine::RunRequest& request) {
  static const engine::RunRequest kDefaults;
  if (leaf_of(control, request).value == nullptr) return is_operand(control);
  return control_value(control, request) != control_value(control, kDefaults);
}

bool is_usual(const RequestControl& control, const engine::RunRequest& request, bool comparing) {
  // A file that was chosen is never out of sight, even if the step does not read it.
  if (is_operand(control) && leaf_of(control, request).value == nullptr) return true;
  if (!(comparing && control.options.compared) &&
      !engine::inapplicable_reason(control.field, request).empty()) {
    return false;
  }
  return !control.options.seldom || differs_from_default(control, request);
}

int chosen_index(const RequestControl& control, const engine::RunRequest& request) {
  const engine::FoundLeaf leaf = leaf_of(control, request);
  if (leaf.value == nullptr) return -1;
  const std::int64_t value = engine::signed_number(*leaf.type, leaf.value);
  const auto found = std::ranges::find(control.options.choices, value, &ControlChoice::value);
  return found == control.options.choices.end()
             ? -1
             : static_cast<int>(found - control.options.choices.begin());
}

engine::Verdict control_support(const RequestControl& control, const engine::RunRequest& changed,
                                const LinkSupervisor& link) {
  if (!link.hello()) return {};
  const engine::DeviceCapability device = link.capability(changed.backend);
  const std::string_view field = control.field;
  if (field == "expert_layer.mixed_recipes" || field == "expert_layer.down_scaling") {
    const engine::RunRequest down = engine::projection_of(changed, engine::Projection::Down);
    return engine::recipe_support(down.recipe, changed.backend, device, changed.products);
  }
  // The step's own recipe, whatever the down projection has instead.
  if (field == "recipe.scaling") {
    return engine::recipe_support(changed.recipe, changed.backend, device, changed.products);
  }
  if (field.starts_with("recipe.")) return engine::recipe_support(changed, device);
  if (field == "workspace") return engine::workspace_support(changed.workspace, changed, device);
  if (field.starts_with("launch.")) {
    return engine::launch_support(changed.launch, changed.backend, device);
  }
  return {};
}

std::string backend_refusal(engine::GemmBackend backend, const LinkSupervisor& link) {
  if (!link.hello()) return {};
  const BackendOffer* offer = link.offer(backend);
  if (offer == nullptr) return "This worker was built without it";
  return offer->available ? std::string() : offer->reason;
}

namespace {

const RequestControl* control_of_field(std::string_view field) {
  // A backend that launches otherwise names the launch as a whole.
  if (field == "launch") field = "launch.kind";
  const auto found = std::ranges::find(request_controls(), field, &RequestControl::field);
  return found == request_controls().end() ? nullptr : &*found;
}

/// Label of a value whose control edits another alternative of the same operand: "X: file" for
/// "activations.file.path", with the operand's name in the rail.
std::string operand_label(std::string_view field) {
  constexpr std::string_view kDistribution = ".synthetic.distribution";
  for (const RequestControl& control : request_controls()) {
    std::string_view operand = control.field;
    if (!operand.ends_with(kDistribution)) continue;
    operand.remove_suffix(kDistribution.size());
    if (!field.starts_with(operand)) continue;
    std::string_view rest = field.substr(operand.size());
    if (rest.empty()) return control.label;
    if (rest.front() != '.') continue;
    rest.remove_prefix(1);
    std::string words(rest == "file.path" ? std::string_view("file") : rest);
    std::ranges::replace(words, '.', ' ');
    std::ranges::replace(words, '_', ' ');
    return std::string(control.label) + ": " + words;
  }
  return {};
}

}  // namespace

std::string setting_label(std::string_view field) {
  if (const RequestControl* control = control_of_field(field)) {
    const bool alone = control->options.alone[0] != '\0';
    const bool labelled = control->label[0] != '\0';
    return alone ? control->options.alone : labelled ? control->label : control->group;
  }
  if (std::string label = operand_label(field); !label.empty()) return label;
  if (field == "routing.path") return "Routing: file";
  // "activity_method" is read as "activity method"; what is before a dot says where it belongs.
  std::string words(field);
  std::ranges::replace(words, '_', ' ');
  for (std::size_t dot = words.find('.'); dot != std::string::npos; dot = words.find('.', dot)) {
    words.replace(dot, 1, ", ");
  }
  return words;
}

std::string setting_value(std::string_view field, std::string_view text) {
  if (text == "true") return "on";
  if (text == "false") return "off";
  const RequestControl* control = control_of_field(field);
  if (control == nullptr) return std::string(text);
  static const engine::RunRequest kDefaults;
  for (const engine::EnumName& name : leaf_of(*control, kDefaults).type->names) {
    if (name.name != text) continue;
    for (const ControlChoice& choice : control->options.choices) {
      if (choice.value == name.value) return choice.label;
    }
  }
  return std::string(text);
}

const char* choice_label(std::string_view id, std::int64_t value) {
  const RequestControl& control = request_control(id);
  const auto found = std::ranges::find(control.options.choices, value, &ControlChoice::value);
  return found == control.options.choices.end() ? "unknown" : found->label;
}

}  // namespace app
