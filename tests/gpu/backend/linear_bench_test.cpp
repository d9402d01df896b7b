// The device as subjects of the linear benchmark: every recipe has every part, on a small shape.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/bench/linear_bench.h"

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

TEST(CudaLinearBench, EveryRecipeHasEveryPart) {
  CountingTracer tracer;
  Result<CudaLinearTarget> made = make_cuda_linear_target("", &tracer);
  if (!made.ok()) GTEST_SKIP() << made.error().message;
  const LinearBenchOrder order{
      .shapes = {{.preset = "small", .num_experts = 8, .tokens = 1024, .n = 512, .k = 512},
                 {.preset = "2880", .num_experts = 4, .tokens = 512, .n = 512, .k = 2880}},
      .routings = {RoutingDistribution::Zipf, RoutingDistribution::OneHot}};
  RunProgress progress;
  int cases = 0;
  const auto check = [&](const std::vector<MeasuredLinearRow>& rows) {
    ++cases;
    std::map<std::string, std::set<LinearPart>> parts;
    for (const MeasuredLinearRow& measured : rows) {
      const LinearBenchRow& row = measured.row;
      EXPECT_EQ(row.skipped, "") << row.subject << ", " << row.shape.preset;
      if (!row.skipped.empty()) continue;
      parts[row.subject].insert(row.part);
      EXPECT_GT(row.median_us, 0) << row.subject << ' ' << name_of(row.part);
      const bool step = row.part == LinearPart::Step || row.part == LinearPart::ForwardStep;
      EXPECT_DOUBLE_EQ(row.kernels_us, step ? 10 : 0);
    }
    EXPECT_EQ(parts.size(), std::size(kLinearBenchRecipes));
    for (const auto& [subject, seen] : parts)
      EXPECT_EQ(seen.size(), std::size_t{kLinearParts}) << subject;
    return Status();
  };
  const Status done = run_linear_bench({made.value().target.get()}, order, 1e-3, progress, check);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(cases, 4);
}

}  // namespace
}  // namespace engine
