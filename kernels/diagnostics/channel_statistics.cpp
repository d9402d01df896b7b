// Strips of rows are measured in parallel, tile by tile, so that the sums of a tile's columns stay
// in the first cache; then the strips of a batch are added up in their order.
#include "kernels/diagnostics/channel_statistics.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "kernels/common/element_run.h"
#include "kernels/diagnostics/row_tasks.h"

namespace kernels {
namespace {

constexpr auto kTile = static_cast<std::size_t>(kChannelTile);
constexpr auto kStrip = static_cast<std::size_t>(kChannelStripRows);
constexpr int kBlocksPerTile = static_cast<int>(kChannelTile) / kErrorBlock;

void add_counts(std::uint32_t packed, ChannelSums& sums) {
  sums.underflowed += packed & kCountMask;
  sums.lost += packed >> kCountBits & kCountMask;
  sums.undefined += packed >> (2 * kCountBits);
}

// Tiles whose rows are read together: long enough runs of memory, and sums that stay in a cache
// (cpu_statistics_bench).
constexpr std::int64_t kTilesTogether = 8;

/// The columns of a tile over the rows of a strip so far.
struct TileColumns {
  alignas(64) std::array<double, kTile> signal{};
  alignas(64) std::array<double, kTile> noise{};
  alignas(64) std::array<std::uint32_t, kTile> rank{};  // of LargestElement
  alignas(64) std::array<std::uint32_t, kTile> row{};   // of the largest element, in the strip
  alignas(64) std::array<std::uint32_t, kTile> counts{};
};

/// Squares of a tile's part of one row, 0 beyond the last column.
struct TileSquares {
  alignas(64) std::array<double, kTile> signal{};
  alignas(64) std::array<double, kTile> noise{};
};

/// A row's part in a tile.
struct RowPart {
  std::uint32_t rank = 0;   // the largest
  std::uint32_t place = 0;  // the first one of this rank, from the tile's left
  std::uint32_t counts = 0;
};

struct TileRow {
  const float* x = nullptr;
  const float* decoded = nullptr;
  int count = 0;
  std::uint32_t row = 0;  // in the strip
};

KERNELS_VECTOR_CLONES
RowPart add_row(const TileRow& part, TileColumns& columns, TileSquares& squares) {
  const float* const x = part.x;
  const float* const decoded = part.decoded;
  const std::uint32_t row = part.row;
  std::uint32_t largest = 0;
  std::uint32_t all_counts = 0;
#pragma omp simd reduction(max : largest) reduction(+ : all_counts)
  for (int i = 0; i < part.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::uint32_t x_bits = std::bit_cast<std::uint32_t>(x[i]) & 0x7FFFFFFFU;
    const std::uint32_t y_bits = std::bit_cast<std::uint32_t>(decoded[i]) & 0x7FFFFFFFU;
    const float error = x[i] - decoded[i];
    const bool x_finite = x_bits < 0x7F800000U;
    const bool y_finite = y_bits < 0x7F800000U;
    const bool counts = (std::bit_cast<std::uint32_t>(error) & 0x7FFFFFFFU) < 0x7F800000U;
    const double value = counts ? x[i] : 0.0F;
    const double difference = counts ? error : 0.0F;
    const double signal = value * value;
    const double noise = difference * difference;
    squares.signal[at] = signal;
    squares.noise[at] = noise;
    columns.signal[at] += signal;
    columns.noise[at] += noise;
    const std::uint32_t rank = x_finite ? x_bits + 1U : 0U;
    const bool larger = rank > columns.rank[at];
    columns.rank[at] = larger ? rank : columns.rank[at];
    columns.row[at] = larger ? row : columns.row[at];
    largest = rank > largest ? rank : largest;
    const std::uint32_t packed = (x_finite & (x_bits != 0) & (y_bits == 0) ? 1U : 0U) +
                                 (x_finite & !y_finite ? 1U << kCountBits : 0U) +
                                 (x_finite ? 0U : 1U << (2 * kCountBits));
    columns.counts[at] += packed;
    all_counts += packed;
  }
  std::uint32_t place = kChannelTile;
#pragma omp simd reduction(min : place)
  for (int i = 0; i < part.count; ++i) {
    const std::uint32_t x_bits = std::bit_cast<std::uint32_t>(x[i]) & 0x7FFFFFFFU;
    const std::uint32_t here =
        x_bits + 1U == largest ? static_cast<std::uint32_t>(i) : kChannelTile;
    place = here < place ? here : place;
  }
  return {.rank = largest, .place = place, .counts = all_counts};
}

/// out[i] = in[2 i] + in[2 i + 1].
[[gnu::always_inline]] inline void add_pairs(const double* __restrict in, int pairs,
                                             double* __restrict out) {
#pragma omp simd
  for (int i = 0; i < pairs; ++i) out[i] = in[2 * i] + in[2 * i + 1];
}

struct TileTree {
  alignas(64) std::array<double, kBlocksPerTile> blocks{};
  double sum = 0.0;
};

KERNELS_VECTOR_CLONES
void add_up(const std::array<double, kTile>& values, TileTree& tree) {
  alignas(64) double first[kTile / 2];
  alignas(64) double second[kTile / 4];
  static_assert(kErrorBlock == 16);
  add_pairs(values.data(), 128, first);
  add_pairs(first, 64, second);
  add_pairs(second, 32, first);
  add_pairs(first, 16, tree.blocks.data());
  add_pairs(tree.blocks.data(), 8, first);
  add_pairs(first, 4, second);
  add_pairs(second, 2, first);
  tree.sum = first[0] + first[1];
}

/// The rows of a strip in a tile.
struct TileRows {
  std::array<double, kStrip> signal;
  std::array<double, kStrip> noise;
  std::array<std::uint64_t, kStrip> largest;
  std::array<std::uint32_t, kStrip> counts;
};

/// A tile of a strip. Not initialised as a whole: reset() and the rows measured do that.
struct TileResult {
  TileColumns columns;
  TileRows rows;
  std::array<int, kStrip * kBlocksPerTile> bins;
  std::size_t bin_count;

