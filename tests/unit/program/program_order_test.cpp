// The order of a step's operations, written out by hand for small steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/program/explain.h"
#include "engine/program/step_program.h"

namespace engine {
namespace {

RunRequest linear_request(GemmBackend backend) {
  RunRequest request;
  request.backend = backend;
  request.shape = {.preset = {}, .num_experts = 2, .rows = 128, .n = 512, .k = 256};
  request.recipe.scaling = Scaling::Block;
  request.products.passes = StepPasses::ForwardBackward;
  request.layers = 1;
  return request;
}

RunRequest layer_request(GemmBackend backend) {
  RunRequest request = linear_request(backend);
  request.step = StepKind::ExpertLayer;
  return request;
}

std::vector<std::string> sentences(const StepProgram& program,
                                   const std::vector<Operation>& operations) {
  std::vector<std::string> lines;
  for (const Operation& operation : operations) {
    lines.push_back(sentence_of(program, operation));
    if (program.request.layers > 1) lines.back() += " #" + std::to_string(operation.layer);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(ProgramOrder, ALinearStepOnADeviceHasItsForwardProductsBackToBack) {
  RunRequest request = linear_request(GemmBackend::CublasLtGrouped);
  request.layers = 2;
  request.products.bias = true;
  const StepProgram program = program_of(request);
  ASSERT_EQ(program.parts.size(), 2U);
  EXPECT_EQ(sentences(program, program.parts[0].operations),
            (Lines{"fill arrays #0", "quantize X, rowwise and columnwise #0",
                   "quantize W, rowwise and columnwise #0", "quantize W, rowwise and columnwise #1",
                   "Y = X W^T #0", "Y = X W^T #1", "Y += b #0", "Y += b #1"}));
  EXPECT_EQ(sentences(program, program.parts[1].operations),
            (Lines{"quantize dY, rowwise and columnwise #0",
                   "db = sum of dY's rows, summed while it was quantized #0", "dX = dY W #0",
                   "dW = dY^T X #0", "dX = dY W #1", "dW = dY^T X #1"}));
}

TEST(ProgramOrder, OnTheHostEveryLayerMakesItsOwnCopies) {
  RunRequest request = linear_request(GemmBackend::CpuReference);
  request.layers = 2;
  request.products.passes = StepPasses::Forward;
  const StepProgram program = program_of(request);
  ASSERT_EQ(program.parts.size(), 1U);
  EXPECT_EQ(sentences(program, program.parts[0].operations),
            (Lines{"quantize X, rowwise #0", "quantize W, rowwise #0", "Y = X W^T #0",
                   "quantize X, rowwise #1", "quantize W, rowwise #1", "Y = X W^T #1"}));
}

TEST(ProgramOrder, DelayedWeightGradientsComeLast) {
  RunRequest request = linear_request(GemmBackend::CublasLtGrouped);
  request.layers = 2;
  request.products.delayed_wgrad = true;
  request.products.accumulate_wgrad = true;
  const StepProgram program = program_of(request);
  EXPECT_EQ(sentences(program, program.parts[1].operations),
            (Lines{"quantize dY, rowwise and columnwise #0", "dX = dY W #0", "dX = dY W #1",
                   "dW += dY^T X #0", "dW += dY^T X #1"}));
}

TEST(ProgramOrder, AnUnquantizedStepQuantizesNothing) {
  RunRequest request = linear_request(GemmBackend::CublasLtGrouped);
  request.recipe.scaling = Scaling::None;
  request.products.bias = true;
  const StepProgram device = program_of(request);
  EXPECT_EQ(sentences(device, device.parts[0].operations),
            (Lines{"fill arrays", "Y = X W^T", "Y += b"}));
  EXPECT_EQ(sentences(device, device.parts[1].operations),
            (Lines{"db = sum of dY's rows", "dX = dY W", "dW = dY^T X"}));
  request.backend = GemmBackend::CpuReference;
  request.activations = SyntheticInput{.element = ElementType::Fp32};
  const StepProgram host = program_of(request);
  EXPECT_EQ(sentences(host, host.parts[0].operations),
            (Lines{"round X to bf16 if it is not", "Y = X W^T", "Y += b"}));
}

TEST(ProgramOrder, BackwardAloneFindsItsOperandsPrepared) {
  RunRequest request = linear_request(GemmBackend::CublasLtGrouped);
  request.products.passes = StepPasses::Backward;
  request.recipe.scaling = Scaling::PerTensorDelayed;
  const StepProgram program = program_of(request);
  EXPECT_EQ(sentences(program, program.prepare),
            (Lines{"fill arrays", "quantize X, columnwise", "quantize W, columnwise"}));
  EXPECT_EQ(program.prepare_times, 2);  // a history begins empty
  ASSERT_EQ(program.parts.size(), 1U);
  EXPECT_EQ(program.parts[0].pass, ProgramPass::Backward);
  EXPECT_EQ(
      sentences(program, program.parts[0].operations),
      (Lines{"fill arrays", "quantize dY, rowwise and columnwise", "dX = dY W", "dW = dY^T X"}));
}

TEST(ProgramOrder, AFusedLayerNeverWritesAOrDH) {
  const StepProgram program = program_of(layer_request(GemmBackend::CublasLtGrouped));
  EXPECT_EQ(sentences(program, program.parts[0].operations),
            (Lines{"fill arrays of up", "fill arrays of down", "quantize X, rowwise and columnwise",
                   "quantize Wup, rowwise and columnwise", "H = X Wup^T",
                   "quantize A from H, rowwise and columnwise",
                   "quantize Wdown, rowwise and columnwise", "Y = A Wdown^T"}));
  EXPECT_EQ(sentences(program, program.parts[1].operations),
            (Lines{"quantize dY, rowwise and columnwise", "dA = dY Wdown",
                   "quantize dH from H and dA, rowwise and columnwise", "dX = dH Wup",
                   "dWdown = dY^T A", "dWup = dH^T X"}));
}

TEST(ProgramOrder, ALayerFromTokensThatComputesAAgain) {
  RunRequest request = layer_request(GemmBackend::CublasLtGrouped);
  request.expert_layer.top_k = 2;
  request.expert_layer.recompute_activation = true;
  request.expert_layer.fused_activation = false;
  const StepProgram program = program_of(request);
  EXPECT_EQ(sentences(program, program.parts[0].operations),
            (Lines{"fill arrays of up", "fill arrays of down", "permute Xt to the rows of X",
                   "quantize X, rowwise and columnwise", "quantize Wup, rowwise and columnwise",
                   "H = X Wup^T", "A = SwiGLU(H)", "quantize A, rowwise",
                   "quantize Wdown, rowwise and columnwise", "Y = A Wdown^T",
                   "unpermute rows of Y to Yt"}));
  EXPECT_EQ(
      sentences(program, program.parts[1].operations),
      (Lines{"permute dYt to the rows of dY, and compute dp", "quantize dY, rowwise and columnwise",
             "dA = dY Wdown", "dH = SwiGLU'(H) dA", "quantize dH, rowwise and columnwise",
             "dX = dH Wup", "unpermute rows of dX to dXt", "A = SwiGLU(H), again",
             "quantize A again, columnwise", "dWdown = dY^T A", "dWup = dH^T X"}));
}

TEST(ProgramOrder, MicroBatchesShareTheWeightsOfTheFirst) {
  RunRequest request = layer_request(GemmBackend::CublasLtGrouped);
  request.launch.in_flight = 2;
  request.launch.graphs = StepGraphs::ForwardAndBackward;
  const StepProgram program = program_of(request);
  EXPECT_EQ(program.graph_names(), (Lines{"forward 1", "forward 2", "backward 1", "backward 2"}));
  ASSERT_EQ(program.parts.size(), 4U);
  const auto quantizes_weights = [](const ProgramPart& part) {
    return std::ranges::any_of(part.operations, [](const Operation& one) {
      return one.kind == OperationKind::Quantize && one.role == OperandRole::Weights;
    });
  };
  EXPECT_TRUE(quantizes_weights(program.parts[0]));
  EXPECT_FALSE(quantizes_weights(program.parts[1]));
  // Each backward graph begins with arrays of its own.
  EXPECT_EQ(program.parts[2].operations[0].kind, OperationKind::FillBackwardArrays);
  request.launch.graphs = StepGraphs::One;
  EXPECT_EQ(program_of(request).graph_names(), (Lines{"step"}));
}

/// Whatever is read was written before, or is loaded: no operation writes it at all.
TEST(ProgramOrder, NothingIsReadBeforeItIsWritten) {
  int programs = 0;
  for (const GemmBackend backend : {GemmBackend::CublasLtGrouped, GemmBackend::CpuReference}) {
    for (std::size_t scaling = 0; scaling < kRecipeTraits.size(); ++scaling) {
      for (const StepPasses passes :
           {StepPasses::Forward, StepPasses::Backward, StepPasses::ForwardBackward}) {
        for (int bits = 0; bits < 128; ++bits) {
          RunRequest request = linear_request(backend);
          request.recipe.scaling = static_cast<Scaling>(scaling);
          request.products.passes = passes;
          request.products.bias = (bits & 1) != 0;
          request.products.delayed_wgrad = (bits & 2) != 0;
          request.layers = (bits & 4) != 0 ? 3 : 1;
          if ((bits & 8) != 0) {
            request.step = StepKind::ExpertLayer;
            request.expert_layer.fused_activation = (bits & 16) != 0;
            request.expert_layer.recompute_activation = (bits & 32) != 0;
            request.expert_layer.top_k = (bits & 64) != 0 ? 2 : 0;
          } else if (bits >= 16) {
            continue;
          }
          const StepProgram program = program_of(request);
          std::set<Value> made;
          std::set<Value> loaded;
          const auto run = [&](const std::vector<Operation>& operations) {
            for (const Operation& operation : operations) {
              for (const Value& value : operation.reads) {
                if (!made.contains(value)) loaded.insert(value);
              }
              made.insert(operation.writes.begin(), operation.writes.end());
            }
          };
          run(program.prepare);
          for (const ProgramPart& part : program.parts) run(part.operations);
          for (const Value& value : loaded) {
            // Rounded in place, and gradients that are added to, are loaded and written.
            const bool weight_gradient = value.tensor == StepTensor::DWUp;
            EXPECT_EQ(value.form, ValueForm::Elements) << traits_of(value.tensor).symbol;
            EXPECT_FALSE(weight_gradient) << traits_of(value.tensor).symbol;
            const StepTensorTraits& traits = traits_of(value.tensor);
            EXPECT_FALSE(traits.output || traits.checked) << traits_of(value.tensor).symbol;
          }
          ++programs;
        }
      }
    }
  }
  EXPECT_GT(programs, 2000);
}

}  // namespace
}  // namespace engine
