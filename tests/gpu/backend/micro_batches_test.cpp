// Micro-batches in flight, and forward and backward as graphs that share a pool: against steps of
// one micro-batch, against eager launches, and out of order, where sharing must show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/step_capture.h"
#include "engine/backend/cuda/step_setup.h"
#include "engine/device/allocation_ledger.h"
#include "engine/device/device_facts.h"
#include "engine/device/handles.h"
#include "engine/input/routing.h"
#include "engine/linear/output_check.h"
#include "engine/linear/step_replay.h"
#include "tests/unit/input/temporary_file.h"

namespace engine::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Checksums = std::vector<std::uint64_t>;

TEST(RotatedSplits, MoveByTheNumberOfTheMicroBatch) {
  const std::vector<std::int64_t> splits = {5, 0, 7};
  EXPECT_THAT(rotated_splits(splits, 0), ElementsAre(5, 0, 7));
  EXPECT_THAT(rotated_splits(splits, 1), ElementsAre(0, 7, 5));
  EXPECT_THAT(rotated_splits(splits, 5), ElementsAre(7, 5, 0));
  EXPECT_THAT(rotated_splits({}, 1), IsEmpty());
}

RunRequest layer_request(Scaling scaling) {
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  request.shape = {.preset = {}, .num_experts = 4, .rows = 700, .n = 512, .k = 384};
  request.routing.distribution = RoutingDistribution::Heavy;
  request.recipe.scaling = scaling;
  request.products.passes = StepPasses::ForwardBackward;
  request.products.bias = true;
  request.backend = GemmBackend::CublasLtGrouped;
  request.try_algorithms = false;  // so that every step has the same
  request.launch.kind = LaunchKind::GraphReplay;
  request.launch.iterations = 8;
  request.launch.graphs = StepGraphs::ForwardAndBackward;
  request.layers = 2;
  return request;
}

std::vector<Scaling> all_scalings() {
  std::vector<Scaling> all;
  for (const EnumName& name : kType<Scaling>.names) all.push_back(static_cast<Scaling>(name.value));
  return all;
}

class MicroBatchesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    slot_ = make_cuda_backend("");
    if (slot_.backend == nullptr) GTEST_SKIP() << slot_.reason;
    const Result<FoundDevice> device = find_device();
    ASSERT_TRUE(device.ok());
    auto library = CublasLt::load("");
    ASSERT_TRUE(library.ok());
    library_ = library.value();
    capability_ = device.value().capability;
    capability_.cublaslt_version = library_->version();
    auto stream = make_stream();
    ASSERT_TRUE(stream.ok());
    stream_ = std::move(stream).value();
  }

  Result<RunResult> run(const RunRequest& request) {
    RunProgress progress;
    return slot_.backend->run(request, {.progress = progress, .observer = observer_});
  }

  BuiltStep build(const RunRequest& request) {
    described_ = {};
    EXPECT_TRUE(apply_gates(request, capability_, library_->path(), described_).ok());
    EXPECT_EQ(described_.effective.launch, request.launch);
    splits_ = resolve_shape(described_.effective).value().splits;
    const StepPlan plan =
        plan_step(described_, resolve_shape(described_.effective).value(), capability_);
    RunProgress progress;
    Result<BuiltStep> built = build_step(described_, plan, library_, operands_, stream_.get(),
                                         {.progress = progress, .observer = observer_});
    EXPECT_TRUE(built.ok()) << built.error().message;
    EXPECT_TRUE(built.value().step->write_splits(splits_, stream_.get()).ok());
    return std::move(built).value();
  }

  template <class Launch>
  Checksums sums_after(DeviceStep& step, Launch&& launch) {
    Result<OutputCheck> check = OutputCheck::create(step);
    EXPECT_TRUE(check.ok());
    EXPECT_TRUE(check.value().poison(step, stream_.get()).ok());
    const Status launched = launch();
    EXPECT_TRUE(launched.ok()) << launched.error().message;
    Result<Checksums> sums = check.value().checksums(step, stream_.get());
    EXPECT_TRUE(sums.ok()) << sums.error().message;
    return std::move(sums).value();
  }
  Checksums eager_sums(DeviceStep& step) {
    return sums_after(step, [&] { return step.launch(stream_.get(), observer_); });
  }

  std::vector<Graph> capture_all(const DeviceStep& step) {
    Result<StepCapture> captured = capture_step(
        step, stream_.get(),
        [&](int graph) { return step.launch_graph(graph, stream_.get(), observer_); },
        [](const GraphCapture&) { return Status(); });
    EXPECT_TRUE(captured.ok()) << captured.error().message;
    return std::move(captured.value().graphs);
  }

  /// Yt, dXt and dp of a layer of a micro-batch.
  using TokenBytes = std::vector<std::vector<std::uint8_t>>;
  template <class Visit>
  void for_each_of_tokens(DeviceStep& step, Visit&& visit) {
    for (int number = 0; number < step.micro_batches(); ++number) {
      const auto& batch = dynamic_cast<ExpertLayerStep&>(step.micro_batch(number));
      const TokenPermutation& tokens = *batch.tokens();
      const StepConfig& up = batch.config().up;
      const std::int64_t bytes = tokens.routing().tokens() * up.k() * up.output_bytes();
      for (int layer = 0; layer < up.layers; ++layer) {
        visit(number, tokens.y_tokens(layer), bytes);
        visit(number, tokens.dx_tokens(layer), bytes);
        visit(number, tokens.probability_gradients(layer),
              up.capacity_rows() * std::int64_t{sizeof(float)});
      }
    }
  }
  std::vector<TokenBytes> token_bytes(DeviceStep& step) {
    std::vector<TokenBytes> all(static_cast<std::size_t>(step.micro_batches()));
    for_each_of_tokens(step, [&](int number, const void* values, std::int64_t bytes) {
      std::vector<std::uint8_t> copy(static_cast<std::size_t>(bytes));
      EXPECT_TRUE(copy_to_host(std::span<std::uint8_t>(copy), values, stream_.get()).ok());
      all[static_cast<std::size_t>(number)].push_back(std::move(copy));
    });
    return all;
  }
  void poison_tokens(DeviceStep& step) {
    for_each_of_tokens(step, [&](int, const void* values, std::int64_t bytes) {
      EXPECT_EQ(cudaMemsetAsync(const_cast<void*>(values), 0xFF, static_cast<std::size_t>(bytes),
                                stream_.get()),
                cudaSuccess);
    });
  }

  BackendSlot slot_;
  std::shared_ptr<const CublasLt> library_;
  DeviceCapability capability_;
  Stream stream_;
  DeviceOperands operands_;
  StepObserver observer_;
  RunResult described_;
  std::vector<std::int64_t> splits_;
};

