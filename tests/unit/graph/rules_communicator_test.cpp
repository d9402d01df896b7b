#include <gmock/gmock.h>

#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// A graph with a collective, launched twice; its communicator ended at 250.
HandMade with_communicator(std::uint64_t last_launch) {
  HandMade made;
  made.kernel("scale", {1});
  made.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", {2}, {0});
  made.graph().launches = 2;
  made.graph().last_launch = last_launch;
  made.graph().communicators = {
      {.name = "communicator 1", .ended_at = 250, .ended_by = "ncclCommDestroy"},
      {.name = "communicator 2"}};
  return made;
}

TEST(DestroyedCommunicator, ALaunchAfterTheEndIsLikely) {
  HandMade made = with_communicator(260);
  for (const bool program_ended : {false, true}) {
    made.snapshot.ended = program_ended;
    const std::vector<Finding> findings = diagnose(made.snapshot, {});
    ASSERT_EQ(findings.size(), 1U);
    expect_complete(findings[0]);
    EXPECT_EQ(findings[0].rule, "destroyed-communicator");
    EXPECT_EQ(findings[0].confidence, Confidence::Likely);
    EXPECT_FALSE(findings[0].proof.needs_cure);
    EXPECT_THAT(findings[0].title, HasSubstr("launched after ncclCommDestroy of communicator 1"));
    EXPECT_EQ(findings[0].nodes, std::vector<NodeRef>({{0, 1}}));
    EXPECT_THAT(findings[0].evidence, Contains(HasSubstr("launched 2 times in all, last at 260")));
  }
}

TEST(DestroyedCommunicator, WithoutALaunchItMattersWhileTheProgramRuns) {
  HandMade made = with_communicator(250);
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  EXPECT_THAT(findings[0].title, HasSubstr("ncclCommDestroy of communicator 1 was called while"));
  made.snapshot.ended = true;
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(DestroyedCommunicator, NoneIfTheGraphIsOverOrTheCommunicatorLives) {
  HandMade made = with_communicator(250);
  made.graph().over = true;
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
  made.graph().over = false;
  made.graph().communicators[0].ended_at = 0;
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(DestroyedCommunicator, TheLoadedVersionSaysWhetherTheEndWaits) {
  HandMade made = with_communicator(260);
  const auto evidence = [&](const char* version) {
    made.snapshot.nccl_version = version;
    return diagnose(made.snapshot, {})[0].evidence;
  };
  EXPECT_THAT(evidence("2.27.5"), Contains("NCCL 2.27.5 is loaded, which waits."));
  EXPECT_THAT(evidence("2.14.3"), Contains("NCCL 2.14.3 is loaded, which waits."));
  EXPECT_THAT(evidence("2.12.12"), Contains("NCCL 2.12.12 is loaded, which does not wait."));
  EXPECT_THAT(evidence(""), testing::Not(Contains(HasSubstr("is loaded"))));
}

}  // namespace
}  // namespace profiling
