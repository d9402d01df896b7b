// The operands of a request and the product of the unquantized ones, kept between runs: dragging
// epsilon needs the same values and only requantizes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/input/operand_store.h"
#include "engine/model/error.h"
#include "engine/model/projections.h"
#include "engine/model/run_request.h"
#include "engine/model/shape.h"

namespace engine {

/// What operand values depend on.
struct OperandKey {
  std::optional<InputSpec> activations;  // only where they are loaded
  InputSpec weights;
  std::optional<InputSpec> gradients;  // only where they are loaded
  std::uint64_t seed = 0;
  int num_experts = 0;
  std::int64_t tokens = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int layers = 0;
  std::array<FileStamp, 3> files = {};  // of activations, weights, gradients
  bool operator==(const OperandKey&) const = default;
};

/// `made` is not loaded.
OperandKey operand_key(const RunRequest& request, const MadeOperands& made = {});

struct LoadedOperands {
  OperandKey key;
  std::optional<OperandStore> activations;  // unless the step makes them
  std::vector<OperandStore> weights;        // one per layer
  std::optional<OperandStore> gradients;    // dY, of a backward pass, unless the step makes it

  /// FP32 product (without bias) of layer 0's unquantized operands, for exactly these splits; empty
  /// splits = none.
  Buffer<float> reference;  // [tokens, n]
  std::vector<std::int64_t> reference_splits;

  bool kept() const { return weights.front().kept(); }
};

/// Memory that a run takes. `kept` stays between runs, as far as `available` bytes allow.
struct MemoryPlan {
  std::int64_t step_bytes = 0;  // of the largest expert
  std::int64_t kept_bytes = 0;  // 0 = operands are read expert by expert
};

/// Memory of a linear step, or of an expert layer with both its projections.
MemoryPlan plan_memory(const RunRequest& request, const GroupedShape& shape,
                       std::int64_t available);

/// Loads the operands of a linear step, without those that another part of a larger step makes.
Result<LoadedOperands> load_operands(const RunRequest& request, bool keep,
                                     const MadeOperands& made = {});

}  // namespace engine
