#include "app/page/svg_chart.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/unit/page/count.h"
#include "tests/unit/page/svg_reader.h"

namespace app {
namespace {

using profiling::Measure;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const ChartWords kTimes{
    .title = "Times", .item = "expert", .quantity = "time", .measure = Measure::Time};
const ChartWords kDecibels{
    .title = "SNR", .item = "expert", .quantity = "SNR", .measure = Measure::Decibels};
const ChartWords kNumbers{.title = "Numbers", .item = "step", .quantity = "imbalance"};

TEST(SvgChart, HasABarPerFiniteValue) {
  const std::string chart =
      markup_of(bar_chart(std::vector<double>{1, NAN, 3, INFINITY}, kDecibels));
  EXPECT_EQ(count(chart, "<rect"), 2U);
  EXPECT_THAT(chart, HasSubstr("expert 2: 3.00 dB</title>"));
  EXPECT_THAT(chart, HasSubstr(">SNR, dB<"));
  EXPECT_THAT(chart, Not(HasSubstr("nan")));
  EXPECT_THAT(chart, Not(HasSubstr("inf")));
}

TEST(SvgChart, NothingFiniteIsNoChart) {
  EXPECT_TRUE(bar_chart({}, kNumbers).empty());
  EXPECT_TRUE(bar_chart(std::vector<double>{NAN, INFINITY}, kNumbers).empty());
  EXPECT_TRUE(line_chart(std::vector<double>{NAN}, kNumbers).empty());
  EXPECT_TRUE(histogram_chart({}, {}, 4, kNumbers).empty());
}

TEST(SvgChart, TimesHaveTheTicksAndTheUnitOfTheWindow) {
  // "51e+07 ns" once began left of the picture.
  const std::string chart =
      markup_of(line_chart(std::vector<double>{1.06e7, 1.1e7, 1.251e7}, kTimes));
  EXPECT_THAT(chart, HasSubstr(">time, ms<"));
  EXPECT_THAT(chart, AllOf(HasSubstr(">11.0<"), HasSubstr(">12.0<")));
  EXPECT_THAT(chart, Not(HasSubstr("e+0")));
  EXPECT_THAT(chart, HasSubstr(">expert<"));
  EXPECT_THAT(chart, HasSubstr("aria-label=\"Times\""));
}

TEST(SvgChart, ATinyRangeCountsFromARoundTime) {
  const std::string chart =
      markup_of(line_chart(std::vector<double>{5e9, 5e9 + 10, 5e9 + 40}, kTimes));
  EXPECT_THAT(chart, HasSubstr("ns after 4.9999999"));
}

TEST(SvgChart, ALongSeriesKeepsItsExtremes) {
  std::vector<double> values(100'000, 5.0);
  values[77'777] = 9;
  values[3] = 1;
  const std::string chart = markup_of(line_chart(values, kNumbers));
  EXPECT_LT(chart.size(), 30'000U);
  const std::vector<SvgMark> marks = marks_of(chart);
  const auto line = std::ranges::find(marks, "polyline", &SvgMark::element);
  // The axes come first.
  const auto data = std::find_if(line + 1, marks.end(),
                                 [](const SvgMark& one) { return one.element == "polyline"; });
  ASSERT_NE(data, marks.end());
  EXPECT_GT(data->bottom - data->top, 100.0) << "from the smallest to the largest";
}

TEST(SvgChart, EverythingIsInsideThePicture) {
  const std::vector<std::vector<double>> series = {
      {2, 2},       {1e17, 1e17}, {-1e308, 1e308},       {1e-300, 2e-300}, {0},
      {5.1e8, 6e8}, {-31.25, 40}, {1, 1e4, 123456, 8e6}, {0, 0},           {INFINITY, 3}};
  for (const std::vector<double>& values : series) {
    for (const ChartWords& words : {kTimes, kDecibels, kNumbers}) {
      for (const SvgPicture& picture : {bar_chart(values, words), line_chart(values, words)}) {
        const std::string chart = markup_of(picture);
        EXPECT_EQ(outside_of(chart), "") << values.front() << " " << words.title;
        EXPECT_THAT(chart, Not(HasSubstr("nan")));
        EXPECT_THAT(chart, Not(HasSubstr("\"inf")));
      }
    }
  }
}

TEST(SvgChart, AHistogramHasPowersOfTwoAndOfTen) {
  const std::vector<double> before{1, 1000, 10, 5, 5, 5, 5, 5, 5};
  const std::vector<double> after{0, 5, 0};
  const ChartWords words{.title = "X", .item = "magnitude", .quantity = "elements"};
  const std::string chart = markup_of(histogram_chart({-8, before}, {-8, after}, 4, words));
  EXPECT_THAT(chart, HasSubstr(">2^-2<"));
  EXPECT_THAT(chart, HasSubstr(">2^-1<"));
  EXPECT_THAT(chart, AllOf(HasSubstr(">1k<"), HasSubstr(">10<"), HasSubstr(">1<")));
  EXPECT_EQ(count(chart, "<polyline"), 3U);  // the axes and both
  EXPECT_EQ(outside_of(chart), "");
}

TEST(SvgChart, MarkedValuesAreMarked) {
  const std::vector<double> values{1, 2, 3, 2};
  EXPECT_EQ(count(markup_of(line_chart(values, kTimes)), "<circle"), 0U);
  EXPECT_EQ(count(markup_of(line_chart(values, kTimes, {false, true, true, false})), "<circle"),
            2U);
}

TEST(SvgPicture, TextIsCutToItsRoomAndLeftToThePage) {
  SvgPicture picture(100, 20, "<title>");
  picture.text({0, 10}, "a long name that does not fit", {.room = 60});
  const std::string svg =
      picture.markup([](std::string_view words) { return fmt::format("[{}]", words); });
  EXPECT_THAT(svg, HasSubstr("[<title>]"));
  EXPECT_THAT(svg, HasSubstr("…]"));
  EXPECT_LE(svg_text_width("a long"), 60.0);
}

}  // namespace
}  // namespace app
