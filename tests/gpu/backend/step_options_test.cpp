// Options that must not change a bit of a step's results: foreign lists of weights, the caller's
// outputs, programmatic launches, the width of the splits.
#include <gmock/gmock.h>

#include "engine/device/device_facts.h"
#include "engine/device/driver_api.h"
#include "kernels/common/waiting_kernels.h"
#include "tests/gpu/backend/step_recipes.h"

namespace engine::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Splits = std::vector<std::int64_t>;
using Sums = std::vector<std::vector<std::uint64_t>>;

class StepOptions : public StepFixture, public ::testing::WithParamInterface<NamedRecipe> {
 protected:
  void SetUp() override {
    StepFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (const std::string sentence = refusal(GetParam().recipe, both_passes()); !sentence.empty()) {
      GTEST_SKIP() << sentence;
    }
  }

  StepConfig config(int layers = 2) const {
    ProductOptions products = both_passes();
    products.bias = true;
    return SmallStep{.num_groups = 4,
                     .capacity_rows = 384,
                     .n = 256,
                     .k = 384,
                     .layers = layers,
                     .recipe = GetParam().recipe,
                     .products = products}
        .config();
  }

  /// Checksums of every routing: launched eagerly, then from one graph that is replayed.
  void run(const StepConfig& with, Sums& eager, Sums& replayed, int* programmatic = nullptr) {
    const Status made = make(with);
    ASSERT_TRUE(made.ok()) << made.error().message;
    for (const Splits& splits : routings_) {
      const auto sums = eager_checksums(splits);
      ASSERT_TRUE(sums.ok()) << sums.error().message;
      eager.push_back(sums.value());
    }
    const auto graph =
        capture(stream_.get(), [&] { return step_->launch(stream_.get(), observer_); });
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    if (programmatic != nullptr) *programmatic = programmatic_edges(graph.value().get());
    const auto exec = instantiate(graph.value());
    ASSERT_TRUE(exec.ok()) << exec.error().message;
    for (const Splits& splits : routings_) {
      ASSERT_TRUE(step_->write_splits(splits, stream_.get()).ok());
      ASSERT_TRUE(check_.poison(*step_, stream_.get()).ok());
      ASSERT_EQ(cudaGraphLaunch(exec.value().get(), stream_.get()), cudaSuccess);
      const auto sums = check_.checksums(*step_, stream_.get());
      ASSERT_TRUE(sums.ok()) << sums.error().message;
      replayed.push_back(sums.value());
    }
    EXPECT_EQ(eager, replayed) << "graph and eager";
  }

  /// Bits of `other` are those of `plain`, eager and replayed.
  void expect_same(const StepConfig& plain, const StepConfig& other) {
    Sums eager[2];
    Sums replayed[2];
    run(plain, eager[0], replayed[0]);
    run(other, eager[1], replayed[1]);
    ASSERT_EQ(eager[0].size(), routings_.size());
    EXPECT_EQ(eager[0], eager[1]) << "eager";
    EXPECT_EQ(replayed[0], replayed[1]) << "replayed";
  }

  static std::string symbol_of(cudaGraphNode_t node) {
    const Result<DriverApi> driver = load_driver_api();
    if (!driver.ok()) return driver.error().message;
    CUDA_KERNEL_NODE_PARAMS parameters{};
    if (driver.value().graph_kernel_node_get_params(node, &parameters) != CUDA_SUCCESS) return {};
    const char* symbol = "";
    (void)(parameters.func != nullptr ? driver.value().func_get_name(&symbol, parameters.func)
                                      : driver.value().kernel_get_name(&symbol, parameters.kern));
    return symbol;
  }

  static int programmatic_edges(cudaGraph_t graph) {
    std::size_t count = 0;
    EXPECT_EQ(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), cudaSuccess);
    std::vector<cudaGraphNode_t> from(count);
    std::vector<cudaGraphNode_t> to(count);
    std::vector<cudaGraphEdgeData> kinds(count);
    EXPECT_EQ(cudaGraphGetEdges(graph, from.data(), to.data(), kinds.data(), &count), cudaSuccess);
    int programmatic = 0;
    for (std::size_t edge = 0; edge < count; ++edge) {
      if (kinds[edge].type != cudaGraphDependencyTypeProgrammatic) continue;
      ++programmatic;
      // A kernel that may start early must be known to wait.
      const std::string symbol = symbol_of(to[edge]);
      EXPECT_TRUE(kernels::waits_for_predecessor(symbol)) << symbol;
    }
    return programmatic;
  }

  const std::vector<Splits> routings_ = {{96, 96, 96, 96}, {101, 0, 37, 118}, {0, 0, 0, 384},
                                         {1, 130, 0, 0},   {0, 0, 0, 0},      {7, 300, 50, 27}};
};

