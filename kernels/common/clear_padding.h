// Launch arguments without stale bytes. Argument structs have holes between their members, which
// hold whatever was on the stack. A captured graph keeps them: the graph doctor reads a node's
// argument bytes, and an old address in a hole looks like an operand. Host-safe.
#pragma once

#include <type_traits>

namespace kernels {

/// Zeroes the bytes of `value` that belong to no member, also those inside nested structs and
/// arrays.
template <typename T>
void clear_padding(T& value) {
  static_assert(std::is_trivially_copyable_v<T>, "The driver copies launch arguments as bytes");
  __builtin_clear_padding(&value);
}

}  // namespace kernels
