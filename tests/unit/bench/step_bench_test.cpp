#include "engine/bench/step_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "engine/model/bench_order.h"
#include "engine/model/weight_reuse.h"

namespace engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const StepBenchShape kSmall{
    .shape = {.preset = "small", .num_experts = 4, .rows = 100, .n = 160, .k = 128}};

StepBenchShape with_tokens(StepBenchShape shape, int top_k) {
  shape.top_k = top_k;
  return shape;
}

std::string refusal(const StepBenchOrder& order, BenchSuite suite = BenchSuite::Linear) {
  const Status status = validate(BenchOrder{.suite = suite, .steps = order});
  return status.ok() ? std::string() : status.error().message;
}

/// Two parts with known times; every other turn fails if requested.
class FixedSubject final : public StepSubject {
 public:
  FixedSubject(std::vector<std::string>& turns, std::string name, bool fails)
      : turns_(turns), name_(std::move(name)), fails_(fails) {}
  std::string name() const override { return name_; }
  Result<std::vector<PartTime>> turn() override {
    turns_.push_back(name_);
    if (fails_ && count_ == 2) return Error{ErrorCode::Internal, "broke in its third turn"};
    const double us = ++count_;
    return std::vector<PartTime>{{.part = BenchPart::Wgrad, .us = 10 * us, .span = {1, 2}},
                                 {.part = BenchPart::Step, .us = us, .span = {3, 4}}};
  }
  Result<std::vector<PartTrace>> trace() override {
    return std::vector<PartTrace>{{BenchPart::Step, 100, 101}, {BenchPart::Step, 200, 204}};
  }

 private:
  std::vector<std::string>& turns_;
  const std::string name_;
  const bool fails_;
  int count_ = 0;
};

class FixedTarget final : public StepTarget {
 public:
  FixedTarget(std::vector<std::string>& turns, std::string name, bool essential, bool fails = false)
      : turns_(turns), name_(std::move(name)), essential_(essential), fails_(fails) {}
  Result<std::vector<OfferedSubject>> offer(const StepCase& measured, RunProgress&) override {
    cases.push_back(measured);
    std::vector<OfferedSubject> offered;
    offered.push_back(
        {.name = name_, .subject = std::make_unique<FixedSubject>(turns_, name_, fails_)});
    offered.push_back({.name = name_ + " refused", .subject = nullptr, .missing = "not here"});
    return offered;
  }
  bool essential() const override { return essential_; }
  std::vector<StepCase> cases;

 private:
  std::vector<std::string>& turns_;
  const std::string name_;
  const bool essential_, fails_;
};

TEST(StepBenchOrder, LimitsAreNamed) {
  EXPECT_EQ(refusal({.shapes = {kSmall}}), "");
  EXPECT_THAT(refusal({}), HasSubstr("at least one of each"));
  EXPECT_THAT(refusal({.shapes = {kSmall}, .routings = {}}), HasSubstr("at least one of each"));
  EXPECT_THAT(refusal({.shapes = {kSmall}, .routings = {RoutingDistribution::File}}),
              HasSubstr("from a file"));
  EXPECT_THAT(refusal({.shapes = std::vector<StepBenchShape>(33, kSmall)}), HasSubstr("64"));
  StepBenchShape odd = kSmall;
  odd.shape.n = 100;
  EXPECT_NE(refusal({.shapes = {odd}}), "");
  odd = kSmall;
  odd.shape.rows = 0;
  EXPECT_THAT(refusal({.shapes = {odd}}), HasSubstr("without tokens"));
  EXPECT_FALSE(validate(BenchOrder{.suite = BenchSuite::Linear}).ok());
  // Gate and up are halves of n.
  odd = kSmall;
  odd.shape.n = 144;
  EXPECT_EQ(refusal({.shapes = {odd}}), "");
  EXPECT_THAT(refusal({.shapes = {odd}}, BenchSuite::Layer),
              HasSubstr("steps.shapes[0].shape.n is 144"));
  EXPECT_EQ(refusal({.shapes = {kSmall}}, BenchSuite::Layer), "");
  // Rows are the copies of tokens.
  EXPECT_EQ(refusal({.shapes = {with_tokens(kSmall, 4)}}, BenchSuite::Layer), "");
  EXPECT_THAT(refusal({.shapes = {with_tokens(kSmall, 3)}}, BenchSuite::Layer),
              HasSubstr("steps.shapes[0].shape.rows is 100"));
  EXPECT_THAT(refusal({.shapes = {with_tokens(kSmall, kMaxTopK + 1)}}, BenchSuite::Layer),
              HasSubstr("top_k"));
}

