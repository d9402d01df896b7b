// A program that no request asks for: what an added operation reads and writes is found by
// everything that derives from programs, without a line about it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/program/explain.h"
#include "engine/program/lives.h"
#include "engine/program/operation_words.h"
#include "engine/program/projection_program.h"
#include "tests/unit/program/device_layer.h"

namespace engine {
namespace {

using testing::device_layer;

constexpr StepTensor kAdded = StepTensor::BUp;

/// H += bup after every product that makes H; backward reads bup once more.
StepProgram with_added_operation(const RunRequest& request) {
  StepProgram program = program_of(request);
  for (ProgramPart& part : program.parts) {
    std::vector<Operation> operations;
    for (Operation& operation : part.operations) {
      const bool makes_h =
          !operation.writes.empty() && operation.writes.front().tensor == StepTensor::H;
      const bool makes_dx =
          !operation.writes.empty() && operation.writes.front().tensor == StepTensor::DX;
      const int layer = operation.layer;
      operations.push_back(std::move(operation));
      const Value h{.tensor = StepTensor::H, .layer = layer};
      const Value added{.tensor = kAdded, .layer = layer};
      if (makes_h) {
        operations.push_back(
            {.kind = OperationKind::AddBias, .layer = layer, .reads = {h, added}, .writes = {h}});
      }
      if (makes_dx) {
        operations.push_back({.kind = OperationKind::SumBias, .layer = layer, .reads = {added}});
      }
    }
    part.operations = std::move(operations);
  }
  return program;
}

TEST(SampleProgram, AnAddedTensorHasItsLifeAndItsPlaces) {
  const StepProgram plain = program_of(device_layer());
  StepProgram program = with_added_operation(device_layer());
  // Only read: the caller has it. Written by forward, it is kept for backward, in every layer.
  EXPECT_EQ(life_of(program, kAdded), std::nullopt);
  EXPECT_FALSE(is_saved(plain, {.tensor = kAdded}));
  EXPECT_TRUE(is_saved(program, {.tensor = kAdded}));
  for (ProgramPart& part : program.parts) {
    for (Operation& operation : part.operations) {
      if (operation.kind != OperationKind::AddBias) continue;
      operation.writes.push_back({.tensor = kAdded, .layer = operation.layer});
    }
  }
  EXPECT_EQ(life_of(program, kAdded), BufferLife::Saved);
  EXPECT_EQ(places_of(program, kAdded), 2);
}

TEST(SampleProgram, AnAddedOperationIsCountedAndExplained) {
  const RunRequest request = device_layer();
  const std::vector<std::int64_t> splits = {100, 28};
  const WorkCase routing{.splits = splits};
  const StepProgram program = with_added_operation(request);
  const std::vector<ExplainedOperation> before = explain(program_of(request), routing);
  const std::vector<ExplainedOperation> after = explain(program, routing);
  ASSERT_EQ(after.size(), before.size() + 4) << "two operations in each of two layers";
  const auto added = std::ranges::find(after, "H += bup", &ExplainedOperation::sentence);
  ASSERT_NE(added, after.end());
  EXPECT_EQ(added->stage, Stage::Bias);
  // H [128, 512] and bup [2, 512] in BF16, and H again.
  EXPECT_EQ(added->work.read_bytes, 2.0 * (128 * 512 + 2 * 512));
  EXPECT_EQ(added->work.written_bytes, 2.0 * 128 * 512);
}

TEST(SampleProgram, EveryOperationOfTheTableHasASentence) {
  for (const RunRequest& request : {device_layer(), RunRequest{}}) {
    const StepProgram program{.request = request};
    for (std::size_t i = 0; i < kOperations.size(); ++i) {
      const Operation operation{.kind = static_cast<OperationKind>(i),
                                .writes = {{.tensor = StepTensor::X}}};
      const std::string sentence = sentence_of(program, operation);
      EXPECT_FALSE(sentence.empty()) << i;
      EXPECT_EQ(sentence.find_first_of("{}"), std::string::npos) << sentence;
      EXPECT_NE(kOperations[i].stage, Stage::Other) << sentence;
      EXPECT_FALSE(
          operation_name(request.step, kOperations[i].stage, written(StepTensor::X)).empty())
          << sentence;
    }
  }
}

TEST(SampleProgram, AGroupedStepFindsItAmongItsOperations) {
  const auto program = std::make_shared<const StepProgram>(with_added_operation(device_layer()));
  EXPECT_EQ(ProjectionProgram(program, Projection::Up).operations(OperationKind::AddBias).size(),
            2U);
  EXPECT_TRUE(
      ProjectionProgram(program, Projection::Down).operations(OperationKind::AddBias).empty());
}

}  // namespace
}  // namespace engine
