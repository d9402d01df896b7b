#include "app/doctor/isolation.h"

#include <algorithm>
#include <tuple>

#include "profiling/hazards/snapshot/accesses.h"

namespace app {
namespace {

using profiling::MovedMemory;
using Set = std::vector<MovedMemory>;

bool before(const MovedMemory& left, const MovedMemory& right) {
  return std::tie(left.node, left.owner) < std::tie(right.node, right.owner);
}

Set normalised(Set set) {
  std::ranges::sort(set, before);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

/// Part `index` of `parts` of the set, all about the same size.
Set part_of(const Set& set, std::size_t index, std::size_t parts) {
  const auto at = [&](std::size_t i) {
    return set.begin() + static_cast<std::ptrdiff_t>(i * set.size() / parts);
  };
  return {at(index), at(index + 1)};
}

/// Zeller's ddmin. The result cures, and no longer does if any one element is left out. `second` is
/// false if the search was stopped.
std::pair<Set, bool> minimised(Set set, const CuresReplays& cures) {
  std::size_t parts = 2;
  while (set.size() > 1) {
    std::optional<Set> reduced;
    bool to_part = false;
    for (int complement = 0; complement < 2 && !reduced; ++complement) {
      if (complement == 1 && parts == 2) break;  // of two parts, each is the other's complement
      for (std::size_t i = 0; i < parts && !reduced; ++i) {
        const Set part = part_of(set, i, parts);
        const Set tried = complement == 0 ? part : without(set, part);
        const std::optional<bool> cured = cures(tried);
        if (!cured) return {set, false};
        if (*cured) {
          reduced = tried;
          to_part = complement == 0;
        }
      }
    }
    if (reduced) {
      set = *std::move(reduced);
      parts = to_part ? 2 : std::max<std::size_t>(parts - 1, 2);
      parts = std::min(parts, set.size());
    } else if (parts < set.size()) {
      parts = std::min(parts * 2, set.size());
    } else {
      break;
    }
  }
  return {set, true};
}

/// Subsets with fewer elements than `limit`; counting ends at `enough`.
std::size_t smaller_subsets(std::size_t elements, std::size_t limit, std::size_t enough) {
  std::size_t count = 0;
  std::size_t choose = 1;
  for (std::size_t size = 1; size < limit; ++size) {
    choose = choose * (elements - size + 1) / size;
    count += choose;
    if (count > enough) return count;
  }
  return count;
}

/// Every subset with `size` elements, until one cures.
std::optional<Set> cure_of_size(const Set& candidates, std::size_t size, const CuresReplays& cures,
                                bool& stopped) {
  std::vector<bool> chosen(candidates.size(), false);
  std::fill_n(chosen.begin(), size, true);
  do {
    Set tried;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (chosen[i]) tried.push_back(candidates[i]);
    }
    const std::optional<bool> cured = cures(tried);
    stopped = !cured;
    if (stopped) return std::nullopt;
    if (*cured) return tried;
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return std::nullopt;
}

}  // namespace

bool concerns_memory(const profiling::Finding& finding) {
  return !finding.proof.cures.moved.empty();
}

Set candidates_of(const profiling::Finding& finding) {
  Set all = finding.proof.cures.moved;
  std::vector<std::string> owners;
  for (const MovedMemory& moved : all) owners.push_back(moved.owner);
  for (const profiling::Access& access : finding.accesses) {
    // A memset that prepares a product's workspace moves with the product, not by itself.
    const bool named = std::ranges::find(finding.nodes, access.node) != finding.nodes.end();
    if (named && std::ranges::find(owners, access.owner) != owners.end()) {
      all.push_back({access.node, access.owner});
    }
  }
  return normalised(std::move(all));
}

Set workspace_references(const profiling::Snapshot& snapshot) {
  Set all;
  for (std::size_t graph = 0; graph < snapshot.graphs.size(); ++graph) {
    const profiling::GraphSnapshot& captured = snapshot.graphs[graph];
    if (captured.variant_of >= 0) continue;
    for (std::size_t node = 0; node < captured.nodes.size(); ++node) {
      const auto* kernel = std::get_if<profiling::KernelNode>(&captured.nodes[node].parameters);
      if (kernel == nullptr) continue;
      for (const engine::Allocation& memory : snapshot.ledger) {
        const auto holds = [&](const profiling::ParameterSlot&, std::uint64_t, std::uint64_t word) {
          return memory.holds(word);
        };
        if (memory.role == engine::AllocationRole::Workspace &&
            profiling::any_argument_word(*kernel, holds)) {
          all.push_back({{static_cast<int>(graph), static_cast<int>(node)}, memory.owner});
        }
      }
    }
  }
  return normalised(std::move(all));
}

Set united(const Set& left, const Set& right) {
  Set all = left;
  all.insert(all.end(), right.begin(), right.end());
  return normalised(std::move(all));
}

Set without(const Set& all, const Set& taken) {
  Set rest;
  for (const MovedMemory& moved : all) {
    if (std::ranges::find(taken, moved) == taken.end()) rest.push_back(moved);
  }
  return rest;
}

Isolation isolate(const Set& cure, const Set& candidates, std::size_t small_trials,
                  const CuresReplays& cures) {
  auto [set, finished] = minimised(normalised(cure), cures);
  if (!finished) return {.set = set, .smallest = false};
  const Set all = united(candidates, cure);
  // No element of it can be left out, and yet another set may be smaller: of A-B-C where A and C
  // collide with B, {A, C} is such a set and {B} is the smallest.
  if (smaller_subsets(all.size(), set.size(), small_trials) > small_trials) {
    return {.set = set, .smallest = false};
  }
  for (std::size_t size = 1; size < set.size(); ++size) {
    bool stopped = false;
    const std::optional<Set> smaller = cure_of_size(all, size, cures, stopped);
    if (stopped) return {.set = set, .smallest = false};
    if (smaller) return {.set = *smaller, .smallest = true};
  }
  return {.set = set, .smallest = true};
}

}  // namespace app
