#include "profiling/attach/observed/observed_process.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstring>

#include "profiling/hazards/rules/diagnosis.h"
#include "tests/support/observe.h"

namespace profiling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kExec = 0xE0;
constexpr std::uint64_t kBlock = 0x7f0000000000;

class Observing : public testing::Test {
 protected:
  void allocate(std::uint64_t address, std::uint64_t bytes = 4096,
                spool::MemoryKind memory = spool::MemoryKind::Device,
                std::uint32_t in_capture = 0) {
    spool_.add(spool::Allocation{.address = address,
                                 .bytes = bytes,
                                 .stream = 0,
                                 .pool = 0,
                                 .memory = memory,
                                 .in_capture = in_capture});
  }
  void release(std::uint64_t address, std::uint64_t bytes = 0) {
    spool_.add(spool::Release{.address = address,
                              .bytes = bytes,
                              .stream = 0,
                              .memory = spool::MemoryKind::Device,
                              .in_capture = 0});
  }
  void began(std::uint32_t nodes, spool::GraphReason reason = spool::GraphReason::Instantiated) {
    spool_.add(spool::GraphBegan{
        .graph = 1, .exec = kExec, .source = 0x60, .reason = reason, .nodes = nodes});
  }
  void memset_node(std::int32_t index, std::uint64_t address, std::int32_t parent = -1) {
    spool::Node node{};
    node.graph = 1;
    node.node = 0x100 + static_cast<std::uint64_t>(index);
    node.index = index;
    node.parent = parent;
    node.type = 2;
    node.memset = {
        .address = address, .width = 64, .height = 1, .pitch = 0, .value = 0, .element_bytes = 1};
    spool_.add(node);
  }
  void kernel_node(std::int32_t index, std::uint64_t function, std::uint64_t word) {
    spool::Node node{};
    node.graph = 1;
    node.node = 0x100 + static_cast<std::uint64_t>(index);
    node.index = index;
    node.parent = -1;
    node.kernel.function = function;
    node.kernel.grid = node.kernel.block = {1, 1, 1};
    node.kernel.argument_bytes = 8;
    spool_.add(node, {reinterpret_cast<const char*>(&word), 8});
  }
  void function(std::uint64_t handle, std::string_view name, std::uint64_t module,
                spool::Waits waits = spool::Waits::Unknown) {
    const spool::ParameterSlot slot{.offset = 0, .bytes = 8};
    std::string rest(reinterpret_cast<const char*>(&slot), sizeof slot);
    rest += name;
    spool_.add(spool::Function{.function = handle,
                               .module = module,
                               .slots = 1,
                               .name_bytes = static_cast<std::uint32_t>(name.size()),
                               .waits = waits,
                               .unused = 0},
               rest);
  }
  void edges(const std::vector<std::pair<std::int32_t, std::int32_t>>& list) {
    std::string rest;
    for (const auto& [from, to] : list) {
      const spool::Edge edge{.from = from, .to = to, .type = spool::EdgeType::Full};
      rest.append(reinterpret_cast<const char*>(&edge), sizeof edge);
    }
    spool_.add(
        spool::Edges{.graph = 1, .count = static_cast<std::uint32_t>(list.size()), .unused = 0},
        rest);
  }
  void read(std::uint32_t nodes) {
    spool_.add(spool::GraphRead{.graph = 1, .nodes = nodes, .result = 0});
  }
  void launched(std::uint64_t times) { spool_.count(0, kExec, 1, times, spool_.end()); }

  Snapshot snapshot() { return observe(spool_).snapshot(); }
  std::vector<std::string> rules() {
    std::vector<std::string> found;
    for (const Finding& finding : diagnose(snapshot(), {})) found.push_back(finding.rule);
    return found;
  }

  HandMadeSpool spool_;
};

