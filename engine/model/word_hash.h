// A hash of 64-bit words, word by word: cheap, good enough to notice a change, no protection
// against intent. Files hold its values (profiling/attach/spool/frames.h), so it must not change.
// Freestanding: the library that is preloaded into other people's programs includes it.
#pragma once

#include <cstdint>

namespace engine {

inline constexpr std::uint64_t kWordHashSeed = 0x9E3779B97F4A7C15;

constexpr std::uint64_t with_word(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0xD6E8FEB86659FD93;
  return hash ^ hash >> 32;
}

static_assert(with_word(with_word(kWordHashSeed, 1), 2) == 0x0B66524A7BD36DEB);

}  // namespace engine
