// The sentence on rows and columns, and the table of the worst.
#include "profiling/document/channel_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profiling {
namespace {

engine::ChannelProfile sample_profile() {
  engine::ChannelProfile profile;
  profile.channels = 7168;
  profile.median_amax = 3.5;
  profile.largest = {{.index = 1234, .expert = 2, .amax = 350.0, .place = 17},
                     {.index = 5, .expert = 0, .amax = 36.0, .place = 4000}};
  return profile;
}

TEST(ChannelWords, SayHowFarTheLargestIsFromTheMedian) {
  engine::ChannelProfile profile = sample_profile();
  EXPECT_EQ(channels_text(profile, ChannelAxis::Columns),
            "Column 1 234 reaches 350, 100 times the median column.");
  profile.outliers = 2;
  profile.noisiest = {{.index = 1234, .signal_share = 0.3, .noise_share = 0.8},
                      {.index = 7, .signal_share = 0.1, .noise_share = 0.03}};
  EXPECT_EQ(
      channels_text(profile, ChannelAxis::Rows),
      "Row 1 234 reaches 350, 100 times the median row; 2 of 7 168 rows reach 10 times it. 2 "
      "of 7 168 rows have 83 % of the noise and 40 % of the signal: their SNR is 8.65 dB below "
      "that of the others.");
  profile.noisiest.pop_back();
  profile.outliers = 1;
  EXPECT_EQ(channels_text(profile, ChannelAxis::Columns),
            "Column 1 234 reaches 350, 100 times the median column; 1 of 7 168 columns reaches 10 "
            "times it. 1 of 7 168 columns has 80 % of the noise and 30 % of the signal: its SNR is "
            "9.7 dB below that of the others.");
  EXPECT_EQ(channels_text({}, ChannelAxis::Columns), "");
}

TEST(ChannelWords, NoiseInProportionToTheSignalIsAUniformLoss) {
  engine::ChannelProfile profile = sample_profile();
  profile.noisiest = {{.index = 1234, .signal_share = 0.139, .noise_share = 0.143}};
  EXPECT_THAT(channels_text(profile, ChannelAxis::Columns),
              ::testing::EndsWith("1 of 7 168 columns has 14.3 % of the noise and 13.9 % of the "
                                  "signal: its SNR equals that of the others within 1 dB, so the "
                                  "loss is uniform."));
  // All of the noise, or of the signal: there is nothing to compare with.
  profile.noisiest = {{.index = 1234, .signal_share = 0.5, .noise_share = 1.0}};
  EXPECT_THAT(channels_text(profile, ChannelAxis::Columns),
              ::testing::EndsWith("100 % of the noise and 50 % of the signal."));
}

TEST(ChannelWords, TableHasThePlaceOfTheLargestElement) {
  const engine::ChannelProfile profile = sample_profile();
  const Table table = named_channels_table(profile, ChannelAxis::Columns, ChannelList::Largest);
  const std::vector<Row> rows = all_rows(table);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(shown(table.columns[0], rows[0].cells[0]), "1 234");
  EXPECT_EQ(shown(table.columns[4], rows[1].cells[4]), "4 000");
  EXPECT_EQ(rows[0].cells.size(), table.columns.size());
  // Noise means nothing without the signal, so neither is left out of a narrow view.
  EXPECT_EQ(table.columns[6].key, "noise_share");
  EXPECT_EQ(table.columns[7].key, "signal_share");
  EXPECT_EQ(table.columns[7].use, ColumnUse::Everywhere);
  EXPECT_TRUE(
      all_rows(named_channels_table(profile, ChannelAxis::Rows, ChannelList::LowestSnr)).empty());
}

}  // namespace
}  // namespace profiling
