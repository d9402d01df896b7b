// The tile of D that one thread block of an M-grouped product computes, and how many blocks share
// the rows that they read.
#pragma once

#include <cstdint>

namespace kernels {

/// Rows of a tile: 256 where groups are long, since every row of the weights then serves twice as
/// many products; 128 where they are short, which leaves room for more stages on their way.
inline constexpr int kMGroupedTileRows[] = {128, 256};
inline constexpr std::int64_t kMGroupedTileColumns = 128;
/// Two blocks work on neighbouring columns of the same rows, and each loads half of those for both.
inline constexpr std::int64_t kMGroupedCluster = 2;
/// Pairs of tiles that are halved at most, so that all multiprocessors end at about the same time.
inline constexpr int kMGroupedMostHalved = 64;

}  // namespace kernels