TEST_F(Observing, TensorsLieInsideTheirSegment) {
  const auto tensor = [this](std::uint64_t address, std::uint64_t bytes) {
    spool_.add(
        spool::TensorBlock{.address = address, .bytes = bytes, .in_capture = 0, .listed = 0});
  };
  const auto dropped = [this](std::uint64_t address, std::string_view python) {
    spool_.add(spool::TensorBlockReleased{.address = address,
                                          .python_bytes = static_cast<std::uint32_t>(python.size()),
                                          .unused = 0},
               python);
  };
  allocate(kBlock, 1 << 20);
  tensor(kBlock, 512);  // where the segment begins, and still not the segment
  tensor(kBlock + 512, 512);
  tensor(0, 64);  // what no writer writes
  tensor(~std::uint64_t{0} - 8, 64);
  began(1);
  memset_node(0, kBlock + 512);
  read(1);
  dropped(kBlock + 512, "train.py:8 step\ntrain.py:20 <module>\n");
  dropped(kBlock + 4096, "nobody.py:1 has\n");  // not known
  tensor(kBlock + 512, 1024);
  launched(2);
  const Snapshot made = snapshot();
  ASSERT_EQ(made.ledger.size(), 4U);
  EXPECT_EQ(made.ledger[0].role, engine::AllocationRole::Unknown);
  EXPECT_TRUE(made.ledger[0].live());
  EXPECT_EQ(made.ledger[2].role, engine::AllocationRole::Cached);
  EXPECT_FALSE(made.ledger[2].live());
  EXPECT_EQ(made.ledger[2].freed_where, "train.py:8 step, called by train.py:20 <module>");
  EXPECT_EQ(made.ledger[3].address, kBlock + 512);
  EXPECT_THAT(rules(), ElementsAre("freed-memory"));
}

TEST_F(Observing, ALaunchAfterTheReleaseIsFound) {
  allocate(kBlock);
  began(1);
  memset_node(0, kBlock);
  read(1);
  release(kBlock);
  launched(2);
  EXPECT_THAT(rules(), ElementsAre("freed-memory"));
}

TEST_F(Observing, AReleaseAfterTheLastLaunchIsNot) {
  allocate(kBlock);
  began(1);
  memset_node(0, kBlock);
  read(1);
  launched(2);
  release(kBlock);
  EXPECT_THAT(rules(), ElementsAre());
}

TEST_F(Observing, ADestroyedGraphIsExaminedOnlyIfItWasLaunchedTooLate) {
  allocate(kBlock);
  began(1);
  memset_node(0, kBlock);
  read(1);
  release(kBlock);
  spool_.add(spool::GraphDestroyed{.exec = kExec, .launches = 1, .last_launch = spool_.end()});
  EXPECT_THAT(rules(), ElementsAre("freed-memory"));

  spool_ = HandMadeSpool();
  allocate(kBlock);
  began(1);
  memset_node(0, kBlock);
  read(1);
  spool_.add(spool::GraphDestroyed{.exec = kExec, .launches = 1, .last_launch = spool_.end()});
  release(kBlock);
  const Snapshot made = snapshot();
  ASSERT_EQ(made.graphs.size(), 1U);
  EXPECT_TRUE(made.graphs[0].over);
  EXPECT_TRUE(diagnose(made, {}).empty());
}

TEST_F(Observing, MemoryOfACaptureIsTheGraphsOwn) {
  allocate(kBlock, 4096, spool::MemoryKind::Pool, 1);
  EXPECT_TRUE(snapshot().ledger.empty());
}

TEST_F(Observing, OneUnmapReleasesNeighbouringBlocks) {
  for (const std::uint64_t at : {0, 1, 2})
    allocate(kBlock + at * 4096, 4096, spool::MemoryKind::Mapped);
  began(3);
  for (const std::int32_t at : {0, 1, 2})
    memset_node(at, kBlock + static_cast<std::uint64_t>(at) * 4096);
  read(3);
  release(kBlock, 8192);
  launched(1);
  const Snapshot made = snapshot();
  ASSERT_EQ(made.ledger.size(), 3U);
  EXPECT_FALSE(made.ledger[0].live());
  EXPECT_FALSE(made.ledger[1].live());
  EXPECT_TRUE(made.ledger[2].live());
}

