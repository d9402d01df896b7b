// Ticks and numbers as shown on screen.
#include "app/plot/ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "app/gui/plot/format.h"

namespace app::plot {
namespace {

std::vector<std::string> labels(AxisKind kind, Range view, int most) {
  std::vector<std::string> result;
  for (const Tick& tick : ticks(kind, view, most)) result.push_back(tick.label);
  return result;
}

TEST(Ticks, StepsAreOneTwoOrFive) {
  EXPECT_DOUBLE_EQ(nice_step(10.0, 10), 1.0);
  EXPECT_DOUBLE_EQ(nice_step(11.0, 10), 2.0);
  EXPECT_DOUBLE_EQ(nice_step(45.0, 10), 5.0);
  EXPECT_DOUBLE_EQ(nice_step(0.007, 5), 0.002);
}

TEST(Ticks, ThereIsAnEndOfThemInEveryView) {
  constexpr double kMost = std::numeric_limits<double>::max();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const AxisKind kind : {AxisKind::Number, AxisKind::Integer, AxisKind::Log2,
                              AxisKind::Log10Count, AxisKind::Decibel, AxisKind::Nanoseconds}) {
    for (const Range view : {Range{0.0, kInf}, Range{-kInf, 0.0}, Range{-kMost, kMost},
                             Range{0.0, kMost}, Range{1e300, std::nextafter(1e300, kInf)},
                             Range{0x1p60, 0x1p60 + 1024.0}, Range{0.0, 5e-324}}) {
      EXPECT_LE(ticks(kind, view, 6).size(), 12U) << static_cast<int>(kind) << " " << view.max;
      EXPECT_TRUE(std::isfinite(tick_origin(view)));
    }
  }
}

TEST(Ticks, NeverMoreThanRequested) {
  for (double span = 0.001; span < 1e9; span *= 3.7) {
    EXPECT_LE(ticks(AxisKind::Number, {0.1 * span, 1.1 * span}, 6).size(), 7U) << span;
  }
}

TEST(Ticks, TimeAxisUsesOneUnit) {
  EXPECT_THAT(labels(AxisKind::Nanoseconds, {0.0, 2e6}, 5),
              testing::ElementsAre("0.0", "0.5", "1.0", "1.5", "2.0"));
}

TEST(Ticks, ExponentsStayWhole) {
  EXPECT_THAT(labels(AxisKind::Log2, {-4.3, 4.3}, 5),
              testing::ElementsAre("2^-4", "2^-2", "2^0", "2^2", "2^4"));
}

TEST(Ticks, IntegersHaveNoTickBetweenThem) {
  EXPECT_THAT(labels(AxisKind::Integer, {-0.5, 2.5}, 20), testing::ElementsAre("0", "1", "2"));
}

TEST(Ticks, CountsOnALogAxisAreCounts) {
  EXPECT_THAT(labels(AxisKind::Log10Count, {0.0, 3.1}, 5),
              testing::ElementsAre("1", "10", "100", "1k"));
  // Two labels are what makes an axis, also where there is room for no more.
  EXPECT_THAT(labels(AxisKind::Log10Count, {-1.8, 3.4}, 2), testing::ElementsAre("1", "100"));
  EXPECT_THAT(labels(AxisKind::Log10Count, {-0.5, 2.9}, 2), testing::ElementsAre("1", "100"));
}

TEST(Ticks, ANarrowerStepKeepsNoMoreThanThereIsRoomFor) {
  // Steps of five have one multiple in this view, steps of two have four.
  EXPECT_THAT(labels(AxisKind::Log10Count, {0.5, 9.5}, 2), testing::ElementsAre("100", "100M"));
  EXPECT_THAT(labels(AxisKind::Number, {0.5, 9.5}, 2), testing::ElementsAre("2", "8"));
  for (double low = 0.05; low < 3.0; low += 0.37) {
    for (double span = 1.3; span < 12.0; span *= 1.17) {
      for (const int most : {2, 3}) {
        EXPECT_LE(ticks(AxisKind::Log10Count, {low, low + span}, most).size(),
                  static_cast<std::size_t>(most))
            << low << " " << span;
      }
    }
  }
}

TEST(Ticks, RangesBelowADecadeHaveTicks) {
  const double low = std::log10(0.03);
  EXPECT_THAT(labels(AxisKind::Log10Count, {low, std::log10(0.6)}, 8),
              testing::ElementsAre("0.05", "0.1", "0.2", "0.5"));
  EXPECT_THAT(labels(AxisKind::Log10Count, {0.0, 0.8}, 8), testing::ElementsAre("1", "2", "5"));
  EXPECT_THAT(labels(AxisKind::Log10Count, {low, std::log10(0.6)}, 2),
              testing::ElementsAre("0.05", "0.5"));
}

TEST(Format, DurationsPickTheirUnit) {
  EXPECT_EQ(duration_text(17.0), "17 ns");
  EXPECT_EQ(duration_text(3412.0), "3.412 \u00b5s");
  EXPECT_EQ(duration_text(34.1e6), "34.10 ms");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::quiet_NaN()), "n/a");
}