INSTANTIATE_TEST_SUITE_P(Step, StepOptions, ::testing::ValuesIn(kRecipes),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(StepOptions, AForeignListOfWeightsGivesTheBitsOfTheGroupedTensor) {
  const StepConfig grouped = config();
  StepConfig list = grouped;
  list.products.weight_storage = WeightStorage::List;
  expect_same(grouped, list);
}

TEST_P(StepOptions, ProgrammaticLaunchesGiveTheSameBits) {
  for (const WorkspaceStrategy workspace :
       {WorkspaceStrategy::PerMatmul, WorkspaceStrategy::PerCall}) {
    for (const SetupArrays arrays : {SetupArrays::PerMatmul, SetupArrays::Shared}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(workspace) << static_cast<int>(arrays));
      StepConfig off = config();
      off.workspace = workspace;
      off.setup_arrays = arrays;
      StepConfig on = off;
      on.programmatic_launch = true;
      Sums eager[2];
      Sums replayed[2];
      int edges[2] = {};
      run(off, eager[0], replayed[0], &edges[0]);
      run(on, eager[1], replayed[1], &edges[1]);
      ASSERT_EQ(eager[1].size(), routings_.size());
      EXPECT_EQ(eager[0], eager[1]) << "eager";
      EXPECT_EQ(replayed[0], replayed[1]) << "replayed";
      EXPECT_EQ(edges[0], 0);
      EXPECT_GT(edges[1], 0);
      RecordProperty("programmatic_edges", edges[1]);
    }
  }
}

TEST_P(StepOptions, SplitsOf32BitsGiveTheSameBits) {
  const StepConfig wide = config();
  StepConfig narrow = wide;
  narrow.int32_splits = true;
  expect_same(wide, narrow);
  const Status beyond = step_->write_splits(Splits{1, 2, 3, std::int64_t{1} << 31}, stream_.get());
  ASSERT_FALSE(beyond.ok());
  EXPECT_THAT(beyond.error().message, AllOf(HasSubstr("2147483648"), HasSubstr("64-bit")));
}

/// Over-allocated outputs of a caller, every byte of them 0xA5 before the step runs.
class OwnedOutputs {
 public:
  static constexpr int kPoison = 0xA5;
  static constexpr std::int64_t kSpareRows = 3;

  CallerTensor add(std::int64_t rows, std::int64_t columns, ElementType type) {
    const std::int64_t element = type == ElementType::Fp32 ? 4 : 2;
    const std::int64_t bytes = (rows + kSpareRows) * columns * element;
    auto buffer = DeviceBuffer::allocate(bytes, {});
    EXPECT_TRUE(buffer.ok());
    EXPECT_EQ(cudaMemset(buffer.value().data(), kPoison, static_cast<std::size_t>(bytes)),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // the step's stream does not wait for it
    tensors_.push_back({.buffer = std::move(buffer).value(), .used = rows * columns * element});
    return {.values = tensors_.back().buffer.data(),
            .type = type,
            .rows = rows + kSpareRows,
            .columns = columns,
            .capacity_bytes = bytes};
  }

  void expect_tails_untouched(cudaStream_t stream) const {
    for (const Tensor& tensor : tensors_) {
      std::vector<std::uint8_t> tail(static_cast<std::size_t>(tensor.buffer.bytes()) -
                                     static_cast<std::size_t>(tensor.used));
      ASSERT_TRUE(
          copy_to_host(std::span<std::uint8_t>(tail), tensor.buffer.data() + tensor.used, stream)
              .ok());
      EXPECT_THAT(tail, ::testing::Each(kPoison));
    }
  }

 private:
  struct Tensor {
    DeviceBuffer buffer;
    std::int64_t used = 0;
  };
  std::vector<Tensor> tensors_;
};

std::vector<CallerOutputs> outputs_of(const StepConfig& config, OwnedOutputs& owned) {
  std::vector<CallerOutputs> outputs(static_cast<std::size_t>(config.layers));
  for (CallerOutputs& layer : outputs) {
    layer.y = owned.add(config.capacity_rows(), config.n(), config.output_type());
    layer.dx = owned.add(config.capacity_rows(), config.k(), config.output_type());
    layer.dw = owned.add(config.weight_rows(), config.k(), config.wgrad_type());
  }
  outputs.front().bias_gradient =
      owned.add(config.num_groups(), config.n(), config.recipe.high_precision);
  return outputs;
}

TEST_P(StepOptions, CallersOutputsHaveTheSameBitsAndTheirTailsAreUntouched) {
  StepConfig plain = config();
  plain.products.wgrad_type = ElementType::Fp32;
  Sums eager[2];
  const Status made = make(plain);
  ASSERT_TRUE(made.ok()) << made.error().message;
  for (const Splits& splits : routings_) eager[0].push_back(eager_checksums(splits).value());
  std::vector<std::uint16_t> bias_gradient[2];
  const auto read_bias_gradient = [&](int which) {
    bias_gradient[which].resize(static_cast<std::size_t>(plain.num_groups() * plain.n()));
    return copy_to_host(std::span<std::uint16_t>(bias_gradient[which]),
                        step_->outputs(0).bias_gradient, stream_.get());
  };
  ASSERT_TRUE(read_bias_gradient(0).ok());
  OwnedOutputs owned;
  const std::vector<CallerOutputs> outputs = outputs_of(plain, owned);
  const Status given = make(plain, outputs);
  ASSERT_TRUE(given.ok()) << given.error().message;
  for (std::size_t layer = 0; layer < outputs.size(); ++layer) {
    EXPECT_EQ(step_->outputs(static_cast<int>(layer)).dw, outputs[layer].dw->values);
  }
  for (const Splits& splits : routings_) eager[1].push_back(eager_checksums(splits).value());
  EXPECT_EQ(eager[0], eager[1]);
  ASSERT_TRUE(read_bias_gradient(1).ok());
  EXPECT_EQ(bias_gradient[0], bias_gradient[1]);
  owned.expect_tails_untouched(stream_.get());
}

class CallersTensors : public StepFixture {
 protected:
  StepConfig small(WeightStorage storage) const {
    ProductOptions products = both_passes();
    products.weight_storage = storage;
    return SmallStep{.num_groups = 3,
                     .capacity_rows = 64,
                     .n = 64,
                     .k = 128,
                     .recipe = {.scaling = Scaling::Block},
                     .products = products}
        .config();
  }
};

TEST_F(CallersTensors, AWeightThatDiffersIsRefusedByExpertAndAttribute) {
  std::vector<std::uint16_t> on_host(64 * 128);
  struct Case {
    std::function<void(ListedWeight&)> spoil;
    const char* words[2];
  };
  for (const Case& spoilt :
       {Case{[&](auto& w) { w.tensor.values = on_host.data(); }, {"host memory", "device 0"}},
        Case{[](auto& w) { w.tensor.rows = 32; }, {"rows (n) is 32", "64"}},
        Case{[](auto& w) { w.recipe.pow2_scales = false; },
             {"power-of-two scales is off", "on"}}}) {
    spoil_ = [&](StepOperands& operands) { spoilt.spoil(operands.weight_lists.front()[1]); };
    const Status made = make(small(WeightStorage::List));
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::InvalidArgument);
    EXPECT_THAT(made.error().message, AllOf(HasSubstr("expert 1"), HasSubstr(spoilt.words[0]),
                                            HasSubstr(spoilt.words[1])));
  }
}

