// Frames of a worker with hostile values: made from valid messages by walking their own
// descriptors, so that a field added to the protocol is attacked at once.
#pragma once

#include <cstdint>
#include <random>

#include "app/protocol/framing.h"
#include "app/protocol/orders.h"

namespace app::testing {

enum class Hostility { Numbers, Field, Enums, Lengths, Text };

class HostileFrames {
 public:
  explicit HostileFrames(std::uint64_t seed) : random_(seed) {}

  /// A valid frame of any kind that goes to the window: the base of the hostile ones.
  wire::Frame right(std::uint64_t id);
  wire::Frame hostile(Hostility hostility, std::uint64_t id);
  wire::Frame greeting();

 private:
  std::mt19937_64 random_;
};

wire::Frame answer_frame(std::uint64_t id, const Answer& answer);
/// A finished run with a value in every field; the values that belong together follow from `salt`.
wire::Frame finished_run(std::uint64_t id, int salt);
/// The activity that precedes it.
wire::Frame activity_of_run(std::uint64_t id, int salt);

}  // namespace app::testing
