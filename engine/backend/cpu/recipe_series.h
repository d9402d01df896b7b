// A comparison of recipes over successive steps of X, on the CPU twins, which every machine can do.
#pragma once

#include "engine/model/error.h"
#include "engine/model/recipe_comparison.h"
#include "engine/observe/step_observer.h"

namespace engine {

/// The request has passed validate() and has a series. The answer has a report per step and recipe,
/// all recipes of a step together. Cancelled when progress.cancel was seen between two
/// quantizations.
Result<RecipeComparison> compare_over_steps(const ComparisonRequest& request,
                                            RunProgress& progress);

}  // namespace engine
