// The processes below this one that it started under a guard (worker_guard.h), as opposed to any
// other child of it. A process cannot leave this set: what marks it is a resource limit that nobody
// uses (RLIMIT_LOCKS, without an effect since Linux 2.4.25), lowered once. A hard limit is
// inherited by every fork and exec, and only root can raise it again. Two places have no marks:
// where this process itself may have no file locks, nothing is below its limit, and where /proc
// hides processes (hidepid) their limits cannot be read.
#pragma once

#include <chrono>

namespace app {

/// Marks this process, and everything it will start, for the process that forked it.
void mark_for_parent();

/// Descendants whose parent has ended become children of this process instead of init's.
void adopt_orphans();

/// SIGKILL to everything below this process, marked or not. For a guard, whose descendants are all
/// its program's.
void kill_descendants();

/// Ends the marked children of this process, and everything below them, until there are none, and
/// reaps them: what a guard has left that was killed. False: some were still there at the limit.
bool end_orphans(std::chrono::milliseconds limit);

}  // namespace app
