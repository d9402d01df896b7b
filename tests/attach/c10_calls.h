// What PyTorch's allocator calls in another library of its own, as far as the stub has it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace c10 {

struct Device {
  std::int8_t type;
  std::int8_t index;
};

/// `bytes` < 0 = the block is taken back.
void reportMemoryUsageToProfiler(void* block, std::int64_t bytes, std::size_t allocated,
                                 std::size_t reserved, Device device);

}  // namespace c10

/// Of what the stub was told, so that a caller can check that nothing was lost on the way.
extern "C" std::int64_t sum_of_reports();
