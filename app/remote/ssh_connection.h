// One connection of the user's own ssh to another machine: authenticated once, then shared by every
// command through ssh's control socket. Nothing listens on a network port, and no shell on this
// machine reads anything that a user typed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/protocol/child_process.h"
#include "app/protocol/child_run.h"
#include "engine/model/error.h"

namespace app {

/// What is asked before a machine is connected: by ssh, except Build.
struct ConnectQuestion {
  enum class Kind {
    Secret,   // a password, a passphrase: the answer is not shown and never stored
    Confirm,  // whether an unknown host key is accepted: "yes" or "no"
    Build,    // whether a worker with CUDA is built here: "yes" or "no"
    Notice,   // touch a security key, for example: shown until one without a text; no answer
  };
  Kind kind = Kind::Secret;
  std::string text;  // ssh's own words, or how much building takes
};
/// Empty = the person does not want to answer; ssh then gives up. Called on the thread that opens
/// the connection, which waits.
using AskUser = std::function<std::optional<std::string>(const ConnectQuestion&)>;

/// Thread-safe once it is open.
class SshConnection {
 public:
  /// Blocks until ssh is connected. `destination`: what ssh takes as a machine name
  /// (names_a_machine() in worker_command.h). Device: ssh's last words, such as "Permission denied
  /// (publickey)"; Cancelled: `stop` asked for the end.
  static engine::Result<std::unique_ptr<SshConnection>> open(const std::string& destination,
                                                             const AskUser& ask,
                                                             const std::function<bool()>& stop);
  /// Ends ssh, and with it every command that still runs through it.
  ~SshConnection();
  SshConnection(const SshConnection&) = delete;
  SshConnection& operator=(const SshConnection&) = delete;

  const std::string& destination() const { return destination_; }
  /// Options of an ssh that uses this connection and fails where it is gone: it never authenticates
  /// by itself.
  const std::vector<std::string>& options() const { return options_; }
  /// Runs `command`, which the login shell there parses: constant text and shell_quoted() words on
  /// one line, because csh takes no line breaks in quotes.
  engine::Result<std::optional<ChildEnd>> run(const std::string& command, ChildRun run) const;
  /// Why it is gone: ssh's last words. Empty = it is there. Waits only for what
  /// ssh has started and left behind.
  std::string lost() const;

 private:
  SshConnection() = default;
  std::string log() const { return folder_ + "/log"; }
  /// The last line that ssh wrote there.
  std::string last_words(const std::string& otherwise) const;

  std::string destination_;
  std::string folder_;  // private to this user; holds the control socket
  std::vector<std::string> options_;
  mutable std::unique_ptr<ChildProcess> ssh_;
  mutable std::mutex mutex_;
  mutable std::string lost_;  // ssh says it once
};

}  // namespace app