TEST(StepBenchOrder, EachRecipeIsDistinct) {
  for (const StepKind step : {StepKind::Linear, StepKind::ExpertLayer}) {
    std::vector<RunRequest> requests;
    for (const StepBenchRecipe recipe : step_bench_recipes(step)) {
      const RunRequest request = step_bench_request(
          {.step = step, .shape = kSmall, .routing = RoutingDistribution::Zipf}, recipe);
      EXPECT_TRUE(validate(request).ok());
      EXPECT_EQ(request.step, step);
      EXPECT_EQ(request.routing.distribution, RoutingDistribution::Zipf);
      EXPECT_EQ(request.recipe.split_accumulator, recipe != StepBenchRecipe::PerTensorFast);
      EXPECT_EQ(std::ranges::count(requests, request), 0) << name_of(recipe);
      requests.push_back(request);
    }
  }
}

TEST(StepBenchOrder, ALayerIsThatOfItsPresetAndKeepsWeights) {
  StepBenchShape shape = kSmall;
  shape.activation = LayerActivation::ClampedSwiGlu;
  shape.bias = true;
  const RunRequest request =
      step_bench_request({.step = StepKind::ExpertLayer, .shape = shape}, StepBenchRecipe::Block);
  EXPECT_EQ(request.expert_layer.activation, LayerActivation::ClampedSwiGlu);
  EXPECT_TRUE(request.products.bias);
  EXPECT_EQ(request.products.weight_reuse, 2);
  EXPECT_EQ(request.expert_layer.top_k, 0);
  EXPECT_EQ(step_bench_request({.step = StepKind::ExpertLayer, .shape = with_tokens(shape, 4)},
                               StepBenchRecipe::Block)
                .expert_layer.top_k,
            4);
}

TEST(StepBenchOrder, StepsCountTheirProducts) {
  const double product = 2.0 * 100 * 160 * 128;
  const StepBenchCase linear{.shape = kSmall};
  EXPECT_DOUBLE_EQ(bench_part_flop(BenchPart::Wgrad, linear), product);
  EXPECT_DOUBLE_EQ(bench_part_flop(BenchPart::Step, linear), 3 * product);
  EXPECT_DOUBLE_EQ(bench_part_flop(BenchPart::ForwardStep, linear), product);
  // The down projection reads half the columns of H.
  const StepBenchCase layer{.step = StepKind::ExpertLayer, .shape = kSmall};
  EXPECT_DOUBLE_EQ(bench_part_flop(BenchPart::ForwardStep, layer), 1.5 * product);
  EXPECT_DOUBLE_EQ(bench_part_flop(BenchPart::StepKeptWeights, layer), 4.5 * product);
  EXPECT_DOUBLE_EQ(bench_part_flop(BenchPart::Permutation, layer), 0);
  EXPECT_DOUBLE_EQ(bench_part_flop(BenchPart::StepFromTokens, layer), 4.5 * product);
  EXPECT_DOUBLE_EQ(bench_part_flop(BenchPart::StepFromTokensKeptWeights, layer), 4.5 * product);
}

