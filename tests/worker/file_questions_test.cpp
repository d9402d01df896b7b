// Questions about files: commands are read while a file is, the newest question about routing is
// the one that is answered, and a file is read again only once it has changed.
#include "app/worker/file_questions.h"
#include "app/protocol/protocol_version.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "app/protocol/convert.h"
#include "app/worker/command_reader.h"
#include "tests/support/npy_text.h"

namespace app {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// A reader of slow files: a reading ends once it is let go or cancelled.
class SlowFiles {
 public:
  FileQuestions::Reader reader() {
    return [this](const FileQuestion& question,
                  const std::atomic<bool>& cancel) -> engine::Result<FileReport> {
      ++started;
      while (!let_go && !(heeds_cancel && cancel)) std::this_thread::sleep_for(1ms);
      if (cancel && !let_go) return engine::Error{engine::ErrorCode::Cancelled, "cancelled"};
      FileReport report{.path = question.path, .error = {}, .tensors = {}};
      report.asked = question.routing;
      report.routing = engine::RoutingFacts{.source = "read"};
      return report;
    };
  }
  std::atomic<int> started{0};
  std::atomic<bool> let_go{false};
  std::atomic<bool> heeds_cancel{true};
};

class Answers {
 public:
  std::function<void(const FileReport&)> taker() {
    return [this](const FileReport& report) {
      const std::lock_guard lock(mutex_);
      reports_.push_back(report);
    };
  }
  std::vector<FileReport> all() const {
    const std::lock_guard lock(mutex_);
    return reports_;
  }
  bool come(std::size_t count) const {
    for (int i = 0; i < 10000 && all().size() < count; ++i) std::this_thread::sleep_for(1ms);
    return all().size() >= count;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<FileReport> reports_;
};

bool in_time(const std::function<bool()>& true_now) {
  for (int i = 0; i < 10000; ++i) {
    if (true_now()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

FileQuestion routing_question(int layer, const std::string& path = "/slow.json") {
  engine::RoutingSpec routing;
  routing.distribution = engine::RoutingDistribution::File;
  routing.path = path;
  routing.layer = layer;
  return {.path = path, .routing = routing};
}

TEST(FileQuestions, TheNewestAboutRoutingIsReadAndEachIsAnsweredOnce) {
  SlowFiles slow;
  Answers answers;
  FileQuestions files(answers.taker(), slow.reader());
  files.put(routing_question(0));
  ASSERT_TRUE(in_time([&] { return slow.started == 1; }));
  files.put({.path = "/x.npy"});
  for (int layer = 1; layer <= 20; ++layer) files.put(routing_question(layer));
  slow.let_go = true;
  ASSERT_TRUE(answers.come(22));
  std::vector<int> read;
  for (const FileReport& report : answers.all()) {
    EXPECT_EQ(report.superseded, !report.routing.has_value());
    if (report.routing && report.asked) read.push_back(report.asked->layer);
  }
  EXPECT_LE(slow.started, 3) << "the one under way, the tensors, the newest";
  EXPECT_EQ(read.back(), 20);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(answers.all().size(), 22U);
}

TEST(FileQuestions, ANewerOneCancelsTheReadingUnderWay) {
  SlowFiles slow;
  Answers answers;
  FileQuestions files(answers.taker(), slow.reader());
  files.put(routing_question(0));
  ASSERT_TRUE(in_time([&] { return slow.started == 1; }));
  files.put(routing_question(1));
  ASSERT_TRUE(answers.come(1));
  EXPECT_TRUE(answers.all().front().superseded);
  EXPECT_EQ(answers.all().front().asked->layer, 0);
  slow.let_go = true;
  ASSERT_TRUE(answers.come(2));
  EXPECT_FALSE(answers.all().back().superseded);
  EXPECT_EQ(answers.all().back().asked->layer, 1);
}

TEST(FileQuestions, AFileIsReadAgainOnceItHasChanged) {
  const std::string path =
      ::testing::TempDir() + "expertscope_asked_" + std::to_string(::getpid()) + ".json";
  const auto write = [&](const char* text) { std::ofstream(path) << text; };
  std::atomic<int> readings = 0;
  Answers answers;
  FileQuestions files(answers.taker(),
                      [&](const FileQuestion& question, const std::atomic<bool>& cancel) {
                        ++readings;
                        return read_file_report(question, cancel);
                      });
  const auto largest = [&](std::size_t count) {
    files.put(routing_question(0, path));
    EXPECT_TRUE(answers.come(count));
    const FileReport report = answers.all().back();
    return report.routing ? report.routing->largest_step : -1;
  };
  EXPECT_EQ(largest(1), -1) << "no such file yet";
  write("[[2, 1, 1]]");
  EXPECT_EQ(largest(2), 4);
  EXPECT_EQ(largest(3), 4);
  EXPECT_EQ(readings, 2);
  write("[[2, 1, 1], [10, 5, 0]]");
  EXPECT_EQ(largest(4), 15);
  std::remove(path.c_str());
  EXPECT_EQ(largest(5), -1);
}

TEST(FileQuestions, ALoneTensorComesWithTheNamesBesideIt) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("expertscope_beside_" + std::to_string(::getpid()));
  fs::create_directories(folder / "folder.npy");
  for (const char* const name : {"x.npy", "w.npy", "notes.txt"}) {
    std::ofstream(folder / name, std::ios::binary) << engine::npy_floats("2, 2", {1, 2, 3, 4});
  }
  const std::atomic<bool> cancel{false};
  const auto names = [&] {
    const auto report = read_file_report({.path = (folder / "x.npy").string()}, cancel);
    EXPECT_TRUE(report.ok() && report.value().error.empty());
    return report.ok() ? report.value().neighbours : std::vector<std::string>();
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"w.npy", "x.npy"}));
  for (std::size_t i = 2; i < kMaxNeighbours; ++i) {
    std::ofstream(folder / fmt::format("{}.npy", i)) << "later";
  }
  EXPECT_EQ(names().size(), kMaxNeighbours);
  std::ofstream(folder / "one_more.npy") << "later";
  EXPECT_EQ(names(), std::vector<std::string>());
  fs::remove_all(folder);
}

TEST(FileQuestions, OnlyTheNewestFolderIsListedAndAFileStillIsRead) {
  SlowFiles slow;
  Answers answers;
  FileQuestions files(answers.taker(), slow.reader());
  files.put({.path = "/first", .folder = FolderFilter{}});
  ASSERT_TRUE(in_time([&] { return slow.started == 1; }));
  files.put({.path = "/x.npy"});
  files.put({.path = "/second", .folder = FolderFilter{}});
  ASSERT_TRUE(in_time([&] { return slow.started == 2; })) << "the first one is not waited for";
  files.put({.path = "/third", .folder = FolderFilter{}});
  slow.let_go = true;
  ASSERT_TRUE(answers.come(4));
  std::vector<std::string> superseded;
  for (const FileReport& report : answers.all()) {
    if (report.superseded) superseded.push_back(report.path);
    EXPECT_EQ(report.superseded && report.path != "/x.npy", report.listing.has_value());
  }
  EXPECT_EQ(superseded, (std::vector<std::string>{"/first", "/second"}));
}

/// What the worker says of a folder, by way of a frame as it is sent.
FileReport listed(const std::string& path, std::vector<std::string> suffixes = {}) {
  const std::atomic<bool> cancel{false};
  const auto report =
      read_file_report({.path = path, .folder = FolderFilter{std::move(suffixes)}}, cancel);
  if (!report.ok()) return {.path = path, .error = report.error().message, .tensors = {}};
  auto arrived = from_wire(to_wire(report.value()));
  EXPECT_TRUE(arrived.ok()) << arrived.error().message;
  EXPECT_TRUE(arrived.value().listing.has_value());
  return std::move(arrived).value();
}

std::vector<std::string> names_in(const FileReport& report) {
  std::vector<std::string> names;
  for (const FolderEntry& one : report.listing->entries) {
    names.push_back(one.name + (one.folder ? "/" : ""));
  }
  return names;
}

TEST(FileQuestions, AFolderIsListedWithWhateverNamesItHolds) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("expertscope_listed_" + std::to_string(::getpid()));
  fs::create_directories(folder / "sub");
  fs::create_directories(folder / ".hidden");
  for (const char* const name :
       {"x.npy", ".x.npy", "notes.txt", "a\nb.npy", "\x1B[31m.npy", "##.npy", "\xFF.npy"}) {
    std::ofstream(folder / name) << "12345";
  }
  FileReport report = listed(folder, {".npy"});
  EXPECT_EQ(report.error, "");
  EXPECT_EQ(report.listing->folder, folder);
  EXPECT_EQ(names_in(report),
            (std::vector<std::string>{"sub/", "\x1B[31m.npy", "##.npy", "a\nb.npy", "x.npy"}));
  EXPECT_EQ(report.listing->entries.back().bytes, 5U);
  EXPECT_EQ(report.listing->unreadable, 1U);
  EXPECT_FALSE(report.listing->more);

