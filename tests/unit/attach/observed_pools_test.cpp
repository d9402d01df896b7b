// Memory that captures make for themselves, by the graph that it belongs to.
#include <gmock/gmock.h>

#include <map>

#include "tests/support/observe.h"

namespace profiling {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr std::uint64_t kSegment = 0x7f0000000000;
constexpr std::uint32_t kAutograd = 77;  // a thread that captures nothing

class ObservingPools : public testing::Test {
 protected:
  void began(std::uint64_t stream, std::uint32_t thread = 1234) {
    spool_.add(spool::CaptureBegan{.stream = stream, .mode = 1, .result = 0}, {}, thread);
  }
  void ended(std::uint64_t stream, std::uint64_t graph, std::uint32_t result = 0) {
    spool_.add(
        spool::CaptureEnded{.stream = stream, .graph = graph, .result = result, .unused = 0});
  }
  void segment(std::uint64_t address) {
    spool_.add(spool::Allocation{.address = address,
                                 .bytes = 1 << 20,
                                 .stream = 0,
                                 .pool = 0,
                                 .memory = spool::MemoryKind::Device,
                                 .in_capture = 0});
  }
  void tensor(std::uint64_t address, std::uint32_t in_capture, std::uint32_t thread = 1234) {
    spool_.add(
        spool::TensorBlock{
            .address = address, .bytes = 4096, .in_capture = in_capture, .listed = 0},
        {}, thread);
  }
  void dropped(std::uint64_t address) {
    spool_.add(spool::TensorBlockReleased{.address = address, .python_bytes = 0, .unused = 0});
  }
  void instantiated(std::uint64_t number, std::uint64_t source) {
    spool_.add(spool::GraphBegan{.graph = number,
                                 .exec = 0xE0 + number,
                                 .source = source,
                                 .reason = spool::GraphReason::Instantiated,
                                 .nodes = 0});
    spool_.add(spool::GraphRead{.graph = number, .nodes = 0, .result = 0});
  }
  Snapshot snapshot() { return observe(spool_).snapshot(); }
  /// By the offset from the segment, of what lives.
  std::map<std::uint64_t, std::string> owners() {
    std::map<std::uint64_t, std::string> found;
    for (const engine::Allocation& one : snapshot().ledger) {
      if (one.role == engine::AllocationRole::Cached && one.live())
        found[one.address - kSegment] = one.made_for;
    }
    return found;
  }

  HandMadeSpool spool_;
};

TEST_F(ObservingPools, MemoryBelongsToTheGraphOfItsCapture) {
  tensor(kSegment, 0);
  began(5);
  segment(kSegment);
  tensor(kSegment + 4096, 1);
  tensor(kSegment + 8192, 1, kAutograd);  // the only capture
  EXPECT_THAT(owners(), ElementsAre(Pair(0, ""), Pair(4096, "capture 1"), Pair(8192, "capture 1")));
  ended(5, 0x60);
  tensor(kSegment + 12288, 0);
  instantiated(1, 0x60);
  instantiated(2, 0x60);  // the first one has it
  EXPECT_THAT(owners(), ElementsAre(Pair(0, ""), Pair(4096, "graph 1"), Pair(8192, "graph 1"),
                                    Pair(12288, "")));
  EXPECT_EQ(snapshot().ledger.at(1).made_for, "graph 1");  // the segment
}

TEST_F(ObservingPools, OfSeveralCapturesTheThreadTells) {
  began(5, 1);
  began(6, 2);
  tensor(kSegment, 1, 1);
  tensor(kSegment + 4096, 1, 2);
  tensor(kSegment + 8192, 1, kAutograd);
  ended(6, 0x66);
  ended(5, 0x65);
  instantiated(1, 0x66);
  instantiated(2, 0x65);
  EXPECT_THAT(owners(), ElementsAre(Pair(0, "graph 2"), Pair(4096, "graph 1"), Pair(8192, "")));
}

TEST_F(ObservingPools, APieceThatThePoolGivesAgain) {
  segment(kSegment);
  for (const std::uint64_t graph : {1, 2}) {
    began(5);
    tensor(kSegment, 1);
    ended(5, 0x60 + graph);
    instantiated(graph, 0x60 + graph);
    if (graph == 1) dropped(kSegment);
  }
  const Snapshot made = snapshot();
  EXPECT_THAT(owners(), ElementsAre(Pair(0, "graph 2")));
}

TEST_F(ObservingPools, TheEndOfAGraphIsKnown) {
  began(5);
  ended(5, 0x60);
  instantiated(1, 0x60);
  EXPECT_EQ(snapshot().graphs.at(0).destroyed_at, 0U);
  const std::uint64_t at =
      spool_.add(spool::GraphDestroyed{.exec = 0xE1, .launches = 0, .last_launch = 0});
  EXPECT_EQ(snapshot().graphs.at(0).destroyed_at, at);
}

}  // namespace
}  // namespace profiling
