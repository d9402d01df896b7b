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

Run run_of(const engine::RunRequest& request, double step_s, double wall_s,
           const std::string& device = "this") {
  auto run = std::make_shared<profiling::RecordedRun>();
  run->request = request;
  run->result.effective = request;
  run->result.device.name = device;
  for (int i = 0; i < request.launch.iterations; ++i) {
    run->result.iterations.push_back({.duration_ns = static_cast<std::int64_t>(step_s * 1e9)});
  }
  run->result.wall_ns = static_cast<std::int64_t>(wall_s * 1e9);
  return run;
}

/// Steps of `step_s`, and as much again around all of them.
Run measured(const engine::RunRequest& request, double step_s, const std::string& device) {
  return run_of(request, step_s, 2 * step_s * request.launch.iterations, device);
}

TEST(RunEstimate, TheRunThatWasMeasuredTakesWhatItTook) {
  const engine::RunRequest request = request_of(1024);
  const WorkRate rate = work_rate({measured(request, 5, "this")}, request.backend, "this");
  EXPECT_NEAR(estimated_seconds(request, rate), 100.0, 2.0);
  engine::RunRequest longer = request;
  longer.launch.iterations = 100;
  EXPECT_NEAR(estimated_seconds(longer, rate), 550, 5);
  longer.shape.rows *= 100;
  EXPECT_GT(estimated_seconds(longer, rate), 10 * estimated_seconds(request, rate));
}

TEST(RunEstimate, OnlyRunsOfThisDeviceCountAndTheNewestFirst) {
  const engine::RunRequest request = request_of(1024);
  const WorkRate unmeasured = work_rate({}, request.backend, "this");
  EXPECT_EQ(work_rate({measured(request, 5, "other")}, request.backend, "this").step_factor,
            unmeasured.step_factor);
  const WorkRate rate = work_rate({measured(request, 50, "this"), measured(request, 5, "this")},
                                  request.backend, "this");
  EXPECT_NEAR(estimated_seconds(request, rate), 100.0, 2.0);
  // Both runs are small ones: what they were says how far the estimate is scaled.
  EXPECT_THAT(rate.source, ::testing::StartsWith(
                               "scaled from the newest run here: 8 experts, 1 024 rows, n 512"));
}

/// As measured on two cores. Set-up, checks and statistics of large weights take longer than their
/// steps.
struct Known {
  const char* what;
  int experts;
  std::int64_t rows, n, k;
  bool layer;
  double step_s;
  double wall_s;
};

engine::RunRequest request_of(const Known& one) {
  engine::RunRequest request = request_of(one.rows, one.experts);
  request.shape.n = one.n;
  request.shape.k = one.k;
  request.launch.iterations = one.rows < 512 ? 3 : 10;
  if (one.layer) {
    request.step = engine::StepKind::ExpertLayer;
    request.products.passes = engine::StepPasses::ForwardBackward;
  }
  return request;
}

TEST(RunEstimate, SmallRunsForetellLargeOnesWithinHalf) {
  const Known small{"what a window runs first", 8, 1024, 512, 512, false, 0.0075, 0.121};
  const std::vector<Known> all = {
      {"the example, shrunk", 8, 128, 4096, 7168, true, 1.0393, 8.542},
      {"and to half of its experts", 4, 64, 4096, 7168, true, 0.5315, 4.789},
      {"large n and k", 4, 64, 28672, 4096, false, 0.4485, 5.729},
      {"a projection of the example", 8, 128, 4096, 7168, false, 0.3688, 3.935},
      {"half of it", 4, 64, 4096, 7168, false, 0.1977, 2.226},
      {"a small layer", 4, 256, 1024, 2048, true, 0.0639, 0.488},
      small};
  const auto within_half = [](double estimate, const Known& one, const std::string& from) {
    EXPECT_GT(estimate, one.wall_s / 1.5) << one.what << ", " << from;
    EXPECT_LT(estimate, one.wall_s * 1.5) << one.what << ", " << from;
  };
  const engine::GemmBackend cpu = engine::GemmBackend::CpuReference;
  const WorkRate guess = work_rate({}, cpu, "this");
  const WorkRate scaled =
      work_rate({run_of(request_of(small), small.step_s, small.wall_s)}, cpu, "this");
  for (const Known& one : all) {
    within_half(estimated_seconds(request_of(one), guess), one, "guessed");
    within_half(estimated_seconds(request_of(one), scaled), one, "from the first run");
  }
  // On a machine of half the speed, one run says so.
  const Known slow = {"", 8, 128, 4096, 7168, true, 2.0, 17.0};
  const WorkRate slower =
      work_rate({run_of(request_of(slow), slow.step_s, slow.wall_s)}, cpu, "this");
  within_half(estimated_seconds(request_of(all[1]), slower) / 2, all[1], "from a slow one");
}

