// NCCL's communicators: which capture uses one, and when it ends. A wrapper only notes; outside of
// captures a collective costs it the look-up of a call site.
//
// A process may have several NCCLs, and a communicator must reach the one that made it. So there
// are two wrappers for each function: one for callers that got it from dlsym, of the one library
// that was asked first; and an exported one for callers that are linked with NCCL, which asks for
// every call site what the caller would have called.
#include <dlfcn.h>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <tuple>
#include <type_traits>

#include "profiling/attach/preload/captures.h"
#include "profiling/attach/preload/communicator_names.h"
#include "profiling/attach/preload/communicators.h"
#include "profiling/attach/preload/real_symbols.h"
#include "profiling/attach/preload/spool_file.h"
#include "profiling/attach/preload/waits.h"

namespace attach {
namespace {

using spool::CommunicatorEnd;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t state = (a ^ (b * 0xD6E8FEB86659FD93)) * 0x9E3779B97F4A7C15;
  return (state ^ state >> 32) | 1;
}

// ---- What is noted -----------------------------------------------------------------------------

void made(ncclResult_t result, const ncclComm_t* comm, int ranks, int rank) {
  if ((result != ncclSuccess && result != ncclInProgress) || comm == nullptr || *comm == nullptr)
    return;
  Frame<spool::Communicator> frame;
  if (!frame) return;
  frame->communicator = reinterpret_cast<std::uint64_t>(*comm);
  frame->ranks = ranks;
  frame->rank = rank;
}

/// What was noted last: several collectives of one communicator in one capture give one frame.
constinit std::atomic<std::uint64_t> g_noted[256]{};

void used(ncclResult_t result, ncclComm_t comm, CUstream stream) {
  if (result != ncclSuccess && result != ncclInProgress) return;
  const spool::FileHeader* header = spool_header();
  if (!any_capture() || header == nullptr) return;
  // In a group the kernel comes later; NCCL itself decides by the stream's state at this call.
  const CaptureInfo capture = capture_of(stream, false);
  if (capture.graph == nullptr) return;
  const std::uint64_t key = mixed(reinterpret_cast<std::uint64_t>(comm),
                                  mixed(capture.id, header->process));  // a fork counts again
  if (g_noted[(key >> 8) % std::size(g_noted)].exchange(key, std::memory_order_relaxed) == key)
    return;
  Frame<spool::CommunicatorCaptured> frame;
  if (!frame) return;
  frame->communicator = reinterpret_cast<std::uint64_t>(comm);
  frame->graph = reinterpret_cast<std::uint64_t>(capture.graph);
}

void ending(ncclComm_t comm, CommunicatorEnd by) {
  if (comm == nullptr) return;
  Frame<spool::CommunicatorEnded> frame;
  if (!frame) return;
  frame->communicator = reinterpret_cast<std::uint64_t>(comm);
  frame->by = by;
}

// By the arguments of the call that has returned.
void note(ncclResult_t result, ncclComm_t* comm, int ranks, ncclUniqueId, int rank) {
  made(result, comm, ranks, rank);
}
void note(ncclResult_t result, ncclComm_t* comm, int ranks, ncclUniqueId, int rank, ncclConfig_t*) {
  made(result, comm, ranks, rank);
}
void note(ncclResult_t result, ncclComm_t* comm, int ranks, int rank, int, ncclUniqueId*,
          ncclConfig_t*) {
  made(result, comm, ranks, rank);
}
void note(ncclResult_t result, ncclComm_t* list, int count, const int*) {
  for (int rank = 0; list != nullptr && rank < count; ++rank)
    made(result, list + rank, count, rank);
}
void note(ncclResult_t result, ncclComm_t, int, int, ncclComm_t* comm, ncclConfig_t*) {
  made(result, comm, 0, 0);
}
/// A collective: its communicator and its stream come last.
template <class... Arguments>
  requires std::is_same_v<std::tuple_element_t<sizeof...(Arguments) - 1, std::tuple<Arguments...>>,
                          CUstream>
void note(ncclResult_t result, Arguments... arguments) {
  const std::tuple<Arguments...> all(arguments...);
  used(result, std::get<sizeof...(Arguments) - 2>(all), std::get<sizeof...(Arguments) - 1>(all));
}

template <auto Named, class... Arguments>
ncclResult_t pass_on(void* function, Arguments... arguments) {
  // Without this library the call of a function that nobody has would have ended the program.
  if (function == nullptr) return ncclSystemError;
  const auto real = reinterpret_cast<decltype(Named)>(function);
  if constexpr (std::is_same_v<decltype(Named), ncclResult_t (*)(ncclComm_t)>) {
    ending(arguments..., Named == &ncclCommDestroy ? CommunicatorEnd::Destroy
                         : Named == &ncclCommAbort ? CommunicatorEnd::Abort
                                                   : CommunicatorEnd::Finalize);
    const WaitScope wait(spool::WaitCall::CommunicatorEnd);
    return real(arguments...);
  } else {
    const ncclResult_t result = real(arguments...);
    note(result, arguments...);
    return result;
  }
}

// ---- Callers that are linked with NCCL ---------------------------------------------------------

/// What `library` and those that it needs have under this name; null = nothing but the wrapper.
void* function_in(const char* library, const char* symbol, const void* wrapper) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = real_dlsym(handle, symbol);
  dlclose(handle);  // it stays loaded: it was before
  return found == wrapper ? nullptr : found;
}

