// Calls that wait for the device, as long as they last. A hang is a wait that does not end; who
// looks at it is another process, so a program that hangs is watched without any thread or call of
// its own.
#pragma once

#include <atomic>
#include <cstdint>

#include "profiling/attach/preload/driver_names.h"
#include "profiling/attach/preload/spool_file.h"

namespace attach {

class WaitScope {
 public:
  WaitScope(spool::WaitCall call, CUstream stream = nullptr);
  ~WaitScope();
  /// What it waits for from now on.
  void goes_on_as(spool::WaitCall call);
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  spool::Wait* wait_ = nullptr;  // null = nothing is recorded, or too many threads wait
  std::uint64_t since_ = 0;
};

}  // namespace attach
