// What ChildProcess and expertscope-guard say to each other.
//
// A program that is killed cannot kill what it started, and a hostile child can leave its process
// group (setsid) and drop a parent-death signal (prctl). So a small process of its own stands
// between: it holds one end of a socket, and what it started, and all that came of that, ends when
// the other end closes, whatever closed it. As a child subreaper it inherits every descendant whose
// parent has gone, so none is out of its reach. It is a program instead of a fork that stays: a
// fork of the window would keep its memory, and may not even allocate, since the window has
// threads. What it cannot stop is a process of the same user that kills it first; then the
// parent-death signal is what is left.
#pragma once

#include <sys/types.h>

namespace app {

inline constexpr int kGuardChannel = 3;  // the guard's end of the socket

/// Written before the program runs, so that it is there before the program says anything; once more
/// if it cannot run.
struct GuardReport {
  pid_t pid = 0;  // of the program
  int error = 0;  // errno of fork or exec; then the guard ends
};

}  // namespace app
