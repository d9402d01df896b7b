// Whether two programs understand each other: only if all their messages are the same.
#pragma once

#include <cstdint>

namespace app {

/// A hash of every message that a frame can carry, with the names, numbers and types of its fields.
/// Values and their messages change together (wire_schema.h), so nobody has to remember to count a
/// version. The handshake refuses any difference.
std::uint32_t protocol_version();

}  // namespace app
