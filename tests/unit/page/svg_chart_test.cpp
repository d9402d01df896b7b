#include "app/page/svg_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/unit/page/count.h"

namespace app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SvgChart, HasABarPerFiniteValue) {
  const std::string chart = bar_chart(std::vector<double>{1, NAN, 3, INFINITY}, "dB");
  EXPECT_EQ(count(chart, "<rect"), 2U);
  EXPECT_THAT(chart, HasSubstr(">3 dB<"));
  EXPECT_THAT(chart, HasSubstr(">0 dB<"));
  EXPECT_THAT(chart, Not(HasSubstr("nan")));
  EXPECT_THAT(chart, Not(HasSubstr("inf")));
}

TEST(SvgChart, NothingFiniteIsNoChart) {
  EXPECT_EQ(bar_chart({}, ""), "");
  EXPECT_EQ(bar_chart(std::vector<double>{NAN, INFINITY}, ""), "");
  EXPECT_EQ(line_chart(std::vector<double>{NAN}, ""), "");
  EXPECT_EQ(histogram_chart({}, {}, 4), "");
}

TEST(SvgChart, ALongSeriesKeepsItsExtremes) {
  std::vector<double> values(100'000, 5.0);
  values[77'777] = 9;
  values[3] = 1;
  const std::string chart = line_chart(values, "ns");
  EXPECT_LT(chart.size(), 30'000U);
  EXPECT_THAT(chart, HasSubstr(">9 ns<"));
  EXPECT_THAT(chart, HasSubstr(">1 ns<"));
}

TEST(SvgChart, EqualValuesAndExtremesAreDrawn) {
  EXPECT_THAT(line_chart(std::vector<double>{2, 2}, ""),
              AllOf(HasSubstr("<polyline"), HasSubstr(">2<"), HasSubstr(">3<")));
  EXPECT_THAT(line_chart(std::vector<double>{1e17, 1e17}, ""),
              AllOf(HasSubstr("<polyline"), Not(HasSubstr("nan"))));
  EXPECT_THAT(bar_chart(std::vector<double>{-1e308, 1e308}, ""), Not(HasSubstr("nan")));
}

TEST(SvgChart, AHistogramNamesItsRangeAndItsLargestCount) {
  const std::vector<double> before{1, 1000, 10};
  const std::vector<double> after{0, 5, 0};
  const std::string chart = histogram_chart({-8, before}, {-8, after}, 4);
  EXPECT_THAT(chart, HasSubstr(">2^-2<"));
  EXPECT_THAT(chart, HasSubstr(">2^-1.25<"));
  EXPECT_THAT(chart, HasSubstr(">1000<"));
  EXPECT_EQ(count(chart, "<path"), 3U);  // the axes and both
}

TEST(SvgChart, MarkedValuesAreMarked) {
  const std::vector<double> values{1, 2, 3, 2};
  EXPECT_EQ(count(line_chart(values, "ns"), "<circle"), 0U);
  EXPECT_EQ(count(line_chart(values, "ns", {false, true, true, false}), "<circle"), 2U);
}

}  // namespace
}  // namespace app
