// What stands between two timed iterations on the CPU: nothing, a rest, or a write that drives the
// step's data out of the caches.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/model/measurement.h"

namespace engine {

class HostConditions {
 public:
  /// CacheMode::Cold takes twice the last cache's size, kUnknownCacheBytes where it is not told.
  explicit HostConditions(const MeasureOptions& options);
  void before() const;

  static constexpr std::size_t kUnknownCacheBytes = std::size_t{64} << 20;

 private:
  bool rest_;
  mutable std::vector<std::byte> flush_;
};

}  // namespace engine
