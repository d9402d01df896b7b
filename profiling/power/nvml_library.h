// NVML's functions, loaded at run time: the worker also starts where no driver is installed. The
// few declarations are repeated here because their ABI is fixed by the names (_v2) and the header
// is not part of every toolkit.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "engine/model/error.h"
#include "engine/model/guarded_thread.h"

namespace profiling {

struct NvmlDeviceObject;
using NvmlDevice = NvmlDeviceObject*;
using NvmlReturn = int;  // 0 = success

inline constexpr int kNvmlClockSm = 1;
inline constexpr int kNvmlClockMemory = 2;
inline constexpr int kNvmlTemperatureGpu = 0;
inline constexpr unsigned kNvmlFieldPowerInstant = 186;

/// One value of nvmlDeviceGetFieldValues, in NVML's layout.
struct NvmlFieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp = 0;
  long long latency_us = 0;
  int value_type = 0;  // 1 = unsigned int
  NvmlReturn status = 0;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long long as_unsigned_long_long = 0;
  };
};
static_assert(sizeof(NvmlFieldValue) == 40);

inline constexpr unsigned long long kNvmlEventXid = 8;

struct NvmlUtilisation {
  unsigned gpu = 0;  // percent of the last sample period in which a kernel ran
  unsigned memory = 0;
};

/// As nvmlDeviceGetComputeRunningProcesses_v3 fills it.
struct NvmlProcess {
  unsigned pid = 0;
  unsigned long long used_memory = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
static_assert(sizeof(NvmlProcess) == 24);

struct NvmlEventSetObject;
using NvmlEventSet = NvmlEventSetObject*;
/// As nvmlEventSetWait_v2 fills it; `data` of an Xid event is its number.
struct NvmlEvent {
  NvmlDevice device = nullptr;
  unsigned long long type = 0;
  unsigned long long data = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
static_assert(sizeof(NvmlEvent) == 32);

struct NvmlLibrary {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  const char* (*error_string)(NvmlReturn) = nullptr;
  NvmlReturn (*driver_version)(char*, unsigned) = nullptr;
  NvmlReturn (*device_by_pci_bus_id)(const char*, NvmlDevice*) = nullptr;
  NvmlReturn (*clock)(NvmlDevice, int, unsigned*) = nullptr;        // MHz
  NvmlReturn (*power_usage)(NvmlDevice, unsigned*) = nullptr;       // mW, mean over a second
  NvmlReturn (*temperature)(NvmlDevice, int, unsigned*) = nullptr;  // degrees Celsius
  NvmlReturn (*clock_reasons)(NvmlDevice, unsigned long long*) = nullptr;
  /// Null if the driver lacks it; source of instantaneous power.
  NvmlReturn (*field_values)(NvmlDevice, int, NvmlFieldValue*) = nullptr;

  /// For a device that may be stuck; null if the driver lacks them.
  NvmlReturn (*utilisation)(NvmlDevice, NvmlUtilisation*) = nullptr;
  NvmlReturn (*power_limit)(NvmlDevice, unsigned*) = nullptr;  // mW
  NvmlReturn (*compute_processes)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;
  NvmlReturn (*event_set_create)(NvmlEventSet*) = nullptr;
  NvmlReturn (*register_events)(NvmlDevice, unsigned long long, NvmlEventSet) = nullptr;
  NvmlReturn (*event_set_wait)(NvmlEventSet, NvmlEvent*, unsigned) = nullptr;  // milliseconds
  NvmlReturn (*event_set_free)(NvmlEventSet) = nullptr;

  /// "<doing> failed: <NVML's text>".
  engine::Error error(NvmlReturn result, const char* doing) const;
};

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

/// `path` as for dlopen. NotFound = no such library, Unsupported = it lacks a function.
engine::Result<NvmlLibrary> load_nvml(const std::string& path = kNvmlLibrary);

/// One device of a started NVML.
struct OpenNvml {
  OpenNvml() = default;
  OpenNvml(const OpenNvml&) = delete;
  OpenNvml& operator=(const OpenNvml&) = delete;
  ~OpenNvml();

  /// `pci_bus_id`: "0000:3b:00.0", as CUDA names the device; empty = not an NVIDIA device, which is
  /// an error as well.
  engine::Status open(const std::string& pci_bus_id, const std::string& library);

  NvmlLibrary call;
  NvmlDevice device = nullptr;
  std::string driver;  // its version; empty without NVML

 private:
  bool started_ = false;
};

// A thread that queries NVML. A query to a stuck driver may never return, so the thread is
// abandoned if it does not end soon after a stop request.

class NvmlThread {
 public:
  /// Shared by the thread and its owner; outlives the owner if the thread is abandoned.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stop = false;   // stop requested
    bool ended = false;  // it no longer touches anything
  };

  /// `body` returns soon after `shared->stop`, unless it is blocked in NVML.
  NvmlThread(std::shared_ptr<Shared> shared, std::function<void()> body);
  /// Waits at most one second.
  ~NvmlThread();
  NvmlThread(const NvmlThread&) = delete;
  NvmlThread& operator=(const NvmlThread&) = delete;

 private:
  std::shared_ptr<Shared> shared_;
  engine::GuardedThread thread_;
};

}  // namespace profiling
