// Bytes and FLOP of the operations of a step for one routing: the minimum that must be read and
// written, each value once, scales with the padding of their layout. These follow from sizes;
// nothing is measured.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/step_program.h"

namespace engine {

/// The routing that work is counted for, and what the device cannot multiply as it is.
struct WorkCase {
  std::span<const std::int64_t> splits;  // rows of every expert
  /// Products of these projections read dequantized operands.
  bool emulated_up = false;
  bool emulated_down = false;

  bool emulated(Projection which) const {
    return which == Projection::Up ? emulated_up : emulated_down;
  }
};

struct OperationWork {
  double flop = 0.0;
  double read_bytes = 0.0;
  double written_bytes = 0.0;
  double bytes() const { return read_bytes + written_bytes; }
};

/// Elements of the tensor, of all experts.
std::int64_t element_count(const RunRequest& request, StepTensor tensor,
                           std::span<const std::int64_t> splits);

/// Bytes of a value as its reader finds it: elements, or codes and scales.
std::int64_t value_bytes(const RunRequest& request, const Value& value,
                         std::span<const std::int64_t> splits);

/// FLOP are those of products, 2 m n k each, and one for every code that quantizing writes.
OperationWork work_of(const StepProgram& program, const Operation& operation,
                      const WorkCase& routing);

}  // namespace engine
