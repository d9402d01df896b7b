// PyTorch's library with the memory profiler, as far as its allocator calls it.
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace c10 {

struct Device {
  std::int8_t type;
  std::int8_t index;
};

void reportMemoryUsageToProfiler(void* block, std::int64_t bytes, std::size_t allocated,
                                 std::size_t reserved, Device device);

namespace {
std::atomic<std::int64_t> g_sum{0};
}

void reportMemoryUsageToProfiler(void*, std::int64_t bytes, std::size_t, std::size_t,
                                 Device device) {
  g_sum += bytes * (10 * device.type + device.index);
}

}  // namespace c10

extern "C" std::int64_t sum_of_reports();
extern "C" std::int64_t sum_of_reports() { return c10::g_sum; }
