// An amax history written by hand, field by field, like the run in sample_recording.cpp.
#include <limits>

#include "tests/unit/session/sample_parts.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {

RecordedHistory sample_history(int salt) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const auto base = static_cast<float>(salt);
  const auto count = static_cast<std::uint64_t>(salt);
  RecordedHistory recorded;
  recorded.wall_clock_ms = 1'700'000'000'000 + salt;
  engine::AmaxHistory& history = recorded.history;
  history.id = 40 + count;
  history.request.request.seed = 77 + count;
  history.request.tokens = 512 + salt;
  history.request.steps = 3;
  history.request.outlier_step = 1;
  history.request.outlier_expert = 1;
  history.request.outlier_factor = 32.5 + salt;
  history.request.idle = {{.step = 2, .expert = 0}, {.step = 2, .expert = 1}};
  history.steps = 3;
  history.experts = 2;
  history.rows = {256, 256, 300, 212 + salt, 0, 0};
  history.amax = {base + 1.0F, 2.5F, 3.0F, 1e30F, 0.0F, 0.0F};
  history.history_amax = {0.0F, 0.0F, base + 1.0F, 2.5F, 3.0F, 1e30F};
  history.scale_used = {1.0F, 1.0F, 448.0F, 179.2F, 149.333F, base + 0.5F};
  history.scale_wanted = {448.0F, 179.2F, 149.333F, 4.48e-28F, kNone, kNone};
  history.saturated = {0, count, std::uint64_t{1} << 40, 1, 0, 0};
  history.underflowed = {1, 2, 3, 4, 0, count};
  history.snr_db = {31.5,
                    -2.0,
                    kInfinity,
                    salt + 0.25,
                    std::numeric_limits<double>::quiet_NaN(),
                    std::numeric_limits<double>::quiet_NaN()};
  history.left_out = {0, count, 7, 0, 0, 1};
  history.ring_rows = 2;
  history.ring = {1.0F, 2.5F, 0.0F, 0.0F, 3.0F, 1e30F, 1.0F, 2.5F, 0.0F, 0.0F, 3.0F, base};
  history.wall_ns = 123'456'789 + salt;
  return recorded;
}

}  // namespace profiling
