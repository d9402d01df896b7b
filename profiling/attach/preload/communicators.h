// NCCL's calls that make, use or end a communicator: a graph that captured a collective needs the
// communicator as long as it exists.
#pragma once

namespace attach {

/// The wrapper of `symbol`, if `handle` has NCCL's function of that name and it is wrapped; else
/// null.
void* communicator_call(void* handle, const char* symbol);

}  // namespace attach
