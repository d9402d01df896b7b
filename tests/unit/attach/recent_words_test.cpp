// What a hanging process did last, from frames to words.
#include "app/attach/recent_words.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/observe.h"

namespace app {
namespace {

using profiling::ObservedProcess;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace spool = profiling::spool;

constexpr std::uint64_t kBlock = 0x7f0000000000;

class RecentWords : public testing::Test {
 protected:
  std::uint64_t allocate(std::uint64_t address) {
    return spool_.add(spool::Allocation{.address = address,
                                        .bytes = 4096,
                                        .stream = 0,
                                        .pool = 0,
                                        .memory = spool::MemoryKind::Device,
                                        .in_capture = 0});
  }
  std::uint64_t release(std::uint64_t address) {
    return spool_.add(spool::Release{.address = address,
                                     .bytes = 0,
                                     .stream = 0,
                                     .memory = spool::MemoryKind::Device,
                                     .in_capture = 0});
  }
  /// Of one memset.
  void graph(std::uint64_t number, std::uint64_t address,
             spool::GraphReason reason = spool::GraphReason::Instantiated) {
    spool_.add(spool::GraphBegan{
        .graph = number, .exec = 0xE0 + number, .source = 0x60, .reason = reason, .nodes = 1});
    spool::Node node{};
    node.graph = number;
    node.node = 0x100 * number;
    node.parent = -1;
    node.type = 2;
    node.memset = {
        .address = address, .width = 64, .height = 1, .pitch = 0, .value = 0, .element_bytes = 1};
    spool_.add(node);
    spool_.add(spool::GraphRead{.graph = number, .nodes = 1, .result = 0});
  }
  void call(std::uint64_t number, const std::string& name) {
    spool_.add(spool::NodeCall{.exec = 0xE0 + number,
                               .node = 0x100 * number,
                               .call_bytes = static_cast<std::uint32_t>(name.size()),
                               .unused = 0},
               name);
  }
  std::string words(std::uint64_t graph, std::uint64_t since) {
    const ObservedProcess process = profiling::observe(spool_);
    return recent_words(process, process.snapshot(), graph, since);
  }

