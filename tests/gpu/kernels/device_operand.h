// An operand's copy in device memory.
#pragma once

#include "tests/gpu/kernels/device_array.h"
#include "tests/numerics/quantize/grouped_cases.h"

namespace gpu_tests {

struct OperandOnDevice {
  explicit OperandOnDevice(const quantize_tests::Operand& operand)
      : bytes(operand.bytes), row_offsets(operand.row_offsets), input(operand.input) {
    input.input = bytes.get();
    input.row_offsets = row_offsets.get();
  }
  DeviceArray<std::uint8_t> bytes;
  DeviceArray<std::int64_t> row_offsets;
  kernels::GroupedInput input;
};

/// The operand with half the columns, read as gate and up.
inline kernels::GroupedInput as_swiglu(kernels::GroupedInput input) {
  input.columns /= 2;
  input.activation = kernels::kSwiglu;
  return input;
}

}  // namespace gpu_tests
