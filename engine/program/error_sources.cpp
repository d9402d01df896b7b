#include "engine/program/error_sources.h"

#include <algorithm>

namespace engine {

std::vector<StepTensor> error_sources(const StepProgram& program) {
  std::vector<StepTensor> sources;
  for (const ProgramPart& part : program.parts) {
    if (part.pass != ProgramPass::Forward || part.micro_batch > 0) continue;
    for (const Operation& operation : part.operations) {
      if (!operation.traits().copies || operation.layer > 0) continue;
      for (const Value& value : operation.writes) {
        // Columnwise copies are for backward.
        if (value.form == ValueForm::Rowwise) sources.push_back(value.tensor);
      }
    }
  }
  std::ranges::sort(sources);
  return sources;
}

}  // namespace engine
