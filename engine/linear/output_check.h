// Bit-for-bit comparison of outputs without moving them: a checksum a group, on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/linear/grouped_step.h"
#include "engine/model/run_result.h"

namespace engine {

class OutputCheck {
 public:
  static Result<OutputCheck> create(const GroupedStep& step);

  /// Overwrites every output with NaN bits, so that a product that writes nothing is seen.
  Status poison(const GroupedStep& step, cudaStream_t stream) const;
  /// [layers * num_groups], layer-major. Synchronises.
  Result<std::vector<std::uint64_t>> checksums(const GroupedStep& step, cudaStream_t stream) const;

 private:
  DeviceBuffer sums_;
};

/// One row a layer: the groups whose checksums differ.
std::vector<ReplayCheck> compare_checksums(int replay, const std::vector<std::uint64_t>& expected,
                                           const std::vector<std::uint64_t>& got, int num_groups);

}  // namespace engine
