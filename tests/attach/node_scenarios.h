// Scenarios of attached_subject.cpp about what nodes hold: values, memory of the graph, branches.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tests/attach/subject_program.h"

// ---- Values passed by value --------------------------------------------------------------------

inline CUfunction function_of(Program& program, const char* name) {
  CUfunction function = nullptr;
  check(program.cu.module_function(&function, program.module, name), "cuModuleGetFunction");
  return function;
}

inline void start(Program& program, const char* name, std::span<void*> arguments,
                  unsigned blocks = 4) {
  check(program.cu.launch_kernel(function_of(program, name), blocks, 1, 1, 128, 1, 1, 0,
                                 program.stream, arguments.data(), nullptr),
        "cuLaunchKernel");
}

inline void dropout(Program& program, CUdeviceptr to, CUdeviceptr from, std::uint64_t seed) {
  float rate = 0.1F;
  std::array<void*, 4> arguments = {&to, &from, &rate, &seed};
  start(program, "dropout", arguments);
}

/// Warm-up draws with the seeds from 41 on; the capture keeps the next one.
inline CUgraph with_seed(Program& program) {
  std::uint64_t seed = 41;
  for (int step = 0; step < 3; ++step) dropout(program, program.y, program.x, seed++);
  return program.captured([&] { dropout(program, program.y, program.x, seed); });
}

inline void frozen_seed(Program& program) {
  program.launch(program.instantiated(with_seed(program)), 3);
}

/// The kernel reads the seed from memory, whose address is the same in every launch.
inline void seed_in_memory(Program& program) {
  CUdeviceptr seed = program.memory();
  const auto draw = [&] {
    std::array<void*, 3> arguments = {&program.y, &program.x, &seed};
    start(program, "dropout_seed_at", arguments);
  };
  for (int step = 0; step < 3; ++step) draw();
  program.launch(program.instantiated(program.captured(draw)), 3);
}

/// The program gives the node another seed before each replay.
inline void seed_updated(Program& program) {
  CUgraph graph = with_seed(program);
  CUgraphExec exec = program.instantiated(graph);
  std::size_t count = 1;
  CUgraphNode node = nullptr;
  check(program.cu.get_nodes(graph, &node, &count), "cuGraphGetNodes");
  for (std::uint64_t seed = 45; seed < 48; ++seed) {
    float rate = 0.1F;
    std::array<void*, 4> arguments = {&program.y, &program.x, &rate, &seed};
    CUDA_KERNEL_NODE_PARAMS parameters{};
    parameters.func = function_of(program, "dropout");
    parameters.gridDimX = 4;
    parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = 128;
    parameters.blockDimY = parameters.blockDimZ = 1;
    parameters.kernelParams = arguments.data();
    check(program.cu.set_kernel(exec, node, &parameters), "cuGraphExecKernelNodeSetParams");
    program.launch(exec);
  }
}

/// A graph for one launch each: every seed is used once.
inline void captured_for_each_seed(Program& program) {
  for (std::uint64_t seed = 41; seed < 44; ++seed) {
    dropout(program, program.y, program.x, seed);
    program.launch(program.instantiated(
        program.captured([&] { dropout(program, program.y, program.x, seed); })));
  }
}

/// The number of splits follows the length of the sequence, and stays where the capture found it.
inline void frozen_split_count(Program& program) {
  const auto attend = [&](int splits) {
    std::array<void*, 3> arguments = {&program.y, &program.x, &splits};
    start(program, "attend", arguments);
  };
  for (const int splits : {1, 1, 2, 2, 3, 3}) attend(splits);
  program.launch(program.instantiated(program.captured([&] { attend(3); })), 2);
}

/// The same kernel with several constants on the same memory, with other sizes, and on other
/// memory: none of them changes from step to step.
inline void constants_of_places(Program& program) {
  const CUdeviceptr other = program.memory();
  const auto step = [&] {
    for (const std::uint64_t salt : {7, 8, 9}) dropout(program, program.y, program.x, salt);
    dropout(program, other, program.x, 10);
  };
  float rate = 0.1F;
  for (std::uint64_t size = 1; size < 4; ++size) {  // other grids
    std::array<void*, 4> arguments = {&program.y, &program.x, &rate, &size};
    start(program, "dropout", arguments, static_cast<unsigned>(size));
  }
  for (std::uint64_t once = 20; once < 23; ++once)  // once on each piece of memory
    dropout(program, program.memory(), program.x, once);
  step();
  step();
  program.launch(program.instantiated(program.captured(step)), 2);
}

// ---- Memory and conditional nodes --------------------------------------------------------------

/// A graph that allocates its scratch memory and frees it, before or after the last use.
inline void in_graph_memory(Program& program, bool freed_early) {
  CUgraph graph = program.captured([&] {
    CUdeviceptr scratch = 0;
    check(program.cu.mem_alloc_async(&scratch, 4096, program.stream), "cuMemAllocAsync");
    program.scale(scratch, program.x);
    if (!freed_early) program.scale(program.y, scratch);
    check(program.cu.mem_free_async(scratch, program.stream), "cuMemFreeAsync");
    if (freed_early) program.scale(program.y, scratch);
  });
  program.launch(program.instantiated(graph), 2);
}
inline void used_after_free_node(Program& program) { in_graph_memory(program, true); }
inline void memory_nodes(Program& program) { in_graph_memory(program, false); }

/// A branch whose bodies set the same memory: only one of them runs. Its scratch memory goes while
/// the graph is still launched, or stays.
inline void conditional(Program& program, bool frees_scratch) {
  const CUdeviceptr scratch = program.memory();
  CUgraph graph = program.captured([&] { program.scale(program.y, program.x); });
  std::size_t count = 1;
  CUgraphNode first = nullptr;
  check(program.cu.get_nodes(graph, &first, &count), "cuGraphGetNodes");
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  parameters.conditional.type = CU_GRAPH_COND_TYPE_IF;
  parameters.conditional.size = 2;
  CUgraphNode branch = nullptr;
  check(program.cu.add_node(&branch, graph, &first, nullptr, 1, &parameters), "cuGraphAddNode");
  for (unsigned body = 0; body < 2; ++body) {
    CUDA_MEMSET_NODE_PARAMS clear{};
    clear.dst = scratch;
    clear.value = body;
    clear.elementSize = 1;
    clear.width = 64;
    clear.height = 1;
    CUgraphNode node = nullptr;
    check(program.cu.add_memset(&node, parameters.conditional.phGraph_out[body], nullptr, 0, &clear,
                                nullptr),
          "cuGraphAddMemsetNode");
  }
  CUgraphExec exec = program.instantiated(graph);
  program.launch(exec);
  if (frees_scratch) check(program.cu.mem_free(scratch), "cuMemFree");
  program.launch(exec);
}
inline void freed_under_a_body(Program& program) { conditional(program, true); }
inline void branch(Program& program) { conditional(program, false); }
