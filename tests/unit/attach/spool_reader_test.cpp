#include "profiling/attach/spool/spool_reader.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/hand_made_spool.h"

namespace profiling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SpoolReading : public testing::Test {
 protected:
  const std::string path_ = testing::TempDir() + "/reader.spool";

  std::vector<std::uint64_t> addresses(SpoolReader& reader, SpoolReader::Until until) {
    std::vector<std::uint64_t> found;
    const engine::Status read = reader.follow(until, [&](const SpoolFrame& frame) {
      spool::Allocation made{};
      if (frame.read(made)) found.push_back(made.address);
    });
    EXPECT_TRUE(read.ok());
    return found;
  }
  SpoolReader opened() {
    auto reader = SpoolReader::open(path_);
    EXPECT_TRUE(reader.ok());
    return std::move(reader).value();
  }
};

spool::Allocation allocation(std::uint64_t address) {
  return {.address = address,
          .bytes = 64,
          .stream = 0,
          .pool = 0,
          .memory = spool::MemoryKind::Device,
          .in_capture = 0};
}

TEST_F(SpoolReading, FramesAreReadOnceWhileTheFileGrows) {
  HandMadeSpool made;
  made.add(allocation(1));
  made.write(path_);
  SpoolReader reader = opened();
  EXPECT_THAT(addresses(reader, SpoolReader::Until::Incomplete), ElementsAre(1));
  EXPECT_THAT(addresses(reader, SpoolReader::Until::Incomplete), ElementsAre());
  made.add(allocation(2));
  made.add(allocation(3));
  made.write(path_);
  EXPECT_THAT(addresses(reader, SpoolReader::Until::Incomplete), ElementsAre(2, 3));
}

TEST_F(SpoolReading, AnIncompleteFrameIsAwaitedAndInTheEndSkipped) {
  HandMadeSpool made;
  made.add(allocation(1));
  const std::uint64_t torn = made.add(allocation(2));
  made.add(allocation(3));
  made.set<std::uint64_t>(torn + offsetof(spool::FrameHeader, check), 0);
  made.write(path_);
  SpoolReader reader = opened();
  EXPECT_THAT(addresses(reader, SpoolReader::Until::Incomplete), ElementsAre(1));
  EXPECT_EQ(reader.damaged_frames(), 0U);
  EXPECT_THAT(addresses(reader, SpoolReader::Until::End), ElementsAre(3));
  EXPECT_EQ(reader.damaged_frames(), 1U);
}

TEST_F(SpoolReading, WaitsOfUnknownCallsAreLeftOut) {
  HandMadeSpool made;
  const auto wait = [&](std::size_t slot, spool::WaitCall call) {
    const std::size_t at = offsetof(spool::FileHeader, waits) + slot * sizeof(spool::Wait);
    made.set<std::uint32_t>(at + offsetof(spool::Wait, thread), 7);
    made.set<spool::WaitCall>(at + offsetof(spool::Wait, call), call);
    made.set<std::uint64_t>(at + offsetof(spool::Wait, since), 1);
  };
  constexpr auto kLast = spool::kLastWaitCall;
  wait(0, kLast);
  wait(1, spool::WaitCall{static_cast<std::uint32_t>(kLast) + 1});
  made.write(path_);
  SpoolReader reader = opened();
  addresses(reader, SpoolReader::Until::Incomplete);
  ASSERT_EQ(reader.state().waits.size(), 1U);
  EXPECT_EQ(reader.state().waits[0].call, kLast);
}

TEST_F(SpoolReading, AFrameWithoutLengthIsSkippedByTheNextBeginning) {
  HandMadeSpool made;
  made.add(allocation(1));
  const std::uint64_t torn = made.add(allocation(2));
  made.add(allocation(3));
  for (std::uint64_t at = torn; at < torn + sizeof(spool::FrameHeader) + sizeof(spool::Allocation);
       ++at) {
    made.bytes()[at] = {};
  }
  made.write(path_);
  SpoolReader reader = opened();
  EXPECT_THAT(addresses(reader, SpoolReader::Until::End), ElementsAre(1, 3));
  EXPECT_EQ(reader.damaged_frames(), 1U);
}

TEST_F(SpoolReading, EveryTruncationGivesAPrefix) {
  HandMadeSpool made;
  for (std::uint64_t address = 1; address <= 5; ++address) made.add(allocation(address));
  made.write(path_);
  for (std::uint64_t length = sizeof(spool::FileHeader); length <= made.end(); ++length) {
    std::filesystem::resize_file(path_, length);
    SpoolReader reader = opened();
    const std::vector<std::uint64_t> found = addresses(reader, SpoolReader::Until::End);
    const std::size_t whole = (length - sizeof(spool::FileHeader)) /
                              (sizeof(spool::FrameHeader) + sizeof(spool::Allocation));
    ASSERT_EQ(found.size(), whole) << length;
    made.write(path_);
  }
}

TEST_F(SpoolReading, OtherFilesAreRefusedWithTheReason) {
  HandMadeSpool made;
  made.set<std::uint32_t>(offsetof(spool::FileHeader, version), 9);
  made.write(path_);
  auto reader = SpoolReader::open(path_);
  ASSERT_FALSE(reader.ok());
  EXPECT_THAT(reader.error().message, HasSubstr("version 9"));
  std::ofstream(path_, std::ios::trunc) << "text";
  EXPECT_THAT(SpoolReader::open(path_).error().message, HasSubstr("too short"));
  std::ofstream(path_, std::ios::trunc) << std::string(sizeof(spool::FileHeader), 'x');
  EXPECT_THAT(SpoolReader::open(path_).error().message, HasSubstr("not the record"));
}

TEST_F(SpoolReading, LaunchCountsComeFromTheHeader) {
  HandMadeSpool made;
  made.count(7, 0xE0, 1, 42, 99);
  made.write(path_);
  const SpoolReader reader = opened();
  ASSERT_EQ(reader.state().graphs.size(), 1U);
  EXPECT_EQ(reader.state().graphs[0].launches, 42U);
}

}  // namespace
}  // namespace profiling
