#include "profiling/attach/preload/marker_watch.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>

#include "profiling/attach/preload/spool_file.h"

namespace attach {
namespace {

// A wait is long if none that has returned took longer; shorter ones are a program's life.
constexpr std::uint64_t kShortest = 500'000'000;  // ns
constexpr std::uint64_t kLongest =
    2'000'000'000;                     // hangs are found after 10 s, unless told otherwise
constexpr unsigned kPeriod = 200'000;  // us

constinit std::atomic<bool> g_watches{false};

/// When the longest wait began, if that is long ago; else 0.
std::uint64_t long_wait() {
  const spool::FileHeader* header = spool_header();
  if (header == nullptr) return 0;
  std::uint64_t oldest = 0;
  for (const spool::Wait& wait : header->waits) {
    const std::uint64_t since = wait.since.load(std::memory_order_acquire);
    if (since != 0 && (oldest == 0 || since < oldest)) oldest = since;
  }
  const std::uint64_t usual =
      std::clamp(header->longest_wait.load(std::memory_order_relaxed), kShortest, kLongest);
  return oldest != 0 && oldest + usual < now() ? oldest : 0;
}

void* watch(void*) {
  prctl(PR_SET_NAME, "expertscope");
  for (;;) {
    usleep(kPeriod);
    if (const std::uint64_t since = long_wait()) write_marker_states(since);
  }
}

}  // namespace

bool watch_markers() {
  if (g_watches.exchange(true)) return true;
  // The program's signals are for its own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  const bool started = pthread_create(&thread, &attributes, watch, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) g_watches.store(false);
  return started;
}

void forget_marker_watch() { g_watches.store(false); }

}  // namespace attach
