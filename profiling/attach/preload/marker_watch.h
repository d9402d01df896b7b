// The thread that looks at markers while somebody waits for the device. It makes no call of the
// driver, takes none of the program's locks, and exists only where graphs are marked.
#pragma once

#include <cstdint>

namespace attach {

/// Starts it, at the first call. False = there is none.
bool watch_markers();

/// In a forked child, which has no such thread.
void forget_marker_watch();

/// A frame for each replay under way that has stood still since the last call and has had none
/// since `since`, when the longest wait began; and one for each that has moved on since it had one
/// (graph_markers.cpp).
void write_marker_states(std::uint64_t since);

}  // namespace attach
