// Launch arguments depend on their members alone, whatever was in memory before.
#include "kernels/common/clear_padding.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <new>

#include "kernels/offsets/offsets_plan.h"
#include "kernels/permute/permute.h"
#include "kernels/quantize/quantize_block.h"

namespace kernels {
namespace {

template <typename T>
using Bytes = std::array<std::byte, sizeof(T)>;

/// The bytes of a T whose every member is zero, in memory that held `stale`.
template <typename T>
Bytes<T> cleared(std::byte stale) {
  alignas(T) Bytes<T> memory;
  memory.fill(stale);
  clear_padding(*std::launder(reinterpret_cast<T*>(memory.data())));
  return memory;
}

template <typename T>
class ClearPadding : public testing::Test {};

struct Holes {
  bool first;
  struct {
    const void* pointer;
    int number;
  } inner[2];
  char last;
};

using Arguments =
    testing::Types<PermuteArgs, UnpermuteGradientArgs, QuantizeBlockArgs, OffsetsPlan, Holes>;
TYPED_TEST_SUITE(ClearPadding, Arguments);

TYPED_TEST(ClearPadding, ZeroesBytesOfNoMember) {
  // A byte of a member stays as it is, so only padding is equal after different stale bytes.
  const Bytes<TypeParam> a = cleared<TypeParam>(std::byte{0xAB});
  const Bytes<TypeParam> b = cleared<TypeParam>(std::byte{0x54});
  std::size_t holes = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) continue;
    EXPECT_EQ(a[i], std::byte{0}) << i;
    ++holes;
  }
  EXPECT_GT(holes, 0U);
}

TEST(ClearPadding, LeavesNoStaleAddressBehindTheTypeOfAPermutation) {
  constexpr std::size_t kType = offsetof(PermuteArgs, type);
  static_assert(offsetof(PermuteArgs, columns) - kType == 8, "four bytes of type, four of padding");
  const Bytes<PermuteArgs> bytes = cleared<PermuteArgs>(std::byte{0x7F});
  std::uint32_t hole = 1;
  std::memcpy(&hole, bytes.data() + kType + 4, sizeof hole);
  EXPECT_EQ(hole, 0U);
}

}  // namespace
}  // namespace kernels
