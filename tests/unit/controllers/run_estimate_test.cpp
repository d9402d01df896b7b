// How long a run will take, by what was measured, and what is made of one that takes too long.
#include "app/controllers/run_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using Run = std::shared_ptr<const profiling::RecordedRun>;

engine::RunRequest request_of(std::int64_t rows, int experts = 8) {
  engine::RunRequest request;
  request.backend = engine::GemmBackend::CpuReference;
  request.shape.num_experts = experts;
  request.shape.rows = rows;
  request.shape.n = 512;
  request.shape.k = 512;
  request.launch.iterations = 10;
  return request;
}

/// Steps of `step_ms`, and as much again around all of them.
Run measured(const engine::RunRequest& request, double step_ms, const std::string& device) {
  auto run = std::make_shared<profiling::RecordedRun>();
  run->request = request;
  run->result.effective = request;
  run->result.device.name = device;
  for (int i = 0; i < request.launch.iterations; ++i) {
    run->result.iterations.push_back({.duration_ns = static_cast<std::int64_t>(step_ms * 1e6)});
  }
  run->result.wall_ns = static_cast<std::int64_t>(2 * step_ms * 1e6) * request.launch.iterations;
  return run;
}

TEST(RunEstimate, TheRunThatWasMeasuredTakesWhatItTook) {
  const engine::RunRequest request = request_of(1024);
  const WorkRate rate = work_rate({measured(request, 50, "this")}, request.backend, "this");
  EXPECT_NEAR(estimated_seconds(request, rate), 1.0, 0.01);
  engine::RunRequest longer = request;
  longer.launch.iterations = 100;
  EXPECT_NEAR(estimated_seconds(longer, rate), 5.5, 0.05);
  longer.shape.rows *= 100;
  EXPECT_GT(estimated_seconds(longer, rate), kLongRun_s);
}

TEST(RunEstimate, OnlyRunsOfThisDeviceCountAndTheNewestFirst) {
  const engine::RunRequest request = request_of(1024);
  const WorkRate unmeasured = work_rate({}, request.backend, "this");
  EXPECT_EQ(work_rate({measured(request, 50, "other")}, request.backend, "this").flop_per_s,
            unmeasured.flop_per_s);
  const WorkRate rate = work_rate({measured(request, 50, "this"), measured(request, 5, "this")},
                                  request.backend, "this");
  EXPECT_NEAR(estimated_seconds(request, rate), 0.1, 0.001);
  // Both runs are small ones: what they were says how far the estimate is scaled.
  EXPECT_THAT(rate.source, ::testing::StartsWith(
                               "scaled from the newest run here: 8 experts, 1 024 rows, n 512"));
}

TEST(RunEstimate, MeasuredCeilingsAreNotPassed) {
  const engine::RunRequest request = request_of(1024);
  auto run = std::make_shared<profiling::RecordedRun>(*measured(request, 50, "this"));
  run->result.measurements.ceilings.copy_bytes_per_s = 1e3;
  run->result.measurements.ceilings.product_flop_per_s = 1e30;
  const WorkRate rate = work_rate({run}, request.backend, "this");
  EXPECT_GT(estimated_seconds(request, rate), 1000.0);
}

TEST(RunEstimate, AnOrdinaryRunIsNotAskedAboutAndALongOneShrinks) {
  const WorkRate rate = work_rate({}, engine::GemmBackend::CpuReference, "this");
  EXPECT_LT(estimated_seconds(request_of(4096), rate), kLongRun_s);
  engine::RunRequest layer = request_of(131072, 64);
  layer.shape.n = 7168;
  layer.shape.k = 7168;
  layer.launch.iterations = 100;
  EXPECT_GT(estimated_seconds(layer, rate), kLongRun_s);
  const engine::RunRequest shrunk = shrunk_to_fit(layer, rate);
  EXPECT_LE(estimated_seconds(shrunk, rate), kShortRun_s);
  EXPECT_TRUE(engine::validate(shrunk).ok());
  EXPECT_EQ(shrunk.shape.n, 7168);
  // Sizes of a file stay; only iterations go.
  layer.activations = engine::FileInput{"x.npy", {}};
  const engine::RunRequest kept = shrunk_to_fit(layer, rate);
  EXPECT_EQ(kept.shape, layer.shape);
  EXPECT_LT(kept.launch.iterations, layer.launch.iterations);
}

TEST(RunEstimate, ALongRunSaysHowLongAndWhatItWouldBe) {
  BackendOffer cpu;
  cpu.kind = engine::GemmBackend::CpuReference;
  cpu.available = true;
  cpu.device.name = "this";
  const auto offers = [&cpu](engine::GemmBackend kind) {
    return kind == cpu.kind ? &cpu : nullptr;
  };
  engine::RunRequest layer = request_of(131072, 64);
  EXPECT_FALSE(long_run(request_of(1024), offers, {}));
  layer.shape.n = 7168;
  layer.shape.k = 7168;
  layer.backend = engine::GemmBackend::CublasLtGrouped;  // which this worker does not have
  const auto run = long_run(layer, offers, {});
  ASSERT_TRUE(run);
  EXPECT_GT(run->seconds, kLongRun_s);
  EXPECT_LT(run->step_seconds, run->seconds);
  EXPECT_TRUE(run->shrinks());
  EXPECT_EQ(run->shrunk.backend, layer.backend);
  EXPECT_EQ(run->words(), "takes " + about(run->seconds) + " here (nothing was measured here yet)");
  const auto none = [](engine::GemmBackend) -> const BackendOffer* { return nullptr; };
  EXPECT_FALSE(long_run(layer, none, {}));
}

TEST(RunEstimate, WordsRound) {
  EXPECT_EQ(about(61.2), "about 62 s");
  EXPECT_EQ(about(600), "about 10 min");
  EXPECT_EQ(about(7300), "about 2 h");
}

}  // namespace
}  // namespace app
