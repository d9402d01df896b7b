// An experiment of the graph doctor. Whatever the outcome, the worker ends after the answer: memory
// may be corrupt, and a kernel may spin forever.
#pragma once

#include <cstdint>

#include "app/protocol/doctor_order.h"
#include "app/worker/backends.h"
#include "app/worker/frame_sender.h"
#include "engine/observe/step_observer.h"
#include "profiling/hazards/model/live_board.h"

namespace app {

/// What other threads may watch of an experiment.
struct DoctorWatch {
  engine::RunProgress& progress;
  profiling::LiveBoard& board;
};

/// Returns only if the experiment could not be run, with the reason; otherwise the answer has been
/// sent and the process has ended.
engine::Status run_doctor(Backends& backends, std::uint64_t id, const DoctorOrder& order,
                          DoctorWatch watch, FrameSender& sender);

}  // namespace app
