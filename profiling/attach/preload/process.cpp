#include "profiling/attach/preload/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "profiling/attach/preload/compared_replays.h"
#include "profiling/attach/preload/conditional_nodes.h"
#include "profiling/attach/preload/eager_launches.h"
#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/exec_node_hooks.h"
#include "profiling/attach/preload/graph_markers.h"
#include "profiling/attach/preload/real_symbols.h"
#include "profiling/attach/preload/spool_file.h"
#include "profiling/attach/preload/tensor_blocks.h"
#include "profiling/attach/preload/tensor_maps.h"
#include "profiling/attach/preload/waiting_kernels.h"
#include "profiling/attach/spool/environment.h"

namespace attach {
namespace {

constexpr std::size_t kMostCommand = 8192;

constinit std::atomic<bool> g_started{false};
constinit std::atomic<unsigned long long> g_loads{
    0};  // of libraries, as the dynamic linker counts them

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

std::size_t read_file(const char* path, char* into, std::size_t most) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::size_t count = 0;
  while (count < most) {
    const ssize_t got = read(file, into + count, most - count);
    if (got <= 0) break;
    count += static_cast<std::size_t>(got);
  }
  close(file);
  return count;
}

/// One of the first words of the command line is `only`, or a path that ends in it: "train.py"
/// names "python3 -u /home/me/train.py".
bool has_word(const char* command, std::size_t bytes, const char* only) {
  for (std::size_t at = 0; at < bytes; at += std::strlen(command + at) + 1) {
    if (std::strcmp(base_name(command + at), only) == 0) return true;
  }
  return false;
}

bool is_asked_for(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::strcmp(value, "1") == 0;
}

bool is_wanted(const char* command, std::size_t bytes) {
  const char* only = std::getenv(spool::kOnlyVariable);
  if (only != nullptr && *only != '\0' && !has_word(command, bytes, only)) return false;
  const char* wanted_rank = std::getenv(spool::kRankVariable);
  const char* rank = std::getenv("RANK");
  return wanted_rank == nullptr || *wanted_rank == '\0' ||
         (rank != nullptr && std::strcmp(rank, wanted_rank) == 0);
}

void note_process(const char* command, std::size_t bytes) {
  char program[4096] = {};
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  const auto program_bytes = length > 0 ? static_cast<std::uint32_t>(length) : 0;
  const char* rank = std::getenv("RANK");
  Frame<spool::Process> frame(program_bytes + bytes);
  if (!frame) return;
  frame->program_bytes = program_bytes;
  frame->command_bytes = static_cast<std::uint32_t>(bytes);
  frame->rank = rank == nullptr ? -1 : std::atoi(rank);
  frame.append(program, program_bytes);
  frame.append(command, bytes);
}

/// "580.159.04" from the first line of the driver's own file: its first word of digits and dots,
/// which "x86_64" is not.
std::uint32_t driver_release(char* into, std::size_t most) {
  char text[512] = {};
  read_file("/proc/driver/nvidia/version", text, sizeof text - 1);
  for (const char* at = text; *at != '\0' && *at != '\n';) {
    const std::size_t blanks = std::strspn(at, " \t:");
    const std::size_t word = std::strcspn(at + blanks, " \t:\n");
    const std::size_t number = std::strspn(at + blanks, "0123456789.");
    if (number == word && word > 0 && word <= most) {
      std::memcpy(into, at + blanks, word);
      return static_cast<std::uint32_t>(word);
    }
    if (blanks + word == 0) return 0;
    at += blanks + word;
  }
  return 0;
}

void note_driver() {
  char release[64] = {};
  const std::uint32_t release_bytes = driver_release(release, sizeof release);
  Frame<spool::Driver> frame(release_bytes);
  if (!frame) return;
  decltype(&cuDriverGetVersion) version = nullptr;
  decltype(&cuDeviceGetCount) count = nullptr;
  if (find_call(version, "cuDriverGetVersion")) version(&frame->cuda_version);
  if (find_call(count, "cuDeviceGetCount")) count(&frame->devices);
  frame->release_bytes = release_bytes;
  frame.append(release, release_bytes);
}

/// What a library says about its own version; empty for those that say nothing.
struct VersionQuery {
  const char* library;  // beginning of its file name
  const char* function;
  bool by_pointer;  // int f(int*) instead of size_t f()
};
constexpr VersionQuery kVersionQueries[] = {
    {"libcublasLt.so", "cublasLtGetVersion", false},
    {"libcudnn.so", "cudnnGetVersion", false},
    {"libnccl.so", "ncclGetVersion", true},
};

std::uint32_t version_of(const char* path, char* into, std::size_t most) {
  for (const VersionQuery& query : kVersionQueries) {
    if (std::strncmp(base_name(path), query.library, std::strlen(query.library)) != 0) continue;
    void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return 0;
    void* function = real_dlsym(library, query.function);
    std::size_t number = 0;
    if (function != nullptr && query.by_pointer) {
      int value = 0;
      if (reinterpret_cast<int (*)(int*)>(function)(&value) == 0)
        number = static_cast<std::size_t>(value);
    } else if (function != nullptr) {
      number = reinterpret_cast<std::size_t (*)()>(function)();
    }
    dlclose(library);
    if (number == 0) return 0;
    // 90100 is 9.1.0; before cuDNN 9 and NCCL 2.9, 8907 was 8.9.7.
    const std::size_t major_unit = number < 10000 ? 1000 : 10000;
    const int length = std::snprintf(into, most, "%zu.%zu.%zu", number / major_unit,
                                     number % major_unit / 100, number % 100);
    return length > 0 && static_cast<std::size_t>(length) < most
               ? static_cast<std::uint32_t>(length)
               : 0;
  }
  return 0;
}

// A set of the paths that have frames, by hash: a path that is taken for another one costs its
// frame only.
constinit std::atomic<std::uint64_t> g_noted[4096]{};

bool note_once(const char* path) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char* at = path; *at != '\0'; ++at)
    hash = (hash ^ static_cast<unsigned char>(*at)) * 1099511628211U;
  hash |= 1;
  for (std::size_t probe = 0; probe < std::size(g_noted); ++probe) {
    std::atomic<std::uint64_t>& slot = g_noted[(hash + probe) % std::size(g_noted)];
    std::uint64_t empty = 0;
    if (slot.compare_exchange_strong(empty, hash)) return true;
    if (empty == hash) return false;
  }
  return false;
}

