// Summaries of activity against hand-computed numbers.
#include "profiling/trace/statistics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using engine::Stage;
using profiling::Activity;
using profiling::ActivityRecord;
using testing::ElementsAre;

TEST(Quantile, InterpolatesLinearlyLikeNumpy) {
  const std::vector<double> samples = {40.0, 10.0, 20.0, 30.0};
  EXPECT_DOUBLE_EQ(profiling::quantile(samples, 0.0), 10.0);
  EXPECT_DOUBLE_EQ(profiling::quantile(samples, 0.5), 25.0);
  EXPECT_DOUBLE_EQ(profiling::quantile(samples, 0.05), 11.5);  // position 0.15
  EXPECT_DOUBLE_EQ(profiling::quantile(samples, 0.95), 38.5);  // position 2.85
  EXPECT_DOUBLE_EQ(profiling::quantile(samples, 1.0), 40.0);
  EXPECT_DOUBLE_EQ(profiling::quantile(std::vector<double>{7.0}, 0.3), 7.0);
}

TEST(Quantile, OfWholeNumbersHasAShortText) {
  const std::vector<double> samples = {121044.0, 121161.0, 143631.0, 227001.0, 300007.0};
  EXPECT_EQ(fmt::to_string(profiling::quantile(samples, 0.05)), "121067.4");
  EXPECT_EQ(fmt::to_string(profiling::quantile(samples, 0.95)), "285405.8");
  // From 1 to 2 in steps of 5 %: each has at most two decimals.
  for (int percent = 0; percent <= 100; percent += 5) {
    const double value = profiling::quantile(std::vector<double>{1.0, 2.0}, percent / 100.0);
    EXPECT_LE(fmt::to_string(value).size(), 4U) << value;
  }
}

TEST(Quantile, EmptyAndNanSamplesGiveNan) {
  EXPECT_TRUE(std::isnan(profiling::quantile({}, 0.5)));
  const std::vector<double> samples = {1.0, std::nan(""), 2.0};
  EXPECT_TRUE(std::isnan(profiling::quantile(samples, 0.5)));
}

TEST(Summarize, FiveSamples) {
  const profiling::Distribution five = profiling::summarize({5.0, 1.0, 4.0, 2.0, 3.0});
  EXPECT_EQ(five.n, 5U);
  EXPECT_DOUBLE_EQ(five.median, 3.0);
  EXPECT_DOUBLE_EQ(five.p5, 1.2);
  EXPECT_DOUBLE_EQ(five.p95, 4.8);
  EXPECT_DOUBLE_EQ(five.minimum, 1.0);
  EXPECT_DOUBLE_EQ(five.maximum, 5.0);
  EXPECT_DOUBLE_EQ(five.sum, 15.0);
  const profiling::Distribution none = profiling::summarize({});
  EXPECT_EQ(none.n, 0U);
  EXPECT_TRUE(std::isnan(none.median));
  EXPECT_TRUE(std::isnan(none.sum));
}

ActivityRecord record(std::int64_t start, std::int64_t duration, std::uint32_t name, Stage stage,
                      int iteration, int expert = -1) {
  return {.start_ns = start,
          .end_ns = start + duration,
          .name = name,
          .iteration = iteration,
          .expert = static_cast<std::int16_t>(expert),
          .stage = stage};
}

Activity two_iterations() {
  return {
      .names = {"cast", "gemm"},
      .records = {record(-50, 20, 0, Stage::Quantize, -1), record(0, 10, 0, Stage::Quantize, 0),
                  record(10, 30, 1, Stage::Fprop, 0, 0), record(40, 50, 1, Stage::Fprop, 0, 2),
                  record(90, 5, 1, Stage::Check, -1), record(100, 20, 0, Stage::Quantize, 1),
                  record(120, 40, 1, Stage::Fprop, 1, 0), record(160, 50, 1, Stage::Fprop, 1, 2),
                  record(210, 10, 1, Stage::Fprop, 1, 2)},
      .nodes = {}};
}

