// Graphs that hang at a known node, for markers.
#pragma once

#include "tests/attach/subject_program.h"

inline void spin(Program& program) {
  CUfunction function = nullptr;
  check(program.cu.module_function(&function, program.module, "spin"), "cuModuleGetFunction");
  std::array<void*, 1> arguments = {&program.x};
  check(program.cu.launch_kernel(function, 1, 1, 1, 32, 1, 1, 0, program.stream, arguments.data(),
                                 nullptr),
        "cuLaunchKernel");
}

/// A memset, a kernel, one that never ends, one that is never reached.
inline CUgraph spinning(Program& program, CUdeviceptr scratch) {
  return program.captured([&] {
    check(program.cu.memset_async(scratch, 0, 64, program.stream), "cuMemsetD8Async");
    program.scale(scratch, program.x);
    spin(program);
    program.scale(program.y, scratch);
  });
}

/// Another graph is launched behind it, and waits.
inline void hangs_in_the_middle(Program& program) {
  CUgraphExec well = program.step(program.memory());
  program.launch(well, 3);
  CUgraphExec exec = program.instantiated(spinning(program, program.memory()));
  check(program.cu.launch(exec, program.stream), "cuGraphLaunch");
  program.launch(well);
}

/// Before it hangs, the graph is updated from another one, and one of its nodes is changed.
inline void hangs_updated(Program& program) {
  CUdeviceptr scratch = program.memory();
  CUgraph graph = spinning(program, program.memory());
  CUgraphExec exec = program.instantiated(graph);
  CUgraphExecUpdateResultInfo info{};
  check(program.cu.update(exec, spinning(program, scratch), &info), "cuGraphExecUpdate");
  std::array<CUgraphNode, 4> nodes{};
  std::size_t count = nodes.size();
  check(program.cu.get_nodes(graph, nodes.data(), &count), "cuGraphGetNodes");
  float factor = 3;
  std::array<void*, 3> arguments = {&scratch, &program.x, &factor};
  CUDA_KERNEL_NODE_PARAMS parameters{};
  check(program.cu.module_function(&parameters.func, program.module, "scale"),
        "cuModuleGetFunction");
  parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = arguments.data();
  check(program.cu.set_kernel(exec, nodes[1], &parameters), "cuGraphExecKernelNodeSetParams");
  program.launch(exec);
}

/// A graph that cannot be copied.
inline void hangs_with_memory_nodes(Program& program) {
  program.launch(program.instantiated(program.captured([&] {
    CUdeviceptr scratch = 0;
    check(program.cu.mem_alloc_async(&scratch, 4096, program.stream), "cuMemAllocAsync");
    spin(program);
    check(program.cu.mem_free_async(scratch, program.stream), "cuMemFreeAsync");
  })));
}

/// An update that cannot be: the driver names the node, and the program captures again.
inline void update_refused(Program& program) {
  CUgraphExec exec = program.step(program.memory());
  CUgraph longer = program.captured([&] {
    for (int i = 0; i < 5; ++i) program.scale(program.y, program.x);
  });
  CUgraphExecUpdateResultInfo info{};
  if (program.cu.update(exec, longer, &info) != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
    fail("the update was not refused");
  std::array<CUgraphNode, 5> nodes{};
  std::size_t count = nodes.size();
  check(program.cu.get_nodes(longer, nodes.data(), &count), "cuGraphGetNodes");
  if (info.errorNode != nullptr && info.errorNode != nodes[4]) fail("it names another node");
  program.launch(exec, 2);
  check(program.cu.destroy(exec), "cuGraphExecDestroy");
  CUgraphExec again = program.instantiated(longer);
  program.launch(again, 2);
}

/// More executable graphs than there would be room for if they kept their words.
inline void many_instantiations(Program& program) {
  const CUdeviceptr scratch = program.memory();
  for (int i = 0; i < 20'000; ++i) {
    CUgraphExec exec = program.step(scratch);
    check(program.cu.launch(exec, program.stream), "cuGraphLaunch");
    check(program.cu.destroy(exec), "cuGraphExecDestroy");
  }
  program.launch(program.step(scratch));
}
