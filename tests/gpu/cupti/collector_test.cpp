// The collector on a real device: a small captured chain of launches, replayed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/device/buffer.h"
#include "engine/device/device_facts.h"
#include "engine/device/handles.h"
#include "engine/observe/scopes.h"
#include "kernels/offsets/splits_to_offsets.h"
#include "profiling/cupti/cupti_collector.h"

namespace profiling {
namespace {

using engine::Stage;

constexpr int kGroups = 4;
constexpr int kReplays = 5;
constexpr engine::WrittenValue kColumnwiseW =
    engine::written(engine::StepTensor::WUp, engine::CopyForms::Columnwise);

class CuptiCollectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto device = engine::find_device();
    if (!device.ok()) GTEST_SKIP() << device.error().message;
    auto collector = make_cupti_collector();
    ASSERT_TRUE(collector.ok()) << collector.error().message;
    collector_ = std::move(collector).value();
    auto stream = engine::make_stream();
    ASSERT_TRUE(stream.ok()) << stream.error().message;
    stream_ = std::move(stream).value();
    for (engine::DeviceBuffer* buffer : {&splits_, &offsets_}) {
      auto allocated = engine::DeviceBuffer::allocate(8 * (kGroups + 1), {});
      ASSERT_TRUE(allocated.ok()) << allocated.error().message;
      *buffer = std::move(allocated).value();
    }
    const std::vector<std::int64_t> splits = {3, 0, 2, 1};
    ASSERT_TRUE(engine::copy_to_device<std::int64_t>(splits_.data(), splits, stream_.get()).ok());
  }

  engine::Status launch_offsets() {
    return engine::check_cuda(
        kernels::splits_to_offsets(
            kernels::SplitsToOffsetsArgs{.splits = splits_.as<std::int64_t>(),
                                         .num_groups = kGroups,
                                         .capacity_rows = 6,
                                         .row_offsets = offsets_.as<std::int64_t>()},
            stream_.get()),
        "Launching");
  }

  /// Two kernels of different stages with a memset between them.
  engine::Status enqueue() {
    {
      const engine::WorkScope scope(*collector_, {.stage = Stage::Offsets});
      ENGINE_TRY(launch_offsets());
    }
    {
      const engine::WorkScope scope(*collector_, {.stage = Stage::Check});
      ENGINE_CUDA_TRY(cudaMemsetAsync(offsets_.data(), 0, 8, stream_.get()), "Clearing");
    }
    const engine::WorkScope scope(*collector_,
                                  {.stage = Stage::Quantize, .layer = 1, .writes = kColumnwiseW});
    return launch_offsets();
  }

  std::unique_ptr<ActivityCollector> collector_;
  engine::Stream stream_;
  engine::DeviceBuffer splits_;
  engine::DeviceBuffer offsets_;
};

