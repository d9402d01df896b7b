// Results by tensor: a row that a run does not usually have is kept, and recordings that have the
// former tables open with the numbers that they had.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/model/projections.h"
#include "tests/unit/session/sample_parts.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

using engine::StepTensor;

TEST(SessionTensors, ARowThatRunsDoNotUsuallyHaveIsKept) {
  RecordedRun run = sample_run(2);
  run.result.effective.products.bias = true;
  ASSERT_FALSE(engine::traits_of(StepTensor::BUp).reported);
  engine::TensorResult& bias = sample_tensor(run.result, StepTensor::BUp);
  bias.bytes = 4321;
  bias.error.snr_db = 12.75;
  bias.quantization = sample_operand(40);
  ASSERT_TRUE(check(run).ok()) << check(run).error().message;
  const ScratchFolder folder;
  const std::string path = folder.file("s");
  {
    auto writer = SessionWriter::create(path);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer.value()->append(run).ok());
  }
  const engine::Result<Session> session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(describe(session.value().runs.at(0).result), describe(run.result));
}

TEST(SessionTensors, ARecordedRoutingIsReadFromItsFormerTable) {
  const RecordedRun run = sample_run(2);
  ASSERT_TRUE(run.result.recorded_routing);
  const ScratchFolder folder;
  const std::string path = folder.file("s");
  {
    auto writer = SessionWriter::create(path);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer.value()->append(run).ok());
  }
  alter(path, "ALTER TABLE recorded_routing RENAME TO runs_recording");
  const engine::Result<Session> session = open_session(path);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(describe(session.value().runs.at(0).result), describe(run.result));
}

std::uint64_t counted(const engine::MagnitudeHistogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), histogram.zeros);
}

/// The numbers are what the program wrote as CSV when these tables were its own.
TEST(SessionTensors, AFormerLayerHasTheNumbersOfItsFormerTables) {
  const engine::Result<Session> session =
      open_session(EXPERTSCOPE_SOURCE "/tests/unit/session/former/h200_layer.session");
  ASSERT_TRUE(session.ok()) << session.error().message;
  const engine::RunResult& result = session.value().runs.at(0).result;
  EXPECT_EQ(result.tensors.size(), 12U);
  EXPECT_TRUE(std::ranges::is_sorted(result.tensors, {}, &engine::TensorResult::tensor));
  EXPECT_EQ(engine::operands_of(result), engine::operands_of(engine::StepKind::ExpertLayer));
  const engine::TensorResult& a = *engine::find_tensor(result, StepTensor::A);
  EXPECT_EQ(a.rows, 32768);
  EXPECT_EQ(a.columns, 2048);
  EXPECT_EQ(a.bytes, 69206016);
  EXPECT_EQ(a.saved_bytes, 69206016);
  EXPECT_DOUBLE_EQ(a.error.snr_db, 24.39285454899773);
  EXPECT_DOUBLE_EQ(a.error.max_abs_error, 1.0785903930664062);
  EXPECT_EQ(a.quantization->elements, 67108864U);
  EXPECT_DOUBLE_EQ(a.quantization->snr_db, 31.504473826352267);
  EXPECT_DOUBLE_EQ(a.quantization->median_block_snr_db, 32.13517756996305);
  EXPECT_EQ(a.quantization->underflowed, 10703U);
  EXPECT_FALSE(a.quantization->channels) << "were not measured";
  EXPECT_EQ(counted(a.quantization->before), a.quantization->elements);
  EXPECT_EQ(a.quantization->scale_map.rows, 512);
  EXPECT_FALSE(a.quantization->scale_map.mean.empty());
  ASSERT_TRUE(a.unquantized_y);
  EXPECT_DOUBLE_EQ(a.unquantized_y->snr_db, 24.391397544601503);
  EXPECT_DOUBLE_EQ(result.expert_layer->unquantized_snr_db, 49.10573955680757);
  const engine::TensorResult& y = *engine::find_tensor(result, StepTensor::Y);
  EXPECT_DOUBLE_EQ(y.error.snr_db, 23.62237205061984);
  EXPECT_FALSE(y.quantization);
  EXPECT_FALSE(y.unquantized_y);
  EXPECT_EQ(engine::statistics_of(result, StepTensor::DH)->underflowed, 52518U);
}

TEST(SessionTensors, AFormerLinearStepHasTheNumbersOfItsFormerTables) {
  const engine::Result<Session> session =
      open_session(EXPERTSCOPE_SOURCE "/tests/unit/session/former/h200_linear.session");
  ASSERT_TRUE(session.ok()) << session.error().message;
  const engine::RunResult& result = session.value().runs.at(0).result;
  ASSERT_FALSE(result.backward);
  ASSERT_EQ(engine::operands_of(result), (std::vector{StepTensor::X, StepTensor::WUp}));
  const engine::TensorResult& w = result.tensors.at(1);
  EXPECT_EQ(w.rows, 229376) << "of the shape: the recording does not have them";
  EXPECT_EQ(w.columns, 4096);
  EXPECT_FALSE(w.has_bytes());
  EXPECT_DOUBLE_EQ(w.quantization->snr_db, 31.487555947616244);
  EXPECT_EQ(counted(w.quantization->before), w.quantization->elements);
}

/// Recordings store enumerators by name, and these had other names before.
TEST(SessionTensors, FormerNamesOfTheEndOfTheIterationsOpen) {
  using engine::IterationEnd;
  const ScratchFolder folder;
  const std::string path = folder.file("s");
  {
    auto writer = SessionWriter::create(path);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer.value()->append(sample_run(2)).ok());
  }
  const auto end_stored_as = [&path](const std::string& name) {
    alter(path, "UPDATE runs SET iteration_end = '" + name + "'");
    const engine::Result<Session> session = open_session(path);
    return session.ok() ? std::optional(session.value().runs.at(0).result.iteration_end)
                        : std::nullopt;
  };
  EXPECT_EQ(end_stored_as("number"), IterationEnd::FixedCount);
  EXPECT_EQ(end_stored_as("known"), IterationEnd::Converged);
  EXPECT_EQ(end_stored_as("most"), IterationEnd::MaxIterations);
  EXPECT_EQ(end_stored_as("max-iterations"), IterationEnd::MaxIterations);
  EXPECT_EQ(end_stored_as("other"), std::nullopt);
}

}  // namespace
}  // namespace profiling
