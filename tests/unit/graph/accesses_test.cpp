#include "profiling/hazards/snapshot/accesses.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tests/unit/graph/hand_made_snapshot.h"

namespace profiling {
namespace {

using engine::AllocationRole;

TEST(Accesses, FindsWordsOfSlotsWithTheirOwners) {
  HandMade made;
  const std::uint64_t input = made.allocate("x", AllocationRole::Input, 4096);
  const std::uint64_t output = made.allocate("y", AllocationRole::Output, 4096);
  made.kernel("k", {input, 17, output + 64, output + 4096});
  const std::vector<Touch> touches = find_touches(made.snapshot, made.graph());
  ASSERT_EQ(touches.size(), 2U);  // a number and one past the end are none
  const Access access = to_access(made.snapshot, 0, touches[1]);
  EXPECT_EQ(access.place, "parameter byte 16");
  EXPECT_EQ(access.owner, "y");
  EXPECT_EQ(access.offset, 64U);
  EXPECT_TRUE(touches[1].whole_slot);
}

TEST(Accesses, SearchesTheWholeBlobIfTheLayoutIsUnknown) {
  HandMade made;
  const std::uint64_t input = made.allocate("x", AllocationRole::Input, 4096);
  const int node = made.kernel("k", {1, input});
  made.kernel_at(node).slots.clear();
  EXPECT_EQ(find_touches(made.snapshot, made.graph()).size(), 1U);
  // At a multiple of four only: not reported.
  KernelNode& kernel = made.kernel_at(node);
  kernel.parameters.assign(24, std::byte{0});
  std::memcpy(kernel.parameters.data() + 4, &input, 8);
  EXPECT_TRUE(find_touches(made.snapshot, made.graph()).empty());
  kernel.parameters.resize(3);
  EXPECT_TRUE(find_touches(made.snapshot, made.graph()).empty());
  kernel.slots = {{.offset = 0, .bytes = 800}};  // of a file that was cut off
  EXPECT_TRUE(find_touches(made.snapshot, made.graph()).empty());
}

TEST(Accesses, BytesBetweenParametersAreNoAddresses) {
  HandMade made;
  const std::uint64_t input = made.allocate("x", AllocationRole::Input, 4096);
  const int node = made.kernel("k", {input, input, input, input});
  // Two parameters with a gap of eight bytes; the last two share a word that belongs to neither.
  made.kernel_at(node).slots = {{.offset = 0, .bytes = 8},
                                {.offset = 16, .bytes = 4},
                                {.offset = 20, .bytes = 4},
                                {.offset = 28, .bytes = 4}};
  const std::vector<Touch> touches = find_touches(made.snapshot, made.graph());
  ASSERT_EQ(touches.size(), 1U);
  EXPECT_EQ(touches[0].byte, 0U);
  std::vector<std::uint64_t> searched;
  any_argument_word(made.kernel_at(node),
                    [&](const ParameterSlot&, std::uint64_t at, std::uint64_t) {
                      searched.push_back(at);
                      return false;
                    });
  EXPECT_THAT(searched, testing::ElementsAre(0U));
}

TEST(Accesses, WordsInATensorMapAreMarked) {
  HandMade made;
  const std::uint64_t input = made.allocate("x", AllocationRole::Input, 4096);
  std::vector<std::uint64_t> words(24, 0);
  words[8] = input;
  const int node = made.kernel("k", words);
  made.kernel_at(node).slots = {{.offset = 0, .bytes = 64}, {.offset = 64, .bytes = 128}};
  const std::vector<Touch> touches = find_touches(made.snapshot, made.graph());
  ASSERT_EQ(touches.size(), 1U);
  EXPECT_EQ(touches[0].place, Touch::Place::Descriptor);
}

TEST(Accesses, OfAKnownTensorMapTheTensorCountsAndNotItsWords) {
  HandMade made;
  const std::uint64_t input = made.allocate("x", AllocationRole::Input, 4096);
  const std::uint64_t other = made.allocate("y", AllocationRole::Input, 4096);
  std::vector<std::uint64_t> words(24, 0);
  words[0] = other;
  words[9] = other;  // by chance
  const int node = made.kernel("k", words);
  KernelNode& kernel = made.kernel_at(node);
  kernel.slots = {{.offset = 0, .bytes = 8}, {.offset = 64, .bytes = 128}};
  kernel.tensor_maps = {{.offset = 64, .address = input + 256, .bytes = 1024}};
  for (const bool laid_out : {true, false}) {
    if (!laid_out) kernel.slots.clear();
    const std::vector<Touch> touches = find_touches(made.snapshot, made.graph());
    ASSERT_EQ(touches.size(), 2U);
    EXPECT_EQ(touches[0].place, Touch::Place::TensorMap);
    EXPECT_EQ(touches[0].bytes, 1024U);
    EXPECT_TRUE(touches[0].by_kernel());
    EXPECT_EQ(touches[1].place, Touch::Place::Parameter);
    const Access access = to_access(made.snapshot, 0, touches[0]);
    EXPECT_EQ(access.place, "tensor map at parameter byte 64");
    EXPECT_EQ(access.owner, "x");
    EXPECT_EQ(access.offset, 256U);
  }
}

TEST(Accesses, TheSmallestAllocationAliveAtCaptureWins) {
  HandMade made;
  const std::uint64_t base = made.allocate("pool", AllocationRole::Unknown, 1 << 20);
  made.allocate_at(base + 4096, "block", AllocationRole::Workspace, 4096);
  made.allocate_at(base + 8192, "later", AllocationRole::Output, 512).allocated_at = 290;
  made.allocate_at(base + 16384, "gone", AllocationRole::Output, 512).freed_at = 50;
  made.allocate_at(base + 20480, "freed", AllocationRole::Output, 512).freed_at = 105;
  made.kernel("k", {base, base + 4096, base + 8191, base + 8192, base + 16384, base + 20480});
  std::vector<std::string> owners;
  for (const Touch& touch : find_touches(made.snapshot, made.graph())) {
    owners.push_back(to_access(made.snapshot, 0, touch).owner);
  }
  EXPECT_THAT(owners, testing::ElementsAre("pool", "block", "block", "pool", "pool", "freed"));
}

TEST(Accesses, OtherNodesReportTheirWrites) {
  HandMade made;
  const std::uint64_t x = made.allocate("x", AllocationRole::Input, 4096);
  made.memset(x, 512);
  made.memcpy({.source = x + 8, .target = x + 1024, .bytes = 16});
  made.node(NodeType::MemAlloc, MemAllocNode{.address = 0x1000, .bytes = 64});
  made.node(NodeType::MemFree, MemFreeNode{.address = 0x1000});
  made.node(NodeType::Kernel, {});
  const std::vector<Touch> touches = find_touches(made.snapshot, made.graph());
  ASSERT_EQ(touches.size(), 5U);
  EXPECT_TRUE(touches[0].writes());
  EXPECT_EQ(touches[0].bytes, 512U);
  EXPECT_EQ(place_text(touches[1]), "copy source");
  EXPECT_FALSE(touches[1].writes());
  EXPECT_TRUE(touches[2].writes());
  EXPECT_EQ(touches[3].allocation, -1);
  EXPECT_EQ(place_text(touches[4]), "freed here");
}

}  // namespace
}  // namespace profiling
