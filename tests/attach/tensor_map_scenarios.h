// Scenarios of attached_subject.cpp about kernels that get memory through a tensor map.
#pragma once

#include <array>

#include "tests/attach/subject_program.h"

/// A matrix of 128 rows of 256 floats, as a kernel with TMA reads it.
inline CUtensorMap tensor_map(Program& program, CUdeviceptr memory) {
  const std::array<cuuint64_t, 2> dims = {256, 128};
  const std::array<cuuint64_t, 1> strides = {1024};
  const std::array<cuuint32_t, 2> box = {32, 64};
  const std::array<cuuint32_t, 2> every = {1, 1};
  CUtensorMap map{};
  check(program.cu.encode_tiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2,
                                reinterpret_cast<void*>(memory), dims.data(), strides.data(),
                                box.data(), every.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                                CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  return map;
}

inline CUfunction tma_kernel(Program& program) {
  CUfunction function = nullptr;
  check(program.cu.module_function(&function, program.module, "tma_scale"), "cuModuleGetFunction");
  return function;
}

/// A kernel with the address of its output, and its input's map by value.
inline CUgraph with_map(Program& program, const CUtensorMap& input) {
  CUtensorMap map = input;
  std::array<void*, 2> arguments = {&program.y, &map};
  return program.captured([&] {
    check(program.cu.launch_kernel(tma_kernel(program), 4, 1, 1, 128, 1, 1, 0, program.stream,
                                   arguments.data(), nullptr),
          "cuLaunchKernel");
  });
}

/// The input goes while the graph is still launched.
inline void tensor_map_freed(Program& program) {
  const CUdeviceptr input = program.memory();
  CUgraphExec exec = program.instantiated(with_map(program, tensor_map(program, input)));
  program.launch(exec);
  check(program.cu.mem_free(input), "cuMemFree");
  program.launch(exec, 2);
}

/// Other memory goes meanwhile, whose map no kernel has, and the input after the last launch.
inline void tensor_map_kept(Program& program) {
  const CUdeviceptr input = program.memory();
  const CUdeviceptr other = program.memory();
  (void)tensor_map(program, other);
  CUgraphExec exec = program.instantiated(with_map(program, tensor_map(program, input)));
  program.launch(exec);
  check(program.cu.mem_free(other), "cuMemFree");
  program.launch(exec, 2);
  check(program.cu.mem_free(input), "cuMemFree");
}

/// The node gets the map of other memory, and what it had before may go; or, to be found, what it
/// has now goes.
inline void node_with_another_map(Program& program, bool frees_new) {
  const CUdeviceptr before = program.memory();
  const CUdeviceptr after = program.memory();
  CUgraph graph = with_map(program, tensor_map(program, before));
  CUgraphExec exec = program.instantiated(graph);
  program.launch(exec);
  std::size_t count = 1;
  CUgraphNode node = nullptr;
  check(program.cu.get_nodes(graph, &node, &count), "cuGraphGetNodes");
  CUtensorMap map = tensor_map(program, after);
  std::array<void*, 2> arguments = {&program.y, &map};
  CUDA_KERNEL_NODE_PARAMS parameters{};
  parameters.func = tma_kernel(program);
  parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = arguments.data();
  check(program.cu.set_kernel(exec, node, &parameters), "cuGraphExecKernelNodeSetParams");
  check(program.cu.mem_free(frees_new ? after : before), "cuMemFree");
  program.launch(exec);
}
inline void tensor_map_updated(Program& program) { node_with_another_map(program, false); }
inline void tensor_map_updated_freed(Program& program) { node_with_another_map(program, true); }

/// A map whose address was replaced before the capture, to memory that goes.
inline void tensor_map_readdressed(Program& program) {
  const CUdeviceptr first = program.memory();
  const CUdeviceptr second = program.memory();
  CUtensorMap map = tensor_map(program, first);
  check(program.cu.replace_address(&map, reinterpret_cast<void*>(second)),
        "cuTensorMapReplaceAddress");
  CUgraphExec exec = program.instantiated(with_map(program, map));
  check(program.cu.mem_free(first), "cuMemFree");
  program.launch(exec);
  check(program.cu.mem_free(second), "cuMemFree");
  program.launch(exec);
}

/// Far more maps than are kept, before and between two captured ones.
inline void many_tensor_maps(Program& program) {
  const CUdeviceptr input = program.memory();
  const auto others = [&] {
    for (CUdeviceptr at = 0; at < 40'000; ++at) (void)tensor_map(program, (at + 1) << 20);
  };
  others();
  CUgraphExec exec = program.instantiated(with_map(program, tensor_map(program, input)));
  others();
  program.launch(exec);
  check(program.cu.mem_free(input), "cuMemFree");
  program.launch(exec);
}