TEST_F(CallersTensors, AnOutputThatDoesNotFitOrIsNotWrittenIsRefusedByName) {
  const StepConfig both = small(WeightStorage::Grouped);
  const auto refused = [&](const StepConfig& config, auto&& spoil, const char* name,
                           const char* word) {
    OwnedOutputs owned;
    std::vector<CallerOutputs> outputs(1);
    outputs.front().y = owned.add(both.capacity_rows(), both.n(), ElementType::Bf16);
    outputs.front().dw = owned.add(both.weight_rows(), both.k(), ElementType::Bf16);
    spoil(outputs.front());
    const Status made = make(config, outputs);
    ASSERT_FALSE(made.ok()) << word;
    EXPECT_THAT(made.error().message, AllOf(HasSubstr(name), HasSubstr(word)));
  };
  refused(both, [](auto& o) { o.dw->type = ElementType::Fp32; }, "dW, layer 0", "FP32");
  refused(both, [](auto& o) { o.y->rows = 63; }, "Y, layer 0", "63 where at least 64");
  refused(both, [](auto& o) { o.y->capacity_bytes = 100; }, "Y, layer 0", "100 bytes");
  StepConfig forward = both;
  forward.products.passes = StepPasses::Forward;
  refused(forward, [](auto&) {}, "dW, layer 0", "does not write it");
}

TEST_F(CallersTensors, AListOf65ExpertsNamesTheLastOnesBits) {
  StepConfig config = small(WeightStorage::Grouped);
  config.shape.num_experts = 65;
  config.shape.rows = 650;
  Splits splits(65, 9);
  splits.back() = 40;
  std::vector<std::uint64_t> sums[2];
  for (const WeightStorage storage : {WeightStorage::Grouped, WeightStorage::List}) {
    config.products.weight_storage = storage;
    const Status made = make(config);
    ASSERT_TRUE(made.ok()) << made.error().message;
    const auto got = eager_checksums(splits);
    ASSERT_TRUE(got.ok()) << got.error().message;
    sums[storage == WeightStorage::List ? 1 : 0] = got.value();
    expect_host_products(splits);
  }
  for (const ReplayCheck& check : compare_checksums(1, step_->all_outputs(), sums[0], sums[1])) {
    EXPECT_THAT(check.wrong_experts, ::testing::IsEmpty()) << name_of(check.product);
  }
}

}  // namespace
}  // namespace engine::testing
