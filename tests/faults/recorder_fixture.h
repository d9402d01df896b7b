// What the tests of a recording's faults share: a child process that is killed, limits, and counts.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/protocol/descriptor.h"
#include "profiling/session/session_file.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {

namespace fs = std::filesystem;
/// A child process that works until it is killed and reports what it did, one byte each.
class Child {
 public:
  explicit Child(const std::function<void(int report)>& work) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      work(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    reports_ = ends[0];
  }
  ~Child() {
    kill_now();
    ::close(reports_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool one_more() const {
    char byte = 0;
    return ::read(reports_, &byte, 1) == 1;
  }
  /// Without waiting.
  bool has_reported() const {
    pollfd report{.fd = reports_, .events = POLLIN, .revents = 0};
    return ::poll(&report, 1, 0) == 1 && (report.revents & POLLIN) != 0;
  }
  /// Returns how much it had reported that was unread.
  int kill_now() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    return wait_for_end();
  }
  int wait_for_end() {
    if (pid_ <= 0) return 0;
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    int unread = 0;
    while (one_more()) ++unread;
    return unread;
  }

 private:
  pid_t pid_ = -1;
  int reports_ = -1;
};

inline void report_one(int to) {
  if (::write(to, "+", 1) != 1) ::_exit(1);
}

/// With pauses, or a reader would get a file that grows as fast as it reads.
inline void record_forever(const std::string& path, int report, useconds_t pause_us = 0) {
  auto writer = SessionWriter::create(path);
  const RecordedRun run = sample_run(1);
  while (writer.ok() && writer.value()->append(run).ok()) {
    report_one(report);
    ::usleep(pause_us);
  }
}

inline std::size_t runs_in(const std::string& path) {
  const auto session = open_session(path);
  EXPECT_TRUE(session.ok()) << session.error().message;
  return session.ok() ? session.value().runs.size() : 0;
}

inline std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Soft limit on file sizes (ulimit -f) while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uintmax_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit lower{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &lower);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

inline void overwrite(const std::string& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

/// Without a trace in size or time of modification.
inline void change_one_byte(const std::string& file, std::uintmax_t at) {
  const auto modified = fs::last_write_time(file);
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte);
  }
  fs::last_write_time(file, modified);
}

/// For the campaign's count.
inline void injected(const char* kind, int count) { fmt::print("faults {} {}\n", kind, count); }

class RecorderFaults : public testing::Test {
 protected:
  void SetUp() override { app::set_write_signals(app::ClosedPipe::FailsWrite); }
  std::unique_ptr<SessionWriter> writer_of(const std::string& path) {
    auto created = SessionWriter::create(path);
    EXPECT_TRUE(created.ok()) << created.error().message;
    return created.ok() ? std::move(created).value() : nullptr;
  }
  const ScratchFolder folder_;
  const std::string path_ = folder_.file("a.session");
};

}  // namespace profiling
