// Snapshots and experiments over the wire: nothing is lost, and nothing unknown is accepted.
#include "app/protocol/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiling/hazards/model/snapshot.h"

namespace app {
namespace {

using ::testing::HasSubstr;

profiling::Snapshot full_snapshot() {
  using namespace profiling;
  Snapshot snapshot{.subject = "a step",
                    .cublaslt_version = "13.5.1",
                    .device = "NVIDIA H200",
                    .compute_capability = "9.0",
                    .driver = "580.159.04"};
  GraphSnapshot graph{.name = "step", .capture_began = 3, .capture_ended = 5};
  graph.events = {{.kind = CaptureEvent::Kind::Release, .what = "workspace"}};
  graph.nodes = {
      {.type = NodeType::Kernel,
       .id = 7,
       .name = "quantize",
       .stage = engine::Stage::Quantize,
       .layer = 2,
       .parameters = KernelNode{.function = "_Z8quantizev",
                                .grid = {1, 2, 3},
                                .block = {4, 5, 6},
                                .cluster = {2, 1, 1},
                                .dynamic_shared_bytes = 1024,
                                .cooperative = true,
                                .parameters = std::vector<std::byte>(24, std::byte{0xA5}),
                                .slots = {{.offset = 0, .bytes = 8}, {.offset = 8, .bytes = 16}},
                                .waits_for_programmatic = Known::Yes}},
      {.type = NodeType::ChildGraph, .name = "child graph"},
      {.type = NodeType::Memset,
       .name = "memset",
       .parent = 1,
       .parameters = MemsetNode{.address = 0x7000,
                                .value = 9,
                                .element_bytes = 4,
                                .width = 5,
                                .height = 2,
                                .pitch = 64}},
      {.type = NodeType::Memcpy,
       .parameters = MemcpyNode{.source_space = engine::MemorySpace::PageableHost,
                                .target_space = engine::MemorySpace::Device,
                                .source = 1,
                                .target = 2,
                                .bytes = 3}},
      {.type = NodeType::MemAlloc, .parameters = MemAllocNode{.address = 11, .bytes = 12}},
      {.type = NodeType::MemFree, .parameters = MemFreeNode{.address = 11}},
      {.type = NodeType::Unknown}};
  graph.edges = {{.from = 0, .to = 1, .kind = EdgeKind::Programmatic},
                 {.from = 1, .to = 3, .kind = EdgeKind::LaunchOrder}};
  graph.communicators = {{.name = "communicator 1", .ended_at = 9, .ended_by = "ncclCommAbort"}};
  snapshot.graphs = {graph, {.name = "step", .variant_of = 0, .changed = "inputs"}};
  snapshot.graphs[1].failure = {.code = 900, .name = "unsupported", .call = "synchronize"};
  snapshot.ledger = {{.id = 4,
                      .address = 0x7000,
                      .bytes = 4096,
                      .space = engine::MemorySpace::Device,
                      .role = engine::AllocationRole::Workspace,
                      .owner = "workspace",
                      .allocated_at = 1,
                      .freed_at = 4}};
  snapshot.ledger_clock = 6;
  snapshot.launches = {{.graph = 0}, {.graph = 0, .overlaps = true}};
  snapshot.pools = {{.address = 0x7000, .bytes = 1 << 20}};
  snapshot.step = engine::StepKind::ExpertLayer;
  snapshot.nccl_version = "2.27.5";
  snapshot.ended = true;
  return snapshot;
}

TEST(ConvertDoctor, ASnapshotRoundTrips) {
  const profiling::Snapshot snapshot = full_snapshot();
  const auto back = from_wire(to_wire(snapshot));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back.value(), snapshot);
}

TEST(ConvertDoctor, AnOrderAndItsAnswerRoundTrip) {
  DoctorOrder order;
  order.gallery_case = "flag-not-reset";
  order.healthy = true;
  order.experiment = {.graph = true,
                      .replays = 9,
                      .moved = {{.node = {1, 2}, .owner = "workspace"}},
                      .filled = {{.owner = "flag", .value = 255}},
                      .fresh = {{.owner = "saved", .graph = 1}},
                      .filled_between = {{.owner = "saved", .value = 1}},
                      .launches = {{.graph = 1}, {.graph = 0, .overlaps = true}},
                      .captured_per_launch = true,
                      .poisoned_workspaces = 127,
                      .red_zones = true,
                      .changed_inputs = true,
                      .recaptured = true,
                      .scribbled_host = true,
                      .moved_inputs = true,
                      .patched_host = true,
                      .delayed = {{0, 3}},
                      .ordered = {{{0, 1}, {0, 2}}},
                      .free_on_launch = true,
                      .eager_loading = true,
                      .markers = false,
                      .deadline_seconds = 1.5};
  const auto back = from_wire(to_wire({.id = 3, .task = order}));
  ASSERT_TRUE(back.ok()) << back.error().message;
  const auto& arrived = std::get<DoctorOrder>(back.value().task);
  EXPECT_EQ(arrived.experiment, order.experiment);
  EXPECT_EQ(arrived.gallery_case, order.gallery_case);
  EXPECT_TRUE(arrived.healthy);

  using profiling::NodeState;
  DoctorDone done{.snapshot = full_snapshot()};
  done.outcome = {.verdict = profiling::Verdict::Hung,
                  .message = "m",
                  .checks = {{.replay = 2, .output = "Y", .parts = 4, .wrong_parts = {1, 3}}},
                  .stall = {{.replay = 2,
                             .graph = 1,
                             .waited_seconds = 0.5,
                             .deadline_seconds = 0.4,
                             .p99_seconds = 0.02,
                             .nodes = {NodeState::Done, NodeState::Running, NodeState::Unmarked},
                             .last_finished = 0,
                             .kind = profiling::StallKind::KernelSpins,
                             .evidence = "e",
                             .core_dump = "c"}},
                  .seconds = 2.5,
                  .replay_us = {10.5, 11.5},
                  .marker_cost = {.samples = 16, .with_us = 53.7, .without_us = 46.7}};
  const auto answer = from_wire(to_wire(3, done));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(std::get<DoctorDone>(answer.value()).outcome, done.outcome);
  EXPECT_EQ(std::get<DoctorDone>(answer.value()).snapshot, done.snapshot);
}

TEST(ConvertDoctor, AStalledRunRoundTrips) {
  DoctorDone seen{.snapshot = full_snapshot()};
  seen.outcome.verdict = profiling::Verdict::Hung;
  seen.outcome.stall = {{.replay = 41, .deadline_seconds = 0.5, .p99_seconds = 12e-6}};
  RunError sent;
  sent.error.code = engine::ErrorCode::Device;
  sent.error.message = "late";
  sent.stalled = std::make_shared<const DoctorDone>(seen);
  const auto back = from_wire(to_wire(8, sent));
  ASSERT_TRUE(back.ok()) << back.error().message;
  const auto& arrived = std::get<RunError>(back.value());
  EXPECT_EQ(arrived.error.message, "late");
  ASSERT_NE(arrived.stalled, nullptr);
  EXPECT_EQ(arrived.stalled->snapshot, seen.snapshot);
  EXPECT_EQ(arrived.stalled->outcome, seen.outcome);

  wire::Answer damaged = to_wire(8, sent);
  damaged.mutable_failed()->mutable_stalled()->mutable_outcome()->set_verdict(
      static_cast<wire::Verdict>(99));
  EXPECT_FALSE(from_wire(damaged).ok());
}

TEST(ConvertDoctor, InvalidSnapshotsAreRefusedByName) {
  const auto refusal = [](auto&& damage) {
    wire::Snapshot message = to_wire(full_snapshot());
    damage(message);
    const auto back = from_wire(message);
    return back.ok() ? std::string("accepted") : back.error().message;
  };
  EXPECT_THAT(refusal([](wire::Snapshot& m) { m.mutable_graphs(0)->mutable_edges(0)->set_to(99); }),
              HasSubstr("edge"));
  EXPECT_THAT(refusal([](wire::Snapshot& m) { m.mutable_graphs(0)->mutable_edges(1)->set_to(2); }),
              HasSubstr("edge"));  // into another parent
  EXPECT_THAT(
      refusal([](wire::Snapshot& m) { m.mutable_graphs(0)->mutable_nodes(2)->set_parent(2); }),
      HasSubstr("nodes[2].parent"));
  EXPECT_THAT(refusal([](wire::Snapshot& m) {
                m.mutable_graphs(0)->mutable_nodes(0)->set_type(static_cast<wire::NodeType>(77));
              }),
              HasSubstr("graphs[0].nodes[0].type is 77"));
  EXPECT_THAT(refusal([](wire::Snapshot& m) {
                m.mutable_graphs(0)
                    ->mutable_nodes(0)
                    ->mutable_parameters()
                    ->mutable_kernel()
                    ->mutable_slots()
                    ->set_bytes(1, 17);
              }),
              HasSubstr("slots"));
  EXPECT_THAT(refusal([](wire::Snapshot& m) {
                m.mutable_graphs(0)
                    ->mutable_nodes(0)
                    ->mutable_parameters()
                    ->mutable_kernel()
                    ->mutable_slots()
                    ->add_bytes(1);
              }),
              HasSubstr("slots has 2 of offset but 3 of bytes"));
  EXPECT_THAT(refusal([](wire::Snapshot& m) { m.mutable_graphs(1)->set_variant_of(1); }),
              HasSubstr("variant"));
  EXPECT_THAT(refusal([](wire::Snapshot& m) { m.mutable_launches(0)->set_graph(1); }),
              HasSubstr("launches has one of graph 1"));
  EXPECT_THAT(refusal([](wire::Snapshot& m) { m.mutable_launches(0)->set_graph(-1); }),
              HasSubstr("launches"));
  EXPECT_THAT(refusal([](wire::Snapshot& m) { m.mutable_pools(0)->set_bytes(~0ULL); }),
              HasSubstr("pools"));
  EXPECT_THAT(refusal([](wire::Snapshot& m) { m.mutable_ledger(0)->set_bytes(~0ULL); }),
              HasSubstr("allocation 4"));
  EXPECT_THAT(refusal([](wire::Snapshot& m) { *m.add_ledger() = m.ledger(0); }),
              HasSubstr("ascending"));
  EXPECT_THAT(refusal([](wire::Snapshot& m) {
                m.mutable_ledger(0)->set_role(static_cast<wire::AllocationRole>(200));
              }),
              HasSubstr("role"));
}

}  // namespace
}  // namespace app
