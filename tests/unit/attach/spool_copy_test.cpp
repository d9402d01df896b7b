// Spools that grow here and their copies that grow elsewhere: a copy can be read at any time.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/attach/spool_folder.h"
#include "app/attach/spool_mirror.h"
#include "app/attach/spool_sender.h"
#include "tests/support/observed_spool.h"

namespace app {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr std::uint64_t kMost = std::uint64_t{1} << 20;

class SpoolCopyTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/copies-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directory(there());
    std::filesystem::create_directory(here());
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string there() const { return folder_ + "/there"; }
  std::string here() const { return folder_ + "/here"; }
  static std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  /// What was copied, in bytes.
  std::size_t copy(SpoolSender& sender, bool ended, std::uint64_t most = kMost) {
    std::size_t bytes = 0;
    all_ = sender.send(ended, most, [&](const SpoolPiece& piece) {
      bytes += piece.bytes.size();
      const engine::Status taken = mirror_.take(piece);
      EXPECT_TRUE(taken.ok()) << taken.error().message;
    });
    return bytes;
  }
  /// Frames of the copy, and what is damaged in it, if it were all that ever arrives.
  std::pair<int, std::uint64_t> read_copy(const std::string& name) const {
    auto reader = profiling::SpoolReader::open(here() + '/' + name);
    if (!reader.ok()) return {-1, 0};
    int frames = 0;
    (void)reader.value()
        .follow(profiling::SpoolReader::Until::End, [&](const profiling::SpoolFrame&) { ++frames; })
        .ok();
    return {frames, reader.value().damaged_frames()};
  }

  std::string folder_;
  bool all_ = false;
  SpoolMirror mirror_{"", kMost};
};

TEST_F(SpoolCopyTest, ACopyGrowsWithItsSpool) {
  mirror_ = SpoolMirror(here(), kMost);
  SpoolSender sender(there());
  EXPECT_EQ(copy(sender, false), 0U);
  profiling::observed_spool(0).write(there() + "/12-34.spool");
  EXPECT_GT(copy(sender, false), sizeof(profiling::spool::FileHeader));
  const std::string first = content(here() + "/12-34.spool");
  EXPECT_EQ(first, content(there() + "/12-34.spool"));
  EXPECT_EQ(copy(sender, false), 0U) << "nothing has changed";
  // A second process, and a release and launches in the first.
  profiling::observed_spool(3).write(there() + "/12-34.spool");
  profiling::observed_spool(0).write(there() + "/13-35.spool");
  copy(sender, false);
  EXPECT_EQ(content(here() + "/12-34.spool"), content(there() + "/12-34.spool"));
  EXPECT_EQ(content(here() + "/13-35.spool"), content(there() + "/13-35.spool"));
  SpoolFolder spools(here());
  ASSERT_TRUE(spools.follow(true).ok());
  EXPECT_THAT(spools.processes(), SizeIs(2));
}

TEST_F(SpoolCopyTest, AnIncompleteFrameIsCopiedWhenItIsCompleteOrTheProgramGone) {
  mirror_ = SpoolMirror(here(), kMost);
  SpoolSender sender(there());
  profiling::HandMadeSpool made = profiling::observed_spool(0);
  const std::uint64_t at =
      made.add(profiling::spool::GraphRead{.graph = 1, .nodes = 2, .result = 0});
  made.add(profiling::spool::GraphRead{.graph = 1, .nodes = 2, .result = 0});
  const std::size_t check = at + offsetof(profiling::spool::FrameHeader, check);
  std::uint64_t right = 0;
  std::memcpy(&right, made.bytes().data() + check, sizeof right);
  made.set<std::uint64_t>(check, 0);
  made.write(there() + "/12.spool");
  copy(sender, false);
  EXPECT_EQ(content(here() + "/12.spool").size(), at);
  EXPECT_EQ(read_copy("12.spool").second, 0U) << "nothing is promised that is not there";
  made.set<std::uint64_t>(check, right);
  made.write(there() + "/12.spool");
  copy(sender, false);
  EXPECT_EQ(content(here() + "/12.spool"), content(there() + "/12.spool"));

  SpoolSender another(there());
  made.set<std::uint64_t>(check, 0);
  made.write(there() + "/12.spool");
  std::filesystem::remove(here() + "/12.spool");
  mirror_ = SpoolMirror(here(), kMost);
  copy(another, true);
  EXPECT_EQ(content(here() + "/12.spool"), content(there() + "/12.spool"));
  EXPECT_EQ(read_copy("12.spool").second, 1U);
}

TEST_F(SpoolCopyTest, MuchIsCopiedInShares) {
  mirror_ = SpoolMirror(here(), kMost);
  SpoolSender sender(there());
  profiling::HandMadeSpool made = profiling::observed_spool(0);
  for (int i = 0; i < 1000; ++i)
    made.add(profiling::spool::GraphRead{.graph = 1, .nodes = 2, .result = 0});
  made.write(there() + "/12.spool");
  int shares = 0;
  do {
    copy(sender, true, 4096);
    ++shares;
    const auto [frames, damaged] = read_copy("12.spool");
    EXPECT_GT(frames, 0);
    EXPECT_LE(damaged, 1U) << "at most the frame that a share ends in";
  } while (!all_ && shares < 1000);
  EXPECT_GT(shares, 5);
  EXPECT_EQ(content(here() + "/12.spool"), content(there() + "/12.spool"));
}

TEST_F(SpoolCopyTest, WhatNoSpoolIsMadeOfIsRefused) {
  mirror_ = SpoolMirror(here(), kMost);
  const auto refusal = [&](SpoolPiece piece) {
    const engine::Status taken = mirror_.take(piece);
    return taken.ok() ? std::string() : taken.error().message;
  };
  for (const std::string name :
       {"../1.spool", "/etc/1.spool", "1.txt", ".spool", "a.spool", "1/2.spool", "output.txt"}) {
    EXPECT_THAT(refusal({.name = name, .at = 0, .bytes = "x"}), HasSubstr("its name")) << name;
  }
  EXPECT_THAT(refusal({.name = "1.spool", .at = 100, .bytes = "x"}), HasSubstr("1 bytes at 100"));
  const std::string header(sizeof(profiling::spool::FileHeader), 'h');
  EXPECT_EQ(refusal({.name = "2.spool", .at = 0, .bytes = header}), "");
  EXPECT_EQ(refusal({.name = "2.spool", .at = header.size(), .bytes = "frame"}), "");
  EXPECT_THAT(refusal({.name = "2.spool", .at = header.size(), .bytes = "again"}),
              HasSubstr("of 2.spool, which has"));
  EXPECT_THAT(
      refusal({.name = "2.spool", .at = header.size() + 5, .bytes = std::string(kMost, 'x')}),
      HasSubstr("may have 1048576"));
  EXPECT_EQ(refusal({.name = "2.spool", .at = 8, .bytes = "H"}), "");
  std::filesystem::create_symlink(folder_ + "/elsewhere", here() + "/3.spool");
  EXPECT_THAT(refusal({.name = "3.spool", .at = 0, .bytes = "x"}), HasSubstr("cannot be written"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/elsewhere"));
}

}  // namespace
}  // namespace app
