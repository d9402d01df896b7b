// The parts of a recording: its file, its log, the disks they are on, and links to them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "profiling/session/database_vfs.h"
#include "profiling/session/recording_file.h"
#include "profiling/session/sqlite_handle.h"
#include "profiling/session/stored_file.h"
#include "tests/faults/recorder_fixture.h"

namespace profiling {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Where the file system has no nameless files, the content is on another disk than the file.
TEST_F(RecorderFaults, AFullDiskIsNamedWhereItIs) {
  const auto opened = [&](const char* name) {
    return engine::UniqueFd(::open(folder_.file(name).c_str(), O_RDWR | O_CREAT, 0600));
  };
  StoredFile main(opened("main"), "/elsewhere");
  StoredFile log(engine::UniqueFd(::open("/dev/full", O_RDWR)), "/");
  DatabaseVfs vfs(main, log, DatabaseVfs::Access::Write);
  auto database = vfs.open(path_);
  ASSERT_TRUE(database.ok()) << database.error().message;
  ASSERT_TRUE(
      execute_sql(database.value().get(), path_, "PRAGMA journal_mode=OFF; CREATE TABLE t(x)")
          .ok());
  ASSERT_TRUE(use_log(database.value().get(), path_, 1 << 20).ok());
  const engine::Status full = execute_sql(database.value().get(), path_, "INSERT INTO t VALUES(1)");
  ASSERT_FALSE(full.ok());
  EXPECT_THAT(full.error().message,
              testing::AllOf(HasSubstr("the disk is full"), HasSubstr("MB are free in /, where"),
                             HasSubstr("set TMPDIR")));
}

/// Not another program's doing.
TEST_F(RecorderFaults, AWriteThatCannotBeUndoneIsThisProgramsOwn) {
  StoredFile file(engine::UniqueFd(::open("/dev/full", O_RDWR)));
  ASSERT_TRUE(file.mirror_to(engine::UniqueFd(::open("/dev/null", O_RDWR))));
  EXPECT_FALSE(file.undo_failed());
  const std::array bytes = {std::byte{1}};
  EXPECT_EQ(file.write(bytes, 0), SQLITE_FULL);
  EXPECT_TRUE(file.undo_failed()) << "a device cannot be shortened";
}

/// Merging needs room in the file; the runs are safe, but in two files.
TEST_F(RecorderFaults, ALogThatCannotBeMergedIsSaidToBelongToTheFile) {
  const auto writer = writer_of(path_);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer->append(sample_run(i)).ok());
  engine::Status closed;
  {
    const FileSizeLimit limit(fs::file_size(path_));
    closed = writer->close();
  }
  ASSERT_TRUE(closed.ok()) << closed.error().message;
  EXPECT_THAT(writer->take_notice(),
              testing::AllOf(HasSubstr("belong together"), HasSubstr(path_ + "-wal"),
                             HasSubstr("ulimit -f")));
  ASSERT_TRUE(fs::exists(path_ + "-wal"));
  const auto session = open_session(path_);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().runs.size(), 3U);
  EXPECT_EQ(session.value().doubt, "");
}

