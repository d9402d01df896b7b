#include <gmock/gmock.h>

#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(CaptureMistakes, AForkWithoutAJoin) {
  HandMade made;
  made.graph().failure = {.code = 904, .name = "cudaErrorStreamCaptureUnjoined"};
  const std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "unjoined-capture");
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_FALSE(findings[0].proof.needs_cure);
  EXPECT_FALSE(findings[0].missing_order.empty());
}

TEST(CaptureMistakes, ALoadIsPossibleIfTheCaptureSucceeded) {
  HandMade made;
  made.graph().events = {{.kind = CaptureEvent::Kind::LazyLoad, .what = "late_kernel"}};
  std::vector<Finding> findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 1U);
  expect_complete(findings[0]);
  EXPECT_EQ(findings[0].rule, "lazy-load");
  EXPECT_EQ(findings[0].confidence, Confidence::Possible);
  EXPECT_TRUE(findings[0].proof.cures.eager_loading);
  // Replays may well be correct: the proof looks for the load itself.
  EXPECT_EQ(findings[0].proof.shows.replays, 0);
  EXPECT_EQ(findings[0].proof.cures.replays, 0);
  EXPECT_THAT(findings[0].evidence, Contains(HasSubstr("late_kernel")));

  made.graph().failure = {.code = 901};
  findings = diagnose(made.snapshot, {});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].rule, "lazy-load");
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_GT(findings[0].proof.shows.replays, 0);
  EXPECT_EQ(findings[1].rule, "sync-in-capture");
  EXPECT_EQ(findings[1].confidence, Confidence::Possible);
}

TEST(CaptureMistakes, AWaitBreaksTheCapture) {
  for (const int code : {900, 901, 906}) {
    HandMade made;
    made.graph().failure = {.code = code, .call = "cudaStreamSynchronize"};
    const std::vector<Finding> findings = diagnose(made.snapshot, {});
    ASSERT_EQ(findings.size(), 1U);
    expect_complete(findings[0]);
    EXPECT_EQ(findings[0].rule, "sync-in-capture");
    EXPECT_EQ(findings[0].confidence, Confidence::Likely);
    EXPECT_THAT(findings[0].title, HasSubstr("cudaStreamSynchronize"));
    EXPECT_FALSE(findings[0].proof.needs_cure);
  }
}

TEST(CaptureMistakes, ASuccessfulCaptureIsHealthy) {
  HandMade made;
  made.graph().events = {{.kind = CaptureEvent::Kind::Allocation, .what = "x"}};
  EXPECT_TRUE(diagnose(made.snapshot, {}).empty());
}

TEST(Judge, SaysWhatTwoExperimentsMean) {
  const Outcome right{.verdict = Verdict::Right};
  const Outcome wrong{.verdict = Verdict::Wrong};
  const Outcome hung{.verdict = Verdict::Hung};
  const Outcome not_run{};
  const Proof proof;
  EXPECT_EQ(judge(proof, Confidence::Likely, wrong, right), Confidence::Proved);
  EXPECT_EQ(judge(proof, Confidence::Possible, hung, right), Confidence::Proved);
  EXPECT_EQ(judge(proof, Confidence::Likely, right, right), Confidence::Disproved);
  EXPECT_EQ(judge(proof, Confidence::Likely, wrong, wrong), Confidence::Likely);
  EXPECT_EQ(judge(proof, Confidence::Likely, wrong, not_run), Confidence::Likely);
  EXPECT_EQ(judge(proof, Confidence::Possible, not_run, right), Confidence::Possible);
  Proof alone;
  alone.needs_cure = false;
  EXPECT_EQ(judge(alone, Confidence::Likely, wrong, not_run), Confidence::Proved);
}

}  // namespace
}  // namespace profiling
