// Whatever a link lets in can be recorded, and the recording can be read: both make the same
// checks. One hostile answer in a recording must not affect the others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "app/doctor/visit.h"
#include "app/protocol/worker_frames.h"
#include "profiling/session/session_file.h"
#include "tests/faults/hostile_frames.h"
#include "tests/unit/session/sample_recording.h"

namespace app::testing {
namespace {

constexpr int kRounds = 1000;  // times EXPERTSCOPE_FUZZ_ROUNDS
constexpr int kAnswersOfAFile = 40;
constexpr int kLetIn = 60;  // results of the storm's kind, likewise

using Recorded =
    std::variant<profiling::RecordedRun, profiling::RecordedComparison, profiling::RecordedVisit>;

/// What the window would record of a frame; empty if the link ends the worker for it.
std::optional<Recorded> answer_in(const wire::Frame& frame, const wire::Frame& activity) {
  WorkerFrames frames;
  static_cast<void>(frames.read(activity).ok());
  auto arrival = frames.read(frame);
  if (!arrival.ok() || !arrival.value().event) return std::nullopt;
  LinkEvent& event = *arrival.value().event;
  if (auto* run = std::get_if<RunDone>(&event)) {
    profiling::RecordedRun recorded{
        .request = {}, .result = std::move(run->result), .activity = {}};
    recorded.activity = std::move(run->activity);
    recorded.snapshot = std::move(run->snapshot);
    recorded.power = std::move(run->power);
    return recorded;
  }
  if (auto* compared = std::get_if<engine::RecipeComparison>(&event)) {
    return profiling::RecordedComparison{.comparison = std::move(*compared)};
  }
  if (auto* failure = std::get_if<RunError>(&event); failure != nullptr && failure->stalled) {
    return profiling::RecordedVisit{.request = {},
                                    .report = report_of_stall({}, *failure->stalled, {})};
  }
  return std::nullopt;
}

std::optional<Recorded> hostile_answer(int round) {
  HostileFrames frames(static_cast<std::uint64_t>(round));
  const auto hostility = static_cast<Hostility>(round % 5);
  const wire::Frame hostile = frames.hostile(hostility, 1);
  if (hostile.answer().has_activity()) return answer_in(finished_run(1, round % 50), hostile);
  return answer_in(hostile, activity_of_run(1, round % 50));
}

/// Why these cannot be recorded, or the recording of them cannot be read; empty = both can.
std::string harm(const std::map<int, Recorded>& answers) {
  const profiling::ScratchFolder folder;
  const std::string path = folder.file("a.session");
  {
    auto writer = profiling::SessionWriter::create(path);
    if (!writer.ok()) return writer.error().message;
    for (const auto& [round, answer] : answers) {
      const engine::Status status =
          std::visit([&](const auto& one) { return writer.value()->append(one); }, answer);
      if (!status.ok()) {
        return fmt::format("round {} is not recorded: {}", round, status.error().message);
      }
    }
  }
  const auto session = profiling::open_session(path);
  return session.ok() ? std::string() : session.error().message;
}

void expect_no_harm(const std::map<int, Recorded>& answers) {
  if (harm(answers).empty()) return;
  for (const auto& one : answers) {
    const std::string why = harm({one});
    if (!why.empty()) ADD_FAILURE() << "round " << one.first << ": " << why.substr(0, 600);
  }
}

int rounds_of(int rounds) {
  const char* factor = std::getenv("EXPERTSCOPE_FUZZ_ROUNDS");
  return rounds * (factor == nullptr ? 1 : std::max(1, std::atoi(factor)));
}

TEST(HostileRecording, WhatIsLetInCanBeRecordedAndRead) {
  const int rounds = rounds_of(kRounds);
  int let_in = 0;
  std::map<int, Recorded> answers;
  for (int round = 0; round < rounds; ++round) {
    if (auto answer = hostile_answer(round)) {
      answers.emplace(round, std::move(*answer));
      ++let_in;
    }
    if (answers.size() < kAnswersOfAFile && round + 1 < rounds) continue;
    expect_no_harm(answers);
    answers.clear();
  }
  fmt::print("{} hostile answers, {} let in\n", rounds, let_in);
  EXPECT_GT(let_in, rounds / 50) << "most are refused before they are tested";
}

TEST(HostileRecording, TheStormDisplaysExtremeValuesOfEveryField) {
  constexpr wire::Order::TaskCase kKinds[] = {wire::Order::kRun, wire::Order::kCompare};
  // One place of these alone cannot change: what stands beside it follows from it.
  const std::set<std::string> bound = {"expertscope.wire.ActivityRecordColumns.start_ns",
                                       "expertscope.wire.ChannelProfile.channels",
                                       "expertscope.wire.HostEventColumns.start_ns",
                                       "expertscope.wire.MemoryEventColumns.time_ns",
                                       "expertscope.wire.QuantizationReport.step",
                                       "expertscope.wire.QuantizationSample.codes",
                                       "expertscope.wire.RecordedStep.rows",
                                       "expertscope.wire.RecordedStep.splits",
                                       "expertscope.wire.RunResult.splits",
                                       "expertscope.wire.Snapshot.step",
                                       "expertscope.wire.StepSeries.steps",
                                       "expertscope.wire.TensorResult.columns",
                                       "expertscope.wire.TensorResult.rows"};
  HostileFrames hostile(1);
  std::set<std::string> changed;
  std::set<std::string> refused;
  std::map<int, Recorded> answers;
  const auto untouched = [&] {
    std::string fields;
    for (const std::string& field : refused) {
      if (!changed.contains(field) && !bound.contains(field)) fields += field + "\n";
    }
    return fields;
  };
  // Where a field has few values that pass, it depends on the seed how soon one is found.
  const int rounds = rounds_of(kLetIn);
  for (int round = 0; round < rounds || (round < 4 * rounds && !untouched().empty()); ++round) {
    const LetIn made = hostile.let_in(kKinds[round % std::size(kKinds)], round / 2);
    changed.insert(made.changed.begin(), made.changed.end());
    refused.insert(made.refused.begin(), made.refused.end());
    auto answer = answer_in(made.frames.back(), made.frames.front());
    ASSERT_TRUE(answer) << "round " << round << " is refused by the link";
    answers.emplace(round, std::move(*answer));
  }
  expect_no_harm(answers);
  fmt::print("extreme values of {} fields are displayed\n", changed.size());
  EXPECT_EQ(untouched(), "") << "fields that no extreme value of passes";
}

}  // namespace
}  // namespace app::testing
