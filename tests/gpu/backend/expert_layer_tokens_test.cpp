// The expert layer that begins and ends at tokens, on the device: what it permutes against the
// kernels' CPU twins bit by bit, its numbers against the CPU's, and its two graphs with changing
// choices.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/step_setup.h"
#include "engine/device/allocation_ledger.h"
#include "engine/device/device_facts.h"
#include "engine/device/handles.h"
#include "engine/input/routing.h"
#include "engine/input/token_routing.h"
#include "engine/linear/recorded_splits.h"
#include "kernels/permute/permute.h"
#include "kernels/permute/routing_map.h"

namespace engine {
namespace {

RunRequest tokens_request(Scaling scaling, StepPasses passes = StepPasses::ForwardBackward) {
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  request.shape = {.preset = {}, .num_experts = 6, .rows = 1200, .n = 512, .k = 384};
  request.routing.distribution = RoutingDistribution::Mild;
  request.recipe.scaling = scaling;
  request.products.passes = passes;
  request.products.bias = true;
  request.expert_layer.top_k = 3;
  request.backend = GemmBackend::CublasLtGrouped;
  request.launch.iterations = 8;
  request.layers = 2;
  return request;
}

/// Everything that belongs to tokens, of both layers, and the rows it is made of.
struct TokenTensors {
  std::vector<std::uint16_t> x, dy;
  std::vector<std::vector<std::uint16_t>> y, dx, y_tokens, dx_tokens;
  std::vector<std::vector<float>> dp;
  bool operator==(const TokenTensors&) const = default;
};

class ExpertLayerTokensTest : public ::testing::Test {
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

  BuiltStep build(const RunRequest& request) {
    described_ = {};
    EXPECT_TRUE(apply_gates(request, capability_, library_->path(), described_).ok());
    const GroupedShape shape = resolve_shape(described_.effective).value();
    described_.splits = shape.splits;
    const StepPlan plan = plan_step(described_, shape, capability_);
    planned_bytes_ = plan.step_bytes();
    RunProgress progress;
    Result<BuiltStep> built = build_step(described_, plan, library_, operands_, stream_.get(),
                                         {.progress = progress, .observer = observer_});
    EXPECT_TRUE(built.ok()) << built.error().message;
    EXPECT_TRUE(built.value().step->write_splits(shape.splits, stream_.get()).ok());
    EXPECT_TRUE(built.value().step->prepare(stream_.get(), observer_).ok());
    return std::move(built).value();
  }

  template <class T>
  std::vector<T> host(const void* values, std::int64_t count) {
    std::vector<T> copy(static_cast<std::size_t>(count));
    EXPECT_TRUE(copy_to_host(std::span<T>(copy), values, stream_.get()).ok());
    return copy;
  }

  TokenTensors read(const ExpertLayerStep& step) {
    const TokenPermutation& tokens = *step.tokens();
    const StepConfig& up = step.config().up;
    const std::int64_t rows = up.capacity_rows() * up.k();
    const std::int64_t elements = tokens.routing().tokens() * up.k();
    const bool backward = step.config().backward();
    TokenTensors all;
    all.x = host<std::uint16_t>(tokens.x(), rows);
    if (backward) all.dy = host<std::uint16_t>(tokens.dy(), rows);
    for (int layer = 0; layer < up.layers; ++layer) {
      all.y.push_back(host<std::uint16_t>(step.down().outputs(layer).y, rows));
      if (step.config().forward()) {
        all.y_tokens.push_back(host<std::uint16_t>(tokens.y_tokens(layer), elements));
      }
      if (!backward) continue;
      all.dx.push_back(host<std::uint16_t>(step.up().outputs(layer).dx, rows));
      all.dx_tokens.push_back(host<std::uint16_t>(tokens.dx_tokens(layer), elements));
      all.dp.push_back(host<float>(tokens.probability_gradients(layer), up.capacity_rows()));
    }
    return all;
  }

