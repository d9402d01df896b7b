// Addresses that were seen before, for any threads at once; nothing is allocated.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace attach {

/// Of about `Slots` addresses, none of them 0; what finds no room is not remembered. For objects of
/// static storage.
template <std::size_t Slots>
class AddressSet {
 public:
  bool contains(std::uint64_t address) const {
    const std::size_t first = place_of(address);
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      const std::uint64_t seen = slots_[(first + probe) % Slots].load(std::memory_order_acquire);
      if (seen == 0) return false;
      if (seen == address) return true;
    }
    return false;
  }

  /// True unless it was there.
  bool add(std::uint64_t address) {
    const std::size_t first = place_of(address);
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      std::uint64_t empty = 0;
      if (slots_[(first + probe) % Slots].compare_exchange_strong(empty, address)) return true;
      if (empty == address) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kProbes = 16;

  static std::size_t place_of(std::uint64_t address) { return address * 0x9E3779B97F4A7C15 >> 20; }

  std::atomic<std::uint64_t> slots_[Slots]{};
};

}  // namespace attach
