#include "engine/program/lives.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace engine {
namespace {

bool is(const Value& value, StepTensor tensor, ValueForm form) {
  return value.tensor == tensor && value.form == form;
}

/// Positions in the order of operations, from the write to the last read before the next write.
struct LiveRange {
  int layer = 0;
  int first = 0;
  int last = 0;
};

bool overlap(const LiveRange& a, const LiveRange& b) {
  return a.layer != b.layer && a.first <= b.last && b.first <= a.last;
}

/// Visits one micro-batch, prepared or not: the operations that prepare it come before its parts.
template <class Visit>
void for_each_operation(const StepProgram& program, Visit visit) {
  for (const Operation& operation : program.prepare) visit(operation, ProgramPass::Forward);
  for (const ProgramPart& part : program.parts) {
    if (part.micro_batch != 0) continue;
    for (const Operation& operation : part.operations) visit(operation, part.pass);
  }
}

std::vector<LiveRange> live_ranges(const StepProgram& program, StepTensor tensor, ValueForm form) {
  std::vector<LiveRange> ranges;
  std::vector<std::optional<std::size_t>> open(static_cast<std::size_t>(program.request.layers));
  int position = 0;
  for_each_operation(program, [&](const Operation& operation, ProgramPass) {
    for (const Value& value : operation.reads) {
      if (!is(value, tensor, form)) continue;
      if (const auto& range = open[static_cast<std::size_t>(value.layer)]) {
        ranges[*range].last = position;
      }
    }
    for (const Value& value : operation.writes) {
      if (!is(value, tensor, form)) continue;
      open[static_cast<std::size_t>(value.layer)] = ranges.size();
      ranges.push_back({.layer = value.layer, .first = position, .last = position});
    }
    ++position;
  });
  return ranges;
}

/// Quantized weights outlive a step: others may keep them.
bool are_weights(const StepProgram& program, StepTensor tensor) {
  const auto operand = operand_of(program.request.step, tensor);
  return operand && operand->role == OperandRole::Weights;
}

}  // namespace

bool makes(const StepProgram& program, StepTensor tensor, ValueForm form) {
  bool made = false;
  for_each_operation(program, [&](const Operation& operation, ProgramPass) {
    made = made || std::ranges::any_of(operation.writes,
                                       [&](const Value& value) { return is(value, tensor, form); });
  });
  return made;
}

std::optional<BufferLife> life_of(const StepProgram& program, StepTensor tensor, ValueForm form) {
  if (!makes(program, tensor, form)) return std::nullopt;
  const bool outlives = traits_of(tensor).output && form == ValueForm::Elements;
  if (outlives || are_weights(program, tensor)) return BufferLife::Step;
  bool used[2] = {};  // by ProgramPass
  for_each_operation(program, [&](const Operation& operation, ProgramPass pass) {
    for (const std::vector<Value>* values : {&operation.reads, &operation.writes}) {
      for (const Value& value : *values) {
        if (is(value, tensor, form)) used[static_cast<int>(pass)] = true;
      }
    }
  });
  if (used[0] && used[1]) return BufferLife::Saved;
  return used[0] ? BufferLife::Forward : BufferLife::Backward;
}

int places_of(const StepProgram& program, StepTensor tensor, ValueForm form) {
  const StepTensorTraits& traits = traits_of(tensor);
  if (traits.shared) return 1;
  if (traits.output || traits.checked) return program.request.layers;
  const std::vector<LiveRange> ranges = live_ranges(program, tensor, form);
  for (const LiveRange& a : ranges) {
    for (const LiveRange& b : ranges) {
      if (overlap(a, b)) return program.request.layers;
    }
  }
  return 1;
}

bool is_saved(const StepProgram& program, const Value& value) {
  bool made = false;   // by backward itself
  bool saved = false;  // read before that
  for (const ProgramPart& part : program.parts) {
    if (part.pass != ProgramPass::Backward || part.micro_batch != 0) continue;
    for (const Operation& operation : part.operations) {
      saved = saved || (!made && std::ranges::count(operation.reads, value) > 0);
      made = made || std::ranges::count(operation.writes, value) > 0;
    }
  }
  return saved;
}

}  // namespace engine