  profiling::HandMadeSpool spool_;
};

TEST_F(RecentWords, MemoryOfTheGraphComesBeforeOther) {
  allocate(kBlock);
  graph(1, kBlock + 64);
  const std::uint64_t released = release(kBlock);
  const std::uint64_t again = allocate(kBlock);  // the graph's address, with another owner
  for (std::uint64_t other = 1; other < 5; ++other) {
    allocate(kBlock + 4096 * other);
    release(kBlock + 4096 * other);
  }
  const std::string said = words(1, again + 5);
  EXPECT_THAT(said, HasSubstr(fmt::format("Newest releases of memory of graph 1: \"cudaMalloc 1\" "
                                          "(4 KiB), held by memset (node 0), {} ns "
                                          "before the wait. ",
                                          again + 5 - released)));
  EXPECT_THAT(said, HasSubstr("Newest allocations of memory of graph 1: \"cudaMalloc 2\" (4 KiB), "
                              "held by memset (node 0), 5 ns before the wait; "
                              "\"cudaMalloc 1\""));
  EXPECT_THAT(said, HasSubstr("No updates are known. "));
}

TEST_F(RecentWords, OtherMemoryIsSaidToBeOther) {
  allocate(kBlock);
  graph(1, kBlock);
  std::uint64_t last = 0;
  for (std::uint64_t other = 1; other < 6; ++other) {
    allocate(kBlock + 4096 * other);
    last = release(kBlock + 4096 * other);
  }
  const std::string said = words(1, last - 3);
  EXPECT_THAT(said,
              HasSubstr("Newest releases, none of them of memory of graph 1: \"cudaMalloc 6\" "
                        "(4 KiB), 3 ns into the wait; \"cudaMalloc 5\" (4 KiB), "));
  EXPECT_THAT(said, AllOf(HasSubstr("; \"cudaMalloc 4\""), Not(HasSubstr("\"cudaMalloc 3\""))));
  // Nobody knows which graph hangs.
  EXPECT_THAT(words(0, last), HasSubstr("Newest releases: \"cudaMalloc 6\" (4 KiB), 0 ns before"));
}

TEST_F(RecentWords, UpdatesNameTheCallAndTheNode) {
  graph(1, kBlock);
  graph(2, kBlock);
  EXPECT_THAT(words(1, 0), HasSubstr("No updates are known. "));
  call(2, "cudaGraphNodeSetEnabled (off)");
  EXPECT_THAT(words(1, spool_.end()),
              HasSubstr("Newest updates, none of them of graph 1: cudaGraphNodeSetEnabled (off) of "
                        "memset (node 0) of graph 2, "));
  spool::NodeChanged changed{};
  changed.exec = 0xE1;
  changed.node.node = 0x100;
  changed.node.type = 2;
  for (int times = 0; times < 5; ++times) spool_.add(changed);
  graph(1, kBlock, spool::GraphReason::Updated);
  const std::string said = words(1, spool_.end());
  EXPECT_THAT(said, HasSubstr("Newest updates of graph 1: cudaGraphExecUpdate, "));
  EXPECT_THAT(said,
              HasSubstr("; cudaGraphExecMemsetNodeSetParams of memset (node 0) of graph 1, "));
  EXPECT_THAT(said, Not(HasSubstr("graph 2")));
}

TEST_F(RecentWords, WhatTheUpdateReplacedHasNoNode) {
  graph(1, kBlock);
  spool::NodeChanged changed{};
  changed.exec = 0xE1;
  changed.node.node = 0x999;
  spool_.add(changed);
  EXPECT_THAT(words(1, spool_.end()),
              HasSubstr("Newest updates of graph 1: cudaGraphExecKernelNodeSetParams, "));
}

TEST_F(RecentWords, ATensorThatWasListedHasNoTime) {
  allocate(kBlock);
  spool_.add(
      spool::TensorBlock{.address = kBlock + 1024, .bytes = 512, .in_capture = 0, .listed = 1});
  graph(1, kBlock + 1024);
  EXPECT_THAT(words(1, spool_.end()),
              AllOf(HasSubstr("Newest allocations of memory of graph 1: \"cudaMalloc 1\""),
                    Not(HasSubstr("tensor"))));
  // Its release has one.
  spool_.add(spool::TensorBlockReleased{.address = kBlock + 1024, .python_bytes = 0, .unused = 0});
  spool_.add(
      spool::TensorBlock{.address = kBlock + 1024, .bytes = 512, .in_capture = 0, .listed = 0});
  EXPECT_THAT(words(1, spool_.end()),
              AllOf(HasSubstr("Newest releases of memory of graph 1: \"tensor 2\""),
                    HasSubstr("Newest allocations of memory of graph 1: \"tensor 3\"")));
}

TEST_F(RecentWords, AReleaseThatWasNotSeenHasNoTime) {
  allocate(kBlock);
  graph(1, kBlock);
  allocate(kBlock);
  EXPECT_THAT(words(1, spool_.end()),
              AllOf(HasSubstr("No releases are known. "),
                    HasSubstr("Newest allocations of memory of graph 1: \"cudaMalloc 2\"")));
}

TEST_F(RecentWords, ANodeMayHoldMemoryThatIsYoungerThanTheCapture) {
  allocate(kBlock);
  graph(1, kBlock);
  allocate(kBlock + 4096);
  spool::NodeChanged changed{};
  changed.exec = 0xE1;
  changed.node.node = 0x100;
  changed.node.type = 0;
  changed.node.kernel.argument_bytes = 8;
  const std::uint64_t held = kBlock + 4096;
  spool_.add(changed, std::string_view(reinterpret_cast<const char*>(&held), sizeof held));
  release(kBlock + 4096);
  EXPECT_THAT(
      words(1, spool_.end()),
      HasSubstr("Newest releases of memory of graph 1: \"cudaMalloc 2\" (4 KiB), held by "));
}

TEST_F(RecentWords, WhoseMemoryItIsMayBeUnknown) {
  allocate(kBlock);
  spool_.add(spool::GraphBegan{.graph = 1,
                               .exec = 0xE1,
                               .source = 0x60,
                               .reason = spool::GraphReason::Instantiated,
                               .nodes = 1});
  release(kBlock);
  EXPECT_THAT(words(1, spool_.end()),
              HasSubstr("Newest releases (which memory graph 1 holds is not known): \"cudaMalloc"));
  graph(2, kBlock);
  call(2, "cudaGraphNodeSetEnabled (off)");
  // One that was never seen, or is forgotten.
  EXPECT_THAT(words(7, spool_.end()),
              AllOf(HasSubstr("Newest releases (which memory graph 7 holds is not known): "),
                    HasSubstr("Newest updates (those of graph 7 are not known): cudaGraphNode")));
}

TEST_F(RecentWords, NamesFromTheFileAreBounded) {
  graph(1, kBlock);
  call(1, std::string(60'000, 'x'));
  EXPECT_LT(words(1, spool_.end()).size(), 1000U);
}

TEST_F(RecentWords, MissingRecordsAreSaid) {
  spool_.set<std::uint64_t>(offsetof(spool::FileHeader, lost_frames), 2);
  EXPECT_THAT(words(0, 1), HasSubstr("Newer ones may be missing: 2 records could not be kept "
                                     "(--spool-limit allows more). "));
}

}  // namespace
}  // namespace app
