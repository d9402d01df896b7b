// Events beside the records of work, between memory and the wire. Whoever reads checks every field.
#pragma once

#include <cstddef>

#include "app/protocol/field_check.h"
#include "app/protocol/wire.h"
#include "profiling/trace/activity.h"

namespace app {

/// Events [first, first + count) of each kind, as far as there are any.
void add_events(wire::ActivityChunk& chunk, const profiling::Activity& activity, std::size_t first,
                std::size_t count);
/// After the chunk's names.
void read_events(const wire::ActivityChunk& chunk, profiling::Activity& activity,
                 FieldCheck& check);

}  // namespace app
