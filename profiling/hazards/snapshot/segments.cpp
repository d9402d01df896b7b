#include "profiling/hazards/snapshot/segments.h"

#include <algorithm>

namespace profiling {
namespace {

using engine::Allocation;

/// The memory had other owners earlier and later, and neighbours: no more of them are looked at.
constexpr std::ptrdiff_t kMostCandidates = 256;

bool cut_from(const Allocation& piece, const Allocation& segment) {
  return segment.holds(piece.address) && segment.allocated_at <= piece.allocated_at &&
         (segment.live() || segment.freed_at >= piece.allocated_at);
}

}  // namespace

Segments::Segments(const std::vector<Allocation>& ledger) : ledger_(ledger) {
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    if (ledger[i].role != engine::AllocationRole::Cached) by_address_.push_back(i);
  }
  std::ranges::stable_sort(by_address_, {}, [&](std::size_t i) { return ledger[i].address; });
}

int Segments::around(const Allocation& piece) const {
  const auto after = std::ranges::upper_bound(by_address_, piece.address, {},
                                              [&](std::size_t i) { return ledger_[i].address; });
  const std::ptrdiff_t count = std::min(after - by_address_.begin(), kMostCandidates);
  for (std::ptrdiff_t back = 1; back <= count; ++back) {
    const std::size_t i = *(after - back);
    if (cut_from(piece, ledger_[i])) return static_cast<int>(i);
  }
  return -1;
}

int Segments::behind(int allocation) const {
  if (allocation < 0) return allocation;
  const Allocation& piece = ledger_[static_cast<std::size_t>(allocation)];
  const bool depends =
      piece.role == engine::AllocationRole::Cached && (piece.live() || is_pool_block(piece));
  if (!depends) return allocation;
  const int segment = around(piece);
  return segment < 0 || ledger_[static_cast<std::size_t>(segment)].live() ? allocation : segment;
}

}  // namespace profiling
