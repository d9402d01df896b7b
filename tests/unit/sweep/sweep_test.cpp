// Plans and their progress, without a worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "app/sweep/batch.h"
#include "app/sweep/plan.h"
#include "profiling/compare/time_difference.h"

namespace {

using app::Batch;
using app::BatchState;
using app::Outcome;
using app::PlannedRun;
using engine::GemmBackend;
using engine::Scaling;
using profiling::GroupKind;
using testing::ElementsAre;
using testing::HasSubstr;

app::WorkerHello cpu_only() {
  app::WorkerHello hello;
  hello.backends.resize(2);
  hello.backends[0].available = true;
  hello.backends[1].kind = GemmBackend::CublasLtGrouped;
  hello.backends[1].reason = "No GPU here";
  return hello;
}

app::WorkerHello hopper() {
  app::WorkerHello hello = cpu_only();
  hello.backends[1].available = true;
  hello.backends[1].device.compute_capability = "9.0";
  hello.backends[1].device.cublaslt_version = "13.10.0";
  return hello;
}

std::vector<std::string> labels(const std::vector<PlannedRun>& plan) {
  std::vector<std::string> all;
  for (const PlannedRun& run : plan) all.push_back(run.label);
  return all;
}

std::vector<PlannedRun> plan_of(const engine::RunRequest& base, const app::SweepAxes& axes,
                                const app::WorkerHello& hello) {
  auto plan = app::plan_sweep(base, axes, hello);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return plan.ok() ? std::move(plan).value() : std::vector<PlannedRun>();
}

app::NumberAxis axis(const char* field, const char* values) {
  auto read = app::read_axis(field, values, field);
  EXPECT_TRUE(read.ok()) << read.error().message;
  return std::move(read).value();
}

std::vector<PlannedRun> three() {
  return {{.request = {}, .label = "one", .refused = {}},
          {.request = {}, .label = "two", .refused = "not here"},
          {.request = {}, .label = "three", .refused = {}}};
}

TEST(SweepPlan, IsEveryCombinationOnce) {
  const std::vector<PlannedRun> plan = plan_of(
      {}, {.recipes = {Scaling::None, Scaling::Block, Scaling::Mxfp8}, .pow2 = true}, cpu_only());
  EXPECT_THAT(labels(plan), ElementsAre("bf16", "fp8-block, power-of-two scales",
                                        "fp8-block, FP32 scales", "mxfp8"));
  EXPECT_FALSE(plan[2].request.recipe.pow2_scales);
  for (const PlannedRun& run : plan) EXPECT_EQ(run.refused, "");
}

TEST(SweepPlan, TakesTheIterationsThatItsOwnVerdictNeeds) {
  const app::SweepAxes all = {.recipes = app::all_scalings(), .pow2 = true};
  std::vector<PlannedRun> plan = plan_of({}, all, cpu_only());
  const app::SweepIterations by_default = app::iterations_of(plan);
  EXPECT_EQ(by_default.needed, profiling::fewest_samples(plan.size()));
  EXPECT_GT(by_default.needed, 10U) << "more than a single run's default";
  // One cold start must not leave every point undecided, as it would with the fewest.
  const double wrong = profiling::kFalseVerdicts / static_cast<double>(by_default.points);
  EXPECT_EQ(engine::median_interval_rank(by_default.needed, wrong / 2.0), 1U);
  EXPECT_EQ(engine::median_interval_rank(by_default.fewest, wrong / 2.0), 3U);
  EXPECT_FALSE(by_default.too_few());
  // What the user chose stays, and is called too few.
  app::SweepAxes chosen = all;
  chosen.iterations_chosen = true;
  EXPECT_EQ(app::iterations_of(plan_of({}, chosen, cpu_only())).fewest, 10U);
  engine::RunRequest few;
  few.launch.iterations = 5;
  plan = plan_of(few, all, cpu_only());
  EXPECT_EQ(plan.front().request.launch.iterations, 5);
  EXPECT_TRUE(app::iterations_of(plan).too_few());
  EXPECT_THAT(app::iterations_of(plan).words(), HasSubstr("5 iterations of each run are too few"));
  EXPECT_EQ(plan_of({}, {.numbers = {axis("launch.iterations", "3,10")}}, cpu_only())
                .front()
                .request.launch.iterations,
            3);
  // One point is compared with none; a refused one takes no part.
  EXPECT_EQ(app::iterations_of(plan_of({}, {}, cpu_only())).fewest, 10U);
  EXPECT_EQ(app::iterations_of(three()).points, 2U);
}

TEST(SweepPlan, VariesTheScalesOfTheDownProjectionToo) {
  engine::RunRequest base;
  base.step = engine::StepKind::ExpertLayer;
  base.expert_layer.mixed_recipes = true;
  base.expert_layer.down_scaling = Scaling::Block;
  const std::vector<PlannedRun> plan =
      plan_of(base, {.recipes = {Scaling::None}, .pow2 = true}, cpu_only());
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_TRUE(plan[0].request.recipe.pow2_scales);
  EXPECT_FALSE(plan[1].request.recipe.pow2_scales);
  EXPECT_NE(plan[0].label, plan[1].label);
}

TEST(SweepPlan, WithoutAxesIsTheBaseOnly) {
  EXPECT_THAT(labels(plan_of({}, {}, cpu_only())), ElementsAre("fp8-block, power-of-two scales"));
}

TEST(SweepPlan, RefusesWithTheGatesSentence) {
  const std::vector<PlannedRun> plan = plan_of(
      {}, {.backends = {GemmBackend::CpuReference, GemmBackend::CublasLtGrouped}}, cpu_only());
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].refused, "");
  EXPECT_EQ(plan[1].refused, "No GPU here");
  // One CUDA backend serves all ways; the gates know what it refuses.
  EXPECT_THAT(app::backends_of(hopper()), testing::SizeIs(engine::kBackendTraits.size()));
  EXPECT_THAT(app::backends_of(cpu_only()), ElementsAre(GemmBackend::CpuReference));
}

