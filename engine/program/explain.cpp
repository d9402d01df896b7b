#include "engine/program/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/model/projections.h"

namespace engine {
namespace {

std::string_view form_word(ValueForm form) {
  switch (form) {
    case ValueForm::Elements:
      break;
    case ValueForm::Rowwise:
      return "rowwise";
    case ValueForm::Columnwise:
      return "columnwise";
  }
  return "";
}

std::string part_name(const StepProgram& program, const ProgramPart& part) {
  const char* const pass = part.pass == ProgramPass::Forward ? "forward" : "backward";
  bool several = false;
  for (const ProgramPart& other : program.parts) several = several || other.micro_batch > 0;
  return several ? fmt::format("{}, micro-batch {}", pass, part.micro_batch + 1) : pass;
}

std::string quantize_sentence(const LinearSymbols& symbols, const Operation& operation) {
  const char* const symbol = operation.role == OperandRole::Activations ? symbols.x
                             : operation.role == OperandRole::Weights   ? symbols.w
                                                                        : symbols.dy;
  std::vector<std::string_view> forms;
  for (const Value& value : operation.writes) forms.push_back(form_word(value.form));
  std::string from;
  if (operation.activates) {
    from = operation.role == OperandRole::Gradients ? " from H and dA" : " from H";
  }
  return fmt::format("quantize {}{}{}, {}", symbol, operation.again ? " again" : "", from,
                     fmt::join(forms, " and "));
}

}  // namespace

std::string sentence_of(const StepProgram& program, const Operation& operation) {
  const RunRequest& request = program.request;
  const LinearSymbols symbols = symbols_of(request.step, operation.projection);
  const std::string_view activation = traits_of(request.expert_layer.activation).label;
  switch (operation.kind) {
    case OperationKind::FillArrays:
    case OperationKind::FillBackwardArrays:
      return fmt::format("{}{}{}", operation.traits().name, *symbols.part == 0 ? "" : " of ",
                         symbols.part);
    case OperationKind::Permute:
      return "permute Xt to the rows of X";
    case OperationKind::Round:
      return fmt::format("round {} to {} if it is not",
                         tensor_symbol(request.step, operation.writes.front().tensor),
                         name_of(request.recipe.high_precision));
    case OperationKind::Quantize:
      return quantize_sentence(symbols, operation);
    case OperationKind::Activate:
      return fmt::format("A = {}(H){}", activation, operation.again ? ", again" : "");
    case OperationKind::ActivateGradient:
      return fmt::format("dH = {}'(H) dA", activation);
    case OperationKind::Fprop:
      return fmt::format("{} = {} {}^T", symbols.y, symbols.x, symbols.w);
    case OperationKind::Dgrad:
      return fmt::format("{} = {} {}", symbols.dx, symbols.dy, symbols.w);
    case OperationKind::Wgrad:
      return fmt::format("{} {} {}^T {}", symbols.dw, request.linear.accumulate_wgrad ? "+=" : "=",
                         symbols.dy, symbols.x);
    case OperationKind::AddBias:
      return fmt::format("{} += {}", symbols.y, symbols.b);
    case OperationKind::SumBias:
      return fmt::format("{} = sum of {}'s rows{}", symbols.db, symbols.dy,
                         operation.summed_by_quantize ? ", summed while it was quantized" : "");
    case OperationKind::Unpermute:
      return "un-permute rows of Y to Yt";
    case OperationKind::PermuteGradient:
      return "permute dYt to the rows of dY, and compute dp";
    case OperationKind::UnpermuteGradient:
      return "un-permute rows of dX to dXt";
  }
  return {};
}

std::vector<ExplainedOperation> explain(const StepProgram& program, const WorkCase& routing) {
  std::vector<ExplainedOperation> explained;
  const auto add = [&](const std::string& part, const std::string& graph,
                       const Operation& operation) {
    explained.push_back({.part = part,
                         .graph = graph,
                         .stage = operation.traits().stage,
                         .layer = operation.layer,
                         .sentence = sentence_of(program, operation),
                         .work = work_of(program, operation, routing)});
  };
  for (const Operation& operation : program.prepare) {
    add("once before the first step", "", operation);
  }
  for (const ProgramPart& part : program.parts) {
    for (const Operation& operation : part.operations) {
      add(part_name(program, part), part.graph, operation);
    }
  }
  return explained;
}

}  // namespace engine
