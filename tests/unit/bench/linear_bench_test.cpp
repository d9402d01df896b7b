#include "engine/bench/linear_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/model/bench_order.h"

namespace engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const ShapeSpec kSmall{.preset = "small", .num_experts = 4, .tokens = 100, .n = 144, .k = 128};

std::string refusal(const LinearBenchOrder& order) {
  const Status status = validate(BenchOrder{.suite = BenchSuite::Linear, .linear = order});
  return status.ok() ? std::string() : status.error().message;
}

/// Two parts with known times; every other turn fails if requested.
class FixedSubject final : public LinearSubject {
 public:
  FixedSubject(std::vector<std::string>& turns, std::string name, bool fails)
      : turns_(turns), name_(std::move(name)), fails_(fails) {}
  std::string name() const override { return name_; }
  Result<std::vector<PartTime>> turn() override {
    turns_.push_back(name_);
    if (fails_ && count_ == 2) return Error{ErrorCode::Internal, "broke in its third turn"};
    const double us = ++count_;
    return std::vector<PartTime>{{.part = LinearPart::Wgrad, .us = 10 * us, .span = {1, 2}},
                                 {.part = LinearPart::Step, .us = us, .span = {3, 4}}};
  }
  Result<std::vector<PartTrace>> trace() override {
    return std::vector<PartTrace>{{LinearPart::Step, 100, 101}, {LinearPart::Step, 200, 204}};
  }

 private:
  std::vector<std::string>& turns_;
  const std::string name_;
  const bool fails_;
  int count_ = 0;
};

class FixedTarget final : public LinearTarget {
 public:
  FixedTarget(std::vector<std::string>& turns, std::string name, bool essential, bool fails = false)
      : turns_(turns), name_(std::move(name)), essential_(essential), fails_(fails) {}
  Result<std::vector<OfferedSubject>> offer(const LinearCase& shape, RunProgress&) override {
    cases.push_back(shape);
    std::vector<OfferedSubject> offered;
    offered.push_back(
        {.name = name_, .subject = std::make_unique<FixedSubject>(turns_, name_, fails_)});
    offered.push_back({.name = name_ + " refused", .subject = nullptr, .missing = "not here"});
    return offered;
  }
  bool essential() const override { return essential_; }
  std::vector<LinearCase> cases;

 private:
  std::vector<std::string>& turns_;
  const std::string name_;
  const bool essential_, fails_;
};

TEST(LinearBenchOrder, LimitsAreNamed) {
  EXPECT_EQ(refusal({.shapes = {kSmall}}), "");
  EXPECT_THAT(refusal({}), HasSubstr("needs one of each"));
  EXPECT_THAT(refusal({.shapes = {kSmall}, .routings = {}}), HasSubstr("needs one of each"));
  EXPECT_THAT(refusal({.shapes = {kSmall}, .routings = {RoutingDistribution::File}}),
              HasSubstr("from a file"));
  EXPECT_THAT(refusal({.shapes = std::vector<ShapeSpec>(33, kSmall)}), HasSubstr("64"));
  ShapeSpec odd = kSmall;
  odd.n = 100;
  EXPECT_NE(refusal({.shapes = {odd}}), "");
  odd = kSmall;
  odd.tokens = 0;
  EXPECT_THAT(refusal({.shapes = {odd}}), HasSubstr("without tokens"));
  EXPECT_FALSE(validate(BenchOrder{.suite = BenchSuite::Linear}).ok());
}

TEST(LinearBenchOrder, EachRecipeIsDistinct) {
  std::set<std::string_view> names;
  for (const LinearBenchRecipe recipe : kLinearBenchRecipes) {
    names.insert(linear_bench_recipe_name(recipe));
    const RunRequest request = linear_bench_request(kSmall, RoutingDistribution::Zipf, recipe);
    EXPECT_TRUE(validate(request).ok());
    EXPECT_EQ(request.routing.distribution, RoutingDistribution::Zipf);
    EXPECT_EQ(request.recipe.split_accumulator, recipe != LinearBenchRecipe::PerTensorFast);
  }
  EXPECT_THAT(names, ElementsAre("bf16", "fp8-block", "fp8-per-tensor", "fp8-per-tensor-fast"));
}

TEST(LinearBenchOrder, StepsCountThreeProducts) {
  const double product = 2.0 * 100 * 144 * 128;
  EXPECT_DOUBLE_EQ(linear_part_flop(LinearPart::Wgrad, kSmall), product);
  EXPECT_DOUBLE_EQ(linear_part_flop(LinearPart::Step, kSmall), 3 * product);
  EXPECT_DOUBLE_EQ(linear_part_flop(LinearPart::StepProgrammatic, kSmall), 3 * product);
  EXPECT_DOUBLE_EQ(linear_part_flop(LinearPart::ForwardStepProgrammatic, kSmall), product);
  EXPECT_DOUBLE_EQ(linear_part_flop(LinearPart::Setup, kSmall), 0);
}

