// Captured graphs and their memory to wire messages and back; see convert.h for what the way in
// checks.
#pragma once

#include "app/protocol/wire.h"
#include "engine/model/error.h"
#include "profiling/graph/snapshot.h"

namespace app {

wire::Snapshot to_wire(const profiling::Snapshot& snapshot);
engine::Result<profiling::Snapshot> from_wire(const wire::Snapshot& message);

}  // namespace app
