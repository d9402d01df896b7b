// Scale bytes on the device. A warp takes the 512 bytes of 128 lines x 4 blocks at a time, which
// swizzled lie together; four lines per lane, so that its bytes are stored as words.
#include "kernels/common/launch.cuh"
#include "kernels/dequantize/tile_walk.cuh"
#include "kernels/dequantize/widen_scales.h"

namespace kernels {
namespace {

constexpr int kWarps = kViewThreads / 32;

/// What a thread met of scales without a byte.
struct Refusals {
  std::uint64_t first = ~std::uint64_t{0};
  unsigned blocks = 0;
};

/// Byte i of each of four words, the first word's lowest.
__device__ __forceinline__ std::uint32_t transposed_byte(const std::uint32_t (&words)[4], int i) {
  const unsigned pick = static_cast<unsigned>(i) | static_cast<unsigned>(i + 4) << 4;
  const std::uint32_t low = __byte_perm(words[0], words[1], pick);
  const std::uint32_t high = __byte_perm(words[2], words[3], pick);
  return __byte_perm(low, high, 0x5410);
}

/// The FP32 scales of one group: where a block's is, without the cases of other layouts.
struct GroupScales {
  const unsigned* values;
  std::int64_t first;  // among those of all groups
  std::int64_t rows;
  std::int64_t row_pitch;
  std::int64_t column_pitch;
  int row_shift;
  int column_shift;

  __device__ GroupScales(const QuantizedView& view, const GroupView& group)
      : values(static_cast<const unsigned*>(group.scales)),
        first(values - static_cast<const unsigned*>(view.scales)),
        rows(group.rows),
        row_pitch(group.scale_row_pitch),
        column_pitch(group.scale_column_pitch),
        row_shift(group.row_shift),
        column_shift(group.column_shift) {}
  __device__ std::int64_t index(std::int64_t row, std::int64_t column) const {
    return (row >> row_shift) * row_pitch + (column >> column_shift) * column_pitch;
  }
};

/// The four bytes of one line of a tile, which begins at row and column.
template <bool kRowwise>
__device__ __forceinline__ std::uint32_t line_word(const GroupScales& scales, std::int64_t columns,
                                                   std::int64_t row, std::int64_t column, int line,
                                                   Refusals& refusals) {
  row += kRowwise ? line : 0;
  column += kRowwise ? 0 : line;
  if (row >= scales.rows || column >= columns) return 0;
  const std::int64_t left = kRowwise ? columns - column : scales.rows - row;
  std::uint32_t word = 0;
  std::int64_t latest = -1;
  std::uint32_t byte = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (32 * i >= left) break;
    const std::int64_t index =
        scales.index(row + (kRowwise ? 0 : 32 * i), column + (kRowwise ? 32 * i : 0));
    if (index != latest) {
      latest = index;
      const std::uint32_t bits = __ldg(scales.values + index);
      byte = exact_scale_byte(bits);
      if (byte == kNoScaleByte) {
        const auto place = static_cast<std::uint64_t>(scales.first + index);
        refusals.first = min(refusals.first, place << 32 | bits);
      }
    }
    if (byte == kNoScaleByte) ++refusals.blocks;
    word |= byte << (8 * i);
  }
  return word;
}

__device__ void report(const Refusals& refusals, RefusedScales* refused) {
  const unsigned blocks = __reduce_add_sync(kFullWarp, refusals.blocks);
  if (blocks == 0) return;
  std::uint64_t first = refusals.first;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    first = min(first, static_cast<std::uint64_t>(__shfl_xor_sync(kFullWarp, first, distance)));
  }
  if (threadIdx.x % 32 != 0) return;
  atomicMin(reinterpret_cast<unsigned long long*>(&refused->first), first);
  atomicAdd(reinterpret_cast<unsigned long long*>(&refused->blocks), blocks);
}

