// Counting loop of the magnitude histogram, and the counts of a plain array.
#include "kernels/diagnostics/magnitude_histogram.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "kernels/common/element_run.h"

namespace kernels {

namespace {

constexpr std::uint32_t kInfinityBits = 0x7F800000U;
constexpr int kFirstNonFiniteBin = static_cast<int>(kInfinityBits >> 21);
constexpr std::int64_t kFoldAfter = std::int64_t{1} << 31;

struct SpecialCounts {
  std::uint32_t zeros = 0;
  std::uint32_t infinities = 0;
};

KERNELS_VECTOR_CLONES
SpecialCounts count_special(const float* values, std::int64_t count) {
  std::uint32_t zeros = 0;
  std::uint32_t infinities = 0;
#pragma omp simd reduction(+ : zeros, infinities)
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFFU;
    zeros += magnitude == 0 ? 1U : 0U;
    infinities += magnitude == kInfinityBits ? 1U : 0U;
  }
  return {.zeros = zeros, .infinities = infinities};
}

std::size_t bin_of(float value) {
  // The left shift drops the sign.
  return (std::bit_cast<std::uint32_t>(value) << 1) >> 22;
}

}  // namespace

void MagnitudeHistogram::add(const float* values, std::int64_t count) {
  if (recent_count_ + count > kFoldAfter) fold();
  recent_count_ += count;
  const SpecialCounts special = count_special(values, count);
  zeros_ += special.zeros;
  infinities_ += special.infinities;
  std::int64_t i = 0;
  for (; i + kTables <= count; i += kTables) {
    ++recent_[0][bin_of(values[i])];
    ++recent_[1][bin_of(values[i + 1])];
    ++recent_[2][bin_of(values[i + 2])];
    ++recent_[3][bin_of(values[i + 3])];
  }
  for (; i < count; ++i) ++recent_[0][bin_of(values[i])];
}

void MagnitudeHistogram::fold() {
  for (auto& table : recent_) {
    for (std::size_t bin = 0; bin < table.size(); ++bin) total_[bin] += table[bin];
    table.fill(0);
  }
  recent_count_ = 0;
}

void MagnitudeHistogram::flush(MagnitudeCounts& counts) {
  fold();
  for (int bin = 0; bin < kFirstNonFiniteBin; ++bin) {
    counts.bins[bin] += total_[static_cast<std::size_t>(bin)];
  }
  // Zeros share bin 0 with the smallest subnormals, infinities share the last bins with NaNs.
  counts.bins[0] -= zeros_;
  counts.zeros += zeros_;
  std::uint64_t non_finite = 0;
  for (int bin = kFirstNonFiniteBin; bin < kMagnitudeBins; ++bin) {
    non_finite += total_[static_cast<std::size_t>(bin)];
  }
  counts.infinities += infinities_;
  counts.nans += non_finite - infinities_;
  total_.fill(0);
  zeros_ = infinities_ = 0;
}

void magnitude_counts_cpu(const float* values, std::int64_t count, MagnitudeCounts& counts) {
  constexpr std::int64_t kElementsPerTask = 1 << 16;
  const std::int64_t tasks = ceil_div(count, kElementsPerTask);
  if (tasks <= 0) return;
  const int threads = static_cast<int>(std::min<std::int64_t>(tasks, omp_get_max_threads()));
#pragma omp parallel num_threads(threads)
  {
    const auto histogram = std::make_unique<MagnitudeHistogram>();
#pragma omp for schedule(dynamic)
    for (std::int64_t task = 0; task < tasks; ++task) {
      const std::int64_t first = task * kElementsPerTask;
      histogram->add(values + first, std::min(kElementsPerTask, count - first));
    }
#pragma omp critical(magnitude_counts)
    histogram->flush(counts);
  }
}

}  // namespace kernels
