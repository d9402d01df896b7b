// The watch over an ordinary run's replays, on a device: its report for a normal run, and for one
// whose replay waits for a word in host memory that is never written.
#include "profiling/hazards/proofs/run_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>

#include "engine/backend/backend.h"
#include "engine/device/buffer.h"
#include "engine/model/replay_deadline.h"
#include "profiling/hazards/snapshot/graph_reader.h"
#include "profiling/trace/host_spans.h"

namespace profiling {
namespace {

using engine::Result;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Clock = std::chrono::steady_clock;

constexpr int kIterations = 40;
constexpr int kLateReplay = 12;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A RunWatch whose graph waits after its first kernel for a word, which is cleared before one of
/// the replays and set again once the watch has reported that it is late.
class WaitingWatch final : public engine::ReplayWatch {
 public:
  WaitingWatch(RunWatch& watch, engine::PinnedBuffer& gate) : watch_(watch), gate_(gate) {
    set_gate(1);
  }

  Result<int> captured(const engine::GraphCapture& capture) override {
    Result<int> markers = watch_.captured(capture);
    if (!markers.ok()) return markers;
    if (engine::Status added = add_gate(static_cast<CUgraph>(capture.graph)); !added.ok()) {
      return added.error();
    }
    return markers;
  }
  void replay_begins(int replay) override {
    watch_.replay_begins(replay);
    if (replay != kLateReplay) return;
    set_gate(0);
    began_ = Clock::now();
  }
  void launch_begins(const engine::Launching& launch) override { watch_.launch_begins(launch); }
  void launch_ends() override { watch_.launch_ends(); }
  void stalled(const engine::LateReplay& late) override {
    late_ = late;
    watch_.stalled(late);
    told_after_ = seconds_since(began_);
    set_gate(1);
  }

  const std::optional<engine::LateReplay>& late() const { return late_; }
  double told_after() const { return told_after_; }
  int first_kernel() const { return first_kernel_; }

 private:
  void set_gate(std::uint32_t value) { *gate_.as<volatile std::uint32_t>() = value; }

  engine::Status add_gate(CUgraph graph) {
    const Result<engine::DriverApi> driver = engine::load_driver_api();
    if (!driver.ok()) return driver.error();
    const Result<ReadGraph> read = read_captured_graph(driver.value(), graph);
    if (!read.ok()) return read.error();
    const std::vector<SnapshotNode>& nodes = read.value().snapshot.nodes;
    std::size_t first = 0;
    while (first < nodes.size() && nodes[first].type != NodeType::Kernel) ++first;
    CUstreamBatchMemOpParams wait{};
    wait.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    wait.waitValue.address = reinterpret_cast<CUdeviceptr>(gate_.as<std::uint32_t>());
    wait.waitValue.value = 1;
    wait.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    CUcontext context = nullptr;
    (void)driver.value().ctx_get_current(&context);
    CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{};
    parameters.ctx = context;
    parameters.count = 1;
    parameters.paramArray = &wait;
    CUgraphNode gate = nullptr;
    CUgraphNode before = read.value().handles[first];
    if (driver.value().graph_add_batch_mem_op_node(&gate, graph, &before, 1, &parameters) !=
        CUDA_SUCCESS) {
      return engine::Error{engine::ErrorCode::Device, "adding the gate failed"};
    }
    // Everything that waited for the first kernel, except its marker, also waits for the gate.
    const CUgraphEdgeData full{};
    for (const SnapshotEdge& edge : read.value().snapshot.edges) {
      const NodeType type = nodes[static_cast<std::size_t>(edge.to)].type;
      if (edge.from != static_cast<int>(first) || type == NodeType::BatchMemOp) continue;
      CUgraphNode after = read.value().handles[static_cast<std::size_t>(edge.to)];
      if (driver.value().graph_add_dependencies(graph, &gate, &after, &full, 1) != CUDA_SUCCESS) {
        return engine::Error{engine::ErrorCode::Device, "ordering the gate failed"};
      }
    }
    first_kernel_ = static_cast<int>(first);
    return {};
  }

  RunWatch& watch_;
  engine::PinnedBuffer& gate_;
  Clock::time_point began_;
  std::optional<engine::LateReplay> late_;
  double told_after_ = 0.0;
  int first_kernel_ = -1;
};

class RunWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    slot_ = engine::make_cuda_backend("");
    if (slot_.backend == nullptr) GTEST_SKIP() << slot_.reason;
    Result<Probe> made = Probe::create();
    ASSERT_TRUE(made.ok()) << made.error().message;
    probe_ = std::make_unique<Probe>(std::move(made).value());
  }

  engine::RunRequest request(bool markers, double factor = 20.0) const {
    engine::RunRequest request;
    request.shape = {.preset = {}, .num_experts = 4, .rows = 1024, .n = 256, .k = 512};
    request.recipe.scaling = engine::Scaling::Block;
    request.backend = engine::GemmBackend::CublasLtGrouped;
    request.launch = {.kind = engine::LaunchKind::GraphReplay,
                      .iterations = kIterations,
                      .deadline_factor = factor,
                      .markers = markers};
    return request;
  }

