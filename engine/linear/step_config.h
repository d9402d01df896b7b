// What a grouped linear step is made for. Splits are not part of it: any routing of capacity_rows
// fits, unless the backend bakes them in.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/model/backend_traits.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/run_request.h"
#include "kernels/common/types.h"

namespace engine {

/// The effective request of one linear step, and what was decided about it for the device.
struct StepConfig : RunRequest {
  StepConfig() = default;
  explicit StepConfig(RunRequest request) : RunRequest(std::move(request)) {}

  bool emulated = false;                      // products read dequantized operands
  bool scalars_per_group = false;             // Blackwell: alpha and beta are arrays
  bool fp32_outputs = false;                  // of every product: a reference for others
  std::optional<ElementType> bias_type = {};  // of b, where it is not Recipe::high_precision
  /// Needed only by backends that launch one product per expert.
  std::vector<std::int64_t> host_splits = {};
  LinearSymbols symbols = symbols_of(StepKind::Linear, Projection::Up);
  bool pooled_workspaces = false;  // workspaces may be memory of the graphs' pool
  int tag_stride = 1;              // WorkTag::layer is layer * tag_stride + tag_first
  int tag_first = 0;

  int num_groups() const { return shape.num_experts; }
  std::int64_t capacity_rows() const { return shape.rows; }  // rows of X and dY
  std::int64_t n() const { return shape.n; }
  std::int64_t k() const { return shape.k; }
  int tag(int layer) const { return layer * tag_stride + tag_first; }

  bool quantized() const { return traits_of(recipe).quantizes(); }
  /// Products read codes and scales.
  bool scaled_products() const { return quantized() && !emulated; }
  bool forward() const { return products.passes != StepPasses::Backward; }
  bool backward() const { return products.passes != StepPasses::Forward; }
  std::int64_t split_bytes() const { return int32_splits ? 4 : 8; }
  bool list() const { return products.weight_storage == WeightStorage::List; }
  std::int64_t weight_rows() const { return n() * num_groups(); }
  int product_count() const { return layers * ((forward() ? 1 : 0) + (backward() ? 2 : 0)); }

  /// Each group's product is multiplied by its own alpha, computed from its operands' amax.
  bool alpha_per_group() const { return scaled_products() && traits_of(recipe).expert_amax(); }

  /// Our own kernels compute the products, and need no workspace. Those of the high-precision
  /// reference are cuBLASLt's.
  bool own_products() const { return traits_of(backend).own_products && scaled_products(); }
  /// The weight gradients among them, from columnwise copies of X and dY with joined lines
  /// (kernels::OutputRows::joined).
  bool own_wgrad() const { return own_products() && backward(); }
  /// Rows of every group's columnwise copy are a multiple of this: a line of a transposed FP8 copy
  /// is a row of the matrix that cuBLASLt reads, and rows start at multiples of 16 bytes. MXFP8's
  /// columnwise copy is not transposed, and native NVFP4 has no backward pass
  /// (engine/gemm/support).
  std::int64_t row_unit() const {
    if (own_wgrad()) return kernels::kJoinedUnit;
    return scaled_products() && backward() && traits_of(recipe).transposed_columnwise ? 16 : 1;
  }
  std::int64_t padded_capacity() const {
    const std::int64_t rows = capacity_rows() + (row_unit() - 1) * std::int64_t{num_groups()};
    return own_wgrad() ? kernels::round_up(rows, row_unit()) : rows;
  }
  /// Element type of Y and dX, and of dW.
  ElementType output_type() const {
    return fp32_outputs ? ElementType::Fp32 : recipe.high_precision;
  }
  ElementType wgrad_type() const { return fp32_outputs ? ElementType::Fp32 : products.wgrad_type; }
  std::int64_t operand_bytes() const { return element_bytes(recipe.high_precision); }
  std::int64_t output_bytes() const { return element_bytes(output_type()); }
  std::int64_t wgrad_bytes() const { return element_bytes(wgrad_type()); }
};

}  // namespace engine
