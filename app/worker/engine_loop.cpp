#include "app/worker/engine_loop.h"

#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "app/worker/handlers.h"
#include "engine/input/regular_file.h"
#include "engine/model/guarded_thread.h"

namespace app {
namespace {

// The library named by the order. A new kind of order that has no `request` must say here which of
// its fields names a library.
const std::string& library_named_by(const engine::RunRequest& request) {
  return request.cublaslt_library;
}
const std::string& library_named_by(const engine::BenchOrder&) {
  static const std::string kNone;  // the library the worker was started with
  return kNone;
}
template <class Kind>
const std::string& library_named_by(const Kind& order) {
  return library_named_by(order.request);
}

}  // namespace

void EngineLoop::run(const BackendOptions& options, IdleReadings& readings,
                     const std::function<void(const WorkerHello&)>& ready) {
  Backends backends(options);
  readings.set_device(backends.device_bus_id(), backends.no_device());
  ready(backends.hello());
  while (const std::optional<Order> order = orders_.wait_next()) {
    perform(backends, *order);
    orders_.finished();
  }
}

void EngineLoop::perform(Backends& backends, const Order& order) {
  const OrderContext context{.id = order.id,
                             .backends = backends,
                             .sender = sender_,
                             .progress = progress_,
                             .board = board_,
                             .dropped_records = dropped_records_,
                             .guard = guard_};
  const auto carry_out_if_allowed = [&](const auto& task) -> engine::Result<Answer> {
    ENGINE_TRY(backends.check_library(library_named_by(task), order.allowed_libraries));
    return carry_out(context, task);
  };
  engine::Status status;
  // Third-party code below may throw; an order that fails must not take the worker with it.
  try {
    const engine::Result<Answer> answer = std::visit(carry_out_if_allowed, order.task);
    status = engine::check_missing_pages();  // first: it may be why there is no answer
    if (status.ok() && !answer.ok()) status = answer.error();
    if (status.ok()) status = sender_.answer(order.id, answer.value());
  } catch (const std::bad_alloc&) {
    status =
        engine::Error{engine::ErrorCode::OutOfMemory,
                      "the host does not have enough memory for this request; use fewer tokens, "
                      "experts or layers"};
  } catch (...) {
    status = engine::caught_error();
  }
  if (status.ok() || sender_.broken()) return;  // broken: the reader ends the worker
  static_cast<void>(sender_.answer(order.id, RunError{.error = status.error()}).ok());
}

}  // namespace app
