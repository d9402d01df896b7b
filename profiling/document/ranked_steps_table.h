// The steps of a routing file with the visits that count, their ranges and ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "profiling/document/table.h"
#include "profiling/power/ranked_steps.h"

namespace profiling {

/// The first `count` of its order; the slowest are highlighted.
Table ranked_steps_table(std::shared_ptr<const RankedSteps> ranked, std::size_t count);
/// All of them, in the order of the file.
Table ranked_steps_table(std::shared_ptr<const RankedSteps> ranked);

/// "1 of 2", "1, throttled", "1, the first": the visits that a step's times are of.
std::string visits_words(const engine::RecordedStep& step, const StepTime& time);

}  // namespace profiling
