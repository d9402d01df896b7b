// What a worker answers is checked as what a recording holds: each answer here has only values that
// its members allow, and one relation between them that does not hold.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "app/protocol/worker_frames.h"
#include "tests/unit/session/sample_parts.h"
#include "tests/unit/session/sample_recording.h"
#include "tests/unit/session/sample_visit.h"

namespace app {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kId = 7;

wire::Frame frame_of(const Answer& answer) {
  wire::Frame frame;
  *frame.mutable_answer() = to_wire(kId, answer);
  return frame;
}

/// Empty = the link lets it in.
std::string refusal_of(const Answer& answer) {
  WorkerFrames frames;
  const auto arrival = frames.read(frame_of(answer));
  return arrival.ok() ? "" : arrival.error().message;
}

std::string refusal_of(const profiling::RecordedRun& run) {
  WorkerFrames frames;
  const auto records = frames.read(frame_of(run.activity));
  if (!records.ok()) return records.error().message;
  const auto arrival = frames.read(frame_of(
      RunDone{.result = run.result, .activity = {}, .snapshot = run.snapshot, .power = run.power}));
  return arrival.ok() ? "" : arrival.error().message;
}

std::vector<std::int64_t> one_expert_more(const profiling::RecordedRun& run) {
  return std::vector<std::int64_t>(run.result.splits.size() + 2, 0);
}

TEST(AnswerLimits, WhatWorkersAnswerIsLetIn) {
  for (int salt = 0; salt < 10; ++salt) {
    EXPECT_EQ(refusal_of(profiling::sample_run(salt)), "");
    EXPECT_EQ(refusal_of(profiling::sample_comparison(salt).comparison), "");
    EXPECT_EQ(refusal_of(profiling::sample_series(salt).comparison), "");
  }
}

/// A pulse is displayed as it arrives: a bar as long as its fraction, an iteration plus one.
TEST(AnswerLimits, APulseHasAShareOfWhatIsDone) {
  const auto refusal = [](auto change) {
    PulseReport pulse;
    change(pulse);
    wire::Frame frame;
    *frame.mutable_pulse() = to_wire(pulse);
    WorkerFrames frames;
    const auto arrival = frames.read(frame);
    return arrival.ok() ? std::string() : arrival.error().message;
  };
  constexpr int kMost = std::numeric_limits<int>::max();
  EXPECT_EQ(refusal([](PulseReport& pulse) { pulse.fraction = 1.0; }), "");
  for (const double fraction : {std::numeric_limits<double>::quiet_NaN(), -0.5, 1.5,
                                std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(refusal([&](PulseReport& pulse) { pulse.fraction = fraction; }),
                HasSubstr("fraction"));
  }
  EXPECT_THAT(refusal([](PulseReport& pulse) { pulse.iteration = kMost; }), HasSubstr("iteration"));
  EXPECT_THAT(refusal([](PulseReport& pulse) { pulse.iterations = -1; }), HasSubstr("iterations"));
  EXPECT_THAT(refusal([](PulseReport& pulse) { pulse.replay = kMost; }), HasSubstr("replay"));
}

/// Each reading of a file is a button.
TEST(AnswerLimits, AFileHasAtMostOneReadingOfEachKind) {
  const auto refusal = [](const FileReport& report) {
    wire::Frame frame;
    *frame.mutable_file_inspected() = to_wire(report);
    WorkerFrames frames;
    const auto arrival = frames.read(frame);
    return arrival.ok() ? std::string() : arrival.error().message;
  };
  FileReport report{.path = "/r.npy", .error = "two readings", .tensors = {}};
  report.readings = {{.numbers = engine::RoutingNumbers::Counts, .words = "rows"},
                     {.numbers = engine::RoutingNumbers::Vllm, .words = "experts"},
                     {.numbers = engine::RoutingNumbers::Megatron, .words = "experts"}};
  EXPECT_EQ(refusal(report), "");
  report.readings.resize(1'000'000, report.readings.front());
  EXPECT_THAT(refusal(report), HasSubstr("readings has 1000000 entries"));
  report.readings = {{.numbers = engine::RoutingNumbers::Detect, .words = "whichever"}};
  EXPECT_THAT(refusal(report), HasSubstr("readings[0].numbers"));
  report.readings.clear();
  report.routing =
      engine::RoutingFacts{.source = "x", .largest_choices = engine::kMaxDimension + 1};
  EXPECT_THAT(refusal(report), HasSubstr("largest_choices"));
}

TEST(AnswerLimits, IterationsOfRecordsAndEventsAreThoseOfTheRun) {
  constexpr int kMost = std::numeric_limits<int>::max();
  profiling::RecordedRun run = profiling::sample_run(1);
  ASSERT_FALSE(run.activity.records.empty());
  run.activity.records.back().iteration = kMost;
  EXPECT_THAT(refusal_of(run), HasSubstr("record iteration is 2147483647"));

  run = profiling::sample_run(1);
  ASSERT_FALSE(run.activity.host_events.empty());
  run.activity.host_events.back().iteration = kMost;
  EXPECT_THAT(refusal_of(run), HasSubstr("event iteration is 2147483647"));

  run = profiling::sample_run(1);
  ASSERT_FALSE(run.activity.memory_events.empty());
  run.activity.memory_events.back().iteration = kMost;
  EXPECT_THAT(refusal_of(run), HasSubstr("event iteration is 2147483647"));
}

TEST(AnswerLimits, RowsOfExpertsInEveryScaleMap) {
  const auto operands = engine::operands_of(engine::StepKind::ExpertLayer);
  EXPECT_EQ(operands.size(), 6U);
  for (const engine::StepTensor tensor : operands) {
    profiling::RecordedRun run = profiling::sample_run(1);
    run.result.effective.step = engine::StepKind::ExpertLayer;
    run.result.tensors.clear();
    engine::OperandStatistics& operand =
        profiling::sample_tensor(run.result, tensor).quantization.emplace();
    operand = profiling::sample_operand(1);
    EXPECT_EQ(refusal_of(run), "");
    operand.scale_map.expert_first_row = one_expert_more(run);
    EXPECT_THAT(refusal_of(run), HasSubstr(fmt::format("the scale map of {} has the rows of",
                                                       engine::name_of(tensor))));
    operand.scale_map.expert_first_row.clear();
    operand.experts.resize(run.result.splits.size() + 1);
    EXPECT_THAT(refusal_of(run), HasSubstr(fmt::format("{} has rows of", engine::name_of(tensor))));
  }

  engine::RecipeComparison comparison = profiling::sample_comparison(1).comparison;
  for (engine::QuantizationReport& report : comparison.reports) {
    report.statistics.scale_map.expert_first_row.assign(comparison.splits.size() + 2, 0);
  }
  EXPECT_THAT(refusal_of(comparison), HasSubstr("comparison: the scale map of the operand"));

  comparison = profiling::sample_comparison(1).comparison;
  profiling::RecordedRun run = profiling::sample_run(1);
  engine::ChannelStatistics& channels = comparison.reports.front().statistics.channels.emplace(
      profiling::sample_channels(1, profiling::sample_tensor(run.result, engine::StepTensor::X)));
  EXPECT_EQ(refusal_of(comparison), "");
  channels.columns.largest.front().expert = static_cast<int>(comparison.splits.size());
  EXPECT_THAT(refusal_of(comparison), HasSubstr("expert of a row or column is"));
}

TEST(AnswerLimits, RowsAndColumnsOfAnOperandAreThoseOfItsTensor) {
  const auto refusal_after = [](const auto& change) {
    profiling::RecordedRun run = profiling::sample_run(1);
    engine::TensorResult& x = profiling::sample_tensor(run.result, engine::StepTensor::X);
    change(*x.quantization->channels, static_cast<int>(run.result.splits.size()));
    return refusal_of(run);
  };
  EXPECT_EQ(refusal_after([](engine::ChannelStatistics&, int) {}), "");
  EXPECT_THAT(refusal_after([](auto& channels, int) { ++channels.rows.channels; }),
              HasSubstr("the tensor x is"));
  EXPECT_THAT(refusal_after([](auto& channels, int) { channels.columns.channels = 1 << 20; }),
              HasSubstr("1048576 columns"));
  EXPECT_THAT(refusal_after([](auto& channels, int experts) {
                channels.rows.noisiest.front().expert = experts;
              }),
              HasSubstr("expert of a row or column is"));
  EXPECT_THAT(refusal_after([](auto& channels, int) {
                channels.columns.largest.front().place = channels.rows.channels;
              }),
              HasSubstr("it must be below"));
}

TEST(AnswerLimits, ASeriesWithoutReports) {
  engine::RecipeComparison series = profiling::sample_series(1).comparison;
  series.reports.clear();
  EXPECT_THAT(refusal_of(series), HasSubstr("the series has 0 reports"));
}

TEST(AnswerLimits, AStallInAGraphThatWasNotCaptured) {
  DoctorDone done{.snapshot = profiling::sample_visit(1).report.snapshot};
  ASSERT_FALSE(done.snapshot.graphs.empty());
  done.outcome.verdict = profiling::Verdict::Hung;
  done.outcome.stall = {{.replay = 1, .graph = static_cast<int>(done.snapshot.graphs.size())}};
  EXPECT_THAT(refusal_of(done), HasSubstr("stall graph is"));
  const RunError late{.error = {engine::ErrorCode::Device, "late"},
                      .stalled = std::make_shared<const DoctorDone>(done)};
  EXPECT_THAT(refusal_of(late), HasSubstr("stall graph is"));
}

TEST(AnswerLimits, ListsOfAChunkAreMeasuredBeforeTheyAreRead) {
  // One column is enough: read first, it would be refused for the others.
  wire::Frame frame;
  frame.mutable_answer()->set_id(kId);
  frame.mutable_answer()->mutable_activity()->mutable_records()->mutable_start_ns()->Resize(65537,
                                                                                            0);
  WorkerFrames frames;
  const auto wide = frames.read(frame);
  ASSERT_FALSE(wide.ok());
  EXPECT_THAT(wide.error().message,
              HasSubstr("activity.records has 65537 entries in one frame; the limit is 65536"));
}

TEST(AnswerLimits, NamesOfARunHaveALimit) {
  profiling::Activity half;
  half.names.assign(profiling::kMaxNames / 2 + 1, "kernel");
  WorkerFrames frames;
  ASSERT_TRUE(frames.read(frame_of(half)).ok());
  const auto more = frames.read(frame_of(half));
  ASSERT_FALSE(more.ok());
  EXPECT_THAT(more.error().message,
              HasSubstr("activity.names has 1048578 entries; the limit is 1048576"));
}

TEST(AnswerLimits, RecordsOfAFailedRunAreDropped) {
  const profiling::RecordedRun run = profiling::sample_run(1);
  WorkerFrames frames;
  ASSERT_TRUE(frames.read(frame_of(run.activity)).ok());
  ASSERT_TRUE(frames.read(frame_of(RunError{.error = {engine::ErrorCode::Device, "lost"}})).ok());
  const auto done = frames.read(frame_of(
      RunDone{.result = run.result, .activity = {}, .snapshot = run.snapshot, .power = run.power}));
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_TRUE(std::get<RunDone>(*done.value().event).activity.records.empty());
}

}  // namespace
}  // namespace app