TEST_F(Observing, NodesFollowTheirDependenciesAndParents) {
  began(3);
  memset_node(0, 1);
  memset_node(1, 2);
  memset_node(2, 3, 1);  // inside node 1
  memset_node(3, 4);
  edges({{3, 1}, {1, 0}});
  read(4);
  const Snapshot made = snapshot();
  ASSERT_EQ(made.graphs.size(), 1U);
  std::vector<std::uint64_t> addresses;
  for (const SnapshotNode& node : made.graphs[0].nodes)
    addresses.push_back(std::get<MemsetNode>(node.parameters).address);
  EXPECT_THAT(addresses, ElementsAre(4, 2, 3, 1));
  EXPECT_EQ(made.graphs[0].nodes[2].parent, 1);
  EXPECT_EQ(made.graphs[0].edges.size(), 2U);
}

TEST_F(Observing, AGraphWithLostNodesIsNotExamined) {
  began(2);
  memset_node(0, 1);
  read(2);
  EXPECT_TRUE(snapshot().graphs.empty());
}

TEST_F(Observing, WhetherAKernelWaits) {
  const std::vector<spool::Waits> said = {spool::Waits::Unknown, spool::Waits::No,
                                          spool::Waits::Yes};
  for (std::uint64_t i = 0; i < said.size(); ++i) function(0xF0 + i, "scale", 0xA0, said[i]);
  began(3);
  for (std::int32_t i = 0; i < 3; ++i) kernel_node(i, 0xF0 + static_cast<std::uint64_t>(i), kBlock);
  read(3);
  const Snapshot made = snapshot();
  std::vector<Known> known;
  for (const SnapshotNode& node : made.graphs.at(0).nodes)
    known.push_back(std::get<KernelNode>(node.parameters).waits_for_programmatic);
  EXPECT_THAT(known, ElementsAre(Known::Unknown, Known::No, Known::Yes));
}