constexpr profiling::TimeRange kAll = {.begin_ns = std::numeric_limits<std::int64_t>::min(),
                                       .end_ns = std::numeric_limits<std::int64_t>::max()};

TEST(KernelTable, OneRowPerNameAndStageLargestTotalFirst) {
  const auto table = profiling::kernel_table(two_iterations(), kAll, false);
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[0].name, 1U);
  EXPECT_EQ(table[0].stage, Stage::Fprop);
  EXPECT_EQ(table[0].time.n, 5U);
  EXPECT_DOUBLE_EQ(table[0].time.sum, 180.0);
  EXPECT_DOUBLE_EQ(table[0].time.median, 40.0);
  EXPECT_DOUBLE_EQ(table[0].share, 180.0 / 235.0);
  EXPECT_EQ(table[1].stage, Stage::Quantize);
  EXPECT_DOUBLE_EQ(table[1].time.sum, 50.0);
  EXPECT_EQ(table[2].stage, Stage::Check);
}

TEST(KernelTable, OneKernelInTwoOperationsIsTwoRows) {
  Activity activity = two_iterations();
  const auto x = engine::written(engine::StepTensor::X, engine::CopyForms::Rowwise);
  const auto w = engine::written(engine::StepTensor::WUp, engine::CopyForms::Columnwise);
  activity.records[1].writes = x;
  activity.records[5].writes = w;
  activity.records[8].writes = static_cast<engine::WrittenValue>(255);  // of no session file
  const auto table = profiling::kernel_table(activity, kAll, true);
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[0].stage, Stage::Fprop);
  EXPECT_EQ(table[0].writes, engine::WrittenValue::Unknown);
  EXPECT_EQ(table[0].time.n, 5U);
  EXPECT_EQ(table[1].writes, w);
  EXPECT_DOUBLE_EQ(table[1].time.sum, 20.0);
  EXPECT_EQ(table[2].writes, x);
  EXPECT_DOUBLE_EQ(table[2].time.sum, 10.0);
  // So are the rows of the matrix.
  const profiling::NodeMatrix matrix =
      profiling::node_matrix(activity, engine::StepKind::ExpertLayer);
  EXPECT_EQ(matrix.rows.at(0).operation, "quantize X, rowwise");
  EXPECT_EQ(std::ranges::count(matrix.rows, "quantize Wup, columnwise",
                               &profiling::NodeMatrix::Row::operation),
            1);
}

TEST(KernelTable, OmitsUntimedRecordsOnRequest) {
  const auto table = profiling::kernel_table(two_iterations(), kAll, true);
  ASSERT_EQ(table.size(), 2U);
  EXPECT_DOUBLE_EQ(table[1].time.sum, 30.0);
  EXPECT_DOUBLE_EQ(table[0].share + table[1].share, 1.0);
}

TEST(KernelTable, ARangeTakesTheTimeInsideIt) {
  const auto table =
      profiling::kernel_table(two_iterations(), {.begin_ns = 10, .end_ns = 100}, false);
  ASSERT_EQ(table.size(), 2U);
  EXPECT_EQ(table[0].time.n, 2U);  // starts at 10 and 40; the one at 100 is outside
  EXPECT_EQ(table[1].stage, Stage::Check);
  // 20 to 130 cuts gemm at both ends: 20 to 40, 40 to 90 whole, 120 to 130.
  const auto cut =
      profiling::kernel_table(two_iterations(), {.begin_ns = 20, .end_ns = 130}, false);
  ASSERT_EQ(cut.size(), 3U);
  EXPECT_EQ(cut[0].stage, Stage::Fprop);
  EXPECT_EQ(cut[0].time.n, 1U);
  EXPECT_DOUBLE_EQ(cut[0].time.sum, 20.0 + 50.0 + 10.0);
  EXPECT_DOUBLE_EQ(cut[0].time.median, 50.0);
  EXPECT_DOUBLE_EQ(cut[0].share, 80.0 / 105.0);
  // Inside one record: no duration is known, but its time is.
  const auto inside =
      profiling::kernel_table(two_iterations(), {.begin_ns = 50, .end_ns = 60}, false);
  ASSERT_EQ(inside.size(), 1U);
  EXPECT_EQ(inside[0].time.n, 0U);
  EXPECT_DOUBLE_EQ(inside[0].time.sum, 10.0);
  EXPECT_TRUE(std::isnan(inside[0].time.median));
  EXPECT_TRUE(
      profiling::kernel_table(two_iterations(), {.begin_ns = 91, .end_ns = 91}, false).empty());
}

