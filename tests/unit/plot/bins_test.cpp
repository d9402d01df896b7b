// Histogram bins: edges of the magnitude bins, densities, samples in linear bins.
#include "app/gui/plot/bins.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace app::plot {
namespace {

int bin_of(float value) { return static_cast<int>(std::bit_cast<std::uint32_t>(value) >> 21U); }

TEST(MagnitudeBins, LowerEdgesAreTheSmallestValueOfTheirBin) {
  for (const float value : {1.0F, 1.25F, 1.5F, 1.75F, 448.0F, 0x1p-126F, 0x1p-127F, 0x1p-128F}) {
    EXPECT_DOUBLE_EQ(magnitude_edge_log2(bin_of(value)), std::log2(static_cast<double>(value)))
        << value;
  }
}

TEST(MagnitudeBins, EdgesAscend) {
  for (int bin = 0; bin < 1020; ++bin) {
    EXPECT_LT(magnitude_edge_log2(bin), magnitude_edge_log2(bin + 1)) << bin;
  }
}

TEST(MagnitudeBins, FindsTheBinOfAValue) {
  const engine::MagnitudeHistogram histogram{
      .first_bin = bin_of(1.0F), .counts = {1, 2, 3, 4}, .zeros = 5, .infinities = 6, .nans = 7};
  const Bins bins = magnitude_bins(histogram);
  EXPECT_EQ(bins.find(std::log2(1.6)), 2);
  EXPECT_EQ(bins.find(-0.1), -1);
  EXPECT_EQ(bins.find(1.0), -1);
  EXPECT_EQ(bins.zeros, 5U);
  EXPECT_EQ(bins.infinities, 6U);
  EXPECT_EQ(bins.nans, 7U);
  EXPECT_DOUBLE_EQ(bins.total(), 10.0);
}

TEST(MagnitudeBins, DensityOfALogUniformSampleIsFlat) {
  // Counts proportional to the width of the bin in log2: what values even in log2 would give.
  engine::MagnitudeHistogram histogram{.first_bin = bin_of(1.0F), .counts = {}};
  for (int i = 0; i < 4; ++i) {
    const double width = magnitude_edge_log2(histogram.first_bin + i + 1) -
                         magnitude_edge_log2(histogram.first_bin + i);
    histogram.counts.push_back(static_cast<std::uint64_t>(width * 1e6));
  }
  const Bins bins = magnitude_bins(histogram);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(bins.density(i), 1e6, 10.0);
}

TEST(MagnitudeBins, RangeCoversOccupiedBins) {
  const engine::MagnitudeHistogram histogram{.first_bin = bin_of(1.0F), .counts = {0, 0, 3, 0}};
  const Range range = magnitude_bins(histogram).range();
  EXPECT_DOUBLE_EQ(range.min, std::log2(1.5));
  EXPECT_DOUBLE_EQ(range.max, std::log2(1.75));
  EXPECT_TRUE(magnitude_bins({}).range().empty());
}

TEST(LinearBins, EverySampleIsCountedOnce) {
  std::vector<double> samples;
  for (int i = 0; i < 1000; ++i) samples.push_back(100.0 + i * 0.5);
  samples.push_back(std::nan(""));
  EXPECT_DOUBLE_EQ(linear_bins(samples).total(), 1000.0);
}

TEST(LinearBins, EqualSamplesGetOneBin) {
  const std::vector<double> samples(5, 42.0);
  const Bins bins = linear_bins(samples);
  EXPECT_EQ(bins.find(42.0), 0);
  EXPECT_DOUBLE_EQ(bins.counts.front(), 5.0);
}

}  // namespace
}  // namespace app::plot