  /// The same from the device's Y and dX by the CPU twins.
  TokenTensors twins(const ExpertLayerStep& step, const std::vector<std::int64_t>& splits,
                     TokenTensors of) {
    const StepConfig& up = step.config().up;
    const TokenRouting& routing = step.tokens()->routing();
    const std::vector<std::int32_t> experts = routing.experts_of(splits);
    std::vector<std::int64_t> row_offsets(static_cast<std::size_t>(up.num_groups()) + 1);
    std::vector<std::int32_t> copy_rows(experts.size());
    kernels::routing_map_cpu({.experts = experts.data(),
                              .tokens = routing.tokens(),
                              .top_k = routing.top_k(),
                              .num_groups = up.num_groups(),
                              .row_offsets = row_offsets.data(),
                              .copy_rows = copy_rows.data()});
    const kernels::PermutedRows rows{
        .copy_rows = copy_rows.data(), .tokens = routing.tokens(), .top_k = routing.top_k()};
    const std::int64_t elements = routing.tokens() * up.k();
    const std::vector<std::uint16_t> x = host<std::uint16_t>(step.x_tokens(), elements);
    kernels::permute_cpu(
        {.rows = rows, .columns = up.k(), .input = x.data(), .output = of.x.data()});
    const float* const p = routing.probabilities().data();
    std::vector<std::uint16_t> dy;
    if (!of.dy.empty()) dy = host<std::uint16_t>(step.dy_tokens(), elements);
    for (std::size_t layer = 0; layer < of.y.size(); ++layer) {
      // A step that only goes back has no tokens of Y: what it reads of forward is its rows.
      if (step.config().forward()) {
        kernels::unpermute_cpu({.rows = rows,
                                .columns = up.k(),
                                .input = of.y[layer].data(),
                                .probabilities = p,
                                .output = of.y_tokens[layer].data()});
      }
      if (dy.empty()) continue;
      kernels::unpermute_gradient_cpu({.rows = rows,
                                       .columns = up.k(),
                                       .gradient = dy.data(),
                                       .probabilities = p,
                                       .permuted_gradient = of.dy.data(),
                                       .permuted = of.y[layer].data(),
                                       .probability_gradient = of.dp[layer].data()});
      kernels::unpermute_cpu({.rows = rows,
                              .columns = up.k(),
                              .input = of.dx[layer].data(),
                              .output = of.dx_tokens[layer].data()});
    }
    return of;
  }

