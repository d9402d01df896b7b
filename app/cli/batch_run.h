// Runs a batch through one worker and waits for it: the command line's side of sweeps and
// interleaved A/B.
#pragma once

#include <memory>

#include "app/cli/worker_session.h"
#include "app/sweep/batch.h"
#include "profiling/compare/sweep_points.h"
#include "profiling/session/session_file.h"

namespace app::cli {

/// What a batch measured. A recording that failed takes nothing away from it: a command prints the
/// runs first and reports the failure then.
struct MeasuredBatch {
  profiling::RunList runs;
  engine::Status kept;  // whether all of them are in the recording, and it is closed
};

/// Measures the rest of the batch and appends each run to `writer` (may be null) as soon as it
/// finishes, then closes it. Ctrl+C cancels: what was measured is kept. A run that cannot be
/// appended is the last one. Errors of the worker are in the batch.
MeasuredBatch measure(WorkerSession& session, Batch& batch, profiling::SessionWriter* writer);

/// The end of a command whose results are printed: reports what the recording failed with and why
/// the batch has failed. The exit code is the batch's if both did.
int end_of(const MeasuredBatch& measured, const engine::Status& batch);

/// A command that was refused, or whose first run failed, leaves no file behind. One that ends
/// early for another reason, without close_recording(), says on stderr what is in which file.
struct KeepUnlessEmpty {
  void operator()(profiling::SessionWriter* writer) const;
};
using Recording = std::unique_ptr<profiling::SessionWriter, KeepUnlessEmpty>;

/// The recording to write, if one was requested; null if `path` is empty.
engine::Result<Recording> create_recording(const std::string& path);

/// Closes it (may be null). Notices about its location go to stderr, here and in keep().
engine::Status close_recording(profiling::SessionWriter* writer);
void report_location(profiling::SessionWriter& writer);

/// Appends to the recording, which may be null.
template <class Recorded>
engine::Status keep(profiling::SessionWriter* writer, const Recorded& recorded) {
  if (writer == nullptr) return {};
  engine::Status status = writer->append(recorded);
  report_location(*writer);
  return status;
}

}  // namespace app::cli
