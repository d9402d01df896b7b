// How much longer a deadline of a test may take: more than once only in a sanitized build, where
// tests/CMakeLists.txt says how much and tests/support/sanitized passes it on.
#pragma once

#include <cstdlib>

namespace tests {

inline int patience() {
  const char* const times = std::getenv("EXPERTSCOPE_PATIENCE");
  return times == nullptr ? 1 : std::atoi(times);
}

}  // namespace tests
