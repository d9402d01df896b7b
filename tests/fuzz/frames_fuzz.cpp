// What a worker sends, as the window reads it: bytes, frames, their meaning, and then a recording
// of what was understood, which must open again.
#include <optional>
#include <variant>

#include "app/protocol/convert.h"
#include "app/protocol/framing.h"
#include "app/protocol/worker_frames.h"
#include "tests/fuzz/frame_mutator.h"
#include "tests/fuzz/recording_check.h"
#include "tests/unit/session/sample_recording.h"
#include "tests/unit/session/sample_visit.h"

namespace fuzz {
namespace {

using app::wire::Frame;

/// The frames of a run as a worker sends them.
std::vector<Frame> frames_of_a_run(int salt) {
  const profiling::RecordedRun run = profiling::sample_run(salt);
  std::vector<Frame> frames(2);
  *frames[0].mutable_activity() = app::make_activity_chunk(run.result.id, run.activity, 0);
  auto& finished = *frames[1].mutable_finished();
  finished.set_id(run.result.id);
  *finished.mutable_result() = app::to_wire(run.result);
  *finished.mutable_power() = app::to_wire(run.power);
  *finished.mutable_snapshot() = app::to_wire(run.snapshot);
  return frames;
}

std::vector<Frame> other_answers() {
  std::vector<Frame> frames(4);
  *frames[0].mutable_comparison_finished()->mutable_comparison() =
      app::to_wire(profiling::sample_comparison(1).comparison);
  *frames[1].mutable_history_finished()->mutable_history() =
      app::to_wire(profiling::sample_history(1).history);
  const profiling::DoctorReport report = profiling::sample_visit(1).report;
  app::DoctorDone done{.id = 5, .snapshot = report.snapshot, .outcome = {}};
  for (const profiling::ExperimentRecord& made : report.experiments) {
    if (!made.outcome.stall.empty()) done.outcome = made.outcome;
  }
  *frames[2].mutable_doctor_reply() = app::to_wire(done);
  app::RunError late{.id = 4, .error = {engine::ErrorCode::Device, "late"}};
  late.stalled = std::make_shared<const app::DoctorDone>(done);
  *frames[3].mutable_failed() = app::to_wire(late);
  return frames;
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
  } else if (auto* comparison = std::get_if<app::ComparisonDone>(&event)) {
    session.comparisons.push_back({.comparison = std::move(comparison->comparison)});
  } else if (auto* history = std::get_if<app::HistoryDone>(&event)) {
    session.histories.push_back({.history = std::move(history->history)});
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
  hello.mutable_hello_reply()->set_protocol_version(app::kProtocolVersion);
  hello.mutable_hello_reply()->set_program_version("1");
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
  const bool any = !understood.runs.empty() || !understood.comparisons.empty() ||
                   !understood.histories.empty() || !understood.visits.empty();
  if (any && size % 16 == 0) static_cast<void>(fuzz::refusal_of_recording(understood));
  return 0;
}
