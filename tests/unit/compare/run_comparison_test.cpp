// Runs side by side: what is matched, what is left out, and why.
#include "profiling/compare/run_comparison.h"
#include "engine/model/leaves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "engine/model/projections.h"
#include "profiling/compare/comparison_tables.h"
#include "profiling/document/text.h"

namespace {

using engine::Stage;
using profiling::ActivityRecord;
using profiling::compare_runs;
using profiling::RecordedRun;
using profiling::RunComparison;
using profiling::TimeVerdict;
using testing::HasSubstr;

/// 20 iterations of a quantize span of `scale` * 10 ns and one fprop record per expert of
/// `scale` * 100 ns, if records name experts. Runs of another scale have another setting.
RecordedRun run_of(double scale, bool experts) {
  RecordedRun run;
  run.request.launch.deadline_factor = 10.0 * scale;
  run.result.effective = run.request;
  run.activity.names = {"quantize_kernel", "gemm_kernel"};
  run.result.activity_method = "made by hand";
  run.result.splits = {3, 5};
  run.result.experts.resize(2);
  run.result.experts[0].fprop.snr_db = 40.0 * scale;
  run.result.experts[1].fprop.snr_db = std::numeric_limits<double>::infinity();
  std::int64_t now = 0;
  const auto add = [&](std::uint32_t name, Stage stage, int iteration, int expert, double ns) {
    const auto duration = static_cast<std::int64_t>(ns * scale);
    ActivityRecord record;
    record.start_ns = now;
    record.end_ns = now + duration;
    record.name = name;
    record.stage = stage;
    record.iteration = iteration;
    record.expert = static_cast<std::int16_t>(expert);
    run.activity.records.push_back(record);
    now += duration;
  };
  add(1, Stage::Fprop, -1, 0, 1e6);  // set-up does not count
  for (int i = 0; i < 20; ++i) {
    const std::int64_t start = now;
    add(0, Stage::Quantize, i, -1, 10.0 + 0.1 * i);
    for (int expert = 0; expert < 2; ++expert) {
      add(1, Stage::Fprop, i, experts ? expert : -1, 100.0 + i);
    }
    run.result.iterations.push_back({start, now - start});
  }
  return run;
}

TEST(CompareRuns, MatchesStagesKernelsAndExperts) {
  const RecordedRun a = run_of(1.0, true);
  const RecordedRun b = run_of(2.0, true);
  const RunComparison comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
  EXPECT_EQ(comparison.step.verdict, TimeVerdict::Slower) << comparison.step.reason;
  EXPECT_NEAR(comparison.step.ratio, 2.0, 0.01);
  ASSERT_EQ(comparison.stages.size(), 2U);
  EXPECT_EQ(comparison.stages[1].stage, Stage::Fprop);
  EXPECT_DOUBLE_EQ(comparison.stages[1].time.median_a, 219.0);  // both experts of one iteration
  ASSERT_EQ(comparison.kernels.size(), 2U);
  EXPECT_EQ(comparison.kernels[0].name, "gemm_kernel");  // takes most
  EXPECT_EQ(comparison.kernels[0].time.n_a, 40U);
  ASSERT_EQ(comparison.experts.size(), 2U);
  EXPECT_EQ(comparison.no_expert_time, "");
  EXPECT_EQ(comparison.experts[1].tokens_a, 5);
  EXPECT_EQ(comparison.experts[0].time.verdict, TimeVerdict::Slower);
  EXPECT_EQ(comparison.experts[0].snr_b_db, 80.0);
}

TEST(CompareRuns, ADifferenceBetweenEqualSettingsIsNoEffect) {
  const RecordedRun a = run_of(1.0, true);
  RecordedRun b = run_of(2.0, true);
  const RunComparison other = compare_runs({&a}, {&b}, engine::Product::Fprop);
  EXPECT_EQ(other.step.verdict, TimeVerdict::Slower);
  EXPECT_THAT(other.step.reason, HasSubstr("only interleaved blocks exclude it"));
  b.request = a.request;
  b.result.effective = a.request;
  const RunComparison same = compare_runs({&a}, {&b}, engine::Product::Fprop);
  EXPECT_EQ(same.step.doubt, profiling::TimeDoubt::SameSettings);
  EXPECT_THAT(same.step.reason, HasSubstr("Both runs have the same settings, so this is how the "
                                          "machine changed between them. B takes"));
  EXPECT_EQ(same.stages[1].time.verdict, TimeVerdict::Ambiguous);
  EXPECT_EQ(same.kernels[0].time.verdict, TimeVerdict::Ambiguous);
  EXPECT_EQ(same.experts[0].time.verdict, TimeVerdict::Ambiguous);
  // Blocks decide: drift affects both sides of them.
  const std::vector<const RecordedRun*> as(6, &a);
  const std::vector<const RecordedRun*> bs(6, &b);
  EXPECT_EQ(compare_runs(as, bs, engine::Product::Fprop).step.verdict, TimeVerdict::Slower);
}

/// Also in blocks: what was requested had no effect, so no time is one of it.
TEST(CompareRuns, RequestsThatRanTheSameStepGetNoVerdict) {
  RecordedRun a = run_of(1.0, true);
  RecordedRun b = run_of(2.0, true);
  b.request = a.request;
  a.request.workspace = engine::WorkspaceStrategy::Shared;
  b.request.workspace = engine::WorkspaceStrategy::PerLayout;
  b.result.effective = a.result.effective;
  ASSERT_EQ(a.result.effective.workspace, engine::WorkspaceStrategy::PerMatmul);
  a.result.deviations = {{.field = "workspace",
                          .requested = "shared",
                          .effective = "per-matmul",
                          .reason = "OpenBLAS needs no workspace"}};
  const std::vector<const RecordedRun*> as(6, &a);
  const std::vector<const RecordedRun*> bs(6, &b);
  const std::string reason =
      "workspace: A requested shared, B per-layout, both ran per-matmul (OpenBLAS needs no "
      "workspace).";
  for (const auto& [of_a, of_b] :
       {std::pair{profiling::RunSide{&a}, profiling::RunSide{&b}}, std::pair{as, bs}}) {
    const RunComparison comparison = compare_runs(of_a, of_b, engine::Product::Fprop);
    EXPECT_EQ(comparison.step.verdict, TimeVerdict::SameStep);
    EXPECT_EQ(comparison.step.reason, reason);
    EXPECT_EQ(comparison.stages[1].time.verdict, TimeVerdict::SameStep);
    EXPECT_EQ(comparison.kernels[0].time.verdict, TimeVerdict::SameStep);
    EXPECT_EQ(comparison.experts[0].time.verdict, TimeVerdict::SameStep);
    const profiling::SettingsDifference settings = settings_difference(a, b);
    EXPECT_EQ(settings.differing(), 1U);
    const std::string shown =
        profiling::text_of(profiling::difference_document(comparison, settings));
    EXPECT_THAT(shown, HasSubstr("A and B ran the same step: " + reason));
    EXPECT_THAT(shown, HasSubstr("A: workspace: per-matmul instead of shared: OpenBLAS needs"));
    EXPECT_THAT(shown, testing::ContainsRegex("workspace +per-matmul +per-matmul +effective"));
    EXPECT_THAT(shown, testing::Not(HasSubstr("ambiguous")));
  }
  // Anything else that differs can be what the times differ by.
  b.result.effective.seed = 9;
  EXPECT_EQ(compare_runs({&a}, {&b}, engine::Product::Fprop).step.verdict, TimeVerdict::Slower);
}

TEST(CompareRuns, LaunchesOfOtherRowsAreNotCompared) {
  const RecordedRun a = run_of(1.0, true);
  RecordedRun b = run_of(2.0, true);
  b.result.splits = {4, 4};
  const RunComparison comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
  // Two launches per iteration against one.
  EXPECT_EQ(comparison.kernels[0].time.doubt, profiling::TimeDoubt::OtherRows);
  EXPECT_EQ(comparison.kernels[0].time.verdict, TimeVerdict::DifferentWork);
  const std::string shown = profiling::text_of(profiling::time_differences_table(comparison));
  EXPECT_THAT(shown, testing::HasSubstr("other work"));
  EXPECT_EQ(comparison.kernels[1].time.verdict, TimeVerdict::Slower) << "one for all experts";
  EXPECT_EQ(comparison.stages[1].time.verdict, TimeVerdict::Slower);
}

TEST(CompareRuns, WorkOfStepsOfTwoKindsIsCalledAsInItsOwnRun) {
  RecordedRun linear = run_of(1.0, false);
  RecordedRun layer = run_of(2.0, false);
  layer.result.effective.step = engine::StepKind::ExpertLayer;
  const auto tensors = [](engine::Projection projection) {
    return engine::written(engine::tensors_of(engine::StepKind::ExpertLayer, projection).y);
  };
  bool up = false;
  for (ActivityRecord& record : layer.activity.records) {
    if (record.stage != Stage::Fprop) continue;
    up = !up;
    record.writes = tensors(up ? engine::Projection::Up : engine::Projection::Down);
  }
  for (ActivityRecord& record : linear.activity.records) {
    if (record.stage == Stage::Fprop) record.writes = engine::written(engine::StepTensor::Y);
  }
  const RunComparison comparison = compare_runs({&linear}, {&layer}, engine::Product::Fprop);
  std::set<std::string> names;
  for (const profiling::KernelRow& row : comparison.kernels) {
    EXPECT_TRUE(names.insert(row.operation + row.name).second) << row.operation << row.name;
  }
  EXPECT_TRUE(std::ranges::any_of(names, [](const std::string& name) {
    return name.find("fprop up") != std::string::npos;
  })) << testing::PrintToString(names);
}

TEST(CompareRuns, SaysWhyThereIsNoTimePerExpert) {
  const RecordedRun a = run_of(1.0, true);
  const RecordedRun b = run_of(2.0, false);
  const RunComparison comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
  EXPECT_THAT(comparison.no_expert_time,
              HasSubstr("A has records that name the expert; B has no time per expert: no record "
                        "of it names an expert"));
  EXPECT_EQ(comparison.experts[0].time.n_a, 0U);
  EXPECT_EQ(comparison.experts[0].snr_a_db, 40.0);
}

TEST(CompareRuns, ListsTheStampsOfASideThatAloneHasThem) {
  RecordedRun a = run_of(1.0, false);
  const RecordedRun b = run_of(1.0, false);
  for (int expert = 0; expert < 2; ++expert) {
    a.result.measurements.experts.push_back({.method = engine::ExpertMethod::Stamps,
                                             .stage = Stage::Quantize,
                                             .expert = expert,
                                             .samples = 20,
                                             .median_ns = 50.0,
                                             .p5_ns = 45.0,
                                             .p95_ns = 55.0});
  }
  const RunComparison comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
  EXPECT_THAT(comparison.no_expert_time,
              HasSubstr("A has in-kernel stamps of quantize; B has no time per expert"));
  EXPECT_DOUBLE_EQ(comparison.experts[1].time.median_a, 50.0);
  EXPECT_EQ(comparison.experts[1].time.n_b, 0U);
  EXPECT_FALSE(comparison.experts[1].time.decided());
}

TEST(CompareRuns, TimesExpertsByAMethodThatBothHave) {
  RecordedRun a = run_of(1.0, false);
  RecordedRun b = run_of(1.0, false);
  b.request.seed = 2;
  b.result.effective = b.request;
  const auto add = [](RecordedRun& run, engine::ExpertMethod method, Stage stage, double median) {
    for (int expert = 0; expert < 2; ++expert) {
      run.result.measurements.experts.push_back({.method = method,
                                                 .stage = stage,
                                                 .expert = expert,
                                                 .samples = 20,
                                                 .median_ns = median,
                                                 .p5_ns = 0.95 * median,
                                                 .p95_ns = 1.05 * median});
    }
  };
  add(a, engine::ExpertMethod::Stamps, Stage::Quantize, 50.0);
  add(a, engine::ExpertMethod::Isolated, Stage::Quantize, 100.0);
  add(a, engine::ExpertMethod::Isolated, Stage::Fprop, 100.0);
  add(b, engine::ExpertMethod::Isolated, Stage::Quantize, 60.0);
  add(b, engine::ExpertMethod::Isolated, Stage::Fprop, 80.0);
  RunComparison comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
  EXPECT_EQ(comparison.expert_method, "isolated launches of fprop");
  EXPECT_EQ(comparison.no_expert_time, "");
  EXPECT_DOUBLE_EQ(comparison.experts[1].time.ratio, 0.8);
  EXPECT_EQ(comparison.experts[1].time.verdict, TimeVerdict::Faster);
  // Overlapping spreads decide nothing.
  b.result.measurements.experts[3].p95_ns = 96.0;
  comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
  EXPECT_EQ(comparison.experts[1].time.verdict, TimeVerdict::Ambiguous);
}

TEST(CompareRuns, WhatTheClockCanExplainIsNoDifference) {
  RecordedRun a = run_of(1.0, true);
  RecordedRun b = run_of(1.5, true);
  a.power.samples.push_back({.time_ns = 1'000'050, .sm_clock_mhz = 1980});
  b.power.samples.push_back({.time_ns = 1'500'050, .sm_clock_mhz = 1200});
  const RunComparison comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
  EXPECT_THAT(comparison.step.reason, HasSubstr("1980 MHz for A and 1200 MHz for B"));
  EXPECT_EQ(comparison.kernels[0].time.verdict, TimeVerdict::Ambiguous);
  EXPECT_EQ(comparison.experts[0].time.verdict, TimeVerdict::Ambiguous);
}

TEST(CompareRuns, AKernelOfOneSideIsOnlyThere) {
  RecordedRun a = run_of(1.0, true);
  RecordedRun b = run_of(1.0, true);
  b.activity.names[0] = "other_kernel";
  a.result.backward = false;
  const RunComparison comparison = compare_runs({&a}, {&b}, engine::Product::Wgrad);
  EXPECT_EQ(comparison.kernels.size(), 3U);
  const auto verdict_of = [&](const char* name) {
    return std::ranges::find(comparison.kernels, name, &profiling::KernelRow::name)->time.verdict;
  };
  EXPECT_EQ(verdict_of("other_kernel"), TimeVerdict::OnlyB);
  EXPECT_EQ(verdict_of("quantize_kernel"), TimeVerdict::OnlyA);
  EXPECT_TRUE(std::isnan(comparison.experts[0].snr_a_db));
}

TEST(CompareRuns, OneKernelInTwoOperationsIsTwoRowsIfBothSidesKnowThem) {
  RecordedRun a = run_of(1.0, true);
  RecordedRun b = run_of(1.0, true);
  const std::size_t before = compare_runs({&a}, {&b}, engine::Product::Fprop).kernels.size();
  bool first = true;
  for (RecordedRun* run : {&a, &b}) {
    run->result.effective.step = engine::StepKind::ExpertLayer;
    for (ActivityRecord& record : run->activity.records) {
      if (record.stage != engine::Stage::Quantize) continue;
      record.writes = engine::written(
          record.iteration % 2 == 0 ? engine::StepTensor::X : engine::StepTensor::WUp,
          engine::CopyForms::Rowwise);
    }
    const RunComparison comparison = compare_runs({&a}, {&b}, engine::Product::Fprop);
    EXPECT_EQ(comparison.kernels.size(), first ? before : before + 1);
    EXPECT_EQ(std::ranges::count(comparison.kernels, "quantize Wup, rowwise",
                                 &profiling::KernelRow::operation),
              first ? 0 : 1);
    first = false;
  }
}

TEST(CompareRuns, TheRunsOfASideAreBlocks) {
  const RecordedRun a = run_of(1.0, true);
  const RecordedRun b = run_of(0.5, true);
  const RunComparison comparison =
      compare_runs({&a, &a, &a, &a, &a, &a}, {&b, &b, &b, &b, &b, &b}, engine::Product::Fprop);
  EXPECT_EQ(comparison.step.n_a, 120U);
  EXPECT_EQ(comparison.step.control_ratio, 1.0);
  EXPECT_DOUBLE_EQ(comparison.step.block_p, 2.0 / 924.0);
  EXPECT_EQ(comparison.step.verdict, TimeVerdict::Faster) << comparison.step.reason;
  EXPECT_EQ(comparison.kernels[0].time.verdict, TimeVerdict::Faster);
}

TEST(CompareRuns, ASingleBlockDecidesNothing) {
  RecordedRun a = run_of(1.0, true);
  RecordedRun b = run_of(0.5, true);
  for (RecordedRun* run : {&a, &b}) run->group.kind = profiling::GroupKind::Interleaved;
  for (const profiling::RunSide& side :
       {profiling::RunSide{&b}, profiling::RunSide{&b, &b, &b, &b}}) {
    const RunComparison comparison = compare_runs({&a}, side, engine::Product::Fprop);
    EXPECT_EQ(comparison.step.verdict, TimeVerdict::Ambiguous);
    EXPECT_THAT(comparison.step.reason, HasSubstr("too few"));
    EXPECT_EQ(comparison.kernels[0].time.verdict, TimeVerdict::Ambiguous);
  }
}

TEST(CompareRuns, EmptyRunsHaveNoVerdict) {
  const RecordedRun nothing;
  const RunComparison comparison = compare_runs({&nothing}, {&nothing}, engine::Product::Fprop);
  EXPECT_EQ(comparison.step.verdict, TimeVerdict::Ambiguous);
  EXPECT_TRUE(std::isnan(comparison.step.ratio));
  EXPECT_TRUE(comparison.stages.empty());
  EXPECT_THAT(comparison.no_expert_time, HasSubstr("Neither run has a record"));
}

TEST(SettingsDifference, ListsEachDifferenceOnce) {
  RecordedRun a;
  RecordedRun b;
  a.request.shape.rows = 64;
  b.request.shape.rows = 128;
  a.result.effective = a.request;
  b.result.effective = b.request;
  b.result.effective.seed = 9;  // differs from the requested one
  b.result.device.driver = "580.1";
  const profiling::SettingsDifference difference = settings_difference(a, b);
  ASSERT_EQ(difference.rows.size(), 3U);
  EXPECT_EQ(difference.rows[0].field, "shape.rows");
  EXPECT_EQ(difference.rows[0].group, "requested");
  EXPECT_EQ(difference.rows[0].b, "128");
  EXPECT_EQ(difference.rows[1].field, "seed");
  EXPECT_EQ(difference.rows[1].group, "effective");
  EXPECT_EQ(difference.rows[2].field, "driver");
  const std::size_t leaves = engine::leaf_texts(a.request).size();
  EXPECT_EQ(difference.same, (leaves - 1) + (leaves - 2) + 10U);
}

/// An iteration is throttled by the reading before it, here as on every card.
TEST(CompareRuns, ThrottlingJustBeforeTheIterationsCounts) {
  // 1.5 % apart: little enough for the clock to be the reason.
  const auto run = [](std::int64_t duration) {
    RecordedRun made;
    for (std::int64_t i = 0; i < 40; ++i) {
      made.result.iterations.push_back({1'000 + 2'000 * i, duration + i % 3});
    }
    made.power.samples = {{.time_ns = 990, .sm_clock_mhz = 1800},
                          {.time_ns = 1'050, .sm_clock_mhz = 1800}};
    return made;
  };
  const RecordedRun a = run(1'000);
  RecordedRun b = run(1'015);
  EXPECT_THAT(compare_runs({&a}, {&b}, engine::Product::Fprop).step.reason,
              testing::Not(HasSubstr("throttled")));
  b.power.samples.front().clock_reasons = 4;  // the power cap
  EXPECT_THAT(compare_runs({&a}, {&b}, engine::Product::Fprop).step.reason,
              HasSubstr("throttled for one side only"));
}

}  // namespace
