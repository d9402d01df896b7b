// What a launch leaves in the node of a captured graph.
#include "kernels/common/launch.cuh"

#include <cstring>
#include <new>

#include "tests/gpu/kernels/device_array.h"

namespace gpu_tests {
namespace {

struct Padded {
  double first;
  char second;  // seven bytes of padding follow
  double* third;
  bool fourth;  // and here
};

__global__ void nothing_kernel(const __grid_constant__ Padded, bool) {
  kernels::wait_for_predecessor();
}

/// The bytes of the first argument in the graph of a launch; what is between its members was
/// `leftover` before.
std::vector<unsigned char> captured_bytes(int leftover) {
  alignas(Padded) unsigned char memory[sizeof(Padded)];
  std::memset(memory, leftover, sizeof memory);
  auto* const argument = new (memory) Padded;
  argument->first = 1.5;
  argument->second = 'a';
  argument->third = nullptr;
  argument->fourth = true;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(kernels::launch_dependent(nothing_kernel, {}, {stream}, *argument, true), cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  std::size_t nodes = 1;
  EXPECT_EQ(cudaGraphGetNodes(graph, &node, &nodes), cudaSuccess);
  cudaKernelNodeParams parameters = {};
  EXPECT_EQ(cudaGraphKernelNodeGetParams(node, &parameters), cudaSuccess);
  const auto* const bytes = static_cast<const unsigned char*>(parameters.kernelParams[0]);
  std::vector<unsigned char> held(bytes, bytes + sizeof(Padded));
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  return held;
}

class LaunchGpu : public DeviceTest {};

TEST_F(LaunchGpu, BytesBetweenMembersOfArgumentsAreCleared) {
  const std::vector<unsigned char> held = captured_bytes(0xAB);
  EXPECT_EQ(held, captured_bytes(0xCD));
  Padded argument;
  std::memcpy(&argument, held.data(), sizeof argument);
  EXPECT_EQ(argument.first, 1.5);
  EXPECT_EQ(argument.second, 'a');
  EXPECT_TRUE(argument.fourth);
  EXPECT_EQ(held[offsetof(Padded, second) + 1], 0);
}

}  // namespace
}  // namespace gpu_tests
