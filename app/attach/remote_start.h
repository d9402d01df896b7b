// Starts a program on a connected machine, by way of the agent in the bundle there.
#pragma once

#include <functional>
#include <memory>

#include "app/attach/attached_program.h"
#include "app/attach/running_program.h"
#include "app/protocol/worker_command.h"
#include "app/remote/ssh_connection.h"
#include "engine/model/error.h"

namespace app {

struct RemotePlace {
  WorkerCommand worker;  // of the machine, as connect_machine() gives it
  std::shared_ptr<const SshConnection> connection;
};

struct RemoteStart {
  /// Its folder, of this machine, gets copies of the spools. The working folder is one there; empty
  /// = the login folder. Its descriptors get what the program prints.
  AttachOptions program;
  bool goes_on = false;  // when it is no longer watched; else it is hung up
  std::function<bool()> stop;
};

/// Waits until the program runs there (RemoteProgram::start).
engine::Result<std::unique_ptr<RunningProgram>> start_on(const RemotePlace& place,
                                                         const RemoteStart& start);

}  // namespace app
