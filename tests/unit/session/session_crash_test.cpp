// A writer that dies at any moment leaves a file that opens, with every run whose append returned.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

/// A child process that records endlessly and sends one byte for each append that returned.
class RecordingChild {
 public:
  explicit RecordingChild(const std::string& path) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) record_forever(path, ends[1]);
    ::close(ends[1]);
    from_child_ = ends[0];
  }
  ~RecordingChild() {
    kill_now();
    ::close(from_child_);
  }
  RecordingChild(const RecordingChild&) = delete;
  RecordingChild& operator=(const RecordingChild&) = delete;

  /// Waits for the next finished append.
  bool one_more() const {
    char byte = 0;
    return ::read(from_child_, &byte, 1) == 1;
  }
  /// Kills the child; returns the number of reported but unread finished appends.
  int kill_now() {
    if (pid_ <= 0) return 0;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    int unread = 0;
    while (one_more()) ++unread;
    return unread;
  }

 private:
  [[noreturn]] static void record_forever(const std::string& path, int to_parent) {
    auto writer = SessionWriter::create(path);
    for (int i = 0; writer.ok() && writer.value()->append(sample_run(i % 100)).ok(); ++i) {
      if (::write(to_parent, "+", 1) != 1) break;
    }
    ::_exit(1);
  }
  pid_t pid_ = -1;
  int from_child_ = -1;
};

TEST(SessionCrash, KeepsEveryRunWhoseAppendReturned) {
  for (int round = 0; round < 10; ++round) {
    const ScratchFolder folder;
    const std::string path = folder.file("s");
    int appended = 0;
    {
      RecordingChild child(path);
      while (appended <= round) {
        ASSERT_TRUE(child.one_more());
        ++appended;
      }
      ::usleep(static_cast<useconds_t>(round * 700));  // a different point in the next transaction
      appended += child.kill_now();
    }
    EXPECT_GT(std::filesystem::file_size(path + "-wal"), 0U) << "the crash left no log to read";
    const auto session = open_session(path);
    ASSERT_TRUE(session.ok()) << session.error().message;
    // One more may have been committed before its byte was sent.
    ASSERT_GE(session.value().runs.size(), static_cast<std::size_t>(appended));
    ASSERT_LE(session.value().runs.size(), static_cast<std::size_t>(appended) + 1);
    for (std::size_t i = 0; i < session.value().runs.size(); ++i) {
      EXPECT_EQ(describe(session.value().runs[i]), describe(sample_run(static_cast<int>(i) % 100)));
    }
  }
}

TEST(SessionCrash, OpensWhileTheWriterLives) {
  const ScratchFolder folder;
  auto writer = SessionWriter::create(folder.file("s"));
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer.value()->append(sample_run(0)).ok());
  const auto session = open_session(folder.file("s"));
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().runs.size(), 1U);
  EXPECT_TRUE(writer.value()->append(sample_run(1)).ok()) << "the reader blocked the writer";
}

}  // namespace
}  // namespace profiling
