// The window's thread only exchanges words with the thread that connects, under a lock that neither
// holds for long.
#include "app/controllers/machine_controller.h"

#include <string.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "app/remote/ssh_hosts.h"

namespace app {
namespace {

using State = StepReport::State;

void overwrite(std::string& text) {
  ::explicit_bzero(text.data(), text.size());
  text.clear();
}

std::string home_folder() {
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string() : home;
}

}  // namespace

const MachineSteps::Step* MachineSteps::current() const {
  const auto doing = std::ranges::find(steps, std::optional(State::Doing), &Step::state);
  return doing == steps.end() ? nullptr : &*doing;
}

/// What the thread that connects and the window share.
struct MachineController::Attempt {
  std::mutex mutex;
  std::condition_variable answered;
  std::vector<StepReport> reports;  // that the window has not taken yet
  std::optional<ConnectQuestion> question;
  bool asks_anew = false;  // the window has not taken the question yet
  std::string answer;
  bool has_answer = false;
  bool refused = false;
  bool cancelled = false;

  ~Attempt() { overwrite(answer); }

  void report(const StepReport& report) {
    const std::lock_guard lock(mutex);
    // Of a step only its newest report counts.
    if (!reports.empty() && reports.back().step == report.step) {
      reports.back() = report;
    } else {
      reports.push_back(report);
    }
  }
  bool stopped() {
    const std::lock_guard lock(mutex);
    return cancelled;
  }
  std::optional<std::string> ask(const ConnectQuestion& asked, const std::function<void()>& wake) {
    std::unique_lock lock(mutex);
    question = asked;
    asks_anew = true;
    has_answer = refused = false;
    if (asked.kind == ConnectQuestion::Kind::Notice && asked.text.empty()) question.reset();
    lock.unlock();
    wake();
    if (asked.kind == ConnectQuestion::Kind::Notice) return std::nullopt;
    lock.lock();
    answered.wait(lock, [this] { return cancelled || refused || has_answer; });
    question.reset();
    std::optional<std::string> given;
    if (has_answer && !cancelled) given = answer;
    overwrite(answer);
    has_answer = false;
    return given;
  }
};

MachineController::MachineController(const WorkerCommand& typed,
                                     std::optional<ConnectOptions> first,
                                     const std::function<void()>& wake,
                                     RememberedMachines& remembered)
    : typed_(typed),
      first_(std::move(first)),
      wake_(wake),
      remembered_(remembered),
      hosts_task_(wake),
      connect_task_(wake) {}

MachineController::~MachineController() { cancel(); }

void MachineController::look_for_hosts() {
  if (hosts_task_.running()) return;
  hosts_task_.start([home = home_folder()] { return ssh_hosts(home); });
}

std::vector<std::string> MachineController::hosts() const {
  std::vector<std::string> names;
  for (const ConnectOptions& one : remembered_) names.push_back(one.host);
  for (const std::string& one : configured_) {
    if (std::ranges::find(names, one) == names.end()) names.push_back(one);
  }
  return names;
}

ConnectOptions MachineController::options_for(const std::string& host) const {
  const auto before = std::ranges::find(remembered_, host, &ConnectOptions::host);
  if (before != remembered_.end()) return *before;
  if (first_ && first_->host == host) return *first_;
  ConnectOptions options;
  options.host = host;
  return options;
}

engine::Status MachineController::connect(const ConnectOptions& options) {
  ENGINE_TRY(check_machine_name(options.host));
  cancel();
  status_ = {.options = options, .connecting = true, .questions = status_.questions};
  attempt_ = std::make_shared<Attempt>();
  connect_task_.start([options, attempt = attempt_, wake = wake_] {
    return connect_machine(
        options,
        {.report =
             [&](const StepReport& report) {
               attempt->report(report);
               wake();
             },
         .ask = [&](const ConnectQuestion& question) { return attempt->ask(question, wake); },
         .stop = [&] { return attempt->stopped(); }});
  });
  return {};
}

void MachineController::cancel() {
  if (attempt_ == nullptr) {
    if (!starting_) return;
    // The worker there may wait in a queue: runs come back to this machine.
    fail(status_.steps.start(), "Cancelled");
    use_this_machine();
    return;
  }
  {
    const std::lock_guard lock(attempt_->mutex);
    attempt_->cancelled = true;
  }
  attempt_->answered.notify_all();
  attempt_.reset();
  connect_task_.drop();
  status_.connecting = false;
  status_.question.reset();
  for (MachineSteps::Step& step : status_.steps.steps) {
    if (step.state == State::Doing) fail(step, "Cancelled");
  }
  status_.error.clear();
}

void MachineController::answer(std::string& text) {
  if (attempt_ != nullptr && status_.question) {
    const std::lock_guard lock(attempt_->mutex);
    attempt_->answer = text;
    attempt_->has_answer = true;
    attempt_->answered.notify_all();
  }
  status_.question.reset();
  overwrite(text);
}

void MachineController::refuse_answer() {
  if (attempt_ == nullptr || !status_.question) return;
  status_.question.reset();
  const std::lock_guard lock(attempt_->mutex);
  attempt_->refused = true;
  attempt_->answered.notify_all();
}

/// The worker here. What was typed about another machine does not hold for this one.
WorkerCommand MachineController::home() const {
  const bool elsewhere = first_ || typed_.remote;
  WorkerCommand here = typed_;
  here.remote.reset();
  here.ssh_options.clear();
  here.launcher.clear();
  if (elsewhere) {
    here.program.clear();
    here.cublaslt.clear();
  }
  return here;
}

void MachineController::use_this_machine() {
  cancel();
  status_ = {.questions = status_.questions};
  starting_ = false;
  place_ = PlacedWorker{.command = home()};
}

void MachineController::fail(MachineSteps::Step& step, const std::string& why) {
  step.state = State::Failed;
  step.words = why;
  step.fraction = -1;
  status_.error = why;
}

void MachineController::remember(const ConnectOptions& options) {
  std::erase_if(remembered_, [&](const ConnectOptions& one) { return one.host == options.host; });
  remembered_.insert(remembered_.begin(), options);
  if (remembered_.size() > kMaxRememberedMachines) remembered_.resize(kMaxRememberedMachines);
}

void MachineController::take(Connected connected) {
  take_reports();  // of its last step
  attempt_.reset();
  status_.question.reset();
  if (!connected.ok()) {
    status_.connecting = false;
    status_.error = connected.error().message;
    return;
  }
  ConnectedMachine machine = std::move(connected).value();
  status_.facts = std::move(machine.machine);
  remember(status_.options);
  WorkerCommand typed = typed_;
  if (!first_ || first_->host != status_.options.host) typed.cublaslt.clear();
  auto files = std::make_shared<SharedFiles>(machine.ssh, status_.facts->cache);
  place_ = PlacedWorker{.command = with_words_of(std::move(machine.worker), typed),
                        .connection = std::move(machine.ssh),
                        .files = std::move(files)};
  starting_ = true;
  status_.steps.start().state = State::Doing;
  status_.steps.start().words = "Starting the worker";
}

bool MachineController::follow(const LinkStatus& link, bool greeted) {
  if (!starting_ || place_) return false;
  if (!greeted && link.state != LinkState::Lost) return false;
  starting_ = false;
  status_.connecting = false;
  MachineSteps::Step& start = status_.steps.start();
  if (greeted) {
    start.state = State::Done;
    start.words = "The worker answers";
  } else {
    fail(start, "the worker did not start: " + link.reason);
  }
  return true;
}

bool MachineController::take_reports() {
  if (attempt_ == nullptr) return false;
  const std::lock_guard lock(attempt_->mutex);
  bool changed = false;
  for (const StepReport& report : std::exchange(attempt_->reports, {})) {
    MachineSteps::Step& step = status_.steps.of(report.step);
    step.state = report.state;
    step.words = report.words;
    step.fraction = report.fraction;
    changed = true;
  }
  if (std::exchange(attempt_->asks_anew, false)) {
    status_.question = attempt_->question;
    ++status_.questions;
    changed = true;
  }
  return changed;
}

bool MachineController::tick() {
  bool changed = false;
  if (auto found = hosts_task_.take()) {
    configured_ = std::move(*found);
    changed = true;
  }
  changed = take_reports() || changed;
  if (auto connected = connect_task_.take()) {
    take(std::move(*connected));
    changed = true;
  }
  return changed;
}

}  // namespace app