  EXPECT_THAT(listed(folder / "x.npy").error, HasSubstr("cannot be listed: Not a directory"));
  EXPECT_THAT(listed(folder / "gone").error, HasSubstr("cannot be listed: No such file"));
  if (::geteuid() != 0) {  // whom nothing is forbidden
    fs::permissions(folder / "sub", fs::perms::none);
    EXPECT_THAT(listed(folder / "sub").error, HasSubstr("cannot be listed: Permission denied"));
    fs::permissions(folder / "sub", fs::perms::owner_all);
  }
  fs::remove_all(folder);
}

TEST(FileQuestions, AFolderWithTooManyNamesIsListedInPartAndFitsAFrame) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("expertscope_many_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string tail(200, 'n');
  for (std::size_t i = 0; i <= kMaxFolderEntries; ++i) {
    std::ofstream(folder / fmt::format("{}{}", i, tail));
  }
  const FileReport report = listed(folder);
  EXPECT_TRUE(report.listing->more);
  EXPECT_LE(report.listing->entries.size(), kMaxFolderEntries);
  EXPECT_GT(report.listing->entries.size(), kMaxFolderEntries / 2);
  EXPECT_LT(to_wire(report).ByteSizeLong(), 2 * kMaxListedBytes);
  std::atomic<bool> cancel{true};
  const auto cancelled =
      read_file_report({.path = folder.string(), .folder = FolderFilter{}}, cancel);
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, engine::ErrorCode::Cancelled);
  fs::remove_all(folder);
}

