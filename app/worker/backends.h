// The backends this worker offers, and what observes their runs. Constructed on the engine thread:
// a CUDA context belongs to the thread that makes the CUDA calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/protocol/worker_link.h"
#include "engine/backend/backend.h"
#include "profiling/power/power_sampler.h"
#include "profiling/power/power_summary.h"
#include "profiling/trace/host_spans.h"

namespace app {

enum class BackendChoice { Auto, Cpu, Cuda };

struct BackendOptions {
  BackendChoice choice = BackendChoice::Auto;
  std::string cublaslt_path;  // empty = the search order
  bool tracing = true;        // false: CUPTI is not even loaded
};

/// Clock and power during a run, on the run's own time axis.
class RunPower {
 public:
  /// As NVML names the device; empty = not an NVIDIA device, so no readings.
  explicit RunPower(const std::string& pci_bus_id);

  /// begin() and end() bracket a run.
  void begin();
  /// `origin_ns` is the steady clock when the first timed iteration began; 0 = none did.
  profiling::PowerTrace end(std::int64_t origin_ns);

 private:
  profiling::PowerSampler sampler_;
};

/// "expertscope-worker 0.1.0, CPU and CUDA".
std::string worker_version();

class Backends {
 public:
  explicit Backends(const BackendOptions& options);

  /// The slot of this kind; if it is unavailable, any that is available. Null if none is.
  engine::BackendSlot* slot_for(engine::GemmBackend kind);
  const std::string& unavailable_reason(engine::GemmBackend kind) const;
  profiling::ActivityCollector& collector_for(engine::GemmBackend kind);
  /// The sampler of clock and power for runs of this kind.
  RunPower& power_for(engine::GemmBackend kind);
  /// PCI bus id of the CUDA device, as CUDA formats it; empty = there is none, and no_device() says
  /// why.
  std::string device_bus_id() const;
  std::string no_device() const;
  /// Why runs of this kind leave no activity; empty if they do.
  std::string no_activity_reason(engine::GemmBackend kind) const;

  /// How this worker was started.
  BackendChoice choice() const { return choice_; }
  /// As requested at the start; empty = the search order.
  const std::string& cublaslt_path() const { return cublaslt_path_; }
  /// Whether an order may name this cuBLASLt library: none, one listed in the handshake, or one in
  /// the order's `allowed` list. The error names the library.
  engine::Status check_library(const std::string& path,
                               const std::vector<std::string>& allowed) const;

  /// The contents of the handshake.
  WorkerHello hello() const;

 private:
  BackendChoice choice_;
  std::string cublaslt_path_;
  std::vector<std::string> libraries_;  // as listed in the handshake
  std::vector<engine::BackendSlot> slots_;
  std::unique_ptr<profiling::ActivityCollector> host_spans_;
  std::unique_ptr<profiling::ActivityCollector> device_records_;  // null = reason below
  std::string no_device_records_;
  RunPower no_power_{std::string()};
  std::unique_ptr<RunPower> device_power_;  // created by the first run: NVML takes a while to start
};

}  // namespace app
