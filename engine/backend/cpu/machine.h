// The CPU backend's machine: spans, facts, free memory, measured peak rates, and what happens
// between two timed iterations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/model/clock.h"
#include "engine/model/measurement.h"
#include "engine/model/run_result.h"
#include "engine/model/shape.h"
#include "engine/observe/step_observer.h"

namespace engine {

/// A span of host work from construction to destruction, attributed to its tag.
class HostSpan {
 public:
  HostSpan(RunContext& context, const WorkTag& tag, const char* name);
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;
  ~HostSpan();

 private:
  RunContext& context_;
  WorkTag tag_;
  const char* name_;
  std::int64_t start_ns_;
};

DeviceFacts cpu_facts();

/// Memory that can be taken without swapping, inside the container's limit if there is one; 0 =
/// unknown.
std::int64_t available_memory_bytes();

// Memory at the rate of all cores, which one alone does not reach.

/// Calls part(first, count) for each thread's share of `bytes`, all at once; which thread has which
/// share does not change.
void in_shares(std::int64_t bytes, const std::function<void(std::int64_t, std::int64_t)>& part);
void copy_in_parallel(std::byte* to, const std::byte* from, std::int64_t bytes);

// What happens between two timed iterations on the CPU: nothing, idle time, or a write that evicts
// the step's data from the caches.

class HostConditions {
 public:
  /// CacheMode::Cold writes twice the last cache's size, taken as kUnknownCacheBytes if it is
  /// unknown.
  explicit HostConditions(const MeasureOptions& options);
  void before() const;

  static constexpr std::size_t kUnknownCacheBytes = std::size_t{64} << 20;

 private:
  bool rest_;
  mutable std::vector<std::byte> flush_;
};

// Measured peak rates of this machine's memory and cores: the roofs of a roofline.

/// A copy far larger than the caches by all threads, and a dense FP32 product, cut to at most
/// kCeilingSide per dimension: this takes milliseconds, enough for OpenBLAS to reach its rate.
inline constexpr std::int64_t kCeilingSide = 1024;
Ceilings measure_cpu_ceilings(const GroupedShape& shape);

}  // namespace engine
