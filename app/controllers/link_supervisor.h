// Maintains the window's worker: starts it, replaces it when it is lost, and remembers its orders.
// Never waits: an abandoned link is destroyed on a separate thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/controllers/order_files.h"
#include "app/protocol/worker_command.h"
#include "app/protocol/worker_link.h"
#include "app/remote/ssh_connection.h"
#include "engine/gemm/support.h"
#include "engine/model/guarded_thread.h"

namespace app {

/// Where workers of the window are started: whoever starts one uses both.
struct PlacedWorker {
  WorkerCommand command;
  /// To the machine of the command, as long as a worker runs there; null = none is shared.
  std::shared_ptr<const SshConnection> connection = nullptr;
  /// Sends input files there; null = the worker reads those of its own machine.
  std::shared_ptr<SharedFiles> files = nullptr;
};

class LinkSupervisor {
 public:
  LinkSupervisor(WorkerCommand worker, std::function<void()> wake);

  /// The worker is abandoned, and the next ones are started there.
  void move_to(PlacedWorker place);
  const PlacedWorker& place() const { return place_; }
  /// The machine that ssh reaches it by; empty = this machine.
  std::string host() const { return place_.command.remote.value_or(""); }
  /// Why the shared connection is gone; empty = it is there, or there is none.
  std::string connection_lost() const {
    return place_.connection == nullptr ? std::string() : place_.connection->lost();
  }
  /// Starts a worker that replaces the current one; `cublaslt` empty = the worker's own choice.
  void start(const std::string& cublaslt);
  /// Events since the last call. Starts a new worker when one is lost and `automatic` is on.
  std::vector<LinkEvent> poll();

  bool started() const { return link_ != nullptr; }
  LinkStatus status() const;
  const std::optional<WorkerHello>& hello() const { return hello_; }
  const std::string& cublaslt() const { return cublaslt_; }

  /// 0 if there is no worker. Ids rise over all workers: a result of an earlier one has a lower id.
  /// An order in progress is superseded.
  std::uint64_t submit(Task task);
  void cancel();
  void inspect_file(const FileQuestion& question);
  /// For this worker and its successors (WorkerLink::allow_libraries).
  void allow_libraries(const std::vector<std::string>& paths);
  /// For this worker and its successors; costs nothing when nothing changes.
  void watch_device(bool on);
  /// The order that a result of this id answers; null when unknown, or of another kind.
  template <class Request>
  const Request* order_of(std::uint64_t id) const {
    const auto found = orders_.find(id);
    return found == orders_.end() ? nullptr : std::get_if<Request>(&found->second);
  }
  /// Number of the newest run; comparisons do not count.
  std::uint64_t newest_id() const { return newest_run_id_; }
  /// Number of the newest order of any kind.
  std::uint64_t newest_order() const { return newest_id_; }
  /// The worker has finished or refused `id`.
  void answered(std::uint64_t id);
  bool waiting() const { return newest_id_ != answered_id_; }
  /// The pending order is of this kind.
  template <class Request>
  bool waiting_for() const {
    return waiting() && order_of<Request>(newest_id_) != nullptr;
  }

  const BackendOffer* offer(engine::GemmBackend kind) const;
  engine::DeviceCapability capability(engine::GemmBackend kind) const;

  bool automatic = false;

 private:
  /// `needed`: what the worker uses until it has ended.
  void abandon_link(std::shared_ptr<const SshConnection> needed);
  void restart_if_lost();
  /// Sends on what has waited for its files, and adds what that answers to `events`.
  void take_placed(std::vector<LinkEvent>& events);
  void refuse(std::uint64_t id, engine::Error error);

  PlacedWorker place_;
  std::string cublaslt_;   // replaces the command's
  std::string no_worker_;  // why none could be started
  std::function<void()> wake_;
  std::vector<std::string> allowed_libraries_;
  bool watching_ = false;
  std::unique_ptr<WorkerLink> link_;
  OrderFiles placing_;
  std::vector<LinkEvent> own_events_;  // answers to orders that never reached the worker
  std::optional<WorkerHello> hello_;
  std::map<std::uint64_t, Task> orders_;
  std::uint64_t last_order_ = 0;  // of all workers
  std::uint64_t newest_id_ = 0;   // of any order to this worker
  std::uint64_t newest_run_id_ = 0;
  std::uint64_t answered_id_ = 0;
  std::vector<std::chrono::steady_clock::time_point> automatic_starts_;
  std::optional<std::chrono::steady_clock::time_point> lost_at_;
  engine::GuardedThread teardown_;
};

}  // namespace app
