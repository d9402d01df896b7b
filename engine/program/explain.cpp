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

std::string forms_written(const Operation& operation) {
  std::vector<std::string_view> forms;
  for (const Value& value : operation.writes) forms.push_back(form_word(value.form));
  return fmt::format("{}", fmt::join(forms, " and "));
}

/// " from H and dA" of an operation that computes the activation, or its gradient, of those.
std::string activated_sources(const Operation& operation) {
  if (!operation.activates) return {};
  return operation.role == OperandRole::Gradients ? " from H and dA" : " from H";
}

}  // namespace

/// The tensors of the operation's projection, and what differs between operations of one kind.
std::string sentence_of(const StepProgram& program, const Operation& operation) {
  const RunRequest& request = program.request;
  const LinearSymbols symbols = symbols_of(request.step, operation.projection);
  const std::string_view part = symbols.part;
  const std::string_view written =
      operation.writes.empty() ? std::string_view()
                               : tensor_symbol(request.step, operation.writes.front().tensor);
  using fmt::arg;
  return fmt::format(
      fmt::runtime(operation.traits().sentence), arg("x", symbols.x), arg("w", symbols.w),
      arg("b", symbols.b), arg("y", symbols.y), arg("dx", symbols.dx), arg("dw", symbols.dw),
      arg("db", symbols.db), arg("dy", symbols.dy), arg("written", written),
      arg("of_part", part.empty() ? std::string() : fmt::format(" of {}", part)),
      arg("activation", traits_of(request.expert_layer.activation).label),
      arg("high_precision", name_of(request.recipe.high_precision)),
      arg("forms", forms_written(operation)), arg("sources", activated_sources(operation)),
      arg("again", operation.again ? " again" : ""),
      arg("comma_again", operation.again ? ", again" : ""),
      arg("assigns_dw", request.products.accumulate_wgrad ? "+=" : "="),
      arg("summed", operation.summed_by_quantize ? ", summed while it was quantized" : ""));
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
