// Queries the driver for the memory behind addresses in captured graphs that are not in the ledger.
#pragma once

#include "engine/device/driver_api.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Appends the graphs' own allocations and the driver's ranges to the snapshot's ledger, with
/// AllocationRole::DriverKnown. Needs a current context. The driver rejects words that are not
/// addresses; they are ignored.
void add_driver_memory(const engine::DriverApi& driver, Snapshot& snapshot);

}  // namespace profiling
