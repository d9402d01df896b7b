// The expert layer on the device: against the CPU's numbers, against itself however its activation
// is computed, and as two graphs that are replayed with changing routing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/step_setup.h"
#include "engine/device/allocation_ledger.h"
#include "engine/device/device_facts.h"
#include "engine/device/handles.h"
#include "engine/input/routing.h"
#include "engine/layer/layer_numerics.h"
#include "engine/linear/output_check.h"
#include "engine/model/projections.h"

namespace engine {
namespace {

RunRequest layer_request(Scaling scaling, StepPasses passes = StepPasses::ForwardBackward) {
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  request.shape = {.preset = {}, .num_experts = 4, .rows = 1000, .n = 512, .k = 384};
  request.routing.distribution = RoutingDistribution::HalfEmpty;
  request.recipe.scaling = scaling;
  request.products.passes = passes;
  request.products.bias = true;
  request.backend = GemmBackend::CublasLtGrouped;
  request.launch.iterations = 8;
  request.layers = 2;
  return request;
}

std::vector<Scaling> all_scalings() {
  std::vector<Scaling> all;
  for (const EnumName& name : kType<Scaling>.names) all.push_back(static_cast<Scaling>(name.value));
  return all;
}

class ExpertLayerTest : public ::testing::Test {
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

  Result<RunResult> run(Backend& backend, const RunRequest& request) {
    RunProgress progress;
    return backend.run(request, {.progress = progress, .observer = observer_});
  }

  /// Tensor by tensor.
  void expect_numbers_of_cpu(RunRequest request) {
    static const std::unique_ptr<Backend> kCpu = make_cpu_backend();
    const Result<RunResult> made = run(*slot_.backend, request);
    ASSERT_TRUE(made.ok()) << made.error().message;
    request.backend = GemmBackend::CpuReference;
    request.launch.iterations = 3;
    const Result<RunResult> expected = run(*kCpu, request);
    ASSERT_TRUE(expected.ok());
    const RunResult& result = made.value();
    EXPECT_EQ(result.flop, expected.value().flop);
    // The same operands through bit-identical kernels.
    EXPECT_EQ(statistics_of(result, StepTensor::X)->saturated,
              statistics_of(expected.value(), StepTensor::X)->saturated);
    EXPECT_EQ(statistics_of(result, StepTensor::WUp)->underflowed,
              statistics_of(expected.value(), StepTensor::WUp)->underflowed);
    const OperandStatistics* const dy = statistics_of(expected.value(), StepTensor::DY);
    ASSERT_EQ(statistics_of(result, StepTensor::DY) != nullptr, dy != nullptr);
    if (dy != nullptr) {
      EXPECT_EQ(statistics_of(result, StepTensor::DY)->saturated, dy->saturated);
    }
    ASSERT_TRUE(result.expert_layer);
    const std::vector<TensorResult>& tensors = result.tensors;
    ASSERT_EQ(tensors.size(), expected.value().tensors.size());
    for (const TensorResult& tensor : tensors) {
      const TensorResult& other = *find_tensor(expected.value(), tensor.tensor);
      SCOPED_TRACE(name_of(tensor.tensor));
      EXPECT_EQ(tensor.rows, other.rows);
      EXPECT_EQ(tensor.bytes, other.bytes);
      EXPECT_EQ(tensor.saved_bytes, other.saved_bytes);
      EXPECT_EQ(tensor.error.lost, other.error.lost);
      ASSERT_EQ(tensor.unquantized_y.has_value(), other.unquantized_y.has_value());
      if (tensor.unquantized_y) {
        EXPECT_NEAR(tensor.unquantized_y->snr_db, other.unquantized_y->snr_db, 0.3);
      }
      if (std::isinf(other.error.snr_db)) {
        EXPECT_TRUE(std::isinf(tensor.error.snr_db));
      } else {
        // Stochastic choices aside, the same errors in another order of FP32 sums.
        EXPECT_NEAR(tensor.error.snr_db, other.error.snr_db, 0.3);
      }
    }
    const LayerResult& layer = *result.expert_layer;
    const LayerResult& layer_of_cpu = *expected.value().expert_layer;
    EXPECT_EQ(std::isnan(layer.unquantized_snr_db), std::isnan(layer_of_cpu.unquantized_snr_db));
    if (request.products.passes != StepPasses::Backward) {
      EXPECT_NEAR(layer.unquantized_snr_db, layer_of_cpu.unquantized_snr_db, 0.3);
    }
  }

