// The machine that --remote names: connected when a command first needs its worker, once.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/protocol/worker_command.h"
#include "app/remote/deployment.h"
#include "app/remote/sent_files.h"
#include "engine/model/error.h"

namespace app::cli {

enum class Offers {
  Nothing,
  ToBuild,  // a worker with CUDA, which takes minutes
};

/// What ssh asks, on the terminal that controls this program; without one there is no answer.
AskUser ask_on_terminal(Offers offers);

class RemoteMachine {
 public:
  ConnectOptions options;

  /// The worker there, with what `command` says beside its program. Progress goes to stderr.
  engine::Result<WorkerCommand> reached(const WorkerCommand& command);
  /// Null until it is reached.
  std::shared_ptr<const SshConnection> connection() const {
    return connected_ ? connected_->ssh : nullptr;
  }
  /// Once it is reached (app/remote/sent_files.h).
  engine::Status send_files(Task& task);
  template <engine::Described T>
  void name_as_here(T& record) const {
    if (files_) files_->name_as_here(record);
  }

 private:
  std::optional<ConnectedMachine> connected_;
  std::optional<SentFiles> files_;
};

}  // namespace app::cli
