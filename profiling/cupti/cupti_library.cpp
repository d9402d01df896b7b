// dlopen and the function table of CUPTI. Never closed: its worker thread may still be running.
// Also the hook through which NVTX finds CUPTI: a symbol of this program that NVTX looks up when
// the environment names no other tool.
#include "profiling/cupti/cupti_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <type_traits>

namespace profiling {
namespace {

// First the copy in the toolkit this was built with, so that headers and library match.
constexpr std::array kCandidates = {EXPERTSCOPE_CUPTI_LIBRARY, "libcupti.so.13", "libcupti.so"};

/// NVTX calls this at a process's first range; 0 = no tool attached. The argument is NVTX's own.
using ListenToRanges = int (*)(void* get_export_table);
std::atomic<ListenToRanges> cupti_listens{nullptr};

int let_cupti_listen(void* get_export_table) {
  const ListenToRanges listen = cupti_listens.load();
  return listen == nullptr ? 0 : listen(get_export_table);
}

}  // namespace

extern "C" {
extern int (*InitializeInjectionNvtx2_fnptr)(void*);  // NOLINT: the name is NVTX's
int (*InitializeInjectionNvtx2_fnptr)(void*) = &let_cupti_listen;
}

engine::Error CuptiLibrary::error(CUptiResult result, const char* doing) const {
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    return {.code = engine::ErrorCode::Unsupported,
            .message =
                "Another profiler (Nsight, cuda-gdb, compute-sanitizer or a framework's own) "
                "already holds CUPTI in this process; end it to get kernel records"};
  }
  const char* text = nullptr;
  if (get_result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "unknown error";
  return {.code = engine::ErrorCode::Device, .message = fmt::format("{} failed: {}", doing, text)};
}

engine::Result<CuptiLibrary> load_cupti() {
  void* library = nullptr;
  for (const char* candidate : kCandidates) {
    library = dlopen(candidate, RTLD_LOCAL | RTLD_NOW);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    const char* text = dlerror();
    return engine::Error{
        engine::ErrorCode::NotFound,
        fmt::format("CUPTI could not be loaded ({}); install the CUDA toolkit's CUPTI package",
                    text == nullptr ? "unknown loader error" : text)};
  }
  CuptiLibrary cupti;
  const char* missing = nullptr;
  const auto look_up = [&](const char* name, auto& function) {
    using Function = std::remove_reference_t<decltype(function)>;
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  look_up("cuptiGetResultString", cupti.get_result_string);
  look_up("cuptiSubscribe", cupti.subscribe);
  look_up("cuptiUnsubscribe", cupti.unsubscribe);
  look_up("cuptiEnableCallback", cupti.enable_callback);
  look_up("cuptiActivityRegisterCallbacks", cupti.register_callbacks);
  look_up("cuptiActivityEnable", cupti.enable);
  look_up("cuptiActivityDisable", cupti.disable);
  look_up("cuptiActivityFlushAll", cupti.flush_all);
  look_up("cuptiActivityGetNextRecord", cupti.get_next_record);
  look_up("cuptiActivityGetNumDroppedRecords", cupti.get_num_dropped_records);
  look_up("cuptiActivityPushExternalCorrelationId", cupti.push_external_id);
  look_up("cuptiActivityPopExternalCorrelationId", cupti.pop_external_id);
  look_up("cuptiGetTimestamp", cupti.get_timestamp);
  look_up("cuptiGetGraphNodeId", cupti.get_graph_node_id);
  look_up("cuptiGetCallbackName", cupti.get_callback_name);
  if (missing != nullptr) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         fmt::format("The CUPTI library has no {}; install CUPTI 13", missing)};
  }
  cupti_listens.store(reinterpret_cast<ListenToRanges>(dlsym(library, "InitializeInjectionNvtx2")));
  return cupti;
}

}  // namespace profiling