void expect_right(const RunResult& result) {
  EXPECT_FALSE(result.replay_checks.empty());
  for (const ReplayCheck& check : result.replay_checks) {
    EXPECT_THAT(check.wrong_experts, IsEmpty())
        << output_title(StepKind::ExpertLayer, check.product, check.layer) << ", micro-batch "
        << check.micro_batch + 1 << ", replay " << check.replay;
  }
}

TEST_F(MicroBatchesTest, TwoGraphsOfEveryRecipeEqualEagerAndHaveTheNumbersOfOneGraph) {
  for (const Scaling scaling : all_scalings()) {
    SCOPED_TRACE(name_of(scaling));
    RunRequest request = layer_request(scaling);
    const Result<RunResult> made = run(request);
    ASSERT_TRUE(made.ok()) << made.error().message;
    const RunResult& result = made.value();
    expect_right(result);
    ASSERT_THAT(result.graphs, SizeIs(2));
    EXPECT_EQ(result.graphs[0].name, "forward");
    EXPECT_EQ(result.graphs[1].name, "backward");
    EXPECT_EQ(result.graphs[0].contents.kernels + result.graphs[1].contents.kernels,
              result.graph.kernels);
    for (const StepGraph& graph : result.graphs) EXPECT_GT(graph.median_us, 0.0);
    EXPECT_EQ(result.graph_memory.pools, 1);
    EXPECT_GT(result.graph_memory.bytes, 0);

    request.launch.graphs = StepGraphs::One;
    const Result<RunResult> one = run(request);
    ASSERT_TRUE(one.ok()) << one.error().message;
    EXPECT_THAT(one.value().graphs, IsEmpty());
    EXPECT_EQ(one.value().graph_memory.pools, 0);
    ASSERT_EQ(one.value().experts.size(), result.experts.size());
    for (std::size_t expert = 0; expert < result.experts.size(); ++expert) {
      for (const Product product : {Product::Fprop, Product::Dgrad, Product::Wgrad}) {
        const ProductAccuracy& here = result.experts[expert].of(product);
        const ProductAccuracy& there = one.value().experts[expert].of(product);
        EXPECT_EQ(here.lost, there.lost);
        // Blocks add their sums of squares in the order in which they finish; with a history the
        // numbers of launches before differ.
        if (!std::isfinite(there.snr_db)) continue;
        EXPECT_NEAR(here.snr_db, there.snr_db, traits_of(scaling).remembers_amax() ? 0.5 : 1e-5);
      }
    }
  }
}

