// A caching allocator that reports its blocks to PyTorch's memory profiler, in another library.
#include <cstdint>

#include "tests/attach/c10_calls.h"

extern "C" {

std::int64_t profiled_sum();
void report_block(std::uint64_t address, std::int64_t bytes, int type);

/// `bytes` < 0 = taken back.
void report_block(std::uint64_t address, std::int64_t bytes, int type) {
  c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(address), bytes, 1, 2,
                                   {static_cast<std::int8_t>(type), 2});
}
std::int64_t profiled_sum() { return sum_of_reports(); }
}
