#include "profiling/trace/roofline.h"

#include <gtest/gtest.h>

#include <utility>

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
  result.effective.products.passes = engine::StepPasses::ForwardBackward;
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
  result.effective.products.accumulate_wgrad = true;
  result.effective.products.wgrad_type = engine::ElementType::Fp32;
  result.effective.layers = 2;
  const auto fprop = stage_work(result, Stage::Fprop);
  ASSERT_TRUE(fprop.has_value());
  // A row of 64 elements has one FP32 scale, and so has each weight of 32 by 64.
  EXPECT_EQ(fprop->bytes, 2.0 * (48 * (64 + 4) + 2 * (32 * 64 + 4) + 2 * 48 * 32));
  const auto dgrad = stage_work(result, Stage::Dgrad);
  ASSERT_TRUE(dgrad.has_value());
  EXPECT_EQ(dgrad->bytes, 2.0 * (48 * (32 + 4) + 2 * (32 * 64 + 4) + 2 * 48 * 64));
  const auto wgrad = stage_work(result, Stage::Wgrad);
  ASSERT_TRUE(wgrad.has_value());
  // Columnwise, each of the two experts with rows has one scale per column of X and of dY.
  EXPECT_EQ(wgrad->bytes, 2.0 * ((48 + 2 * 4) * (64 + 32) + 3 * 32 * 64 * 4 * 2));
  result.emulated = "no MXFP8 here";
  EXPECT_EQ(stage_work(result, Stage::Fprop)->bytes, 2.0 * 2.0 * (48 * 64 + 2 * 32 * 64 + 48 * 32));
}

TEST(StageWork, ScalesHaveTheirRealExtents) {
  engine::RunResult result = small_result();
  result.effective.shape.n = 16;
  result.effective.shape.k = 144;  // no multiple of 128 or of 4 times 32
  result.splits = {200};
  const double y = 2 * 200 * 16;
  result.effective.recipe.scaling = Scaling::Block;
  // Two scales for each row of X; two blocks of 128x128 for W.
  const double x_block = 30'400;
  EXPECT_EQ(x_block, 200 * (144 + 2 * 4));
  EXPECT_EQ(stage_work(result, Stage::Fprop)->bytes, x_block + 16 * 144 + 2 * 4 + y);
  result.effective.recipe.scaling = Scaling::Mxfp8;
  // Scales of one byte, 128 rows by 4 blocks to a tile: 5 blocks and 200 rows fill 2 by 2 tiles.
  EXPECT_EQ(stage_work(result, Stage::Fprop)->bytes, 200 * 144 + 4 * 512 + 16 * 144 + 2 * 512 + y);
  result.effective.recipe.scaling = Scaling::PerTensorCurrent;
  EXPECT_EQ(stage_work(result, Stage::Fprop)->bytes, 200 * 144 + 4 + 16 * 144 + 4 + y);
}

TEST(StageWork, OfMixedRecipesOnlyTheEmulatedProjectionReadsWideOperands) {
  engine::RunResult result = small_result();
  engine::RunRequest& request = result.effective;
  request.step = engine::StepKind::ExpertLayer;
  request.backend = engine::GemmBackend::CublasLtGrouped;
  request.products.passes = engine::StepPasses::Forward;
  request.recipe.scaling = Scaling::Block;
  request.expert_layer.mixed_recipes = true;
  request.expert_layer.down_scaling = Scaling::Nvfp4;
  result.device.compute_capability = "9.0";
  result.device.cublaslt_version = "13.10.0";
  result.emulated = "products of the down projection need Blackwell";
  const auto fprop = stage_work(result, Stage::Fprop);
  ASSERT_TRUE(fprop.has_value());
  const double up = 48 * (64 + 4) + 2 * (32 * 64 + 4) + 48 * 32 * 2.0;
  const double down = 2.0 * (48 * 16 + 2 * 64 * 16 + 48 * 64);
  EXPECT_EQ(fprop->bytes, up + down);
  result.device.name = "NVIDIA H200";
  result.device.multiprocessors = 132;
  EXPECT_EQ(nominal_peaks(result)->flop_per_clock, 8192.0 * 132);
  request.recipe.scaling = Scaling::Mxfp8;
  EXPECT_EQ(nominal_peaks(result)->flop_per_clock, 4096.0 * 132);
}

// Of the step below, in FP8 with 1x128 scales for X and dY and 128x128 ones for W. Every row of X
// and dY is shorter than a block, and every expert has fewer rows.
constexpr double kX = 48 * 64;
constexpr double kW = 3 * 32 * 64;  // of every expert, with rows or without
constexpr double kDy = 48 * 32;
constexpr double kXRowwise = kX + 48 * 4;
constexpr double kXColumnwise = kX + 2 * 64 * 4;
constexpr double kWCopy = kW + 3 * 4;
constexpr double kDyCopies = 2 * kDy + 48 * 4 + 2 * 32 * 4;

