// Folding of rows and columns: what a reader is to find in thousands of them is in their few cells
// and names.
#include "engine/quantize/channel_fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/model/values.h"

namespace engine {
namespace {

using kernels::ChannelSums;
using testing::ElementsAre;

ChannelSums channel(float amax, std::uint32_t place, double signal = 1.0, double noise = 0.01) {
  return {
      .signal = signal,
      .noise = noise,
      .largest = kernels::LargestElement::packed(std::bit_cast<std::uint32_t>(amax) + 1, place)};
}

std::vector<std::int64_t> numbers(const std::vector<Channel>& channels) {
  std::vector<std::int64_t> numbers;
  for (const Channel& one : channels) numbers.push_back(one.index);
  return numbers;
}

TEST(FoldChannels, AnOutlierIsNamedAndShowsInItsCell) {
  // 3 columns a cell; one is 60 times the others and has half of all noise.
  std::vector<ChannelSums> columns(1536, channel(2.0F, 0));
  columns[1234] = channel(120.0F, 70, 3600.0, 1535 * 0.01);
  columns[1234].saturated = 25;
  const std::vector<ChannelSums> rows(100, channel(1.0F, 1234));
  const std::vector<std::int64_t> splits = {0, 64, 0, 36};
  const ChannelStatistics folded = fold_channels(columns, rows, splits);
  EXPECT_TRUE(folded.flaw().empty());
  EXPECT_DOUBLE_EQ(folded.signal, 1535 + 3600);
  const ChannelProfile& profile = folded.columns;
  EXPECT_EQ(profile.channels, 1536);
  EXPECT_EQ(profile.median_amax, 2.0);
  EXPECT_EQ(profile.outliers, 1);
  ASSERT_EQ(profile.cells(), 512U);
  EXPECT_EQ(profile.amax[1234 / 3], 120.0F);
  EXPECT_EQ(profile.amax[1234 / 3 + 1], 2.0F);
  EXPECT_EQ(profile.saturated_share[1234 / 3], 0.25F) << "of its own elements, not of the cell's";
  EXPECT_FLOAT_EQ(profile.snr_db[0], 20.0F);
  EXPECT_EQ(profile.first_channel(1234 / 3), 1233);
  ASSERT_EQ(profile.largest.size(), kMaxNamedChannels);
  const Channel& worst = profile.largest.front();
  EXPECT_EQ(worst.index, 1234);
  EXPECT_EQ(worst.amax, 120.0);
  EXPECT_EQ(worst.place, 70);
  EXPECT_EQ(worst.expert, 3) << "whose row 70 is";
  EXPECT_EQ(worst.saturated, 25U);
  EXPECT_DOUBLE_EQ(worst.signal_share, 3600.0 / 5135.0);
  EXPECT_NEAR(worst.noise_share, 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(worst.snr_db, 10.0 * std::log10(3600.0 / 15.35));
  EXPECT_EQ(profile.over_median(worst), 60.0);
  EXPECT_EQ(profile.noisiest.front().index, 1234);
  EXPECT_EQ(profile.lowest_snr.front().index, 0) << "of equal ones the first";
  EXPECT_EQ(profile.largest[1].index, 0);
  EXPECT_EQ(folded.rows.largest[0].place, 1234);
  EXPECT_EQ(folded.rows.largest[0].expert, 1) << "the empty expert 0 has no row";
}

TEST(FoldChannels, ListsGoFromTheWorstOn) {
  const std::vector<ChannelSums> columns = {
      channel(1.0F, 0, 100.0, 1.0), channel(5.0F, 0, 1.0, 0.5), channel(3.0F, 0, 9.0, 0.0),
      channel(0.0F, 0, 0.0, 0.0), ChannelSums{.undefined = 1}};
  const std::vector<ChannelSums> rows(1);
  const std::vector<std::int64_t> splits = {1};
  const ChannelProfile profile = fold_channels(columns, rows, splits).columns;
  EXPECT_THAT(numbers(profile.largest), ElementsAre(1, 2, 0)) << "the others have no size";
  EXPECT_THAT(numbers(profile.noisiest), ElementsAre(0, 1));
  EXPECT_THAT(numbers(profile.lowest_snr), ElementsAre(1, 0));
  EXPECT_EQ(profile.median_amax, 3.0);
  EXPECT_EQ(profile.cells(), 5U);
  EXPECT_EQ(profile.amax[3], 0.0F);
  EXPECT_TRUE(std::isnan(profile.amax[4])) << "no element is finite";
  EXPECT_TRUE(std::isnan(profile.snr_db[4]));
  EXPECT_EQ(profile.snr_db[2], std::numeric_limits<float>::infinity());
}

TEST(FoldChannels, WithoutRowsThereIsNothing) {
  const std::vector<ChannelSums> columns(32);
  const std::vector<std::int64_t> splits = {0, 0};
  const ChannelStatistics folded = fold_channels(columns, {}, splits);
  EXPECT_TRUE(folded.flaw().empty());
  EXPECT_EQ(folded.rows.cells(), 0U);
  EXPECT_EQ(folded.columns.cells(), 32U);
  EXPECT_TRUE(folded.columns.largest.empty());
  EXPECT_TRUE(std::isnan(folded.columns.median_amax));
}

TEST(FoldChannels, CellsHaveEveryChannelOnce) {
  for (const std::size_t count : {1U, 2U, 511U, 512U, 513U, 1000U, 16384U}) {
    SCOPED_TRACE(count);
    const std::vector<ChannelSums> columns(count, channel(1.0F, 0));
    const std::vector<ChannelSums> rows(1, channel(1.0F, 0));
    const std::vector<std::int64_t> splits = {1};
    const ChannelProfile profile = fold_channels(columns, rows, splits).columns;
    EXPECT_EQ(profile.first_channel(0), 0);
    EXPECT_EQ(profile.first_channel(profile.cells()), static_cast<std::int64_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t cell = i * profile.cells() / count;
      ASSERT_LE(profile.first_channel(cell), static_cast<std::int64_t>(i));
      ASSERT_GT(profile.first_channel(cell + 1), static_cast<std::int64_t>(i));
    }
  }
}

ChannelStatistics small_statistics() {
  const std::vector<ChannelSums> columns(4, channel(1.0F, 1));
  const std::vector<ChannelSums> rows(2, channel(1.0F, 3));
  const std::vector<std::int64_t> splits = {2};
  return fold_channels(columns, rows, splits);
}

/// What a recording or a worker may say.
TEST(ChannelFlaws, NameWhatDoesNotFit) {
  const auto flaw_of = [](const auto& change) {
    ChannelStatistics statistics = small_statistics();
    EXPECT_TRUE(validate(statistics).ok());
    change(statistics);
    const Status status = validate(statistics);
    return status.ok() ? std::string() : status.error().message;
  };
  using testing::HasSubstr;
  EXPECT_THAT(flaw_of([](auto& s) { s.columns.snr_db.pop_back(); }), HasSubstr("has 4 cells"));
  EXPECT_THAT(flaw_of([](auto& s) { s.columns.channels = 3; }), HasSubstr("is 3, in 4 cells"));
  EXPECT_THAT(flaw_of([](auto& s) { s.rows.largest[0].index = 2; }), HasSubstr("number 2"));
  EXPECT_THAT(flaw_of([](auto& s) { s.rows.largest[0].place = 4; }), HasSubstr("below 4"));
  EXPECT_THAT(flaw_of([](auto& s) { s.columns.noisiest[1].place = 2; }), HasSubstr("below 2"));
  EXPECT_THAT(flaw_of([](auto& s) { s.columns.lost_share[0] = 1.5F; }), HasSubstr("0 to 1"));
  EXPECT_THAT(flaw_of([](auto& s) { s.columns.largest[0].noise_share = 2.0; }),
              HasSubstr("noise_share"));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double median : {-1.0, 0.0, kInfinity}) {
    EXPECT_THAT(flaw_of([=](auto& s) { s.columns.median_amax = median; }), HasSubstr("above 0"));
  }
  EXPECT_THAT(flaw_of([](auto& s) { s.rows.amax[0] = std::numeric_limits<float>::infinity(); }),
              HasSubstr("finite"));
  EXPECT_THAT(flaw_of([](auto& s) {
                s.rows.outliers = 1;
                s.rows.median_amax = std::nan("");
              }),
              HasSubstr("no median"));
  EXPECT_THAT(flaw_of([](auto& s) { s.signal = kInfinity; }), HasSubstr("finite"));
  EXPECT_THAT(flaw_of([](auto& s) { s.rows.outliers = 3; }), HasSubstr("there are 2 channels"));
  EXPECT_THAT(flaw_of([](auto& s) { s.noise = std::nan(""); }), HasSubstr("sum of squares"));
  EXPECT_THAT(flaw_of([](auto& s) { s.rows.largest.resize(17); }), HasSubstr("at most 16"));
}

}  // namespace
}  // namespace engine
