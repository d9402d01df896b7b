// Time of an offsets launch inside a graph of many, beside an empty kernel of one block.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "kernels/offsets/splits_to_offsets.h"

namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

__global__ void empty_kernel() {}

/// What any kernel that follows the one before costs: a load of what is in memory, a store.
__global__ void touching_kernel(const std::int64_t* splits, std::int64_t* outputs) {
  outputs[threadIdx.x] = splits[threadIdx.x] + outputs[threadIdx.x];
}

template <typename Value>
Value* device_array(std::size_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(Value)), "malloc");
  return static_cast<Value*>(memory);
}

constexpr int kLaunches = 200;  // of one graph

/// Microseconds of one launch: the median of replays of a graph.
double launch_us(cudaStream_t stream, const std::function<void(cudaStream_t)>& launch) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < kLaunches; ++i) launch(stream);
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&replay, graph, 0), "graph");
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<double> times;
  for (int round = -3; round < 21; ++round) {
    check(cudaEventRecord(begin, stream), "record");
    check(cudaGraphLaunch(replay, stream), "replay");
    check(cudaEventRecord(end, stream), "record");
    check(cudaEventSynchronize(end), "wait");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "elapsed");
    if (round >= 0) times.push_back(static_cast<double>(ms) * 1e3 / kLaunches);
  }
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  check(cudaGraphExecDestroy(replay), "graph");
  check(cudaGraphDestroy(graph), "graph");
  check(cudaEventDestroy(begin), "event");
  check(cudaEventDestroy(end), "event");
  return times[10];
}

/// `distinct`: a unit of its own for every array instead of the four that steps have.
void bench(cudaStream_t stream, int groups, int offset_arrays, int pointer_arrays, bool distinct,
           bool wide) {
  constexpr std::int64_t kUnits[] = {1, 4, 128, 16};
  const std::size_t line = static_cast<std::size_t>(groups) + 8;
  auto* splits = device_array<std::int64_t>(line + 32);
  const std::vector<std::int64_t> rows(line + 32, 100);
  check(cudaMemcpy(splits, rows.data(), rows.size() * 8, cudaMemcpyHostToDevice), "splits");
  auto* outputs = device_array<std::int64_t>(line * 48);
  kernels::SplitsToOffsetsArgs args{
      .splits = splits,
      .num_groups = groups,
      .capacity_rows = wide ? std::int64_t{1} << 33 : std::int64_t{200} * groups,
      .row_offsets = outputs,
      .rows = reinterpret_cast<std::int32_t*>(outputs + line),
      .padded_rows = reinterpret_cast<std::int32_t*>(outputs + 2 * line),
      .padded_rows_unit = 128,
      .num_offset_arrays = offset_arrays,
      .num_pointer_arrays = pointer_arrays,
      .error_word = reinterpret_cast<std::uint32_t*>(outputs + 47 * line)};
  std::int64_t* next = outputs + 3 * line;
  int unit = 0;
  const auto unit_of = [&] { return distinct ? std::int64_t{2} + unit++ : kUnits[unit++ % 4]; };
  for (int i = 0; i < offset_arrays; ++i, next += line) {
    args.offset_arrays[i] = {.values = next, .unit = unit_of(), .stride = 128};
  }
  for (int i = 0; i < pointer_arrays; ++i, next += line) {
    args.pointer_arrays[i] = {
        .bytes_per_unit = 512, .unit = unit_of(), .pointers = reinterpret_cast<void**>(next)};
  }
  const double us = launch_us(
      stream, [&](cudaStream_t s) { check(kernels::splits_to_offsets(args, s), "offsets"); });
  const double empty = launch_us(stream, [](cudaStream_t s) { empty_kernel<<<1, 32, 0, s>>>(); });
  const double touching =
      launch_us(stream, [&](cudaStream_t s) { touching_kernel<<<1, 32, 0, s>>>(splits, outputs); });
  std::printf(
      "{\"groups\": %d, \"offset_arrays\": %d, \"pointer_arrays\": %d, \"distinct_units\": %s, "
      "\"wide_sums\": %s, \"median_us\": %.3f, \"touching_us\": %.3f, \"empty_us\": "
      "%.3f}\n",
      groups, offset_arrays, pointer_arrays, distinct ? "true" : "false", wide ? "true" : "false",
      us, touching, empty);
  check(cudaFree(splits), "free");
  check(cudaFree(outputs), "free");
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "stream");
  for (const int groups : {8, 256, 1024}) {
    bench(stream, groups, 0, 0, false, false);
    bench(stream, groups, 8, 8, false, false);
    bench(stream, groups, 8, 8, true, true);
    bench(stream, groups, 8, 32, false, false);
    bench(stream, groups, 8, 32, true, true);
  }
  check(cudaStreamDestroy(stream), "stream");
  return 0;
}
