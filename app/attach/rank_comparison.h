// What distinguishes the ranks of one program: a rank that captured other graphs, or is a launch
// behind, is where the others wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/hazards/model/snapshot.h"

namespace app {

/// The graphs of one rank.
struct RankGraphs {
  int rank = 0;
  std::uint64_t instantiated = 0;  // destroyed ones too
  std::vector<profiling::GraphSnapshot> graphs;
};

/// "ranks 0-2 and 7", "rank 3"; of numbers in any order.
std::string rank_words(std::vector<int> ranks);

/// One sentence for each difference, or one that says that there is none; nothing for fewer than
/// two ranks, or where none has a graph. Graphs are compared by their number: how many there are,
/// which nodes each has, how often it was launched. Ranks of a pipeline differ as they should.
std::vector<std::string> compare_ranks(const std::vector<RankGraphs>& ranks);

}  // namespace app