void* resolve(const void* wrapper, const char* symbol, const void* caller) {
  // The caller's own library comes first: extensions of Python are loaded with what they need out
  // of sight of the others, and some have NCCL inside.
  Dl_info where{};
  if (dladdr(caller, &where) != 0 && where.dli_fname != nullptr) {
    if (void* found = function_in(where.dli_fname, symbol, wrapper)) return found;
  }
  void* next = real_dlsym(RTLD_NEXT, symbol);
  if (next != nullptr && next != wrapper) return next;
  if (void* found = function_in("libnccl.so.2", symbol, wrapper)) return found;
  // A function that ends with this call jumps to it: then the caller's caller was asked.
  return defined_anywhere(symbol, wrapper);
}

struct CallSite {
  std::atomic<std::uint64_t> key;  // 0 = unused
  std::atomic<void*> function;
};
constinit CallSite g_sites[1024]{};
constexpr std::size_t kProbes = 16;

/// What the call that returns to `caller` would have reached.
void* linked(const void* wrapper, const char* symbol, const void* caller) {
  // Of both: a call through a pointer reaches several functions from one place.
  const std::uint64_t key =
      mixed(reinterpret_cast<std::uint64_t>(wrapper), reinterpret_cast<std::uint64_t>(caller));
  const auto site = [&](std::size_t probe) -> CallSite& {
    return g_sites[((key >> 8) + probe) % std::size(g_sites)];
  };
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    const std::uint64_t at = site(probe).key.load(std::memory_order_relaxed);
    if (at == 0) break;
    void* known = at == key ? site(probe).function.load(std::memory_order_acquire) : nullptr;
    if (known != nullptr) return known;
  }
  void* found = resolve(wrapper, symbol, caller);
  for (std::size_t probe = 0; found != nullptr && probe < kProbes; ++probe) {
    std::uint64_t unused = 0;
    if (!site(probe).key.compare_exchange_strong(unused, key) && unused != key) continue;
    site(probe).function.store(found, std::memory_order_release);
    break;
  }
  return found;
}

// ---- Callers that look functions up ------------------------------------------------------------

template <auto Named, class Signature = decltype(Named)>
struct ByName;
template <auto Named, class... Arguments>
struct ByName<Named, ncclResult_t (*)(Arguments...)> {
  static inline constinit std::atomic<void*> real{nullptr};
  static ncclResult_t call(Arguments... arguments) {
    return pass_on<Named>(real.load(std::memory_order_acquire), arguments...);
  }
};

struct NamedCall {
  const char* symbol;
  void* exported;
  void* by_name;
  std::atomic<void*>* real;
};
#define ENTRY(symbol)                                                                          \
  {#symbol, reinterpret_cast<void*>(&symbol), reinterpret_cast<void*>(&ByName<&symbol>::call), \
   &ByName<&symbol>::real}
const NamedCall kCalls[] = {
    ENTRY(ncclCommInitRank),
    ENTRY(ncclCommInitRankConfig),
    ENTRY(ncclCommInitRankScalable),
    ENTRY(ncclCommInitAll),
    ENTRY(ncclCommSplit),
    ENTRY(ncclCommFinalize),
    ENTRY(ncclCommDestroy),
    ENTRY(ncclCommAbort),
    ENTRY(ncclAllReduce),
    ENTRY(ncclBroadcast),
    ENTRY(ncclBcast),
    ENTRY(ncclReduce),
    ENTRY(ncclAllGather),
    ENTRY(ncclReduceScatter),
    ENTRY(ncclAlltoAll),
    ENTRY(ncclGather),
    ENTRY(ncclScatter),
    ENTRY(ncclSend),
    ENTRY(ncclRecv),
};
#undef ENTRY

