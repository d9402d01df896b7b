// What quantizing or rounding an expert's operand did to it, added to the counts of all experts.
#pragma once

#include "engine/backend/cpu/operand_stage.h"
#include "engine/quantize/statistics_fold.h"

namespace engine {

/// After stage.quantize() of layer 0; elements without an activation.
void add_operand(const OperandStage& stage, const ExpertElements& expert, OperandCounts& counts);

}  // namespace engine
