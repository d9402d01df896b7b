// Where in the program a node was captured: the Python stack, and the return addresses of compiled
// code.
#pragma once

#include "profiling/attach/preload/driver_names.h"

namespace attach {

/// Looks the interpreter's and the unwinder's functions up, as far as the process has them by now.
/// Called when a capture begins, so that nothing has to be looked up during it.
void prepare_stacks();

/// A frame with the stack of this thread, for the node that `stream`'s capture got last.
void note_stack(CUstream stream, bool per_thread);

}  // namespace attach
