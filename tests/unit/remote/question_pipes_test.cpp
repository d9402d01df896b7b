// Questions of ssh by way of the real expertscope-askpass.
#include "app/remote/question_pipes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "app/protocol/child_process.h"
#include "app/protocol/child_run.h"

namespace app {
namespace {

class Questions : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "questions-XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    auto made = QuestionPipes::make(folder_);
    ASSERT_TRUE(made.ok()) << made.error().message;
    pipes_.emplace(std::move(made).value());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Asks as ssh does, and answers the question that arrives.
  ChildEnd ask(const std::string& text, const std::optional<std::string>& answer) {
    ChildEnd end;
    std::thread ssh([&] {
      const auto run = run_child(
          {.argv = {"/usr/bin/env", std::string(kQuestionFolder) + '=' + folder_, ASKPASS, text}});
      if (run.ok() && run.value()) end = *run.value();
    });
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < limit) {
      if (const auto question = pipes_->next()) {
        asked_ = *question;
        pipes_->answer(answer);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ssh.join();
    return end;
  }

  std::string folder_;
  std::optional<QuestionPipes> pipes_;
  ConnectQuestion asked_;
};

TEST_F(Questions, AnAnswerReachesSsh) {
  const ChildEnd end = ask("Password for $(id) 'x':", "a b\"c'$(id)");
  EXPECT_TRUE(end.succeeded()) << end.how;
  EXPECT_EQ(end.output, "a b\"c'$(id)\n");
  EXPECT_EQ(asked_.text, "Password for $(id) 'x':");
  EXPECT_EQ(asked_.kind, ConnectQuestion::Kind::Secret);
}

TEST_F(Questions, AnEmptyAnswerIsOne) {
  const ChildEnd end = ask("Passphrase:", "");
  EXPECT_TRUE(end.succeeded());
  EXPECT_EQ(end.output, "\n");
}

TEST_F(Questions, NoAnswerIsAFailure) {
  const ChildEnd end = ask("Continue (yes/no/[fingerprint])?", std::nullopt);
  EXPECT_FALSE(end.succeeded());
  EXPECT_EQ(end.output, "");
  EXPECT_EQ(asked_.kind, ConnectQuestion::Kind::Confirm);
}

TEST_F(Questions, ARequestToTouchAKeyIsShownUntilItWasTouched) {
  auto askpass = ChildProcess::start({"/usr/bin/env", std::string(kQuestionFolder) + '=' + folder_,
                                      "SSH_ASKPASS_PROMPT=none", ASKPASS, "Touch the key"});
  ASSERT_TRUE(askpass.ok());
  const auto next = [&] {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    std::optional<ConnectQuestion> shown;
    while (!shown && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      shown = pipes_->next();
    }
    return shown.value_or(ConnectQuestion{});
  };
  const ConnectQuestion shown = next();
  EXPECT_EQ(shown.kind, ConnectQuestion::Kind::Notice);
  EXPECT_EQ(shown.text, "Touch the key");
  EXPECT_FALSE(pipes_->next());
  ASSERT_EQ(::kill(askpass.value()->pid(), SIGTERM), 0);  // as ssh does
  const ConnectQuestion over = next();
  EXPECT_EQ(over.kind, ConnectQuestion::Kind::Notice);
  EXPECT_EQ(over.text, "");
}

TEST(Askpass, WithoutAFolderItAnswersNothing) {
  const auto run =
      run_child({.argv = {"/usr/bin/env", "-u", kQuestionFolder, ASKPASS, "Password:"}});
  ASSERT_TRUE(run.ok() && run.value());
  EXPECT_FALSE(run.value()->succeeded());
}

}  // namespace
}  // namespace app
