// Graphs that hang at a known node, for markers.
#pragma once

#include <algorithm>
#include <thread>
#include <vector>

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

/// Before it hangs, the graph is updated from another one, one of its nodes is changed, and one is
/// switched on again.
inline void hangs_updated(Program& program) {
  CUdeviceptr scratch = program.memory();
  CUgraph graph = spinning(program, program.memory());
  CUgraphExec exec = program.instantiated(graph);
  CUgraphExecUpdateResultInfo info{};
  check(program.cu.update(exec, spinning(program, scratch), &info), "cuGraphExecUpdate");
  std::array<CUgraphNode, 4> nodes{};
  std::size_t count = nodes.size();
  check(program.cu.get_nodes(graph, nodes.data(), &count), "cuGraphGetNodes");
  program.change_scale(exec, nodes[1], scratch, program.x);
  check(program.cu.set_enabled(exec, nodes[3], 1), "cuGraphNodeSetEnabled");
  program.launch(exec);
}

/// A graph whose last node has been switched this often.
inline CUgraphExec switched(Program& program, unsigned times) {
  CUgraph graph = spinning(program, program.memory());
  CUgraphExec exec = program.instantiated(graph);
  std::array<CUgraphNode, 4> nodes{};
  std::size_t count = nodes.size();
  check(program.cu.get_nodes(graph, nodes.data(), &count), "cuGraphGetNodes");
  for (unsigned call = 0; call < times; ++call)
    check(program.cu.set_enabled(exec, nodes[3], call % 2), "cuGraphNodeSetEnabled");
  return exec;
}
inline constexpr unsigned kManyNodeCalls = 20'000;  // more than get a frame each
inline void hangs_after_many_node_calls(Program& program) {
  program.launch(switched(program, kManyNodeCalls));
}

/// Its scratch memory goes before the launch that hangs, and other memory comes.
inline void hangs_without_its_memory(Program& program) {
  const CUdeviceptr scratch = program.memory();
  CUgraph graph = spinning(program, scratch);
  CUgraphExec exec = program.instantiated(graph);
  check(program.cu.mem_free(scratch), "cuMemFree");
  program.memory();
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

/// Updates that cannot be: the driver names the node, and the program goes on with what it has, or
/// instantiates again.
inline void update_refused(Program& program) {
  const CUdeviceptr scratch = program.memory();
  CUgraphExec exec = program.step(scratch);
  const auto refused = [&](CUgraph graph, std::size_t at) {
    CUgraphExecUpdateResultInfo info{};
    if (program.cu.update(exec, graph, &info) != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
      fail("the update was not refused");
    std::array<CUgraphNode, 5> nodes{};
    std::size_t count = nodes.size();
    check(program.cu.get_nodes(graph, nodes.data(), &count), "cuGraphGetNodes");
    const bool named = at < count ? info.errorNode == nodes.at(at)
                                  : std::ranges::find(nodes, info.errorNode) != nodes.end();
    if (!named) fail("it names another node");
    if (program.cu.update(exec, graph, nullptr) == CUDA_SUCCESS) fail("the update was not refused");
    program.launch(exec, 2);
  };
  // As many nodes, of which the second is a memset too.
  refused(program.captured([&] {
    check(program.cu.memset_async(scratch, 0, 64, program.stream), "cuMemsetD8Async");
    check(program.cu.memset_async(scratch, 0, 64, program.stream), "cuMemsetD8Async");
    program.scale(program.y, scratch);
  }),
          1);
  CUgraph longer = program.captured([&] {
    check(program.cu.memset_async(scratch, 0, 64, program.stream), "cuMemsetD8Async");
    for (int i = 0; i < 4; ++i) program.scale(program.y, program.x);
  });
  refused(longer, 5);  // whichever it names
  check(program.cu.destroy(exec), "cuGraphExecDestroy");
  program.launch(program.instantiated(longer), 2);
}

/// The graph that updates was captured with its branches in another order; then it hangs in one.
inline void hangs_updated_in_another_order(Program& program) {
  Branch side(program);
  const auto captured = [&](bool side_first) {
    return program.captured([&] {
      side.fork();
      if (side_first) side.clear(program.x);
      program.scale(program.y, program.y);
      spin(program);
      if (!side_first) side.clear(program.x);
      side.join();
      program.scale(program.y, program.x);
    });
  };
  CUgraphExec exec = program.instantiated(captured(false));
  CUgraphExecUpdateResultInfo info{};
  check(program.cu.update(exec, captured(true), &info), "cuGraphExecUpdate");
  program.launch(exec);
}

/// A replay that takes long, and ends; then one of another graph hangs, which has no markers.
inline void hangs_after_a_long_replay(Program& program) {
  CUgraphExec slow = program.instantiated(program.captured([&] {
    program.launch_kernel("slow", program.x);
    program.scale(program.y, program.x);
  }));
  check(program.cu.launch(slow, program.stream), "cuGraphLaunch");
  hangs_with_memory_nodes(program);
}

/// Threads that destroy and instantiate at the same time: a handle goes from one to another at
/// once.
inline void many_threads_instantiate(Program& program) {
  const CUgraph graph = program.captured([&] { program.scale(program.y, program.x); });
  CUgraphNode node = nullptr;
  std::size_t count = 1;
  check(program.cu.get_nodes(graph, &node, &count), "cuGraphGetNodes");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        CUgraphExec exec = program.instantiated(graph);
        program.change_scale(exec, node, program.y, program.x);
        check(program.cu.destroy(exec), "cuGraphExecDestroy");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  program.launch(program.instantiated(graph));
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
