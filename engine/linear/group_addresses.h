// Where the groups of an operand or output start: a rule that depends on the splits, a fixed
// stride, or a list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/offsets/splits_to_offsets.h"

namespace engine {

struct GroupAddresses {
  /// base + group * bytes_per_group + bytes_per_unit * units of the groups before.
  kernels::PointerArray rule = {};
  /// Not empty: the addresses themselves.
  std::vector<void*> listed = {};

  /// Whether they are known without the splits.
  bool fixed() const { return !listed.empty() || rule.bytes_per_unit == 0; }
  explicit operator bool() const { return !listed.empty() || rule.base != nullptr; }
};

/// The addresses for these splits, as the offsets kernel makes them.
std::vector<void*> resolve(const GroupAddresses& addresses, std::span<const std::int64_t> splits);

}  // namespace engine
