// What the workbench does when runs move to another machine: results stay, and nothing of this
// machine is used there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controllers/workbench_fixture.h"

namespace app {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// "localhost" is never reached: ssh is given an option that it does not have.
PlacedWorker unreachable() {
  PlacedWorker place;
  place.command.remote = "localhost";
  place.command.ssh_options = {"-o", "NoSuchOption=yes"};
  return place;
}

TEST_F(WorkbenchTest, OnAnotherMachineNoLibraryOfThisOneIsUsedOrFetched) {
  open("good");
  ASSERT_TRUE(run_and_wait());
  const std::size_t runs_before = state().live_results().runs.size();
  state().requested.cublaslt_library = "/here/libcublasLt.so.13";
  runs().move_to(unreachable());
  EXPECT_EQ(state().requested.cublaslt_library, "");
  EXPECT_EQ(state().live_results().runs.size(), runs_before);
  EXPECT_EQ(workbench_->view().host, "localhost");
  EXPECT_EQ(workbench_->refusal(Action::UseThisMachine), "");
  workbench_->fetch_library("13.5.1.27");
  EXPECT_FALSE(workbench_->libraries.newest_fetch().busy);
  EXPECT_THAT(notices(), Contains(HasSubstr("runs happen on localhost")));
  // And back, with a worker that answers.
  workbench_->act(Action::UseThisMachine);
  EXPECT_TRUE(tick_until([&] { return runs().link.hello().has_value(); }));
  EXPECT_EQ(workbench_->view().host, "");
  EXPECT_NE(workbench_->refusal(Action::UseThisMachine), "");
  EXPECT_TRUE(run_and_wait());
}

TEST_F(WorkbenchTest, AWindowWithoutAWorkerConnectsNothing) {
  open("");
  for (const Action action :
       {Action::ChooseMachine, Action::ConnectAgain, Action::UseThisMachine}) {
    EXPECT_EQ(workbench_->refusal(action), "This window was opened without a worker");
  }
  ConnectOptions options;
  options.host = "localhost";
  workbench_->connect(options);
  EXPECT_FALSE(workbench_->machine.status().connecting);
}

}  // namespace
}  // namespace app
