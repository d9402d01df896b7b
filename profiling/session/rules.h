// The keeper of the first broken rule, and the rules of the parts that runs and comparisons share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "engine/model/error.h"
#include "engine/model/run_result.h"
#include "engine/model/text.h"
#include "profiling/session/run_rules.h"
#include "profiling/session/schema.h"

namespace profiling {

inline constexpr std::int64_t kMaxTime_ns = std::int64_t{1}
                                            << 60;  // sums and differences stay in 64 bits

/// A bound made from another value, which may itself be hostile: later checks of a rule that is
/// broken already do nothing, but their bounds are still computed.
constexpr std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

/// Keeps the first broken rule; later checks then do nothing.
class Rules {
 public:
  bool ok() const { return status_.ok(); }
  engine::Status take() { return std::move(status_); }

  template <class Describe>
  void require(bool holds, Describe describe) {
    if (holds || !status_.ok()) return;
    status_ = engine::Error{engine::ErrorCode::InvalidArgument, describe()};
  }
  void between(const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
    require(value >= low && value <= high, [&] {
      return fmt::format("{} is {}; it must be between {} and {}", field, value, low, high);
    });
  }
  void size(const char* field, std::size_t size, std::int64_t high) {
    require(std::cmp_less_equal(size, high),
            [&] { return fmt::format("{} has {} entries; the limit is {}", field, size, high); });
  }
  void count(const char* field, std::uint64_t value) {
    require(std::in_range<std::int64_t>(value), [&] {
      return fmt::format("{} is {}; SQLite keeps integers up to {}", field, value,
                         std::numeric_limits<std::int64_t>::max());
    });
  }
  void text(const char* field, std::string_view value) {
    require(value.size() < static_cast<std::size_t>(kMaxCellBytes), [&] {
      return fmt::format("{} has {} bytes; the limit is {}", field, value.size(), kMaxCellBytes);
    });
    require(engine::is_clean_text(value),
            [&] { return fmt::format("{} is not valid UTF-8 text without NUL", field); });
  }
  void status(const char* field, const engine::Status& other) {
    require(other.ok(), [&] { return fmt::format("{}: {}", field, other.error().message); });
  }

 private:
  engine::Status status_;
};

void check_device(const engine::DeviceFacts& device, Rules& rules);
void check_operand(const engine::OperandStatistics& operand, std::size_t experts, Rules& rules);

}  // namespace profiling
