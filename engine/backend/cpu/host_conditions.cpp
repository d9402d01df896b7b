#include "engine/backend/cpu/host_conditions.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace engine {
namespace {

constexpr std::size_t kCacheLine = 64;

std::size_t last_cache_bytes() {
  const long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : HostConditions::kUnknownCacheBytes;
}

}  // namespace

HostConditions::HostConditions(const MeasureOptions& options)
    : rest_(options.pace == Pace::Burst),
      flush_(options.cache == CacheMode::Cold ? 2 * last_cache_bytes() : 0) {}

void HostConditions::before() const {
  if (rest_) std::this_thread::sleep_for(std::chrono::milliseconds(kBurstIdleMs));
  for (std::size_t at = 0; at < flush_.size(); at += kCacheLine) {
    flush_[at] = static_cast<std::byte>(std::to_integer<int>(flush_[at]) + 1);
  }
}

}  // namespace engine
