#include "profiling/attach/preload/spool_file.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace attach {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;

struct SpoolFile {
  spool::FileHeader* header = nullptr;
  int file = -1;
  std::uint64_t limit = 0;
  std::atomic<std::uint64_t> allocated{0};  // bytes that the file system has promised
  std::atomic<bool> full{false};
  std::atomic_flag growing = ATOMIC_FLAG_INIT;
};

constinit SpoolFile g_spool;
constinit std::atomic<spool::FileHeader*> g_header{nullptr};

// initial-exec: no call into the dynamic linker, which may be what is being wrapped.
[[gnu::tls_model("initial-exec")]] constinit thread_local std::uint32_t t_thread = 0;

std::uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

/// Makes sure that the file system has room up to `end`. A page of a sparse file on a full disk
/// would end the program with SIGBUS, so no page is touched that was not promised.
bool grow_to(std::uint64_t end) {
  while (g_spool.allocated.load(std::memory_order_acquire) < end) {
    if (g_spool.full.load(std::memory_order_relaxed)) return false;
    if (g_spool.growing.test_and_set(std::memory_order_acquire)) {
      sched_yield();
      continue;
    }
    const std::uint64_t from = g_spool.allocated.load(std::memory_order_relaxed);
    bool grown = from >= end;
    if (!grown && end <= g_spool.limit) {
      std::uint64_t to = (end + kChunk - 1) / kChunk * kChunk;
      if (to > g_spool.limit) to = g_spool.limit;
      const int error =
          posix_fallocate(g_spool.file, static_cast<off_t>(from), static_cast<off_t>(to - from));
      grown = error == 0;
      if (grown) g_spool.allocated.store(to, std::memory_order_release);
    }
    if (!grown) g_spool.full.store(true, std::memory_order_relaxed);
    g_spool.growing.clear(std::memory_order_release);
  }
  return true;
}

}  // namespace

std::uint64_t now() { return clock_ns(CLOCK_MONOTONIC); }

std::uint32_t text_bytes(const char* text) {
  return text == nullptr ? 0 : static_cast<std::uint32_t>(strnlen(text, spool::kMaxText));
}

spool::FileHeader* spool_header() { return g_header.load(std::memory_order_acquire); }

std::uint64_t position() {
  const spool::FileHeader* header = spool_header();
  return header == nullptr ? 0 : header->end.load(std::memory_order_acquire);
}

bool open_spool(const char* folder, std::uint64_t limit) {
  const std::uint64_t started = clock_ns(CLOCK_REALTIME);
  char path[4096];
  const int length =
      std::snprintf(path, sizeof path, "%s/%d-%llu.spool", folder, static_cast<int>(getpid()),
                    static_cast<unsigned long long>(started));
  if (length <= 0 || length >= static_cast<int>(sizeof path) ||
      limit < sizeof(spool::FileHeader) + kChunk)
    return false;
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  const std::uint64_t first = sizeof(spool::FileHeader) + kChunk;
  void* mapped = MAP_FAILED;
  if (posix_fallocate(file, 0, static_cast<off_t>(first)) == 0) {
    mapped = mmap(nullptr, limit, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (mapped == MAP_FAILED) {
    unlink(path);
    close(file);
    return false;
  }
  // The file is new, so everything that is not set here is zero.
  auto* header = static_cast<spool::FileHeader*>(mapped);
  header->version = spool::kVersion;
  header->header_bytes = sizeof(spool::FileHeader);
  header->process = static_cast<std::uint32_t>(getpid());
  header->parent = static_cast<std::uint32_t>(getppid());
  header->started = started;
  header->limit = limit;
  header->end.store(sizeof(spool::FileHeader));
  std::atomic_thread_fence(std::memory_order_release);
  header->magic = spool::kFileMagic;
  g_spool.header = header;
  g_spool.file = file;
  g_spool.limit = limit;
  g_spool.allocated.store(first);
  g_spool.full.store(false);
  g_header.store(header, std::memory_order_release);
  return true;
}

void forget_spool() {
  // The mapping stays: it costs nothing, and another thread's frame may have been under way when
  // the process forked.
  if (g_spool.file >= 0) close(g_spool.file);
  g_spool.file = -1;
  g_spool.growing.clear();
  t_thread = 0;
  g_header.store(nullptr, std::memory_order_release);
}

std::uint32_t this_thread() {
  if (t_thread != 0) return t_thread;
  t_thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  const std::uint32_t bytes = text_bytes(name);
  Frame<spool::Thread> frame(bytes);
  if (frame) {
    frame->name_bytes = bytes;
    frame.append(name, bytes);
  }
  return t_thread;
}

spool::FrameHeader* reserve(spool::Kind kind, std::size_t bytes) {
  spool::FileHeader* header = spool_header();
  if (header == nullptr) return nullptr;
  const std::uint64_t whole = (sizeof(spool::FrameHeader) + bytes + 7) / 8 * 8;
  if (whole > spool::kMaxFrame || g_spool.full.load(std::memory_order_relaxed)) {
    header->lost_frames.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  const std::uint32_t thread = this_thread();
  const std::uint64_t at = header->end.fetch_add(whole, std::memory_order_acq_rel);
  if (!grow_to(at + whole)) {
    header->lost_frames.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  auto* frame = reinterpret_cast<spool::FrameHeader*>(reinterpret_cast<std::byte*>(header) + at);
  frame->bytes = static_cast<std::uint32_t>(whole);
  frame->kind = kind;
  frame->thread = thread;
  frame->time = now();
  std::atomic_ref(frame->magic).store(spool::kFrameMagic, std::memory_order_release);
  return frame;
}

void commit(spool::FrameHeader* frame) {
  const auto* payload = reinterpret_cast<const std::byte*>(frame + 1);
  frame->check.store(spool::check_of(frame->kind, payload, frame->bytes - sizeof *frame),
                     std::memory_order_release);
}

namespace {

// Other destructors may still call the driver, so the file stays open: its unused end is zeros.
[[gnu::destructor]] void close_spool() {
  spool::FileHeader* header = spool_header();
  if (header == nullptr) return;
  header->ended.store(1, std::memory_order_release);
}

}  // namespace
}  // namespace attach
