// How long a step needs what it makes, from the reads and writes of its program.
#pragma once

#include <optional>

#include "engine/model/buffer_life.h"
#include "engine/program/step_program.h"

namespace engine {

/// Life of the tensor, the same in every layer. Empty: the step only reads it, or has no such
/// value.
std::optional<BufferLife> life_of(const StepProgram& program, StepTensor tensor,
                                  ValueForm form = ValueForm::Elements);

/// Whether any operation of a step, or of what is run before it, writes the value.
bool makes(const StepProgram& program, StepTensor tensor, ValueForm form = ValueForm::Elements);

/// In how many places the layers have theirs: request.layers, or 1 where no two layers' values are
/// needed at the same time.
int places_of(const StepProgram& program, StepTensor tensor, ValueForm form = ValueForm::Elements);

/// Whether backward reads what forward has made or loaded.
bool is_saved(const StepProgram& program, const Value& value);

}  // namespace engine
