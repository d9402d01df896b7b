// Launches that take turns with a device copy of as many bytes, so that changes of the clock and
// other load affect both: for the benchmarks of single kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace bench {

inline void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(2);
}

/// Device memory that belongs to one shape, zeroed; released together.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    for (void* array : arrays_) cudaFree(array);
  }

  template <class Value>
  Value* zeros(std::int64_t count) {
    void* array = nullptr;
    const auto bytes = static_cast<std::size_t>(count) * sizeof(Value);
    check(cudaMalloc(&array, bytes));
    check(cudaMemset(array, 0, bytes));
    arrays_.push_back(array);
    return static_cast<Value*>(array);
  }
  template <class Value>
  Value* copy_of(const std::vector<Value>& values) {
    auto* const array = zeros<Value>(static_cast<std::int64_t>(values.size()));
    check(cudaMemcpy(array, values.data(), values.size() * sizeof(Value), cudaMemcpyHostToDevice));
    return array;
  }

 private:
  std::vector<void*> arrays_;
};

struct Contender {
  std::string name;
  double bytes = 0;  // read and written; 0 = only its time is shown
  std::function<void()> launch;
};

/// Prints a line for each: the median time, and the median time of the copy as a share of it.
/// `from` and `to` hold half as many bytes as any contender moves. Returns the medians in us.
inline std::vector<double> race(const std::vector<Contender>& contenders, const void* from,
                                void* to, int rounds) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  const auto time_us = [&](const std::function<void()>& launch) {
    check(cudaEventRecord(begin));
    launch();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    return 1000.0 * static_cast<double>(milliseconds);
  };
  std::vector<std::vector<double>> times(contenders.size());
  std::vector<std::vector<double>> copies(contenders.size());
  constexpr int kWarmRounds = 3;
  for (int round = -kWarmRounds; round < rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const auto half = static_cast<std::size_t>(contenders[i].bytes / 2);
      const double copy =
          time_us([&] { check(cudaMemcpyAsync(to, from, half, cudaMemcpyDeviceToDevice)); });
      const double own = time_us(contenders[i].launch);
      if (round < 0) continue;
      copies[i].push_back(copy);
      times[i].push_back(own);
    }
  }
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  std::vector<double> medians;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const double own = medians.emplace_back(median(times[i]));
    std::printf("  %-44s %9.1f us", contenders[i].name.c_str(), own);
    if (contenders[i].bytes > 0) std::printf("  %.2f of a copy", median(copies[i]) / own);
    std::printf("\n");
  }
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  return medians;
}

}  // namespace bench
