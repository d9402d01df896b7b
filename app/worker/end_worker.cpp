#include "app/worker/end_worker.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

namespace app {

void end_worker(const engine::Error& error) {
  spdlog::critical("a thread of this worker failed, so it ends: {}", error.message);
  ::_exit(kExitThreadFailed);
}

}  // namespace app
