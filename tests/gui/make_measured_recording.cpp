// Writes a recording of one run that measured everything: experts by records, stamps and isolation,
// clock and power, ceilings, the observer. With "tiles", launches of a layer of 64 experts tile by
// tile instead. For the window tests; its numbers are chosen, not measured.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiling/session/session_file.h"

namespace {

using namespace profiling;
using engine::Stage;

constexpr int kExperts = 4;
constexpr int kIterations = 20;
constexpr std::int64_t kStepNs = 1'000'000;

/// Set-up before the first iteration: an allocation and a late load; then the host's activity in
/// every iteration.
void add_events(Activity& activity) {
  activity.names.insert(activity.names.end(), {"iteration", "quantize, layer 0", "fprop, layer 0"});
  activity.memory_events = {{.time_ns = -900'000,
                             .address = 0x7f0000100000,
                             .bytes = 64 << 20,
                             .space = engine::MemorySpace::Device,
                             .stage = Stage::Memory},
                            {.time_ns = kIterations * kStepNs,
                             .address = 0x7f0000100000,
                             .bytes = 64 << 20,
                             .operation = MemoryOperation::Release,
                             .space = engine::MemorySpace::Device}};
  activity.host_events.push_back({.start_ns = -600'000,
                                  .end_ns = -200'000,
                                  .name = 1,
                                  .kind = HostEventKind::LazyLoading,
                                  .stage = Stage::Fprop});
  for (int i = 0; i < kIterations; ++i) {
    const std::int64_t at = i * kStepNs;
    HostEvent event{.start_ns = at, .end_ns = at + 60'000, .name = 3, .iteration = i};
    event.kind = HostEventKind::StageRange;
    activity.host_events.push_back(event);
    event = {.start_ns = at + 5'000, .end_ns = at + 20'000, .name = 4, .iteration = i};
    event.kind = HostEventKind::StageRange;
    event.stage = Stage::Quantize;
    activity.host_events.push_back(event);
    event.start_ns = at + 25'000;
    event.end_ns = at + 50'000;
    event.name = 5;
    event.stage = Stage::Fprop;
    activity.host_events.push_back(event);
  }
}

RecordedRun measured_run() {
  RecordedRun run;
  run.request.shape = {.preset = {}, .num_experts = kExperts, .rows = 1024, .n = 1024, .k = 2048};
  run.request.recipe.scaling = engine::Scaling::Block;
  run.request.backend = engine::GemmBackend::CublasLtPerExpert;
  run.request.launch = {.kind = engine::LaunchKind::GraphReplay, .iterations = kIterations};
  engine::RunResult& result = run.result;
  result.effective = run.request;
  result.splits = {512, 256, 256, 0};
  result.experts.resize(kExperts);
  for (std::size_t e = 0; e < kExperts; ++e) result.experts[e].rows = result.splits[e];
  result.device.name = "NVIDIA H200";
  result.device.compute_capability = "9.0";
  result.device.multiprocessors = 132;
  result.iteration_method = "CUDA events around each graph launch";
  result.activity_method = "test values";
  result.flop = 2.0 * 1024 * 1024 * 2048;
  run.activity.names = {"quantize_block_1x128_kernel", "matmul", "cudaLaunchKernelExC"};
  run.activity.shapes = {{.grid_x = 132,
                          .grid_y = 2,
                          .grid_z = 1,
                          .block_x = 384,
                          .block_y = 1,
                          .block_z = 1,
                          .registers_per_thread = 168,
                          .static_shared_bytes = 1024,
                          .dynamic_shared_bytes = 200 << 10}};
  for (int i = 0; i < kIterations; ++i) {
    result.iterations.push_back(
        {.start_ns = i * kStepNs, .duration_ns = i < 9 ? 900'000 : 990'000});
    // The quantize kernels' own calls; of the products only the host's range is known.
    const std::int64_t launched = i * kStepNs - 30'000;
    run.activity.calls.push_back({.start_ns = launched, .end_ns = launched + 6'000, .name = 2});
    std::int64_t at = i * kStepNs;
    run.activity.records.push_back({.start_ns = at,
                                    .end_ns = at + 50'000,
                                    .name = 0,
                                    .iteration = i,
                                    .kind = ActivityKind::Kernel,
                                    .stage = Stage::Quantize,
                                    .shape = 1,
                                    .call = static_cast<std::uint32_t>(i) + 1});
    at += 50'000;
    for (int expert = 0; expert < 3; ++expert) {
      const std::int64_t duration = expert == 0 ? 20'000 : 10'000;
      run.activity.records.push_back({.start_ns = at,
                                      .end_ns = at + duration,
                                      .name = 1,
                                      .iteration = i,
                                      .expert = static_cast<std::int16_t>(expert),
                                      .kind = ActivityKind::Kernel,
                                      .stage = Stage::Fprop});
      at += duration;
    }
  }
  add_events(run.activity);
  for (int expert = 0; expert < 3; ++expert) {
    const double alone = expert == 0 ? 16'000.0 : 8'000.0;  // 0.8 of what the records show
    result.measurements.experts.push_back({.method = engine::ExpertMethod::Isolated,
                                           .stage = Stage::Fprop,
                                           .expert = expert,
                                           .samples = 5,
                                           .median_ns = alone,
                                           .p5_ns = alone - 100.0,
                                           .p95_ns = alone + 100.0});
    result.measurements.experts.push_back({.method = engine::ExpertMethod::Stamps,
                                           .stage = Stage::Quantize,
                                           .expert = expert,
                                           .samples = 16,
                                           .median_ns = 5'000.0,
                                           .p5_ns = 4'000.0,
                                           .p95_ns = 6'000.0});
  }
  result.measurements.observer = {{.level = engine::TraceLevel::Off,
                                   .samples = 90,
                                   .median_ns = 1e6,
                                   .p5_ns = 9.9e5,
                                   .p95_ns = 1.005e6},
                                  {.level = engine::TraceLevel::Nodes,
                                   .samples = 90,
                                   .median_ns = 1.011e6,
                                   .p5_ns = 1.0e6,
                                   .p95_ns = 1.02e6}};
  result.measurements.ceilings = {.copy_bytes_per_s = 4.1e12,
                                  .copy_bytes = 1 << 30,
                                  .copies = 10,
                                  .product_flop_per_s = 2e14,
                                  .products = 20,
                                  .product = "dense 1024 x 1024 x 2048, test values"};
  result.algorithms = {{.product = engine::Product::Fprop,
                        .candidates = 8,
                        .chosen = 2,
                        .first_us = 50.0,
                        .chosen_us = 45.0},
                       {.product = engine::Product::Dgrad,
                        .candidates = 4,
                        .chosen = 0,
                        .first_us = 40.0,
                        .chosen_us = 40.0}};
  run.power.method = "instant";
  for (int i = 0; i < 40; ++i) {
    run.power.samples.push_back({.time_ns = i * kStepNs / 2,
                                 .sm_clock_mhz = i < 20 ? 1980 : 1500,
                                 .memory_clock_mhz = 3201,
                                 .power_w = 200.0 + 12.5 * i,
                                 .temperature_c = 50,
                                 .clock_reasons = i < 20 ? 0U : 4U});
  }
  return run;
}

constexpr int kMultiprocessors = 132;

/// Tiles dealt one by one to whichever multiprocessor is free first. Expert 3 has twice the tiles
/// of another; those of every `short_experts`-th expert take a tenth of the time.
engine::TiledLaunch launch_of_tiles(Stage stage, engine::StepTensor writes, int experts, int tiles,
                                    std::int64_t tile_ns, int short_experts) {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> jitter(-tile_ns / 8, tile_ns / 8);
  std::vector<std::int64_t> free_ns(kMultiprocessors);
  for (std::int64_t& at : free_ns) at = 1'000'000 + jitter(random);
  std::vector<engine::LaunchTile> all;
  for (int tile = 0; tile < tiles; ++tile) {
    const int part = tile * (experts + 1) / tiles;  // of equal parts, of which expert 3 has two
    const auto sm = std::ranges::min_element(free_ns) - free_ns.begin();
    std::int64_t& at = free_ns[static_cast<std::size_t>(sm)];
    const int expert = part > 3 ? part - 1 : part;
    const std::int64_t length = tile_ns + jitter(random);
    const std::int64_t end =
        at + (expert % short_experts == short_experts - 1 ? length / 10 : length);
    all.push_back({.begin_ns = at,
                   .end_ns = end,
                   .multiprocessor = static_cast<int>(sm),
                   .expert = expert,
                   .tile = tile});
    at = end;
  }
  engine::TiledLaunch launch =
      engine::tiled_launch(stage, engine::written(writes), kMultiprocessors, std::move(all));
  launch.launches = 16;
  return launch;
}

RecordedRun tiled_run() {
  RecordedRun run = measured_run();
  constexpr int kMany = 64;
  engine::RunResult& result = run.result;
  result.effective.step = run.request.step = engine::StepKind::ExpertLayer;
  result.effective.shape.num_experts = run.request.shape.num_experts = kMany;
  result.effective.backend = run.request.backend = engine::GemmBackend::Expertscope;
  result.splits.assign(kMany, 256);
  result.splits[3] = 512;
  result.experts.resize(kMany);
  for (std::size_t e = 0; e < kMany; ++e) result.experts[e].rows = result.splits[e];
  for (const engine::StepTensor writes : {engine::StepTensor::H, engine::StepTensor::Y}) {
    for (int expert = 0; expert < kMany; ++expert) {
      const double time_ns = expert == 3 ? 80'000.0 : 40'000.0;
      result.measurements.experts.push_back({.method = engine::ExpertMethod::Stamps,
                                             .stage = Stage::Fprop,
                                             .expert = expert,
                                             .samples = 16,
                                             .median_ns = time_ns,
                                             .p5_ns = time_ns - 900.0,
                                             .p95_ns = time_ns + 900.0,
                                             .writes = engine::written(writes)});
    }
  }
  result.measurements.tiled_launches = {
      launch_of_tiles(Stage::Fprop, engine::StepTensor::H, kMany, 4000, 20'000, kMany + 1),
      launch_of_tiles(Stage::Wgrad, engine::StepTensor::DWUp, kMany, 40'000, 3'000, 8)};
  // Launches for all experts, of which only that is known.
  run.activity.names.push_back("wgrad_kernel");
  for (int i = 0; i < kIterations; ++i) {
    run.activity.records.push_back(
        {.start_ns = i * kStepNs + 200'000,
         .end_ns = i * kStepNs + 800'000,
         .name = static_cast<std::uint32_t>(run.activity.names.size()) - 1,
         .iteration = i,
         .kind = ActivityKind::Kernel,
         .stage = Stage::Wgrad,
         .writes = engine::written(engine::StepTensor::DWUp)});
  }
  std::ranges::stable_sort(run.activity.records, {}, &ActivityRecord::start_ns);
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  const bool tiles = argc == 3 && argv[2] == std::string_view("tiles");
  if (argc != 2 && !tiles) {
    std::fprintf(stderr, "usage: make_measured_recording FILE [tiles]\n");
    return 2;
  }
  auto writer = SessionWriter::create(argv[1]);
  engine::Status status;
  if (writer.ok()) {
    status = writer.value()->append(tiles ? tiled_run() : measured_run());
  } else {
    status = writer.error();
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return 1;
}
