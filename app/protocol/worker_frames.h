// What a worker's frames mean: a pulse, an event, the answer to an order. Keeps the records of a
// run until its result arrives. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "app/protocol/convert.h"
#include "app/protocol/wire.h"
#include "app/protocol/worker_link.h"
#include "engine/model/error.h"

namespace app {

struct Arrival {
  std::optional<PulseReport> pulse;
  std::optional<LinkEvent> event;
  std::uint64_t answered = 0;  // id of the order this event answers; 0 = of none
};

class WorkerFrames {
 public:
  /// Unsupported = the worker refused us or speaks another version; any other error = it broke the
  /// protocol.
  engine::Result<Arrival> read(const wire::Frame& frame);

 private:
  ActivityAssembler assembler_;
};

}  // namespace app
