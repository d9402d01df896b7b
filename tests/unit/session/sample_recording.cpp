// The sample is written by hand, field by field: a field that the file does not keep shows up as a
// difference.
#include "tests/unit/session/sample_recording.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "engine/model/leaves.h"
#include "engine/model/values.h"
#include "tests/unit/session/sample_parts.h"
#include "tests/unit/session/sample_visit.h"

namespace profiling {

RecordedRun sample_run(int salt) {
  const double nan = std::nan("");
  RecordedRun run;
  run.request.seed = static_cast<std::uint64_t>(salt) + 77;
  run.request.shape.num_experts = 5;
  run.request.cublaslt_library = "/opt/größe/libcublasLt.so";
  run.wall_clock_ms = 1'700'000'000'000 + salt;
  run.snapshot = sample_snapshot(salt);
  run.group = {.kind = salt % 2 == 0 ? GroupKind::Sweep : GroupKind::Interleaved,
               .id = 1000 + salt,
               .position = salt,
               .label = "“B”"};
  run.name = "run " + std::to_string(salt);
  run.notes = {{.begin_ns = -500, .end_ns = 1200, .text = "größer", .created_ms = 17 + salt},
               {.begin_ns = 7, .end_ns = 7, .text = "", .created_ms = 18}};

  engine::RunResult& result = run.result;
  result.id = std::numeric_limits<std::uint64_t>::max() - static_cast<std::uint64_t>(salt);
  result.effective = run.request;
  result.effective.shape.num_experts = 3;
  result.effective.layers = 2;
  result.deviations = {{.field = "backend", .requested = "a", .effective = "b", .reason = "c"},
                       {.field = "launch", .requested = "", .effective = "x", .reason = "“why”"}};
  result.splits = {100, 0, 200 + salt};
  result.recorded_routing = {
      .source = "“routed”", .layers = 3, .file_steps = 40, .numerics = "of one", .steps = {}};
  result.recorded_routing->steps = {
      {.step = 7,
       .rows = 300 + salt,
       .dropped = 2,
       .splits = result.splits,
       .imbalance = 2.25,
       .visits = 3,
       .median_ns = 1000.5,
       .p5_ns = 900.0,
       .p95_ns = 1100.0,
       .y_snr_db = 31.0},
      {.step = 8, .rows = 6, .splits = {1, 2, 3}, .dw_snr_db = kInfinity}};
  result.device = {.name = "device",
                   .driver = "580.1",
                   .compute_capability = "9.0",
                   .cublaslt_version = "13.10.0",
                   .cublaslt_path = "/lib/x.so",
                   .blas = "OpenBLAS",
                   .multiprocessors = 132 + salt,
                   .memory_bytes = (std::int64_t{141} << 30) + salt};
  sample_tensor(result, engine::StepTensor::X) = {
      .rows = 300 + salt,
      .columns = result.effective.shape.k,
      .bytes = 1000 + salt,
      .saved_bytes = 500 + salt,
      .error = {.snr_db = 7.5 + salt, .max_abs_error = 0.5, .reference_rms = 1.25, .undefined = 3},
      .quantization = sample_operand(salt),
      .unquantized_y = engine::UnquantizedY{.snr_db = kInfinity, .left_out = 5}};
  engine::TensorResult& x = sample_tensor(result, engine::StepTensor::X);
  x.quantization->channels = sample_channels(salt, x);
  // W has none, as in recordings from before they were measured.
  sample_tensor(result, engine::StepTensor::WUp).quantization = sample_operand(salt + 5);
  sample_tensor(result, engine::StepTensor::WUp).quantization->snr_db = kInfinity;
  sample_tensor(result, engine::StepTensor::Y).bytes = 77;
  result.experts = {
      {.rows = 100,
       .fprop = {.snr_db = 31.5 + salt, .max_abs_error = 0.25, .reference_rms = 1.5, .lost = 12},
       .saturated = 3,
       .underflowed = 4,
       .x_snr_db = -7.25,
       .x_max_ulp = 0.5625,
       .dgrad = {.snr_db = 28.5, .max_abs_error = 0.5, .reference_rms = 2.5},
       .wgrad = {.snr_db = nan, .max_abs_error = kInfinity, .reference_rms = 3.5}},
      {.rows = 0, .fprop = {.snr_db = nan}, .x_snr_db = nan},
      {.rows = 200 + salt, .fprop = {.snr_db = kInfinity, .max_abs_error = kInfinity}}};
  result.iterations = {{.start_ns = 0, .duration_ns = 10 + salt},
                       {.start_ns = 20 + salt, .duration_ns = 11}};
  result.replay_checks = {{.replay = 1, .layer = 0, .wrong_experts = {}},
                          {.replay = 2,
                           .layer = 1,
                           .product = engine::Product::Wgrad,
                           .micro_batch = 1,
                           .wrong_experts = {0, 2}}};
  result.backward = true;
  result.effective.products.passes = engine::StepPasses::ForwardBackward;
  sample_tensor(result, engine::StepTensor::DY).quantization = sample_operand(salt + 9);
  result.emulated = "“why” the products are emulated";
  result.graph = {.kernels = 11 + salt,
                  .memsets = 2,
                  .copies = 3,
                  .allocations = 4,
                  .host_calls = 5,
                  .host_launch_ns = 6000 + salt};
  result.graphs = {{.name = "forward",
                    .contents = {.kernels = 5 + salt, .host_launch_ns = 2000},
                    .median_us = 12.5,
                    .samples = 20},
                   {.name = "“backward”", .contents = {.kernels = 6, .memsets = 2}}};
  result.graph_memory = {.pools = 1, .bytes = 4096 + salt, .unshared_bytes = 8192};
  result.watch = {
      .replays = 42 + salt, .p99_us = 12.5, .deadline_seconds = 0.75, .markers = 11 + salt};
  result.algorithms = {{.product = engine::Product::Dgrad,
                        .candidates = 8,
                        .chosen = 3,
                        .first_us = 12.5,
                        .chosen_us = 11.25}};
  result.iteration_method = "iteration method";
  result.activity_method = "activity method";
  result.dropped_records = static_cast<std::uint64_t>(salt) + 9;
  result.flop = 1.5e15 + salt;
  result.wall_ns = 123'456'789 + salt;

  Activity& activity = run.activity;
  activity.names = {"set-up", "kernel<int, 3>", ""};
  activity.records = {{.start_ns = -50 - salt, .end_ns = -10, .name = 0, .lane = 65535},
                      {.start_ns = 1,
                       .end_ns = 9,
                       .node_id = std::uint64_t{1} << 63,
                       .name = 1,
                       .iteration = 0,
                       .expert = 2,
                       .layer = 1,
                       .kind = ActivityKind::Kernel,
                       .lane = 7,
                       .stage = engine::Stage::Fprop,
                       .shape = 2,
                       .call = 1},
                      {.start_ns = 21,
                       .end_ns = 21,
                       .name = 2,
                       .iteration = 1,
                       .kind = ActivityKind::Memset,
                       .shape = 1}};
  activity.shapes = {{.bytes = std::uint64_t{1} << 40},
                     {.grid_x = 132,
                      .grid_y = 2,
                      .grid_z = 1,
                      .block_x = 384,
                      .block_y = 1,
                      .block_z = 1,
                      .registers_per_thread = 168,
                      .static_shared_bytes = 1024,
                      .dynamic_shared_bytes = 213'000}};
  activity.calls = {{.start_ns = -3, .end_ns = 2 + salt, .name = 0}};
  activity.nodes = {{.id = 5, .name = "memset", .stage = engine::Stage::Memory, .dependencies = {}},
                    {.id = std::uint64_t{1} << 63,
                     .name = "gemm",
                     .stage = engine::Stage::Fprop,
                     .layer = 1,
                     .dependencies = {5}},
                    {.id = 6, .name = "last", .dependencies = {std::uint64_t{1} << 63, 5}}};
  activity.host_events = {{.start_ns = -70,
                           .end_ns = -60 + salt,
                           .name = 1,
                           .kind = HostEventKind::LazyLoading,
                           .stage = engine::Stage::Fprop},
                          {.start_ns = 5,
                           .end_ns = 9,
                           .name = 2,
                           .iteration = 1,
                           .layer = 1,
                           .kind = HostEventKind::StageRange,
                           .lane = 3,
                           .stage = engine::Stage::Quantize}};
  activity.memory_events = {{.time_ns = 4,
                             .address = std::uint64_t{1} << 63,
                             .bytes = 512,
                             .iteration = 0,
                             .space = engine::MemorySpace::PinnedHost},
                            {.time_ns = 6 + salt,
                             .address = 77,
                             .bytes = 1024,
                             .pool = 99,
                             .pool_bytes = 4096,
                             .pool_used = 1024,
                             .layer = 1,
                             .operation = MemoryOperation::Release,
                             .space = engine::MemorySpace::Device,
                             .stage = engine::Stage::Dgrad,
                             .stream_ordered = true}};
  result.measurements = {
      .experts = {{.method = engine::ExpertMethod::Stamps,
                   .stage = engine::Stage::Quantize,
                   .expert = 2,
                   .samples = 10,
                   .median_ns = 100.5 + salt,
                   .p5_ns = 90.0,
                   .p95_ns = 120.0,
                   .writes = engine::written(engine::StepTensor::X)}},
      .observer = {{.level = engine::TraceLevel::Graphs,
                    .samples = 24,
                    .median_ns = 5000.5,
                    .p5_ns = 4000.0,
                    .p95_ns = 6000.25}},
      .ceilings = {.copy_bytes_per_s = 4.1e12 + salt,
                   .copy_bytes = 1 << 30,
                   .copies = 10,
                   .product_flop_per_s = 7.5e14,
                   .products = 20,
                   .product = "dense"},
      .tiled_launches = {
          {.stage = engine::Stage::Wgrad,
           .writes = engine::written(engine::StepTensor::DWUp),
           .launches = 16,
           .multiprocessors = 4,
           .occupied = 2,
           .tiles_at_once = 1,
           .tiles = 5,
           .duration_ns = 900 + salt,
           .tail_ns = 100,
           .busy_share = 0.75,
           .imbalance = 1.5,
           .kept_every = 3,
           .kept = {
               {.begin_ns = 0, .end_ns = 300, .tile = 1},
               {.begin_ns = 300, .end_ns = 800, .expert = 2, .tile = 2},
               {.begin_ns = 20, .end_ns = 900, .multiprocessor = 3, .expert = 1, .tile = 7}}}}};
  run.power = {.method = "instant",
               .missing = "",
               .samples = {{.time_ns = -5, .sm_clock_mhz = 1980, .power_w = 100.5},
                           {.time_ns = 5 + salt,
                            .sm_clock_mhz = 1455,
                            .memory_clock_mhz = 2619,
                            .power_w = 699.0,
                            .temperature_c = 61,
                            .clock_reasons = 4}}};
  return run;
}

std::string describe(const engine::Type& type, const void* record) {
  std::string text;
  engine::for_each_leaf(type, record, [&](const engine::Leaf& leaf) {
    text += fmt::format("{}: {}\n", leaf.path, engine::text_of(leaf.type, leaf.value));
  });
  return text;
}

}  // namespace profiling