TEST(WeightReuse, IsTheSmallestNumberWhoseMeanIsShorter) {
  EXPECT_EQ(micro_batches_to_win({.quantizing = 9, .keeping = 8, .plain = 10}), 1);
  EXPECT_EQ(micro_batches_to_win({.quantizing = 12, .keeping = 8, .plain = 10}), 3);  // 2: the same
  EXPECT_EQ(micro_batches_to_win({.quantizing = 11, .keeping = 8, .plain = 10}), 2);
  EXPECT_EQ(micro_batches_to_win({.quantizing = 12, .keeping = 10, .plain = 10}), std::nullopt);
  EXPECT_EQ(micro_batches_to_win({.quantizing = 12, .keeping = 11, .plain = 10}), std::nullopt);
  // Beyond what a run can have.
  EXPECT_EQ(micro_batches_to_win({.quantizing = 1e6, .keeping = 8, .plain = 10}), std::nullopt);
  // Keeping cannot be slower: that is noise.
  EXPECT_EQ(micro_batches_to_win({.quantizing = 9, .keeping = 11, .plain = 10}), 1);
  for (int quantizing = 1; quantizing < 60; ++quantizing) {
    const ReuseTimes times{.quantizing = quantizing * 0.5, .keeping = 7, .plain = 10};
    const int from = micro_batches_to_win(times).value();
    const auto mean = [&](int m) {
      return (times.quantizing + (m - 1) * std::min(times.keeping, times.quantizing)) / m;
    };
    EXPECT_LT(mean(from), times.plain) << quantizing;
    if (from == 1) continue;
    EXPECT_GE(mean(from - 1), times.plain) << quantizing;
  }
}

TEST(StepBench, SubjectsAreInterleavedAndMediansAreOverRounds) {
  std::vector<std::string> turns;
  FixedTarget ours(turns, "ours", true), peer(turns, "peer", false);
  RunProgress progress;
  std::vector<MeasuredStepRow> rows;
  const StepBenchOrder order{.shapes = {kSmall}, .routings = {RoutingDistribution::Uniform}};
  const Status done = run_step_bench({&ours, &peer}, StepKind::Linear, order, 1e-9, progress,
                                     [&](const std::vector<MeasuredStepRow>& reported) {
                                       rows = reported;
                                       return Status();
                                     });
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(turns, ElementsAre("ours", "peer", "peer", "ours", "ours", "peer", "peer", "ours",
                                 "ours", "peer", "peer", "ours"));
  ASSERT_EQ(rows.size(), 6U);
  const StepBenchRow& wgrad = rows[0].row;
  EXPECT_EQ(wgrad.part, BenchPart::Wgrad);
  EXPECT_DOUBLE_EQ(wgrad.median_us, 40);  // 20 .. 60: the first turn only warms up
  EXPECT_EQ(wgrad.samples, 5);
  EXPECT_EQ(rows[0].spans.size(), 5U);
  EXPECT_DOUBLE_EQ(wgrad.kernels_us, 0);
  const StepBenchRow& step = rows[1].row;
  EXPECT_EQ(step.subject, "ours");
  EXPECT_DOUBLE_EQ(step.kernels_us, 150);
  EXPECT_DOUBLE_EQ(step.replay_us, 152.5);
  EXPECT_EQ(rows[2].row.subject, "ours refused");
  EXPECT_EQ(rows[2].row.skipped, "not here");
  EXPECT_EQ(rows[5].row.subject, "peer refused");
  ASSERT_EQ(ours.cases.size(), 1U);
  EXPECT_THAT(ours.cases[0].splits, ElementsAre(32, 32, 16, 20));
}

TEST(StepBench, AFailingPeerDoesNotAffectTheOthers) {
  std::vector<std::string> turns;
  FixedTarget ours(turns, "ours", true), peer(turns, "peer", false, true);
  RunProgress progress;
  std::map<std::string, std::string> skipped;
  const Status done = run_step_bench({&peer, &ours}, StepKind::Linear, {.shapes = {kSmall}}, 1e-9,
                                     progress, [&](const std::vector<MeasuredStepRow>& reported) {
                                       for (const MeasuredStepRow& row : reported) {
                                         skipped[row.row.subject] = row.row.skipped;
                                       }
                                       return Status();
                                     });
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(skipped["peer"], "broke in its third turn");
  EXPECT_EQ(skipped["ours"], "");
  FixedTarget broken(turns, "ours", true, true);
  EXPECT_FALSE(run_step_bench({&broken}, StepKind::Linear, {.shapes = {kSmall}}, 1e-9, progress,
                              [](const auto&) { return Status(); })
                   .ok());
}

