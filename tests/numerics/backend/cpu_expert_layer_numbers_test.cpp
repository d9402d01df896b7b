// What a run of the expert layer on the CPU reports: tensor by tensor, kept operands or streamed
// ones, every recipe and pass, losses, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "tests/numerics/backend/layer_bench.h"

namespace engine {
namespace {

Result<RunResult> run(const RunRequest& request) {
  static const std::unique_ptr<Backend> kBackend = make_cpu_backend();
  RunProgress progress;
  StepObserver observer;
  return kBackend->run(request, {progress, observer});
}

double snr_of(const RunResult& result, StepTensor tensor) {
  return find_tensor(result, tensor)->error.snr_db;
}

TEST(CpuExpertLayerNumbers, ReportsEveryTensorAndWhereTheErrorOfYComesFrom) {
  RunRequest request = layer_request(Scaling::Block);
  request.shape.rows = 300;
  request.launch.iterations = 2;
  const Result<RunResult> made = run(request);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const RunResult& result = made.value();
  ASSERT_TRUE(result.expert_layer);
  EXPECT_EQ(std::ssize(result.tensors),
            std::ranges::count_if(kStepTensors, [](const StepTensorTraits& one) {
              return one.reported && !one.tokens();
            }));
  EXPECT_EQ(result.flop, 3 * 2.0 * 300 * 80 * (288 + 144));
  // Quantization costs about the same everywhere: 31 dB for an E4M3 operand of bell-shaped values.
  EXPECT_NEAR(snr_of(result, StepTensor::X), 31.6, 1.0);
  EXPECT_NEAR(snr_of(result, StepTensor::WUp), 31.6, 1.0);
  EXPECT_GT(snr_of(result, StepTensor::H), 26.0);
  EXPECT_LT(snr_of(result, StepTensor::A), snr_of(result, StepTensor::H));
  EXPECT_LT(snr_of(result, StepTensor::Y), snr_of(result, StepTensor::A));
  EXPECT_LT(snr_of(result, StepTensor::DX), snr_of(result, StepTensor::DA));
  EXPECT_GT(snr_of(result, StepTensor::DX), 15.0);
  const TensorResult& a = *find_tensor(result, StepTensor::A);
  EXPECT_EQ(a.rows, 300);
  EXPECT_EQ(a.columns, 144);
  // Codes, and a scale for each of two blocks of a row.
  EXPECT_EQ(a.bytes, 300 * 144 + 300 * 2 * 4);
  EXPECT_EQ(statistics_of(result, StepTensor::A)->elements, 300U * 144U);
  EXPECT_EQ(statistics_of(result, StepTensor::X)->elements, 300U * 80U);
  EXPECT_EQ(statistics_of(result, StepTensor::WUp)->elements, 4U * 288U * 80U);
  EXPECT_EQ(statistics_of(result, StepTensor::DY)->elements, 300U * 80U);
  EXPECT_TRUE(validate(result).ok()) << validate(result).error().message;
  EXPECT_EQ(find_tensor(result, StepTensor::H)->bytes, 300 * 288 * 2);
  EXPECT_GT(find_tensor(result, StepTensor::H)->saved_bytes, 0);

  int sources = 0;
  double noise = 0.0;
  const double y = snr_of(result, StepTensor::Y);
  for (const TensorResult& tensor : result.tensors) {
    if (!tensor.unquantized_y) continue;
    ++sources;
    EXPECT_GT(tensor.unquantized_y->snr_db, y) << name_of(tensor.tensor);
    EXPECT_LT(tensor.unquantized_y->snr_db, result.expert_layer->unquantized_snr_db);
    noise += std::pow(10.0, -y / 10) - std::pow(10.0, -tensor.unquantized_y->snr_db / 10);
  }
  EXPECT_EQ(sources, 4);
  // Independent errors add up: what each takes away is, together, nearly everything.
  EXPECT_NEAR(noise / std::pow(10.0, -y / 10), 1.0, 0.15);
  EXPECT_GT(result.expert_layer->unquantized_snr_db, 40.0);
}

TEST(CpuExpertLayerNumbers, AreTheSameOfStreamedOperands) {
  for (const Scaling scaling : {Scaling::None, Scaling::Block, Scaling::PerTensorCurrent}) {
    SCOPED_TRACE(name_of(scaling));
    const RunRequest request = layer_request(scaling);
    LayerBench kept(request, true);
    LayerBench streamed(request, false);
    RunResult expected;
    RunResult result;
    ASSERT_TRUE(kept.layer.measure_statistics(expected).ok());
    ASSERT_TRUE(streamed.layer.measure_statistics(result).ok());
    EXPECT_EQ(kept.layer.reading_ns(), 0);
    EXPECT_GT(streamed.layer.reading_ns(), 0);
    for (const TensorResult& tensor : expected.tensors) {
      SCOPED_TRACE(name_of(tensor.tensor));
      const TensorResult& other = *find_tensor(result, tensor.tensor);
      EXPECT_EQ(other.error.snr_db, tensor.error.snr_db);
      ASSERT_EQ(other.unquantized_y.has_value(), tensor.unquantized_y.has_value());
      if (other.unquantized_y) {
        EXPECT_EQ(other.unquantized_y->snr_db, tensor.unquantized_y->snr_db);
      }
      if (!operand_of(StepKind::ExpertLayer, tensor.tensor)) continue;
      EXPECT_EQ(statistics_of(result, tensor.tensor)->snr_db,
                statistics_of(expected, tensor.tensor)->snr_db);
      EXPECT_EQ(statistics_of(result, tensor.tensor)->median_block_snr_db,
                statistics_of(expected, tensor.tensor)->median_block_snr_db);
    }
  }
}

TEST(CpuExpertLayerNumbers, EveryRecipeRunsEveryPass) {
  for (const Scaling scaling : all_scalings()) {
    for (const EnumName& passes : kType<StepPasses>.names) {
      SCOPED_TRACE(std::string(name_of(scaling)) + " " + std::string(passes.name));
      RunRequest request = layer_request(scaling, static_cast<StepPasses>(passes.value));
      request.launch.iterations = 3;
      request.products.weight_reuse = 2;
      request.products.bias = true;
      const Result<RunResult> made = run(request);
      ASSERT_TRUE(made.ok()) << made.error().message;
      const RunResult& result = made.value();
      const bool forward = request.products.passes != StepPasses::Backward;
      const bool backward = request.products.passes != StepPasses::Forward;
      EXPECT_EQ(find_tensor(result, StepTensor::Y) != nullptr, forward);
      EXPECT_EQ(find_tensor(result, StepTensor::DX) != nullptr, backward);
      const double least = traits_of(scaling).code_bits == 4 ? 8.0 : 15.0;
      if (forward) {
        EXPECT_GT(snr_of(result, StepTensor::Y), least);
      }
      if (backward) {
        EXPECT_GT(snr_of(result, StepTensor::DX), least);
        EXPECT_GT(snr_of(result, StepTensor::DWUp), least);
        EXPECT_GT(snr_of(result, StepTensor::DWDown), least);
      }
      // Experts 1 and 3 have no rows.
      EXPECT_TRUE(std::isnan(result.experts[1].fprop.snr_db));
    }
  }
}

/// A file of float32 [rows, columns], every second one negative.
std::string npy(std::int64_t rows, std::int64_t columns, float value) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() % 256);
  file += static_cast<char>(header.size() / 256);
  file += header;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const float x = i % 2 == 0 ? value : -value;
    file.append(reinterpret_cast<const char*>(&x), sizeof(x));
  }
  return file;
}