template <bool kRowwise>
__global__ __launch_bounds__(kViewThreads) void widen_scales_kernel(
    const __grid_constant__ WidenScalesArgs args) {
  wait_for_predecessor();
  __shared__ ViewTables tables;
  const QuantizedView& view = args.quantized;
  build_view_tables(view, view.row_offsets, tables);
  const bool swizzled = args.layout == MicroScaleLayout::Swizzled;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const std::int64_t across = ceil_div(view.columns, kViewTile);
  const std::int64_t tiles = tables.strips[view.num_groups] * across;
  const std::int64_t warps = std::int64_t{gridDim.x} * kWarps;
  const std::int64_t warp = std::int64_t{blockIdx.x} * kWarps + static_cast<int>(threadIdx.x) / 32;
  Refusals refusals;
  // Adjacent tiles of a strip: a compact line's words become whole sectors in the L2.
  std::int64_t t = tiles * warp / warps;
  const std::int64_t end = tiles * (warp + 1) / warps;
  while (t < end) {
    const std::int64_t strip = t / across;
    std::int64_t bx = t - strip * across;
    const int g = warp_find_group(tables.strips, view.num_groups, strip);
    const std::int64_t strip_in_group = strip - tables.strips[g];
    const std::int64_t strips = tables.strips[g + 1] - tables.strips[g];
    const GroupScales from(
        view, view_of_group(view, tables, g, view.row_offsets[g + 1] - view.row_offsets[g]));
    std::uint8_t* const scales = args.scales + 512 * across * tables.strips[g];
    for (; t < end && bx < across; ++t, ++bx) {
      std::uint32_t words[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int line = swizzled ? lane + 32 * j : 4 * lane + j;
        words[j] = line_word<kRowwise>(from, view.columns, strip_in_group * kViewTile,
                                       bx * kViewTile, line, refusals);
      }
      if (swizzled) {
        const std::int64_t tile =
            kRowwise ? strip_in_group * across + bx : bx * strips + strip_in_group;
        *reinterpret_cast<uint4*>(scales + 512 * tile + 16 * lane) = {words[0], words[1], words[2],
                                                                      words[3]};
      } else if constexpr (kRowwise) {
        std::uint8_t* const first =
            scales + (strip_in_group * kViewTile + 4 * lane) * 4 * across + 4 * bx;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          *reinterpret_cast<std::uint32_t*>(first + j * 4 * across) = words[j];
        }
      } else {
        std::uint8_t* const first =
            scales + strip_in_group * 4 * across * kViewTile + bx * kViewTile + 4 * lane;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          *reinterpret_cast<std::uint32_t*>(first + i * across * kViewTile) =
              transposed_byte(words, i);
        }
      }
    }
  }
  report(refusals, args.refused);
}

}  // namespace

cudaError_t widen_scales(const WidenScalesArgs& args, LaunchStream stream) {
  const QuantizedView& view = args.quantized;
  if (view.num_groups < 0 || view.num_groups > kMaxGroups || view.columns <= 0 ||
      view.columns % 16 != 0 || !can_widen(view) || args.refused == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (reinterpret_cast<std::uintptr_t>(args.scales) % 16 != 0) return cudaErrorMisalignedAddress;
  const std::int64_t tiles = (ceil_div(view.capacity_rows, kViewTile) + view.num_groups) *
                             ceil_div(view.columns, kViewTile);
  // Scales are counted in 32 bits; a tile of the smallest blocks, 1 x 32, has 512.
  if (tiles > std::int64_t{UINT32_MAX} / 512) return cudaErrorInvalidValue;
  if (view.num_groups == 0 || view.capacity_rows == 0) return cudaSuccess;
  const auto kernel =
      view.direction == Direction::Rowwise ? widen_scales_kernel<true> : widen_scales_kernel<false>;
  const unsigned grid = resident_grid(kernel, tiles, 2 * kWarps);
  return launch_dependent(kernel, {.grid = grid, .threads = kViewThreads}, stream, args);
}

}  // namespace kernels
