#include "engine/quantize/scale_folder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace engine {

ScaleFolder::ScaleFolder(ScaleMap geometry, bool with_losses)
    : map_(std::move(geometry)), with_losses_(with_losses) {
  map_.rows = static_cast<int>(std::min<std::int64_t>(map_.source_rows, kScaleMapCells));
  map_.columns = static_cast<int>(std::min<std::int64_t>(map_.source_columns, kScaleMapCells));
  const auto cells = static_cast<std::size_t>(map_.rows) * static_cast<std::size_t>(map_.columns);
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  cells_.resize(cells);
  map_.maximum.assign(cells, kNone);
  map_.minimum.assign(cells, kNone);
}

void ScaleFolder::add_exponent(float exponent, Cell& cell) {
  if (cell.scales == 0) cell.pivot = exponent;
  const double distance = static_cast<double>(exponent) - static_cast<double>(cell.pivot);
  cell.sum += distance;
  cell.squares += distance * distance;
  ++cell.scales;
}

double ScaleFolder::mean(const Cell& cell) {
  return static_cast<double>(cell.pivot) + cell.sum / static_cast<double>(cell.scales);
}

double ScaleFolder::deviation(const Cell& cell) {
  const auto scales = static_cast<double>(cell.scales);
  const double mean = cell.sum / scales;
  return std::sqrt(std::max(0.0, cell.squares / scales - mean * mean));
}

void ScaleFolder::add(const FoldedScale& scale) {
  const auto index =
      static_cast<std::size_t>(scale.row * map_.rows / map_.source_rows * map_.columns +
                               scale.column * map_.columns / map_.source_columns);
  Cell& cell = cells_[index];
  cell.elements += scale.elements;
  cell.saturated += scale.losses.saturated;
  cell.underflowed += scale.losses.underflowed;
  map_.summary.saturated += scale.losses.saturated > 0 ? 1 : 0;
  map_.summary.underflowed += scale.losses.underflowed > 0 ? 1 : 0;
  if (!std::isfinite(scale.scale_inv) || scale.scale_inv <= 0.0F) return;
  const float exponent = std::log2(scale.scale_inv);
  // NaN, which the first scale of a cell meets here, is never above or below.
  map_.maximum[index] = std::fmax(map_.maximum[index], exponent);
  map_.minimum[index] = std::fmin(map_.minimum[index], exponent);
  add_exponent(exponent, cell);
  add_exponent(exponent, all_);
  distinct_.insert(std::bit_cast<std::uint32_t>(scale.scale_inv));
}

ScaleMap ScaleFolder::take() {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  for (const Cell& cell : cells_) {
    map_.mean.push_back(cell.scales > 0 ? static_cast<float>(mean(cell)) : kNone);
    map_.deviation.push_back(cell.scales > 0 ? static_cast<float>(deviation(cell)) : kNone);
    if (!with_losses_) continue;
    const auto share = [&cell](std::uint64_t count) {
      return cell.elements > 0 ? static_cast<float>(static_cast<double>(count) /
                                                    static_cast<double>(cell.elements))
                               : kNone;
    };
    map_.saturated_share.push_back(share(cell.saturated));
    map_.underflowed_share.push_back(share(cell.underflowed));
  }
  map_.summary.scales = static_cast<std::uint64_t>(all_.scales);
  map_.summary.distinct = distinct_.size();
  if (all_.scales > 0) {
    map_.summary.mean = mean(all_);
    map_.summary.deviation = deviation(all_);
  }
  return std::move(map_);
}

}  // namespace engine
