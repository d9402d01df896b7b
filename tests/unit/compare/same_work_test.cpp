// Runs that do different work, or ran on different devices, get no verdict and say why.
#include "profiling/compare/same_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/leaves.h"
#include "engine/model/projections.h"
#include "profiling/compare/comparison_tables.h"
#include "profiling/compare/run_comparison.h"
#include "profiling/export/csv.h"

namespace profiling {
namespace {

using testing::HasSubstr;

/// `iterations` of one record for each of two experts.
RecordedRun run_of(std::int64_t duration, int iterations = 20) {
  RecordedRun run;
  run.request.seed =
      static_cast<std::uint64_t>(duration);  // runs of other times have another setting
  run.result.effective = run.request;
  run.activity.names = {"gemm_kernel"};
  run.result.splits = {3, 5};
  run.result.device.name = "NVIDIA H200";
  std::int64_t now = 0;
  for (int i = 0; i < iterations; ++i) {
    const std::int64_t start = now;
    for (std::int16_t expert = 0; expert < 2; ++expert) {
      run.activity.records.push_back({.start_ns = now,
                                      .end_ns = now + duration + i,
                                      .name = 0,
                                      .iteration = i,
                                      .expert = expert,
                                      .stage = engine::Stage::Fprop});
      now += duration + i;
    }
    run.result.iterations.push_back({start, now - start});
  }
  return run;
}

TEST(SameWork, EverySettingThatChangesTheWorkIsNamed) {
  using Change = std::function<void(engine::RunRequest&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"step linear and expert-layer",
       [](auto& request) { request.step = engine::StepKind::ExpertLayer; }},
      {"shape.num_experts", [](auto& request) { ++request.shape.num_experts; }},
      {"shape.rows", [](auto& request) { request.shape.rows += 16; }},
      {"shape.n", [](auto& request) { request.shape.n += 16; }},
      {"shape.k", [](auto& request) { request.shape.k += 16; }},
      {"layers 1 and 2", [](auto& request) { request.layers = 2; }},
      {"products.passes forward and backward",
       [](auto& request) { request.products.passes = engine::StepPasses::Backward; }},
      {"expert_layer.top_k 0 and 2", [](auto& request) { request.expert_layer.top_k = 2; }},
      {"launch.in_flight 1 and 3", [](auto& request) { request.launch.in_flight = 3; }}};
  for (const auto& [words, change] : changes) {
    RecordedRun a;
    RecordedRun b;
    a.result.effective.products.passes = b.result.effective.products.passes =
        engine::StepPasses::Forward;
    change(b.result.effective);
    const WorkDifference difference = work_difference(a, b);
    EXPECT_TRUE(difference.work) << words;
    EXPECT_THAT(difference.sentence, HasSubstr("A and B do different work: " + words));
  }
}

/// Another value of a leaf for each that it may have one of: every name, and numbers around its
/// own.
std::vector<std::string> other_values(const engine::Leaf& leaf) {
  std::vector<std::string> values;
  for (const engine::EnumName& one : leaf.type.names) values.emplace_back(one.name);
  for (const char* number : {"1", "2", "3", "5", "64", "4096"}) values.emplace_back(number);
  return values;
}

/// Found by the work itself and not by a list of settings: a setting that is added later counts
/// too.
TEST(SameWork, WhateverChangesTheFlopIsOtherWork) {
  RecordedRun a;
  engine::RunRequest& request = a.result.effective;
  request.step = engine::StepKind::ExpertLayer;
  request.expert_layer.top_k = 4;
  const auto flop = [](const engine::RunRequest& one) {
    const double rows = static_cast<double>(one.shape.rows);
    return rows * engine::flop_of_row(one);
  };
  a.result.flop = flop(request);
  ASSERT_GT(a.result.flop, 0.0);
  std::set<std::string> changing;
  engine::for_each_leaf(engine::kType<engine::RunRequest>, &request, [&](const engine::Leaf& leaf) {
    for (const std::string& value : other_values(leaf)) {
      RecordedRun b = a;
      if (!engine::set_leaf(engine::kType<engine::RunRequest>, &b.result.effective, leaf.path,
                            value)) {
        continue;
      }
      b.result.flop = flop(b.result.effective);
      if (std::abs(b.result.flop / a.result.flop - 1.0) <= 0.01) continue;
      changing.insert(leaf.path);
      EXPECT_TRUE(work_difference(a, b).work) << leaf.path << " = " << value;
    }
  });
  EXPECT_THAT(changing, testing::IsSupersetOf({"step", "layers", "shape.n", "shape.k", "shape.rows",
                                               "products.passes", "expert_layer.activation"}));
}

TEST(SameWork, ActivationsOfOneAndOfTwoHalvesAreOtherWork) {
  RecordedRun a = run_of(100);
  a.result.effective.step = engine::StepKind::ExpertLayer;
  RecordedRun b = a;
  a.result.effective.expert_layer.activation = engine::LayerActivation::SwiGlu;
  b.result.effective.expert_layer.activation = engine::LayerActivation::Relu;
  a.result.flop = 8 * engine::flop_of_row(a.result.effective);
  b.result.flop = 8 * engine::flop_of_row(b.result.effective);
  EXPECT_TRUE(work_difference(a, b).work);
  EXPECT_THAT(work_difference(a, b).sentence, HasSubstr("FLOP in a mean step"));
}

TEST(SameWork, RecipeRoutingAndBackendAreSettings) {
  const RecordedRun a = run_of(100);
  RecordedRun b = run_of(200);
  b.result.effective.recipe.scaling = engine::Scaling::Mxfp8;
  b.result.effective.backend = engine::GemmBackend::CublasLtPerExpert;
  b.result.effective.routing.distribution = engine::RoutingDistribution::Zipf;
  b.result.effective.launch.iterations += 5;
  b.result.splits = {1, 7};
  EXPECT_EQ(work_difference(a, b).sentence, "");
}

TEST(SameWork, SnrsOfOtherTensorsAreNotSubtracted) {
  using engine::Product;
  RecordedRun a = run_of(100);
  RecordedRun b = run_of(200);  // another seed
  b.result.effective.recipe.scaling = engine::Scaling::Mxfp8;
  b.result.effective.launch.iterations += 5;
  b.result.device.name = "NVIDIA H100";
  EXPECT_EQ(product_difference(a, b, Product::Fprop), "");
  b.result.effective.weights =
      engine::SyntheticInput{.distribution = engine::Distribution::HeavyTailed};
  EXPECT_THAT(product_difference(a, b, Product::Fprop),
              testing::AllOf(HasSubstr("A and B multiply other tensors: weights."),
                             HasSubstr("choose runs of the same shapes and tensors")));
  // dY is no factor of Y, and Wdown none of a linear step.
  RecordedRun c = a;
  c.result.effective.products.gradients =
      engine::SyntheticInput{.distribution = engine::Distribution::HeavyTailed};
  c.result.effective.expert_layer.down_weights = c.result.effective.products.gradients;
  EXPECT_EQ(product_difference(a, c, Product::Fprop), "");
  EXPECT_THAT(product_difference(a, c, Product::Dgrad), HasSubstr("products.gradients."));
  a.result.effective.step = c.result.effective.step = engine::StepKind::ExpertLayer;
  EXPECT_THAT(product_difference(a, c, Product::Fprop), HasSubstr("expert_layer.down_weights."));
  b = a;
  b.result.effective.shape.k *= 2;
  EXPECT_THAT(product_difference(a, b, Product::Fprop), HasSubstr("shape.k"));
  b.result.effective = a.result.effective;
  b.result.effective.activations = engine::FileInput{.path = "x.npy", .tensor = ""};
  EXPECT_THAT(product_difference(a, b, Product::Wgrad), HasSubstr("x.npy"));
}

TEST(SameWork, RecordedStepsOfOtherRowsAreOtherWork) {
  RecordedRun a = run_of(100);
  RecordedRun b = run_of(100);
  a.result.flop = 8 * engine::flop_of_row(a.result.effective);
  b.result.flop = 12 * engine::flop_of_row(b.result.effective);
  EXPECT_THAT(work_difference(a, b).sentence, HasSubstr("8 and 12 rows in a mean step"));
  b.result.flop = 8.05 * engine::flop_of_row(b.result.effective);  // steps visited unequally
  EXPECT_EQ(work_difference(a, b).sentence, "");
}

TEST(SameWork, NoRowOfDifferentWorkHasAVerdict) {
  const RecordedRun a = run_of(100);
  RecordedRun b = run_of(456);
  ASSERT_EQ(compare_runs({&a}, {&b}, engine::Product::Fprop).step.verdict, TimeVerdict::Slower);
  b.result.effective.shape.rows *= 4;
  RunComparison comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
  const auto all = [&comparison] {
    std::vector<TimeDifference> times = {comparison.step};
    for (const StageRow& row : comparison.stages) times.push_back(row.time);
    for (const KernelRow& row : comparison.kernels) times.push_back(row.time);
    for (const ExpertRow& row : comparison.experts) times.push_back(row.time);
    return times;
  };
  ASSERT_EQ(all().size(), 5U);
  for (const TimeDifference& time : all()) {
    EXPECT_EQ(time.verdict, TimeVerdict::DifferentWork);
    EXPECT_THAT(time.reason, HasSubstr("do different work: shape.rows"));
  }
  EXPECT_THAT(expert_verdicts(comparison), HasSubstr("do different work"));
  const SettingsDifference none;
  EXPECT_THAT(csv_text(comparison_table(comparison, none)), HasSubstr("different work"));
  EXPECT_THAT(csv_text(comparison_table(comparison, none)), testing::Not(HasSubstr("slower")));
  b.result.effective = a.result.effective;
  b.result.device.name = "NVIDIA H100";
  comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
  for (const TimeDifference& time : all()) {
    EXPECT_EQ(time.verdict, TimeVerdict::DifferentDevices);
    EXPECT_THAT(time.reason, HasSubstr("A ran on NVIDIA H200 and B on NVIDIA H100."));
  }
}

TEST(ExpertVerdicts, SayWhyNoneDiffers) {
  const RecordedRun a = run_of(100, 5);
  const RecordedRun b = run_of(65, 5);
  const RunComparison comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
  EXPECT_LT(comparison.experts[0].time.ratio, 0.7);
  EXPECT_EQ(comparison.experts[0].time.doubt, TimeDoubt::FewSamples);
  EXPECT_EQ(expert_verdicts(comparison),
            "0 of 2 experts differ by intervals of the ratio of medians that exclude 1: too few "
            "samples (5 and 5 samples are too few for an interval; take at least 7 of each. Only "
            "traced iterations have records, and a run that is measured gets no more: measure "
            "again, with --iterations 7)");
}

/// A recording gets no more samples: the sentence says what to measure again, and what is decided.
TEST(ExpertVerdicts, SayHowMoreRecordsAreMade) {
  RecordedRun a = run_of(100, 10);
  RecordedRun b = run_of(65, 10);
  for (RecordedRun* run : {&a, &b}) {
    run->result.effective.measure.traced_iterations = 3;
    std::erase_if(run->activity.records,
                  [](const ActivityRecord& record) { return record.iteration >= 3; });
  }
  const RunComparison comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
  ASSERT_TRUE(comparison.step.decided()) << comparison.step.reason;
  ASSERT_FALSE(comparison.stages.empty());
  for (const TimeDifference& time :
       {comparison.stages[0].time, comparison.kernels[0].time, comparison.experts[0].time}) {
    EXPECT_EQ(time.doubt, TimeDoubt::FewSamples);
    EXPECT_EQ(time.needed, 7U);
    EXPECT_THAT(time.reason, HasSubstr("samples are too few"));
    EXPECT_THAT(time.reason, HasSubstr("measure again, with --traced-iterations 7. The step's "
                                       "verdict rests on all 10 and 10 iterations."));
  }
}

TEST(ExpertVerdicts, CountTheReasons) {
  const auto with = [](TimeVerdict verdict, TimeDoubt doubt, const char* reason) {
    ExpertRow row;
    row.time.n_a = row.time.n_b = 20;
    row.time.verdict = verdict;
    row.time.doubt = doubt;
    row.time.reason = reason;
    return row;
  };
  RunComparison comparison;
  comparison.experts = {with(TimeVerdict::Faster, TimeDoubt::None, "B takes less."),
                        with(TimeVerdict::Ambiguous, TimeDoubt::HoldsOne, "0.9 to 1.1"),
                        with(TimeVerdict::Ambiguous, TimeDoubt::HoldsOne, "0.8 to 1.1"),
                        with(TimeVerdict::Ambiguous, TimeDoubt::FewSamples, "5 and 20")};
  EXPECT_EQ(
      expert_verdicts(comparison),
      "1 of 4 experts differ: 1 ambiguous, too few samples; 2 ambiguous, the interval contains 1");
  comparison.experts.resize(1);
  EXPECT_EQ(expert_verdicts(comparison), "1 of 1 experts differ");
}

}  // namespace
}  // namespace profiling
