// What stands between two timed iterations: nothing, a rest, or a write that drives the step's data
// out of the L2 cache. Outside of the iterations' events.
#pragma once

#include "engine/device/buffer.h"
#include "engine/model/measurement.h"

namespace engine {

class IterationConditions {
 public:
  /// Allocates what CacheMode::Cold needs: twice the device's L2 cache.
  static Result<IterationConditions> create(const MeasureOptions& options);

  /// Whether anything is done before an iteration at all.
  bool any() const { return rest_ || static_cast<bool>(flush_); }
  /// Whether the device is to be idle before an iteration.
  bool rests() const { return rest_; }
  /// Before the events of an iteration. Burst waits for the device.
  Status before(cudaStream_t stream) const;

 private:
  bool rest_ = false;
  DeviceBuffer flush_;
};

}  // namespace engine