  void reset() {
    columns = {};
    bin_count = 0;
  }
};

class Measure {
 public:
  explicit Measure(const ChannelStatisticsArgs& args)
      : args_(args), tiles_(ceil_div(args.input.columns, kChannelTile)) {}

  std::int64_t tiles() const { return tiles_; }

  /// Tiles [first, first + kTilesTogether) of a strip.
  void tiles_of(const RowTask& strip, std::int64_t first, TileResult* of_strip) const {
    const std::int64_t end = std::min(first + kTilesTogether, tiles_);
    for (std::int64_t tile = first; tile < end; ++tile) of_strip[tile].reset();
    TileSquares squares;
    for (std::int64_t row = strip.first_row; row < strip.last_row; ++row) {
      for (std::int64_t tile = first; tile < end; ++tile) {
        if (row + 1 < strip.last_row) fetch_ahead(element_of(strip, row + 1, tile), width(tile));
        add_tile_row(strip, row, tile, squares, of_strip[tile]);
      }
    }
  }

  /// The columns of one tile in one strip, to those above.
  void add_columns(const RowTask& strip, std::int64_t tile, const TileColumns& part) const {
    const auto first_row = static_cast<std::uint32_t>(
        args_.first_row + args_.input.row_offsets[strip.group] + strip.first_row);
    ChannelSums* const columns = args_.columns + tile * kChannelTile;
    for (int i = 0; i < width(tile); ++i) {
      const auto at = static_cast<std::size_t>(i);
      ChannelSums& column = columns[i];
      column.signal += part.signal[at];
      column.noise += part.noise[at];
      column.largest =
          std::max(column.largest, LargestElement::packed(part.rank[at], first_row + part.row[at]));
      add_counts(part.counts[at], column);
    }
  }

  /// All rows of a strip.
  void add_rows(const RowTask& strip, const TileResult* of_strip) const {
    ChannelSums* const rows = args_.rows + args_.input.row_offsets[strip.group] + strip.first_row;
    for (std::int64_t tile = 0; tile < tiles_; ++tile) {
      const TileRows& part = of_strip[tile].rows;
      for (std::int64_t row = 0; row < strip.last_row - strip.first_row; ++row) {
        const auto at = static_cast<std::size_t>(row);
        rows[row].signal += part.signal[at];
        rows[row].noise += part.noise[at];
        rows[row].largest = std::max(rows[row].largest, part.largest[at]);
        add_counts(part.counts[at], rows[row]);
      }
    }
  }

 private:
  int width(std::int64_t tile) const {
    return static_cast<int>(std::min(kChannelTile, args_.input.columns - tile * kChannelTile));
  }
  std::int64_t element_of(const RowTask& strip, std::int64_t row, std::int64_t tile) const {
    return (args_.input.row_offsets[strip.group] + row) * args_.input.columns + tile * kChannelTile;
  }

