// Automatic restarts are limited, so that a worker that dies at its start does not spin the
// machine.
#include "app/controllers/link_supervisor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/sweep/plan.h"

namespace app {
namespace {

constexpr std::size_t kMaxAutomaticStarts = 3;
constexpr std::chrono::seconds kAutomaticWindow{20};
constexpr std::chrono::milliseconds kConnectionEnds{1000};
// Results older than this many orders can no longer arrive: newest wins.
constexpr std::size_t kRememberedOrders = 64;

engine::Error superseded() { return {engine::ErrorCode::Cancelled, "replaced by a newer request"}; }

}  // namespace

LinkSupervisor::LinkSupervisor(WorkerCommand worker, std::function<void()> wake)
    : place_{.command = std::move(worker)}, wake_(std::move(wake)), placing_(wake_) {}

void LinkSupervisor::move_to(PlacedWorker place) {
  std::shared_ptr<const SshConnection> former = std::exchange(place_, std::move(place)).connection;
  abandon_link(std::move(former));
  automatic_starts_.clear();
  cublaslt_.clear();
  no_worker_.clear();
}

void LinkSupervisor::start(const std::string& cublaslt) {
  abandon_link(place_.connection);
  cublaslt_ = cublaslt;
  WorkerCommand worker = place_.command;
  if (!cublaslt.empty()) worker.cublaslt = cublaslt;
  engine::Result<std::vector<std::string>> argv = worker.argv();
  no_worker_ = argv.ok() ? std::string() : argv.error().message;
  if (!argv.ok()) return;
  link_ = WorkerLink::start({.argv = std::move(argv).value(),
                             .wake = wake_,
                             .progress_stall_seconds = 0,
                             .allowed_libraries = allowed_libraries_,
                             .last_order = last_order_,
                             .remote = worker.remote.has_value()});
  if (watching_) link_->watch_device(true);
}

void LinkSupervisor::abandon_link(std::shared_ptr<const SshConnection> needed) {
  hello_.reset();
  placing_.cancel();
  own_events_.clear();
  orders_.clear();
  newest_id_ = 0;
  newest_run_id_ = 0;
  answered_id_ = 0;
  lost_at_.reset();
  if (link_ == nullptr && needed == nullptr) return;
  // The link's destructor joins threads; a worker stuck in the kernel may keep it for a while. So
  // may ssh.
  std::shared_ptr<WorkerLink> old(std::move(link_));
  if (old != nullptr) old->kill();
  auto before = std::make_shared<engine::GuardedThread>(std::move(teardown_));
  teardown_ = engine::GuardedThread(
      [held = std::move(old), needed = std::move(needed), before = std::move(before)]() mutable {
        held.reset();
        needed.reset();
        before->join();
      },
      // If no thread could be started, dropping the work above has destroyed the link on this one.
      [](const engine::Error&) {});
}

std::vector<LinkEvent> LinkSupervisor::poll() {
  if (link_ == nullptr) return {};
  std::vector<LinkEvent> events = link_->poll();
  for (const LinkEvent& event : events) {
    if (const auto* hello = std::get_if<WorkerHello>(&event)) hello_ = *hello;
  }
  if (place_.files != nullptr) take_placed(events);
  // Only after its last events were taken: a new link forgets the orders of the old one.
  if (automatic && events.empty() && link_->status().state == LinkState::Lost) restart_if_lost();
  return events;
}

void LinkSupervisor::restart_if_lost() {
  const auto now = std::chrono::steady_clock::now();
  if (place_.connection != nullptr) {
    // The connection may have taken the worker with it, and ssh ends a moment later. No worker can
    // be started without it, and only a person can answer what a new one would ask.
    if (!lost_at_) lost_at_ = now;
    if (now - *lost_at_ < kConnectionEnds || !connection_lost().empty()) return;
  }
  std::erase_if(automatic_starts_, [&](auto at) { return now - at > kAutomaticWindow; });
  if (automatic_starts_.size() < kMaxAutomaticStarts) {
    automatic_starts_.push_back(now);
    start(cublaslt_);
  } else {
    automatic = false;
  }
}

LinkStatus LinkSupervisor::status() const {
  if (link_ != nullptr) {
    LinkStatus status = link_->status();
    status.sending = placing_.words();
    status.sent_fraction = placing_.fraction();
    return status;
  }
  LinkStatus none;
  none.state = LinkState::Lost;
  none.reason = no_worker_.empty() ? "no worker was started" : no_worker_;
  return none;
}

std::uint64_t LinkSupervisor::submit(Task task) {
  if (link_ == nullptr || link_->status().state == LinkState::Lost) return 0;
  if (place_.files != nullptr && names_input_files(task)) {
    newest_id_ = last_order_ = link_->reserve();
    refuse(placing_.place(newest_id_, task, place_.files), superseded());
  } else {
    refuse(placing_.cancel(), superseded());
    newest_id_ = last_order_ = link_->submit(task);
  }
  if (std::holds_alternative<engine::RunRequest>(task)) newest_run_id_ = newest_id_;
  orders_[newest_id_] = std::move(task);
  while (orders_.size() > kRememberedOrders) orders_.erase(orders_.begin());
  return newest_id_;
}

void LinkSupervisor::refuse(std::uint64_t id, engine::Error error) {
  if (id != 0) own_events_.emplace_back(RunError{.id = id, .error = std::move(error)});
}

void LinkSupervisor::take_placed(std::vector<LinkEvent>& events) {
  if (std::optional<OrderFiles::Placed> placed = placing_.take_order()) {
    if (placed->task.ok()) {
      link_->submit(std::move(placed->task).value(), placed->id);
    } else {
      refuse(placed->id, placed->task.error());
    }
  }
  if (const auto question = placing_.take_question()) {
    if (question->ok()) {
      link_->inspect_file(question->value());
    } else {
      own_events_.emplace_back(FileReport{.path = placing_.asked().path,
                                          .error = question->error().message,
                                          .tensors = {},
                                          .asked = placing_.asked().routing});
    }
  }
  for (LinkEvent& event : events) placing_.name_as_here(event);
  events.insert(events.end(), std::make_move_iterator(own_events_.begin()),
                std::make_move_iterator(own_events_.end()));
  own_events_.clear();
}

void LinkSupervisor::cancel() {
  refuse(placing_.cancel(), {engine::ErrorCode::Cancelled, "cancelled before it was sent"});
  if (link_ != nullptr) link_->cancel();
}

void LinkSupervisor::inspect_file(const FileQuestion& question) {
  if (link_ == nullptr) return;
  // A folder is always one of the worker's machine: nothing is sent there first.
  const bool sends = place_.files != nullptr && !question.folder;
  if (sends) return placing_.place(question, place_.files);
  link_->inspect_file(question);
}

void LinkSupervisor::allow_libraries(const std::vector<std::string>& paths) {
  allowed_libraries_ = paths;
  if (link_ != nullptr) link_->allow_libraries(paths);
}

void LinkSupervisor::watch_device(bool on) {
  if (on == watching_) return;
  watching_ = on;
  if (link_ != nullptr) link_->watch_device(on);
}

void LinkSupervisor::answered(std::uint64_t id) { answered_id_ = std::max(answered_id_, id); }

const BackendOffer* LinkSupervisor::offer(engine::GemmBackend kind) const {
  return hello_ ? offer_of(*hello_, kind) : nullptr;
}

engine::DeviceCapability LinkSupervisor::capability(engine::GemmBackend kind) const {
  const BackendOffer* one = offer(kind);
  return one == nullptr ? engine::DeviceCapability{} : capability_of(*one);
}

}  // namespace app