  RunWatch::Options options(bool markers) {
    return {.markers = markers,
            .device = [] { return std::string("what NVML says"); },
            .stalled = [this](StalledRun run) { seen_ = std::move(run); }};
  }

  Result<engine::RunResult> run(const engine::RunRequest& request, engine::ReplayWatch* watch) {
    return slot_.backend->run(request,
                              {.progress = progress_, .observer = *observer_, .replays = watch});
  }

  engine::BackendSlot slot_;
  std::unique_ptr<Probe> probe_;
  LiveBoard board_;
  engine::RunProgress progress_;
  std::unique_ptr<ActivityCollector> observer_ = make_host_span_collector();
  std::optional<StalledRun> seen_;
};

TEST_F(RunWatchTest, ANormalRunReportsItsDeadline) {
  for (const bool markers : {false, true}) {
    RunWatch watch(*probe_, board_, options(markers));
    const Result<engine::RunResult> result = run(request(markers), &watch);
    ASSERT_TRUE(result.ok()) << result.error().message;
    const engine::ReplayWatchFacts& facts = result.value().watch;
    EXPECT_EQ(facts.replays, 6 + kIterations);  // six are checked bit for bit first
    EXPECT_GT(facts.p99_us, 0.0);
    EXPECT_LT(facts.p99_us, 25'000.0);
    EXPECT_EQ(facts.deadline_seconds, engine::kShortestReplayDeadline);
    EXPECT_EQ(facts.markers, markers ? result.value().graph.kernels : 0);
    EXPECT_EQ(result.value().iterations.size(), static_cast<std::size_t>(kIterations));
    EXPECT_EQ(result.value().iteration_method.find("markers") != std::string::npos, markers);
    for (const engine::ReplayCheck& check : result.value().replay_checks) {
      EXPECT_THAT(check.wrong_experts, IsEmpty());
    }
    EXPECT_FALSE(seen_.has_value());
    EXPECT_EQ(board_.read().replay, markers ? 6 + kIterations : 0);
  }
}

TEST_F(RunWatchTest, WithoutADeadlineReplaysMayTakeForever) {
  RunWatch watch(*probe_, board_, options(false));
  const Result<engine::RunResult> result = run(request(false, 0.0), &watch);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value().watch.replays, 6 + kIterations);
  EXPECT_EQ(result.value().watch.deadline_seconds, 0.0);
}

TEST_F(RunWatchTest, ALateReplayIsReportedWithinASecondWithTheLastFinishedNode) {
  Result<engine::PinnedBuffer> gate =
      engine::PinnedBuffer::allocate(4, {engine::AllocationRole::Check, "gate"});
  ASSERT_TRUE(gate.ok()) << gate.error().message;
  RunWatch inner(*probe_, board_, options(true));
  WaitingWatch watch(inner, gate.value());
  const Result<engine::RunResult> result = run(request(true), &watch);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, engine::ErrorCode::Device);
  EXPECT_THAT(result.error().message, HasSubstr("Replay 12"));
  ASSERT_TRUE(watch.late().has_value());
  EXPECT_EQ(watch.late()->replay, kLateReplay);
  EXPECT_EQ(watch.late()->deadline_seconds, engine::kShortestReplayDeadline);
  EXPECT_GT(watch.late()->p99_seconds, 0.0);
  EXPECT_LT(watch.told_after(), engine::kShortestReplayDeadline + 1.0);
  ASSERT_TRUE(seen_.has_value());
  ASSERT_EQ(seen_->snapshot.graphs.size(), 1U);
  EXPECT_FALSE(seen_->snapshot.ledger.empty());
  const Stall& stall = seen_->stall;
  EXPECT_EQ(stall.replay, kLateReplay);
  EXPECT_EQ(stall.p99_seconds, watch.late()->p99_seconds);
  ASSERT_EQ(stall.nodes.size(), seen_->snapshot.graphs[0].nodes.size());
  EXPECT_EQ(stall.last_finished, watch.first_kernel());
  EXPECT_NE(stall.kind, StallKind::Unknown);
  EXPECT_THAT(stall.evidence, HasSubstr("what NVML says"));
}

TEST_F(RunWatchTest, MarkersChangeNoBit) {
  const auto sums = [&](bool markers) {
    RunWatch watch(*probe_, board_, options(markers));
    return run(request(markers), &watch);
  };
  const Result<engine::RunResult> without = sums(false);
  const Result<engine::RunResult> with = sums(true);
  ASSERT_TRUE(without.ok() && with.ok());
  ASSERT_EQ(without.value().experts.size(), with.value().experts.size());
  for (std::size_t e = 0; e < with.value().experts.size(); ++e) {
    EXPECT_EQ(without.value().experts[e].fprop.max_abs_error,
              with.value().experts[e].fprop.max_abs_error);
  }
  // The nodes that were counted are the step's own, without the markers.
  EXPECT_EQ(without.value().graph.kernels, with.value().graph.kernels);
}

}  // namespace
}  // namespace profiling