TEST(SweepPlan, MeasuresEqualRequestsOnce) {
  const std::vector<PlannedRun> plan = plan_of(
      {}, {.workspaces = {engine::WorkspaceStrategy::PerMatmul, engine::WorkspaceStrategy::Shared}},
      cpu_only());
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].refused, "");
  EXPECT_THAT(plan[1].refused, HasSubstr("no workspace"));
}

TEST(SweepPlan, SkipsSplitsFromAFile) {
  const std::vector<PlannedRun> plan = plan_of(
      {}, {.routings = {engine::RoutingDistribution::Zipf, engine::RoutingDistribution::File}},
      cpu_only());
  EXPECT_THAT(labels(plan), ElementsAre("fp8-block, power-of-two scales, zipf"));
}

TEST(NumberAxis, ReadsTheValuesOfAnyNumberOfTheRequest) {
  EXPECT_THAT(axis("shape.rows", "256, 1024,4096").values, ElementsAre("256", "1024", "4096"));
  EXPECT_THAT(axis("launch.time_limit_s", "0.50,2").values, ElementsAre("0.5", "2"));
  EXPECT_TRUE(app::is_number_field("seed"));
  EXPECT_FALSE(app::is_number_field("recipe.scaling"));
  EXPECT_FALSE(app::is_number_field("shape.preset"));
  EXPECT_FALSE(app::is_number_field("shape.colour"));
  EXPECT_EQ(app::short_name("shape.num_experts"), "experts");
  EXPECT_EQ(app::short_name("seed"), "seed");
}

TEST(NumberAxis, ListsChoicesTooAndSaysWhichThereAre) {
  EXPECT_TRUE(app::is_listed_field("recipe.scaling"));
  EXPECT_TRUE(app::is_listed_field("recipe.pow2_scales"));
  EXPECT_TRUE(app::is_listed_field("seed"));
  EXPECT_FALSE(app::is_listed_field("shape.preset"));
  EXPECT_THAT(axis("recipe.scaling", "mxfp8, bf16").values, ElementsAre("mxfp8", "bf16"));
  EXPECT_THAT(app::read_axis("recipe.scaling", "mxfp8,bf61", "--recipe").error().message,
              testing::AllOf(HasSubstr("--recipe lists 'bf61' (did you mean 'bf16'?)"),
                             HasSubstr("must be one of bf16, fp8-per-tensor")));
  const std::vector<PlannedRun> plan =
      plan_of({},
              {.numbers = {axis("recipe.scaling", "mxfp8,bf16"),
                           axis("routing.distribution", "zipf,one-hot")}},
              cpu_only());
  EXPECT_THAT(labels(plan), ElementsAre("mxfp8, routing zipf", "mxfp8, routing one-hot",
                                        "bf16, routing zipf", "bf16, routing one-hot"));
}