/// A program may have functions of its own with these names: they are left alone.
bool is_nccls(void* address) {
  Dl_info where{};
  if (dladdr(address, &where) == 0 || where.dli_fname == nullptr) return false;
  const char* slash = std::strrchr(where.dli_fname, '/');
  return std::strncmp(slash == nullptr ? where.dli_fname : slash + 1, "libnccl.so", 10) == 0;
}

}  // namespace

void* communicator_call(void* handle, const char* symbol) {
  for (const NamedCall& one : kCalls) {
    if (std::strcmp(one.symbol, symbol) != 0) continue;
    void* found = real_dlsym(handle, symbol);
    if (found == nullptr || found == one.exported || !is_nccls(found)) return nullptr;
    void* first = nullptr;
    // A second NCCL in the process stays unwrapped.
    if (!one.real->compare_exchange_strong(first, found) && first != found) return nullptr;
    return one.by_name;
  }
  return nullptr;
}

}  // namespace attach

using attach::linked;
using attach::pass_on;

// The call sites are the caller's: nothing of this library may come between.
#define LINKED(symbol) \
  linked(reinterpret_cast<const void*>(&symbol), #symbol, __builtin_return_address(0))

extern "C" {

ncclResult_t ncclCommInitRank(ncclComm_t* made, int ranks, ncclUniqueId id, int rank) {
  return pass_on<&ncclCommInitRank>(LINKED(ncclCommInitRank), made, ranks, id, rank);
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return pass_on<&ncclCommInitRankConfig>(LINKED(ncclCommInitRankConfig), made, ranks, id, rank,
                                          config);
}
ncclResult_t ncclCommInitRankScalable(ncclComm_t* made, int ranks, int rank, int ids,
                                      ncclUniqueId* id, ncclConfig_t* config) {
  return pass_on<&ncclCommInitRankScalable>(LINKED(ncclCommInitRankScalable), made, ranks, rank,
                                            ids, id, config);
}
ncclResult_t ncclCommInitAll(ncclComm_t* made, int devices, const int* list) {
  return pass_on<&ncclCommInitAll>(LINKED(ncclCommInitAll), made, devices, list);
}
ncclResult_t ncclCommSplit(ncclComm_t from, int color, int key, ncclComm_t* made,
                           ncclConfig_t* config) {
  return pass_on<&ncclCommSplit>(LINKED(ncclCommSplit), from, color, key, made, config);
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return pass_on<&ncclCommFinalize>(LINKED(ncclCommFinalize), comm);
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return pass_on<&ncclCommDestroy>(LINKED(ncclCommDestroy), comm);
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return pass_on<&ncclCommAbort>(LINKED(ncclCommAbort), comm);
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, CUstream stream) {
  return pass_on<&ncclAllReduce>(LINKED(ncclAllReduce), from, to, count, type, operation, comm,
                                 stream);
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, CUstream stream) {
  return pass_on<&ncclBroadcast>(LINKED(ncclBroadcast), from, to, count, type, root, comm, stream);
}
ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       CUstream stream) {
  return pass_on<&ncclBcast>(LINKED(ncclBcast), buffer, count, type, root, comm, stream);
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, int root, ncclComm_t comm, CUstream stream) {
  return pass_on<&ncclReduce>(LINKED(ncclReduce), from, to, count, type, operation, root, comm,
                              stream);
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, CUstream stream) {
  return pass_on<&ncclAllGather>(LINKED(ncclAllGather), from, to, count, type, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, CUstream stream) {
  return pass_on<&ncclReduceScatter>(LINKED(ncclReduceScatter), from, to, count, type, operation,
                                     comm, stream);
}
ncclResult_t ncclAlltoAll(const void* from, void* to, size_t count, ncclDataType_t type,
                          ncclComm_t comm, CUstream stream) {
  return pass_on<&ncclAlltoAll>(LINKED(ncclAlltoAll), from, to, count, type, comm, stream);
}
ncclResult_t ncclGather(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, CUstream stream) {
  return pass_on<&ncclGather>(LINKED(ncclGather), from, to, count, type, root, comm, stream);
}
ncclResult_t ncclScatter(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, CUstream stream) {
  return pass_on<&ncclScatter>(LINKED(ncclScatter), from, to, count, type, root, comm, stream);
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, CUstream stream) {
  return pass_on<&ncclSend>(LINKED(ncclSend), from, count, type, peer, comm, stream);
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      CUstream stream) {
  return pass_on<&ncclRecv>(LINKED(ncclRecv), to, count, type, peer, comm, stream);
}

}  // extern "C"
#undef LINKED
