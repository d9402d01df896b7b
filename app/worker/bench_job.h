// A benchmark order: measures on the requested backend, samples clock and power meanwhile, and
// sends rows as shapes finish.
#pragma once

#include <cstdint>

#include "app/worker/backends.h"
#include "app/worker/frame_sender.h"
#include "engine/model/bench_order.h"
#include "engine/model/error.h"
#include "engine/observe/step_observer.h"

namespace app {

/// Ends with BenchFinished sent, or with the error for the caller to answer.
engine::Status run_bench(Backends& backends, std::uint64_t id, const engine::BenchOrder& order,
                         engine::RunProgress& progress, FrameSender& sender);

}  // namespace app
