// What one grouped step on the device takes from a program: its copies, its products, and where a
// product finds what it reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/program/projection_program.h"
#include "tests/unit/program/device_layer.h"

namespace engine {
namespace {

using testing::device_layer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ProjectionProgram program_of(const RunRequest& request, Projection projection,
                             int micro_batch = 0) {
  return ProjectionProgram(std::make_shared<const StepProgram>(program_of(request)), projection,
                           micro_batch);
}

/// "A#1 row:forward col:saved", one per copy.
std::vector<std::string> lines(const std::vector<OperandCopies>& copies) {
  const auto life = [](const std::optional<BufferLife>& of) -> std::string {
    if (!of) return "none";
    switch (*of) {
      case BufferLife::Step:
        return "step";
      case BufferLife::Saved:
        return "saved";
      case BufferLife::Forward:
        return "forward";
      case BufferLife::Backward:
        break;
    }
    return "backward";
  };
  std::vector<std::string> all;
  for (const OperandCopies& one : copies) {
    all.push_back(std::string(traits_of(one.tensor).symbol) + "#" + std::to_string(one.layer) +
                  (one.again ? " again" : "") + " " + life(one.rowwise) + " " +
                  life(one.columnwise));
  }
  return all;
}

TEST(ProjectionProgram, EveryLayerHasCopiesOfWhatItDoesNotShare) {
  EXPECT_THAT(lines(program_of(device_layer(), Projection::Up).copies()),
              ElementsAre("X#0 forward saved", "Wup#0 step step", "Wup#1 step step",
                          "dH#1 backward backward", "dH#0 backward backward"));
  EXPECT_THAT(lines(program_of(device_layer(), Projection::Down).copies()),
              ElementsAre("A#0 forward saved", "Wdown#0 step step", "A#1 forward saved",
                          "Wdown#1 step step", "dY#0 backward backward"));
}

TEST(ProjectionProgram, WhatBackwardComputesAgainIsACopyOfItsOwn) {
  RunRequest request = device_layer();
  request.layers = 1;
  request.expert_layer.recompute_activation = true;
  EXPECT_THAT(lines(program_of(request, Projection::Down).copies()),
              ElementsAre("A#0 forward none", "Wdown#0 step step", "dY#0 backward backward",
                          "A#0 again none backward"));
}

TEST(ProjectionProgram, LaterMicroBatchesHaveNoWeightsOfTheirOwn) {
  RunRequest request = device_layer();
  request.layers = 1;
  request.launch.in_flight = 2;
  EXPECT_THAT(lines(program_of(request, Projection::Up, 1).copies()),
              ElementsAre("X#0 forward saved", "dH#0 backward backward"));
  // Nor where they are prepared before the first step.
  request.products.passes = StepPasses::Backward;
  EXPECT_THAT(lines(program_of(request, Projection::Up, 1).copies()),
              ElementsAre("X#0 forward saved", "dH#0 backward backward"));
}

TEST(ProjectionProgram, NothingIsCopiedInHighPrecision) {
  RunRequest request = device_layer();
  request.recipe.scaling = Scaling::None;
  const ProjectionProgram down = program_of(request, Projection::Down);
  EXPECT_THAT(lines(down.copies()), IsEmpty());
  for (const Operation& product : down.products()) {
    for (const Value& read : product.reads) EXPECT_EQ(read.form, ValueForm::Elements);
  }
}

TEST(ProjectionProgram, ForwardProductsComeFirstThenTheGradientsByLayer) {
  std::vector<std::string> order;
  for (const Operation& product : program_of(device_layer(), Projection::Down).products()) {
    order.push_back(std::string(product.traits().name) + std::to_string(product.layer));
  }
  EXPECT_THAT(order, ElementsAre("fprop0", "fprop1", "dgrad0", "wgrad0", "dgrad1", "wgrad1"));
}

TEST(ProjectionProgram, EveryReadOfAProductIsMadeOrLoaded) {
  for (const bool recompute : {false, true}) {
    for (const StepPasses passes :
         {StepPasses::Forward, StepPasses::Backward, StepPasses::ForwardBackward}) {
      RunRequest request = device_layer();
      request.products.passes = passes;
      request.expert_layer.recompute_activation = recompute;
      for (const Projection which : {Projection::Up, Projection::Down}) {
        const ProjectionProgram program = program_of(request, which);
        for (const Operation& product : program.products()) {
          for (const Value& read : product.reads) {
            if (read.form == ValueForm::Elements) continue;  // dW that is added to
            int found = 0;
            for (const OperandCopies& made : program.copies()) {
              if (made.tensor == read.tensor && made.layer == read.layer && made.has(read.form)) {
                ++found;
              }
            }
            EXPECT_EQ(found, 1) << product.traits().name << " of " << traits_of(read.tensor).symbol;
          }
        }
      }
    }
  }
}

TEST(ProjectionProgram, ALinearStepReadsOneXForAllLayers) {
  RunRequest request = device_layer();
  request.step = StepKind::Linear;
  const ProjectionProgram program = program_of(request, Projection::Up);
  EXPECT_EQ(program.operands(OperandRole::Activations), 1);
  EXPECT_EQ(program.operands(OperandRole::Weights), 2);
  EXPECT_EQ(program_of(device_layer(), Projection::Down).operands(OperandRole::Activations), 2);
  for (const Operation& product : program.products()) {
    if (product.kind != OperationKind::Fprop) continue;
    EXPECT_EQ(operand_read(product, program.tensors(), OperandRole::Activations).layer, 0);
    EXPECT_EQ(operand_read(product, program.tensors(), OperandRole::Weights).layer, product.layer);
  }
}

}  // namespace
}  // namespace engine
