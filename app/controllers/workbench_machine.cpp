// Where the window's runs happen, in the workbench: the way to another machine and back.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "app/controllers/workbench.h"
#include "engine/model/path_text.h"

namespace app {

void Workbench::begin_worker() {
  if (options.no_worker) return;
  if (!machine.first()) return runs.start_worker("");
  connect(*machine.first());
}

void Workbench::connect(const ConnectOptions& to) {
  if (options.no_worker) return notices.set_status("This window was opened without a worker");
  if (const engine::Status begun = machine.connect(to); !begun.ok()) {
    notices.add(Severity::Bad, begun.error().message);
  }
}

void Workbench::fetch_library(const std::string& version) {
  const std::string host = runs.link.host();
  if (host.empty()) return libraries.fetch(version);
  notices.add(Severity::Warn,
              fmt::format("cuBLASLt {} was not fetched: runs happen on {}, which could not load a "
                          "library of this machine. Run there: expertscope doctor fetch {}",
                          version, host, version));
}

bool Workbench::act_on_machine(Action action) {
  switch (action) {
    case Action::ConnectAgain: {
      // The machine in use comes before one that could not be connected since.
      const std::string host = runs.link.host();
      connect(host.empty() ? machine.status().options : machine.options_for(host));
      return true;
    }
    case Action::CancelConnecting:
      machine.cancel();
      return true;
    case Action::UseThisMachine:
      machine.use_this_machine();
      return true;
    default:
      return false;
  }
}

std::string Workbench::machine_refusal(Action action) const {
  if (options.no_worker) return "This window was opened without a worker";
  switch (action) {
    case Action::ConnectAgain:
      return machine.status().options.host.empty() && runs.link.host().empty()
                 ? "No other machine was connected yet"
                 : "";
    case Action::CancelConnecting:
      return machine.status().connecting ? "" : "Nothing is being connected";
    case Action::UseThisMachine:
      return runs.link.started() && runs.link.host().empty() ? "Runs happen on this machine already"
                                                             : "";
    default:
      return "";
  }
}

void Workbench::fetch_file(const std::string& path_there) {
  const std::shared_ptr<const SshConnection>& ssh = runs.link.place().connection;
  const std::string name = engine::shown_path(path_there);
  if (ssh == nullptr) {
    return notices.add(Severity::Warn, fmt::format("{} was not opened: {} is not connected", name,
                                                   runs.link.host()));
  }
  notices.set_status(fmt::format("Copying {} from {}", name, runs.link.host()));
  fetcher_.start(ssh, path_there);
}

bool Workbench::tick_fetch() {
  if (const auto fetched = fetcher_.take()) {
    notices.set_status("");
    if (fetched->ok()) {
      open_here(fetched->value());
    } else {
      notices.add(Severity::Bad, "Not opened: " + fetched->error().message);
    }
    return true;
  }
  if (!fetcher_.running()) return false;
  if (const std::string words = fetcher_.progress(); !words.empty()) {
    notices.set_status(fmt::format("Copying {}", words));
  }
  return false;
}

bool Workbench::tick_machine() {
  bool changed = machine.tick();
  if (std::optional<PlacedWorker> place = machine.take_place()) {
    const bool here = !place->command.remote;
    runs.move_to(*std::move(place));
    if (here) notices.set_status("Runs happen on this machine now");
    changed = true;
  }
  const LinkStatus link = runs.link.status();
  if (machine.follow(link, runs.link.hello().has_value())) {
    changed = true;
    const MachineStatus& now = machine.status();
    if (now.error.empty()) {
      notices.set_status(fmt::format("Runs happen on {} now: {}", now.options.host,
                                     now.facts ? machine_words(*now.facts) : std::string()));
    }
  }
  // Asked only once the worker is gone.
  std::string lost = link.state == LinkState::Lost ? runs.link.connection_lost() : std::string();
  if (lost != connection_lost_) {
    connection_lost_ = std::move(lost);
    changed = true;
  }
  return changed;
}

}  // namespace app
