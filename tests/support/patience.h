// The factor by which a deadline of a test is extended: above 1 only in a sanitized build, where
// tests/CMakeLists.txt sets it and tests/support/sanitized passes it on.
#pragma once

#include <cstdlib>

namespace tests {

inline int patience() {
  const char* const times = std::getenv("EXPERTSCOPE_PATIENCE");
  return times == nullptr ? 1 : std::atoi(times);
}

}  // namespace tests