engine::RunResult quantizing_result(engine::GemmBackend backend) {
  engine::RunResult result = small_result();
  result.effective.backend = backend;
  result.effective.recipe.scaling = Scaling::Block;
  result.effective.layers = 2;
  return result;
}

TEST(StageWork, ADeviceQuantizesXAndDyOnceForAllLayers) {
  engine::RunResult result = quantizing_result(engine::GemmBackend::CublasLtGrouped);
  // The upload rounds them, so that a step reads 16 bits whatever they were.
  result.effective.activations = engine::SyntheticInput{.element = engine::ElementType::Fp32};
  result.effective.weights = engine::FileInput{.path = "w.npy", .tensor = ""};
  const auto both = stage_work(result, Stage::Quantize);
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->flop, 2 * (kX + 2 * kW + kDy));
  EXPECT_EQ(both->bytes,
            2 * kX + kXRowwise + kXColumnwise + 2 * (2 * kW + 2 * kWCopy) + 2 * kDy + kDyCopies);
  result.effective.products.passes = engine::StepPasses::Forward;
  const auto forward = stage_work(result, Stage::Quantize);
  ASSERT_TRUE(forward.has_value());
  EXPECT_EQ(forward->flop, kX + 2 * kW);
  EXPECT_EQ(forward->bytes, 2 * kX + kXRowwise + 2 * (2 * kW + kWCopy));
}

TEST(StageWork, TheCpuQuantizesThemInEachLayerFromElementsAsTheyAre) {
  engine::RunResult result = quantizing_result(engine::GemmBackend::CpuReference);
  result.effective.products.passes = engine::StepPasses::Forward;
  result.effective.activations = engine::SyntheticInput{.element = engine::ElementType::Fp32};
  const auto forward = stage_work(result, Stage::Quantize);
  ASSERT_TRUE(forward.has_value());
  EXPECT_EQ(forward->flop, 2 * (kX + kW));
  EXPECT_EQ(forward->bytes, 2 * (4 * kX + kXRowwise + 2 * kW + kWCopy));
  // A file's element type is not in the recording.
  result.effective.activations = engine::FileInput{.path = "x.npy", .tensor = ""};
  EXPECT_EQ(stage_work(result, Stage::Quantize), std::nullopt);
  EXPECT_EQ(unknown_work(result, Stage::Quantize),
            "quantize is not on the roofline: X came from a file, and a run does not record the "
            "element type that its file had then, so the bytes that were read are not known");
  EXPECT_EQ(unknown_work(result, Stage::Fprop), "");
  result.effective.products.passes = engine::StepPasses::Backward;  // does not read it
  EXPECT_NE(stage_work(result, Stage::Quantize), std::nullopt);
  EXPECT_EQ(unknown_work(result, Stage::Quantize), "");
}

TEST(StageWork, ABackwardOnlyStepQuantizesOnlyItsGradient) {
  engine::RunResult result = quantizing_result(engine::GemmBackend::CublasLtGrouped);
  result.effective.products.passes = engine::StepPasses::Backward;
  const auto backward = stage_work(result, Stage::Quantize);
  ASSERT_TRUE(backward.has_value());
  EXPECT_EQ(backward->flop, 2 * kDy);
  EXPECT_EQ(backward->bytes, 2 * kDy + kDyCopies);
}

TEST(StageWork, KeptWeightsAreNotQuantizedAgain) {
  engine::RunResult result = quantizing_result(engine::GemmBackend::CublasLtGrouped);
  result.effective.products.passes = engine::StepPasses::Forward;
  result.effective.products.weight_reuse = 3;
  const double x = 2 * kX + kXRowwise;
  const double all = x + 2 * (2 * kW + kWCopy);
  const std::pair<int, double> expected[] = {{-1, all}, {0, all}, {1, x}, {2, x}, {3, all}, {4, x}};
  for (const auto& [iteration, bytes] : expected) {
    EXPECT_EQ(stage_work(result, Stage::Quantize, iteration)->bytes, bytes) << iteration;
  }
  result.recorded_routing.emplace();  // a pass over its steps quantizes, the next two keep
  result.recorded_routing->steps = {{.splits = {16, 0, 32}, .visits = 1},
                                    {.splits = {16, 0, 32}, .visits = 1}};
  EXPECT_EQ(stage_work(result, Stage::Quantize, 1)->bytes, all);
  EXPECT_EQ(stage_work(result, Stage::Quantize, 2)->bytes, x);
}

