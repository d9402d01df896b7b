// What is reported about a silent worker and when it is given up, on simulated clocks.
#include "app/protocol/liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

LinkStatus status_of(LinkState state, double still, std::uint64_t request = 0) {
  LinkStatus status;
  status.state = state;
  status.reason = "no pulse for 3.0 s";
  status.pid = 42;
  status.pulse.request_id = request;
  status.seconds_still = still;
  return status;
}

TEST(WaitReporter, SaysOnceWhatItWaitsForAndWhatToDo) {
  WaitReporter patience(30);
  EXPECT_FALSE(patience.word(status_of(LinkState::Starting, 1.9)));
  const auto word = patience.word(status_of(LinkState::Starting, 2.1));
  ASSERT_TRUE(word);
  EXPECT_THAT(*word, AllOf(HasSubstr("process 42"), HasSubstr("has not sent its greeting"),
                           HasSubstr("after 30 s"), HasSubstr("--timeout"), HasSubstr("Ctrl+C")));
  EXPECT_FALSE(patience.word(status_of(LinkState::Starting, 2.5)));
  EXPECT_THAT(*patience.word(status_of(LinkState::Stalled, 3)), HasSubstr("no pulse for 3.0 s"));
  EXPECT_THAT(*patience.word(status_of(LinkState::Busy, 3)),
              HasSubstr("has not started the order"));
  EXPECT_THAT(*patience.word(status_of(LinkState::Busy, 3, 7)), HasSubstr("makes no progress"));
  EXPECT_FALSE(patience.word(status_of(LinkState::Busy, 4, 7)));
}

TEST(WaitReporter, AStepThatIsKnownToBeLongIsReportedLater) {
  WaitReporter patience(300, 40);
  EXPECT_FALSE(patience.word(status_of(LinkState::Busy, 39, 7)));
  EXPECT_THAT(*patience.word(status_of(LinkState::Stalled, 3)), HasSubstr("no pulse"));
  EXPECT_THAT(*patience.word(status_of(LinkState::Busy, 41, 7)), HasSubstr("makes no progress"));
}

TEST(WaitReporter, AnUnansweredCancelIsReportedDespiteProgress) {
  WaitReporter patience(30);
  LinkStatus status = status_of(LinkState::Busy, 0, 7);
  EXPECT_FALSE(patience.word(status));
  status.cancel_overdue = true;
  EXPECT_THAT(*patience.word(status), HasSubstr("has not acknowledged the cancel"));
}

TEST(WaitReporter, EndsWithItsLimit) {
  const WaitReporter patience(30);
  EXPECT_FALSE(patience.give_up_reason(status_of(LinkState::Stalled, 29)));
  EXPECT_THAT(*patience.give_up_reason(status_of(LinkState::Stalled, 31)),
              AllOf(HasSubstr("gave up on the worker (process 42)"), HasSubstr("--timeout")));
  EXPECT_FALSE(patience.give_up_reason(status_of(LinkState::Responsive, 1000)))
      << "nothing is awaited";
  EXPECT_FALSE(WaitReporter(0).give_up_reason(status_of(LinkState::Stalled, 1e9)));
}

}  // namespace
}  // namespace app
