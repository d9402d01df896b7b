// Rows and columns of a run's operands: a planted outlier is found where it was planted, and what
// is counted by channel is what is counted in all.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "engine/backend/backend.h"
#include "engine/model/tensor_result.h"
#include "engine/model/values.h"
#include "tests/numerics/backend/layer_bench.h"
#include "tests/support/npy_text.h"

namespace engine {
namespace {

Result<RunResult> run_of(const RunRequest& request) {
  RunProgress progress;
  StepObserver observer;
  return make_cpu_backend()->run(request, {progress, observer});
}

/// Few enough columns that all of them are named.
RunRequest narrow_request(Scaling scaling, Distribution distribution) {
  RunRequest request;
  request.shape = {.preset = "", .num_experts = 4, .rows = 131, .n = 16, .k = 16};
  request.routing.distribution = RoutingDistribution::HalfEmpty;
  request.recipe.scaling = scaling;
  request.products.passes = StepPasses::ForwardBackward;
  request.launch.iterations = 1;
  request.activations = SyntheticInput{distribution, ElementType::Bf16};
  request.products.gradients = SyntheticInput{distribution, ElementType::Fp32};
  return request;
}

void expect_totals(const OperandStatistics& operand) {
  ASSERT_TRUE(operand.channels);
  const ChannelStatistics& channels = *operand.channels;
  EXPECT_TRUE(validate(channels).ok());
  ASSERT_EQ(channels.columns.largest.size(), 16U);
  Channel sum{};
  for (const Channel& column : channels.columns.largest) {
    sum.saturated += column.saturated;
    sum.underflowed += column.underflowed;
    sum.lost += column.lost;
    sum.undefined += column.undefined;
    sum.signal_share += column.signal_share;
    sum.noise_share += column.noise_share;
  }
  EXPECT_EQ(sum.saturated, operand.saturated);
  EXPECT_EQ(sum.underflowed, operand.underflowed);
  EXPECT_EQ(sum.lost, operand.lost);
  EXPECT_EQ(sum.undefined, operand.undefined);
  EXPECT_NEAR(sum.signal_share, 1.0, 1e-9);
  if (std::isfinite(operand.snr_db)) {
    EXPECT_NEAR(sum.noise_share, 1.0, 1e-9);
    EXPECT_NEAR(10.0 * std::log10(channels.signal / channels.noise), operand.snr_db, 1e-5);
  } else {
    EXPECT_EQ(channels.noise, 0.0);
  }
}

TEST(CpuChannels, OfEveryRecipeAddUpToTheOperand) {
  for (const Scaling scaling : all_scalings()) {
    for (const Distribution distribution : {Distribution::HeavyTailed, Distribution::NonFinite}) {
      SCOPED_TRACE(std::string(name_of(scaling)) + ", " + std::string(name_of(distribution)));
      const Result<RunResult> result = run_of(narrow_request(scaling, distribution));
      ASSERT_TRUE(result.ok()) << result.error().message;
      const std::vector<StepTensor> operands = operands_of(result.value());
      EXPECT_EQ(operands, (std::vector{StepTensor::X, StepTensor::WUp, StepTensor::DY}));
      for (const StepTensor operand : operands) {
        SCOPED_TRACE(name_of(operand));
        expect_totals(*statistics_of(result.value(), operand));
      }
    }
  }
}

TEST(CpuChannels, AreMeasuredOfEveryOperandOfALayer) {
  for (const Scaling scaling : {Scaling::None, Scaling::Block, Scaling::Mxfp8}) {
    const Result<RunResult> result = run_of(layer_request(scaling));
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(operands_of(result.value()).size(), 6U);
    for (const StepTensor operand : operands_of(result.value())) {
      SCOPED_TRACE(name_of(operand));
      const TensorResult& tensor = *find_tensor(result.value(), operand);
      ASSERT_TRUE(tensor.quantization->channels);
      const ChannelStatistics& channels = *tensor.quantization->channels;
      EXPECT_TRUE(validate(channels).ok());
      EXPECT_EQ(channels.columns.channels, tensor.columns);
      EXPECT_EQ(channels.rows.channels, tensor.rows);
      EXPECT_EQ(channels.rows.largest.size(), kMaxNamedChannels);
      EXPECT_EQ(channels.rows.noisiest.empty(), !traits_of(scaling).quantizes());
      for (const Channel& row : channels.rows.largest) {
        EXPECT_EQ(row.expert % 2,
                  operand == StepTensor::WUp || operand == StepTensor::WDown ? row.expert % 2 : 0)
            << "odd experts have no rows";
      }
    }
  }
}

TEST(CpuChannels, APlantedColumnIsNamedWithItsRowAndExpert) {
  constexpr std::int64_t kRows = 131;
  constexpr std::int64_t kColumns = 1040;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> x(kRows * kColumns);
  for (float& value : x) value = uniform(random);
  for (std::int64_t row = 0; row < kRows; ++row) x[row * kColumns + 777] *= 50.0F;
  x[100 * kColumns + 777] = -60.0F;
  x[40 * kColumns + 5] = 30.0F;
  const auto path = std::filesystem::temp_directory_path() / "expertscope_channels_test.npy";
  std::ofstream(path, std::ios::binary) << npy_floats("131, 1040", x);
  RunRequest request;
  request.shape = {.preset = "", .num_experts = 4, .rows = kRows, .n = 16, .k = kColumns};
  request.routing.distribution = RoutingDistribution::HalfEmpty;
  request.launch.iterations = 1;
  request.activations = FileInput{path.string(), {}};
  for (const Scaling scaling : {Scaling::None, Scaling::PerTensorCurrent, Scaling::Block}) {
    SCOPED_TRACE(name_of(scaling));
    request.recipe.scaling = scaling;
    const Result<RunResult> result = run_of(request);
    ASSERT_TRUE(result.ok()) << result.error().message;
    const ChannelStatistics& channels = *statistics_of(result.value(), StepTensor::X)->channels;
    const Channel& column = channels.columns.largest.at(0);
    EXPECT_EQ(column.index, 777);
    EXPECT_EQ(column.amax, 60.0);
    EXPECT_EQ(column.place, 100);
    EXPECT_EQ(column.expert, 2) << "experts 0 and 2 have 66 and 65 rows";
    EXPECT_NEAR(channels.columns.over_median(column), 60.0, 1.0);
    EXPECT_EQ(channels.columns.outliers, 2);
    EXPECT_EQ(channels.columns.largest.at(1).index, 5);
    EXPECT_EQ(channels.columns.largest.at(1).place, 40);
    EXPECT_EQ(channels.columns.largest.at(1).expert, 0);
    EXPECT_EQ(channels.rows.largest.at(0).index, 100);
    EXPECT_EQ(channels.rows.largest.at(0).place, 777);
    // The sum of squares of one column, from the values themselves.
    double own = 0.0;
    double all = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double square = static_cast<double>(x[i]) * static_cast<double>(x[i]);
      all += square;
      own += i % kColumns == 777 ? square : 0.0;
    }
    EXPECT_NEAR(column.signal_share, own / all, 2e-3);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace engine
