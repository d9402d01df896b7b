// The backends this worker offers, and who observes their runs. Built on the engine thread: a CUDA
// context belongs where the CUDA calls are made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/protocol/worker_link.h"
#include "app/worker/run_power.h"
#include "engine/backend/backend.h"
#include "profiling/trace/host_spans.h"

namespace app {

enum class BackendChoice { Auto, Cpu, Cuda };

struct BackendOptions {
  BackendChoice choice = BackendChoice::Auto;
  std::string cublaslt_path;  // empty = the search order
  bool tracing = true;        // false: CUPTI is not even loaded
};

class Backends {
 public:
  explicit Backends(const BackendOptions& options);

  /// The slot of this kind; if it is unavailable, any that is available. Null if none is.
  engine::BackendSlot* slot_for(engine::GemmBackend kind);
  const std::string& why_not(engine::GemmBackend kind) const;
  profiling::ActivityCollector& collector_for(engine::GemmBackend kind);
  /// Who reads clock and power beside runs of this kind.
  RunPower& power_for(engine::GemmBackend kind);
  /// Of the CUDA device, as CUDA names it; empty = there is none, and no_device() says why.
  std::string device_bus_id() const;
  std::string no_device() const;
  /// Why runs of this kind leave no activity; empty if they do.
  std::string no_activity_reason(engine::GemmBackend kind) const;

  /// What this worker was started for.
  BackendChoice choice() const { return choice_; }
  /// As asked for at the start; empty = the search order.
  const std::string& cublaslt_path() const { return cublaslt_path_; }
  /// Whether an order may name this cuBLASLt library: none, one that the handshake tells, or one
  /// that the order's person `allowed`. The error names the library.
  engine::Status check_library(const std::string& path,
                               const std::vector<std::string>& allowed) const;

  /// All that the handshake tells of this worker.
  WorkerHello hello() const;

 private:
  BackendChoice choice_;
  std::string cublaslt_path_;
  std::vector<std::string> libraries_;  // as the handshake tells them
  std::vector<engine::BackendSlot> slots_;
  std::unique_ptr<profiling::ActivityCollector> host_spans_;
  std::unique_ptr<profiling::ActivityCollector> device_records_;  // null = reason below
  std::string no_device_records_;
  RunPower no_power_{std::string()};
  std::unique_ptr<RunPower> device_power_;  // made with the first run: NVML takes a while to start
};

}  // namespace app
