// Division by a number that the host knows, without the device's slow division.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace kernels {

/// Quotients of numbers below 2^31 (Granlund and Montgomery, "Division by invariant integers using
/// multiplication", 1994).
class QuickDivision {
 public:
  QuickDivision() = default;
  /// `divisor` is at least 1.
  explicit QuickDivision(std::uint32_t divisor) : divisor_(divisor) {
    while ((std::uint64_t{1} << shift_) < divisor) ++shift_;
    const std::uint64_t power = std::uint64_t{1} << 32;
    multiplier_ =
        static_cast<std::uint32_t>(power * ((std::uint64_t{1} << shift_) - divisor) / divisor + 1);
  }

  KERNELS_HOST_DEVICE std::uint32_t divisor() const { return divisor_; }
  KERNELS_HOST_DEVICE std::uint32_t quotient(std::uint32_t number) const {
    const auto high = static_cast<std::uint32_t>(std::uint64_t{number} * multiplier_ >> 32);
    return (high + number) >> shift_;
  }

 private:
  std::uint32_t divisor_ = 1;
  std::uint32_t multiplier_ = 1;
  std::uint32_t shift_ = 0;
};

}  // namespace kernels
