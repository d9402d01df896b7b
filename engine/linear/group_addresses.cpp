#include "engine/linear/group_addresses.h"

namespace engine {

std::vector<void*> resolve(const GroupAddresses& addresses, std::span<const std::int64_t> splits) {
  if (!addresses.listed.empty()) return addresses.listed;
  std::vector<void*> pointers;
  pointers.reserve(splits.size());
  std::byte* next = addresses.rule.base;
  for (const std::int64_t rows : splits) {
    pointers.push_back(next);
    next += addresses.rule.bytes_per_group +
            addresses.rule.bytes_per_unit * kernels::ceil_div(rows, addresses.rule.unit);
  }
  return pointers;
}

}  // namespace engine