// Paths are collected first: a version function must not be called under the dynamic linker's lock.
struct NewLibraries {
  char paths[16384];
  std::size_t bytes = 0;
  unsigned long long loads = 0;
};

int collect(dl_phdr_info* library, std::size_t, void* data) {
  auto& found = *static_cast<NewLibraries*>(data);
  if (found.loads == 0) {
    found.loads = library->dlpi_adds;
    if (g_loads.load() == found.loads) return 1;
  }
  const std::size_t length = std::strlen(library->dlpi_name) + 1;
  if (length == 1 || std::strstr(base_name(library->dlpi_name), ".so") == nullptr) return 0;
  if (found.bytes + length > sizeof found.paths) return 1;
  if (!note_once(library->dlpi_name)) return 0;
  std::memcpy(found.paths + found.bytes, library->dlpi_name, length);
  found.bytes += length;
  return 0;
}

void child_after_fork() {
  forget_spool();
  drop_eager_launches_of_parent();
  drop_blocks_of_parent();
  drop_comparisons_of_parent();
  drop_markers_of_parent();
  forget_node_calls_of_parent();
  unlock_conditionals_of_parent();
  unlock_waiting_kernels_of_parent();
  unlock_tensor_maps_of_parent();
  // CUDA does not work in a forked child unless that child initializes it itself; then it gets a
  // spool of its own.
  for (std::atomic<std::uint64_t>& path : g_noted) path.store(0, std::memory_order_relaxed);
  g_loads.store(0);
  g_started.store(false);
}

}  // namespace

void note_device() {
  static constinit std::atomic<std::uint32_t> noted_in{0};  // process: a forked child has its own
  const spool::FileHeader* header = spool_header();
  if (header == nullptr || noted_in.exchange(header->process) == header->process) return;
  decltype(&cuCtxGetDevice) current = nullptr;
  decltype(&cuDeviceGetName) name_of = nullptr;
  decltype(&cuDeviceGetAttribute) attribute = nullptr;
  decltype(&cuDeviceGetPCIBusId) bus_of = nullptr;
  CUdevice device = 0;
  if (!find_call(current, "cuCtxGetDevice") || current(&device) != CUDA_SUCCESS) return;
  char name[256] = {};
  char bus[64] = {};
  if (find_call(name_of, "cuDeviceGetName")) name_of(name, sizeof name - 1, device);
  if (find_call(bus_of, "cuDeviceGetPCIBusId")) bus_of(bus, sizeof bus - 1, device);
  const std::uint32_t name_bytes = text_bytes(name);
  const std::uint32_t pci_bytes = text_bytes(bus);
  Frame<spool::Device> frame(name_bytes + pci_bytes);
  if (!frame) return;
  if (find_call(attribute, "cuDeviceGetAttribute")) {
    attribute(&frame->capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    attribute(&frame->capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  }
  frame->name_bytes = name_bytes;
  frame->pci_bytes = pci_bytes;
  frame.append(name, name_bytes);
  frame.append(bus, pci_bytes);
}

void note_libraries() {
  if (spool_header() == nullptr) return;
  for (;;) {
    NewLibraries found;
    dl_iterate_phdr(collect, &found);
    for (std::size_t at = 0; at < found.bytes; at += std::strlen(found.paths + at) + 1) {
      const char* path = found.paths + at;
      char version[64];
      const std::uint32_t version_bytes = version_of(path, version, sizeof version);
      const std::uint32_t path_bytes = text_bytes(path);
      Frame<spool::Library> frame(path_bytes + version_bytes);
      if (!frame) return;
      frame->path_bytes = path_bytes;
      frame->version_bytes = version_bytes;
      frame.append(path, path_bytes);
      frame.append(version, version_bytes);
    }
    g_loads.store(found.loads);
    if (found.bytes == 0) return;
  }
}

void start_recording() {
  const char* folder = std::getenv(spool::kFolderVariable);
  if (folder == nullptr || *folder == '\0' || g_started.exchange(true)) return;
  char command[kMostCommand + 1] = {};
  const std::size_t bytes = read_file("/proc/self/cmdline", command, kMostCommand);
  if (!is_wanted(command, bytes)) return;
  const char* limit = std::getenv(spool::kLimitVariable);
  const std::uint64_t most = limit == nullptr ? 0 : std::strtoull(limit, nullptr, 10);
  if (!open_spool(folder, most == 0 ? spool::kDefaultLimit : most)) return;
  if (is_asked_for(spool::kCompareVariable)) compare_replays();
  if (is_asked_for(spool::kMarkersVariable)) mark_graphs();
  static constinit std::atomic<bool> prepared{false};
  if (!prepared.exchange(true)) pthread_atfork(nullptr, nullptr, child_after_fork);
  note_process(command, bytes);
  note_driver();
  note_libraries();
}

}  // namespace attach