TEST_F(Observing, AModuleUnloadedUnderAGraph) {
  function(0xF0, "_Z5scalePf", 0xA0);
  began(1);
  kernel_node(0, 0xF0, kBlock);
  read(1);
  spool_.add(spool::ModuleUnloaded{.module = 0xA1});  // another one
  launched(1);
  EXPECT_THAT(rules(), ElementsAre());
  spool_.add(spool::ModuleUnloaded{.module = 0xA0});
  EXPECT_THAT(rules(), ElementsAre());  // not launched since
  launched(2);
  const std::vector<Finding> findings = diagnose(snapshot(), {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "unloaded-module");
  EXPECT_THAT(findings[0].title, HasSubstr("scale"));
}

TEST_F(Observing, ADestroyedGraphWhoseModuleHadGoneIsExamined) {
  function(0xF0, "_Z5scalePf", 0xA0);
  began(1);
  kernel_node(0, 0xF0, kBlock);
  read(1);
  spool_.add(spool::ModuleUnloaded{.module = 0xA0});
  spool_.add(spool::GraphDestroyed{.exec = kExec, .launches = 1, .last_launch = spool_.end()});
  EXPECT_THAT(rules(), ElementsAre("unloaded-module"));
}

/// A capture of `communicators` that becomes graph 1.
class ObservingCommunicators : public Observing {
 protected:
  void captured(const std::vector<std::uint64_t>& communicators, std::uint32_t result = 0,
                spool::GraphReason reason = spool::GraphReason::Instantiated) {
    spool_.add(spool::CaptureBegan{.stream = 5, .mode = 0, .result = 0});
    for (const std::uint64_t one : communicators)
      spool_.add(spool::CommunicatorCaptured{.communicator = one, .graph = 0x60});
    spool_.add(spool::CaptureEnded{
        .stream = 5, .graph = result == 0 ? 0x60ULL : 0, .result = result, .unused = 0});
    if (result != 0) return;
    began(1, reason);
    kernel_node(0, 0xF0, kBlock);
    read(1);
  }
  void made(std::uint64_t communicator) {
    spool_.add(spool::Communicator{.communicator = communicator, .ranks = 8, .rank = 3});
  }
  void ended(std::uint64_t communicator,
             spool::CommunicatorEnd by = spool::CommunicatorEnd::Destroy) {
    spool_.add(spool::CommunicatorEnded{.communicator = communicator, .by = by, .unused = 0});
  }
  std::vector<CapturedCommunicator> communicators() {
    const Snapshot made = snapshot();
    return made.graphs.empty() ? std::vector<CapturedCommunicator>() : made.graphs[0].communicators;
  }
};

TEST_F(ObservingCommunicators, ALaunchAfterTheEnd) {
  function(0xF0, "ncclDevKernel_AllReduce", 0xA0);
  made(0xC0);
  captured({0xC0, 0xC0});
  launched(1);
  EXPECT_THAT(rules(), ElementsAre());
  ended(0xC0);
  EXPECT_THAT(rules(), ElementsAre("destroyed-communicator"));  // it may wait
  launched(2);
  const std::vector<Finding> findings = diagnose(snapshot(), {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "destroyed-communicator");
  EXPECT_EQ(findings[0].confidence, Confidence::Likely);
  EXPECT_THAT(findings[0].title,
              HasSubstr("launched after ncclCommDestroy of communicator 1 (rank 3 of 8)"));
  EXPECT_EQ(findings[0].nodes, std::vector<NodeRef>({{0, 0}}));
}

TEST_F(ObservingCommunicators, AProgramThatEndedByItselfDidNotWait) {
  captured({0xC0});
  launched(1);
  ended(0xC0);
  spool_.set<std::uint32_t>(offsetof(spool::FileHeader, ended), 1);
  EXPECT_TRUE(snapshot().ended);
  EXPECT_THAT(rules(), ElementsAre());
  launched(2);
  EXPECT_THAT(rules(), ElementsAre("destroyed-communicator"));
}

TEST_F(ObservingCommunicators, AGraphThatWasDestroyedFirstIsOver) {
  captured({0xC0});
  spool_.add(spool::GraphDestroyed{.exec = kExec, .launches = 1, .last_launch = spool_.end()});
  ended(0xC0);
  EXPECT_THAT(rules(), ElementsAre());
}

TEST_F(ObservingCommunicators, AGraphThatWasLaunchedTooLateAndThenDestroyed) {
  captured({0xC0});
  ended(0xC0, spool::CommunicatorEnd::Abort);
  spool_.add(spool::GraphDestroyed{.exec = kExec, .launches = 1, .last_launch = spool_.end()});
  EXPECT_THAT(rules(), ElementsAre("destroyed-communicator"));
  EXPECT_EQ(communicators()[0].ended_by, "ncclCommAbort");
}

TEST_F(ObservingCommunicators, ALaterCommunicatorMayHaveTheSameHandle) {
  made(0xC0);
  ended(0xC0);
  made(0xC0);
  captured({0xC0, 0xC1});
  EXPECT_THAT(rules(), ElementsAre());
  const std::vector<CapturedCommunicator> used = communicators();
  ASSERT_EQ(used.size(), 2U);
  EXPECT_EQ(used[0].name, "communicator 2 (rank 3 of 8)");
  EXPECT_EQ(used[0].ended_at, 0U);
  EXPECT_EQ(used[1].name, "communicator 3");
}

TEST_F(ObservingCommunicators, TheFirstEndCounts) {
  captured({0xC0});
  ended(0xC0, spool::CommunicatorEnd::Finalize);
  const std::uint64_t finalized = communicators()[0].ended_at;
  ended(0xC0);
  EXPECT_EQ(communicators()[0].ended_at, finalized);
  EXPECT_EQ(communicators()[0].ended_by, "ncclCommFinalize");
}

TEST_F(ObservingCommunicators, AFailedCaptureLeavesNoneToTheNextGraphOfItsHandle) {
  captured({0xC0}, 901);
  captured({0xC1});
  ASSERT_EQ(communicators().size(), 1U);
  EXPECT_EQ(communicators()[0].name, "communicator 2");
}

TEST_F(ObservingCommunicators, AnUpdateReplacesThem) {
  captured({0xC0});
  launched(1);
  captured({0xC1}, 0, spool::GraphReason::Updated);
  ended(0xC0);
  launched(2);
  EXPECT_THAT(rules(), ElementsAre());
}

TEST_F(Observing, AnUpdateReplacesTheNodes) {
  allocate(kBlock);
  allocate(kBlock + 4096);
  began(1);
  memset_node(0, kBlock);
  read(1);
  launched(1);
  began(1, spool::GraphReason::Updated);
  memset_node(0, kBlock + 4096);
  read(1);
  release(kBlock);
  launched(2);
  EXPECT_THAT(rules(), ElementsAre());
  EXPECT_EQ(snapshot().graphs[0].launches, 2);
}

TEST_F(Observing, AChangedNodeHasItsNewAddress) {
  allocate(kBlock);
  allocate(kBlock + 4096);
  began(1);
  memset_node(0, kBlock);
  read(1);
  spool::NodeChanged changed{};
  changed.exec = kExec;
  changed.node.node = 0x100;
  changed.node.type = 2;
  changed.node.memset = {.address = kBlock + 4096,
                         .width = 64,
                         .height = 1,
                         .pitch = 0,
                         .value = 0,
                         .element_bytes = 1};
  spool_.add(changed);
  release(kBlock);
  launched(1);
  EXPECT_THAT(rules(), ElementsAre());
}

TEST_F(Observing, CallsOfOtherThreadsCountInGlobalModeOnly) {
  for (const std::uint32_t mode : {0U, 1U}) {
    spool_ = HandMadeSpool();
    const std::string_view name = "cuMemAlloc";
    spool_.add(spool::CaptureBegan{.stream = 5, .mode = mode, .result = 0});
    spool_.add(spool::Thread{.name_bytes = 6, .unused = 0}, "loader", 77);
    spool_.add(spool::Call{.result = 900, .name_bytes = 10}, name, 77);
    spool_.add(spool::CaptureEnded{.stream = 5, .graph = 0, .result = 901, .unused = 0});
    const std::vector<Finding> findings = diagnose(snapshot(), {});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].rule, mode == 0 ? "other-thread-in-capture" : "sync-in-capture");
    if (mode == 0) {
      EXPECT_THAT(findings[0].title, HasSubstr("cuMemAlloc of thread 77 \"loader\" was refused"));
    }
  }
}

