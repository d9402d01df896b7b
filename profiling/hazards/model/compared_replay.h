// A replay before and after which all memory of the device was hashed: what changed is measured.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/fields.h"

namespace profiling {

/// Memory whose contents changed. It may have parts that did not.
struct ChangedMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool by_program = false;  // or another graph, since the comparison of the same graph before
  bool by_replay = false;
  bool operator==(const ChangedMemory&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&ChangedMemory::address, &ChangedMemory::bytes,
                          &ChangedMemory::by_program, &ChangedMemory::by_replay>();
  }
};
inline constexpr std::size_t kMaxChangedMemory = 4096;

struct ComparedReplay {
  std::uint64_t replay = 0;                 // counted from 1
  std::uint64_t hashed_bytes = 0;           // of the device's memory
  bool partial = false;                     // not all memory, or not all that changed
  std::vector<ChangedMemory> changed = {};  // ascending by address
  std::uint64_t at = 0;                     // on the ledger's clock; 0 = not known
  bool operator==(const ComparedReplay&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ComparedReplay::replay>(),
                      engine::field<&ComparedReplay::hashed_bytes>(),
                      engine::field<&ComparedReplay::partial>(),
                      engine::field<&ComparedReplay::changed>({.most = kMaxChangedMemory}),
                      engine::field<&ComparedReplay::at>()};
  }
};
/// Of one graph: the first nine, and two from each power of two on.
inline constexpr std::size_t kMaxComparedReplays = 128;

}  // namespace profiling