TEST(ExpertTimes, SumTheRecordsOfAnIteration) {
  const auto times = profiling::expert_times(two_iterations(), Stage::Fprop);
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].expert, 0);
  EXPECT_EQ(times[0].time.n, 2U);
  EXPECT_DOUBLE_EQ(times[0].time.minimum, 30.0);
  EXPECT_DOUBLE_EQ(times[0].time.median, 35.0);
  EXPECT_EQ(times[1].expert, 2);
  EXPECT_DOUBLE_EQ(times[1].time.minimum, 50.0);
  EXPECT_DOUBLE_EQ(times[1].time.maximum, 60.0);  // 50 + 10 in iteration 1
}

TEST(ExpertTimes, ARangeTakesTheTimeInsideIt) {
  const auto times = profiling::expert_times(two_iterations(), Stage::Fprop, {20, 165});
  ASSERT_EQ(times.size(), 2U);
  EXPECT_DOUBLE_EQ(times[0].time.minimum, 20.0);  // 10 to 40, cut
  EXPECT_DOUBLE_EQ(times[0].time.maximum, 40.0);
  EXPECT_DOUBLE_EQ(times[1].time.minimum, 5.0);  // 160 to 210, cut
  EXPECT_DOUBLE_EQ(times[1].time.maximum, 50.0);
}

TEST(ExpertTimes, EmptyWhereNoRecordNamesAnExpert) {
  EXPECT_TRUE(profiling::expert_times(two_iterations(), Stage::Quantize).empty());
}

TEST(NodeMatrix, WithoutGraphOneRowPerStageLayerExpertAndName) {
  const profiling::NodeMatrix matrix = profiling::node_matrix(two_iterations());
  EXPECT_EQ(matrix.iterations, 2);
  ASSERT_EQ(matrix.rows.size(), 3U);
  EXPECT_EQ(matrix.rows[0].label, "cast");
  EXPECT_EQ(matrix.rows[1].label, "gemm [expert 0]");
  EXPECT_EQ(matrix.rows[2].label, "gemm [expert 2]");
  EXPECT_THAT(matrix.duration_ns, ElementsAre(10.0F, 20.0F, 30.0F, 40.0F, 50.0F, 60.0F));
  EXPECT_DOUBLE_EQ(matrix.rows[2].time.median, 55.0);
}

