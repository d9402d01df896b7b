// Which workers a machine has from earlier connections, and whether one of them is ours.
#pragma once

#include <string>

#include "app/remote/machine.h"

namespace app {

/// "worker: the same build, running", "worker: another build, 1a2b3c4d (running)" or "no worker
/// yet". `own`: the name of the bundle that would be sent, which tells builds apart.
std::string found_worker_words(const MachineFacts& machine, const std::string& own);

}  // namespace app
