// Device memory of one grouped step: allocated once before the first launch, addresses never
// change, so that a captured graph can be replayed for as long as the buffers live.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "kernels/quantize/quantize_block.h"

namespace engine {

/// What a step is made for. Splits are not part of it: any routing of capacity_rows fits.
struct StepConfig {
  int num_groups = 0;
  std::int64_t capacity_rows = 0;  // rows of X
  std::int64_t n = 0;
  std::int64_t k = 0;
  int layers = 1;
  Recipe recipe;
  WorkspaceStrategy workspace = WorkspaceStrategy::PerMatmul;

  bool fp8() const { return recipe.scaling != Scaling::None; }
  bool block() const { return recipe.scaling == Scaling::Block; }
  std::int64_t weight_rows() const { return n * num_groups; }
  int workspaces() const { return workspace == WorkspaceStrategy::Shared ? 1 : layers; }
  /// Floats of scale_inv; padding and any routing included.
  std::int64_t activation_scales() const;
  std::int64_t weight_scales() const;
};

/// FP8 form of one operand: codes and scales.
struct QuantizedOperand {
  DeviceBuffer codes;      // [rows, k]
  DeviceBuffer amax;       // [num_groups]; per tensor only
  DeviceBuffer scale;      // [num_groups]; per tensor only
  DeviceBuffer scale_inv;  // laid out as kernels/quantize says
};

struct LayerBuffers {
  QuantizedOperand weights;
  DeviceBuffer output;                 // [capacity_rows, n] BF16
  DeviceBuffer weight_pointers;        // [num_groups]
  DeviceBuffer weight_scale_pointers;  // [num_groups]
  DeviceBuffer output_pointers;        // [num_groups]
};

struct StepArrays {
  DeviceBuffer splits;          // int64 [num_groups], written by whoever routes
  DeviceBuffer row_offsets;     // int64 [num_groups + 1]
  DeviceBuffer rows;            // int32 [num_groups]
  DeviceBuffer error_word;      // uint32, sticky
  DeviceBuffer weight_offsets;  // int64 [num_groups + 1], rows of W before each group
  DeviceBuffer n_dims;          // int32 [num_groups], all n
  DeviceBuffer k_dims;          // int32 [num_groups], all k
  DeviceBuffer alpha_beta;      // float {1, 0}
  QuantizedOperand activations;
  DeviceBuffer activation_pointers;        // [num_groups]
  DeviceBuffer activation_scale_pointers;  // [num_groups]
  std::vector<LayerBuffers> layers;
  std::vector<DeviceBuffer> workspaces;

  static Result<StepArrays> allocate(const StepConfig& config);
};

/// Bytes StepArrays::allocate() will ask for; the small arrays are rounded up generously.
std::int64_t step_bytes(const StepConfig& config);

}  // namespace engine