  BackendSlot slot_;
  std::shared_ptr<const CublasLt> library_;
  DeviceCapability capability_;
  Stream stream_;
  DeviceOperands operands_;
  StepObserver observer_;
  RunResult described_;
  std::int64_t planned_bytes_ = 0;
};

TEST_F(ExpertLayerTokensTest, PermutesBitForBitAsTheCpuTwins) {
  for (const bool programmatic : {false, true}) {
    for (const Scaling scaling : {Scaling::None, Scaling::Block, Scaling::PerTensorDelayed}) {
      for (const EnumName& passes : kType<StepPasses>.names) {
        SCOPED_TRACE(std::string(name_of(scaling)) + " " + std::string(passes.name));
        RunRequest request = tokens_request(scaling, static_cast<StepPasses>(passes.value));
        request.programmatic_launch = programmatic;
        const BuiltStep built = build(request);
        ASSERT_TRUE(built.step->launch(stream_.get(), observer_).ok());
        const TokenTensors made = read(*built.layer);
        EXPECT_TRUE(twins(*built.layer, described_.splits, made) == made);
        EXPECT_TRUE(built.step->check_splits(stream_.get()).ok());
      }
    }
  }
}

TEST_F(ExpertLayerTokensTest, HasTheNumbersOfTheCpu) {
  static const std::unique_ptr<Backend> kCpu = make_cpu_backend();
  for (const Scaling scaling : {Scaling::None, Scaling::Block, Scaling::Mxfp8}) {
    for (const EnumName& passes : kType<StepPasses>.names) {
      SCOPED_TRACE(std::string(name_of(scaling)) + " " + std::string(passes.name));
      RunRequest request = tokens_request(scaling, static_cast<StepPasses>(passes.value));
      request.launch.kind = LaunchKind::GraphReplay;
      RunProgress progress;
      const RunContext context{.progress = progress, .observer = observer_};
      const Result<RunResult> made = slot_.backend->run(request, context);
      ASSERT_TRUE(made.ok()) << made.error().message;
      for (const ReplayCheck& check : made.value().replay_checks) {
        EXPECT_TRUE(check.wrong_experts.empty()) << "replay " << check.replay;
      }
      request.backend = GemmBackend::CpuReference;
      request.launch.kind = LaunchKind::Eager;
      request.launch.iterations = 1;
      const Result<RunResult> expected = kCpu->run(request, context);
      ASSERT_TRUE(expected.ok()) << expected.error().message;
      EXPECT_EQ(statistics_of(made.value(), StepTensor::X)->saturated,
                statistics_of(expected.value(), StepTensor::X)->saturated);
      const OperandStatistics* const dy = statistics_of(expected.value(), StepTensor::DY);
      ASSERT_EQ(statistics_of(made.value(), StepTensor::DY) != nullptr, dy != nullptr);
      if (dy != nullptr) {
        EXPECT_EQ(statistics_of(made.value(), StepTensor::DY)->saturated, dy->saturated);
      }
      const std::vector<TensorResult>& tensors = made.value().tensors;
      ASSERT_EQ(tensors.size(), expected.value().tensors.size());
      for (const TensorResult& tensor : tensors) {
        SCOPED_TRACE(name_of(tensor.tensor));
        const TensorResult& other = *find_tensor(expected.value(), tensor.tensor);
        EXPECT_EQ(tensor.rows, other.rows);
        EXPECT_EQ(tensor.bytes, other.bytes);
        EXPECT_EQ(std::isfinite(tensor.error.snr_db), std::isfinite(other.error.snr_db));
        if (std::isfinite(other.error.snr_db)) {
          EXPECT_NEAR(tensor.error.snr_db, other.error.snr_db, 0.3);
        }
      }
    }
  }
}

TEST_F(ExpertLayerTokensTest, TwoGraphsFollowTheChoicesBetweenReplays) {
  for (const bool int32 : {false, true}) {
    RunRequest request = tokens_request(Scaling::Block);
    request.int32_splits = int32;
    const BuiltStep built = build(request);
    // The last step leaves rows unused.
    const std::vector<std::vector<std::int64_t>> steps = {{200, 200, 200, 200, 200, 200},
                                                          {0, 400, 400, 0, 1, 399},
                                                          {400, 7, 0, 393, 400, 0},
                                                          {100, 0, 300, 50, 20, 5}};
    std::vector<TokenTensors> eager;
    for (const std::vector<std::int64_t>& splits : steps) {
      ASSERT_TRUE(built.step->write_splits(splits, stream_.get()).ok());
      ASSERT_TRUE(built.step->launch(stream_.get(), observer_).ok());
      eager.push_back(read(*built.layer));
    }
    const auto recorded = RecordedSplits::create(steps, int32, &built.layer->tokens()->routing());
    ASSERT_TRUE(recorded.ok()) << recorded.error().message;
    const auto forward = capture(stream_.get(), [&] {
      return built.layer->launch_pass(ProgramPass::Forward, stream_.get(), observer_);
    });
    ASSERT_TRUE(forward.ok()) << forward.error().message;
    const auto backward = capture(stream_.get(), [&] {
      return built.layer->launch_pass(ProgramPass::Backward, stream_.get(), observer_);
    });
    ASSERT_TRUE(backward.ok()) << backward.error().message;
    const auto first = instantiate(forward.value());
    const auto second = instantiate(backward.value());
    ASSERT_TRUE(first.ok() && second.ok());
    for (const std::size_t at : {0U, 1U, 2U, 3U, 1U, 0U, 3U, 2U}) {
      ASSERT_TRUE(recorded.value().enqueue(at, *built.step, stream_.get()).ok());
      ASSERT_EQ(cudaGraphLaunch(first.value().get(), stream_.get()), cudaSuccess);
      ASSERT_EQ(cudaGraphLaunch(second.value().get(), stream_.get()), cudaSuccess);
      const TokenTensors made = read(*built.layer);
      // Rows behind the last expert's keep what an earlier step left there.
      EXPECT_EQ(made.y_tokens, eager[at].y_tokens) << "step " << at;
      EXPECT_EQ(made.dx_tokens, eager[at].dx_tokens) << "step " << at;
      EXPECT_EQ(made.dp, eager[at].dp) << "step " << at;
    }
    EXPECT_TRUE(built.step->check_splits(stream_.get()).ok());
  }
}

TEST_F(ExpertLayerTokensTest, WithoutPermutationAGraphUsesTheRowsOfTheLast) {
  const BuiltStep built = build(tokens_request(Scaling::Block));
  ASSERT_TRUE(built.step->launch(stream_.get(), observer_).ok());
  const TokenTensors first = read(*built.layer);
  std::vector<std::size_t> nodes;
  for (const bool permutes : {true, false}) {
    built.layer->permute_tokens(permutes);
    const auto graph =
        capture(stream_.get(), [&] { return built.step->launch(stream_.get(), observer_); });
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    ASSERT_EQ(cudaGraphGetNodes(graph.value().get(), nullptr, &nodes.emplace_back()), cudaSuccess);
    const auto replayed = instantiate(graph.value());
    ASSERT_TRUE(replayed.ok()) << replayed.error().message;
    ASSERT_EQ(cudaGraphLaunch(replayed.value().get(), stream_.get()), cudaSuccess);
    EXPECT_TRUE(read(*built.layer) == first) << permutes;
  }
  // The map, permute and its gradient, and unpermute both ways: at least these, of both layers.
  EXPECT_GE(nodes[0], nodes[1] + 8);
}

TEST_F(ExpertLayerTokensTest, TakesNoMoreMemoryThanIsPlanned) {
  for (const EnumName& passes : kType<StepPasses>.names) {
    SCOPED_TRACE(passes.name);
    RunRequest request = tokens_request(Scaling::Block, static_cast<StepPasses>(passes.value));
    request.shape = {.preset = {}, .num_experts = 8, .rows = 8192, .n = 2048, .k = 2048};
    request.expert_layer.top_k = 4;
    (void)operands_.keep_only({});
    const std::uint64_t clock = AllocationLedger::of_process().clock();
    const BuiltStep built = build(request);
    std::int64_t live = 0;
    for (const Allocation& one : AllocationLedger::of_process().read()) {
      if (one.space != MemorySpace::Device || one.allocated_at <= clock || !one.live()) continue;
      live += static_cast<std::int64_t>(one.bytes);
    }
    DeviceOperands nothing;
    const GroupedShape shape = resolve_shape(described_.effective).value();
    const StepPlan plan = plan_step(described_, shape, capability_);
    EXPECT_LE(live, nothing.keep_only(plan.operand_keys()) + planned_bytes_);
  }
}

}  // namespace
}  // namespace engine
