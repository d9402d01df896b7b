// An order to benchmark the grouped linear step: the device's steps or the CPU reference's,
// interleaved with the peer that the order names.
#pragma once

#include <cstdint>

#include "app/worker/backends.h"
#include "app/worker/frame_sender.h"
#include "engine/model/bench_order.h"
#include "engine/model/error.h"
#include "engine/observe/step_observer.h"

namespace app {

/// Sends BenchStarted and the rows; the caller sends BenchFinished. The order has passed
/// validate().
engine::Status run_linear_bench(Backends& backends, std::uint64_t id,
                                const engine::BenchOrder& order, engine::RunProgress& progress,
                                FrameSender& sender);

}  // namespace app
