#include "app/attach/rank_comparison.h"

#include <gmock/gmock.h>

namespace app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

profiling::GraphSnapshot graph(const char* name, std::int64_t launches,
                               const std::vector<const char*>& nodes) {
  profiling::GraphSnapshot made;
  made.name = name;
  made.launches = launches;
  for (const char* node : nodes) made.nodes.push_back({.name = node});
  return made;
}

RankGraphs rank(int number, std::vector<profiling::GraphSnapshot> graphs) {
  return {.rank = number, .instantiated = graphs.size(), .graphs = std::move(graphs)};
}

TEST(RankComparison, RanksAreNamedByRanges) {
  EXPECT_EQ(rank_words({3}), "rank 3");
  EXPECT_EQ(rank_words({1, 0}), "ranks 0 and 1");
  EXPECT_EQ(rank_words({7, 2, 1, 0}), "ranks 0-2 and 7");
  EXPECT_EQ(rank_words({0, 2, 4, 5, 6}), "ranks 0, 2 and 4-6");
}

TEST(RankComparison, FewerThanTwoHaveNothingToCompare) {
  EXPECT_THAT(compare_ranks({}), IsEmpty());
  EXPECT_THAT(compare_ranks({rank(0, {graph("graph 1", 3, {"a"})})}), IsEmpty());
  EXPECT_THAT(compare_ranks({rank(0, {}), rank(1, {})}), IsEmpty());
}

TEST(RankComparison, EqualRanksAreSaidToBeEqual) {
  std::vector<RankGraphs> ranks;
  for (int r = 0; r < 64; ++r) ranks.push_back(rank(r, {graph("graph 1", 3, {"a", "memset"})}));
  EXPECT_THAT(compare_ranks(ranks),
              ElementsAre("64 ranks captured the same graphs, and launched each equally often"));
}

TEST(RankComparison, TheRankThatIsALaunchBehindIsNamed) {
  std::vector<RankGraphs> ranks;
  for (int r = 0; r < 8; ++r) ranks.push_back(rank(r, {graph("graph 2", r == 3 ? 41 : 42, {"a"})}));
  EXPECT_THAT(compare_ranks(ranks),
              ElementsAre("graph 2 was launched 42 times by ranks 0-2 and 4-7, "
                          "41 times by rank 3"));
}

TEST(RankComparison, OtherNodesAndMissingGraphsAreNamed) {
  std::vector<RankGraphs> ranks;
  for (int r = 0; r < 3; ++r) {
    ranks.push_back(rank(
        r, {graph("graph 1", 5, {"gemm", "ncclAllReduce", "add"}), graph("graph 2", 5, {"gemm"})}));
  }
  ranks.push_back(rank(3, {graph("graph 1", 5, {"gemm", "add"})}));
  EXPECT_THAT(compare_ranks(ranks),
              ElementsAre("ranks 0-2 instantiated 2 graphs, rank 3 instantiated 1 graph",
                          "graph 1: 3 nodes in ranks 0-2, 2 nodes in rank 3. Node 1 is "
                          "\"ncclAllReduce\" in ranks 0-2, and \"add\" in rank 3",
                          "graph 2 is not in the record of rank 3"));
  // A graph that only goes on.
  ranks.back() =
      rank(3, {graph("graph 1", 5, {"gemm", "ncclAllReduce"}), graph("graph 2", 5, {"gemm"})});
  EXPECT_THAT(compare_ranks(ranks),
              ElementsAre("graph 1: 3 nodes in ranks 0-2, 2 nodes in rank 3. Node 2 is \"add\" in "
                          "ranks 0-2, and no node in rank 3"));
}

/// As many graphs, but not the same ones: one was lost from a record, or its capture failed.
TEST(RankComparison, AGraphThatOnlySomeHaveIsADifference) {
  const RankGraphs whole = rank(0, {graph("graph 1", 5, {"a"}), graph("graph 2", 5, {"a"})});
  RankGraphs torn = rank(1, {graph("graph 1", 5, {"a"})});
  torn.instantiated = 2;
  EXPECT_THAT(compare_ranks({whole, torn}), ElementsAre("graph 2 is not in the record of rank 1"));
}

TEST(RankComparison, ManyDifferencesAreCounted) {
  std::vector<RankGraphs> ranks(2);
  for (int r = 0; r < 2; ++r) {
    ranks[static_cast<std::size_t>(r)].rank = r;
    for (int g = 0; g < 20; ++g) {
      const std::string name = "graph " + std::to_string(g + 10);
      ranks[static_cast<std::size_t>(r)].graphs.push_back(graph(name.c_str(), r, {"a"}));
    }
  }
  const std::vector<std::string> all = compare_ranks(ranks);
  ASSERT_EQ(all.size(), 9U);
  EXPECT_EQ(all.back(), "12 more differences between the ranks");
}

}  // namespace
}  // namespace app
