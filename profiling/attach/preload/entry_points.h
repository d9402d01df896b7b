// The driver's entry points that this library wraps, and how a wrapper reaches the real one. Each
// wrapper is exported under the name of the function that it wraps, for programs linked with
// libcuda; the others find it because dlsym and cuGetProcAddress are wrapped too.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "profiling/attach/preload/driver_names.h"

namespace attach {

struct EntryPoint {
  const char* symbol;  // as exported by libcuda, "cuMemAlloc_v2"
  const char* name;    // as asked of cuGetProcAddress, "cuMemAlloc"
  int version;         // of CUDA in which the name began to mean this function
  bool per_thread;     // the variant for programs whose default stream is one per thread
  void* wrapper;
  std::atomic<void*>* real;
};

/// Address of the function that `Wrapper` wraps; null until somebody has looked it up.
template <auto Wrapper>
inline constinit std::atomic<void*> real_address{nullptr};

/// Null if the process has no driver.
void* look_up(std::atomic<void*>& real);

/// Calls the driver's own function. A process without a driver gets what the driver reports before
/// cuInit.
template <auto Wrapper, class... Arguments>
CUresult real(Arguments... arguments) {
  void* address = real_address<Wrapper>.load(std::memory_order_acquire);
  if (address == nullptr) address = look_up(real_address<Wrapper>);
  if (address == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  return reinterpret_cast<decltype(Wrapper)>(address)(arguments...);
}

/// Asks the driver's own cuGetProcAddress; null if it knows no such function.
using Ask = void* (*)(const char* name, int version, std::uint64_t flags);

/// The wrapper to hand out for a function that cuGetProcAddress has found under this name; `found`
/// itself for one that is not wrapped. A name means another function, with other arguments, from
/// some version on, also in versions newer than this library: so the functions are compared, not
/// the versions.
void* wrapped(const char* name, std::uint64_t flags, void* found, Ask ask);

/// The driver's own function, for calls of this library; null if the driver is too old for it.
void* driver_symbol(const char* symbol);
template <class Function>
bool find_call(Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(driver_symbol(symbol));
  return function != nullptr;
}

}  // namespace attach
