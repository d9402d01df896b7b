// A launch as a CUDA graph, for tests that replay it.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

namespace gpu_tests {

/// What `launch(stream)` enqueues, captured on a stream of its own.
class CapturedLaunch {
 public:
  template <class Launch>
  explicit CapturedLaunch(const Launch& launch) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_EQ(launch(stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph_), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&executable_, graph_, 0), cudaSuccess);
  }
  ~CapturedLaunch() {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(executable_), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  }
  CapturedLaunch(const CapturedLaunch&) = delete;
  CapturedLaunch& operator=(const CapturedLaunch&) = delete;

  cudaStream_t stream() const { return stream_; }

  /// Later replays see the values, which may change once this returns.
  template <class Value>
  void write(Value* target, const std::vector<Value>& values) const {
    EXPECT_EQ(cudaMemcpyAsync(target, values.data(), values.size() * sizeof(Value),
                              cudaMemcpyHostToDevice, stream_),
              cudaSuccess);
  }
  void replay() const { EXPECT_EQ(cudaGraphLaunch(executable_, stream_), cudaSuccess); }
  void wait() const { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace gpu_tests
