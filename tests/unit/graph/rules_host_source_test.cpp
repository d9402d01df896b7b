#include <gmock/gmock.h>

#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::MemorySpace;
using testing::ElementsAre;

struct Copies : HandMade {
  std::uint64_t pinned(const std::string& owner, std::uint64_t freed_at = 0) {
    const std::uint64_t address = allocate(owner, AllocationRole::Input, 256);
    allocation(owner).space = MemorySpace::PinnedHost;
    allocation(owner).freed_at = freed_at;
    return address;
  }
  Finding only() {
    const std::vector<Finding> findings = diagnose(snapshot, {});
    EXPECT_EQ(findings.size(), 1U);
    if (findings.empty()) return {};
    expect_complete(findings[0]);
    EXPECT_TRUE(findings[0].proof.shows.scribbled_host);
    // Addresses are also proved by moved inputs, other contents only by overwriting.
    const bool addresses = findings[0].rule == "host-array";
    EXPECT_EQ(findings[0].proof.shows.moved_inputs, addresses);
    EXPECT_FALSE(findings[0].proof.shows.patched_host);
    const Experiment cures = {.moved_inputs = addresses, .patched_host = addresses};
    EXPECT_EQ(findings[0].proof.cures, cures);
    return findings[0];
  }
};

TEST(HostSources, AnArrayOfAddressesFromTheHost) {
  Copies made;
  const std::uint64_t array = made.allocate("array", AllocationRole::PointerArray, 256);
  const int node = made.memcpy({.source_space = MemorySpace::PinnedHost,
                                .source = made.pinned("host's array"),
                                .target = array,
                                .bytes = 64});
  const Finding finding = made.only();
  EXPECT_EQ(finding.rule, "host-array");
  EXPECT_EQ(finding.confidence, Confidence::Possible);
  EXPECT_THAT(finding.nodes, ElementsAre(NodeRef{0, node}));
  EXPECT_EQ(finding.accesses.size(), 2U);
}

TEST(HostSources, TheNodesLayerIsNamedAsTheStepCountsIt) {
  Copies made;
  const std::uint64_t array = made.allocate("array", AllocationRole::PointerArray, 256);
  const int node = made.memcpy({.source_space = MemorySpace::PinnedHost,
                                .source = made.pinned("host's array"),
                                .target = array,
                                .bytes = 64});
  SnapshotNode& copy = made.snapshot.graphs[0].nodes[static_cast<std::size_t>(node)];
  copy.stage = engine::Stage::Offsets;
  copy.layer = 3;
  EXPECT_THAT(made.only().title, testing::HasSubstr("offsets of layer 3)"));
  made.snapshot.step = engine::StepKind::ExpertLayer;
  EXPECT_THAT(made.only().title, testing::HasSubstr("offsets of layer 1, down)"));
}

TEST(HostSources, ReleasedOrPageableMemoryIsLikely) {
  for (const bool pageable : {false, true}) {
    Copies made;
    const std::uint64_t target = made.allocate("gate", AllocationRole::Input, 256);
    made.memcpy({.source_space = pageable ? MemorySpace::PageableHost : MemorySpace::PinnedHost,
                 .source = pageable ? 0x5555000000 : made.pinned("staging", 105),
                 .target = target,
                 .bytes = 4});
    const Finding finding = made.only();
    EXPECT_EQ(finding.rule, "dead-host-source");
    EXPECT_EQ(finding.confidence, Confidence::Likely);
  }
}

TEST(HostSources, CopiesOnTheDeviceAndToTheHostAreHealthy) {
  Copies made;
  const std::uint64_t a = made.allocate("a", AllocationRole::Input, 256);
  const std::uint64_t b = made.allocate("b", AllocationRole::Output, 256);
  made.memcpy({.source_space = MemorySpace::Device,
               .target_space = MemorySpace::Device,
               .source = a,
               .target = b,
               .bytes = 64});
  made.memcpy({.source_space = MemorySpace::Device,
               .target_space = MemorySpace::PinnedHost,
               .source = a,
               .target = made.pinned("result"),
               .bytes = 64},
              {0});
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

}  // namespace
}  // namespace profiling
