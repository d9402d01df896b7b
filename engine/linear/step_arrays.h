// The small arrays of a step, on the device: splits and what follows from them, dimensions,
// scalars. Allocated once, addresses never change.
#pragma once

#include "engine/device/buffer.h"
#include "engine/linear/step_config.h"

namespace engine {

struct StepArrays {
  DeviceBuffer splits;          // [num_groups], int64 or int32, written by whoever routes
  DeviceBuffer row_offsets;     // int64 [num_groups + 1]
  DeviceBuffer padded_offsets;  // int64 [num_groups + 1], in multiples of row_unit()
  DeviceBuffer rows;            // int32 [num_groups]
  DeviceBuffer padded_rows;     // int32 [num_groups]
  DeviceBuffer error_word;      // uint32, sticky
  DeviceBuffer weight_offsets;  // int64 [num_groups + 1], rows of W before each group
  DeviceBuffer n_dims;          // int32 [num_groups], all n
  DeviceBuffer k_dims;          // int32 [num_groups], all k
  DeviceBuffer scalars;         // float {0, 1}
  DeviceBuffer zero_pointers;   // [num_groups], each to the 0 of scalars; scalars_a_group only
  DeviceBuffer one_pointers;    // the same for the 1
  DeviceBuffer keep_weights;    // float: 1 = quantized weights stay as they are

  const float* zero() const { return scalars.as<float>(); }
  const float* one() const { return scalars.as<float>() + 1; }

  /// Synchronises.
  static Result<StepArrays> create(const StepConfig& config, cudaStream_t stream);
};

}  // namespace engine