TEST(CpuExpertLayerNumbers, LossesInTheMiddleAreCounted) {
  RunRequest request = layer_request(Scaling::None, StepPasses::Forward);
  request.recipe.high_precision = ElementType::Fp16;
  request.expert_layer.activation = LayerActivation::SReGlu;
  request.shape = {.preset = "", .num_experts = 1, .rows = 64, .n = 256, .k = 1024};
  request.routing = {};
  const Result<RunResult> plain = run(request);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(find_tensor(plain.value(), StepTensor::A)->error.lost, 0U);
  // H stays finite, its square times another does not.
  const std::string path = ::testing::TempDir() + "large.npy";
  std::ofstream(path, std::ios::binary) << npy(64, 1024, 300.0F);
  request.activations = FileInput{path, {}};
  const Result<RunResult> large = run(request);
  ASSERT_TRUE(large.ok());
  EXPECT_EQ(find_tensor(large.value(), StepTensor::H)->error.lost, 0U);
  EXPECT_GT(find_tensor(large.value(), StepTensor::A)->error.lost, 0U);
  EXPECT_GT(find_tensor(large.value(), StepTensor::Y)->error.lost, 0U);
}

TEST(CpuExpertLayerNumbers, RefusesHalvesThatAreNotWhole) {
  RunRequest request = layer_request(Scaling::Block);
  request.shape.n = 48;
  const Status status = validate(request);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("48"), std::string::npos);
  EXPECT_NE(status.error().message.find("use 64"), std::string::npos) << status.error().message;
  request.expert_layer.activation = LayerActivation::Gelu;
  EXPECT_TRUE(validate(request).ok());
}

}  // namespace
}  // namespace engine
