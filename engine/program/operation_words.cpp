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

std::string_view name_of(OperationKind kind) { return traits_of(kind).name; }

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
  const std::string_view part = part_of(step, tensor);
  switch (stage) {
    case Stage::Fprop:
    case Stage::Dgrad:
    case Stage::Wgrad:
      return fmt::format("{}{}{}", stage_name(stage), part.empty() ? "" : " ", part);
    case Stage::Offsets:
      return fmt::format("{}{}{}",
                         name_of(traits_of(tensor).backward ? OperationKind::FillBackwardArrays
                                                            : OperationKind::FillArrays),
                         part.empty() ? "" : " of ", part);
    case Stage::Amax:
      // Products have alphas; what they read has an amax.
      return made(operand_of(step, tensor) ? "amax of" : "alphas of", step, writes);
    case Stage::Quantize:
      return made(name_of(forms_of(writes) == CopyForms::None ? OperationKind::Round
                                                              : OperationKind::Quantize),
                  step, writes);
    case Stage::Dequantize:
      return made("dequantize", step, writes);
    case Stage::Bias:
      // b is added to Y; db is a sum.
      if (projection_of(step, tensor)) return made("add bias to", step, writes);
      return made("sum", step, writes);
    case Stage::Activation:
      return made("compute", step, writes);
    case Stage::Permute:
      return made(name_of(OperationKind::Permute), step, writes);
    case Stage::Unpermute:
      return made(name_of(OperationKind::Unpermute), step, writes);
    case Stage::Memory:
      return made("read", step, writes);
    case Stage::Check:
    case Stage::Other:
      break;
  }
  return {};
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
