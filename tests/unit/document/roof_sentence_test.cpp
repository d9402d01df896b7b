#include "profiling/document/roof_sentence.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/model/stage.h"

namespace profiling {
namespace {

using engine::Stage;

engine::RunResult device_result() {
  engine::RunResult result;
  result.effective.backend = engine::GemmBackend::CublasLtGrouped;
  engine::Ceilings& ceilings = result.measurements.ceilings;
  ceilings.copy_bytes_per_s = 4e12;
  ceilings.product_flop_per_s = 1e15;
  return result;
}

/// A product of 1 ms.
OperationPoint product(double flop, double bytes) {
  return {.stage = Stage::Fprop,
          .work = {.flop = flop, .bytes = bytes},
          .samples = 10,
          .median_ns = 1e6,
          .launches = 1};
}

std::string alone(const engine::RunResult& result, const OperationPoint& point) {
  return roof_sentence(result, {&point, 1}, point);
}

TEST(RoofSentence, TheLowerRoofOfAProductLimitsItIfItIsNear) {
  const engine::RunResult result = device_result();
  // 900.0 TFLOP/s at 9000 FLOP/byte, right of the ridge at 250.
  EXPECT_EQ(
      alone(result, product(9e11, 1e8)),
      "fprop achieves 900.0 TFLOP/s, 90 % of 1000 TFLOP/s (this run's dense product): near the "
      "fastest product that was measured here.");
  // 360.0 TFLOP/s at 100 FLOP/byte, where the copy allows 400.
  EXPECT_EQ(
      alone(result, product(3.6e11, 3.6e9)),
      "fprop achieves 360.0 TFLOP/s, 90 % of 400.0 TFLOP/s (this run's copy at 100 FLOP/byte): "
      "memory limits it.");
}

TEST(RoofSentence, AQuarterOfTheTimeOpenIsNeitherNearNorFar) {
  const engine::RunResult result = device_result();
  for (const OperationPoint& point : {product(7.5e11, 1e8), product(3e11, 3e9)}) {
    const std::string text = alone(result, point);
    EXPECT_NE(text.find(", 75 % of "), std::string::npos) << text;
    EXPECT_NE(text.find("neither near its roof nor far from it"), std::string::npos) << text;
  }
}

TEST(RoofSentence, ADenseProductSlowerThanTheRunsOwnIsNoRoof) {
  engine::RunResult result = device_result();
  std::vector<OperationPoint> points = {product(1.2e12, 1e8), product(1.08e12, 1e8),
                                        product(9e11, 1e8)};
  points[1].stage = Stage::Dgrad;
  points[2].stage = Stage::Wgrad;
  const auto sentence = [&](std::size_t at) { return roof_sentence(result, points, points[at]); };
  EXPECT_EQ(sentence(0),
            "fprop achieves 1200 TFLOP/s, 120 % of 1000 TFLOP/s (this run's dense product): that "
            "one was measured too low to be a roof; this is the fastest product that was measured "
            "here.");
  EXPECT_EQ(sentence(1),
            "dgrad achieves 1080 TFLOP/s, 90 % of 1200 TFLOP/s (fprop, the fastest here; this "
            "run's dense product was measured too low to be a roof): near the fastest product that "
            "was measured here.");
  // 90 % of the dense product, but not of what was reached here.
  EXPECT_NE(sentence(2).find(", 75 % of 1200 TFLOP/s (fprop, "), std::string::npos) << sentence(2);
  EXPECT_NE(sentence(2).find("neither near"), std::string::npos) << sentence(2);
  EXPECT_EQ(roof_words(result, points, Stage::Fprop, points[0].writes), "product, 100 %");
  EXPECT_EQ(roof_words(result, points, Stage::Wgrad, points[0].writes), "product, 75 %");

  result.device.name = "NVIDIA H200";
  result.device.compute_capability = "9.0";
  result.device.multiprocessors = 132;
  const double sheet = nominal_peaks(result)->flop_per_s();
  const std::string part = fmt::format("{:.3g} % of the data sheet's ", 100 * 1.2e15 / sheet);
  EXPECT_NE(sentence(0).find("measured here, at " + part), std::string::npos) << sentence(0);
  EXPECT_NE(sentence(1).find("measured here, which reaches " + part), std::string::npos)
      << sentence(1);
}

TEST(RoofSentence, FarFromItsRoofNothingIsClaimed) {
  const engine::RunResult result = device_result();
  EXPECT_NE(alone(result, product(1e11, 1e8)).find("what limits it was not measured"),
            std::string::npos);
  OperationPoint short_one = product(1e11, 1e8);
  short_one.launches = 200;  // 5 us each
  const std::string text = alone(result, short_one);
  EXPECT_NE(text.find("launch and latency may limit it"), std::string::npos) << text;
  EXPECT_NE(text.find("5.000 \u00b5s"), std::string::npos) << text;
}

TEST(RoofSentence, AboveTheCopyMemoryStillLimitsUpToTheDataSheet) {
  engine::RunResult result = device_result();
  const std::string unknown = alone(result, product(5e11, 5e9));
  EXPECT_NE(unknown.find("125 % of 400.0 TFLOP/s"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("so memory limits it or caches serve"), std::string::npos) << unknown;
  result.device.name = "NVIDIA H200";  // 4.8 TB/s
  result.device.compute_capability = "9.0";
  OperationPoint point = product(1e9, 4.32e9);
  point.stage = Stage::Quantize;
  EXPECT_EQ(alone(result, point),
            "quantize achieves 4.32 TB/s, 108 % of 4 TB/s (this run's copy): at 90 % of the data "
            "sheet's 4.8 TB/s, memory limits it.");
  point.work.bytes = 9.6e9;
  EXPECT_EQ(alone(result, point),
            "quantize achieves 9.6 TB/s, 240 % of 4 TB/s (this run's copy): more than the data "
            "sheet's 4.8 TB/s, so caches serve a part of it.");
}

TEST(RoofSentence, AsFastAsTheDenseProductSaysHowFarThatOneIsFromTheDataSheet) {
  engine::RunResult result = device_result();
  EXPECT_NE(
      alone(result, product(9.9e11, 1e8))
          .find("(this run's dense product): near the fastest product that was measured here."),
      std::string::npos);
  result.device.name = "NVIDIA H200";
  result.device.compute_capability = "9.0";
  result.device.multiprocessors = 132;
  const std::string text = alone(result, product(9.9e11, 1e8));
  EXPECT_NE(text.find(", which reaches "), std::string::npos) << text;
  EXPECT_NE(text.find(" of the data sheet's "), std::string::npos) << text;
}

TEST(RoofSentence, ARooflineNamesEveryStagesShare) {
  engine::RunResult result = device_result();
  const std::vector<RooflinePoint> points = {
      {.stage = Stage::Quantize, .work = {.flop = 1e9, .bytes = 2e9}, .median_ns = 1e6},
      {.stage = Stage::Fprop, .work = {.flop = 5e11, .bytes = 1e8}, .median_ns = 1e6}};
  EXPECT_EQ(roofline_sentence(result, points),
            "Of what this run's own copy (4 TB/s) and dense product (1000 TFLOP/s) allow: "
            "quantize 50 %, fprop 50 %.");
  std::vector<RooflinePoint> above = points;
  above[1].work.flop = 1.2e12;
  EXPECT_EQ(roofline_sentence(result, above),
            "Of what this run's own copy (4 TB/s) and dense product (1000 TFLOP/s) allow: "
            "quantize 50 %, fprop 120 %. The dense product was measured too low to be a roof.");
  result.measurements.ceilings.product_flop_per_s = 0.0;
  EXPECT_EQ(roofline_sentence(result, points), "");
}

TEST(RoofSentence, WithoutAMeasuredRoofItSaysSo) {
  engine::RunResult result = device_result();
  result.measurements.ceilings = {};
  EXPECT_EQ(alone(result, product(8e11, 1e8)),
            "fprop achieves 800.0 TFLOP/s; this run measured no roof for it, so what limits it is "
            "not known.");
  // The copy alone does not tell which of the two bounds is the lower one.
  result.measurements.ceilings.copy_bytes_per_s = 4e12;
  EXPECT_NE(alone(result, product(3e11, 3e9)).find("no roof"), std::string::npos);
}

TEST(RoofSentence, QuantizingIsRatedByItsBytes) {
  OperationPoint point = product(1e9, 3.6e9);
  point.stage = Stage::Quantize;
  EXPECT_EQ(alone(device_result(), point),
            "quantize achieves 3.6 TB/s, 90 % of 4 TB/s (this run's copy): memory limits it.");
}

TEST(RoofSentence, AnEmulatedProductAndACpuSaySo) {
  OperationPoint point = product(8e11, 1e8);
  point.emulated = true;
  EXPECT_NE(alone(device_result(), point).find("800.0 TFLOP/s (emulated)"), std::string::npos);
  engine::RunResult on_cpu = device_result();
  on_cpu.effective.backend = engine::GemmBackend::CpuReference;
  const std::string text = alone(on_cpu, product(9e11, 1e8));
  EXPECT_NE(text.find("near the fastest product that was measured here"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("tensor"), std::string::npos);
}

TEST(RoofWords, NameTheLowerBoundAndThePartOfItThatIsReached) {
  OperationPoint point = product(1e9, 3.2e9);
  point.stage = Stage::Quantize;
  const auto words = [&point](const engine::RunResult& result, Stage stage) {
    return roof_words(result, {&point, 1}, stage, point.writes);
  };
  engine::RunResult result = device_result();
  EXPECT_EQ(words(result, Stage::Quantize), "memory, 80 %");
  EXPECT_EQ(words(result, Stage::Fprop), "") << "no work is counted for it";
  point = product(8e11, 1e8);
  EXPECT_TRUE(words(result, Stage::Fprop).starts_with("product, "));
  result.measurements.ceilings = {};
  EXPECT_EQ(words(result, Stage::Fprop), "");
}

TEST(RoofSentence, AKernelWithoutCountedWorkHasNoRate) {
  const engine::RunResult result = device_result();
  EXPECT_EQ(roof_sentence(result, {}, Stage::Other, engine::WrittenValue::Unknown),
            "No work is counted for other, so it has no rate and no roof.");
}

}  // namespace
}  // namespace profiling
