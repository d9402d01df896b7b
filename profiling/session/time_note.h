// What a person wrote about a range of a run's time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace profiling {

/// Now, in milliseconds of Unix time.
inline std::int64_t unix_time_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// On the axis of the run's records: 0 = start of its first timed iteration.
struct TimeNote {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;      // >= begin_ns
  std::string text = {};        // empty = a mark without words
  std::int64_t created_ms = 0;  // Unix time

  bool operator==(const TimeNote&) const = default;
};

}  // namespace profiling
