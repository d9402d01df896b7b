// dlopen and the function table of NVML. Never closed: other code of the process may hold it too.
#include "profiling/power/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <type_traits>
#include <utility>

namespace profiling {

engine::Error NvmlLibrary::error(NvmlReturn result, const char* doing) const {
  const char* text = error_string(result);
  return {.code = engine::ErrorCode::Device,
          .message = fmt::format("{} failed: {}", doing, text == nullptr ? "unknown error" : text)};
}

engine::Result<NvmlLibrary> load_nvml(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_LOCAL | RTLD_NOW);
  if (library == nullptr) {
    const char* text = dlerror();
    return engine::Error{engine::ErrorCode::NotFound,
                         fmt::format("NVML could not be loaded ({})",
                                     text == nullptr ? "unknown loader error" : text)};
  }
  NvmlLibrary nvml;
  const char* missing = nullptr;
  const auto look_up = [library](const char* name, auto& function) {
    using Function = std::remove_reference_t<decltype(function)>;
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  };
  const auto require = [&](const char* name, auto& function) {
    if (!look_up(name, function) && missing == nullptr) missing = name;
  };
  require("nvmlInit_v2", nvml.init);
  require("nvmlShutdown", nvml.shutdown);
  require("nvmlErrorString", nvml.error_string);
  require("nvmlSystemGetDriverVersion", nvml.driver_version);
  require("nvmlDeviceGetHandleByPciBusId_v2", nvml.device_by_pci_bus_id);
  require("nvmlDeviceGetClockInfo", nvml.clock);
  require("nvmlDeviceGetPowerUsage", nvml.power_usage);
  require("nvmlDeviceGetTemperature", nvml.temperature);
  // Renamed in driver 535; the older name is still exported by later ones.
  if (!look_up("nvmlDeviceGetCurrentClocksEventReasons", nvml.clock_reasons)) {
    require("nvmlDeviceGetCurrentClocksThrottleReasons", nvml.clock_reasons);
  }
  static_cast<void>(look_up("nvmlDeviceGetFieldValues", nvml.field_values));
  static_cast<void>(look_up("nvmlDeviceGetUtilizationRates", nvml.utilisation));
  static_cast<void>(look_up("nvmlDeviceGetEnforcedPowerLimit", nvml.power_limit));
  static_cast<void>(look_up("nvmlDeviceGetComputeRunningProcesses_v3", nvml.compute_processes));
  static_cast<void>(look_up("nvmlEventSetCreate", nvml.event_set_create));
  static_cast<void>(look_up("nvmlDeviceRegisterEvents", nvml.register_events));
  static_cast<void>(look_up("nvmlEventSetWait_v2", nvml.event_set_wait));
  static_cast<void>(look_up("nvmlEventSetFree", nvml.event_set_free));
  if (missing != nullptr) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         fmt::format("NVML of this driver has no {}", missing)};
  }
  return nvml;
}

engine::Status OpenNvml::open(const std::string& pci_bus_id, const std::string& library) {
  if (pci_bus_id.empty()) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         "clock and power are read from NVIDIA devices only"};
  }
  ENGINE_ASSIGN(call, load_nvml(library));
  if (const NvmlReturn failed = call.init(); failed != 0) {
    return call.error(failed, "Starting NVML");
  }
  started_ = true;
  std::array<char, 80> version{};
  if (call.driver_version(version.data(), version.size()) == 0) driver = version.data();
  const NvmlReturn found = call.device_by_pci_bus_id(pci_bus_id.c_str(), &device);
  if (found != 0) return call.error(found, "Finding the device in NVML");
  return {};
}

OpenNvml::~OpenNvml() {
  if (started_) static_cast<void>(call.shutdown());
}

namespace {

constexpr std::chrono::seconds kLastAnswer{1};  // grace period for a thread to end

}  // namespace

NvmlThread::NvmlThread(std::shared_ptr<Shared> shared, std::function<void()> body)
    : shared_(std::move(shared)) {
  const auto end = [shared = shared_] {
    const std::lock_guard lock(shared->mutex);
    shared->ended = true;
    shared->changed.notify_all();
  };
  thread_ = engine::GuardedThread(
      [body = std::move(body), end] {
        body();
        end();
      },
      [end](const engine::Error&) { end(); });  // no more answers from NVML: callers see its age
}

NvmlThread::~NvmlThread() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  const bool ended =
      shared_->changed.wait_for(lock, kLastAnswer, [this] { return shared_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.leave_behind();
  }
}

}  // namespace profiling
