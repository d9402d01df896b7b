// Waiting for the device with a deadline, and what can be told when it passes. Never blocks in the
// driver: a call that waits for a spinning kernel would not come back.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/device/handles.h"
#include "engine/model/error.h"
#include "profiling/graph/experiment.h"

namespace profiling {

enum class Waited { Done, Late, Cancelled };

/// Polls until `event` has happened, `seconds` have passed, or `cancelled` says so. An error is a
/// fault of the device.
engine::Result<Waited> wait_for(cudaEvent_t event, double seconds,
                                const std::function<bool()>& cancelled);

/// A kernel and a copy on streams of their own, ready before anything hangs.
class Probe {
 public:
  static engine::Result<Probe> create();
  /// Whether a kernel, and a copy, on streams of their own still finish, and in what time.
  StallKind triage(const std::vector<NodeState>& nodes, std::string& evidence) const;

 private:
  engine::Result<Waited> try_kernel() const;
  engine::Result<Waited> try_copy() const;

  engine::Stream kernel_stream_;
  engine::Stream copy_stream_;
  engine::Event done_;
  engine::Event copied_;
  engine::DeviceBuffer source_;
  engine::PinnedBuffer target_;
};

}  // namespace profiling
