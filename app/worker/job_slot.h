// What the engine thread does next: one slot, the newest order wins. Putting an order asks the
// running one to stop. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/protocol/doctor_order.h"
#include "app/protocol/worker_link.h"
#include "engine/model/amax_history.h"
#include "engine/model/bench_order.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"
#include "engine/observe/step_observer.h"

namespace app {

struct Job {
  std::uint64_t id = 0;
  std::variant<engine::RunRequest, QuantizeOrder, engine::ComparisonRequest, engine::BenchOrder,
               DoctorOrder, engine::AmaxHistoryRequest>
      order;
  std::vector<std::string> allowed_libraries = {};  // by the sender of the order
};

class JobSlot {
 public:
  explicit JobSlot(engine::RunProgress& progress) : progress_(progress) {}

  /// Returns the id of a waiting order that this one replaces.
  std::optional<std::uint64_t> put(Job job);
  /// Stops the running order and drops a waiting one, whose id is returned.
  std::optional<std::uint64_t> cancel();
  /// Blocks until there is an order, and marks it as running; nullopt after close().
  std::optional<Job> wait_next();
  /// Call when the running order has been answered.
  void finished();
  void close();

 private:
  engine::RunProgress& progress_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Job> waiting_;
  bool closed_ = false;
};

}  // namespace app
