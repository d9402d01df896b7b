// What a thread of this process is currently doing, from /proc: for a thread that is stuck in a
// call and cannot report itself.
#pragma once

#include <cstdint>
#include <string>

namespace profiling {

/// "it sleeps in the kernel, in futex_wait_queue", "it runs on a core"; `thread` as returned by
/// gettid(). Says so if /proc has no information.
std::string host_thread_text(std::int64_t thread);

}  // namespace profiling
