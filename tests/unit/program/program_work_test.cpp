// Bytes and FLOP of single operations, against numbers computed by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "engine/program/explain.h"

namespace engine {
namespace {

constexpr std::array<std::int64_t, 3> kRows = {100, 0, 28};

RunRequest linear_step(Scaling scaling) {
  RunRequest request;
  request.backend = GemmBackend::CublasLtGrouped;
  request.shape = {.preset = {}, .num_experts = 3, .rows = 128, .n = 512, .k = 256};
  request.recipe.scaling = scaling;
  request.products.passes = StepPasses::ForwardBackward;
  return request;
}

OperationWork work(const RunRequest& request, std::string_view sentence, bool emulated = false) {
  const StepProgram program = program_of(request);
  const std::vector<ExplainedOperation> all =
      explain(program, {.splits = kRows, .emulated_up = emulated, .emulated_down = emulated});
  const auto found = std::ranges::find_if(
      all, [&](const ExplainedOperation& one) { return one.sentence.starts_with(sentence); });
  EXPECT_NE(found, all.end()) << sentence;
  return found == all.end() ? OperationWork{} : found->work;
}

TEST(ProgramWork, AnUnquantizedProductReadsTwoBytesOfEveryElement) {
  const OperationWork y = work(linear_step(Scaling::None), "Y = X W^T");
  EXPECT_EQ(y.flop, 2.0 * 128 * 512 * 256);
  // The weights of the expert without rows are not read.
  EXPECT_EQ(y.read_bytes, 2.0 * (128 * 256 + 2 * 512 * 256));
  EXPECT_EQ(y.written_bytes, 2.0 * 128 * 512);
}

TEST(ProgramWork, EveryExpertHasAWeightGradient) {
  RunRequest request = linear_step(Scaling::None);
  request.products.wgrad_type = ElementType::Fp32;
  OperationWork dw = work(request, "dW = dY^T X");
  EXPECT_EQ(dw.written_bytes, 4.0 * 3 * 512 * 256);
  EXPECT_EQ(dw.read_bytes, 2.0 * 128 * (512 + 256));
  request.products.accumulate_wgrad = true;
  dw = work(request, "dW += dY^T X");
  EXPECT_EQ(dw.read_bytes, 2.0 * 128 * (512 + 256) + 4.0 * 3 * 512 * 256);
}

TEST(ProgramWork, QuantizingPerTensorWritesItsScalesOnce) {
  const OperationWork x = work(linear_step(Scaling::PerTensorCurrent), "quantize X");
  EXPECT_EQ(x.flop, 2.0 * 128 * 256);
  EXPECT_EQ(x.read_bytes, 2.0 * 128 * 256);
  EXPECT_EQ(x.written_bytes, 2.0 * 128 * 256 + 2 * 4);  // of the two experts that have rows
}

TEST(ProgramWork, EmulatedProductsReadDequantizedOperands) {
  const OperationWork y = work(linear_step(Scaling::Block), "Y = X W^T", true);
  EXPECT_EQ(y.read_bytes, 2.0 * (128 * 256 + 2 * 512 * 256));
}

TEST(ProgramWork, AFusedActivationIsReadFromHAndItsGradient) {
  RunRequest request = linear_step(Scaling::Block);
  request.step = StepKind::ExpertLayer;
  EXPECT_EQ(work(request, "quantize A from H").read_bytes, 2.0 * 128 * 512);
  EXPECT_EQ(work(request, "quantize dH from H and dA").read_bytes, 2.0 * 128 * (512 + 256));
}

}  // namespace
}  // namespace engine
