#include "app/cli/batch_run.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <utility>

#include "app/cli/terminal.h"
#include "app/controllers/recorder.h"
#include "app/protocol/recorded_run.h"

namespace app::cli {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

engine::Result<LinkEvent> measure_one(WorkerSession& session, const Batch& batch,
                                      const InterruptWatch& interrupt) {
  ENGINE_TRY(session.submit(*batch.next()));
  bool cancelled = false;
  auto end = session.wait(
      [](const LinkEvent& event) { return std::holds_alternative<RunDone>(event); },
      [&](const LinkStatus& status) {
        if (interrupt.seen() && !std::exchange(cancelled, true)) session.link().cancel();
        session.progress().show(status, batch.progress(steady_seconds(), status.pulse.fraction));
      });
  session.progress().erase();
  if (end.ok()) session.name_files_as_here(end.value());
  return end;
}

}  // namespace

void KeepUnlessEmpty::operator()(profiling::SessionWriter* writer) const {
  const std::unique_ptr<profiling::SessionWriter> owner(writer);
  const bool ends_early = !writer->closed();
  // Before anything else: a recording that cannot be closed must not look like one that is empty.
  const engine::Status closed = close_recording(writer);
  if (!closed.ok()) {
    if (ends_early) print(stderr, "expertscope: {}\n", closed.error().message);
    return;
  }
  if (writer->discard_if_empty() || !ends_early) return;
  // The command has reported why it ends. What was recorded until then must still be found.
  print(stderr, "expertscope: recorded before that: {} in {}\n", written_words(writer->counts()),
        writer->path());
}

engine::Result<Recording> create_recording(const std::string& path) {
  if (path.empty()) return Recording();
  auto created = profiling::SessionWriter::create(path);
  if (!created.ok()) return created.error();
  return Recording(created.value().release());
}

void report_location(profiling::SessionWriter& writer) {
  if (const std::string notice = writer.take_notice(); !notice.empty()) {
    print(stderr, "expertscope: {}\n", notice);
  }
}

engine::Status close_recording(profiling::SessionWriter* writer) {
  if (writer == nullptr) return {};
  engine::Status status = writer->close();
  report_location(*writer);
  return status;
}

MeasuredBatch measure(WorkerSession& session, Batch& batch, profiling::SessionWriter* writer) {
  const InterruptWatch interrupt;
  MeasuredBatch measured;
  while (batch.next() != nullptr) {
    if (interrupt.seen()) {
      batch.cancel();
      break;
    }
    batch.started(steady_seconds());
    const engine::RunRequest request = *batch.next();
    session.announce(request, measured.runs);
    engine::Result<LinkEvent> done = measure_one(session, batch, interrupt);
    if (!done.ok()) {
      if (done.error().code == engine::ErrorCode::Cancelled) {
        batch.cancel();
      } else if (session.link().status().state == LinkState::Lost) {
        batch.lost(session.link().status().reason);
      } else {
        batch.failed(done.error().message);
      }
      continue;
    }
    profiling::RecordedRun run = recorded_run(std::get<RunDone>(std::move(done).value()), request);
    run.group = batch.measured(steady_seconds());
    measured.kept = keep(writer, run);
    measured.runs.push_back(std::make_shared<const profiling::RecordedRun>(std::move(run)));
    if (!measured.kept.ok()) batch.cancel();
  }
  if (measured.kept.ok()) measured.kept = close_recording(writer);
  return measured;
}

int end_of(const MeasuredBatch& measured, const engine::Status& batch) {
  const int unkept = measured.kept.ok() ? kExitOk : report(measured.kept.error());
  return batch.ok() ? unkept : report(batch.error());
}

}  // namespace app::cli