/// What is said of a request that was shrunk: what it became, and why not less.
std::string said_of(const ShrunkRun& shrunk, const WorkRate& rate) {
  LongRun run;
  run.shrunk = shrunk.request;
  run.limit = shrunk.limit;
  run.shrunk_seconds = estimated_seconds(shrunk.request, rate);
  return run.shrunk_words();
}

TEST(RunEstimate, ShrinkingReachesTheAimWithFewerExpertsOrSaysWhyNot) {
  const WorkRate rate = work_rate({}, engine::GemmBackend::CpuReference, "this");
  engine::RunRequest layer = request_of(16384);
  layer.step = engine::StepKind::ExpertLayer;
  layer.products.passes = engine::StepPasses::ForwardBackward;
  layer.shape.n = 28672;
  layer.shape.k = 4096;
  const ShrunkRun of_two = shrunk_to_fit(layer, rate);
  const engine::RunRequest& two = of_two.request;
  EXPECT_EQ(two.shape.num_experts, 2);
  EXPECT_LE(estimated_seconds(two, rate), 1.5 * kShortRun_s);
  // Each token goes to 8 different ones: fewer there cannot be.
  layer.expert_layer.top_k = 8;
  const ShrunkRun eight = shrunk_to_fit(layer, rate);
  EXPECT_EQ(eight.request.shape.num_experts, 8);
  EXPECT_GT(estimated_seconds(eight.request, rate), kShortRun_s);
  EXPECT_THAT(said_of(eight, rate), ::testing::EndsWith(" s, no fewer with 8 experts per token"));
  layer.expert_layer.top_k = 1;
  layer.shape.n *= 2;
  const ShrunkRun wide = shrunk_to_fit(layer, rate);
  EXPECT_EQ(wide.request.shape.num_experts, 2);
  EXPECT_THAT(said_of(wide, rate), ::testing::EndsWith(" s, no less with n 57344 and k 4096"));
  // A linear step has no experts of a token.
  layer.step = engine::StepKind::Linear;
  layer.expert_layer.top_k = 8;
  EXPECT_EQ(shrunk_to_fit(layer, rate).request.shape.num_experts, 2);
}

/// As many as fit, not the fewest: a run of many short steps keeps what it can.
TEST(RunEstimate, IterationsAreAsManyAsFit) {
  const engine::RunRequest measured_one = request_of(1024);
  const WorkRate rate =
      work_rate({measured(measured_one, 0.01, "this")}, measured_one.backend, "this");
  engine::RunRequest request = measured_one;
  request.launch.iterations = engine::kMaxIterations;
  const ShrunkRun shrunk = shrunk_to_fit(request, rate);
  EXPECT_EQ(shrunk.limit, "");
  EXPECT_EQ(shrunk.request.shape, request.shape);
  EXPECT_LE(estimated_seconds(shrunk.request, rate), kShortRun_s * 1.001);
  engine::RunRequest one_more = shrunk.request;
  ++one_more.launch.iterations;
  EXPECT_GT(estimated_seconds(one_more, rate), kShortRun_s);
  EXPECT_THAT(said_of(shrunk, rate), ::testing::EndsWith(" s"));
}

TEST(RunEstimate, MeasuredCeilingsAreNotPassed) {
  const engine::RunRequest request = request_of(1024);
  auto run = std::make_shared<profiling::RecordedRun>(*measured(request, 5, "this"));
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
  const engine::RunRequest shrunk = shrunk_to_fit(layer, rate).request;
  EXPECT_LE(estimated_seconds(shrunk, rate), kShortRun_s);
  EXPECT_TRUE(engine::validate(shrunk).ok());
  EXPECT_EQ(shrunk.shape.n, 7168);
  // Sizes of a file stay; only iterations go.
  layer.activations = engine::FileInput{"x.npy", {}};
  const ShrunkRun kept = shrunk_to_fit(layer, rate);
  EXPECT_EQ(kept.request.shape, layer.shape);
  EXPECT_LT(kept.request.launch.iterations, layer.launch.iterations);
  EXPECT_THAT(said_of(kept, rate), ::testing::EndsWith(", no less: its sizes come from files"));
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
