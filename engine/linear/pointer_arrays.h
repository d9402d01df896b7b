// The arrays of addresses that grouped products read, and the launches that fill them. What depends
// on the splits is filled on the device within the step, so a replay follows new splits.
#pragma once

#include <vector>

#include "engine/device/buffer.h"
#include "engine/linear/group_addresses.h"
#include "engine/linear/step_arrays.h"
#include "engine/linear/step_config.h"

namespace engine {

/// What a product reads addresses of.
enum class ProductArray { A, B, D, ScalesA, ScalesB };
inline constexpr int kProductArrays = 5;

class PointerArrays {
 public:
  static Result<PointerArrays> create(const StepConfig& config, const StepArrays& arrays);

  /// The device array that will hold `addresses` whenever product number `product` runs.
  /// Synchronises where the addresses are fixed.
  Result<void* const*> add(int product, ProductArray which, const GroupAddresses& addresses,
                           cudaStream_t stream);

  /// At the head of the step: offsets and rows, and with SetupArrays::PerMatmul every array.
  Status launch_head(kernels::LaunchStream stream) const;
  /// Before a product: nothing with SetupArrays::PerMatmul.
  Status launch_before(int product, kernels::LaunchStream stream) const;
  /// Launches of one step.
  int launches() const;

 private:
  void** array(int product, ProductArray which) const;
  void plan(std::vector<kernels::SplitsToOffsetsArgs>& launches,
            const kernels::PointerArray& pointer_array) const;

  StepConfig config_;
  kernels::SplitsToOffsetsArgs offsets_;  // without pointer arrays
  DeviceBuffer pool_;
  std::vector<kernels::SplitsToOffsetsArgs> head_;
  std::vector<std::vector<kernels::SplitsToOffsetsArgs>> before_;  // a product
};

}  // namespace engine