TEST(FileQuestions, AListedNameNeverLeadsOutOfItsFolder) {
  for (const std::string& name : {std::string("../x"), std::string("/etc"), std::string(".."),
                                  std::string(), std::string(300, 'n'), std::string("a\0b", 3)}) {
    FileReport report{.path = "/here", .error = {}, .tensors = {}};
    report.listing = FolderListing{.folder = "/here", .entries = {{.name = name}}};
    EXPECT_FALSE(from_wire(to_wire(report)).ok()) << name;
  }
}

TEST(FileQuestions, ClosingDoesNotWaitForADisk) {
  SlowFiles slow;
  slow.heeds_cancel = false;
  Answers answers;
  FileQuestions files(answers.taker(), slow.reader());
  files.put(routing_question(0));
  ASSERT_TRUE(in_time([&] { return slow.started == 1; }));
  EXPECT_FALSE(files.close(5ms));
  slow.let_go = true;
  EXPECT_TRUE(files.close(10s));
  EXPECT_TRUE(answers.all().empty()) << "nobody listens any more";
}

TEST(FileQuestions, AnExceptionIsTheAnswer) {
  Answers answers;
  FileQuestions files(
      answers.taker(),
      [](const FileQuestion&, const std::atomic<bool>&) -> engine::Result<FileReport> {
        throw std::bad_alloc();
      });
  files.put(routing_question(0));
  files.put({.path = "/x.npy"});
  ASSERT_TRUE(answers.come(2));
  for (const FileReport& report : answers.all()) EXPECT_THAT(report.error, HasSubstr("memory"));
}

/// Both ends of a pipe, and what a window sends.
class CommandStream {
 public:
  CommandStream() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }
  ~CommandStream() {
    for (const int end : ends_) ::close(end);
  }
  int reading_end() const { return ends_[0]; }
  void send(const wire::Frame& frame) const {
    const std::string bytes = encode_frame(frame).value();
    ASSERT_EQ(::write(ends_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST(FileQuestions, CommandsAreReadWhileAFileIs) {
  SlowFiles slow;
  slow.heeds_cancel = false;  // not even then
  Answers answers;
  CommandStream commands;
  FrameSender sender{UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC))};
  engine::RunProgress progress;
  OrderSlot orders(progress);
  IdleReadings readings(progress, {});
  FileQuestions files(answers.taker(), slow.reader());
  NewestPing ping;
  CommandReader reader(commands.reading_end(), sender, orders, files, readings, ping);
  wire::Frame frame;
  frame.mutable_hello()->set_protocol_version(protocol_version());
  commands.send(frame);
  *frame.mutable_inspect_file() = to_wire(routing_question(0));
  commands.send(frame);
  *frame.mutable_order() = to_wire(Order{.id = 7, .task = engine::RunRequest()});
  commands.send(frame);
  std::atomic<int> code = -1;
  std::thread thread([&] { code = reader.read_until_end(); });
  EXPECT_TRUE(in_time([&] { return slow.started == 1; }));
  const std::optional<Order> order = orders.wait_next();
  EXPECT_EQ(order->id, 7U);
  frame.mutable_cancel();
  commands.send(frame);
  EXPECT_TRUE(in_time([&] { return progress.cancel.load(); }));
  frame.mutable_shutdown();
  commands.send(frame);
  EXPECT_TRUE(in_time([&] { return code == 0; }));
  thread.join();
  EXPECT_TRUE(answers.all().empty()) << "all of it while the file was being read";
  slow.let_go = true;
}

}  // namespace
}  // namespace app
