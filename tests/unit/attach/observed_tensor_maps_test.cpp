// Memory that kernels get through tensor maps, whose bytes show no address.
#include <gmock/gmock.h>

#include <string>

#include "profiling/hazards/rules/diagnosis.h"
#include "tests/support/observe.h"

namespace profiling {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ObservingTensorMaps : public testing::Test {
 protected:
  static constexpr std::uint64_t kGraphExec = 0xE0;
  static constexpr std::uint64_t kNode = 0x100;
  static constexpr std::uint64_t kInput = 0x7f0000000000;
  static constexpr std::uint64_t kOther = 0x7f0000100000;
  static constexpr std::uint32_t kArguments = 320;  // room for a map at 64 and one at 192

  ObservingTensorMaps() {
    for (const std::uint64_t address : {kInput, kOther}) {
      spool_.add(spool::Allocation{.address = address,
                                   .bytes = 4096,
                                   .stream = 0,
                                   .pool = 0,
                                   .memory = spool::MemoryKind::Device,
                                   .in_capture = 0});
    }
    spool_.add(spool::GraphBegan{.graph = 1,
                                 .exec = kGraphExec,
                                 .source = 0x60,
                                 .reason = spool::GraphReason::Instantiated,
                                 .nodes = 1});
    spool_.add(kernel_, std::string(kArguments, '\x55'));
  }

  static spool::Node kernel() {
    spool::Node node{};
    node.graph = 1;
    node.node = kNode;
    node.parent = -1;
    node.kernel.grid = node.kernel.block = {1, 1, 1};
    node.kernel.argument_bytes = kArguments;
    return node;
  }
  static spool::TensorMap map(std::uint64_t address, std::uint32_t offset,
                              std::uint64_t bytes = 4096) {
    return {.graph = 1,
            .exec = 0,
            .node = kNode,
            .address = address,
            .bytes = bytes,
            .offset = offset,
            .unused = 0};
  }
  void read() { spool_.add(spool::GraphRead{.graph = 1, .nodes = 1, .result = 0}); }
  /// The node gets other arguments, with a map of this tensor.
  void change(std::uint64_t address) {
    spool::NodeChanged changed{};
    changed.exec = kGraphExec;
    changed.node = kernel();
    spool_.add(changed, std::string(kArguments, '\x66'));
    spool::TensorMap now = map(address, 64);
    now.graph = 0;
    now.exec = kGraphExec;
    spool_.add(now);
  }
  void release(std::uint64_t address) {
    spool_.add(spool::Release{.address = address,
                              .bytes = 0,
                              .stream = 0,
                              .memory = spool::MemoryKind::Device,
                              .in_capture = 0});
  }
  /// Findings after a launch at the end.
  std::vector<Finding> findings() {
    spool_.count(0, kGraphExec, 1, 1, spool_.end());
    return diagnose(observe(spool_).snapshot(), {});
  }
  std::vector<TensorMap> maps() {
    const Snapshot made = observe(spool_).snapshot();
    return std::get<KernelNode>(made.graphs.at(0).nodes.at(0).parameters).tensor_maps;
  }

  const spool::Node kernel_ = kernel();
  HandMadeSpool spool_;
};

TEST_F(ObservingTensorMaps, TheTensorIsMemoryThatTheNodeHolds) {
  spool_.add(map(kInput + 512, 64, 1024));
  spool_.add(map(kOther, 192));
  read();
  release(kInput);
  const std::vector<Finding> found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "freed-memory");
  EXPECT_EQ(found[0].confidence, Confidence::Likely);
  ASSERT_EQ(found[0].accesses.size(), 1U);
  EXPECT_EQ(found[0].accesses[0].place, "tensor map at parameter byte 64");
  EXPECT_EQ(found[0].accesses[0].word, kInput + 512);
  EXPECT_EQ(found[0].accesses[0].offset, 512U);
  EXPECT_THAT(found[0].evidence, Contains(HasSubstr("in the tensor map at parameter byte 64 of ")));
}

TEST_F(ObservingTensorMaps, AChangedNodeHasItsNewOnes) {
  spool_.add(map(kInput, 64));
  read();
  change(kOther);
  EXPECT_THAT(maps(), ElementsAre(TensorMap{.offset = 64, .address = kOther, .bytes = 4096}));
  release(kInput);
  EXPECT_THAT(findings(), IsEmpty());
  release(kOther);
  EXPECT_EQ(findings().size(), 1U);
}

TEST_F(ObservingTensorMaps, ADestroyedGraphThatWasLaunchedTooLateIsExamined) {
  spool_.add(map(kInput, 64));
  read();
  release(kInput);
  spool_.add(spool::GraphDestroyed{.exec = kGraphExec, .launches = 2, .last_launch = spool_.end()});
  EXPECT_EQ(diagnose(observe(spool_).snapshot(), {}).size(), 1U);
}

TEST_F(ObservingTensorMaps, FramesThatMakeNoSenseAreLeftOut) {
  spool_.add(map(kInput, 128));
  spool_.add(map(kInput, 192));              // inside the one before
  spool_.add(map(kInput, 0));                // before it
  spool_.add(map(kInput, kArguments - 64));  // beyond the arguments
  spool_.add(map(kInput, 0xFFFFFFC0));       // far beyond
  spool_.add(map(kInput, 260));              // not aligned
  spool_.add(map(0, 256));                   // no address
  spool::TensorMap wrong = map(kInput, 256);
  wrong.node = 0x999;  // no node
  spool_.add(wrong);
  wrong = map(kInput, 256);
  wrong.graph = 7;  // no graph
  spool_.add(wrong);
  wrong.graph = 0;  // no executable one
  spool_.add(wrong);
  read();
  EXPECT_THAT(maps(), ElementsAre(TensorMap{.offset = 128, .address = kInput, .bytes = 4096}));
}

TEST_F(ObservingTensorMaps, AnAbsurdSizeIsNotKnown) {
  spool_.add(map(kInput, 64, ~std::uint64_t{0}));
  read();
  EXPECT_THAT(maps(), ElementsAre(TensorMap{.offset = 64, .address = kInput, .bytes = 0}));
  release(kInput);
  EXPECT_EQ(findings().size(), 1U);
}

TEST_F(ObservingTensorMaps, OnlyKernelsHaveThem) {
  spool::Node memset{};
  memset.graph = 1;
  memset.node = kNode + 1;
  memset.index = 1;
  memset.parent = -1;
  memset.type = 2;
  spool_.add(memset);
  spool::TensorMap of_memset = map(kInput, 64);
  of_memset.node = kNode + 1;
  spool_.add(of_memset);
  spool_.add(spool::GraphRead{.graph = 1, .nodes = 2, .result = 0});
  release(kInput);
  EXPECT_THAT(findings(), IsEmpty());
}

}  // namespace
}  // namespace profiling
