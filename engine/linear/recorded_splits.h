// The splits of every step of a routing file in page-locked memory, copied to the device between
// launches: a captured step follows them without being captured again.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/input/token_routing.h"
#include "engine/linear/device_step.h"
#include "engine/model/error.h"

namespace engine {

class RecordedSplits {
 public:
  RecordedSplits() = default;
  /// `steps`: [steps][num_groups], at least one. `int32`: as wide as the step's own. `tokens`: of a
  /// step that begins at them, else null; their experts are copied with the splits.
  static Result<RecordedSplits> create(std::vector<std::vector<std::int64_t>> steps, bool int32,
                                       const TokenRouting* tokens = nullptr);

  std::size_t size() const { return steps_.size(); }
  const std::vector<std::int64_t>& of(std::size_t step) const { return steps_[step]; }
  /// Gives the next launches the splits of this step, if there are several; to be called between
  /// launches, on their stream. Only enqueues: every step has its own memory, so that none is
  /// overwritten while a copy waits. This object must outlive the copies.
  Status enqueue(std::size_t step, DeviceStep& of, cudaStream_t stream) const;

 private:
  std::vector<std::vector<std::int64_t>> steps_;
  std::size_t step_bytes_ = 0;
  PinnedBuffer pinned_;
};

}  // namespace engine
