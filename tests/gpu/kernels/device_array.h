// Device memory for tests, and whether there is a device.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace gpu_tests {

/// Why no GPU test can run here; empty when one can.
inline std::string missing_device() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return std::string("no CUDA device: ") + cudaGetErrorString(error);
  if (count == 0) return "no CUDA device";
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return "device 0 cannot be queried";
  if (properties.major != 9) {
    return std::string("kernels are built for compute capability 9.0, ") + properties.name +
           " has " + std::to_string(properties.major) + "." + std::to_string(properties.minor);
  }
  return {};
}

/// A fixture whose tests skip themselves by name without a device.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = missing_device();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

/// A cudaMalloc'd copy of host values, 16-byte aligned whatever their type.
template <typename Value>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<Value>& values) : count_(values.size()) {
    // One element at least: an empty operand still needs an address.
    EXPECT_EQ(cudaMalloc(&data_, (count_ + 1) * sizeof(Value)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, values.data(), count_ * sizeof(Value), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  Value* get() const { return static_cast<Value*>(data_); }

  /// Waits for the device; an error of an earlier launch shows here.
  std::vector<Value> values() const {
    std::vector<Value> host(count_);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(host.data(), data_, count_ * sizeof(Value), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return host;
  }

 private:
  std::size_t count_;
  void* data_ = nullptr;
};

}  // namespace gpu_tests
