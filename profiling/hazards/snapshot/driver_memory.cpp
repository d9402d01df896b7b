#include "profiling/hazards/snapshot/driver_memory.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "profiling/hazards/snapshot/foreign_memory.h"

namespace profiling {
namespace {

std::optional<ForeignRange> range_of(const engine::DriverApi& driver, std::uint64_t word) {
  CUdeviceptr begin = 0;
  std::size_t bytes = 0;
  unsigned space = 0;
  const auto ask = [&](void* answer, CUpointer_attribute what) {
    return driver.pointer_get_attribute(answer, what, word) == CUDA_SUCCESS;
  };
  const bool known = ask(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) &&
                     ask(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE) && begin != 0 && bytes > 0 &&
                     word >= begin && word - begin < bytes;
  if (!known) return std::nullopt;
  unsigned managed = 0;
  const bool is_managed = ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED) && managed != 0;
  const bool on_host = ask(&space, CU_POINTER_ATTRIBUTE_MEMORY_TYPE) && space == CU_MEMORYTYPE_HOST;
  return ForeignRange{.address = begin,
                      .bytes = bytes,
                      .space = is_managed ? engine::MemorySpace::Managed
                               : on_host  ? engine::MemorySpace::PinnedHost
                                          : engine::MemorySpace::Device};
}

}  // namespace

void add_driver_memory(const engine::DriverApi& driver, Snapshot& snapshot) {
  constexpr engine::AllocationRole kRole = engine::AllocationRole::DriverKnown;
  add_foreign_memory(snapshot, graph_allocations(snapshot), kRole);
  std::vector<ForeignRange> found;
  for (const std::uint64_t word : unlisted_words(snapshot)) {
    // Words are ascending, so only the range of the last answer may also contain this one.
    if (!found.empty() && word - found.back().address < found.back().bytes) continue;
    if (const std::optional<ForeignRange> range = range_of(driver, word)) found.push_back(*range);
  }
  add_foreign_memory(snapshot, found, kRole);
}

}  // namespace profiling
