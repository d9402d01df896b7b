#include "engine/quantize/block_error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/model/run_result.h"
#include "engine/quantize/operand_numerics.h"
#include "engine/quantize/statistics_fold.h"

namespace engine {
namespace {

/// NaN for a block of zeros.
double block_snr_db(const kernels::GroupedInput& input, const float* decoded, std::int64_t begin,
                    std::int64_t end) {
  double signal = 0;
  double noise = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const double x = element_value(input, i);
    const double error = decoded == nullptr ? 0.0 : x - static_cast<double>(decoded[i]);
    if (!std::isfinite(x) || !std::isfinite(error)) continue;
    signal += x * x;
    noise += error * error;
  }
  return signal > 0.0 ? snr_db(signal, noise) : std::numeric_limits<double>::quiet_NaN();
}

/// SNRs are counted in steps of kBlockErrorStepDb from here; FP32 elements stay far inside, and
/// what does not is counted at the nearest end.
constexpr double kLowestDb = -128.0;
constexpr std::size_t kFiniteBins = std::size_t{512} * 256;

std::size_t bin_of(double db) {
  if (std::isinf(db) && db > 0) return kFiniteBins;
  const double steps = std::floor((db - kLowestDb) / kBlockErrorStepDb);
  return static_cast<std::size_t>(std::clamp(steps, 0.0, static_cast<double>(kFiniteBins - 1)));
}

}  // namespace

void BlockErrors::add(const kernels::GroupedInput& input, const float* decoded) {
  constexpr std::int64_t kStripRows = 256;
  const std::int64_t rows = input.row_offsets[input.num_groups];
  const std::int64_t columns = input.columns;
  const std::int64_t blocks = (columns + kErrorBlock - 1) / kErrorBlock;
  counts_.resize(kFiniteBins + 1);
  std::vector<double> strip(static_cast<std::size_t>(std::min(rows, kStripRows) * blocks));
  for (std::int64_t first = 0; first < rows; first += kStripRows) {
    const std::int64_t end_row = std::min(first + kStripRows, rows);
#pragma omp parallel for schedule(static)
    for (std::int64_t row = first; row < end_row; ++row) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t begin = row * columns + block * kErrorBlock;
        const std::int64_t end = std::min(begin + kErrorBlock, (row + 1) * columns);
        strip[static_cast<std::size_t>((row - first) * blocks + block)] =
            block_snr_db(input, decoded, begin, end);
      }
    }
    for (std::int64_t i = 0; i < (end_row - first) * blocks; ++i) {
      const double db = strip[static_cast<std::size_t>(i)];
      if (std::isnan(db)) continue;
      ++counts_[bin_of(db)];
      ++blocks_;
    }
  }
}

double BlockErrors::value_of_bin(std::size_t bin) {
  if (bin == kFiniteBins) return std::numeric_limits<double>::infinity();
  return kLowestDb + (static_cast<double>(bin) + 0.5) * kBlockErrorStepDb;
}

double BlockErrors::median_db() const {
  if (blocks_ == 0) return std::numeric_limits<double>::quiet_NaN();
  // Between the middle two of an even number.
  const auto value_at = [&](std::uint64_t rank) {
    std::uint64_t below = 0;
    std::size_t bin = 0;
    while ((below += counts_[bin]) <= rank) ++bin;
    return value_of_bin(bin);
  };
  return (value_at((blocks_ - 1) / 2) + value_at(blocks_ / 2)) / 2.0;
}

}  // namespace engine
