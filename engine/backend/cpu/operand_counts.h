// What quantizing or rounding an operand did to it, expert by expert.
#pragma once

#include "engine/backend/cpu/operand_stage.h"
#include "engine/quantize/block_error.h"
#include "engine/quantize/statistics_fold.h"

namespace engine {

/// Sums over all experts so far; counts begin as zero_counts().
struct OperandFold {
  OperandCounts counts;
  BlockErrors blocks;

  /// With the scales of the same stage.
  OperandStatistics statistics(const ScaleArrays& scales) const;
};

/// After stage.quantize() of layer 0; elements without an activation. The stage widens them.
void add_operand(OperandStage& stage, const ExpertElements& expert, OperandFold& fold);

}  // namespace engine
