// The words of a worker's command, read again by the shells that would read them: a fake ssh hands
// its words on as sshd does, joined by blanks, to `sh -c`.
#include "app/protocol/worker_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "app/protocol/child_process.h"
#include "app/protocol/worker_link.h"
#include "tests/support/fake_ssh.h"

namespace app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kNasty = {
    "plain",
    "",
    " ",
    "two words",
    "'",
    "''",
    "it's",
    "\"double\"",
    "$(touch owned)",
    "`touch owned`",
    "; touch owned;",
    "&& touch owned",
    "| touch owned",
    "> owned",
    "$HOME ${HOME} ~",
    "*?[a-z]{a,b}",
    "\\ \\' \\n",
    "line\nfeed",
    "tab\tand\rreturn",
    "-oProxyCommand=touch owned",
    "#comment",
    "!history",
    "a=b",
    "\xC3\xA9\xF0\x9F\x98\x80 \xFF\x80",
    "\x01\x1B[31m\x7F",
    std::string(5000, '\''),
};

/// All that the command prints.
std::string output_of(const std::vector<std::string>& argv) {
  auto child = ChildProcess::start(argv);
  if (!child.ok()) return child.error().message;
  std::string out;
  char bytes[4096];
  for (int i = 0; i < 20'000; ++i) {
    const ssize_t count = ::read(child.value()->output.get(), bytes, sizeof bytes);
    if (count > 0) out.append(bytes, static_cast<std::size_t>(count));
    if (count == 0) break;
    if (count < 0) ::usleep(1000);
  }
  return out;
}

/// Prints what it was given, each with its length in front.
constexpr const char* kEcho =
    "for word; do printf '%s:' \"$(printf %s \"$word\" | wc -c)\";"
    " printf '%s;' \"$word\"; done\nprintf 'env=%s;' \"$NASTY\"\n";

TEST(WorkerCommand, EveryWordPassesThroughAShellUnchanged) {
  for (const std::string& word : kNasty) {
    EXPECT_EQ(output_of({"/bin/sh", "-c", "printf '%s;' " + shell_quoted(word)}), word + ";");
  }
}

TEST(WorkerCommand, AWordForPeopleIsQuotedWhereAShellNeedsIt) {
  EXPECT_EQ(shell_word("/opt/lib/libcublasLt.so.13"), "/opt/lib/libcublasLt.so.13");
  EXPECT_EQ(shell_word("/opt/my libs/a.so"), "'/opt/my libs/a.so'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_THAT(library_refusal("request.json", "/tmp/a b;c.so"),
              ::testing::EndsWith("--allow-library '/tmp/a b;c.so'"));
}

TEST(WorkerCommand, ARemoteWorkerGetsItsWordsAndItsEnvironment) {
  const testing::FakeSsh ssh;
  ssh.write_program("expertscope-worker", kEcho);
  for (const std::string& word : kNasty) {
    if (word.empty()) continue;  // no library at all
    WorkerCommand command{.program = {},
                          .remote = "user@host",
                          .arguments = {word, "--no-tracing"},
                          .cublaslt = word,
                          .backend = "cpu",
                          .environment = {"NASTY=" + word}};
    const auto argv = command.argv();
    ASSERT_TRUE(argv.ok());
    std::string expected;
    for (const std::string& one : {word, std::string("--no-tracing"), std::string("--cublaslt"),
                                   word, std::string("--backend"), std::string("cpu")}) {
      expected += std::to_string(one.size()) + ":" + one + ";";
    }
    EXPECT_EQ(output_of(argv.value()), expected + "env=" + word + ";");
    EXPECT_FALSE(ssh.owned()) << word;
  }
  EXPECT_EQ(ssh.text("destination"), "user@host\n");
}

TEST(WorkerCommand, ALocalCommandUsesNoShell) {
  const testing::FakeSsh ssh;
  ssh.write_program("expertscope-worker", kEcho);
  WorkerCommand command{.program = ssh.file("expertscope-worker"),
                        .cublaslt = "$(touch owned)'",
                        .environment = {"NASTY=`touch owned`"}};
  EXPECT_EQ(output_of(command.argv().value()),
            "10:--cublaslt;15:$(touch owned)';env=`touch owned`;");
  EXPECT_FALSE(ssh.owned());
}

TEST(WorkerCommand, TheDestinationIsTheNameOfAMachine) {
  for (const char* good : {"host", "user@host.example", "10.0.0.1", "user@fe80::1%eth0",
                           "ssh://user@host:2222", "[::1]", "gpu_1"}) {
    const auto argv = WorkerCommand{.program = {}, .remote = good}.argv();
    ASSERT_TRUE(argv.ok()) << good;
    EXPECT_THAT(argv.value(), ElementsAre("ssh", "-T", "-o", "BatchMode=yes", "--", good,
                                          "'expertscope-worker'"));
  }
  for (const char* bad : {"", "-oProxyCommand=true", "user@-oProxyCommand=true", "user@", "a b",
                          "host;true", "$(true)", "host\n", "`true`", "host'", "\x1b[2J"}) {
    const auto argv = WorkerCommand{.program = {}, .remote = bad}.argv();
    ASSERT_FALSE(argv.ok()) << bad;
    EXPECT_EQ(argv.error().code, engine::ErrorCode::InvalidArgument);
    EXPECT_THAT(argv.error().message, HasSubstr("is not a machine name"));
    EXPECT_EQ(argv.error().message.find('\x1b'), std::string::npos);
  }
}

TEST(WorkerCommand, AZeroByteIsRefused) {
  const auto argv = WorkerCommand{.program = {}, .cublaslt = std::string("/lib\0/x", 7)}.argv();
  ASSERT_FALSE(argv.ok());
  EXPECT_THAT(argv.error().message, HasSubstr("zero byte"));
}

}  // namespace
}  // namespace app
