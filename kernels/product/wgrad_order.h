// Which tile of D a cluster of thread blocks computes when.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/common/types.h"
#include "kernels/product/quick_division.h"
#include "kernels/product/wgrad_tile.h"

namespace kernels {

/// Tiles are numbered group by group, and in a group by bands of kBand rows of tiles, column by
/// column: what runs at the same time shares lines of both operands in L2. A unit is what a cluster
/// computes at a time: kWgradCluster tiles of one row.
class WgradOrder {
 public:
  static constexpr int kBand = 10;

  /// Position of a unit: the groups in the order of their length, and where in D.
  struct Place {
    int rank = 0;  // 0 = the group with the most rows
    int tile_row = 0;
    int first_tile_column = 0;
  };

  WgradOrder() = default;
  WgradOrder(std::int64_t n, std::int64_t k, int groups)
      : tile_rows_(static_cast<int>(ceil_div(n, kWgradTileRows))) {
    const auto units_per_row = static_cast<int>(ceil_div(k, kWgradTileColumns * kWgradCluster));
    units_ = std::int64_t{tile_rows_} * units_per_row * groups;
    per_group_ = QuickDivision(static_cast<std::uint32_t>(tile_rows_ * units_per_row));
    per_band_ = QuickDivision(static_cast<std::uint32_t>(kBand * units_per_row));
    band_ = QuickDivision(kBand);
    const int rest = tile_rows_ % kBand;
    last_band_ = QuickDivision(static_cast<std::uint32_t>(rest == 0 ? kBand : rest));
  }

  KERNELS_HOST_DEVICE std::int64_t units() const { return units_; }

  /// Unit of `cluster` in its turn `turn`, of `clusters` in all; may be units() or more. Every
  /// other turn goes backwards: groups get shorter, and so the clusters' work stays even.
  KERNELS_HOST_DEVICE static std::int64_t unit(int turn, int cluster, int clusters) {
    const int place = turn % 2 == 0 ? cluster : clusters - 1 - cluster;
    return std::int64_t{turn} * clusters + place;
  }

  KERNELS_HOST_DEVICE Place place(std::int64_t unit) const {
    const auto number = static_cast<std::uint32_t>(unit);
    const std::uint32_t rank = per_group_.quotient(number);
    const std::uint32_t in_group = number - rank * per_group_.divisor();
    const std::uint32_t band = per_band_.quotient(in_group);
    const std::uint32_t in_band = in_group - band * per_band_.divisor();
    const std::uint32_t first_row = band * kBand;
    const bool whole = static_cast<int>(first_row) + kBand <= tile_rows_;
    const QuickDivision& height = whole ? band_ : last_band_;
    const std::uint32_t column = height.quotient(in_band);
    return {.rank = static_cast<int>(rank),
            .tile_row = static_cast<int>(first_row + in_band - column * height.divisor()),
            .first_tile_column = static_cast<int>(column) * static_cast<int>(kWgradCluster)};
  }

 private:
  std::int64_t units_ = 0;
  int tile_rows_ = 0;
  QuickDivision per_group_;
  QuickDivision per_band_;
  QuickDivision band_;
  QuickDivision last_band_;
};

}  // namespace kernels
