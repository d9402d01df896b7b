// Where the window's runs happen: the machines that there are to choose from, and the way to one of
// them. Connecting is done by a thread, which also waits for the answers to ssh's questions; an
// answer is passed on once, then overwritten, and kept nowhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/background.h"
#include "app/controllers/link_supervisor.h"
#include "app/remote/deployment.h"

namespace app {

/// Machines that were connected before, with what was chosen for them; the newest first.
using RememberedMachines = std::vector<ConnectOptions>;
inline constexpr std::size_t kMaxRememberedMachines = 12;

/// The way to another machine: the steps of connect_machine(), then the start of the worker there.
struct MachineSteps {
  struct Step {
    const char* id;                            // "reach"
    const char* title;                         // as displayed
    std::optional<StepReport::State> state{};  // none = it has not begun
    std::string words{};
    double fraction = -1;  // negative = not known
  };
  std::array<Step, 5> steps{{{.id = "reach", .title = "Reach"},
                             {.id = "look", .title = "Look"},
                             {.id = "worker", .title = "Worker"},
                             {.id = "cublaslt", .title = "cuBLASLt"},
                             {.id = "start", .title = "Start"}}};

  Step& of(ConnectStep step) { return steps[static_cast<std::size_t>(step)]; }
  const Step& of(ConnectStep step) const { return steps[static_cast<std::size_t>(step)]; }
  Step& start() { return steps.back(); }
  /// The one that is being made; null = none is.
  const Step* current() const;
};

/// The newest attempt to connect.
struct MachineStatus {
  ConnectOptions options{};  // of it; without a host there was none
  bool connecting = false;   // until the worker there has greeted
  MachineSteps steps{};
  std::optional<ConnectQuestion> question{};  // ssh waits for the answer
  std::uint64_t questions = 0;                // so far, of all attempts
  std::string error{};                        // why it failed; empty = it has not
  std::optional<MachineFacts> facts{};        // of the machine, once it is connected
};

class MachineController {
 public:
  /// `typed`: the worker of the command line. `first`: the machine that it names, to be connected
  /// when the window opens; what `typed` says is then about that machine. `remembered` outlives
  /// this.
  MachineController(const WorkerCommand& typed, std::optional<ConnectOptions> first,
                    const std::function<void()>& wake, RememberedMachines& remembered);
  /// Cancels; ssh is gone when this returns.
  ~MachineController();
  MachineController(const MachineController&) = delete;
  MachineController& operator=(const MachineController&) = delete;

  /// Reads the configuration of ssh again.
  void look_for_hosts();
  /// Names for a list: those connected before, then those of the configuration of ssh.
  std::vector<std::string> hosts() const;
  /// What was chosen for this machine before.
  ConnectOptions options_for(const std::string& host) const;
  const RememberedMachines& remembered() const { return remembered_; }
  const std::optional<ConnectOptions>& first() const { return first_; }

  /// Replaces an attempt in progress. The worker of the window stays until the new one can be
  /// started. Refused with the reason if the host is not a machine name.
  engine::Status connect(const ConnectOptions& options);
  void cancel();
  /// Overwrites `text`.
  void answer(std::string& text);
  /// ssh gets no answer, and gives up.
  void refuse_answer();
  /// Back to the worker here.
  void use_this_machine();

  /// True when there is something to draw.
  bool tick();
  /// Where workers are to be started from now on, once.
  std::optional<PlacedWorker> take_place() { return std::exchange(place_, std::nullopt); }
  /// The worker of the place that was taken is being started. True when that has ended.
  bool follow(const LinkStatus& link, bool greeted);
  const MachineStatus& status() const { return status_; }

 private:
  struct Attempt;
  using Connected = engine::Result<ConnectedMachine>;

  bool take_reports();
  void take(Connected connected);
  void fail(MachineSteps::Step& step, const std::string& why);
  void remember(const ConnectOptions& options);
  WorkerCommand home() const;

  const WorkerCommand typed_;
  const std::optional<ConnectOptions> first_;
  std::function<void()> wake_;
  RememberedMachines& remembered_;
  MachineStatus status_;
  std::vector<std::string> configured_;  // in the configuration of ssh
  std::shared_ptr<Attempt> attempt_;     // null = none is in progress
  std::optional<PlacedWorker> place_;
  bool starting_ = false;  // the worker there
  BackgroundTask<std::vector<std::string>> hosts_task_;
  BackgroundTask<Connected> connect_task_;
};

}  // namespace app
