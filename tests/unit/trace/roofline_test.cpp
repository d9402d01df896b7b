#include "profiling/trace/roofline.h"

#include <gtest/gtest.h>

namespace profiling {
namespace {

using engine::Scaling;
using engine::Stage;

/// 3 experts, the second without rows: 48 rows, n 32, k 64.
engine::RunResult small_result() {
  engine::RunResult result;
  result.effective.shape.n = 32;
  result.effective.shape.k = 64;
  result.effective.recipe.scaling = Scaling::None;
  result.effective.linear.passes = engine::StepPasses::ForwardBackward;
  result.splits = {16, 0, 32};
  return result;
}

TEST(StageWork, CountsEveryOperandOnceAndNoPadding) {
  const engine::RunResult result = small_result();
  const auto fprop = stage_work(result, Stage::Fprop);
  ASSERT_TRUE(fprop.has_value());
  EXPECT_EQ(fprop->flop, 2.0 * 48 * 32 * 64);
  // X 48x64, W of two experts 2x32x64, Y 48x32, two bytes each.
  EXPECT_EQ(fprop->bytes, 2.0 * (48 * 64 + 2 * 32 * 64 + 48 * 32));
  const auto wgrad = stage_work(result, Stage::Wgrad);
  ASSERT_TRUE(wgrad.has_value());
  // X, dY, and dW of every expert: zeros are written too.
  EXPECT_EQ(wgrad->bytes, 2.0 * (48 * 64 + 48 * 32 + 3 * 32 * 64));
  EXPECT_EQ(stage_work(result, Stage::Quantize), std::nullopt);
}

TEST(StageWork, ScalesAndAccumulationCount) {
  engine::RunResult result = small_result();
  result.effective.recipe.scaling = Scaling::Block;  // W in 128x128 blocks, X and dY in 1x128
  result.effective.linear.accumulate_wgrad = true;
  result.effective.linear.wgrad_type = engine::ElementType::Fp32;
  result.effective.layers = 2;
  const auto fprop = stage_work(result, Stage::Fprop);
  ASSERT_TRUE(fprop.has_value());
  EXPECT_DOUBLE_EQ(fprop->bytes, 2.0 * (48 * 64 * (1 + 4.0 / 128) +
                                        2 * 32 * 64 * (1 + 4.0 / 16384) + 48 * 32 * 2.0));
  const auto wgrad = stage_work(result, Stage::Wgrad);
  ASSERT_TRUE(wgrad.has_value());
  EXPECT_DOUBLE_EQ(wgrad->bytes, 2.0 * (48 * (64 + 32) * (1 + 4.0 / 128) + 3 * 32 * 64 * 4.0 * 2));
  result.emulated = "no MXFP8 here";
  EXPECT_DOUBLE_EQ(stage_work(result, Stage::Fprop)->bytes,
                   2.0 * 2.0 * (48 * 64 + 2 * 32 * 64 + 48 * 32));
}

TEST(StageWork, OfMixedRecipesOnlyTheEmulatedProjectionReadsWideOperands) {
  engine::RunResult result = small_result();
  engine::RunRequest& request = result.effective;
  request.step = engine::StepKind::ExpertLayer;
  request.backend = engine::GemmBackend::CublasLtGrouped;
  request.linear.passes = engine::StepPasses::Forward;
  request.recipe.scaling = Scaling::Block;
  request.expert_layer.mixed_recipes = true;
  request.expert_layer.down_scaling = Scaling::Nvfp4;
  result.device.compute_capability = "9.0";
  result.device.cublaslt_version = "13.10.0";
  result.emulated = "products of the down projection need Blackwell";
  const auto fprop = stage_work(result, Stage::Fprop);
  ASSERT_TRUE(fprop.has_value());
  const double up = 48 * 64 * (1 + 4.0 / 128) + 2 * 32 * 64 * (1 + 4.0 / 16384) + 48 * 32 * 2.0;
  const double down = 2.0 * (48 * 16 + 2 * 64 * 16 + 48 * 64);
  EXPECT_DOUBLE_EQ(fprop->bytes, up + down);
  result.device.name = "NVIDIA H200";
  result.device.multiprocessors = 132;
  EXPECT_EQ(nominal_peaks(result)->flop_per_clock, 8192.0 * 132);
  request.recipe.scaling = Scaling::Mxfp8;
  EXPECT_EQ(nominal_peaks(result)->flop_per_clock, 4096.0 * 132);
}

TEST(StageWork, QuantizingReadsEveryOperandOnceAndWritesItsCopies) {
  engine::RunResult result = small_result();
  result.effective.recipe.scaling = Scaling::Block;  // W in 128x128 blocks, X and dY in 1x128
  result.effective.activations = engine::SyntheticInput{.element = engine::ElementType::Fp32};
  const double x = 48 * 64;
  const double w = 3 * 32 * 64;  // of every expert, with rows or without
  const double dy = 48 * 32;
  const double line = 1 + 4.0 / 128;
  const double square = 1 + 4.0 / 16384;
  const auto both = stage_work(result, Stage::Quantize);
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->flop, 2 * (x + w + dy));
  EXPECT_DOUBLE_EQ(both->bytes, x * (4 + 2 * line) + w * (2 + 2 * square) + dy * (2 + 2 * line));
  result.effective.linear.passes = engine::StepPasses::Forward;
  result.effective.layers = 2;
  const auto forward = stage_work(result, Stage::Quantize);
  ASSERT_TRUE(forward.has_value());
  EXPECT_EQ(forward->flop, 2 * (x + w));
  EXPECT_DOUBLE_EQ(forward->bytes, 2 * (x * (4 + line) + w * (2 + square)));
  // A file's element type is not in the recording.
  result.effective.activations = engine::FileInput{.path = "x.npy", .tensor = ""};
  EXPECT_EQ(stage_work(result, Stage::Quantize), std::nullopt);
}

TEST(StageWork, PermutingReadsAndWritesTokensAndRowsOnce) {
  engine::RunResult result = small_result();
  engine::RunRequest& request = result.effective;
  EXPECT_EQ(stage_work(result, Stage::Permute), std::nullopt);
  request.step = engine::StepKind::ExpertLayer;
  request.shape.tokens = 52;  // 4 copies are dropped
  EXPECT_EQ(stage_work(result, Stage::Permute), std::nullopt);
  request.expert_layer.top_k = 4;
  request.layers = 2;
  const double tokens = 13 * 64 * 2;
  const double rows = 48 * 64 * 2;
  const double number = 52 * 4;  // of every copy
  // X of all layers; dY and dp of each.
  EXPECT_DOUBLE_EQ(stage_work(result, Stage::Permute)->bytes,
                   tokens + rows + 2 * number + 2 * (tokens + 2 * rows + 3 * number));
  EXPECT_EQ(stage_work(result, Stage::Permute)->flop, 0);
  // Yt and dXt of each; the latter without probabilities.
  EXPECT_DOUBLE_EQ(stage_work(result, Stage::Unpermute)->bytes,
                   2 * (2 * tokens + 2 * rows + 3 * number));
  request.linear.passes = engine::StepPasses::Forward;
  EXPECT_DOUBLE_EQ(stage_work(result, Stage::Permute)->bytes, tokens + rows + 2 * number);
  request.linear.passes = engine::StepPasses::Backward;
  EXPECT_DOUBLE_EQ(stage_work(result, Stage::Unpermute)->bytes, 2 * (tokens + rows + number));
  EXPECT_TRUE(roofline_points(result, {}).empty());
}

TEST(StageWork, APassThatDoesNotRunHasNoWork) {
  engine::RunResult result = small_result();
  result.effective.linear.passes = engine::StepPasses::Forward;
  EXPECT_EQ(stage_work(result, Stage::Dgrad), std::nullopt);
  result.effective.linear.passes = engine::StepPasses::Backward;
  EXPECT_EQ(stage_work(result, Stage::Fprop), std::nullopt);
}

ActivityRecord busy_record(int iteration, std::int64_t start, std::int64_t end,
                           Stage stage = Stage::Fprop) {
  ActivityRecord made;
  made.iteration = iteration;
  made.start_ns = start;
  made.end_ns = end;
  made.stage = stage;
  return made;
}

TEST(StageBusy, OverlapCountsOnceAndGapsDoNot) {
  Activity activity;
  activity.records = {busy_record(-1, 0, 50),    busy_record(0, 100, 200),
                      busy_record(0, 150, 180),  busy_record(0, 190, 260),
                      busy_record(0, 300, 310),  busy_record(0, 301, 305, Stage::Wgrad),
                      busy_record(2, 1000, 1100)};
  EXPECT_EQ(stage_busy_ns(activity, Stage::Fprop), (std::vector<double>{170.0, 100.0}));
}

TEST(Roofline, RateIsWorkByMedianTime) {
  engine::RunResult result = small_result();
  Activity activity;
  activity.records = {busy_record(0, 0, 100), busy_record(1, 200, 400), busy_record(2, 500, 800)};
  const std::vector<RooflinePoint> points = roofline_points(result, activity);
  ASSERT_EQ(points.size(), 1U);  // no records of the backward products
  EXPECT_EQ(points[0].samples, 3U);
  EXPECT_DOUBLE_EQ(points[0].flop_per_s(), 2.0 * 48 * 32 * 64 / 200e-9);
}

TEST(NominalPeaks, KnownDevicesOnly) {
  engine::RunResult result = small_result();
  result.device.name = "NVIDIA H200";
  result.device.compute_capability = "9.0";
  result.device.multiprocessors = 132;
  const auto bf16 = nominal_peaks(result);
  ASSERT_TRUE(bf16.has_value());
  EXPECT_NEAR(bf16->flop_per_s() * 1e-12, 989.0, 1.0);
  result.effective.recipe.scaling = Scaling::Block;
  EXPECT_NEAR(nominal_peaks(result)->flop_per_s() * 1e-12, 1979.0, 1.0);
  // Another board of the same chip has another clock and memory, a slice has less of both.
  for (const char* other :
       {"NVIDIA GH200 480GB", "NVIDIA H200 NVL", "NVIDIA H200 MIG 1g.18gb", "NVIDIA H100 PCIe"}) {
    result.device.name = other;
    EXPECT_EQ(nominal_peaks(result), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace profiling
