// A recording whose file or log another program changes in place: every run that was reported as
// written can be read afterwards, or the reader doubts it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "app/controllers/recorder.h"
#include "profiling/session/live_recording.h"
#include "profiling/session/recording_file.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/stored_file.h"
#include "tests/faults/recorder_fixture.h"

namespace profiling {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// --- changed in place ---------------------------------------------------------------------------

/// A change of the same file, as opposed to another file under its name.
struct ChangeInPlace {
  const char* name;
  const char* suffix;  // of the file that is changed
  std::function<void(const std::string& file)> change;
};

std::vector<ChangeInPlace> changes_in_place(const std::string& other_recording) {
  const auto empty = [](const std::string& file) { fs::resize_file(file, 0); };
  const auto half = [](const std::string& file) { fs::resize_file(file, fs::file_size(file) / 2); };
  const auto byte = [](const std::string& file) { change_one_byte(file, fs::file_size(file) / 2); };
  const auto other = [=](const std::string& file) { overwrite(file, other_recording); };
  const auto longer = [](const std::string& file) {
    std::ofstream(file, std::ios::binary | std::ios::app) << "more";
  };
  std::vector<ChangeInPlace> changes;
  for (const char* suffix : {"", "-wal"}) {
    changes.push_back({"emptied", suffix, empty});
    changes.push_back({"halved", suffix, half});
    changes.push_back({"one byte", suffix, byte});
    changes.push_back({"overwritten with another recording", suffix, other});
    changes.push_back({"appended to", suffix, longer});
  }
  return changes;
}

class ChangedInPlace : public RecorderFaults {
 protected:
  void SetUp() override {
    RecorderFaults::SetUp();
    const std::string other = folder_.file("other");
    ASSERT_TRUE(writer_of(other)->append(sample_run(5)).ok());
    changes_ = changes_in_place(bytes_of(other));
  }
  /// Every run that was reported as recorded is where the writer says.
  void expect_all_there(SessionWriter& writer, int runs, const std::string& fault) {
    const engine::Status closed = writer.close();
    ASSERT_TRUE(closed.ok()) << fault << ": " << closed.error().message;
    const auto session = open_session(writer.path());
    ASSERT_TRUE(session.ok()) << fault << ": " << session.error().message;
    EXPECT_EQ(session.value().doubt, "") << fault;
    ASSERT_EQ(std::ssize(session.value().runs), runs) << fault;
    for (int i = 0; i < runs; ++i) {
      EXPECT_EQ(describe(session.value().runs[static_cast<std::size_t>(i)]),
                describe(sample_run(i)))
          << fault;
    }
  }
  /// Reports once it is done; a log may have been removed by then.
  static void change_later(const std::string& path, const ChangeInPlace& change, useconds_t pause,
                           int report) {
    ::usleep(pause);
    std::error_code gone;
    if (!fs::exists(path + change.suffix, gone)) return;
    try {
      change.change(path + change.suffix);
      report_one(report);
    } catch (const fs::filesystem_error&) {  // removed meanwhile
    }
  }
  void remove_rounds() {
    for (const std::string& name : files_in(folder_.file(""))) {
      if (name.starts_with("r")) fs::remove(folder_.file(name));
    }
  }
  std::vector<ChangeInPlace> changes_;
};

TEST_F(ChangedInPlace, TheRecordingGoesOnUnderAnotherNameWithEveryRun) {
  int number = 0;
  for (const ChangeInPlace& change : changes_) {
    // Detected by the next append, and by close() when no append follows.
    for (const bool at_close : {false, true}) {
      const std::string path = folder_.file(fmt::format("n{}.session", number++));
      const auto writer = writer_of(path);
      ASSERT_TRUE(writer->append(sample_run(0)).ok());
      ASSERT_TRUE(writer->append(sample_run(1)).ok());
      change.change(path + change.suffix);
      const std::string changed = bytes_of(path);
      if (!at_close) {
        ASSERT_TRUE(writer->append(sample_run(2)).ok());
      }
      const std::string fault =
          fmt::format("{}{}, at close: {}", change.name, change.suffix, at_close);
      expect_all_there(*writer, at_close ? 2 : 3, fault);
      EXPECT_THAT(writer->take_notice(),
                  testing::AllOf(HasSubstr("by another program"), HasSubstr("-2.session")))
          << fault;
      EXPECT_NE(writer->path(), path) << fault;
      EXPECT_EQ(bytes_of(path), changed) << fault << ": the other program's file was written to";
      EXPECT_FALSE(fs::exists(path + "-wal")) << "it would be taken for another file's log";
    }
  }
  injected("changed-in-place", number);
}

TEST_F(ChangedInPlace, WhatOnlyLooksChangedStays) {
  const auto writer = writer_of(path_);
  ASSERT_TRUE(writer->append(sample_run(0)).ok());
  fs::last_write_time(path_, fs::file_time_type::clock::now());
  fs::create_hard_link(path_, folder_.file("backup"));
  ::chmod((path_ + "-wal").c_str(), 0600);
  ASSERT_TRUE(writer->append(sample_run(1)).ok());
  expect_all_there(*writer, 2, "touched");
  EXPECT_EQ(writer->path(), path_);
  EXPECT_EQ(writer->take_notice(), "");
}

/// At random moments of appends and of closing, from another process, until the writer is done.
TEST_F(ChangedInPlace, AtRandomMomentsNoRunIsLost) {
  constexpr int kRounds = 150;
  std::mt19937 random(20261125);
  int moved = 0;
  int changed_before = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string path = folder_.file(fmt::format("r{}.session", round));
    const ChangeInPlace& change = changes_[random() % changes_.size()];
    const auto pause = static_cast<useconds_t>(random() % 12'000);
    const auto writer = writer_of(path);
    Child other([&](int report) { change_later(path, change, pause, report); });
    constexpr int kRuns = 4;
    for (int i = 0; i < kRuns; ++i) {
      const engine::Status status = writer->append(sample_run(i));
      ASSERT_TRUE(status.ok()) << status.error().message;
    }
    const bool before_closing = other.has_reported();
    const engine::Status closed = writer->close();
    ASSERT_TRUE(closed.ok()) << closed.error().message;
    const bool was_moved = writer->path() != path;
    moved += was_moved ? 1 : 0;
    changed_before += before_closing ? 1 : 0;
    EXPECT_EQ(writer->take_notice().empty(), !was_moved);
    other.wait_for_end();
    // A change that comes after close() is another program's own business.
    if (was_moved || before_closing) {
      const auto session = open_session(writer->path());
      ASSERT_TRUE(session.ok()) << change.name << change.suffix << ": " << session.error().message;
      EXPECT_EQ(session.value().doubt, "") << change.name << change.suffix;
      EXPECT_EQ(std::ssize(session.value().runs), kRuns) << change.name << change.suffix;
    }
    remove_rounds();
  }
  fmt::print("{} changes in place at random moments, {} before closing, {} recordings moved\n",
             kRounds, changed_before, moved);
  EXPECT_GT(changed_before, 0);
  EXPECT_GT(moved, 0);
  injected("changed-in-place-at-random", kRounds);
}

/// The writer is killed as well: what it had reported is in a file, or the reader doubts it. Not
/// where the end of the log is gone, or cannot be read: so does one end whose writer died earlier.
TEST_F(ChangedInPlace, AtRandomMomentsOfAKilledWriterNothingIsMissingUnsaid) {
  constexpr int kRounds = 50;
  std::mt19937 random(20261126);
  std::erase_if(changes_, [](const ChangeInPlace& change) {
    const std::string_view name = change.name;
    return *change.suffix != '\0' && (name == "halved" || name == "one byte");
  });
  int whole = 0;
  int doubted = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string path = folder_.file(fmt::format("r{}.session", round));
    const ChangeInPlace& change = changes_[random() % changes_.size()];
    const auto pause = static_cast<useconds_t>(random() % 20'000);
    Child writer([&](int report) { record_forever(path, report, 1000); });
    int reported = writer.one_more() ? 1 : 0;
    ASSERT_EQ(reported, 1);
    Child other([&](int report) { change_later(path, change, pause, report); });
    ::usleep(static_cast<useconds_t>(random() % 25'000));
    reported += writer.kill_now();
    other.wait_for_end();
    int most = 0;
    bool doubt = false;
    for (const std::string& name : files_in(folder_.file(""))) {
      if (!name.starts_with("r") || !name.ends_with(".session")) continue;
      const auto session = open_session(folder_.file(name));
      doubt = doubt || !session.ok() || !session.value().doubt.empty();
      if (session.ok()) most = std::max(most, static_cast<int>(session.value().runs.size()));
    }
    EXPECT_TRUE(most >= reported || doubt)
        << change.name << change.suffix << ": " << most << " of " << reported << " runs";
    whole += most >= reported ? 1 : 0;
    doubted += doubt ? 1 : 0;
    remove_rounds();
  }
  fmt::print("{} killed writers of changed files: {} recordings whole, {} doubted or refused\n",
             kRounds, whole, doubted);
  EXPECT_GT(whole, 0);
  EXPECT_GT(doubted, 0);
  injected("changed-in-place-and-killed", kRounds);
}

/// While SQLite writes: this program's own change of the file must not hide the other one.
TEST_F(ChangedInPlace, AChangeDuringATransactionIsNoticedByTheNextCheck) {
  const auto fill = [](sqlite3* empty) {
    return execute_sql(empty, "test",
                       "CREATE TABLE t(value); INSERT INTO t VALUES(zeroblob(9999))");
  };
  auto created = LiveRecording::create(path_, fill);
  ASSERT_TRUE(created.ok()) << created.error().message;
  LiveRecording& live = *created.value();
  const auto insert = [&] {
    return execute_sql(live.database(), path_, "INSERT INTO t VALUES(zeroblob(9999))");
  };
  ASSERT_TRUE(live.in_transaction(insert).ok());
  ASSERT_EQ(live.displacement(), "");
  for (const char* suffix : {"", "-wal"}) {
    ASSERT_TRUE(live.in_transaction([&] {
                      // No step of the clock may hide it either.
                      std::this_thread::sleep_for(std::chrono::milliseconds(30));
                      change_one_byte(path_ + suffix, fs::file_size(path_ + suffix) / 2);
                      std::this_thread::sleep_for(std::chrono::milliseconds(30));
                      return insert();
                    })
                    .ok());
    EXPECT_THAT(live.displacement(), HasSubstr("by another program")) << suffix;
    ASSERT_TRUE(live.write_back());
    EXPECT_EQ(live.displacement(StoredFile::Check::EveryByte), "") << suffix;
  }
}

/// Within one step of the clock that times of files are taken from.
TEST_F(ChangedInPlace, AChangeWithTheTimeOfTheLastWriteIsNoticedSoon) {
  StoredFile file(
      engine::UniqueFd(::open(folder_.file("content").c_str(), O_RDWR | O_CREAT, 0600)));
  ASSERT_TRUE(file.mirror_to(
      engine::UniqueFd(::open(folder_.file("mirror").c_str(), O_RDWR | O_CREAT, 0600))));
  const std::array bytes = {std::byte{1}, std::byte{2}};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(file.write(bytes, 0), SQLITE_OK);
    ASSERT_TRUE(file.mirror_matches(StoredFile::Check::EveryByte));  // forgets the last change
    const std::optional<FileState> left = state_of(file.mirror());
    const std::array changed = {std::byte{3}};
    ASSERT_TRUE(write_at(file.mirror(), changed, 0));
    if (state_of(file.mirror()) != left) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    EXPECT_FALSE(file.mirror_matches(StoredFile::Check::IfTouched));
    return;
  }
  GTEST_SKIP() << "here every change has a time of its own";
}

/// No folder has room for a copy, or they are all gone.
TEST_F(ChangedInPlace, WithoutRoomForACopyTheLogIsLeftAndBothFilesAreNamed) {
  for (const bool empty : {true, false}) {
    const std::string path = folder_.file(empty ? "empty.session" : "runs.session");
    const auto writer = writer_of(path);
    if (!empty) {
      ASSERT_TRUE(writer->append(sample_run(0)).ok());
    }
    const std::string log = bytes_of(path + "-wal");
    ASSERT_FALSE(log.empty());
    fs::resize_file(path, 0);
    engine::Status closed;
    {
      const FileSizeLimit limit(4096);
      closed = writer->close();
    }
    ASSERT_FALSE(closed.ok());
    EXPECT_THAT(closed.error().message,
                testing::AllOf(HasSubstr("overwritten or shortened"), HasSubstr(path),
                               HasSubstr(path + "-wal"), HasSubstr("keep both together")));
    EXPECT_EQ(bytes_of(path + "-wal"), log) << "the only intact copy of what was recorded";
    EXPECT_EQ(writer->path(), path);
    EXPECT_FALSE(writer->discard_if_empty()) << "it is not this program's to remove";
    EXPECT_TRUE(fs::exists(path));
    EXPECT_FALSE(writer->close().ok()) << "a failure does not become a success later";
  }
}

/// This process can open no further file while it lives.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);
    ::close(next);
    const rlimit lower{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
};

TEST_F(ChangedInPlace, WhereNoCopyCanBeMadeTheFileIsMadeWhatItWas) {
  for (const ChangeInPlace& change : changes_) {
    const std::string fault = fmt::format("{}{}", change.name, change.suffix);
    const std::string path = folder_.file("back.session");
    const auto writer = writer_of(path);
    ASSERT_TRUE(writer->append(sample_run(0)).ok());
    change.change(path + change.suffix);
    engine::Status closed;
    {
      const NoMoreFiles limit;
      closed = writer->close();
    }
    ASSERT_TRUE(closed.ok()) << fault << ": " << closed.error().message;
    EXPECT_EQ(writer->path(), path) << fault;
    EXPECT_THAT(writer->take_notice(),
                testing::AllOf(HasSubstr("by another program"), HasSubstr("was undone")))
        << fault;
    const auto session = open_session(path);
    ASSERT_TRUE(session.ok()) << fault << ": " << session.error().message;
    EXPECT_EQ(session.value().runs.size(), 1U) << fault;
    EXPECT_EQ(session.value().doubt, "") << fault;
    EXPECT_FALSE(fs::exists(path + "-wal")) << fault;
    fs::remove(path);
  }
}

/// What another program wrote just before the end, when no check but the last one sees it.
TEST_F(ChangedInPlace, TheWindowNamesTheFileThatClosingMadeOfAChangedOne) {
  app::Recorder recorder(path_, [] {});
  const auto run = std::make_shared<const RecordedRun>(sample_run(0));
  recorder.append(run);
  const auto until = [](const auto& holds) {
    for (int i = 0; i < 3000 && !holds(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return holds();
  };
  ASSERT_TRUE(until([&] { return recorder.progress().written.runs == 1; }));
  // Through memory, the second write into a page leaves no trace in the times of the file.
  // In a page that closing does not write: it is the same in a recording of this run that is
  // closed.
  const std::string closed = folder_.file("closed");
  ASSERT_TRUE(writer_of(closed)->append(*run).ok());
  const std::string before = bytes_of(path_);
  const std::string after = bytes_of(closed);
  constexpr std::size_t kPage = 4096;
  std::size_t at = std::min(before.size(), after.size()) / kPage * kPage - kPage;
  while (at > 0 && before.compare(at, kPage, after, at, kPage) != 0) at -= kPage;
  ASSERT_GT(at, 0U);
  const engine::UniqueFd file(::open(path_.c_str(), O_RDWR));
  void* memory = ::mmap(nullptr, before.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const byte = static_cast<volatile char*>(memory) + at + 200;
  *byte = *byte;
  for (int i = 0; i < 5; ++i) {  // the recorder compares, and is then sure
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    recorder.set_name(std::make_shared<const RecordedRun>(), "of none");
    ASSERT_TRUE(until([&] { return recorder.progress().waiting == 0; }));
  }
  *byte = static_cast<char>(*byte ^ 1);
  recorder.finish();
  ASSERT_TRUE(until([&] { return recorder.progress().finished; }));
  ::munmap(memory, before.size());
  const app::Recorder::Progress progress = recorder.progress();
  EXPECT_EQ(progress.error, "");
  EXPECT_EQ(progress.path, folder_.file("a-2.session"));
  EXPECT_EQ(runs_in(progress.path), 1U);
}

/// What lies beside a recording under SQLite's name for shared memory is not this program's.
TEST_F(ChangedInPlace, NoIndexFileIsReadWrittenOrCreated) {
  const std::string precious = folder_.file("precious");
  overwrite(precious, "mine");
  const auto writer = writer_of(path_);
  fs::create_hard_link(precious, path_ + "-shm");
  ASSERT_TRUE(writer->append(sample_run(0)).ok());
  EXPECT_EQ(runs_in(path_), 1U);
  ASSERT_TRUE(writer->close().ok());
  ASSERT_TRUE(store_run_name(path_, 0, "named").ok());
  EXPECT_EQ(runs_in(path_), 1U);
  EXPECT_EQ(bytes_of(precious), "mine");
  fs::remove(path_ + "-shm");
  ASSERT_EQ(::mkfifo((path_ + "-shm").c_str(), 0600), 0);
  EXPECT_EQ(runs_in(path_), 1U);
  ASSERT_TRUE(store_run_name(path_, 0, "again").ok());
}

}  // namespace
}  // namespace profiling
