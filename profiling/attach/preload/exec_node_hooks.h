// Nodes of executable graphs that the program changes in place.
#pragma once

namespace attach {

/// In a forked child: its calls get frames as if they were a process's first.
void forget_node_calls_of_parent();

}  // namespace attach
