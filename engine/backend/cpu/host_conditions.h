// What happens between two timed iterations on the CPU: nothing, idle time, or a write that evicts
// the step's data from the caches.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/model/measurement.h"

namespace engine {

class HostConditions {
 public:
  /// CacheMode::Cold writes twice the last cache's size, or kUnknownCacheBytes if it is unknown.
  explicit HostConditions(const MeasureOptions& options);
  void before() const;

  static constexpr std::size_t kUnknownCacheBytes = std::size_t{64} << 20;

 private:
  bool rest_;
  mutable std::vector<std::byte> flush_;
};

}  // namespace engine
