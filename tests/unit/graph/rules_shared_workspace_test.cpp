#include <gmock/gmock.h>

#include "profiling/hazards/rules/diagnosis.h"
#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using testing::HasSubstr;

constexpr const char* kGrouped = "nvjet_sm90_qqtst_128x128_128x6_2x1_v_ptrGroup_TNT";

/// Products as cuBLASLt captures them: a memset of the workspace's head, then the kernel.
struct Step : HandMade {
  explicit Step(const std::string& version) { snapshot.cublaslt_version = version; }

  int product(std::uint64_t workspace, const std::string& name = kGrouped) {
    std::vector<int> after;
    if (last >= 0) after.push_back(last);
    const int cleared = memset(workspace, 4, after);
    last = kernel(name, {0, 1, workspace, workspace + 64}, {cleared});
    graph().nodes.back().stage = engine::Stage::Fprop;
    return last;
  }

  int last = -1;
};

TEST(SharedWorkspace, IsLikelyOnAVersionThatWasWrong) {
  for (const char* version : {"13.4.1", "13.5.1", "13.6.0.2"}) {
    Step made(version);
    const std::uint64_t shared = made.allocate("shared", AllocationRole::Workspace, 1 << 20);
    made.product(shared);
    const int second = made.product(shared);
    const int third = made.product(shared);
    const std::vector<Finding> findings = diagnose(made.snapshot, shipped_facts());
    ASSERT_EQ(findings.size(), 1U) << version;
    const Finding& finding = findings[0];
    expect_complete(finding);
    EXPECT_EQ(finding.rule, "shared-workspace");
    EXPECT_EQ(finding.confidence, Confidence::Likely);
    EXPECT_EQ(finding.nodes.size(), 3U);
    EXPECT_EQ(finding.proof.cures.moved,
              (std::vector<MovedMemory>{{{0, second}, "shared"}, {{0, third}, "shared"}}));
    EXPECT_THAT(finding.title, HasSubstr("\"shared\""));
    EXPECT_EQ(finding.accesses[0].place, "parameter byte 16");
    EXPECT_EQ(finding.accesses[1].offset, 64U);
  }
}

TEST(SharedWorkspace, IsNoFindingWhereMeasuredCorrect) {
  for (const char* version : {"13.6.1", "13.6.2", "13.7.0", "13.8.1.7", "13.10.0", "13.10.0.20"}) {
    Step made(version);
    const std::uint64_t shared = made.allocate("shared", AllocationRole::Workspace, 1 << 20);
    made.product(shared);
    made.product(shared);
    EXPECT_TRUE(diagnose(made.snapshot, shipped_facts()).empty()) << version;
  }
}

TEST(SharedWorkspace, IsPossibleWhereNotMeasured) {
  for (const char* version : {"", "13.3.0", "14.0.0"}) {
    Step made(version);
    const std::uint64_t shared = made.allocate("shared", AllocationRole::Workspace, 1 << 20);
    made.product(shared);
    made.product(shared);
    const std::vector<Finding> findings = diagnose(made.snapshot, shipped_facts());
    ASSERT_EQ(findings.size(), 1U) << version;
    EXPECT_EQ(findings[0].confidence, Confidence::Possible);
    EXPECT_FALSE(findings[0].evidence.empty());
  }
  Step made("14.0.0");
  const std::uint64_t shared = made.allocate("shared", AllocationRole::Workspace, 1 << 20);
  made.product(shared);
  made.product(shared);
  EXPECT_THAT(diagnose(made.snapshot, shipped_facts()).at(0).evidence.at(0), HasSubstr("newer"));
}

TEST(SharedWorkspace, SeparateBuffersAreHealthy) {
  Step made("13.5.1");
  const std::uint64_t both = made.allocate("halves", AllocationRole::Workspace, 1 << 20);
  made.product(made.allocate("first", AllocationRole::Workspace, 1 << 20));
  made.product(made.allocate("second", AllocationRole::Workspace, 1 << 20));
  made.product(both);
  made.product(both + (1 << 19));  // another half of one allocation
  EXPECT_TRUE(diagnose(made.snapshot, shipped_facts()).empty());
}

TEST(SharedWorkspace, OtherKernelsMayShare) {
  Step made("13.5.1");
  const std::uint64_t shared = made.allocate("shared", AllocationRole::Workspace, 1 << 20);
  made.product(shared, "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_TNT");
  made.product(shared, "grouped_scale_staged_kernel");
  EXPECT_TRUE(diagnose(made.snapshot, shipped_facts()).empty());
}

TEST(SharedWorkspace, SixteenBitIsAtMostPossible) {
  Step made("13.5.1");
  const std::uint64_t shared = made.allocate("shared", AllocationRole::Workspace, 1 << 20);
  made.product(shared, "nvjet_sm90_tst_128x128_64x6_2x1_v_ptrGroup_TNT");
  made.product(shared, "nvjet_sm90_tst_128x128_64x6_2x1_v_ptrGroup_NTN");
  const std::vector<Finding> findings = diagnose(made.snapshot, shipped_facts());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
}

TEST(SharedWorkspace, IsRecognizedByTheMemsetWithoutALedger) {
  Step made("13.5.1");
  const int first = made.product(0x7f0000001000);
  const int second = made.product(0x7f0000001000);
  ASSERT_EQ(diagnose(made.snapshot, shipped_facts()).size(), 1U);
  // A text file has no argument bytes and no version either.
  made.kernel_at(first).parameters.clear();
  made.kernel_at(second).parameters.clear();
  made.snapshot.cublaslt_version.clear();
  made.graph().degraded = true;
  const std::vector<Finding> findings = diagnose(made.snapshot, shipped_facts());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  EXPECT_TRUE(findings[0].proof.cures.moved.empty());
}

TEST(SharedWorkspace, AcrossGraphsIsAtMostPossible) {
  Step made("13.5.1");
  const std::uint64_t shared = made.allocate("shared", AllocationRole::Workspace, 1 << 20);
  made.product(shared);
  made.graph("backward");
  made.last = -1;
  made.product(shared);
  const std::vector<Finding> findings = diagnose(made.snapshot, shipped_facts());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  made.graph().variant_of = 0;  // a second capture of the first is never replayed with it
  EXPECT_TRUE(diagnose(made.snapshot, shipped_facts()).empty());
}

}  // namespace
}  // namespace profiling
