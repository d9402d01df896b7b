// Whatever a link accepts can be recorded without harm: it is refused with a message, or the file
// can be read with it. One hostile answer in a recording must not affect the others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
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

using Recorded = std::variant<profiling::RecordedRun, profiling::RecordedComparison,
                              profiling::RecordedHistory, profiling::RecordedVisit>;

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
  if (auto* stepped = std::get_if<engine::AmaxHistory>(&event)) {
    return profiling::RecordedHistory{.history = std::move(*stepped)};
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

/// Why the recording of these cannot be read; empty = it can, or they were all refused.
std::string harm(const std::map<int, Recorded>& answers, int* kept) {
  const profiling::ScratchFolder folder;
  const std::string path = folder.file("a.session");
  {
    auto writer = profiling::SessionWriter::create(path);
    if (!writer.ok()) return writer.error().message;
    for (const auto& [round, answer] : answers) {
      const engine::Status status =
          std::visit([&](const auto& one) { return writer.value()->append(one); }, answer);
      if (status.ok()) ++*kept;
      if (!status.ok() && status.error().code != engine::ErrorCode::InvalidArgument) {
        return fmt::format("round {} ends the recording: {}", round, status.error().message);
      }
    }
  }
  const auto session = profiling::open_session(path);
  return session.ok() ? std::string() : session.error().message;
}

TEST(HostileRecording, WhatIsLetInCanBeRead) {
  const char* factor = std::getenv("EXPERTSCOPE_FUZZ_ROUNDS");
  const int rounds = kRounds * (factor == nullptr ? 1 : std::max(1, std::atoi(factor)));
  int let_in = 0;
  int kept = 0;
  std::map<int, Recorded> answers;
  for (int round = 0; round < rounds; ++round) {
    if (auto answer = hostile_answer(round)) {
      answers.emplace(round, std::move(*answer));
      ++let_in;
    }
    if (answers.size() < kAnswersOfAFile && round + 1 < rounds) continue;
    if (!harm(answers, &kept).empty()) {
      for (const auto& one : answers) {
        int ignored = 0;
        const std::string why = harm({one}, &ignored);
        if (!why.empty()) ADD_FAILURE() << "round " << one.first << ": " << why.substr(0, 600);
      }
    }
    answers.clear();
  }
  fmt::print("{} hostile answers, {} let in, {} recorded\n", rounds, let_in, kept);
  EXPECT_GT(kept, rounds / 50) << "most are refused before they are tested";
}

}  // namespace
}  // namespace app::testing