TEST(LinearBench, SubjectsAreInterleavedAndMediansAreOverRounds) {
  std::vector<std::string> turns;
  FixedTarget ours(turns, "ours", true), peer(turns, "peer", false);
  RunProgress progress;
  std::vector<MeasuredLinearRow> rows;
  const LinearBenchOrder order{.shapes = {kSmall}, .routings = {RoutingDistribution::Uniform}};
  const Status done = run_linear_bench({&ours, &peer}, order, 1e-9, progress,
                                       [&](const std::vector<MeasuredLinearRow>& reported) {
                                         rows = reported;
                                         return Status();
                                       });
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(turns, ElementsAre("ours", "peer", "peer", "ours", "ours", "peer", "peer", "ours",
                                 "ours", "peer", "peer", "ours"));
  ASSERT_EQ(rows.size(), 6U);
  const LinearBenchRow& wgrad = rows[0].row;
  EXPECT_EQ(wgrad.part, LinearPart::Wgrad);
  EXPECT_DOUBLE_EQ(wgrad.median_us, 40);  // 20 .. 60: the first turn only warms up
  EXPECT_EQ(wgrad.samples, 5);
  EXPECT_EQ(rows[0].spans.size(), 5U);
  EXPECT_DOUBLE_EQ(wgrad.kernels_us, 0);
  const LinearBenchRow& step = rows[1].row;
  EXPECT_EQ(step.subject, "ours");
  EXPECT_DOUBLE_EQ(step.kernels_us, 150);
  EXPECT_DOUBLE_EQ(step.replay_us, 152.5);
  EXPECT_EQ(rows[2].row.subject, "ours refused");
  EXPECT_EQ(rows[2].row.skipped, "not here");
  EXPECT_EQ(rows[5].row.subject, "peer refused");
  ASSERT_EQ(ours.cases.size(), 1U);
  EXPECT_THAT(ours.cases[0].splits, ElementsAre(32, 32, 16, 20));
}

TEST(LinearBench, AFailingPeerDoesNotAffectTheOthers) {
  std::vector<std::string> turns;
  FixedTarget ours(turns, "ours", true), peer(turns, "peer", false, true);
  RunProgress progress;
  std::map<std::string, std::string> skipped;
  const Status done = run_linear_bench({&peer, &ours}, {.shapes = {kSmall}}, 1e-9, progress,
                                       [&](const std::vector<MeasuredLinearRow>& reported) {
                                         for (const MeasuredLinearRow& row : reported) {
                                           skipped[row.row.subject] = row.row.skipped;
                                         }
                                         return Status();
                                       });
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(skipped["peer"], "broke in its third turn");
  EXPECT_EQ(skipped["ours"], "");
  FixedTarget broken(turns, "ours", true, true);
  EXPECT_FALSE(run_linear_bench({&broken}, {.shapes = {kSmall}}, 1e-9, progress, [](const auto&) {
                 return Status();
               }).ok());
}

TEST(LinearBench, TheCpuReferenceHasEveryPart) {
  const std::unique_ptr<LinearTarget> target = make_cpu_linear_target();
  RunProgress progress;
  int cases = 0;
  const Status done = run_linear_bench(
      {target.get()}, {.shapes = {kSmall}}, 1e-3, progress,
      [&](const std::vector<MeasuredLinearRow>& rows) {
        ++cases;
        EXPECT_EQ(rows.size(), 3 * 5 + 1U);
        for (const MeasuredLinearRow& measured : rows) {
          const LinearBenchRow& row = measured.row;
          if (row.subject == "fp8-per-tensor-fast") {
            EXPECT_THAT(row.skipped, HasSubstr("FP32"));
            continue;
          }
          EXPECT_GT(row.median_us, 0) << row.subject << name_of(row.part);
          EXPECT_LE(row.p5_us, row.median_us);
          const bool step = row.part == LinearPart::Step || row.part == LinearPart::ForwardStep;
          EXPECT_EQ(row.kernels_us > 0, step);
          EXPECT_GE(row.replay_us, row.kernels_us);
        }
        return Status();
      });
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(cases, 2);
}

TEST(LinearBench, StopsWhenCancelled) {
  const std::unique_ptr<LinearTarget> target = make_cpu_linear_target();
  RunProgress progress;
  const Status done = run_linear_bench({target.get()}, {.shapes = {kSmall, kSmall}}, 1e-3, progress,
                                       [&](const std::vector<MeasuredLinearRow>&) {
                                         progress.cancel = true;
                                         return Status();
                                       });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::Cancelled);
}

}  // namespace
}  // namespace engine