TEST(StepBench, TheCpuReferenceHasEveryPart) {
  const std::unique_ptr<StepTarget> target = make_cpu_step_target();
  RunProgress progress;
  int cases = 0;
  const Status done = run_step_bench(
      {target.get()}, StepKind::Linear, {.shapes = {kSmall}}, 1e-3, progress,
      [&](const std::vector<MeasuredStepRow>& rows) {
        ++cases;
        EXPECT_EQ(rows.size(), 3 * 5 + 3U);
        for (const MeasuredStepRow& measured : rows) {
          const StepBenchRow& row = measured.row;
          if (row.subject == "fp8-per-tensor-fast") {
            EXPECT_THAT(row.skipped, HasSubstr("FP32"));
            continue;
          }
          if (row.subject == name_of(StepBenchRecipe::OwnBlock) ||
              row.subject == name_of(StepBenchRecipe::OwnBlockAddsDw)) {
            EXPECT_THAT(row.skipped, HasSubstr("CUDA device"));
            continue;
          }
          EXPECT_GT(row.median_us, 0) << row.subject << name_of(row.part);
          EXPECT_LE(row.p5_us, row.median_us);
          const bool step = row.part == BenchPart::Step || row.part == BenchPart::ForwardStep;
          EXPECT_EQ(row.kernels_us > 0, step);
          EXPECT_GE(row.replay_us, row.kernels_us);
        }
        return Status();
      });
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(cases, 2);
}

std::map<std::string, std::vector<BenchPart>> layer_parts(const StepBenchShape& shape) {
  const std::unique_ptr<StepTarget> target = make_cpu_step_target();
  RunProgress progress;
  std::map<std::string, std::vector<BenchPart>> parts;
  const Status done = run_step_bench(
      {target.get()}, StepKind::ExpertLayer,
      {.shapes = {shape}, .routings = {RoutingDistribution::Zipf}}, 1e-3, progress,
      [&](const std::vector<MeasuredStepRow>& rows) {
        for (const MeasuredStepRow& measured : rows) {
          const StepBenchRow& row = measured.row;
          if (!row.skipped.empty()) {
            const bool own = row.subject == name_of(StepBenchRecipe::OwnBlock);
            EXPECT_THAT(row.skipped, HasSubstr(own ? "CUDA device" : "no fast accumulation"));
            EXPECT_TRUE(own || row.subject == name_of(StepBenchRecipe::PerTensorFast));
            continue;
          }
          parts[row.subject].push_back(row.part);
          EXPECT_EQ(row.step, StepKind::ExpertLayer);
          EXPECT_GT(row.median_us, 0) << row.subject << name_of(row.part);
          EXPECT_GT(row.kernels_us, 0);
          EXPECT_GE(row.replay_us, row.kernels_us);
          EXPECT_EQ(row.beats_bf16_from >= 0, keeps_weights(row.part));
          EXPECT_EQ(row.top_k, permutes(row.part) ? shape.top_k : 0) << name_of(row.part);
        }
        return Status();
      });
  EXPECT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(parts.size(), 4U);
  return parts;
}

TEST(StepBench, TheCpuReferenceHasEveryPartOfALayer) {
  using enum BenchPart;
  for (const auto& [subject, of] : layer_parts(kSmall)) {
    if (subject == "bf16") {
      EXPECT_THAT(of, ElementsAre(ForwardStep, Step));
    } else {
      EXPECT_THAT(of, ElementsAre(ForwardStep, Step, StepKeptWeights)) << subject;
    }
  }
}

TEST(StepBench, ALayerWithTopKIsAlsoTimedFromTokens) {
  using enum BenchPart;
  for (const auto& [subject, of] : layer_parts(with_tokens(kSmall, 4))) {
    if (subject == "bf16") {
      EXPECT_THAT(of, ElementsAre(ForwardStep, Step, StepFromTokens));
    } else {
      EXPECT_THAT(of, ElementsAre(ForwardStep, Step, StepKeptWeights, StepFromTokens,
                                  StepFromTokensKeptWeights))
          << subject;
    }
  }
}

