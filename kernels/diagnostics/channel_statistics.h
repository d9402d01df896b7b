// What quantization did to every row and every column (a channel) of an operand, and in the same
// pass the errors of blocks of neighbours (block_error.h). Host and device compute the same bits:
// the order of the sums is part of the definition, everything else is counted in integers.
//
//   A row:    its squares are added in pairs of neighbours, those sums in pairs, up to kChannelTile
//             columns (those beyond the last count as 0); then the tiles from left to right.
//   A column: the rows of a strip of kChannelStripRows from top to bottom, a group's last strip may
//             be shorter; then the strips from top to bottom, group by group.
#pragma once

#include <cstdint>

#include "kernels/common/exact_float.h"
#include "kernels/diagnostics/block_error.h"

namespace kernels {

inline constexpr std::int64_t kChannelTile = 256;
inline constexpr std::int64_t kChannelStripRows = 64;

/// Counts of a channel in one word: underflowed, lost, undefined. A tile has 256 columns and a
/// strip 64 rows, so none outgrows its ten bits.
inline constexpr std::uint32_t kCountBits = 10;
inline constexpr std::uint32_t kCountMask = (1U << kCountBits) - 1U;
static_assert(kChannelTile <= kCountMask && kChannelStripRows <= kCountMask);

/// One row or column, all groups together; the words are those of GroupQuantizationSums.
struct ChannelSums {
  double signal = 0.0;          // of elements that are finite and come back finite
  double noise = 0.0;           // of the same; the difference is rounded to FP32
  std::uint64_t largest = 0;    // LargestElement::packed(); 0: no element is finite
  std::uint32_t saturated = 0;  // counted by quantization_statistics()
  std::uint32_t underflowed = 0;
  std::uint32_t lost = 0;
  std::uint32_t undefined = 0;
};

/// The largest finite |x| of a channel and where it is. Packed values order like magnitudes; of
/// equal ones the first element is the largest.
struct LargestElement {
  float amax = 0.0F;
  std::int64_t place = -1;  // the row of a column's, the column of a row's; -1: there is none

  /// `rank`: the bits of a finite |x| plus 1; 0: no element.
  KERNELS_HOST_DEVICE static std::uint64_t packed(std::uint32_t rank, std::uint32_t place) {
    return rank == 0 ? 0 : (std::uint64_t{rank} << 32) | (0xFFFFFFFFU - place);
  }
  KERNELS_HOST_DEVICE static LargestElement unpacked(std::uint64_t packed) {
    if (packed == 0) return {};
    return {bits_to_float(static_cast<std::uint32_t>(packed >> 32) - 1U),
            static_cast<std::int64_t>(0xFFFFFFFFU - static_cast<std::uint32_t>(packed))};
  }
};

/// Without `columns` and `rows` only blocks are counted.
struct ChannelStatisticsArgs {
  GroupedInput input = {};                // no activation; fewer than 2^32 rows
  const float* decoded = nullptr;         // [capacity_rows, columns]; null: all come back exactly
  std::uint64_t* block_counts = nullptr;  // [kBlockErrorBins], added to; the last block of a row
                                          // may be shorter
  ChannelSums* columns = nullptr;         // [columns], added to
  ChannelSums* rows = nullptr;            // [capacity_rows], of all groups; added to
  std::int64_t first_row = 0;             // of the input, where it is a part of an operand: the
                                          // places of the columns' largest elements count from
                                          // the operand's first row
  void* scratch = nullptr;  // on the device: channel_scratch_bytes(), aligned to 16 bytes
};

void channel_statistics_cpu(const ChannelStatisticsArgs& args);

/// A slot for each strip: those of group g begin at row_offsets[g] / kChannelStripRows + g.
KERNELS_HOST_DEVICE constexpr std::int64_t first_channel_slot(std::int64_t row_offset, int group) {
  return row_offset / kChannelStripRows + group;
}
/// Sums of tiles and strips that are not added up yet.
constexpr std::int64_t channel_scratch_bytes(std::int64_t capacity_rows, int num_groups,
                                             std::int64_t columns) {
  const std::int64_t strips = first_channel_slot(capacity_rows, num_groups);
  const std::int64_t tiles = ceil_div(columns, kChannelTile);
  return std::int64_t{2 * sizeof(double)} * (strips * columns + tiles * capacity_rows);
}

#ifdef EXPERTSCOPE_WITH_CUDA
/// Needs `columns`, `rows` and `scratch`; input and decoded values aligned to 16 bytes, columns a
/// multiple of kErrorBlock.
cudaError_t channel_statistics(const ChannelStatisticsArgs& args, cudaStream_t stream);
#endif

}  // namespace kernels
