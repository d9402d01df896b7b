#include "engine/quantize/block_error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/model/median_interval.h"
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

}  // namespace

void BlockErrors::add(const kernels::GroupedInput& input, const float* decoded) {
  const std::int64_t rows = input.row_offsets[input.num_groups];
  const std::int64_t columns = input.columns;
  const std::int64_t blocks = (columns + kErrorBlock - 1) / kErrorBlock;
  const std::size_t first = snr_db_.size();
  snr_db_.resize(first + static_cast<std::size_t>(rows * blocks));
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t begin = row * columns + block * kErrorBlock;
      const std::int64_t end = std::min(begin + kErrorBlock, (row + 1) * columns);
      snr_db_[first + static_cast<std::size_t>(row * blocks + block)] =
          block_snr_db(input, decoded, begin, end);
    }
  }
}

double BlockErrors::median_db() && {
  std::erase_if(snr_db_, [](double one) { return std::isnan(one); });
  return median_of(snr_db_);
}

}  // namespace engine
