#include "engine/program/operation_words.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "engine/model/projections.h"
#include "engine/program/operations.h"

namespace engine {
namespace {

/// The projection whose product, gradient or bias this is; of an activation or permutation, none.
std::optional<Projection> projection_of(StepKind step, StepTensor tensor) {
  for (const Projection projection : {Projection::Up, Projection::Down}) {
    const ProjectionTensors of = tensors_of(step, projection);
    if (tensor == of.y || tensor == of.dx || tensor == of.dw) return projection;
  }
  return std::nullopt;
}

/// "up"; empty in a linear step.
std::string_view part_of(StepKind step, StepTensor tensor) {
  const std::optional<Projection> projection = projection_of(step, tensor);
  return projection ? symbols_of(step, *projection).part : "";
}

/// The operation of that stage that writes such a value; null for stages of other work. Work is
/// recorded by stage and by what it writes.
const OperationTraits* operation_of(Stage stage, WrittenValue writes) {
  const bool copies = forms_of(writes) != CopyForms::None;
  const bool backward = traits_of(tensor_of(writes)).backward;
  const OperationTraits* found = nullptr;
  int best = -1;
  for (const OperationTraits& one : kOperations) {
    if (one.stage != stage) continue;
    const int fits = (one.copies == copies ? 2 : 0) + (one.backward == backward ? 1 : 0);
    if (fits > best) {
      best = fits;
      found = &one;
    }
  }
  return found;
}

/// A verb and the tensor that it makes.
std::string made(std::string_view verb, StepKind step, WrittenValue writes) {
  const CopyForms forms = forms_of(writes);
  return fmt::format("{} {}{}{}", verb, tensor_symbol(step, tensor_of(writes)),
                     forms == CopyForms::None ? "" : ",", words_of(forms));
}

}  // namespace

std::string operation_name(StepKind step, Stage stage, WrittenValue writes) {
  if (!is_known(writes)) return {};
  const StepTensor tensor = tensor_of(writes);
  switch (stage) {
    case Stage::Amax:
      // Products have alphas; what they read has an amax.
      return made(operand_of(step, tensor) ? "amax of" : "alphas of", step, writes);
    case Stage::Dequantize:
      return made("dequantize", step, writes);
    case Stage::Memory:
      return made("read", step, writes);
    default:
      break;
  }
  const OperationTraits* const operation = operation_of(stage, writes);
  if (operation == nullptr) return {};
  // Neither product nor arrays are named by a tensor: each projection has one of them.
  const bool arrays = stage == Stage::Offsets;
  if (!arrays && !operation->product) return made(operation->name, step, writes);
  const std::string_view part = part_of(step, tensor);
  if (part.empty()) return std::string(operation->name);
  return fmt::format("{}{}{}", operation->name, arrays ? " of " : " ", part);
}

std::string operation_or_stage(StepKind step, Stage stage, WrittenValue writes) {
  std::string name = operation_name(step, stage, writes);
  return name.empty() ? std::string(stage_name(stage)) : name;
}

std::string operation_title(StepKind step, Stage stage, WrittenValue writes, int linear_layer) {
  const std::string name = operation_name(step, stage, writes);
  if (name.empty()) {
    return fmt::format("{}, {}", stage_name(stage), layer_words(step, linear_layer));
  }
  const int layer = step == StepKind::Linear ? linear_layer : linear_layer / 2;
  return fmt::format("{}, layer {}", name, layer);
}

const std::string& OperationNames::of(Stage stage, WrittenValue writes) {
  const int key = static_cast<int>(stage) << 8 | static_cast<int>(writes);
  const auto [name, fresh] = names_.try_emplace(key);
  if (fresh) name->second = operation_name(step_, stage, writes);
  return name->second;
}

}  // namespace engine
