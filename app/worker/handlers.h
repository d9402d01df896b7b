// What a worker does for each kind of order: one carry_out() per alternative of Task. The engine
// loop calls them on its thread, with orders that have passed engine::validate.
#pragma once

#include <atomic>
#include <cstdint>

#include "app/protocol/orders.h"
#include "app/worker/backends.h"
#include "app/worker/frame_sender.h"
#include "app/worker/replay_guard.h"
#include "engine/model/error.h"
#include "engine/observe/step_observer.h"
#include "profiling/hazards/model/live_board.h"

namespace app {

/// What a handler works with. `progress`, `board` and `dropped_records` are watched by other
/// threads.
struct OrderContext {
  std::uint64_t id = 0;
  Backends& backends;
  FrameSender& sender;
  engine::RunProgress& progress;
  profiling::LiveBoard& board;
  std::atomic<std::uint64_t>& dropped_records;
  ReplayGuard& guard;
};

// The last answer to the order, or why there is none. What precedes the last has been sent.

engine::Result<Answer> carry_out(const OrderContext& context, const engine::RunRequest& request);
/// A comparison over steps runs on the CPU twins, whatever the backend.
engine::Result<Answer> carry_out(const OrderContext& context,
                                 const engine::ComparisonRequest& request);

/// Quantizes with the CPU twins and writes codes.npy, scale_inv.npy (MXFP8 and NVFP4: scales.npy),
/// amax.npy (not MXFP8), splits.npy and manifest.json into order.folder (created if missing, else
/// it must be empty), so that anyone can check the numerics with their own tools. The
/// columnwise arrays are codes_columnwise.npy and so on. Scales are written in the plain order of
/// their blocks, not in the layout a matmul needs; the manifest says how to decode.
engine::Result<Answer> carry_out(const OrderContext& context, const QuantizeOrder& order);

/// Measures on the requested backend, interleaved with the peer if the order names one, samples
/// clock and power meanwhile, and sends rows as shapes finish.
engine::Result<Answer> carry_out(const OrderContext& context, const engine::BenchOrder& order);

/// Returns only if the experiment could not be run. Otherwise it sends the answer and ends the
/// process, since memory may be corrupt and a kernel may spin forever.
engine::Result<Answer> carry_out(const OrderContext& context, const DoctorOrder& order);

}  // namespace app