TEST_F(Observing, ProgramsAreNamedAsPeopleKnowThem) {
  const auto title = [&](std::string_view command) {
    spool_ = HandMadeSpool();
    spool_.add(spool::Process{.program_bytes = 3,
                              .command_bytes = static_cast<std::uint32_t>(command.size()),
                              .rank = -1,
                              .unused = 0},
               "/p/" + std::string(command));
    return snapshot().subject;
  };
  EXPECT_EQ(title(std::string_view("python3\0-u\0/home/me/train.py\0--lr\0", 34)),
            "train.py (process 1234)");
  EXPECT_EQ(title(std::string_view("/usr/bin/python\0-m\0vllm.serve\0", 30)),
            "vllm.serve (process 1234)");
  EXPECT_EQ(title(std::string_view("./a.out\0", 8)), "a.out (process 1234)");
}

TEST(KnownLibrary, ByFileAndByFolder) {
  const auto known = [](const char* path, const char* version) {
    const auto found = known_library({.path = path, .version = version});
    return found ? found->name + " " + found->version : "";
  };
  EXPECT_EQ(known("/a/libcublasLt.so.13", "13.5.1"), "cuBLASLt 13.5.1");
  EXPECT_EQ(known("/a/libnccl.so.2.27.5", ""), "NCCL 2.27.5");
  EXPECT_EQ(known("/a/libnccl.so.2", ""), "");
  EXPECT_EQ(known("/a/libcudnn.so.9", "9.10.2"), "cuDNN 9.10.2");
  EXPECT_EQ(known("/a/libcudnn_ops.so.9.10.2", ""), "");
  EXPECT_EQ(known("/h/.cache/flashinfer/0.6.14/90a/cached_ops/norm/norm.so", ""),
            "FlashInfer 0.6.14");
  EXPECT_EQ(known("/h/.cache/flashinfer/0.6.18.post1/90a/x.so", ""), "FlashInfer 0.6.18");
  EXPECT_EQ(known("/h/flashinfer/flashinfer/0.6.14/x.so", ""), "FlashInfer 0.6.14");
  EXPECT_EQ(known("/p/site-packages/flashinfer/data/x.so", ""), "");
  EXPECT_EQ(known("/a/libtorch.so", ""), "");
}

}  // namespace
}  // namespace profiling