  /// A step of the request, with its splits written.
  BuiltStep build(const RunRequest& request) {
    described_ = {};
    EXPECT_TRUE(apply_gates(request, capability_, library_->path(), described_).ok());
    const GroupedShape shape = resolve_shape(described_.effective).value();
    splits_ = shape.splits;
    described_.splits = splits_;
    const StepPlan plan = plan_step(described_, shape, capability_);
    RunProgress progress;
    Result<BuiltStep> built = build_step(described_, plan, library_, operands_, stream_.get(),
                                         {.progress = progress, .observer = observer_});
    EXPECT_TRUE(built.ok()) << built.error().message;
    EXPECT_TRUE(built.value().step->write_splits(splits_, stream_.get()).ok());
    EXPECT_TRUE(built.value().step->prepare(stream_.get(), observer_).ok());
    return std::move(built).value();
  }

  /// Of every output after one launch over poisoned memory.
  template <class Launch>
  std::vector<std::uint64_t> sums_after(const BuiltStep& built, Launch&& launch) {
    Result<OutputCheck> check = OutputCheck::create(*built.step);
    EXPECT_TRUE(check.ok());
    EXPECT_TRUE(check.value().poison(*built.step, stream_.get()).ok());
    const Status launched = launch();
    EXPECT_TRUE(launched.ok()) << launched.error().message;
    Result<std::vector<std::uint64_t>> sums = check.value().checksums(*built.step, stream_.get());
    EXPECT_TRUE(sums.ok()) << sums.error().message;
    return std::move(sums).value();
  }
  std::vector<std::uint64_t> eager_sums(const BuiltStep& built) {
    return sums_after(built, [&] { return built.step->launch(stream_.get(), observer_); });
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

TEST_F(ExpertLayerTest, HasTheNumbersOfTheCpu) {
  for (const Scaling scaling : all_scalings()) {
    for (const EnumName& passes : kType<StepPasses>.names) {
      SCOPED_TRACE(std::string(name_of(scaling)) + " " + std::string(passes.name));
      expect_numbers_of_cpu(layer_request(scaling, static_cast<StepPasses>(passes.value)));
    }
  }
}

TEST_F(ExpertLayerTest, HasTheNumbersOfTheCpuWhateverIsChosen) {
  struct Choice {
    const char* name;
    void (*choose)(RunRequest& request);
  };
  constexpr Choice kChoices[] = {
      {"mixed, the down projection unquantized",
       [](RunRequest& request) {
         request.expert_layer.mixed_recipes = true;
         request.expert_layer.down_scaling = Scaling::None;
       }},
      {"mixed, the down projection emulated",
       [](RunRequest& request) {
         request.expert_layer.mixed_recipes = true;
         request.expert_layer.down_scaling = Scaling::Mxfp8;
       }},
      {"lists of weights",
       [](RunRequest& request) { request.products.weight_storage = WeightStorage::List; }},
      {"one matmul per expert",
       [](RunRequest& request) { request.backend = GemmBackend::CublasLtPerExpert; }},
      {"FP16", [](RunRequest& request) { request.recipe.high_precision = ElementType::Fp16; }},
      {"micro-batches", [](RunRequest& request) { request.products.weight_reuse = 3; }},
      {"FP32 weight gradients, late, of a recomputed activation",
       [](RunRequest& request) {
         request.products.wgrad_type = ElementType::Fp32;
         request.products.delayed_wgrad = true;
         request.expert_layer.recompute_activation = true;
       }},
  };
  for (const Scaling scaling : {Scaling::Block, Scaling::PerTensorCurrent}) {
    for (const Choice& choice : kChoices) {
      SCOPED_TRACE(std::string(name_of(scaling)) + ", " + choice.name);
      RunRequest request = layer_request(scaling);
      choice.choose(request);
      expect_numbers_of_cpu(request);
    }
  }
}

/// The most bytes that were allocated at the same time since `clock`.
std::int64_t peak_bytes_since(std::uint64_t clock) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> changes;
  for (const Allocation& one : AllocationLedger::of_process().read()) {
    if (one.space != MemorySpace::Device || one.allocated_at <= clock) continue;
    const auto bytes = static_cast<std::int64_t>(one.bytes);
    changes.emplace_back(one.allocated_at, bytes);
    if (!one.live()) changes.emplace_back(one.freed_at, -bytes);
  }
  std::ranges::sort(changes);
  std::int64_t now = 0;
  std::int64_t peak = 0;
  for (const auto& [time, bytes] : changes) {
    now += bytes;
    peak = std::max(peak, now);
  }
  return peak;
}

TEST_F(ExpertLayerTest, TakesNoMoreMemoryThanIsPlanned) {
  for (const Scaling scaling : all_scalings()) {
    for (const bool list : {false, true}) {
      SCOPED_TRACE(std::string(name_of(scaling)) + (list ? ", lists of weights" : ""));
      RunRequest request = layer_request(scaling);
      // Large enough that what every step has, whatever its shape, hides nothing.
      request.shape = {.preset = {}, .num_experts = 4, .rows = 8192, .n = 2048, .k = 2048};
      request.expert_layer.fused_activation = !list;
      if (list) request.products.weight_storage = WeightStorage::List;
      (void)operands_.keep_only({});
      const std::uint64_t clock = AllocationLedger::of_process().clock();
      const BuiltStep built = build(request);
      const GroupedShape shape = resolve_shape(described_.effective).value();
      const StepPlan plan = plan_step(described_, shape, capability_);
      DeviceOperands nothing;
      const std::int64_t operands = nothing.keep_only(plan.operand_keys());
      EXPECT_LE(peak_bytes_since(clock), operands + plan.step_bytes());
      ASSERT_TRUE(built.step->launch(stream_.get(), observer_).ok());
      ASSERT_TRUE(measure_layer_numerics(*built.layer, stream_.get(), described_).ok());
      EXPECT_LE(peak_bytes_since(clock), operands + plan.step_bytes() + plan.numerics_bytes());
    }
  }
}

TEST_F(ExpertLayerTest, HowTheActivationIsComputedChangesNoBit) {
  for (const Scaling scaling : all_scalings()) {
    for (const LayerActivation activation :
         {LayerActivation::SwiGlu, LayerActivation::ClampedSwiGlu, LayerActivation::SRelu}) {
      SCOPED_TRACE(std::string(name_of(scaling)) + " " + std::string(name_of(activation)));
      RunRequest request = layer_request(scaling);
      request.expert_layer.activation = activation;
      const std::vector<std::uint64_t> fused = eager_sums(build(request));
      RunRequest other = request;
      other.expert_layer.fused_activation = false;
      EXPECT_EQ(eager_sums(build(other)), fused) << "not fused";
      other.expert_layer.recompute_activation = true;
      EXPECT_EQ(eager_sums(build(other)), fused) << "not fused, recomputed";
      request.expert_layer.recompute_activation = true;
      EXPECT_EQ(eager_sums(build(request)), fused) << "recomputed";
      request.products.delayed_wgrad = true;
      EXPECT_EQ(eager_sums(build(request)), fused) << "late weight gradients";
    }
  }
}

TEST_F(ExpertLayerTest, WhereTheWorkspaceIsChangesNoBitOfAnEagerStep) {
  for (const Scaling scaling : {Scaling::None, Scaling::Block}) {
    RunRequest request = layer_request(scaling);
    request.workspace = WorkspaceStrategy::PerMatmul;
    const std::vector<std::uint64_t> own = eager_sums(build(request));
    for (const EnumName& name : kType<WorkspaceStrategy>.names) {
      SCOPED_TRACE(std::string(name_of(scaling)) + " " + std::string(name.name));
      request.workspace = static_cast<WorkspaceStrategy>(name.value);
      EXPECT_EQ(eager_sums(build(request)), own);
    }
  }
}

TEST_F(ExpertLayerTest, ABackwardStepKeepsItsHWhileAlgorithmsAreTried) {
  RunRequest request = layer_request(Scaling::Block, StepPasses::Backward);
  // A shape of its own: what an earlier trial has learned is not tried again.
  request.shape = {.preset = {}, .num_experts = 3, .rows = 700, .n = 384, .k = 256};
  const BuiltStep built = build(request);
  const std::vector<std::uint64_t> before = eager_sums(built);
  Result<std::vector<ProductTrial>> trials = built.step->try_candidates(stream_.get());
  ASSERT_TRUE(trials.ok());
  EXPECT_EQ(trials.value().size(), 8U) << "dgrad and wgrad of two projections, two layers";
  EXPECT_EQ(eager_sums(built), before);
}

TEST_F(ExpertLayerTest, ABackwardStepWithAHistoryFindsEveryCopySettled) {
  RunRequest request = layer_request(Scaling::PerTensorDelayed, StepPasses::Backward);
  const std::vector<std::uint64_t> kept = eager_sums(build(request));
  request.expert_layer.recompute_activation = true;
  EXPECT_EQ(eager_sums(build(request)), kept);
}

TEST_F(ExpertLayerTest, RunsAsOneGraphWithoutAWrongReplay) {
  for (const Scaling scaling : all_scalings()) {
    SCOPED_TRACE(name_of(scaling));
    RunRequest request = layer_request(scaling);
    request.launch.kind = LaunchKind::GraphReplay;
    const Result<RunResult> made = run(*slot_.backend, request);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_GT(made.value().graph.kernels, 10);
    EXPECT_FALSE(made.value().replay_checks.empty());
    for (const ReplayCheck& check : made.value().replay_checks) {
      EXPECT_TRUE(check.wrong_experts.empty())
          << output_title(request.step, check.product, check.layer) << " replay " << check.replay;
    }
  }
}

/// Splits of the same number of tokens, some of them 0.
std::vector<std::int64_t> random_splits(std::mt19937& random, std::size_t experts,
                                        std::int64_t tokens) {
  std::vector<std::int64_t> splits(experts, 0);
  std::vector<double> shares(experts);
  double sum = 0.0;
  for (double& share : shares) {
    share = std::max(0.0, std::uniform_real_distribution(-0.3, 1.0)(random));
    sum += share;
  }
  std::int64_t left = tokens;
  for (std::size_t i = 0; i + 1 < experts && sum > 0; ++i) {
    splits[i] =
        std::min(left, static_cast<std::int64_t>(shares[i] / sum * static_cast<double>(tokens)));
    left -= splits[i];
  }
  splits.back() = left;
  return splits;
}

TEST_F(ExpertLayerTest, TwoGraphsFollowTheRouting) {
  constexpr int kSteps = 10000 / 3;  // for each of three recipes
  for (const Scaling scaling : {Scaling::None, Scaling::Block, Scaling::PerTensorCurrent}) {
    SCOPED_TRACE(name_of(scaling));
    const BuiltStep built = build(layer_request(scaling));
    const auto captured = [&](auto&& launch) {
      Result<Graph> graph = capture(stream_.get(), launch);
      EXPECT_TRUE(graph.ok()) << graph.error().message;
      Result<GraphExec> exec = instantiate(graph.value());
      EXPECT_TRUE(exec.ok());
      return std::move(exec).value();
    };
    // Loads kernels before the capture.
    (void)eager_sums(built);
    const GraphExec forward = captured(
        [&] { return built.layer->launch_pass(ProgramPass::Forward, stream_.get(), observer_); });
    const GraphExec backward = captured(
        [&] { return built.layer->launch_pass(ProgramPass::Backward, stream_.get(), observer_); });
    std::mt19937 random(1);
    int wrong = 0;
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<std::int64_t> splits = random_splits(random, 4, 1000);
      ASSERT_TRUE(built.step->write_splits(splits, stream_.get()).ok());
      // First, so that nothing of an eager step with the same routing is there to be found.
      const std::vector<std::uint64_t> replayed = sums_after(built, [&]() -> Status {
        for (const GraphExec* exec : {&forward, &backward}) {
          ENGINE_CUDA_TRY(cudaGraphLaunch(exec->get(), stream_.get()), "Launching a graph");
        }
        return {};
      });
      wrong += eager_sums(built) == replayed ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0) << "of " << kSteps << " steps";
  }
}

}  // namespace
}  // namespace engine
