// Asks the driver whose memory the addresses in captured graphs are, where the ledger has no entry.
#pragma once

#include "engine/device/driver_api.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Adds the graphs' own allocations and the driver's ranges to the snapshot's ledger, behind what
/// is there, with AllocationRole::DriverKnown. Needs a current context. A word that is no address
/// is refused by the driver and forgotten.
void add_driver_memory(const engine::DriverApi& driver, Snapshot& snapshot);

}  // namespace profiling
