// The way to another machine, with a ssh that only asks: questions wait for the window without
// holding it up, answers are kept nowhere, and cancelling ends the wait.
#include "app/controllers/machine_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "tests/support/fake_ssh.h"

namespace app {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Clock = std::chrono::steady_clock;

class Machines : public ::testing::Test {
 protected:
  Machines() {
    ssh_.write_program("ssh",
                       "answer=$(\"$SSH_ASKPASS\" 'Enter passphrase for key:') || "
                       "{ echo 'Permission denied (publickey).' >&2; exit 255; }\n"
                       "echo \"$answer\" > \"$FAKE_SSH/answer\"\n"
                       "echo 'Connection closed' >&2\nexit 255\n");
    make({});
  }

  void make(const WorkerCommand& typed, std::optional<ConnectOptions> first = {}) {
    machines_ = std::make_unique<MachineController>(typed, std::move(first), [] {}, remembered_);
  }
  static ConnectOptions named(const std::string& host) {
    ConnectOptions options;
    options.host = host;
    return options;
  }
  template <class Condition>
  bool tick_until(Condition condition) {
    const Clock::time_point limit = Clock::now() + 20s;
    while (!condition() && Clock::now() < limit) {
      machines_->tick();
      std::this_thread::sleep_for(1ms);
    }
    return condition();
  }
  bool connect_until_it_asks(const std::string& host) {
    return machines_->connect(named(host)).ok() &&
           tick_until([&] { return status().question.has_value(); });
  }
  const MachineStatus& status() const { return machines_->status(); }

  const testing::FakeSsh ssh_;
  RememberedMachines remembered_;
  std::unique_ptr<MachineController> machines_;
};

TEST_F(Machines, AnAnswerGoesToSshAndIsOverwritten) {
  ASSERT_TRUE(connect_until_it_asks("gpu1"));
  EXPECT_EQ(status().question->text, "Enter passphrase for key:");
  EXPECT_EQ(status().question->kind, ConnectQuestion::Kind::Secret);
  EXPECT_TRUE(status().connecting);
  std::string typed = "open sesame, which is longer than a string keeps in itself";
  const char* const bytes = typed.data();
  machines_->answer(typed);
  EXPECT_TRUE(typed.empty());
  EXPECT_EQ(bytes[0], '\0');
  EXPECT_FALSE(status().question);
  ASSERT_TRUE(tick_until([&] { return !status().connecting; }));
  EXPECT_THAT(ssh_.text("answer"), HasSubstr("open sesame"));
  EXPECT_EQ(status().error, "ssh cannot reach gpu1: Connection closed");
  EXPECT_EQ(status().steps.of(ConnectStep::Reach).state, StepReport::State::Failed);
  EXPECT_THAT(remembered_, IsEmpty()) << "it was never connected";
}

TEST_F(Machines, WithoutAnAnswerSshGivesUp) {
  ASSERT_TRUE(connect_until_it_asks("gpu1"));
  machines_->refuse_answer();
  ASSERT_TRUE(tick_until([&] { return !status().connecting; }));
  EXPECT_EQ(status().error, "ssh cannot reach gpu1: Permission denied (publickey).");
  EXPECT_TRUE(ssh_.text("answer").empty());
}

TEST_F(Machines, CancellingEndsTheWaitForAnAnswer) {
  ASSERT_TRUE(connect_until_it_asks("gpu1"));
  machines_->cancel();
  EXPECT_FALSE(status().connecting);
  EXPECT_FALSE(status().question);
  EXPECT_THAT(status().error, IsEmpty()) << "it was the user's own wish";
  EXPECT_EQ(status().steps.of(ConnectStep::Reach).words, "Cancelled");
  std::string late = "late";
  machines_->answer(late);
  EXPECT_TRUE(late.empty());
  const Clock::time_point begun = Clock::now();
  machines_.reset();
  EXPECT_LT(Clock::now() - begun, 5s);
  EXPECT_TRUE(ssh_.text("answer").empty());
}

TEST_F(Machines, ARequestToTouchAKeyIsShownUntilItWasTouched) {
  ssh_.write_program("ssh",
                     "SSH_ASKPASS_PROMPT=none \"$SSH_ASKPASS\" 'Touch the key' &\n"
                     "until [ -e \"$FAKE_SSH/touched\" ]; do sleep 0.02; done\n"
                     "kill $!; wait; sleep 60\n");
  ASSERT_TRUE(connect_until_it_asks("gpu1"));
  EXPECT_EQ(status().question->kind, ConnectQuestion::Kind::Notice);
  EXPECT_EQ(status().question->text, "Touch the key");
  std::ofstream(ssh_.file("touched")) << "yes";
  EXPECT_TRUE(tick_until([&] { return !status().question; }));
  EXPECT_TRUE(status().connecting);
}

TEST_F(Machines, ANewAttemptReplacesTheFormer) {
  ASSERT_TRUE(connect_until_it_asks("gpu1"));
  ASSERT_TRUE(connect_until_it_asks("gpu2"));
  EXPECT_EQ(status().options.host, "gpu2");
  EXPECT_EQ(status().questions, 2U);
}

TEST_F(Machines, WhatIsNoMachineNameIsRefusedAtOnce) {
  const engine::Status status = machines_->connect(named("-oProxyCommand=touch owned"));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("is not a machine name"));
  EXPECT_FALSE(machines_->status().connecting);
}

TEST_F(Machines, ThoseUsedBeforeAreListedFirst) {
  const std::string before = std::getenv("HOME");
  ::setenv("HOME", ssh_.file("home").c_str(), 1);
  std::filesystem::create_directories(ssh_.file("home/.ssh"));
  std::ofstream(ssh_.file("home/.ssh/config")) << "Host beta alpha used\n";
  remembered_ = {named("used"), named("other")};
  remembered_.front().launcher = {"srun"};
  machines_->look_for_hosts();
  EXPECT_TRUE(tick_until([&] { return machines_->hosts().size() == 4; }));
  EXPECT_THAT(machines_->hosts(), ElementsAre("used", "other", "alpha", "beta"));
  EXPECT_THAT(machines_->options_for("used").launcher, ElementsAre("srun"));
  EXPECT_EQ(machines_->options_for("alpha"), named("alpha"));
  ::setenv("HOME", before.c_str(), 1);
}

TEST_F(Machines, WhatWasTypedAboutAnotherMachineDoesNotHoldHere) {
  make({.program = {}, .cublaslt = "/there/libcublasLt.so", .backend = "cpu"}, named("gpu1"));
  machines_->use_this_machine();
  const std::optional<PlacedWorker> place = machines_->take_place();
  ASSERT_TRUE(place);
  EXPECT_FALSE(place->command.remote);
  EXPECT_EQ(place->command.cublaslt, "");
  EXPECT_EQ(place->command.backend, "cpu");
  EXPECT_FALSE(machines_->take_place()) << "it is taken once";
}

}  // namespace
}  // namespace app
