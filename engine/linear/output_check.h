// Bit-for-bit comparison of outputs without moving them: a checksum per group and product, on the
// device.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/linear/grouped_step.h"
#include "engine/model/run_result.h"

namespace engine {

/// An output of the step, as the checks and the statistics read it.
struct StepOutput {
  Product product = Product::Fprop;
  int layer = 0;
  void* values = nullptr;
  ElementType type = ElementType::Bf16;
  const std::int64_t* row_offsets = nullptr;  // device
  std::int64_t capacity_rows = 0;
  std::int64_t columns = 0;
};
/// Y of every layer, then dX and dW of every layer, as far as the step has them.
std::vector<StepOutput> step_outputs(const GroupedStep& step);

class OutputCheck {
 public:
  static Result<OutputCheck> create(const GroupedStep& step);

  /// Overwrites every output with NaN bits, so that a product that writes nothing is seen; a dW
  /// that is added to becomes zeros.
  Status poison(const GroupedStep& step, cudaStream_t stream) const;
  /// [outputs, num_groups], in the order of step_outputs(). Synchronises.
  Result<std::vector<std::uint64_t>> checksums(const GroupedStep& step, cudaStream_t stream) const;

 private:
  DeviceBuffer sums_;
};

/// One row per output: the groups whose checksums differ.
std::vector<ReplayCheck> compare_checksums(int replay, const std::vector<StepOutput>& outputs,
                                           const std::vector<std::uint64_t>& expected,
                                           const std::vector<std::uint64_t>& got);

}  // namespace engine
