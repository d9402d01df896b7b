// CPU time, for what must stay cheap: unlike the time on the wall it does not grow on a busy
// machine.
#pragma once

#include <time.h>

namespace tests {

/// Seconds that all threads of this process have run.
inline double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace tests
