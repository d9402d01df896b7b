#include <gmock/gmock.h>

#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Two captures of one kernel, the second after a change.
struct TwoCaptures : HandMade {
  explicit TwoCaptures(const std::string& changed, bool structure = false) {
    const std::uint64_t x = allocate("x", engine::AllocationRole::Input, 4096);
    for (const bool second : {false, true}) {
      if (second) {
        graph("step").variant_of = 0;
        graph().changed = changed;
      }
      const int node =
          kernel("scale_kernel", {x, 0x3f800000, second ? 0x7fabcd000040U : 0x7fabcd000000U});
      if (structure) kernel_at(node).slots = {{.offset = 0, .bytes = 24}};
    }
  }
  KernelNode& later() { return kernel_at(0); }
};

TEST(BakedValues, EqualCapturesAreHealthy) {
  // Addresses may differ: the second capture may have other memory.
  EXPECT_TRUE(diagnose(TwoCaptures("inputs").snapshot, {}).empty());
}

TEST(BakedValues, AScalarThatDiffers) {
  for (const bool structure : {false, true}) {
    TwoCaptures made("inputs", structure);
    made.later().parameters[10] = std::byte{0x40};
    const std::vector<Finding> findings = diagnose(made.snapshot, {});
    ASSERT_EQ(findings.size(), 1U);
    expect_complete(findings[0]);
    EXPECT_EQ(findings[0].rule, "baked-scalar");
    EXPECT_EQ(findings[0].confidence, structure ? Confidence::Possible : Confidence::Likely);
    EXPECT_THAT(findings[0].nodes, ElementsAre(NodeRef{0, 0}));
    EXPECT_THAT(findings[0].evidence.at(0), HasSubstr("parameter byte 8"));
    EXPECT_TRUE(findings[0].proof.shows.changed_inputs);
    EXPECT_FALSE(findings[0].proof.shows.recaptured);
    EXPECT_TRUE(findings[0].proof.cures.recaptured);
  }
}

TEST(BakedValues, AGridThatDiffersIsOneFinding) {
  TwoCaptures made("inputs");
  made.later().grid.x = 7;
  made.later().parameters[8] = std::byte{7};  // the same number, as an argument
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "baked-launch");
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
}

TEST(BakedValues, WhatDiffersInALaunchIsNamed) {
  TwoCaptures made("inputs");
  made.later().block.x = 64;
  made.later().dynamic_shared_bytes = 2048;
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  std::string evidence;
  for (const std::string& one : findings[0].evidence) evidence += one + "\n";
  EXPECT_NE(evidence.find("block "), std::string::npos) << evidence;
  EXPECT_NE(evidence.find("dynamic shared memory: "), std::string::npos) << evidence;
  EXPECT_EQ(evidence.find("grid "), std::string::npos) << evidence;
}

TEST(BakedValues, NumbersThatDependOnTheSplitsAreSizes) {
  TwoCaptures made("splits");
  made.later().parameters[8] = std::byte{7};
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "baked-launch");
}

TEST(BakedValues, ADifferentNodeCountIsALaunchDifference) {
  TwoCaptures made("splits");
  made.kernel("one more", {});
  EXPECT_THAT(diagnose(made.snapshot, {}).at(0).evidence.at(0), HasSubstr("1 nodes at first, 2"));
  TwoCaptures renamed("splits");
  renamed.later().function = "another_kernel";
  EXPECT_EQ(diagnose(renamed.snapshot, {}).at(0).rule, "baked-launch");
  TwoCaptures failed("splits");
  failed.graph().nodes.clear();
  failed.graph().failure.code = 907;
  EXPECT_TRUE(of_rule(diagnose(failed.snapshot, {}), "baked-launch").empty());
}

TEST(BakedValues, UnknownLayoutIsAtMostPossible) {
  TwoCaptures made("inputs");
  for (GraphSnapshot& graph : made.snapshot.graphs) {
    std::get<KernelNode>(graph.nodes[0].parameters).slots.clear();
  }
  made.later().parameters[9] = std::byte{7};
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
}

}  // namespace
}  // namespace profiling
