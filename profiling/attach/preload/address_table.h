// A table of what lies at addresses, in static storage and without an allocation. Not safe for
// several threads: its user locks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attach {

/// Open addressing with linear probing. `Entry` has a member `address`; 0 = an empty place. A
/// fourth of the places stays empty, so that searches end soon.
template <class Entry, std::size_t kPlaces>
class AddressTable {
 public:
  constexpr AddressTable() = default;

  Entry* find(std::uint64_t address) {
    Entry& entry = entries_[place_of(address)];
    return address != 0 && entry.address == address ? &entry : nullptr;
  }
  bool is_full() const { return count_ >= kPlaces / 4 * 3; }
  /// Replaces what has the same address. False = there is no room.
  bool put(const Entry& entry) {
    Entry& place = entries_[place_of(entry.address)];
    if (place.address == 0) {
      if (is_full()) return false;
      ++count_;
    }
    place = entry;
    return true;
  }
  void remove(std::uint64_t address) {
    if (find(address) != nullptr) remove_at(place_of(address));
  }
  /// Closes the gap, so that what was placed behind it is still found: another entry may come to
  /// this place.
  void remove_at(std::size_t gap) {
    for (std::size_t next = (gap + 1) % kPlaces; entries_[next].address != 0;
         next = (next + 1) % kPlaces) {
      const std::size_t from_home = (next - home_of(entries_[next].address)) % kPlaces;
      const std::size_t from_gap = (next - gap) % kPlaces;
      if (from_home < from_gap) continue;
      entries_[gap] = entries_[next];
      gap = next;
    }
    entries_[gap] = {};
    --count_;
  }
  /// Reads no place of a table that was never used: those have no memory yet.
  void clear() {
    if (count_ == 0) return;
    for (Entry& entry : entries_) entry = {};
    count_ = 0;
  }

  std::size_t places() const { return count_ == 0 ? 0 : kPlaces; }
  /// Its address is 0 if the place is empty.
  Entry& at(std::size_t place) { return entries_[place]; }

 private:
  static std::size_t home_of(std::uint64_t address) {
    return static_cast<std::size_t>(address * 0x9E3779B97F4A7C15 >> 20) % kPlaces;
  }
  /// Where it is, or would be.
  std::size_t place_of(std::uint64_t address) const {
    std::size_t place = home_of(address);
    while (entries_[place].address != 0 && entries_[place].address != address)
      place = (place + 1) % kPlaces;
    return place;
  }

  Entry entries_[kPlaces]{};
  std::size_t count_ = 0;
};

}  // namespace attach
