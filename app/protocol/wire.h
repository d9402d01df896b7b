// The generated messages under a short name, and the version both ends must agree on.
#pragma once

#include <cstdint>

#include "app/protocol/expertscope.pb.h"

namespace app {

namespace wire = ::expertscope::wire;

/// Incremented with every change that an older peer would misread. The handshake refuses any
/// difference.
inline constexpr std::uint32_t kProtocolVersion = 11;
inline constexpr const char* kProgramVersion = EXPERTSCOPE_VERSION;

}  // namespace app
