// NCCL's functions as programs reach them: linked, through dlsym, or inside an extension that is
// linked with NCCL and loaded out of sight of the others, as Python loads PyTorch.
#pragma once

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "profiling/attach/preload/communicator_names.h"
#include "tests/attach/driver_calls.h"

struct CommunicatorCalls {
  decltype(&::ncclCommInitRank) init_rank = nullptr;
  decltype(&::ncclCommSplit) split = nullptr;
  decltype(&::ncclCommFinalize) finalize = nullptr;
  decltype(&::ncclCommDestroy) destroy = nullptr;
  decltype(&::ncclCommAbort) abort = nullptr;
  decltype(&::ncclAllReduce) all_reduce = nullptr;
  decltype(&::ncclSend) send = nullptr;
};

inline void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) fail(std::string(what) + " gave " + std::to_string(result));
}

/// Through dlsym, from this library.
inline CommunicatorCalls found_calls(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  const auto find = [&](auto& function, const char* name) {
    void* found = dlsym(library, name);
    if (found == nullptr) fail(std::string(name) + " is missing");
    std::memcpy(&function, &found, sizeof found);
  };
  CommunicatorCalls calls;
  find(calls.init_rank, "ncclCommInitRank");
  find(calls.split, "ncclCommSplit");
  find(calls.finalize, "ncclCommFinalize");
  find(calls.destroy, "ncclCommDestroy");
  find(calls.abort, "ncclCommAbort");
  find(calls.all_reduce, "ncclAllReduce");
  find(calls.send, "ncclSend");
  return calls;
}

/// Through an extension's own calls.
inline CommunicatorCalls extension_calls(const char* file = "libattached_extension.so") {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  using Calls = const CommunicatorCalls* (*)();
  Calls calls = nullptr;
  void* found = dlsym(library, "calls_of_extension");
  if (found == nullptr) fail("calls_of_extension is missing");
  std::memcpy(&calls, &found, sizeof found);
  return *calls();
}

inline CommunicatorCalls communicator_calls() {
#ifdef LINKED
  return {ncclCommInitRank, ncclCommSplit, ncclCommFinalize, ncclCommDestroy,
          ncclCommAbort,    ncclAllReduce, ncclSend};
#else
  return found_calls("libnccl.so.2");
#endif
}
