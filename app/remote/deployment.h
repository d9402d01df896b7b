// From the name of a machine to a worker that can be started there: reach it, see what it has, send
// the worker if it is not there yet, provide cuBLASLt.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/protocol/worker_command.h"
#include "app/remote/machine.h"
#include "app/remote/ssh_connection.h"
#include "engine/model/error.h"

namespace app {

enum class ConnectStep {
  Reach,    // ssh connects and authenticates
  Look,     // what the machine has
  Worker,   // the bundle is there
  Library,  // cuBLASLt is there
};
constexpr auto enum_names(ConnectStep) {
  return std::to_array<std::string_view>({"reach", "look", "worker", "cublaslt"});
}

/// Where a step is. Each step is reported once as Doing with fraction 0, and last as one of the
/// others.
struct StepReport {
  enum class State { Doing, Done, Skipped, Failed };
  ConnectStep step = ConnectStep::Reach;
  State state = State::Doing;
  std::string words;     // what it does, what it found, or why it was skipped or failed
  double fraction = -1;  // of what is sent; negative = not known
};

/// How a machine without the pinned cuBLASLt gets it.
enum class ProvideLibrary {
  Automatic,  // fetched there, else sent from here, else left out
  Fetch,      // fetched there from PyPI, or left out
  Send,       // sent from here, or left out
  Skip,       // left out: the worker takes what it finds, or has no grouped products
};
constexpr auto enum_names(ProvideLibrary) {
  return std::to_array<std::string_view>({"automatic", "fetch", "send", "skip"});
}

struct ConnectOptions {
  std::string host;  // as ssh takes it
  ProvideLibrary library = ProvideLibrary::Automatic;
  int gpu = -1;                       // index as nvidia-smi counts; negative = all are visible
  std::vector<std::string> launcher;  // starts the worker there: {"srun", "--gpus=1"}
  bool operator==(const ConnectOptions&) const = default;
};

struct ConnectCallbacks {
  std::function<void(const StepReport&)> report;
  AskUser ask;
  std::function<bool()> stop;  // polled
};

/// A machine with a worker that can be started. The connection must outlive every worker that is
/// started with `worker`.
struct ConnectedMachine {
  std::shared_ptr<const SshConnection> ssh;
  MachineFacts machine;
  WorkerCommand worker;
};

/// Blocks: seconds, or minutes when much is sent. On an error the last report is of the step that
/// failed, with the same words.
engine::Result<ConnectedMachine> connect_machine(const ConnectOptions& options,
                                                 const ConnectCallbacks& callbacks);

/// The worker of a connected machine, with what `typed` says beside its program: arguments,
/// library, backend and environment.
WorkerCommand with_words_of(WorkerCommand connected, const WorkerCommand& typed);

}  // namespace app