TEST(NumberAxis, ErrorsNameTheValueAndWhatTheFieldTakes) {
  const auto error = [](const char* field, const char* values) {
    return app::read_axis(field, values, "--here").error().message;
  };
  EXPECT_EQ(error("shape.rows", "256,many"),
            "--here lists 'many'; every value must be an integer, between 0 and 16777216");
  EXPECT_THAT(error("shape.num_experts", "8,1025"), HasSubstr("--here lists '1025'"));
  EXPECT_THAT(error("shape.rows", "256,"), HasSubstr("lists ''"));
  EXPECT_EQ(error("seed", "1,2,01"), "--here lists 1 twice; name every value once");
}

TEST(SweepPlan, VariesNumbersInEveryCombination) {
  engine::RunRequest base;
  base.shape.preset = "anything";
  const std::vector<PlannedRun> plan =
      plan_of(base,
              {.recipes = {Scaling::None, Scaling::Mxfp8},
               .numbers = {axis("shape.rows", "256,1024"), axis("seed", "1,2")}},
              cpu_only());
  EXPECT_THAT(labels(plan), ElementsAre("bf16, rows 256, seed 1", "mxfp8, rows 256, seed 1",
                                        "bf16, rows 256, seed 2", "mxfp8, rows 256, seed 2",
                                        "bf16, rows 1024, seed 1", "mxfp8, rows 1024, seed 1",
                                        "bf16, rows 1024, seed 2", "mxfp8, rows 1024, seed 2"));
  EXPECT_EQ(plan[0].request.shape.rows, 256);
  EXPECT_EQ(plan[2].request.seed, 2U);
  // 256 rows are not the preset's; 1024 are the base request's.
  EXPECT_EQ(plan[0].request.shape.preset, "");
  EXPECT_EQ(plan[4].request.shape.preset, "anything");
}

TEST(SweepPlan, RefusesImpossibleCombinationsInTheirRows) {
  engine::RunRequest base;
  base.step = engine::StepKind::ExpertLayer;
  const std::vector<PlannedRun> plan = plan_of(
      base, {.numbers = {axis("shape.rows", "100,128"), axis("expert_layer.top_k", "0,8,16")}},
      cpu_only());
  ASSERT_EQ(plan.size(), 6U);
  for (const PlannedRun& run : plan) {
    const engine::Status valid = engine::validate(run.request);
    EXPECT_EQ(run.refused, valid.ok() ? "" : valid.error().message) << run.label;
  }
  EXPECT_EQ(plan[0].refused, "");
  EXPECT_THAT(plan[1].refused, HasSubstr("is 100; with expert_layer.top_k 8"));
  EXPECT_EQ(plan[4].refused, "");
  EXPECT_THAT(plan[5].refused, HasSubstr("the shape has 8 experts"));
}

TEST(SweepPlan, MeasuresOnceWhatANumberDoesNotChange) {
  const std::vector<PlannedRun> plan =
      plan_of({}, {.numbers = {axis("expert_layer.top_k", "1,2")}}, cpu_only());
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].refused, "");
  EXPECT_EQ(plan[1].refused, engine::inapplicable_reason("expert_layer.top_k", {}));
  EXPECT_NE(plan[1].refused, "");
}

TEST(SweepPlan, HasALimit) {
  const app::SweepAxes axes{
      .recipes = {Scaling::None, Scaling::Mxfp8},
      .numbers = {axis("shape.rows", "16,32,48"), axis("shape.n", "16,32"), axis("seed", "1,2")}};
  EXPECT_EQ(app::plan_sweep({}, axes, cpu_only(), 24).value().size(), 24U);
  EXPECT_EQ(app::plan_sweep({}, axes, cpu_only(), 23).error().message,
            "24 combinations are more than the 23 runs that a sweep has here; vary less, or list "
            "fewer values");
}

