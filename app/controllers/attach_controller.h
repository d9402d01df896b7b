// Programs that are not ours, attached to from the window, on this machine or the one where runs
// happen. A thread of its own starts the program, follows the spools of its processes and examines
// them; the window never waits for it. The program is the user's: it goes on when nobody watches it
// any more, and when the window closes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/attach/remote_start.h"
#include "app/attach/spool_folder.h"
#include "app/controllers/background.h"
#include "app/controllers/commands.h"
#include "profiling/session/session_file.h"

namespace app {

/// A program that was started before, as it was typed.
struct RememberedProgram {
  std::string command{};
  std::string working_folder{};
  bool operator==(const RememberedProgram&) const = default;
};
using RememberedPrograms = std::vector<RememberedProgram>;  // the newest first
inline constexpr std::size_t kMaxRememberedPrograms = 8;
inline constexpr std::size_t kMaxTypedCommand = 4096;  // bytes; of the folder, too

/// Puts it first; one that was there moves.
void remember(RememberedPrograms& programs, RememberedProgram newest);

/// One process of the program.
struct WatchedProcess {
  AttachedProcess seen;
  double launches_per_second = -1;  // of its graphs; negative = not known
  std::size_t findings = 0;         // in its newest report
};

/// The newest program or record.
struct AttachStatus {
  enum class State {
    None,
    Running,    // and watched
    Unwatched,  // it runs, and nothing is read of it
    Ended,
    Reading,  // a record of an earlier program
    Read,
  };
  State state = State::None;
  std::string command{};  // as typed; of a record, its folder
  std::string host{};     // where it runs; empty = this machine
  std::string folder{};   // of the spools; empty = there is none yet
  pid_t pid = -1;
  bool ending = false;  // it was asked to end
  std::string end{};    // "ended with exit code 0"
  std::string error{};  // why it was not started, or is not read; empty = neither
  std::vector<WatchedProcess> processes{};
  std::vector<std::string> findings{};  // each once, as they came
  std::vector<std::string> output{};    // the last lines that the program printed
  std::string cut_output{};             // the file with them, if its middle was left out
};

/// What is known of one process now.
struct AttachedVisit {
  std::string spool;  // path: an earlier visit with the same one is replaced
  profiling::RecordedVisit visit;
  bool last = false;  // nothing more is read of the process
};

class AttachController {
 public:
  /// `library`: the one to preload, or why there is none.
  AttachController(std::function<void()> wake, engine::Result<std::string> library);
  /// Programs go on. Joins the threads, which may be examining a graph.
  ~AttachController();
  AttachController(const AttachController&) = delete;
  AttachController& operator=(const AttachController&) = delete;

  /// Why this build cannot start a program on this machine; empty = it can.
  std::string missing_library() const { return library_.ok() ? "" : library_.error().message; }
  /// Refused with a sentence while another program is watched, or if it is no command. `place`: the
  /// machine to start it on, if that is not this one.
  engine::Status start(const AttachOrder& order, const RemotePlace& place = {});
  /// Examines the record of an earlier program. Refused in the same way.
  engine::Status read(const std::string& folder);
  /// The program goes on.
  void stop_watching();
  /// Asks the program to end; the second time it is killed. One that is still being started on
  /// another machine is given up.
  void end_program();

  /// Why there is nothing to stop watching; empty = there is.
  std::string stop_refusal() const {
    return status_.state == AttachStatus::State::Running ? "" : "No program is watched";
  }
  /// Why nothing runs that could be ended; empty = it does.
  std::string end_refusal() const { return program_runs() ? "" : "No attached program runs"; }
  bool watching() const {
    return status_.state == AttachStatus::State::Running ||
           status_.state == AttachStatus::State::Reading;
  }
  bool program_runs() const {
    return status_.state == AttachStatus::State::Running ||
           status_.state == AttachStatus::State::Unwatched;
  }

  /// True when there is something to draw.
  bool tick();
  const AttachStatus& status() const { return status_; }
  /// What has changed since, in the order of the changes.
  std::vector<AttachedVisit> take_visits() { return std::exchange(visits_, {}); }

 private:
  struct Watch;

  engine::Status refuse_second() const;
  void begin(std::function<engine::Status(Watch&)> work, AttachStatus first);

  std::function<void()> wake_;
  const engine::Result<std::string> library_;
  AttachStatus status_;
  std::vector<AttachedVisit> visits_;
  std::shared_ptr<Watch> watch_;               // the newest
  std::vector<std::weak_ptr<Watch>> watches_;  // all whose threads may still run
  BackgroundTask<engine::Status> task_;
};

}  // namespace app
