// The policy is the user's if the user set one.
#include "engine/backend/cpu/thread_waiting.h"

#include <unistd.h>

#include <cstdlib>

namespace engine {

void make_waiting_threads_sleep(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  // Set before the restart, so that the second start returns above.
  if (::setenv("OMP_WAIT_POLICY", "passive", 1) != 0) return;
  ::execv("/proc/self/exe", argv);
}

}  // namespace engine
