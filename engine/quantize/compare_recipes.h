// Recipes side by side on one operand, on whichever side quantizes it: each in both directions,
// numerics first, then times with a copy between them. No CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/recipe_comparison.h"
#include "engine/observe/step_observer.h"
#include "engine/quantize/operand_numerics.h"

namespace engine {

/// What a quantizer wrote, where the host can read it.
struct HostQuantized {
  OperandLayout layout;
  kernels::QuantizedView view = {};
  const float* amax = nullptr;  // amax_count() of them; null if the layout has none
};

/// The CPU or a device in a comparison: has the operand, and one quantizer at a time.
class ComparisonSide {
 public:
  struct Times {
    std::int64_t copy_ns = 0;
    std::int64_t quantize_ns = 0;
  };

  virtual ~ComparisonSide() = default;

  /// Whether load() can read a part of the tensor, from ComparedOperand::first_row on.
  virtual bool loads_parts() const = 0;
  /// Called first, once. Returns the operand in host memory; it and `operand` are valid until
  /// compare_recipes() returns.
  virtual Result<kernels::GroupedInput> load(const RunRequest& request,
                                             const ComparedOperand& operand,
                                             RunProgress& progress) = 0;
  /// Replaces the quantizer; quantize_refusal() of the recipe is empty and the operand has rows.
  virtual Status make_quantizer(const Recipe& recipe, kernels::Direction direction) = 0;
  virtual Status quantize() = 0;
  /// Valid until the quantizer runs again or is replaced.
  virtual Result<HostQuantized> download() = 0;
  /// A copy of the operand, then one quantize(): both see the same clocks and caches.
  virtual Result<Times> time() = 0;
  /// "CUDA events around ...": how time() measures.
  virtual std::string time_method() const = 0;
};

/// Every recipe of the request gives two reports, rowwise and columnwise; BF16 is refused in its
/// report. Cancelled when progress.cancel was seen.
Result<RecipeComparison> compare_recipes(const ComparisonRequest& request,
                                         const DeviceFacts& device, ComparisonSide& side,
                                         RunProgress& progress);

}  // namespace engine
