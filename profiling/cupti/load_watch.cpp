#include "profiling/cupti/load_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "profiling/cupti/record_buffers.h"
#include "profiling/hazards/model/names.h"

namespace profiling {
namespace {

// API records carry the correlation ids that overheads refer to.
constexpr std::array kLoadKinds = {CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_RUNTIME,
                                   CUPTI_ACTIVITY_KIND_DRIVER};

struct LaunchCall {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
};
constexpr std::array kLaunches = {
    LaunchCall{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel},
    LaunchCall{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz},
    LaunchCall{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx},
    LaunchCall{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz},
    LaunchCall{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel},
    LaunchCall{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000},
    LaunchCall{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000},
    LaunchCall{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060},
    LaunchCall{CUPTI_CB_DOMAIN_RUNTIME_API,
               CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000}};

class CuptiLoadWatch final : public LoadWatch {
 public:
  explicit CuptiLoadWatch(CuptiProcess& cupti) : cupti_(cupti) {}
  ~CuptiLoadWatch() override { leave(); }

  engine::Status begin() {
    const CuptiLibrary& library = cupti_.library;
    if (const CUptiResult done = library.subscribe(&subscriber_, &on_launch, this);
        done != CUPTI_SUCCESS) {
      subscriber_ = nullptr;
      return library.error(done, "Subscribing to CUPTI");
    }
    ENGINE_TRY(cupti_.exchange_buffers());
    (void)cupti_.buffers.drain();
    for (const CUpti_ActivityKind kind : kLoadKinds) {
      if (const CUptiResult done = library.enable(kind); done != CUPTI_SUCCESS) {
        return library.error(done, "Enabling CUPTI records");
      }
    }
    for (const LaunchCall& call : kLaunches) {
      if (const CUptiResult done = library.enable_callback(1, subscriber_, call.domain, call.id);
          done != CUPTI_SUCCESS) {
        return library.error(done, "Watching launches");
      }
    }
    return {};
  }

  engine::Result<std::vector<std::string>> stop() override {
    const CuptiLibrary& library = cupti_.library;
    for (const std::uint32_t flags : {0U, std::uint32_t{CUPTI_ACTIVITY_FLAG_FLUSH_FORCED}}) {
      if (const CUptiResult done = library.flush_all(flags); done != CUPTI_SUCCESS) {
        return library.error(done, "Flushing CUPTI's records");
      }
    }
    leave();
    RawActivity raw = cupti_.buffers.drain();
    std::ranges::stable_sort(raw.events.host, {}, &RawHostEvent::start_ns);
    std::vector<std::string> loads;
    const std::lock_guard lock(mutex_);
    for (const RawHostEvent& event : raw.events.host) {
      const bool kernel = event.kind == HostEventKind::LazyLoading;
      if (!kernel && event.kind != HostEventKind::ModuleLoading) continue;
      const auto launch = launches_.find(event.correlation);
      const std::string of = launch == launches_.end() ? "an unnamed kernel" : launch->second;
      loads.push_back(fmt::format("{}{}, {:.3f} ms", kernel ? "" : "the module of ", of,
                                  1e-6 * static_cast<double>(event.end_ns - event.start_ns)));
    }
    return loads;
  }

 private:
  static void CUPTIAPI on_launch(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId,
                                 const void* raw) {
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API) return;
    const auto& call = *static_cast<const CUpti_CallbackData*>(raw);
    if (call.callbackSite != CUPTI_API_ENTER || call.symbolName == nullptr) return;
    auto& watch = *static_cast<CuptiLoadWatch*>(self);
    const std::lock_guard lock(watch.mutex_);
    watch.launches_[call.correlationId] = readable_kernel_name(call.symbolName);
  }

  void leave() {
    if (subscriber_ == nullptr) return;
    for (const CUpti_ActivityKind kind : kLoadKinds) (void)cupti_.library.disable(kind);
    (void)cupti_.library.unsubscribe(subscriber_);
    subscriber_ = nullptr;
  }

  CuptiProcess& cupti_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::string> launches_;  // correlation id -> kernel
};

}  // namespace

engine::Result<std::unique_ptr<LoadWatch>> LoadWatch::start() {
  ENGINE_ASSIGN(CuptiProcess* const cupti, cupti_process());
  auto watch = std::make_unique<CuptiLoadWatch>(*cupti);
  ENGINE_TRY(watch->begin());
  return std::unique_ptr<LoadWatch>(std::move(watch));
}

}  // namespace profiling
