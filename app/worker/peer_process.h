// A program whose steps and products are interleaved with ours in a benchmark of steps. It receives
// one JSON object per line on its stdin and answers each with one; assets/bench/peer_protocol.py
// documents and implements the protocol. It ends when its stdin does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/bench/step_bench.h"
#include "engine/model/error.h"
#include "engine/observe/step_observer.h"

namespace app {

class PeerProcess {
 public:
  virtual ~PeerProcess() = default;
  /// Its own name: "torch 2.9.0, CUDA 13.0, on NVIDIA H200".
  virtual const std::string& name() const = 0;
  /// What it offers as subjects. Optional: a failure here ends only the peer's part.
  virtual engine::StepTarget& target() = 0;
};

/// Starts it and waits for its name, a minute or two where a large library is loaded. The error is
/// a sentence that says why there is no peer; Cancelled when progress.cancel was seen.
engine::Result<std::unique_ptr<PeerProcess>> start_peer(const std::vector<std::string>& argv,
                                                        engine::RunProgress& progress);

}  // namespace app
