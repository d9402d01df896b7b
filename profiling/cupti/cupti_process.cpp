#include "profiling/cupti/cupti_process.h"

#include <atomic>
#include <mutex>

namespace profiling {
namespace {

std::atomic<CuptiProcess*> process{nullptr};

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *max_records = 0;  // as many as fit
  *buffer = process.load()->buffers.borrow(*size);
}

void CUPTIAPI buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                               std::size_t valid_bytes) {
  process.load()->buffers.give_back(buffer, valid_bytes);
}

}  // namespace

engine::Status CuptiProcess::exchange_buffers() const {
  const CUptiResult registered = library.register_callbacks(&buffer_requested, &buffer_completed);
  if (registered != CUPTI_SUCCESS) return library.error(registered, "Registering CUPTI's buffers");
  return {};
}

engine::Result<CuptiProcess*> cupti_process() {
  static std::mutex making;
  const std::lock_guard lock(making);
  if (process.load() == nullptr) {
    engine::Result<CuptiLibrary> loaded = load_cupti();
    if (!loaded.ok()) return loaded.error();
    process.store(new CuptiProcess{.library = loaded.value()});
  }
  return process.load();
}

}  // namespace profiling
