// No snapshot accepted by a reader may crash the rules or take long.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <string>

#include "profiling/hazards/model/snapshot.h"
#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::MemorySpace;

class RandomSnapshot : public HandMade {
 public:
  explicit RandomSnapshot(unsigned seed) : random_(seed) {
    snapshot.cublaslt_version = pick({"", "13.5.1", "13.10.0", "99", "x"});
    for (int i = 0; i < 8; ++i) {
      engine::Allocation& made = allocate_at(0x7f0000000000 + 64 * below(16), "memory",
                                             static_cast<AllocationRole>(below(10)), 64 * below(8));
      made.space = static_cast<MemorySpace>(below(5));
      made.allocated_at = below(300);
      made.freed_at = below(2) == 0 ? 0 : below(300);
    }
    for (std::uint64_t g = below(5); g > 0; --g) fill_another();
    fill();
    for (std::uint64_t l = below(3) == 0 ? 0 : 1 + below(6); l > 0; --l) launch();
    for (std::uint64_t p = below(3); p > 0; --p) {
      snapshot.pools.push_back({.address = word(), .bytes = 64 * below(16)});
    }
  }

 private:
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  const char* pick(std::vector<const char*> words) { return words[below(words.size())]; }
  std::uint64_t word() { return below(4) == 0 ? below(1000) : 0x7f0000000000 + 8 * below(200); }

  void fill_another() {
    fill();
    const int variant_of = static_cast<int>(snapshot.graphs.size()) - 1;
    graph("another");
    if (below(2) == 0) graph().variant_of = variant_of;
    graph().changed = pick({"", "splits", "inputs", kNextLaunch.data()});
  }

  /// Of a graph of the step; the first one is.
  void launch() {
    const auto graph = static_cast<int>(below(snapshot.graphs.size()));
    const bool variant = snapshot.graphs[static_cast<std::size_t>(graph)].variant_of >= 0;
    snapshot.launches.push_back({.graph = variant ? 0 : graph, .overlaps = below(2) == 0});
  }

  void fill() {
    GraphSnapshot& made = graph();
    made.degraded = below(4) == 0;
    if (below(3) == 0) made.capture_began = made.capture_ended = 0;
    if (below(4) == 0) made.failure.code = static_cast<int>(898 + below(10));
    if (below(3) == 0) made.events = {{static_cast<CaptureEvent::Kind>(below(4)), "what"}};
    const std::uint64_t count = below(12);
    for (std::uint64_t n = 0; n < count; ++n) {
      add_node();
      SnapshotNode& node = graph().nodes.back();
      node.stage = static_cast<engine::Stage>(below(engine::kStageNames.size()));
      node.id = below(4);
      if (n > 0 && below(4) == 0) node.parent = static_cast<int>(below(n));
    }
    for (std::uint64_t e = 0; count > 1 && e < below(20); ++e) {
      const int to = static_cast<int>(1 + below(count - 1));
      const int from = static_cast<int>(below(static_cast<std::uint64_t>(to)));
      const std::vector<SnapshotNode>& nodes = graph().nodes;
      if (nodes[static_cast<std::size_t>(from)].parent !=
          nodes[static_cast<std::size_t>(to)].parent) {
        continue;
      }
      edge(from, to, static_cast<EdgeKind>(below(3)));
    }
  }

  void add_node() {
    switch (below(7)) {
      case 0:
        memset(word(), below(300));
        break;
      case 1:
        memcpy({.source_space = static_cast<MemorySpace>(below(5)),
                .target_space = static_cast<MemorySpace>(below(5)),
                .source = word(),
                .target = word(),
                .bytes = below(300)});
        break;
      case 2:
        node(NodeType::MemAlloc, MemAllocNode{.address = word(), .bytes = below(300)});
        break;
      case 3:
        node(NodeType::MemFree, MemFreeNode{.address = word()});
        break;
      case 4:
        node(static_cast<NodeType>(below(14)), {});
        break;
      default:
        add_kernel();
    }
  }

  void add_kernel() {
    std::vector<std::uint64_t> words(below(6));
    std::generate(words.begin(), words.end(), [&] { return word(); });
    const int node = kernel(pick({"k", "", "nvjet_ptrGroup"}), words);
    KernelNode& made = kernel_at(node);
    made.waits_for_programmatic = static_cast<Known>(below(3));
    if (below(3) == 0) made.slots.clear();
    if (below(5) == 0) made.parameters.clear();
    if (!made.parameters.empty() && below(5) == 0)
      made.parameters.resize(made.parameters.size() + below(7));
    made.grid.x = static_cast<std::uint32_t>(below(3));
  }