TEST(NodeMatrix, WithGraphOneRowPerNodeInOrderOfFirstStart) {
  Activity activity{.names = {"cast", "gemm"}, .records = {}, .nodes = {}};
  activity.nodes = {{.id = 7, .name = "memset", .stage = Stage::Amax, .dependencies = {}},
                    {.id = 9, .name = "cast", .stage = Stage::Quantize, .dependencies = {7}},
                    {.id = 8, .name = "gemm", .stage = Stage::Fprop, .dependencies = {9}}};
  for (const int iteration : {0, 1, 2}) {
    ActivityRecord cast = record(iteration * 100, 10 + iteration, 0, Stage::Quantize, iteration);
    cast.node_id = 9;
    activity.records.push_back(cast);
    if (iteration == 1) continue;  // the product of replay 1 left no record
    ActivityRecord gemm = record(iteration * 100 + 20, 50, 1, Stage::Fprop, iteration);
    gemm.node_id = 8;
    activity.records.push_back(gemm);
  }
  activity.records.push_back(record(400, 5, 0, Stage::Check, -1));
  const profiling::NodeMatrix matrix = profiling::node_matrix(activity);
  EXPECT_EQ(matrix.iterations, 3);
  ASSERT_EQ(matrix.rows.size(), 3U);
  EXPECT_EQ(matrix.rows[0].node_id, 9U);
  EXPECT_EQ(matrix.rows[1].node_id, 8U);
  EXPECT_EQ(matrix.rows[2].label, "memset");  // never left a record
  EXPECT_EQ(matrix.rows[2].time.n, 0U);
  EXPECT_EQ(matrix.duration_ns[0 * 3 + 2], 12.0F);
  EXPECT_TRUE(std::isnan(matrix.duration_ns[1 * 3 + 1]));
  EXPECT_EQ(matrix.rows[1].time.n, 2U);
  EXPECT_TRUE(std::isnan(matrix.duration_ns[2 * 3 + 0]));
}

TEST(NodeMatrix, SeveralLayersAreLabelled) {
  Activity activity = two_iterations();
  activity.records.back().layer = 1;
  const profiling::NodeMatrix matrix = profiling::node_matrix(activity);
  ASSERT_EQ(matrix.rows.size(), 4U);
  EXPECT_EQ(matrix.rows[2].label, "gemm [layer 0] [expert 2]");
  EXPECT_EQ(matrix.rows[3].label, "gemm [layer 1] [expert 2]");
  // Of an expert layer they are its two projections.
  const profiling::NodeMatrix layer =
      profiling::node_matrix(activity, engine::StepKind::ExpertLayer);
  EXPECT_EQ(layer.rows[2].label, "gemm [layer 0, up] [expert 2]");
  EXPECT_EQ(layer.rows[3].label, "gemm [layer 0, down] [expert 2]");
}

TEST(NodeMatrix, ARecordedIterationOutOfRangeCannotBlowItUp) {
  Activity activity = two_iterations();
  activity.records.push_back(record(500, 1, 0, Stage::Fprop, 2'000'000'000));
  EXPECT_EQ(profiling::node_matrix(activity).iterations, 2);
  // The largest legal iteration with many names: cut to the limit and reported.
  activity.records.push_back(record(600, 1, 0, Stage::Fprop, 99'999));
  for (int i = 0; i < 1000; ++i) {
    activity.records.push_back(record(700 + i, 1, 0, Stage::Fprop, 0, i + 10));
  }
  const profiling::NodeMatrix matrix = profiling::node_matrix(activity);
  EXPECT_LE(matrix.duration_ns.size(), profiling::kMaxMatrixCells);
  EXPECT_EQ(matrix.rows.size() + matrix.omitted_rows, 1004U);
  EXPECT_GT(matrix.omitted_rows, 0U);
}

TEST(MedianPrecision, IsBothEndsWhereAPercentageWouldSayNothing) {
  const auto of = [](const std::vector<double>& samples) {
    return profiling::median_precision(samples);
  };
  const profiling::MedianPrecision vague = of({1e6, 1e6, 1e6, 2e6, 20e6, 300e6, 300e6, 300e6});
  EXPECT_EQ(vague.text, "1.000 to 300.0 ms");
  EXPECT_TRUE(vague.vague);
  const profiling::MedianPrecision known =
      of({99e6, 99e6, 99e6, 100e6, 100e6, 101e6, 101e6, 101e6});
  EXPECT_EQ(known.text, "\u00b11 %");
  EXPECT_FALSE(known.vague);
  EXPECT_EQ(of({1e6, 300e6}).text, "") << "too few";
  EXPECT_EQ(of({1e6, 1e6, 1e6, 2e6, 20e6, 2e9, 2e9, 2e9}).text, "1.000 ms to 2.000 s");
}

}  // namespace