TEST(InterleavedPlan, DrawsTheOrderOfEquallyManyBlocks) {
  app::InterleavedOrder order;
  order.b.seed = 2;
  order.iterations = 7;
  std::set<std::vector<std::string>> orders;
  int b_first = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const auto plan = plan_interleaved(order, cpu_only(), seed);
    ASSERT_TRUE(plan.ok());
    int of_b = 0;
    for (const PlannedRun& run : plan.value()) {
      EXPECT_EQ(run.request.seed, run.label == "B" ? 2U : 1U);
      EXPECT_EQ(run.request.launch.iterations, 7);
      of_b += run.label == "B" ? 1 : 0;
    }
    EXPECT_EQ(of_b, 8);
    orders.insert(labels(plan.value()));
    b_first += plan.value().front().label == "B" ? 1 : 0;
  }
  EXPECT_GT(orders.size(), 900U);  // of 12870
  EXPECT_NEAR(b_first, 500, 60);   // binomial, 3.8 standard deviations
}

TEST(InterleavedPlan, NamesTheSideThatIsRefused) {
  app::InterleavedOrder order;
  order.b.backend = GemmBackend::CublasLtGrouped;
  EXPECT_EQ(plan_interleaved(order, cpu_only(), 1).error().message,
            "B cannot be measured: No GPU here");
  order.b = {};
  order.blocks = 3;
  EXPECT_THAT(plan_interleaved(order, cpu_only(), 1).error().message, HasSubstr("even number"));
  order.blocks = 8;
  order.iterations = 0;
  EXPECT_THAT(plan_interleaved(order, cpu_only(), 1).error().message, HasSubstr("iterations"));
}

TEST(Batch, SkipsRefusedRunsAndTagsTheRest) {
  Batch batch(GroupKind::Sweep, 1234, three());
  ASSERT_NE(batch.next(), nullptr);
  EXPECT_EQ(batch.progress(0.0, 0.0).remaining_seconds, -1.0);
  batch.started(10.0);
  const profiling::RunGroup first = batch.measured(14.0);
  EXPECT_EQ(first, (profiling::RunGroup{GroupKind::Sweep, 1234, 0, "one"}));
  batch.started(14.0);
  const app::BatchProgress progress = batch.progress(15.0, 0.5);
  EXPECT_EQ(progress.total, 2);
  EXPECT_EQ(progress.refused, 1);
  EXPECT_DOUBLE_EQ(progress.fraction, 0.75);
  EXPECT_DOUBLE_EQ(progress.remaining_seconds, 3.0);
  EXPECT_EQ(progress.label, "three");
  EXPECT_EQ(batch.measured(16.0).position, 1);
  EXPECT_EQ(batch.state(), BatchState::Done);
  EXPECT_EQ(batch.next(), nullptr);
}

TEST(Batch, ASweepContinuesAfterAFailureAndAMeasurementEnds) {
  Batch sweep(GroupKind::Sweep, 1, three());
  sweep.failed("out of memory");
  EXPECT_EQ(sweep.state(), BatchState::Running);
  EXPECT_EQ(sweep.rows()[0].error, "out of memory");
  sweep.lost("killed by signal 9");
  EXPECT_EQ(sweep.error(), "The worker is lost: killed by signal 9");
  Batch blocks(GroupKind::Interleaved, 1, three());
  blocks.failed("out of memory");
  EXPECT_EQ(blocks.state(), BatchState::Failed);
  EXPECT_EQ(blocks.error(), "one could not be measured: out of memory");
}

TEST(Batch, CancelKeepsFinishedRuns) {
  Batch batch(GroupKind::Sweep, 1, three());
  batch.started(0.0);
  batch.measured(1.0);
  batch.cancel();
  EXPECT_EQ(batch.state(), BatchState::Cancelled);
  EXPECT_EQ(batch.next(), nullptr);
  EXPECT_EQ(batch.rows()[0].outcome, Outcome::Measured);
  EXPECT_EQ(Batch(GroupKind::Sweep, 1, {}).state(), BatchState::Done);
}

}  // namespace
