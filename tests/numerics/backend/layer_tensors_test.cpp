// Which tensors of an expert layer the host has memory for: those that the program's operations
// make outside of its products, without a list of them.
#include "engine/backend/cpu/layer_tensors.h"

#include <gtest/gtest.h>

#include "tests/numerics/backend/layer_bench.h"

namespace engine {
namespace {

RunRequest request_of(Scaling scaling, StepPasses passes, int top_k, int layers = 1) {
  RunRequest request = layer_request(scaling, passes);
  request.expert_layer.top_k = top_k;
  request.layers = layers;
  return request;
}

TEST(LayerTensors, AProductsOutputIsThereWhereTheLayerReadsIt) {
  TensorBuffers buffers;
  const LayerTensors rows(
      program_of(request_of(Scaling::Block, StepPasses::ForwardBackward, /*top_k=*/0)), buffers);
  EXPECT_TRUE(rows.has(StepTensor::H));
  EXPECT_TRUE(rows.has(StepTensor::DA));
  EXPECT_FALSE(rows.has(StepTensor::A)) << "computed by the quantize kernels";
  EXPECT_FALSE(rows.has(StepTensor::Y)) << "an expert at a time is enough";
  EXPECT_FALSE(rows.has(StepTensor::DX));
  EXPECT_FALSE(rows.has(StepTensor::DWUp));
  EXPECT_FALSE(rows.has(StepTensor::X)) << "loaded";

  TensorBuffers token_buffers;
  const LayerTensors tokens(program_of(request_of(Scaling::None, StepPasses::Forward, /*top_k=*/3)),
                            token_buffers);
  EXPECT_TRUE(tokens.has(StepTensor::A));
  EXPECT_TRUE(tokens.has(StepTensor::X)) << "permuted";
  EXPECT_TRUE(tokens.has(StepTensor::TokenMap));
  EXPECT_TRUE(tokens.has(StepTensor::Y)) << "read by unpermute";
  EXPECT_TRUE(tokens.has(StepTensor::YTokens));
  EXPECT_FALSE(tokens.has(StepTensor::XTokens)) << "loaded";
  EXPECT_FALSE(tokens.has(StepTensor::DXTokens)) << "no backward pass";
}

TEST(LayerTensors, LayersHaveTheirOwnWhereTheProgramKeepsThem) {
  TensorBuffers buffers;
  const RunRequest request =
      request_of(Scaling::None, StepPasses::ForwardBackward, /*top_k=*/3, /*layers=*/2);
  const LayerTensors tensors(program_of(request), buffers);
  EXPECT_EQ(tensors.at(StepTensor::H, 1) - tensors.at(StepTensor::H, 0),
            request.shape.rows * request.shape.n * 2);
  EXPECT_EQ(
      tensors.row(StepTensor::DProbabilities, 1, 2) - tensors.at(StepTensor::DProbabilities, 1),
      2 * 3 * 4)
      << "FP32, and a column for each expert of a token";
  EXPECT_EQ(tensors.at(StepTensor::DA, 1), tensors.at(StepTensor::DA, 0)) << "one at a time";
  EXPECT_EQ(tensors.at(StepTensor::X, 1), tensors.at(StepTensor::X, 0)) << "shared";
}

TEST(LayerTensors, WhatAnAddedOperationMakesHasMemory) {
  StepProgram program = program_of(request_of(Scaling::Block, StepPasses::Forward, /*top_k=*/3));
  program.parts.front().operations.push_back({.kind = OperationKind::UnpermuteGradient,
                                              .reads = {{.tensor = StepTensor::H}},
                                              .writes = {{.tensor = StepTensor::DXTokens}}});
  TensorBuffers buffers;
  EXPECT_TRUE(LayerTensors(program, buffers).has(StepTensor::DXTokens));
}

}  // namespace
}  // namespace engine