TEST_F(MicroBatchesTest, ThreeInFlightEqualEagerWithEitherPool) {
  std::vector<GraphMemoryFacts> facts;
  for (const PoolSharing sharing : {PoolSharing::Shared, PoolSharing::OnePerGraph}) {
    for (const Scaling scaling : {Scaling::Block, Scaling::None, Scaling::PerTensorDelayed}) {
      SCOPED_TRACE(std::string(name_of(sharing)) + ", " + std::string(name_of(scaling)));
      RunRequest request = layer_request(scaling);
      request.launch.graph_pool = sharing;
      request.launch.in_flight = 3;
      request.products.accumulate_wgrad = true;
      const Result<RunResult> made = run(request);
      ASSERT_TRUE(made.ok()) << made.error().message;
      const RunResult& result = made.value();
      expect_right(result);
      std::vector<std::string> names;
      for (const StepGraph& graph : result.graphs) names.push_back(graph.name);
      EXPECT_THAT(names, ElementsAre("forward 1", "forward 2", "forward 3", "backward 1",
                                     "backward 2", "backward 3"));
      EXPECT_EQ(result.graph_memory.pools, sharing == PoolSharing::Shared ? 1 : 6);
      const auto of_last = std::ranges::count_if(
          result.replay_checks, [](const ReplayCheck& check) { return check.micro_batch == 2; });
      // Y and dX of two layers in each of six replays; dW is the first one's.
      EXPECT_EQ(of_last, 6 * 2 * 2);
      if (scaling == Scaling::Block) facts.push_back(result.graph_memory);
    }
  }
  ASSERT_THAT(facts, SizeIs(2));
  EXPECT_EQ(facts[0].unshared_bytes, facts[1].unshared_bytes);
  EXPECT_LT(facts[0].bytes, facts[1].bytes);
  EXPECT_GE(facts[1].bytes, facts[1].unshared_bytes);
}

TEST_F(MicroBatchesTest, EagerAndOneGraphRunTheSameSchedule) {
  RunRequest request = layer_request(Scaling::Block);
  request.launch.in_flight = 2;
  request.launch.graphs = StepGraphs::One;
  const Result<RunResult> graph = run(request);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  expect_right(graph.value());
  request.launch.kind = LaunchKind::Eager;
  const Result<RunResult> eager = run(request);
  ASSERT_TRUE(eager.ok()) << eager.error().message;
  EXPECT_EQ(eager.value().flop, graph.value().flop);
  request.launch.in_flight = 1;
  const Result<RunResult> single = run(request);
  ASSERT_TRUE(single.ok()) << single.error().message;
  EXPECT_DOUBLE_EQ(eager.value().flop, 2 * single.value().flop);
}

TEST_F(MicroBatchesTest, EveryOneIsAStepOfItsOwnSplits) {
  for (const Scaling scaling : {Scaling::Block, Scaling::None, Scaling::PerTensorCurrent}) {
    SCOPED_TRACE(name_of(scaling));
    RunRequest request = layer_request(scaling);
    request.launch.in_flight = 3;
    const BuiltStep several = build(request);
    const Checksums all = eager_sums(*several.step);
    const std::vector<StepOutput> outputs = several.step->all_outputs();

    request.launch.in_flight = 1;
    const BuiltStep single = build(request);
    const std::vector<StepOutput> of_single = single.step->all_outputs();
    ASSERT_EQ(outputs.size(), 3 * of_single.size());
    for (int number = 0; number < 3; ++number) {
      ASSERT_TRUE(single.step->write_splits(rotated_splits(splits_, number), stream_.get()).ok());
      const Checksums alone = eager_sums(*single.step);
      const auto first = all.begin() + number * static_cast<std::ptrdiff_t>(alone.size());
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), first)) << "micro-batch " << number + 1;
      EXPECT_EQ(outputs[static_cast<std::size_t>(number) * of_single.size()].micro_batch, number);
    }
  }
}

