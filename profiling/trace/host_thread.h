// What a thread of this process does at this moment, from /proc: for a thread that is stuck in a
// call and can say nothing itself.
#pragma once

#include <cstdint>
#include <string>

namespace profiling {

/// "it sleeps in the kernel, in futex_wait_queue", "it runs on a core"; `thread` as gettid() gave
/// it. Says so where /proc does not tell.
std::string host_thread_text(std::int64_t thread);

}  // namespace profiling