/// SQLite ignores a log that is empty or begins with garbage, and opens the file without its runs.
TEST_F(RecorderFaults, ACrashedRecordingWithoutABeginningOfItsLogIsDoubted) {
  Child child([&](int report) { record_forever(path_, report, 1000); });
  ASSERT_TRUE(child.one_more());
  child.kill_now();
  const std::string log = path_ + "-wal";
  const std::string bytes = bytes_of(log);
  EXPECT_EQ(open_session(path_).value().doubt, "");
  constexpr std::size_t kHeader = 32;
  const std::vector<std::pair<const char*, std::function<void()>>> damages = {
      {"emptied", [&] { fs::resize_file(log, 0); }},
      {"header alone", [&] { fs::resize_file(log, kHeader); }},
      {"half a frame", [&] { fs::resize_file(log, kHeader + 1000); }},
      {"zeros", [&] { overwrite(log, std::string(bytes.size(), '\0')); }},
      {"a byte of the header", [&] { change_one_byte(log, 17); }},
      {"a byte of the first frame", [&] { change_one_byte(log, kHeader + 500); }},
  };
  for (const auto& [name, damage] : damages) {
    damage();
    const auto session = open_session(path_);
    ASSERT_TRUE(session.ok()) << name << ": " << session.error().message;
    EXPECT_THAT(session.value().doubt, HasSubstr("a.session-wal is empty or damaged")) << name;
    if (fs::file_size(log) > 0) {
      EXPECT_FALSE(store_run_name(path_, 0, "named").ok()) << name << ": it would drop the log";
    }
    overwrite(log, bytes);
  }
  EXPECT_EQ(open_session(path_).value().doubt, "");
}

/// One that crashed before its first run is complete, and a reader can tell.
TEST_F(RecorderFaults, ANewRecordingHasALogThatBegins) {
  const auto writer = writer_of(path_);
  EXPECT_GT(fs::file_size(path_ + "-wal"), 0U);
  const auto session = open_session(path_);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().doubt, "");
  EXPECT_EQ(session.value().runs.size(), 0U);
}

// --- links --------------------------------------------------------------------------------------

TEST_F(RecorderFaults, ALiveAndACrashedRecordingOpenThroughASymbolicLink) {
  const std::string link = folder_.file("link");
  fs::create_directory(folder_.file("elsewhere"));
  const std::string far_link = folder_.file("elsewhere/link");
  fs::create_symlink("a.session", link);
  fs::create_symlink(path_, far_link);
  Child child([&](int report) { record_forever(path_, report, 1000); });
  int reported = 0;
  for (int i = 0; i < 5; ++i) reported += child.one_more() ? 1 : 0;
  EXPECT_GE(runs_in(link), 5U) << "live";
  reported += child.kill_now();
  for (const std::string& name : {link, far_link}) {
    const auto session = open_session(name);
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_GE(std::ssize(session.value().runs), reported) << name;
    EXPECT_EQ(session.value().doubt, "");
    EXPECT_EQ(session.value().path, name) << "what the user has opened keeps its name";
  }
  ASSERT_TRUE(store_run_name(link, 0, "named").ok());
  EXPECT_GE(static_cast<int>(runs_in(path_)), reported) << "the log was merged, not dropped";
}

TEST_F(RecorderFaults, AHardLinkToAnUnclosedRecordingIsNotCalledComplete) {
  const std::string link = folder_.file("link");
  Child child([&](int report) { record_forever(path_, report); });
  ASSERT_TRUE(child.one_more());
  child.kill_now();
  fs::create_hard_link(path_, link);
  for (const std::string& name : {path_, link}) {
    const auto session = open_session(name);
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_THAT(session.value().doubt,
                testing::AllOf(HasSubstr("2 names (hard links)"), HasSubstr("was not closed")));
  }
  const engine::Status named = store_run_name(link, 0, "named");
  ASSERT_FALSE(named.ok()) << "merging no log into the file would make the real one useless";
  EXPECT_THAT(named.error().message, HasSubstr("hard links"));
  fs::remove(link);
  EXPECT_EQ(open_session(path_).value().doubt, "");
  fs::rename(path_ + "-wal", folder_.file("gone"));
  EXPECT_THAT(open_session(path_).value().doubt, HasSubstr("its log a.session-wal is missing"));
}

TEST_F(RecorderFaults, AClosedRecordingWithTwoNamesIsComplete) {
  {
    ASSERT_TRUE(writer_of(path_)->append(sample_run(0)).ok());
  }
  fs::create_hard_link(path_, folder_.file("link"));
  EXPECT_EQ(open_session(folder_.file("link")).value().doubt, "");
}

}  // namespace
}  // namespace profiling
