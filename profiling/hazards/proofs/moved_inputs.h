// The inputs of an experiment in other memory: each of their addresses in the graphs, in arrays of
// addresses and, if requested, in host memory that copies read is replaced, and the old memory is
// poisoned while a replay runs. Any remaining difference comes from an old address. Between replays
// the old memory holds what the step left, so that the program's own calls are unaffected.
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/device/driver_api.h"
#include "engine/model/error.h"
#include "profiling/hazards/proofs/graph_changes.h"

namespace profiling {

struct CapturedGraph;

class MovedInputs {
 public:
  /// Copies every live input of the ledger and patches the executable graphs. Unsupported, with the
  /// reason, if an address cannot be found or changed: then no conclusion is possible.
  static engine::Result<MovedInputs> create(const engine::DriverApi& driver,
                                            std::span<const CapturedGraph> graphs, bool patch_host);

  /// Around every replay, on its stream.
  engine::Status before_replay(cudaStream_t stream);
  engine::Status after_replay(cudaStream_t stream);

  /// The memory that holds old addresses after a replay, each with the input it points to; empty =
  /// none found. Synchronises.
  engine::Result<std::string> still_held(cudaStream_t stream) const;

 private:
  /// Host memory that copy nodes read, as far as the ledger knows it.
  using HostRange = std::pair<std::byte*, std::size_t>;

  engine::Status take(const std::vector<engine::Allocation>& ledger);
  engine::Status patch_graph(const engine::DriverApi& driver, const CapturedGraph& graph);
  engine::Status patch_arrays(cudaStream_t stream);

  std::vector<engine::Allocation> inputs_;
  std::vector<engine::DeviceBuffer> elsewhere_;  // [i] of inputs_[i]
  std::vector<Relocation> ranges_;               // [i] of inputs_[i]
  std::vector<HostRange> host_;
  bool patch_host_ = false;
};

}  // namespace profiling
