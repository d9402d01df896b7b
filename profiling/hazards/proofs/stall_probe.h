// What can be determined about a device after a missed deadline, without a call that waits for it.
#pragma once

#include <cuda_runtime_api.h>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/device/handles.h"
#include "engine/model/error.h"
#include "profiling/hazards/model/experiment.h"

namespace profiling {

/// The last finished node in graph order; -1 = none known.
int last_done(const std::vector<NodeState>& nodes);

/// A kernel and a copy on separate streams, prepared before anything hangs.
class Probe {
 public:
  static engine::Result<Probe> create();
  /// Whether a kernel and a copy on separate streams still finish, and how fast.
  StallKind triage(const std::vector<NodeState>& nodes, std::string& evidence) const;
  /// Completes a stall whose replay, deadline and nodes are known: the node that finished last, the
  /// kind and its evidence. `device` is queried last, and its answer is appended.
  void explain(Stall& stall, const std::function<std::string()>& device) const;

 private:
  engine::Result<engine::Waited> try_kernel() const;
  engine::Result<engine::Waited> try_copy() const;

  engine::Stream kernel_stream_;
  engine::Stream copy_stream_;
  engine::Event done_;
  engine::Event copied_;
  engine::DeviceBuffer source_;
  engine::PinnedBuffer target_;
};

}  // namespace profiling