  /// The next row is too far away for the prefetchers.
  void fetch_ahead(std::int64_t first, int count) const {
    constexpr std::int64_t kLine = 64;
    const auto fetch = [&](const void* values, std::int64_t element_bytes) {
      const char* const bytes = static_cast<const char*>(values) + first * element_bytes;
      for (std::int64_t at = 0; at < count * element_bytes; at += kLine) {
        __builtin_prefetch(bytes + at);
      }
    };
    fetch(args_.input.input, args_.input.type == InputType::Fp32 ? 4 : 2);
    if (args_.decoded != nullptr) fetch(args_.decoded, sizeof(float));
  }

  void add_tile_row(const RowTask& strip, std::int64_t row, std::int64_t tile, TileSquares& squares,
                    TileResult& result) const {
    const std::int64_t first = element_of(strip, row, tile);
    const auto at = static_cast<std::size_t>(row - strip.first_row);
    alignas(64) std::array<float, kTile> x;
    const TileRow part{.x = x.data(),
                       .decoded = args_.decoded == nullptr ? x.data() : args_.decoded + first,
                       .count = width(tile),
                       .row = static_cast<std::uint32_t>(at)};
    widen_run(
        {.input = args_.input.input, .type = args_.input.type, .first = first, .count = part.count},
        x.data());
    const RowPart of_row = add_row(part, result.columns, squares);
    std::fill(squares.signal.begin() + part.count, squares.signal.end(), 0.0);
    std::fill(squares.noise.begin() + part.count, squares.noise.end(), 0.0);
    TileTree signal;
    TileTree noise;
    add_up(squares.signal, signal);
    add_up(squares.noise, noise);
    for (std::size_t block = 0; block < kBlocksPerTile; ++block) {
      const BlockErrorSums sums{.signal = signal.blocks[block], .noise = noise.blocks[block]};
      if (const int bin = sums.bin(); bin >= 0) result.bins[result.bin_count++] = bin;
    }
    result.rows.signal[at] = signal.sum;
    result.rows.noise[at] = noise.sum;
    result.rows.counts[at] = of_row.counts;
    result.rows.largest[at] = LargestElement::packed(
        of_row.rank, static_cast<std::uint32_t>(tile * kChannelTile) + of_row.place);
  }

  const ChannelStatisticsArgs& args_;
  std::int64_t tiles_;
};

}  // namespace

void channel_statistics_cpu(const ChannelStatisticsArgs& args) {
  const GroupedInput& input = args.input;
  const std::vector<RowTask> strips = row_tasks(input.row_offsets, input.num_groups, input.columns,
                                                kChannelStripRows * input.columns);
  const Measure measure(args);
  const std::int64_t tiles = measure.tiles();
  const std::int64_t parts = ceil_div(tiles, kTilesTogether);
  if (strips.empty() || tiles == 0) return;
  // Enough strips for all threads, in memory that does not grow with the operand.
  constexpr std::int64_t kMostBytes = std::int64_t{32} << 20;
  const std::int64_t fitting =
      std::max<std::int64_t>(kMostBytes / (tiles * std::int64_t{sizeof(TileResult)}), 1);
  const std::int64_t batch =
      std::min({std::ssize(strips), 2 * std::int64_t{omp_get_max_threads()}, fitting});
  const auto results =
      std::make_unique_for_overwrite<TileResult[]>(static_cast<std::size_t>(batch * tiles));
  for (std::int64_t first = 0; first < std::ssize(strips); first += batch) {
    const std::int64_t count = std::min(batch, std::ssize(strips) - first);
    const RowTask* const own = strips.data() + first;
#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
      for (std::int64_t task = 0; task < count * parts; ++task) {
        const std::int64_t strip = task / parts;
        measure.tiles_of(own[strip], task % parts * kTilesTogether,
                         &results[static_cast<std::size_t>(strip * tiles)]);
      }
      if (args.columns != nullptr) {
#pragma omp for schedule(static) nowait
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
          for (std::int64_t strip = 0; strip < count; ++strip) {
            measure.add_columns(own[strip], tile,
                                results[static_cast<std::size_t>(strip * tiles + tile)].columns);
          }
        }
#pragma omp for schedule(static) nowait
        for (std::int64_t strip = 0; strip < count; ++strip) {
          measure.add_rows(own[strip], &results[static_cast<std::size_t>(strip * tiles)]);
        }
      }
#pragma omp single
      for (std::int64_t i = 0; i < count * tiles; ++i) {
        const TileResult& result = results[static_cast<std::size_t>(i)];
        for (std::size_t bin = 0; bin < result.bin_count; ++bin) {
          ++args.block_counts[result.bins[bin]];
        }
      }
    }
  }
}

}  // namespace kernels
