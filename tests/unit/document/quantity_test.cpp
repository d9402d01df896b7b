// Figures at the borders of their units: the unit is chosen after rounding.
#include "profiling/document/quantity.h"

#include <gtest/gtest.h>

#include "profiling/document/algorithm_text.h"

namespace profiling {
namespace {

TEST(Quantity, RatesHaveNoExponentAtTheBordersOfTheirUnits) {
  EXPECT_EQ(byte_rate_text(9.84e9), "9.84 GB/s");
  EXPECT_EQ(byte_rate_text(999.4e9), "999 GB/s");
  EXPECT_EQ(byte_rate_text(999.6e9), "1 TB/s");
  EXPECT_EQ(byte_rate_text(3.62e12), "3.62 TB/s");
  EXPECT_EQ(flop_rate(999.94e9).text(), "999.9 GFLOP/s");
  EXPECT_EQ(flop_rate(999.96e9).text(), "1.000 TFLOP/s");
  EXPECT_EQ(flop_rate(50e12).text(), "50.00 TFLOP/s");
}

TEST(Quantity, CountsHaveNoExponentAtTheBordersOfTheirPrefixes) {
  EXPECT_EQ(si_text(999.4), "999");
  EXPECT_EQ(si_text(999.6), "1k");
  EXPECT_EQ(si_text(999'600.0), "1M");
  EXPECT_EQ(si_text(1'234'567.0), "1.23M");
  EXPECT_EQ(si_text(2e15), "2P");
  EXPECT_EQ(flop_text(999.6e12), "1 PFLOP");
  EXPECT_EQ(bytes_text(1'048'575), "1.0 MiB");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  // Beside "1001.0 MiB" the ratio of 1.28 follows from the figures.
  EXPECT_EQ(bytes_text(1'342'177'280), "1.25 GiB");
  EXPECT_EQ(bytes_text(13'421'772'800), "12.5 GiB");
}

TEST(AlgorithmText, ComparesOnlySeveral) {
  engine::AlgorithmChoice choice{.candidates = 1, .chosen = 0, .first_us = 4, .chosen_us = 4};
  EXPECT_EQ(algorithm_text(choice), "4.000 \u00b5s, the only algorithm that cuBLASLt offers");
  choice.candidates = 4;
  EXPECT_EQ(algorithm_text(choice), "4.000 \u00b5s, the first of 4 is the fastest");
  choice.chosen = 2;
  choice.chosen_us = 3;
  EXPECT_EQ(algorithm_text(choice),
            "4.000 \u00b5s \u2192 3.000 \u00b5s, 25.0 % less (number 3 of 4)");
  choice.candidates = 0;
  EXPECT_EQ(algorithm_text(choice), "the library's first choice, not timed");
}

}  // namespace
}  // namespace profiling
