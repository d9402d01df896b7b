// The machine that --remote names: connected when a command first needs its worker, once.
#pragma once

#include <optional>
#include <string>

#include "app/protocol/worker_command.h"
#include "app/remote/deployment.h"
#include "engine/model/error.h"

namespace app::cli {

/// What ssh asks, on the terminal that controls this program; without one there is no answer.
AskUser ask_on_terminal();

class RemoteMachine {
 public:
  ConnectOptions options;

  /// The worker there, with what `command` says beside its program. Progress goes to stderr.
  engine::Result<WorkerCommand> reached(const WorkerCommand& command);

 private:
  std::optional<ConnectedMachine> connected_;
};

}  // namespace app::cli
