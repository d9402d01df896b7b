// The protocol between ChildProcess and expertscope-guard.
//
// A program that is killed cannot kill what it started, and a hostile child can leave its process
// group (setsid) and drop a parent-death signal (prctl). So a small process stands in between: it
// holds one end of a socket, and when the other end closes, for whatever reason, it ends what it
// started and all descendants of that. As a child subreaper it inherits every descendant whose
// parent has gone, so none is out of its reach. It is a separate program instead of a fork that
// stays: a fork of the window would keep its memory, and may not even allocate, since the window
// has threads.
//
// It cannot stop a process of the same user that kills it first. Then its descendants become
// children of the program that started it, which is a subreaper too, and which ends them: they are
// marked (descendants.h), so that no other child of that program is hit. A process that runs as
// root, or that kills both programs, can outlive them.
#pragma once

#include <sys/types.h>

namespace app {

inline constexpr int kGuardChannel = 3;  // the guard's end of the socket
inline constexpr const char* kNoFolder = "-";

/// Written before the program runs, so that it arrives before any output of the program; written
/// once more if the program cannot run.
struct GuardReport {
  pid_t pid = 0;  // pid of the program
  int error = 0;  // errno of fork or exec; then the guard ends
};

}  // namespace app
