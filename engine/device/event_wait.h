// Waiting for the device with a deadline. Never blocks in the driver: a call that waits for a
// spinning kernel would not return.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "engine/model/error.h"

namespace engine {

enum class Waited { Done, Late, Cancelled };

/// Polls until `event` has happened, `seconds` have passed, or `cancelled` says so. Seen as soon as
/// by cudaEventSynchronize() in the first 200 us; later the pauses stay shorter than what was
/// already waited, and than a millisecond. An error is a fault of the device.
Result<Waited> wait_for(cudaEvent_t event, double seconds, const std::function<bool()>& cancelled);

}  // namespace engine