TEST(StageWork, PermutingReadsAndWritesTokensAndRowsOnce) {
  engine::RunResult result = small_result();
  engine::RunRequest& request = result.effective;
  EXPECT_EQ(stage_work(result, Stage::Permute), std::nullopt);
  request.step = engine::StepKind::ExpertLayer;
  request.shape.rows = 52;  // 4 copies are dropped
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
  request.products.passes = engine::StepPasses::Forward;
  EXPECT_DOUBLE_EQ(stage_work(result, Stage::Permute)->bytes, tokens + rows + 2 * number);
  request.products.passes = engine::StepPasses::Backward;
  EXPECT_DOUBLE_EQ(stage_work(result, Stage::Unpermute)->bytes, 2 * (tokens + rows + number));
  EXPECT_TRUE(roofline_points(result, {}).empty());
}

TEST(StageWork, APassThatDoesNotRunHasNoWork) {
  engine::RunResult result = small_result();
  result.effective.products.passes = engine::StepPasses::Forward;
  EXPECT_EQ(stage_work(result, Stage::Dgrad), std::nullopt);
  result.effective.products.passes = engine::StepPasses::Backward;
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

TEST(Roofline, ARateOfQuantizationIsOfIterationsWithTheSameWork) {
  engine::RunResult result = small_result();
  result.effective.recipe.scaling = Scaling::Block;
  result.effective.products.passes = engine::StepPasses::Forward;
  result.effective.products.weight_reuse = 2;
  Activity activity;
  activity.records = {
      busy_record(0, 0, 1000, Stage::Quantize), busy_record(1, 2000, 2100, Stage::Quantize),
      busy_record(2, 3000, 4000, Stage::Quantize), busy_record(3, 5000, 5300, Stage::Quantize)};
  const std::vector<RooflinePoint> points = roofline_points(result, activity);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].samples, 2U);
  EXPECT_EQ(points[0].median_ns, 200.0);
  EXPECT_EQ(points[0].work.flop, 48 * 64);
  const std::vector<StageTime> times = stage_times(result, activity);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].time.median, 200.0);
  EXPECT_EQ(times[0].work->flop, 48 * 64);
  // If only the first iteration was traced, its work is that of a step that quantizes its weights.
  activity.records.resize(1);
  EXPECT_EQ(roofline_points(result, activity).at(0).work.flop, 48 * 64 + 3 * 32 * 64);
  EXPECT_EQ(roofline_points(result, activity).at(0).median_ns, 1000.0);
}

TEST(OperationPoints, EachHasItsOwnWorkAndTime) {
  engine::RunResult result = small_result();
  const auto fprop_writes = engine::written(engine::StepTensor::Y);
  Activity activity;
  activity.records = {busy_record(0, 0, 100), busy_record(0, 100, 200), busy_record(1, 500, 900)};
  for (ActivityRecord& record : activity.records) record.writes = fprop_writes;
  activity.records.push_back(busy_record(1, 900, 950, Stage::Other));  // no counted work
  std::vector<OperationPoint> points = operation_points(result, activity);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].writes, fprop_writes);
  EXPECT_EQ(points[0].median_ns, 300.0);  // of 200 and 400
  EXPECT_EQ(points[0].launches, 1.5);
  EXPECT_EQ(points[0].work.flop, 2.0 * 48 * 32 * 64);
  EXPECT_FALSE(points[0].emulated);
  // A recording from before it was known what a record writes: the stage as a whole.
  for (ActivityRecord& record : activity.records) record.writes = engine::WrittenValue::Unknown;
  points = operation_points(result, activity);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].work.flop, 2.0 * 48 * 32 * 64);
}

TEST(OperationPoints, ACopyThatIsMadeByItselfHasItsOwnWork) {
  using engine::CopyForms;
  engine::RunResult result = small_result();
  result.effective.recipe.scaling = Scaling::Block;
  const auto quantized = [&result](CopyForms forms) {
    Activity activity;
    activity.records = {busy_record(0, 0, 100, Stage::Quantize)};
    activity.records[0].writes = engine::written(engine::StepTensor::DY, forms);
    const std::vector<OperationPoint> points = operation_points(result, activity);
    return points.size() == 1 ? points[0].work : StageWork{};
  };
  // A device makes both copies in one pass; the CPU makes each of them in its own.
  const StageWork both = quantized(CopyForms::Rowwise | CopyForms::Columnwise);
  const StageWork rowwise = quantized(CopyForms::Rowwise);
  const StageWork columnwise = quantized(CopyForms::Columnwise);
  const double codes = 48 * 32;
  EXPECT_EQ(rowwise.flop, codes);
  EXPECT_EQ(columnwise.flop, codes);
  EXPECT_EQ(both.flop, 2 * codes);
  // One FP32 scale per row of 32, and per column of each of the two experts with rows. Each pass
  // reads the elements.
  const double read = 2 * codes;
  EXPECT_EQ(rowwise.bytes, read + codes + 4 * 48);
  EXPECT_EQ(columnwise.bytes, read + codes + 4 * 2 * 32);
  EXPECT_EQ(both.bytes, read + 2 * codes + 4 * (48 + 2 * 32));
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
