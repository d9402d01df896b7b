// The device as subjects of the benchmarks of steps: every recipe has every part, on small shapes.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/bench/step_bench.h"

namespace engine {
namespace {

/// Returns preset values for every iteration.
class CountingTracer final : public ReplayTracer, public StepObserver {
 public:
  StepObserver& observer() override { return *this; }
  std::vector<TracedReplay> take() override { return std::move(replays_); }
  void begin_run() override { replays_.clear(); }
  void begin_iteration(int iteration) override {
    replays_.push_back({.iteration = iteration, .kernels_us = 10, .replay_us = 11});
  }

 private:
  std::vector<TracedReplay> replays_;
};

using Parts = std::map<std::string, std::set<BenchPart>>;

/// Runs the suite on small shapes; the parts of each subject, with what holds for every row.
Parts parts_on_device(StepKind step, int top_k, const std::set<BenchPart>& recorded, int& cases) {
  CountingTracer tracer;
  Result<CudaStepTarget> made = make_cuda_step_target("", &tracer);
  if (!made.ok()) return {};
  const StepBenchOrder order{
      .shapes = {{.shape = {.preset = "small", .num_experts = 8, .rows = 1024, .n = 512, .k = 512},
                  .top_k = top_k},
                 {.shape = {.preset = "2880", .num_experts = 4, .rows = 512, .n = 512, .k = 2880},
                  .activation = LayerActivation::ClampedSwiGlu,
                  .bias = true,
                  .top_k = top_k}},
      .routings = {RoutingDistribution::Zipf, RoutingDistribution::OneHot}};
  RunProgress progress;
  Parts parts;
  const auto check = [&](const std::vector<MeasuredStepRow>& rows) {
    ++cases;
    for (const MeasuredStepRow& measured : rows) {
      const StepBenchRow& row = measured.row;
      EXPECT_EQ(row.skipped, "") << row.subject << ", " << row.shape.preset;
      if (!row.skipped.empty()) continue;
      parts[row.subject].insert(row.part);
      EXPECT_GT(row.median_us, 0) << row.subject << ' ' << name_of(row.part);
      EXPECT_DOUBLE_EQ(row.kernels_us, recorded.contains(row.part) ? 10 : 0);
      EXPECT_EQ(row.beats_bf16_from >= 0, keeps_weights(row.part));
      EXPECT_EQ(row.top_k, permutes(row.part) ? top_k : 0) << name_of(row.part);
    }
    return Status();
  };
  const Status done =
      run_step_bench({made.value().target.get()}, step, order, 1e-3, progress, check);
  EXPECT_TRUE(done.ok()) << done.error().message;
  return parts;
}

bool no_device(std::string& why) {
  const Result<CudaStepTarget> made = make_cuda_step_target("", nullptr);
  if (!made.ok()) why = made.error().message;
  return !made.ok();
}

using enum BenchPart;

TEST(CudaStepBench, EveryRecipeOfALinearStepHasEveryPart) {
  std::string why;
  if (no_device(why)) GTEST_SKIP() << why;
  int cases = 0;
  const Parts parts = parts_on_device(StepKind::Linear, 0, {ForwardStep, Step}, cases);
  EXPECT_EQ(cases, 4);
  EXPECT_EQ(parts.size(), step_bench_recipes(StepKind::Linear).size());
  const std::set<BenchPart> all = {Fprop, Dgrad, Wgrad, ForwardStep, Step};
  for (const auto& [subject, seen] : parts) EXPECT_EQ(seen, all) << subject;
}

TEST(CudaStepBench, EveryRecipeOfALayerHasEveryPart) {
  std::string why;
  if (no_device(why)) GTEST_SKIP() << why;
  for (const int top_k : {0, 4}) {
    std::set<BenchPart> plain = {ForwardStep, Step};
    std::set<BenchPart> quantized = {ForwardStep, Step, StepKeptWeights};
    if (top_k > 0) {
      plain.insert(StepFromTokens);
      quantized.insert({StepFromTokens, StepFromTokensKeptWeights});
    }
    int cases = 0;
    const Parts parts = parts_on_device(StepKind::ExpertLayer, top_k, quantized, cases);
    EXPECT_EQ(cases, 4);
    EXPECT_EQ(parts.size(), step_bench_recipes(StepKind::ExpertLayer).size());
    for (const auto& [subject, seen] : parts) {
      EXPECT_EQ(seen, subject == "bf16" ? plain : quantized) << subject << ", top-" << top_k;
    }
  }
}

}  // namespace
}  // namespace engine
