// What a person wrote about a range of a run's time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/model/fields.h"

namespace profiling {

/// Now, in milliseconds of Unix time.
inline std::int64_t unix_time_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

inline constexpr std::size_t kMaxTimeNotes = 10'000;  // of one run

/// On the axis of the run's records: 0 = start of its first timed iteration.
struct TimeNote {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;      // >= begin_ns
  std::string text = {};        // empty = a mark without text
  std::int64_t created_ms = 0;  // Unix time

  bool operator==(const TimeNote&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    constexpr engine::FieldRules kOnAxis = {.low = -engine::kMaxTime_ns,
                                            .high = engine::kMaxTime_ns};
    return std::array{engine::field<&TimeNote::begin_ns>(kOnAxis),
                      engine::field<&TimeNote::end_ns>(kOnAxis), engine::field<&TimeNote::text>(),
                      engine::field<&TimeNote::created_ms>(engine::kDuration_ns)};
  }
  engine::Flaw flaw() const {
    return end_ns < begin_ns ? engine::Flaw{"end_ns", "lies before its begin_ns"} : engine::Flaw();
  }
};

}  // namespace profiling
