#include "engine/model/sha256.h"

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace engine {
namespace {

/// FIPS 180-4.
class Sha256 {
 public:
  static constexpr std::size_t kBlockBytes = 64;

  void block(const std::uint8_t* bytes) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i) {
      w[i] = std::uint32_t{bytes[4 * i]} << 24 | std::uint32_t{bytes[4 * i + 1]} << 16 |
             std::uint32_t{bytes[4 * i + 2]} << 8 | std::uint32_t{bytes[4 * i + 3]};
    }
    for (std::size_t i = 16; i < 64; ++i) {
      const std::uint32_t s0 =
          std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                               ((e & f) ^ (~e & g)) + kRounds[i] + w[i];
      const std::uint32_t t2 =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = std::exchange(g, std::exchange(f, std::exchange(e, d + t1)));
      d = std::exchange(c, std::exchange(b, std::exchange(a, t1 + t2)));
    }
    const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state_[i] += added[i];
  }

  /// `tail`: what is left behind the whole blocks, fewer bytes than one.
  std::string finish(const std::uint8_t* tail, std::size_t tail_bytes, std::uint64_t all_bytes) {
    std::array<std::uint8_t, 2 * kBlockBytes> last{};
    std::memcpy(last.data(), tail, tail_bytes);
    last[tail_bytes] = 0x80;
    const std::size_t end = tail_bytes + 9 <= kBlockBytes ? kBlockBytes : 2 * kBlockBytes;
    for (std::size_t i = 0; i < 8; ++i) {
      last[end - 1 - i] = static_cast<std::uint8_t>(8 * all_bytes >> (8 * i));
    }
    for (std::size_t at = 0; at < end; at += kBlockBytes) block(last.data() + at);
    std::string text;
    for (const std::uint32_t word : state_) text += fmt::format("{:08x}", word);
    return text;
  }

 private:
  static constexpr std::array<std::uint32_t, 64> kRounds = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
};

}  // namespace

Result<std::string> sha256_of(int descriptor) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;  // whole blocks
  static_assert(kChunk % Sha256::kBlockBytes == 0);
  std::vector<std::uint8_t> chunk(kChunk);
  Sha256 hash;
  std::uint64_t all = 0;
  std::size_t held = 0;  // bytes at the chunk's start that wait for the rest of their block
  while (true) {
    const ssize_t count =
        ::pread(descriptor, chunk.data() + held, kChunk - held, static_cast<off_t>(all));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error{ErrorCode::Io, std::generic_category().message(errno)};
    if (count == 0) return hash.finish(chunk.data(), held, all);
    all += static_cast<std::uint64_t>(count);
    held += static_cast<std::size_t>(count);
    const std::size_t whole = held - held % Sha256::kBlockBytes;
    for (std::size_t at = 0; at < whole; at += Sha256::kBlockBytes) hash.block(chunk.data() + at);
    held -= whole;
    std::memmove(chunk.data(), chunk.data() + whole, held);
  }
}

std::string sha256_of(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::size_t whole = text.size() - text.size() % Sha256::kBlockBytes;
  Sha256 hash;
  for (std::size_t at = 0; at < whole; at += Sha256::kBlockBytes) hash.block(bytes + at);
  return hash.finish(bytes + whole, text.size() - whole, text.size());
}

}  // namespace engine
