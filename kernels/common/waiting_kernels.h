// Which kernels wait for their predecessor before they touch memory, by symbol: needed to interpret
// a programmatic edge of a captured graph, and not reported by the driver. The list is read from
// the kernels' sources (waiting_kernels.cmake): a kernel is on it by waiting in its first
// statement.
#pragma once

#include <string_view>

#include "kernels/common/waiting_kernel_list.h"

namespace kernels {

/// False for every symbol that is not one of this project's kernels.
constexpr bool waits_for_predecessor(std::string_view symbol) {
  if (symbol.find("7kernels") == symbol.npos) return false;
  for (const std::string_view kernel : kWaitingKernels) {
    if (symbol.find(kernel) != symbol.npos) return true;
  }
  return false;
}

}  // namespace kernels
