// Notes pinned to ranges of time: written with their run, changed after it.
#include <gtest/gtest.h>

#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

TEST(TimeNotes, ChangeWhileRecordingAndAfter) {
  const ScratchFolder folder;
  const std::string path = folder.file("notes.session");
  const SampleCodec codec;
  const std::vector<TimeNote> late = {
      {.begin_ns = 10, .end_ns = 20, .text = "spike", .created_ms = 1}};
  {
    auto writer = SessionWriter::create(path, codec);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer.value()->append(sample_run(1)).ok());
    ASSERT_TRUE(writer.value()->append(sample_run(2)).ok());
    EXPECT_TRUE(writer.value()->set_time_notes(1, late).ok());
    EXPECT_FALSE(writer.value()->set_time_notes(2, late).ok());
  }
  auto session = open_session(path, codec);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().runs[0].notes, sample_run(1).notes);
  EXPECT_EQ(session.value().runs[1].notes, late);

  EXPECT_TRUE(store_time_notes(path, 0, {}).ok());
  EXPECT_FALSE(store_time_notes(path, 7, {}).ok());
  EXPECT_FALSE(store_time_notes(path, 0, {TimeNote{5, 4, "", 1}}).ok());
  session = open_session(path, codec);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_TRUE(session.value().runs[0].notes.empty());
  EXPECT_EQ(session.value().runs[1].notes, late);
}

TEST(TimeNotes, AForeignFileIsRefused) {
  EXPECT_FALSE(store_time_notes("/nowhere/at.all", 0, {}).ok());
}

}  // namespace
}  // namespace profiling