/// A layer's parts with fixed times.
class FixedLayer final : public StepTarget {
 public:
  struct Of {
    const char* name;
    double step, kept;                   // 0 = has none
    double tokens = 0, tokens_kept = 0;  // likewise, from tokens
  };
  explicit FixedLayer(std::vector<Of> of) : of_(std::move(of)) {}
  Result<std::vector<OfferedSubject>> offer(const StepCase&, RunProgress&) override {
    std::vector<OfferedSubject> offered;
    for (const Of& one : of_) {
      offered.push_back({.name = one.name, .subject = std::make_unique<Subject>(one)});
    }
    return offered;
  }

 private:
  class Subject final : public StepSubject {
   public:
    explicit Subject(const Of& of) : of_(of) {}
    std::string name() const override { return of_.name; }
    Result<std::vector<PartTime>> turn() override {
      std::vector<PartTime> times;
      const auto add = [&](BenchPart part, double us) {
        if (us > 0) times.push_back({.part = part, .us = us});
      };
      add(BenchPart::Step, of_.step);
      add(BenchPart::StepKeptWeights, of_.kept);
      add(BenchPart::StepFromTokens, of_.tokens);
      add(BenchPart::StepFromTokensKeptWeights, of_.tokens_kept);
      return times;
    }

   private:
    const Of of_;
  };
  const std::vector<Of> of_;
};

std::map<std::string, int> winners(std::vector<FixedLayer::Of> of,
                                   BenchPart kept = BenchPart::StepKeptWeights) {
  FixedLayer target(std::move(of));
  RunProgress progress;
  std::map<std::string, int> from;
  const Status done =
      run_step_bench({&target}, StepKind::ExpertLayer,
                     {.shapes = {kSmall}, .routings = {RoutingDistribution::Uniform}}, 1e-9,
                     progress, [&](const std::vector<MeasuredStepRow>& rows) {
                       for (const MeasuredStepRow& measured : rows) {
                         if (measured.row.part == kept) {
                           from[measured.row.subject] = measured.row.beats_bf16_from;
                         } else if (!keeps_weights(measured.row.part)) {
                           EXPECT_EQ(measured.row.beats_bf16_from, -1);
                         }
                       }
                       return Status();
                     });
  EXPECT_TRUE(done.ok());
  return from;
}

TEST(StepBench, SaysFromHowManyMicroBatchesARecipeBeatsBf16) {
  using Winners = std::map<std::string, int>;
  EXPECT_EQ(winners({{"bf16", 10, 0},
                     {"fp8-block", 12, 8},
                     {"fp8-delayed", 9, 8},
                     {"fp8-per-tensor", 12, 11},
                     {"a peer", 12, 8}}),
            (Winners{{"fp8-block", 3}, {"fp8-delayed", 1}, {"fp8-per-tensor", 0}, {"a peer", -1}}));
  // From tokens it is compared with BF16 from tokens.
  const std::vector<FixedLayer::Of> from_tokens = {{"bf16", 10, 0, 11, 0},
                                                   {"fp8-block", 12, 8, 12, 10}};
  EXPECT_EQ(winners(from_tokens), (Winners{{"fp8-block", 3}}));
  EXPECT_EQ(winners(from_tokens, BenchPart::StepFromTokensKeptWeights),
            (Winners{{"fp8-block", 3}}));
  EXPECT_EQ(winners({{"bf16", 10, 0, 11, 0}, {"fp8-block", 12, 8, 12, 11}},
                    BenchPart::StepFromTokensKeptWeights),
            (Winners{{"fp8-block", 0}}));
  // Not known without BF16.
  EXPECT_EQ(winners({{"fp8-block", 12, 8}}), (Winners{{"fp8-block", -1}}));
}

TEST(StepBench, StopsWhenCancelled) {
  const std::unique_ptr<StepTarget> target = make_cpu_step_target();
  RunProgress progress;
  const Status done = run_step_bench({target.get()}, StepKind::Linear, {.shapes = {kSmall, kSmall}},
                                     1e-3, progress, [&](const std::vector<MeasuredStepRow>&) {
                                       progress.cancel = true;
                                       return Status();
                                     });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::Cancelled);
}

}  // namespace
}  // namespace engine
