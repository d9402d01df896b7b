// Bit-for-bit comparison of outputs without moving them: a checksum per group and product, on the
// device.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/linear/device_step.h"
#include "engine/model/run_result.h"

namespace engine {

class OutputCheck {
 public:
  static Result<OutputCheck> create(const DeviceStep& step);

  /// Overwrites every output with NaN bits, so that a product that writes nothing is seen; a dW
  /// that is added to becomes zeros.
  Status poison(const DeviceStep& step, cudaStream_t stream) const;
  /// [outputs, num_groups], in the order of all_outputs(). Synchronises.
  Result<std::vector<std::uint64_t>> checksums(const DeviceStep& step, cudaStream_t stream) const;

 private:
  DeviceBuffer sums_;
};

/// One row per output: the groups whose checksums differ.
std::vector<ReplayCheck> compare_checksums(int replay, const std::vector<StepOutput>& outputs,
                                           const std::vector<std::uint64_t>& expected,
                                           const std::vector<std::uint64_t>& got);

}  // namespace engine