TEST_F(MicroBatchesTest, AnAccumulatedGradientIsTheSumInTheirOrder) {
  RunRequest request = layer_request(Scaling::Block);
  request.products.accumulate_wgrad = true;
  request.products.wgrad_type = ElementType::Fp32;
  request.launch.in_flight = 2;
  const BuiltStep several = build(request);
  const Checksums both = eager_sums(*several.step);
  const std::vector<StepOutput> outputs = several.step->all_outputs();

  request.launch.in_flight = 1;
  const BuiltStep single = build(request);
  const Checksums in_turn = sums_after(*single.step, [&]() -> Status {
    for (const int number : {0, 1}) {
      ENGINE_TRY(single.step->write_splits(rotated_splits(splits_, number), stream_.get()));
      ENGINE_TRY(single.step->launch(stream_.get(), observer_));
      ENGINE_CUDA_TRY(cudaStreamSynchronize(stream_.get()), "Waiting for a micro-batch");
    }
    return {};
  });
  const std::vector<StepOutput> of_single = single.step->all_outputs();
  const std::size_t groups = splits_.size();
  int compared = 0;
  for (std::size_t i = 0; i < of_single.size(); ++i) {
    if (!of_single[i].added_to) continue;
    ASSERT_TRUE(outputs[i].added_to);
    for (std::size_t group = 0; group < groups; ++group) {
      EXPECT_EQ(both[i * groups + group], in_turn[i * groups + group]);
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

/// Splits of the same number of tokens, some of them 0.
std::vector<std::int64_t> random_splits(std::mt19937& random, std::size_t experts,
                                        std::int64_t tokens) {
  std::vector<std::int64_t> splits(experts, 0);
  std::int64_t left = tokens;
  for (std::size_t i = 0; i + 1 < experts; ++i) {
    const auto part = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(left + 1));
    splits[i] = random() % 4 == 0 ? 0 : part;
    left -= splits[i];
  }
  splits.back() = left;
  std::ranges::shuffle(splits, random);
  return splits;
}

TEST_F(MicroBatchesTest, GraphsOfOnePoolFollowTheRoutingOverTenThousandSteps) {
  const Scaling scalings[] = {Scaling::None, Scaling::Block, Scaling::PerTensorCurrent,
                              Scaling::Block};
  constexpr int kSteps = 10000 / 4;
  int seed = 0;
  for (const Scaling scaling : scalings) {
    ++seed;
    RunRequest request = layer_request(scaling);
    request.layers = 1;
    request.launch.in_flight = seed == 4 ? 3 : 2;
    request.products.accumulate_wgrad = seed == 4;
    SCOPED_TRACE(::testing::Message() << name_of(scaling) << ", " << request.launch.in_flight);
    const BuiltStep built = build(request);
    (void)eager_sums(*built.step);  // loads kernels before the capture
    const std::vector<Graph> graphs = capture_all(*built.step);
    ASSERT_THAT(graphs, SizeIs(2 * request.launch.in_flight));
    const Result<StepReplay> replay = StepReplay::create(graphs);
    ASSERT_TRUE(replay.ok()) << replay.error().message;
    std::mt19937 random(static_cast<unsigned>(seed));
    int wrong = 0;
    for (int step = 0; step < kSteps; ++step) {
      for (int number = 0; number < request.launch.in_flight; ++number) {
        ASSERT_TRUE(built.step->micro_batch(number)
                        .write_splits(random_splits(random, 4, request.shape.rows), stream_.get())
                        .ok());
      }
      // First, so that nothing of an eager step with the same routing is there to be found.
      const Checksums replayed =
          sums_after(*built.step, [&] { return replay.value().launch(stream_.get()); });
      wrong += eager_sums(*built.step) == replayed ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0) << "of " << kSteps << " steps";
    EXPECT_TRUE(built.step->check_splits(stream_.get()).ok());
  }
}

TEST_F(MicroBatchesTest, ReplaysOutOfOrderAreWrongOnlyWhereMemoryIsShared) {
  for (const PoolSharing sharing : {PoolSharing::Shared, PoolSharing::OnePerGraph}) {
    SCOPED_TRACE(name_of(sharing));
    RunRequest request = layer_request(Scaling::Block);
    request.launch.in_flight = 2;
    request.launch.graph_pool = sharing;
    const BuiltStep built = build(request);
    const Checksums eager = eager_sums(*built.step);
    const std::vector<Graph> graphs = capture_all(*built.step);
    ASSERT_THAT(graphs, SizeIs(4));
    std::vector<GraphExec> executables;
    for (const Graph& graph : graphs) {
      Result<GraphExec> made = instantiate(graph);
      ASSERT_TRUE(made.ok());
      executables.push_back(std::move(made).value());
    }
    const auto replayed = [&](std::vector<std::size_t> order) {
      return sums_after(*built.step, [&]() -> Status {
        for (const std::size_t graph : order) {
          ENGINE_CUDA_TRY(cudaGraphLaunch(executables[graph].get(), stream_.get()),
                          "Launching a graph");
        }
        return {};
      });
    };
    EXPECT_EQ(replayed({0, 1, 2, 3}), eager);
    // Backward 2 may use what micro-batch 1 has saved, which is no longer needed in its turn.
    EXPECT_EQ(replayed({0, 1, 3, 2}) == eager, sharing == PoolSharing::OnePerGraph);
    EXPECT_EQ(replayed({0, 1, 2, 3}), eager) << "in order again";
  }
}

TEST_F(MicroBatchesTest, TakesNoMoreMemoryThanIsPlanned) {
  for (const PoolSharing sharing : {PoolSharing::Shared, PoolSharing::OnePerGraph}) {
    for (const Scaling scaling : all_scalings()) {
      SCOPED_TRACE(std::string(name_of(sharing)) + ", " + std::string(name_of(scaling)));
      RunRequest request = layer_request(scaling);
      request.shape = {.preset = {}, .num_experts = 4, .rows = 4096, .n = 2048, .k = 2048};
      request.launch.in_flight = 2;
      request.launch.graph_pool = sharing;
      (void)operands_.keep_only({});
      const std::uint64_t clock = AllocationLedger::of_process().clock();
      const BuiltStep built = build(request);
      const StepPlan plan =
          plan_step(described_, resolve_shape(described_.effective).value(), capability_);
      DeviceOperands nothing;
      const std::int64_t operands = nothing.keep_only(plan.operand_keys());
      ASSERT_NE(built.step->graph_memory(), nullptr);
      std::int64_t allocated = built.step->graph_memory()->facts().bytes;
      for (const Allocation& one : AllocationLedger::of_process().read()) {
        if (one.space != MemorySpace::Device || one.allocated_at <= clock || !one.live()) continue;
        allocated += static_cast<std::int64_t>(one.bytes);
      }
      EXPECT_LE(allocated, operands + plan.step_bytes());
    }
  }
}

TEST_F(MicroBatchesTest, OfTokensPermuteInTheirGraphs) {
  for (const Scaling scaling : {Scaling::None, Scaling::Block}) {
    for (const PoolSharing sharing : {PoolSharing::Shared, PoolSharing::OnePerGraph}) {
      SCOPED_TRACE(std::string(name_of(scaling)) + ", " + std::string(name_of(sharing)));
      RunRequest request = layer_request(scaling);
      request.shape.rows = 702;
      request.expert_layer.top_k = 3;
      request.launch.in_flight = 2;
      request.launch.graph_pool = sharing;
      const Result<RunResult> made = run(request);
      ASSERT_TRUE(made.ok()) << made.error().message;
      expect_right(made.value());
      ASSERT_THAT(made.value().graphs, SizeIs(4));

      const BuiltStep built = build(request);
      ASSERT_TRUE(built.step->launch(stream_.get(), observer_).ok());
      const std::vector<TokenBytes> eager = token_bytes(*built.step);
      const std::vector<Graph> graphs = capture_all(*built.step);
      const Result<StepReplay> replay = StepReplay::create(graphs);
      ASSERT_TRUE(replay.ok()) << replay.error().message;
      for (int i = 0; i < 3; ++i) {
        poison_tokens(*built.step);
        ASSERT_NE(token_bytes(*built.step), eager);
        ASSERT_TRUE(replay.value().launch(stream_.get()).ok());
        EXPECT_EQ(token_bytes(*built.step), eager) << "replay " << i + 1;
      }
    }
  }
}

TEST_F(MicroBatchesTest, EachHasTheNextRecordedStep) {
  const TemporaryFile file("splits.json",
                           "[[100, 200, 300, 100], [0, 700, 0, 0], [1, 2, 3, 4], [350, 0, 0, 350], "
                           "[175, 175, 175, 175]]");
  RunRequest request = layer_request(Scaling::Block);
  request.routing = {.distribution = RoutingDistribution::File, .path = file.path()};
  request.launch.in_flight = 2;
  request.launch.iterations = 10;
  const Result<RunResult> made = run(request);
  ASSERT_TRUE(made.ok()) << made.error().message;
  expect_right(made.value());
  ASSERT_TRUE(made.value().recorded_routing.has_value());
  for (const RecordedStep& step : made.value().recorded_routing->steps) {
    EXPECT_EQ(step.visits, 4) << "twenty micro-batches over five steps";
    EXPECT_TRUE(std::isnan(step.median_ns)) << "no step has an iteration of its own";
  }
}

}  // namespace
}  // namespace engine::testing
