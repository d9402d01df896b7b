#include "app/worker/backends.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "app/protocol/paths.h"
#include "app/protocol/worker_command.h"
#include "engine/gemm/library_file.h"
#ifdef EXPERTSCOPE_WITH_CUDA
#include "engine/device/device_facts.h"
#include "engine/model/backend_traits.h"
#include "profiling/cupti/cupti_collector.h"
#endif

namespace app {
namespace {

engine::BackendSlot cpu_slot(const BackendOptions& options) {
  engine::BackendSlot slot{.kind = engine::GemmBackend::CpuReference, .backend = {}, .reason = {}};
  if (options.choice == BackendChoice::Cuda) {
    slot.reason = "this worker was started for CUDA only: leave out --worker-backend cuda";
  } else {
    slot.backend = engine::make_cpu_backend();
  }
  return slot;
}

engine::BackendSlot cuda_slot(const BackendOptions& options) {
  engine::BackendSlot slot{
      .kind = engine::GemmBackend::CublasLtGrouped, .backend = {}, .reason = {}};
  if (options.choice == BackendChoice::Cpu) {
    slot.reason = "this worker was started for the CPU only: leave out --worker-backend cpu";
    return slot;
  }
#ifdef EXPERTSCOPE_WITH_CUDA
  return engine::make_cuda_backend(options.cublaslt_path);
#else
  slot.reason = "this worker was built without CUDA; build it on a machine with a CUDA 13 toolkit";
  return slot;
#endif
}

bool same_device(engine::GemmBackend a, engine::GemmBackend b) {
  return engine::traits_of(a).device == engine::traits_of(b).device;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data())
                                                          : std::string("unknown");
}

}  // namespace

std::string worker_version() {
#ifdef EXPERTSCOPE_WITH_CUDA
  constexpr const char* kKinds = "CPU and CUDA";
#else
  constexpr const char* kKinds = "CPU";
#endif
  return fmt::format("expertscope-worker {}, {}", kProgramVersion, kKinds);
}

RunPower::RunPower(const std::string& pci_bus_id) : sampler_({.pci_bus_id = pci_bus_id}) {
  sampler_.rest(true);
}

void RunPower::begin() {
  (void)sampler_.take();
  sampler_.rest(false);
}

profiling::PowerTrace RunPower::end(std::int64_t origin_ns) {
  profiling::PowerTrace trace{.method = {}, .missing = sampler_.reason(), .samples = {}};
  sampler_.rest(true);
  if (!trace.missing.empty() || origin_ns == 0) return trace;
  trace.method = sampler_.power_method();
  trace.samples = sampler_.take();
  for (profiling::PowerSample& sample : trace.samples) sample.time_ns -= origin_ns;
  return trace;
}

Backends::Backends(const BackendOptions& options)
    : choice_(options.choice),
      cublaslt_path_(options.cublaslt_path),
      libraries_(engine::find_cublaslt_libraries()),
      host_spans_(profiling::make_host_span_collector()) {
  if (!cublaslt_path_.empty() &&
      std::ranges::find(libraries_, cublaslt_path_) == libraries_.end()) {
    libraries_.push_back(cublaslt_path_);
  }
#ifdef EXPERTSCOPE_WITH_CUDA
  // Before the first CUDA call: CUPTI must see the context being created.
  if (!options.tracing) {
    no_device_records_ = "this worker was started without tracing";
  } else if (options.choice != BackendChoice::Cpu) {
    engine::Result<std::unique_ptr<profiling::ActivityCollector>> cupti =
        profiling::make_cupti_collector();
    if (cupti.ok()) {
      device_records_ = std::move(cupti).value();
    } else {
      no_device_records_ = cupti.error().message;
    }
  }
#else
  no_device_records_ = "this worker was built without CUDA";
#endif
  slots_.push_back(cuda_slot(options));
  slots_.push_back(cpu_slot(options));
}

engine::BackendSlot* Backends::slot_for(engine::GemmBackend kind) {
  engine::BackendSlot* available = nullptr;
  for (engine::BackendSlot& slot : slots_) {
    if (slot.backend != nullptr && (same_device(slot.kind, kind) || available == nullptr))
      available = &slot;
  }
  return available;
}

const std::string& Backends::unavailable_reason(engine::GemmBackend kind) const {
  return slots_[same_device(slots_.front().kind, kind) ? 0 : 1].reason;
}

profiling::ActivityCollector& Backends::collector_for(engine::GemmBackend kind) {
  return engine::traits_of(kind).device && device_records_ ? *device_records_ : *host_spans_;
}

RunPower& Backends::power_for(engine::GemmBackend kind) {
#ifdef EXPERTSCOPE_WITH_CUDA
  if (engine::traits_of(kind).device) {
    if (!device_power_) device_power_ = std::make_unique<RunPower>(device_bus_id());
    return *device_power_;
  }
#else
  (void)kind;
#endif
  return no_power_;
}

std::string Backends::device_bus_id() const {
#ifdef EXPERTSCOPE_WITH_CUDA
  if (slots_.front().backend != nullptr) return engine::device_bus_id();
#endif
  return {};
}

std::string Backends::no_device() const {
  return slots_.front().backend != nullptr ? std::string() : slots_.front().reason;
}

std::string Backends::no_activity_reason(engine::GemmBackend kind) const {
  return !engine::traits_of(kind).device || device_records_ ? std::string() : no_device_records_;
}

engine::Status Backends::check_library(const std::string& path,
                                       const std::vector<std::string>& allowed) const {
  if (may_load(hello(), allowed, path)) return {};
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format("the request names the cuBLASLt library {}, which this user has not chosen: "
                  "loading it would run its code. Allow it with --allow-library {}, or remove "
                  "cublaslt_library from the request",
                  path, shell_word(path))};
}

WorkerHello Backends::hello() const {
  WorkerHello hello{.program_version = kProgramVersion,
                    .host = host_name(),
                    .tracing = "host spans of CPU runs",
                    .backends = {},
                    .cublaslt_libraries = libraries_};
  for (const engine::BackendSlot& slot : slots_) {
    const bool available = slot.backend != nullptr;
    hello.backends.push_back(
        {.kind = slot.kind,
         .available = available,
         .reason = slot.reason,
         .device = available ? slot.backend->device() : engine::DeviceFacts()});
    if (available && engine::traits_of(slot.kind).device) {
      hello.tracing += device_records_ ? "; CUPTI activity records of CUDA runs"
                                       : "; no records of CUDA runs: " + no_device_records_;
    }
  }
  return hello;
}

}  // namespace app