TEST_F(CuptiCollectorTest, EveryReplayedNodeHasARecordWithItsStageNodeAndIteration) {
  ASSERT_TRUE(launch_offsets().ok());  // loads the kernel outside the capture
  collector_->begin_run();
  const auto graph = engine::capture(stream_.get(), [&] { return enqueue(); });
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  collector_->graph_captured({.graph = graph.value().get()});
  const auto exec = engine::instantiate(graph.value());
  ASSERT_TRUE(exec.ok()) << exec.error().message;
  for (int replay = 0; replay < kReplays; ++replay) {
    const engine::IterationScope scope(*collector_, replay);
    ASSERT_EQ(cudaGraphLaunch(exec.value().get(), stream_.get()), cudaSuccess);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  collector_->end_run();
  EXPECT_THAT(collector_->method(), ::testing::HasSubstr("CUPTI"));
  EXPECT_THAT(collector_->method(), ::testing::Not(::testing::HasSubstr("error")));
  EXPECT_EQ(collector_->dropped(), 0U);

  const Activity activity = collector_->take();
  ASSERT_EQ(activity.nodes.size(), 3U);
  EXPECT_EQ(activity.nodes[0].stage, Stage::Offsets);
  EXPECT_EQ(activity.nodes[1].name, "memset");
  EXPECT_EQ(activity.nodes[2].stage, Stage::Quantize);
  EXPECT_EQ(activity.nodes[2].layer, 1);
  EXPECT_EQ(activity.nodes[2].writes, kColumnwiseW);
  EXPECT_THAT(activity.nodes[2].dependencies, ::testing::ElementsAre(activity.nodes[1].id));
  std::set<std::uint64_t> node_ids;
  for (const GraphNode& node : activity.nodes) node_ids.insert(node.id);

  std::map<int, int> kernels_of_iteration;
  std::map<Stage, int> records_of_stage;
  for (const ActivityRecord& record : activity.records) {
    EXPECT_TRUE(node_ids.contains(record.node_id)) << activity.names[record.name];
    EXPECT_GE(record.end_ns, record.start_ns);
    const HostCall* const call = call_of(activity, record);
    ASSERT_NE(call, nullptr) << activity.names[record.name];
    EXPECT_EQ(activity.names[call->name], "cudaGraphLaunch");
    EXPECT_LE(call->start_ns, record.start_ns);
    const LaunchShape* const shape = shape_of(activity, record);
    ASSERT_NE(shape, nullptr);
    EXPECT_EQ(shape->kernel(), record.kind == ActivityKind::Kernel);
    if (shape->kernel()) {
      EXPECT_GT(shape->block_x, 0U);
      EXPECT_GT(shape->registers_per_thread, 0U);
    } else {
      EXPECT_EQ(shape->bytes, 8U);
    }
    EXPECT_EQ(record.writes,
              record.stage == Stage::Quantize ? kColumnwiseW : engine::WrittenValue::Unknown);
    ++records_of_stage[record.stage];
    if (record.kind == ActivityKind::Kernel) ++kernels_of_iteration[record.iteration];
  }
  for (int replay = 0; replay < kReplays; ++replay) {
    EXPECT_EQ(kernels_of_iteration[replay], 2) << "replay " << replay;
  }
  EXPECT_EQ(kernels_of_iteration.size(), static_cast<std::size_t>(kReplays));
  EXPECT_EQ(activity.calls.size(), static_cast<std::size_t>(kReplays)) << "one for all nodes";
  EXPECT_EQ(records_of_stage[Stage::Offsets], kReplays);
  EXPECT_EQ(records_of_stage[Stage::Check], kReplays);
  EXPECT_EQ(records_of_stage[Stage::Quantize], kReplays);
}

TEST_F(CuptiCollectorTest, EagerLaunchesAreAttributedAndRunsDoNotMix) {
  for (int run = 0; run < 2; ++run) {
    collector_->begin_run();
    {
      const engine::IterationScope scope(*collector_, 0);
      const engine::Status enqueued = enqueue();
      ASSERT_TRUE(enqueued.ok()) << enqueued.error().message;
    }
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    collector_->end_run();
    const Activity activity = collector_->take();
    std::map<Stage, int> kernels_of_stage;
    for (const ActivityRecord& record : activity.records) {
      EXPECT_EQ(record.iteration, 0);
      EXPECT_EQ(record.node_id, 0U);
      if (record.kind == ActivityKind::Kernel) ++kernels_of_stage[record.stage];
    }
    EXPECT_EQ(kernels_of_stage[Stage::Offsets], 1);
    EXPECT_EQ(kernels_of_stage[Stage::Quantize], 1);
    EXPECT_TRUE(activity.nodes.empty());
  }
}

TEST_F(CuptiCollectorTest, StagesAllocationsAndPoolsAreKeptSeparateFromTheWork) {
  collector_->begin_run();
  {
    const engine::IterationScope scope(*collector_, 0);
    ASSERT_TRUE(enqueue().ok());
    const engine::WorkScope memory(*collector_, {.stage = Stage::Memory, .layer = 1});
    void* plain = nullptr;
    ASSERT_EQ(cudaMalloc(&plain, 3 << 20), cudaSuccess);
    ASSERT_EQ(cudaFree(plain), cudaSuccess);
    void* ordered = nullptr;
    ASSERT_EQ(cudaMallocAsync(&ordered, 5 << 20, stream_.get()), cudaSuccess);
    ASSERT_EQ(cudaFreeAsync(ordered, stream_.get()), cudaSuccess);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  collector_->end_run();
  EXPECT_THAT(collector_->method(), ::testing::Not(::testing::HasSubstr("refused")));
  const Activity activity = collector_->take();

  std::map<Stage, const HostEvent*> range_of;
  const HostEvent* iteration = nullptr;
  for (const HostEvent& event : activity.host_events) {
    EXPECT_GE(event.end_ns, event.start_ns);
    if (event.kind != HostEventKind::StageRange) continue;
    range_of[event.stage] = &event;
    if (activity.names[event.name] == "iteration") iteration = &event;
  }
  ASSERT_NE(iteration, nullptr) << "no NVTX ranges came";
  EXPECT_EQ(iteration->iteration, 0);
  for (const Stage stage : {Stage::Offsets, Stage::Check, Stage::Quantize, Stage::Memory}) {
    ASSERT_TRUE(range_of.contains(stage)) << engine::stage_name(stage);
    EXPECT_EQ(range_of[stage]->iteration, 0);
    EXPECT_GE(range_of[stage]->start_ns, iteration->start_ns);
    EXPECT_LE(range_of[stage]->end_ns, iteration->end_ns);
  }
  EXPECT_EQ(range_of[Stage::Quantize]->layer, 1);

  std::map<std::pair<std::uint64_t, MemoryOperation>, MemoryEvent> memory;
  for (const MemoryEvent& event : activity.memory_events) {
    memory[{event.bytes, event.operation}] = event;
  }
  for (const MemoryOperation operation : {MemoryOperation::Allocate, MemoryOperation::Release}) {
    const MemoryEvent& plain = memory[{3U << 20, operation}];
    EXPECT_EQ(plain.space, engine::MemorySpace::Device);
    EXPECT_EQ(plain.stage, Stage::Memory);  // by the correlation id of its call
    EXPECT_EQ(plain.layer, 1);
    EXPECT_EQ(plain.iteration, 0);
    EXPECT_FALSE(plain.stream_ordered);
  }
  const MemoryEvent& ordered = memory[{5U << 20, MemoryOperation::Allocate}];
  EXPECT_TRUE(ordered.stream_ordered);
  EXPECT_NE(ordered.pool, 0U);
  EXPECT_GE(ordered.pool_bytes, 5U << 20);
}

TEST_F(CuptiCollectorTest, ARunWithoutWorkSaysThatNoRecordsCame) {
  collector_->begin_run();
  collector_->end_run();
  EXPECT_THAT(collector_->method(), ::testing::HasSubstr("no records"));
  EXPECT_TRUE(collector_->take().records.empty());
}

TEST_F(CuptiCollectorTest, OneCollectorPerProcess) {
  const auto second = make_cupti_collector();
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, ::testing::HasSubstr("already"));
}

}  // namespace
}  // namespace profiling
