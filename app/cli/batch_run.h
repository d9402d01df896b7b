// A batch through one worker, waited on: the command line's side of sweeps and interleaved A/B.
#pragma once

#include <memory>

#include "app/cli/worker_session.h"
#include "app/sweep/batch.h"
#include "profiling/compare/sweep_points.h"
#include "profiling/session/session_file.h"

namespace app::cli {

/// Measures all that is left of the batch and appends each run to `writer` (may be null) as soon as
/// it is there. Ctrl+C cancels: what was measured is kept. The error is the file's; the worker's
/// are in the batch.
engine::Result<profiling::RunList> measure(WorkerSession& session, Batch& batch,
                                           profiling::SessionWriter* writer);

/// The recording to write, if one was asked for; null when `path` is empty.
engine::Result<std::unique_ptr<profiling::SessionWriter>> create_recording(const std::string& path);

}  // namespace app::cli
