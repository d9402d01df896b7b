// Whether the inputs of a captured graph can be given other addresses: which memory counts as
// input, and what in the graph prevents it. Pure: proofs/ performs the move.
#pragma once

#include <span>
#include <string>

#include "engine/model/allocation.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Live device memory that the caller writes and the step reads: values, scalars, splits and
/// offsets.
bool is_input(const engine::Allocation& allocation);

/// Why the addresses in this graph cannot all be found and changed; empty = they can.
/// `plain_descriptors`: the driver keeps the address in a TMA descriptor as a plain word, so that
/// an argument that holds one needs no special treatment.
std::string immovable_inputs_reason(const GraphSnapshot& graph,
                                    std::span<const engine::Allocation> inputs,
                                    bool plain_descriptors);

}  // namespace profiling
