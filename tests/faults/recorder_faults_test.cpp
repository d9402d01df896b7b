// A recording under kills, full disks, deletes and other programs: every run that was reported as
// written can be read afterwards, and no name is blocked. Seeds are fixed, outcomes are counted.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "app/controllers/recorder.h"
#include "profiling/session/recording_file.h"
#include "tests/faults/recorder_fixture.h"

namespace profiling {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// --- kills --------------------------------------------------------------------------------------

TEST_F(RecorderFaults, TwoHundredKillsLoseNoRunAndBlockNoName) {
  constexpr int kRounds = 200;
  std::mt19937 random(20261122);
  int reported = 0;
  int nothing_there = 0;
  for (int round = 0; round < kRounds; ++round) {
    Child child([&](int report) { record_forever(path_, report); });
    // Half of them while the file is being created, half between and within commits.
    int written = 0;
    if (round % 2 == 1) written = child.one_more() ? 1 : 0;
    ::usleep(static_cast<useconds_t>(random() % 15'000));
    written += child.kill_now();
    reported += written;
    if (fs::exists(path_)) {
      const std::size_t found = runs_in(path_);
      ASSERT_GE(found, static_cast<std::size_t>(written)) << "round " << round;
      ASSERT_LE(found, static_cast<std::size_t>(written) + 1) << "round " << round;
    } else {
      ASSERT_EQ(written, 0);
      ++nothing_there;
      ASSERT_NE(writer_of(path_), nullptr) << "the name is blocked after round " << round;
    }
    ASSERT_THAT(files_in(folder_.file("")),
                testing::Each(testing::AnyOf("a.session", "a.session-wal")))
        << "round " << round << " left another file";
    for (const char* part : {"", "-wal"}) fs::remove(path_ + part);
  }
  fmt::print("{} kills, {} before the file had its name, {} runs reported, none lost\n", kRounds,
             nothing_there, reported);
  injected("killed-recording", kRounds);
  EXPECT_GT(reported, 0);
  EXPECT_GT(nothing_there, 0) << "no kill came while the file was being created";
}

TEST_F(RecorderFaults, KillsWhileClosingOrKeepingNotesLeaveAFileThatOpens) {
  std::mt19937 random(17);
  writer_of(path_)->append(sample_run(0)).ok();
  for (int round = 0; round < 60; ++round) {
    Child child([&](int report) {
      while (store_time_notes(path_, 0, {{.begin_ns = 1, .end_ns = 2}}).ok()) report_one(report);
    });
    ::usleep(static_cast<useconds_t>(random() % 15'000));
    child.kill_now();
    ASSERT_EQ(runs_in(path_), 1U) << "round " << round;
  }
  for (int round = 0; round < 60; ++round) {
    const std::string path = folder_.file(fmt::format("closed-{}", round));
    Child child([&](int report) {
      auto writer = writer_of(path);
      if (writer != nullptr && writer->append(sample_run(0)).ok()) report_one(report);
      if (writer->close().ok()) ::pause();
    });
    ASSERT_TRUE(child.one_more());
    ::usleep(static_cast<useconds_t>(random() % 6'000));
    child.kill_now();
    ASSERT_EQ(runs_in(path), 1U) << "round " << round;
  }
  injected("killed-while-noting", 60);
  injected("killed-while-closing", 60);
}

TEST_F(RecorderFaults, WhatADeadProgramLeftIsRemovedLater) {
  Child dead([](int) {});
  dead.wait_for_end();
  const pid_t gone = [] {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    ::waitpid(pid, nullptr, 0);
    return pid;
  }();
  const std::string old_one = folder_.file(fmt::format(".a.session.{}-0.unpublished", gone));
  const std::string young = folder_.file(fmt::format(".a.session.{}-1.unpublished", gone));
  const std::string living = folder_.file(fmt::format(".a.session.{}-7.unpublished", ::getppid()));
  for (const std::string& name : {old_one, young, living}) std::ofstream(name) << "x";
  for (const std::string& name : {old_one, living}) {
    fs::last_write_time(name, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  ASSERT_NE(writer_of(path_), nullptr);
  EXPECT_FALSE(fs::exists(old_one));
  EXPECT_TRUE(fs::exists(young)) << "another machine may be creating it";
  EXPECT_TRUE(fs::exists(living));
}

/// Where the file system has no files without names, as NFS.
TEST_F(RecorderFaults, AFileWithAHiddenNameGetsItsOwnOrIsRemoved) {
  {
    auto unpublished = UnpublishedFile::create(path_, UnpublishedFile::Naming::Hidden);
    ASSERT_TRUE(unpublished.ok()) << unpublished.error().message;
    EXPECT_FALSE(fs::exists(path_));
    EXPECT_THAT(files_in(folder_.file("")), testing::ElementsAre(HasSubstr(".unpublished")));
    ASSERT_TRUE(unpublished.value().publish().ok());
    EXPECT_THAT(files_in(folder_.file("")), testing::ElementsAre("a.session"));
    auto second = UnpublishedFile::create(path_, UnpublishedFile::Naming::Hidden);
    ASSERT_TRUE(second.ok());
    EXPECT_THAT(second.value().publish().error().message, HasSubstr("exists already"));
  }
  EXPECT_THAT(files_in(folder_.file("")), testing::ElementsAre("a.session"));
}

// --- reading ------------------------------------------------------------------------------------

TEST_F(RecorderFaults, OpensSixtyOfSixtyTimesWhileItIsWritten) {
  Child child([&](int report) { record_forever(path_, report, 20'000); });
  ASSERT_TRUE(child.one_more());
  std::size_t before = 0;
  for (int i = 0; i < 60; ++i) {
    const auto session = open_session(path_);
    ASSERT_TRUE(session.ok()) << "opening " << i << ": " << session.error().message;
    EXPECT_GE(session.value().runs.size(), before);
    before = session.value().runs.size();
    ::usleep(static_cast<useconds_t>(1000 * (i % 7)));
  }
  injected("read-while-written", 60);
}

TEST_F(RecorderFaults, OpeningItsOwnRecordingKeepsTheWritersLocks) {
  const auto writer = writer_of(path_);
  ASSERT_TRUE(writer->append(sample_run(0)).ok());
  ASSERT_EQ(runs_in(path_), 1U);
  ASSERT_TRUE(open_snapshot(path_).ok());
  // Closing any descriptor of a file drops all of the process's locks on it; another process can
  // see that.
  Child other([&](int report) {
    constexpr off_t kSharedLock = 0x40000000 + 2;  // where SQLite's readers and writers hold theirs
    const int file = ::open(path_.c_str(), O_RDWR);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_start = kSharedLock;
    lock.l_len = 510;
    if (::fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) report_one(report);
  });
  EXPECT_EQ(other.wait_for_end(), 1) << "the writer's lock is gone";
}

/// Drops the capabilities with which root reads and writes regardless of permissions. Switching to
/// another user would not do: it cannot reach a file below a private temporary folder.
void drop_permission_overrides() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) ::_exit(100);
}

TEST_F(RecorderFaults, ReadOnlyFoldersOpenWithAndWithoutALog) {
  {
    ASSERT_TRUE(writer_of(folder_.file("closed"))->append(sample_run(0)).ok());
  }
  Child child([&](int report) { record_forever(folder_.file("killed"), report); });
  ASSERT_TRUE(child.one_more());
  child.kill_now();
  const fs::path folder = fs::path(path_).parent_path();
  for (const auto& entry : fs::directory_iterator(folder)) ::chmod(entry.path().c_str(), 0444);
  ::chmod(folder.c_str(), 0555);
  Child reader([&](int report) {
    drop_permission_overrides();
    if (::access(folder.c_str(), W_OK) == 0) ::_exit(101);
    for (const char* name : {"closed", "killed"}) {
      const auto session = open_session(folder_.file(name));
      if (!session.ok()) fmt::print(stderr, "{}\n", session.error().message);
      if (session.ok() && !session.value().runs.empty()) report_one(report);
    }
  });
  EXPECT_EQ(reader.wait_for_end(), 2);
  EXPECT_EQ(files_in(folder), (std::vector<std::string>{"closed", "killed", "killed-wal"}));
  ::chmod(folder.c_str(), 0755);
}

// --- deleted, moved, replaced -------------------------------------------------------------------

TEST_F(RecorderFaults, TheNameIsTakenAway) {
  const std::vector<std::pair<const char*, std::function<void(const std::string&)>>> faults = {
      {"deleted or moved away", [](const std::string& path) { fs::remove(path); }},
      {"deleted or moved away",
       [](const std::string& path) { fs::rename(path, path + ".elsewhere"); }},
      {"replaced by another file",
       [](const std::string& path) {
         std::ofstream(path + ".other") << "mine";
         fs::rename(path + ".other", path);
       }},
      {"lost the -wal file", [](const std::string& path) { fs::remove(path + "-wal"); }},
  };
  int number = 0;
  for (const auto& [words, fault] : faults) {
    // Detected after a commit, and by close() when no commit follows.
    for (const bool at_close : {false, true}) {
      const std::string path = folder_.file(fmt::format("n{}.session", number++));
      const auto writer = writer_of(path);
      ASSERT_TRUE(writer->append(sample_run(0)).ok());
      ASSERT_TRUE(writer->append(sample_run(1)).ok());
      fault(path);
      if (!at_close) {
        ASSERT_TRUE(writer->append(sample_run(2)).ok());
      }
      const engine::Status closed = writer->close();
      ASSERT_TRUE(closed.ok()) << closed.error().message;
      EXPECT_THAT(writer->take_notice(), testing::AllOf(HasSubstr(words), HasSubstr("-2.session")));
      EXPECT_NE(writer->path(), path);
      const auto session = open_session(writer->path());
      ASSERT_TRUE(session.ok()) << session.error().message;
      ASSERT_EQ(session.value().runs.size(), at_close ? 2U : 3U);
      for (std::size_t i = 0; i < session.value().runs.size(); ++i) {
        EXPECT_EQ(describe(session.value().runs[i]), describe(sample_run(static_cast<int>(i))));
      }
      EXPECT_FALSE(fs::exists(path + "-wal")) << "it would be taken for another file's log";
    }
  }
  std::string kept;
  std::ifstream(folder_.file("n4.session")) >> kept;
  EXPECT_EQ(kept, "mine") << "the file that took the name was written to";
  injected("name-taken-away", number);
}

TEST_F(RecorderFaults, TheFolderIsTakenAway) {
  const std::string inner = folder_.file("inner");
  fs::create_directory(inner);
  const auto writer = writer_of(inner + "/faults-test.session");
  ASSERT_TRUE(writer->append(sample_run(0)).ok());
  fs::remove_all(inner);
  ASSERT_TRUE(writer->append(sample_run(1)).ok());
  ASSERT_TRUE(writer->close().ok());
  EXPECT_EQ(runs_in(writer->path()), 2U);
  fs::remove(writer->path());
  injected("folder-taken-away", 1);
}

// --- full disks ---------------------------------------------------------------------------------

TEST_F(RecorderFaults, AFileSizeLimitFailsTheWriteAndTheProgramStays) {
  const auto writer = writer_of(path_);
  ASSERT_TRUE(writer->append(sample_run(0)).ok());
  std::size_t written = 1;
  std::string error;
  {
    const FileSizeLimit limit(fs::file_size(path_ + "-wal") + (1U << 20));
    for (int i = 1; i < 500 && error.empty(); ++i) {
      const engine::Status status = writer->append(sample_run(0));
      status.ok() ? void(++written) : void(error = status.error().message);
    }
    EXPECT_THAT(error, testing::AllOf(HasSubstr("ulimit -f"), HasSubstr("choose another folder"),
                                      HasSubstr(fmt::format("which has {} run(s)", written))));
    EXPECT_EQ(runs_in(path_), written);
  }
  const engine::Status again = writer->append(sample_run(0));
  EXPECT_TRUE(again.ok()) << again.error().message;
  ASSERT_TRUE(writer->close().ok());
  EXPECT_EQ(runs_in(path_), written + 1);
}

TEST_F(RecorderFaults, AFullDiskFailsTheWriteAndTheRecordingGoesOnElsewhere) {
  const std::string disk = folder_.file("disk");
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=3m") != 0) {
    GTEST_SKIP() << "no small disk can be mounted here: " << std::strerror(errno)
                 << " (needs root); AFileSizeLimitFailsTheWriteAndTheProgramStays stands in";
  }
  {
    const auto writer = writer_of(disk + "/a.session");
    std::size_t written = 0;
    std::string error;
    for (int i = 0; i < 500 && error.empty(); ++i) {
      const engine::Status status = writer->append(sample_run(0));
      status.ok() ? void(++written) : void(error = status.error().message);
    }
    EXPECT_THAT(error, testing::AllOf(HasSubstr("the disk is full"), HasSubstr("MB are free"),
                                      HasSubstr(fmt::format("which has {} run(s)", written))));
    EXPECT_EQ(runs_in(disk + "/a.session"), written);
    EXPECT_FALSE(SessionWriter::create(disk + "/b.session").ok());
    EXPECT_FALSE(fs::exists(disk + "/b.session")) << "the name is blocked";
    const engine::Status moved = writer->move_to(path_);
    ASSERT_TRUE(moved.ok()) << moved.error().message;
    ASSERT_TRUE(writer->append(sample_run(0)).ok());
    ASSERT_TRUE(writer->close().ok());
    EXPECT_EQ(runs_in(path_), written + 1);
    EXPECT_EQ(runs_in(disk + "/a.session"), written);
  }
  ::umount(disk.c_str());
  injected("full-disk", 1);
}

TEST_F(RecorderFaults, TheCommandLineSaysWhatIsInTheFile) {
  const std::string requests = folder_.file("requests.jsonl");
  {
    std::ofstream log(requests);
    for (int i = 0; i < 30; ++i) {
      log << R"({"seed": ")" << i
          << R"(", "shape": {"num_experts": 4, "tokens": "256", "n": "256", "k": "256"}})" << "\n";
    }
  }
  const std::string command =
      fmt::format("ulimit -f 900; '{}' run --requests '{}' --record '{}' 2>&1 >/dev/null", PROGRAM,
                  requests, path_);
  std::FILE* pipe = ::popen(fmt::format("bash -c \"{}\"", command).c_str(), "r");
  std::string said;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += static_cast<char>(c);
  const int end = ::pclose(pipe);
  ASSERT_TRUE(WIFEXITED(end)) << "killed by a signal";
  EXPECT_EQ(WEXITSTATUS(end), 1) << said;
  const auto session = open_session(path_);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_GT(session.value().runs.size(), 0U);
  EXPECT_THAT(
      said,
      testing::AllOf(HasSubstr("ulimit -f"),
                     HasSubstr(fmt::format("which has {} run(s)", session.value().runs.size()))));
}

// --- other writers ------------------------------------------------------------------------------

TEST_F(RecorderFaults, ASecondWriterIsRefused) {
  const auto writer = writer_of(path_);
  const auto second = SessionWriter::create(path_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, testing::AnyOf(HasSubstr("exists already"),
                                                     HasSubstr("belongs to another recording")));
  EXPECT_TRUE(writer->append(sample_run(0)).ok());
  ASSERT_TRUE(writer->close().ok());
  EXPECT_EQ(runs_in(path_), 1U);
}

TEST_F(RecorderFaults, ARecordingIsNotChangedByOthersUntilItIsClosed) {
  const auto writer = writer_of(path_);
  ASSERT_TRUE(writer->append(sample_run(0)).ok());
  const auto note = [&] { return store_time_notes(path_, 0, {{.begin_ns = 1, .end_ns = 2}}); };
  // From this process, whose locks would be its own, and from another one.
  EXPECT_THAT(note().error().message, HasSubstr("another program is using the file"));
  Child other([&](int report) {
    if (!note().ok()) report_one(report);
  });
  EXPECT_EQ(other.wait_for_end(), 1);
  ASSERT_TRUE(writer->append(sample_run(1)).ok());
  ASSERT_TRUE(writer->close().ok());
  EXPECT_EQ(writer->path(), path_);
  const engine::Status kept = note();
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  const auto session = open_session(path_);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().runs.size(), 2U);
  EXPECT_EQ(session.value().runs[0].notes.size(), 1U);
  injected("two-writers", 2);
}

TEST_F(RecorderFaults, NotesOfTwoProgramsWaitForEachOther) {
  {
    ASSERT_TRUE(writer_of(path_)->append(sample_run(0)).ok());
  }
  const auto keep_notes = [&](int report) {
    for (int i = 0; i < 40; ++i) {
      if (store_time_notes(path_, 0, {{.begin_ns = i, .end_ns = i, .text = "seen"}}).ok()) {
        report_one(report);
      }
    }
  };
  Child one(keep_notes);
  Child two(keep_notes);
  EXPECT_EQ(one.wait_for_end(), 40);
  EXPECT_EQ(two.wait_for_end(), 40);
  EXPECT_EQ(runs_in(path_), 1U);
  EXPECT_EQ(files_in(folder_.file("")), (std::vector<std::string>{"a.session"}));
}

// --- the window's recorder ----------------------------------------------------------------------

class WindowRecorder : public RecorderFaults {
 protected:
  static app::Recorder::Run a_run() {
    RecordedRun run = sample_run(0);
    run.request = {};
    run.result.effective = {};
    run.result.effective.shape.num_experts = 3;
    run.result.effective.layers = 2;
    run.result.effective.products.passes = engine::StepPasses::ForwardBackward;
    return std::make_shared<const RecordedRun>(std::move(run));
  }
  /// Generous: either the condition becomes true, or the test fails.
  static bool wait_until(const std::function<bool()>& holds) {
    for (int i = 0; i < 3000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  static std::size_t recorded_in(const std::string& path) {
    const auto session = open_session(path);
    EXPECT_TRUE(session.ok()) << session.error().message;
    return session.ok() ? session.value().runs.size() : 0;
  }
};

TEST_F(WindowRecorder, KeepsNoRunAliveAndStillFindsIt) {
  {
    app::Recorder recorder(path_, [] {});
    app::Recorder::Run first = a_run();
    app::Recorder::Run second = a_run();
    recorder.append(first);
    recorder.append(second);
    ASSERT_TRUE(wait_until([&] { return recorder.progress().written.runs == 2; }))
        << recorder.progress().error;
    const std::weak_ptr<const RecordedRun> forgotten = first;
    first.reset();
    EXPECT_TRUE(wait_until([&] { return forgotten.expired(); })) << "the recorder keeps it";
    recorder.set_notes(second, {{.begin_ns = 5, .end_ns = 6, .text = "second"}});
  }
  const auto session = open_session(path_);
  ASSERT_TRUE(session.ok()) << session.error().message;
  ASSERT_EQ(session.value().runs.size(), 2U);
  ASSERT_EQ(session.value().runs[1].notes.size(), 1U);
  EXPECT_EQ(session.value().runs[1].notes[0].text, "second");
}

TEST_F(WindowRecorder, WaitsForRoomAndGoesOn) {
  app::Recorder recorder(path_, [] {});
  recorder.append(a_run());
  ASSERT_TRUE(wait_until([&] { return recorder.progress().written.runs == 1; }))
      << recorder.progress().error;
  {
    const FileSizeLimit limit(fs::file_size(path_ + "-wal"));
    for (int i = 0; i < 20; ++i) recorder.append(a_run());
    ASSERT_TRUE(wait_until([&] { return !recorder.progress().error.empty(); }));
    EXPECT_THAT(recorder.progress().error, HasSubstr("ulimit -f"));
    EXPECT_GT(recorder.progress().waiting, 0U);
    EXPECT_FALSE(recorder.progress().finished);
  }
  EXPECT_TRUE(wait_until([&] { return recorder.progress().written.runs == 21; }))
      << recorder.progress().error;
  EXPECT_EQ(recorder.progress().error, "");
  recorder.finish();
  EXPECT_TRUE(wait_until([&] { return recorder.progress().finished; }));
  EXPECT_EQ(recorded_in(path_), 21U);
}

TEST_F(WindowRecorder, SaysThatItsFileIsGoneAndGoesOnInAnother) {
  app::Recorder recorder(path_, [] {});
  recorder.append(a_run());
  ASSERT_TRUE(wait_until([&] { return recorder.progress().written.runs == 1; }));
  fs::remove(path_);
  // Without a further run: it checks by itself.
  std::vector<std::string> notices;
  ASSERT_TRUE(wait_until([&] {
    notices = recorder.take_notices();
    return !notices.empty();
  }));
  EXPECT_THAT(notices[0], HasSubstr("deleted or moved away"));
  const std::string there = recorder.progress().path;
  EXPECT_EQ(recorded_in(there), 1U);
  recorder.move_to(folder_.file("chosen.session"));
  recorder.append(a_run());
  ASSERT_TRUE(wait_until([&] { return recorder.progress().written.runs == 2; }));
  recorder.finish();
  ASSERT_TRUE(wait_until([&] { return recorder.progress().finished; }));
  EXPECT_EQ(recorder.progress().error, "");
  EXPECT_EQ(recorded_in(folder_.file("chosen.session")), 2U);
  EXPECT_EQ(recorded_in(there), 1U) << "the file so far stays";
}

}  // namespace
}  // namespace profiling
