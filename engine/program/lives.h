// How long a step needs what it makes, from the reads and writes of its program.
#pragma once

#include <cstdint>

#include "engine/program/step_program.h"

namespace engine {

enum class ValueLife : std::uint8_t {
  Caller,    // read, and never written: loaded before the step
  Step,      // read after the step, or by the next one: outputs and the copies of weights
  Saved,     // forward leaves it for backward
  Forward,   // of that pass alone
  Backward,  // likewise
};

/// Of every layer's; nothing of a program that has no such value reads as Caller.
ValueLife life_of(const StepProgram& program, LayerTensor tensor,
                  ValueForm form = ValueForm::Elements);

/// Whether any operation of a step, or of what is run before it, writes the value.
bool makes(const StepProgram& program, LayerTensor tensor, ValueForm form = ValueForm::Elements);

/// In how many places the layers have theirs: request.layers, or 1 where no two layers' values are
/// needed at the same time.
int places_of(const StepProgram& program, LayerTensor tensor, ValueForm form = ValueForm::Elements);

/// Whether backward reads what forward has made or loaded.
bool is_saved(const StepProgram& program, const Value& value);

}  // namespace engine
