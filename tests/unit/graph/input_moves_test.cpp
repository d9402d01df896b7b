// What counts as an input, and which graphs are refused because an address in them cannot be found.
#include <gmock/gmock.h>

#include <cstring>

#include "profiling/hazards/snapshot/input_moves.h"
#include "tests/unit/graph/hand_made_snapshot.h"

namespace profiling {
namespace {

using engine::AllocationRole;
using engine::MemorySpace;
using testing::AllOf;
using testing::HasSubstr;

struct Moves : HandMade {
  std::uint64_t x = allocate("X", AllocationRole::Input, 1 << 20);
  std::string why(bool plain_descriptors = true) {
    return immovable_inputs_reason(graph(), {&allocation("X"), 1}, plain_descriptors);
  }
};

TEST(InputMoves, InputsAreLiveDeviceMemoryThatTheCallerWrites) {
  for (const engine::EnumName& role : engine::kType<engine::AllocationRole>.names) {
    engine::Allocation allocation{.role = static_cast<AllocationRole>(role.value), .owner = {}};
    const bool input =
        allocation.role == AllocationRole::Input || allocation.role == AllocationRole::Splits;
    EXPECT_EQ(is_input(allocation), input) << role.name;
    allocation.freed_at = 7;
    EXPECT_FALSE(is_input(allocation)) << role.name;
  }
  EXPECT_FALSE(is_input(
      {.space = MemorySpace::PinnedHost, .role = AllocationRole::Input, .owner = "staging"}));
}

TEST(InputMoves, PointersCopiesAndMemsetsPreventNothing) {
  Moves made;
  const int kernel = made.kernel("product", {made.x, 7, made.x + 4096});
  made.memset(made.x, 64, {kernel});
  made.memcpy({.source_space = MemorySpace::Device, .source = made.x, .bytes = 64});
  made.node(NodeType::Empty, {}, {kernel});
  EXPECT_EQ(made.why(), "");
}

TEST(InputMoves, AnAddressBetweenTwoWordsIsNotPatched) {
  Moves made;
  const int node = made.kernel("packed", {0, 0, 0});
  KernelNode& kernel = made.kernel_at(node);
  kernel.slots = {{.offset = 0, .bytes = 24}};
  std::memcpy(kernel.parameters.data() + 12, &made.x, sizeof made.x);
  EXPECT_THAT(made.why(),
              AllOf(HasSubstr("node 0 (kernel)"), HasSubstr("byte 12"), HasSubstr("\"X\"")));
}

TEST(InputMoves, DescriptorsNeedADriverThatKeepsAddressesPlain) {
  Moves made;
  const int node = made.kernel("product", std::vector<std::uint64_t>(16, 0));
  made.kernel_at(node).slots = {{.offset = 0, .bytes = 128}};
  EXPECT_EQ(made.why(), "");
  EXPECT_THAT(made.why(false), HasSubstr("TMA descriptor"));
  made.kernel_at(node).slots = {{.offset = 0, .bytes = 64}, {.offset = 64, .bytes = 64}};
  EXPECT_EQ(made.why(false), "");
}

TEST(InputMoves, ParametersWithoutALayoutAreNotGuessed) {
  Moves made;
  const int node = made.kernel("opaque", {made.x});
  made.kernel_at(node).slots.clear();
  EXPECT_THAT(made.why(), HasSubstr("layout"));
}

TEST(InputMoves, NodesThatHideTheirAddressesAreReported) {
  for (const NodeType type : {NodeType::Host, NodeType::BatchMemOp, NodeType::Conditional,
                              NodeType::SignalSemaphore, NodeType::Unknown}) {
    Moves made;
    made.kernel("product", {made.x});
    made.node(type, {}, {0});
    EXPECT_THAT(made.why(), HasSubstr("node 1 (")) << static_cast<int>(type);
  }
}

}  // namespace
}  // namespace profiling