TEST(Format, DecibelNamesExactAndMissing) {
  EXPECT_EQ(decibel_text(41.24), "41.2");
  EXPECT_EQ(decibel_text(std::numeric_limits<double>::infinity()), "exact");
  EXPECT_EQ(decibel_text(std::nan("")), "n/a");
}

TEST(Format, ATinyShareIsNotShownAsZero) {
  EXPECT_EQ(share_text(0.0, 1e9), "0 %");
  EXPECT_EQ(share_text(1.0, 1e9), "< 0.01 %");
  EXPECT_EQ(share_text(25.0, 100.0), "25.0 %");
}

TEST(Format, GroupsDigitsByThree) {
  EXPECT_EQ(count_text(7), "7");
  EXPECT_EQ(count_text(1234567), "1 234 567");
}

TEST(Format, AMemsetIsNotNamedAsTheProductThatItPrepares) {
  EXPECT_EQ(work_label("fprop up", "nvjet_sm90_qqtst"), "fprop up");
  EXPECT_EQ(work_label("fprop up", "memset"), "memset for fprop up");
  EXPECT_EQ(work_label("", "memset"), "memset");
  EXPECT_EQ(work_name("fprop up", "memset"), "memset for fprop up");
  EXPECT_EQ(work_name("fprop up", "nvjet_sm90_qqtst"), "fprop up  nvjet_qqtst");
}

TEST(Format, ShortensKernelNames) {
  EXPECT_EQ(short_kernel_name("void kernels::(anonymous namespace)::quantize_block_kernel<"
                              "(kernels::Fp8Format)0, 128>(kernels::QuantizeBlockArgs)"),
            "quantize_block<E4M3, 128>");
  EXPECT_EQ(short_kernel_name("nvjet_sm90_qqtst_128x256_128x4_2x1_v_bz_coopA_TNT"),
            "nvjet_qqtst_128x256_128x4_2x1_v_bz_coopA_TNT");
  EXPECT_EQ(short_kernel_name("memset"), "memset");
  EXPECT_EQ(short_kernel_name("kernels::splits_to_offsets_kernel<unsigned int>"),
            "splits_to_offsets");
  EXPECT_EQ(short_kernel_name("kernels::quantize_per_tensor_kernel<(kernels::InputType)1, "
                              "(kernels::Fp8Format)1, (kernels::Activation)0, false>"),
            "quantize_per_tensor<E5M2>");
  EXPECT_EQ(short_kernel_name("lib_sm90_"), "lib_");
  EXPECT_EQ(short_kernel_name("f<(kernels::Fp8Format)7>"), "f")
      << "an enumerator of a later version";
  EXPECT_EQ(short_kernel_name("f<(kernels::Fp8Format"), "f");
  EXPECT_EQ(short_kernel_name("kernels::tiles::tile_kernel<kernels::tiles::Nvfp4Worker<"
                              "(kernels::InputType)0, false> >"),
            "tile<Nvfp4Worker>");
  EXPECT_EQ(short_kernel_name("void at::Outer<at::Inner<int> >::run<unsigned int>(int)"), "run");
  EXPECT_EQ(short_kernel_name("void at::Outer<at::Inner<int> >::run(int)"), "run");
}

TEST(Ticks, NanosecondsFarFromZeroCountFromARoundTimeNearby) {
  EXPECT_DOUBLE_EQ(tick_origin({0.0, 1e9}), 0.0);
  EXPECT_DOUBLE_EQ(tick_origin({5e8, 1e9}), 0.0);
  const Range view{99'900'000'123.0, 99'900'000'143.0};  // 20 ns at 99.9 s
  const double origin = tick_origin(view);
  EXPECT_DOUBLE_EQ(origin, 99'900'000'100.0);
  const auto far = ticks(AxisKind::Nanoseconds, {view.min - origin, view.max - origin}, 5);
  ASSERT_GE(far.size(), 3U);
  EXPECT_EQ(far[0].label, "25");
  EXPECT_EQ(far[1].label, "30");
}

TEST(Titles, GiveTheirUnitWhereThereIsNoRoomForMore) {
  EXPECT_EQ(unit_of_title("time of a step, ms"), "ms");
  EXPECT_EQ(unit_of_title("arithmetic intensity, FLOP / byte"), "FLOP / byte");
  EXPECT_EQ(unit_of_title("us after 12.345000000 s"), "us");
  EXPECT_EQ(unit_of_title("expert"), "");
  EXPECT_EQ(unit_of_title(""), "");
}

}  // namespace
}  // namespace app::plot
