// What a worker sends, as the window reads it: bytes, frames, their meaning, and then a recording
// of what was understood, which must open again.
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "app/protocol/convert.h"
#include "app/protocol/framing.h"
#include "app/protocol/protocol_version.h"
#include "app/protocol/worker_frames.h"
#include "tests/fuzz/frame_mutator.h"
#include "tests/fuzz/recording_check.h"
#include "tests/unit/session/sample_recording.h"
#include "tests/unit/session/sample_visit.h"

namespace fuzz {
namespace {

using app::wire::Frame;

Frame answer_frame(std::uint64_t id, const app::Answer& answer) {
  Frame frame;
  *frame.mutable_answer() = app::to_wire(id, answer);
  return frame;
}

/// The frames of a run as a worker sends them.
std::vector<Frame> frames_of_a_run(int salt) {
  profiling::RecordedRun run = profiling::sample_run(salt);
  const std::uint64_t id = run.result.id;
  return {answer_frame(id, std::move(run.activity)),
          answer_frame(id, app::RunDone{.result = std::move(run.result),
                                        .activity = {},
                                        .snapshot = std::move(run.snapshot),
                                        .power = std::move(run.power)})};
}

std::vector<Frame> other_answers() {
  const profiling::DoctorReport report = profiling::sample_visit(1).report;
  app::DoctorDone done{.snapshot = report.snapshot, .outcome = {}};
  for (const profiling::ExperimentRecord& made : report.experiments) {
    if (!made.outcome.stall.empty()) done.outcome = made.outcome;
  }
  return {answer_frame(1, profiling::sample_comparison(1).comparison),
          answer_frame(2, profiling::sample_series(1).comparison),
          answer_frame(4, app::RunError{.error = {engine::ErrorCode::Device, "late"},
                                        .stalled = std::make_shared<const app::DoctorDone>(done)}),
          answer_frame(5, done)};
}

}  // namespace

/// As the window's recorder keeps it.
void keep(app::LinkEvent& event, profiling::Session& session) {
  if (auto* run = std::get_if<app::RunDone>(&event)) {
    session.runs.push_back({.request = run->result.effective,
                            .result = std::move(run->result),
                            .activity = std::move(run->activity),
                            .snapshot = std::move(run->snapshot),
                            .power = std::move(run->power)});
  } else if (auto* comparison = std::get_if<engine::RecipeComparison>(&event)) {
    session.comparisons.push_back({.comparison = std::move(*comparison)});
  } else if (auto* visit = std::get_if<app::DoctorDone>(&event)) {
    session.visits.push_back({.request = {},
                              .report = {.snapshot = std::move(visit->snapshot),
                                         .experiments = {{.outcome = std::move(visit->outcome)}}}});
  }
}

std::vector<std::string> seeds() {
  std::vector<std::string> streams;
  for (unsigned seed = 0; seed < 2; ++seed) {
    for (const Frame& frame : random_frames(100 * seed)) streams.push_back(stream_of({frame}));
    streams.push_back(stream_of(frames_of_a_run(static_cast<int>(seed))));
  }
  for (const Frame& frame : other_answers()) streams.push_back(stream_of({frame}));
  Frame hello;
  hello.mutable_hello_reply()->set_protocol_version(app::protocol_version());
  hello.mutable_hello_reply()->mutable_worker()->set_program_version("1");
  streams.push_back(stream_of({hello}));
  streams.push_back(stream_of({hello, frames_of_a_run(2)[0]}).substr(0, 300));
  return streams;
}

std::vector<std::string> dictionary() { return frame_dictionary(); }

}  // namespace fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* bytes, std::size_t size,
                                               std::size_t capacity, unsigned int seed) {
  return fuzz::mutate_frames(bytes, size, capacity, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view stream(reinterpret_cast<const char*>(bytes), size);
  std::optional<fuzz::CostLimit> limit(size);
  app::FrameDecoder decoder;
  app::WorkerFrames meanings;
  profiling::Session understood;
  // In pieces, as a pipe gives them.
  const std::size_t piece = 1 + size % 1000;
  for (std::size_t at = 0; at < size; at += piece) {
    decoder.append(stream.substr(at, piece));
    while (true) {
      const auto frame = decoder.next();
      if (!frame.ok()) return static_cast<void>(fuzz::accepted(frame)), 0;
      if (!frame.value()) break;
      const auto encoded = app::encode_frame(*frame.value());
      fuzz::require(encoded.ok(), "a frame that was read can be written");
      auto arrival = meanings.read(*frame.value());
      if (!fuzz::accepted(arrival)) return 0;
      if (arrival.value().event) fuzz::keep(*arrival.value().event, understood);
    }
  }
  const engine::Status end = decoder.at_end();
  if (!end.ok()) fuzz::require_sentence(end.error().message);
  limit.reset();
  // Costs far more than the reading, so only some do it; what is no sound run the writer refuses.
  const bool any =
      !understood.runs.empty() || !understood.comparisons.empty() || !understood.visits.empty();
  if (any && size % 16 == 0) static_cast<void>(fuzz::refusal_of_recording(understood));
  return 0;
}
