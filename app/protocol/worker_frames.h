// What a worker's frames mean: a pulse, an event, the answer to an order. Keeps the records of a
// run until its result arrives. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "app/protocol/convert.h"
#include "app/protocol/framing.h"
#include "app/protocol/worker_link.h"
#include "engine/model/error.h"
#include "engine/model/text.h"

namespace app {

struct Arrival {
  std::optional<PulseReport> pulse;
  std::optional<LinkEvent> event;
  std::uint64_t answered = 0;  // id of the order this event answers; 0 = none
};

/// Makes every text of the message safe to show, at any depth. Uses the message's own descriptor,
/// so that a field added to the protocol is covered.
void show_texts(google::protobuf::Message& message);

class WorkerFrames {
 public:
  /// Unsupported = the worker refused us or speaks another version; any other error = it broke the
  /// protocol. Every text of the frame is made safe to show (engine::shown_text) before it is used,
  /// and every result is checked as if it came from a recording (profiling/session/limits.h).
  engine::Result<Arrival> read(wire::Frame frame);

 private:
  engine::Result<Arrival> read_answer(const wire::Answer& message);

  ActivityAssembler assembler_;
};

}  // namespace app