  std::mt19937_64 random_;
};

TEST(RandomSnapshots, NeverBringTheRulesDown) {
  const std::vector<LibraryFact> facts = shipped_facts();
  std::size_t found = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    const RandomSnapshot made(seed);
    ASSERT_TRUE(check_snapshot(made.snapshot).ok())
        << seed << ": " << check_snapshot(made.snapshot).error().message;
    const std::vector<Finding> findings = diagnose(made.snapshot, facts);
    found += findings.size();
    for (std::size_t i = 0; i < findings.size(); ++i) {
      expect_complete(findings[i]);
      EXPECT_GE(findings[i == 0 ? 0 : i - 1].confidence, findings[i].confidence);
      for (const NodeRef node : findings[i].nodes) {
        ASSERT_LT(static_cast<std::size_t>(node.graph), made.snapshot.graphs.size());
        ASSERT_LT(static_cast<std::size_t>(node.node),
                  made.snapshot.graphs[static_cast<std::size_t>(node.graph)].nodes.size());
      }
    }
  }
  EXPECT_GT(found, 1000U);
}

TEST(RandomSnapshots, TheRulesAcrossGraphsHaveSomethingToFind) {
  std::set<std::string> found;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    for (const Finding& finding : diagnose(RandomSnapshot(seed).snapshot, {})) {
      found.insert(finding.rule);
    }
  }
  for (const char* rule :
       {"freed-between-graphs", "overlapping-graphs", "replay-order", "baked-index"}) {
    EXPECT_TRUE(found.contains(rule)) << rule;
  }
}

/// Every block of a pool is in the way of every other, in a step of many launches.
TEST(RandomSnapshots, ManyBlocksOfAPoolAndManyLaunches) {
  constexpr int kGraphs = 32;
  constexpr int kBlocks = 2000;
  HandMade made;
  made.snapshot.pools = {{.address = 0x1000, .bytes = 1 << 30}};
  for (int i = 0; i < kBlocks; ++i) {
    engine::Allocation& block = made.allocate_at(0x1000 + 64ULL * static_cast<unsigned>(i), "block",
                                                 AllocationRole::Workspace, 1 << 20);
    block.allocated_at = static_cast<std::uint64_t>(2 * i + 1);
    block.freed_at = block.allocated_at + 1;
  }
  for (int g = 0; g < kGraphs; ++g) {
    if (g > 0) made.graph("another");
    made.graph().capture_began = 0;
    made.graph().capture_ended = 0;
    std::vector<std::uint64_t> words;
    for (int i = 0; i < kBlocks; i += 4) {
      words.push_back(0x1000 + 64ULL * static_cast<unsigned>(i + g % 4));
    }
    made.kernel("k", words);
  }
  for (int launch = 0; launch < 512; ++launch) {
    made.snapshot.launches.push_back({.graph = launch % kGraphs, .overlaps = launch % 3 != 0});
  }
  const auto began = std::chrono::steady_clock::now();
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  RecordProperty("milliseconds", static_cast<int>(1000 * took.count()));
  EXPECT_FALSE(findings.empty());
}

TEST(RandomSnapshots, EmptyAndMalformedSnapshotsHaveNoFindings) {
  EXPECT_TRUE(diagnose({}, {}).empty());
  HandMade made;
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
  made.kernel("k", {});
  made.graph().edges = {{.from = 0, .to = 9}};
  made.graph().failure.code = 904;
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(RandomSnapshots, TenThousandNodes) {
  std::mt19937_64 random(1);
  HandMade made;
  made.snapshot.cublaslt_version = "13.5.1";
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t a = 0; a < 1000; ++a) {
    addresses.push_back(made.allocate("memory", static_cast<AllocationRole>(a % 10), 1 << 16));
  }
  for (int n = 0; n < 10000; ++n) {
    std::vector<std::uint64_t> words(256);
    for (std::uint64_t& word : words) word = random();
    for (int i = 0; i < 8; ++i)
      words[random() % 256] = addresses[random() % 1000] + random() % 4096;
    std::vector<int> after;
    for (int e = 0; n > 0 && e < 3; ++e) {
      after.push_back(static_cast<int>(random() % static_cast<unsigned>(n)));
    }
    made.kernel(n % 3 == 0 ? "nvjet_ptrGroup" : "k", words, after);
  }
  const auto began = std::chrono::steady_clock::now();
  const std::vector<Finding> findings = diagnose(made.snapshot, shipped_facts());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  RecordProperty("milliseconds", static_cast<int>(1000 * took.count()));
  EXPECT_FALSE(findings.empty());
}

}  // namespace
}  // namespace profiling
