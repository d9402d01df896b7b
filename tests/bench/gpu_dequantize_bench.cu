// Time of the dequantize kernel beside a device copy that moves the same bytes, interleaved in one
// run; one line a layout, direction and output type.
//   gpu_dequantize_bench [ROUNDS]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "kernels/dequantize/dequantize.h"

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(2);
}

/// Median of the launches' times in microseconds, each contender in turn.
std::vector<float> medians(const std::vector<std::function<void()>>& launches, int rounds) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<std::vector<float>> times(launches.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      check(cudaEventRecord(begin));
      launches[i]();
      check(cudaEventRecord(end));
      check(cudaEventSynchronize(end));
      float milliseconds = 0.0F;
      check(cudaEventElapsedTime(&milliseconds, begin, end));
      times[i].push_back(1000.0F * milliseconds);
    }
  }
  std::vector<float> result;
  for (std::vector<float>& own : times) {
    std::sort(own.begin(), own.end());
    result.push_back(own[own.size() / 2]);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  using kernels::Direction;
  using kernels::InputType;
  using kernels::ScaleLayout;
  struct Shape {
    int groups;
    std::int64_t rows, columns;
  };
  const char* const layouts[] = {"per tensor",   "1x128", "128x128",     "MXFP8",
                                 "MXFP8 square", "NVFP4", "NVFP4 square"};
  for (const Shape& shape : {Shape{32, 32768, 7168}, Shape{128, 65536, 2048},
                             Shape{16, 98304, 2880}, Shape{1024, 32768, 2048}}) {
    const std::int64_t elements = shape.rows * shape.columns;
    std::vector<std::int64_t> offsets;
    for (int g = 0; g <= shape.groups; ++g) offsets.push_back(shape.rows / shape.groups * g);
    std::uint8_t* codes = nullptr;
    void* scales = nullptr;
    float* amax = nullptr;
    std::int64_t* device_offsets = nullptr;
    void* output = nullptr;
    void* copied = nullptr;
    check(cudaMalloc(&codes, static_cast<std::size_t>(elements)));
    check(cudaMalloc(&scales, static_cast<std::size_t>(elements)));
    check(cudaMalloc(&amax, 4 * static_cast<std::size_t>(shape.groups)));
    check(cudaMalloc(&device_offsets, 8 * offsets.size()));
    check(cudaMalloc(&output, 4 * static_cast<std::size_t>(elements)));
    check(cudaMalloc(&copied, 3 * static_cast<std::size_t>(elements)));
    check(cudaMemset(codes, 0x31, static_cast<std::size_t>(elements)));
    check(cudaMemset(scales, 0x3C, static_cast<std::size_t>(elements)));
    check(cudaMemset(amax, 0x3C, 4 * static_cast<std::size_t>(shape.groups)));
    check(cudaMemcpy(device_offsets, offsets.data(), 8 * offsets.size(), cudaMemcpyHostToDevice));
    for (const InputType type : {InputType::Bf16, InputType::Fp32}) {
      for (int layout = 0; layout < 7; ++layout) {
        for (const int mode : {0, 1, 2}) {
          if (mode == 2 && layout != 5) continue;
          const kernels::DequantizeArgs args{
              .quantized = {.codes = codes,
                            .layout = static_cast<ScaleLayout>(layout),
                            .direction = mode == 0 ? Direction::Rowwise : Direction::Columnwise,
                            .hadamard = mode == 2,
                            .scales = scales,
                            .amax = amax,
                            .row_offsets = device_offsets,
                            .num_groups = shape.groups,
                            .capacity_rows = shape.rows,
                            .columns = shape.columns},
              .output = output,
              .output_type = type};
          const double code_bytes = layout >= 5 ? 0.5 : 1.0;
          const double bytes = code_bytes + (type == InputType::Fp32 ? 4.0 : 2.0);
          const auto half = static_cast<std::size_t>(bytes * static_cast<double>(elements) / 2);
          const auto times = medians(
              {[&] { check(cudaMemcpyAsync(copied, output, half, cudaMemcpyDeviceToDevice)); },
               [&] { check(kernels::dequantize(args, nullptr)); }},
              rounds);
          std::printf("%d x %lld x %lld %s %s%s %s: %.1f us, %.2f of a copy\n", shape.groups,
                      static_cast<long long>(shape.rows), static_cast<long long>(shape.columns),
                      layouts[layout], mode == 0 ? "rowwise" : "columnwise",
                      mode == 2 ? " hadamard" : "", type == InputType::Fp32 ? "FP32" : "BF16",
                      static_cast<double>(times[1]), static_cast<double>(times[0] / times[1]));
        }
      }
    }
    for (void* memory : {static_cast<void*>(codes), scales, static_cast<void*>(amax),
                         static_cast<void*>(device_offsets), output, copied}) {
      check(cudaFree(memory));
    }
  }
  return 0;
}
