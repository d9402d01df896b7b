// Frames of a worker with hostile values: made from valid messages by walking their own
// descriptors, so that a field added to the protocol is attacked at once.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "app/protocol/framing.h"
#include "app/protocol/orders.h"

namespace app::testing {

enum class Hostility { Numbers, Field, Enums, Lengths, Text };

/// Every frame of an answer that the link lets in, however extreme its values are.
struct LetIn {
  std::vector<wire::Frame> frames = {};
  std::set<std::string> changed = {};  // full names of the fields with such values
  std::set<std::string> refused = {};  // of those of which no such value was let in
};

class HostileFrames {
 public:
  explicit HostileFrames(std::uint64_t seed) : random_(seed) {}

  /// A valid frame of any kind that goes to the window: the base of the hostile ones.
  wire::Frame right(std::uint64_t id);
  wire::Frame hostile(Hostility hostility, std::uint64_t id);
  wire::Frame greeting();
  /// The answer to an order of this kind: a run, a comparison or a history. What is displayed of a
  /// worker was let in by the link, and of all hostile answers hardly any is: here every field is
  /// tried with extreme values, one after the other, and keeps the first that the link lets in.
  LetIn let_in(wire::Order::TaskCase kind, std::uint64_t id);

 private:
  std::mt19937_64 random_;
};

wire::Frame answer_frame(std::uint64_t id, const Answer& answer);
/// A finished run with a value in every field; the values that belong together follow from `salt`.
wire::Frame finished_run(std::uint64_t id, int salt);
/// The activity that precedes it.
wire::Frame activity_of_run(std::uint64_t id, int salt);

}  // namespace app::testing
