// A program to attach to: attached_subject WAY SCENARIO. Knows nothing of Expertscope. Each mistake
// has a healthy twin.
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/attach/communicator_calls.h"
#include "tests/attach/driver_calls.h"

namespace {

constexpr const char* kModule =
    "scale:8,8,4;add:8,8,8;packed:40;spin:8;dropout:8,8,4,8;attend:8,8,4;dropout_seed_at:8,8,8";

class Program {
 public:
  explicit Program(const std::string& way) : cu(driver_calls(way)) {
    check(cu.init(0), "cuInit");
    check(cu.module_load(&module, kModule), "cuModuleLoadData");
    check(cu.stream_create(&stream, 0), "cuStreamCreate");
    x = memory();
    y = memory();
  }

  CUdeviceptr memory() {
    CUdeviceptr address = 0;
    check(cu.mem_alloc(&address, 1 << 20), "cuMemAlloc");
    return address;
  }

  void scale(CUdeviceptr to, CUdeviceptr from) {
    CUfunction function = nullptr;
    check(cu.module_function(&function, module, "scale"), "cuModuleGetFunction");
    float factor = 2;
    std::array<void*, 3> arguments = {&to, &from, &factor};
    check(cu.launch_kernel(function, 4, 1, 1, 128, 1, 1, 0, stream, arguments.data(), nullptr),
          "cuLaunchKernel");
  }

  CUgraph captured(const std::function<void()>& work,
                   CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    check(cu.begin_capture(stream, mode), "cuStreamBeginCapture");
    work();
    CUgraph graph = nullptr;
    check(cu.end_capture(stream, &graph), "cuStreamEndCapture");
    return graph;
  }

  CUgraphExec instantiated(CUgraph graph) {
    CUgraphExec exec = nullptr;
    check(cu.instantiate(&exec, graph, 0), "cuGraphInstantiateWithFlags");
    return exec;
  }

  void launch(CUgraphExec exec, int times = 1) {
    for (int i = 0; i < times; ++i) check(cu.launch(exec, stream), "cuGraphLaunch");
    check(cu.stream_synchronize(stream), "cuStreamSynchronize");
    check(cu.context_synchronize(nullptr), "cuCtxSynchronize");
  }

  CUgraphExec step(CUdeviceptr scratch) {
    return instantiated(captured([&] {
      check(cu.memset_async(scratch, 0, 64, stream), "cuMemsetD8Async");
      scale(scratch, x);
      scale(y, scratch);
    }));
  }

  DriverCalls cu;
  CUmodule module = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr x = 0;
  CUdeviceptr y = 0;
};

void healthy(Program& program) {
  const CUdeviceptr scratch = program.memory();
  CUgraphExec exec = program.step(scratch);
  program.launch(exec, 5);
  check(program.cu.destroy(exec), "cuGraphExecDestroy");
  check(program.cu.mem_free(scratch), "cuMemFree");
}

/// The scratch memory goes while the graph is still launched.
void freed(Program& program) {
  const CUdeviceptr scratch = program.memory();
  CUgraphExec exec = program.step(scratch);
  program.launch(exec);
  check(program.cu.mem_free(scratch), "cuMemFree");
  program.launch(exec, 2);
}

/// As above, with the last launch before the release; and without a destroy, as programs end.
void freed_at_the_end(Program& program) {
  const CUdeviceptr scratch = program.memory();
  CUgraphExec exec = program.step(scratch);
  program.launch(exec, 3);
  check(program.cu.mem_free(scratch), "cuMemFree");
}

/// A stream-ordered release gives the first graph's scratch to the second.
void pool_alias(Program& program) {
  CUdeviceptr first = 0;
  check(program.cu.mem_alloc_async(&first, 4096, program.stream), "cuMemAllocAsync");
  CUgraphExec one = program.step(first);
  check(program.cu.mem_free_async(first, program.stream), "cuMemFreeAsync");
  CUdeviceptr second = 0;
  check(program.cu.mem_alloc_async(&second, 4096, program.stream), "cuMemAllocAsync");
  CUgraphExec two = program.step(second);
  program.launch(one, 2);
  program.launch(two, 2);
}

void unloaded(Program& program) {
  CUgraphExec exec = program.step(program.memory());
  program.launch(exec);
  check(program.cu.module_unload(program.module), "cuModuleUnload");
  program.launch(exec);
}

void unloaded_after_destroy(Program& program) {
  CUgraphExec exec = program.step(program.memory());
  program.launch(exec);
  check(program.cu.destroy(exec), "cuGraphExecDestroy");
  check(program.cu.module_unload(program.module), "cuModuleUnload");
}

CUresult allocate_meanwhile(Program& program, CUstreamCaptureMode mode) {
  check(program.cu.begin_capture(program.stream, mode), "cuStreamBeginCapture");
  program.scale(program.y, program.x);
  std::thread other([&] {
    pthread_setname_np(pthread_self(), "data loader");
    CUdeviceptr address = 0;
    (void)program.cu.mem_alloc(&address, 4096);
  });
  other.join();
  CUgraph graph = nullptr;
  const CUresult result = program.cu.end_capture(program.stream, &graph);
  if (result == CUDA_SUCCESS) program.launch(program.instantiated(graph));
  return result;
}

void other_thread(Program& program) {
  if (allocate_meanwhile(program, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS)
    fail("the capture was not broken");
}

void other_thread_local(Program& program) {
  check(allocate_meanwhile(program, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        "the capture in thread-local mode");
}

void waits(Program& program) {
  check(program.cu.begin_capture(program.stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
        "cuStreamBeginCapture");
  program.scale(program.y, program.x);
  if (program.cu.stream_synchronize(program.stream) == CUDA_SUCCESS)
    fail("the wait was not refused");
  CUgraph graph = nullptr;
  (void)program.cu.end_capture(program.stream, &graph);
}

/// An update moves the graph to other memory; what it used before may go.
void updated(Program& program) {
  const CUdeviceptr before = program.memory();
  const CUdeviceptr after = program.memory();
  CUgraphExec exec = program.step(before);
  program.launch(exec);
  CUgraph other = program.captured([&] {
    check(program.cu.memset_async(after, 0, 64, program.stream), "cuMemsetD8Async");
    program.scale(after, program.x);
    program.scale(program.y, after);
  });
  CUgraphExecUpdateResultInfo info{};
  check(program.cu.update(exec, other, &info), "cuGraphExecUpdate");
  check(program.cu.mem_free(before), "cuMemFree");
  program.launch(exec);
}

/// One kernel node gets other memory; the memset keeps the old address.
void node_changed(Program& program) {
  const CUdeviceptr before = program.memory();
  CUdeviceptr after = program.memory();
  CUgraph graph = program.captured([&] { program.scale(program.y, before); });
  CUgraphExec exec = program.instantiated(graph);
  program.launch(exec);
  std::size_t count = 1;
  CUgraphNode node = nullptr;
  check(program.cu.get_nodes(graph, &node, &count), "cuGraphGetNodes");
  float factor = 2;
  std::array<void*, 3> arguments = {&program.y, &after, &factor};
  CUDA_KERNEL_NODE_PARAMS parameters{};
  check(program.cu.module_function(&parameters.func, program.module, "scale"),
        "cuModuleGetFunction");
  parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = arguments.data();
  check(program.cu.set_kernel(exec, node, &parameters), "cuGraphExecKernelNodeSetParams");
  check(program.cu.mem_free(before), "cuMemFree");
  program.launch(exec);
}

/// A child that initializes CUDA itself is recorded on its own; one that does not leaves nothing.
void forked(Program& program) {
  CUgraphExec exec = program.step(program.memory());
  program.launch(exec);
  for (const bool uses_cuda : {true, false}) {
    const pid_t child = fork();
    if (child == 0) {
      if (uses_cuda) {
        Program of_child("dlsym");
        freed(of_child);
      }
      std::_Exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) fail("a child failed");
  }
}

void many_threads(Program& program) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&program] {
      for (int i = 0; i < 500; ++i) {
        CUdeviceptr address = 0;
        check(program.cu.mem_alloc(&address, 4096), "cuMemAlloc");
        check(program.cu.mem_free(address), "cuMemFree");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  healthy(program);
}

/// More than four megabytes of frames.
void many_frames(Program& program) {
  for (int i = 0; i < 40'000; ++i) {
    CUdeviceptr address = 0;
    check(program.cu.mem_alloc(&address, 4096), "cuMemAlloc");
    check(program.cu.mem_free(address), "cuMemFree");
  }
  healthy(program);
}

/// The second graph does not end.
void hangs(Program& program) {
  CUgraphExec well = program.step(program.memory());
  program.launch(well, 3);
  CUfunction function = nullptr;
  check(program.cu.module_function(&function, program.module, "spin"), "cuModuleGetFunction");
  CUgraphExec spinning = program.instantiated(program.captured([&] {
    std::array<void*, 1> arguments = {&program.x};
    check(program.cu.launch_kernel(function, 1, 1, 1, 32, 1, 1, 0, program.stream, arguments.data(),
                                   nullptr),
          "cuLaunchKernel");
  }));
  program.launch(spinning);
}

// ---- Values passed by value --------------------------------------------------------------------

CUfunction function_of(Program& program, const char* name) {
  CUfunction function = nullptr;
  check(program.cu.module_function(&function, program.module, name), "cuModuleGetFunction");
  return function;
}

void start(Program& program, const char* name, std::span<void*> arguments, unsigned blocks = 4) {
  check(program.cu.launch_kernel(function_of(program, name), blocks, 1, 1, 128, 1, 1, 0,
                                 program.stream, arguments.data(), nullptr),
        "cuLaunchKernel");
}

void dropout(Program& program, CUdeviceptr to, CUdeviceptr from, std::uint64_t seed) {
  float rate = 0.1F;
  std::array<void*, 4> arguments = {&to, &from, &rate, &seed};
  start(program, "dropout", arguments);
}

/// Warm-up draws with the seeds from 41 on; the capture keeps the next one.
CUgraph with_seed(Program& program) {
  std::uint64_t seed = 41;
  for (int step = 0; step < 3; ++step) dropout(program, program.y, program.x, seed++);
  return program.captured([&] { dropout(program, program.y, program.x, seed); });
}

void frozen_seed(Program& program) { program.launch(program.instantiated(with_seed(program)), 3); }

/// The kernel reads the seed from memory, whose address is the same in every launch.
void seed_in_memory(Program& program) {
  CUdeviceptr seed = program.memory();
  const auto draw = [&] {
    std::array<void*, 3> arguments = {&program.y, &program.x, &seed};
    start(program, "dropout_seed_at", arguments);
  };
  for (int step = 0; step < 3; ++step) draw();
  program.launch(program.instantiated(program.captured(draw)), 3);
}

/// The program gives the node another seed before each replay.
void seed_updated(Program& program) {
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
void captured_for_each_seed(Program& program) {
  for (std::uint64_t seed = 41; seed < 44; ++seed) {
    dropout(program, program.y, program.x, seed);
    program.launch(program.instantiated(
        program.captured([&] { dropout(program, program.y, program.x, seed); })));
  }
}

/// The number of splits follows the length of the sequence, and stays where the capture found it.
void frozen_split_count(Program& program) {
  const auto attend = [&](int splits) {
    std::array<void*, 3> arguments = {&program.y, &program.x, &splits};
    start(program, "attend", arguments);
  };
  for (const int splits : {1, 1, 2, 2, 3, 3}) attend(splits);
  program.launch(program.instantiated(program.captured([&] { attend(3); })), 2);
}

/// The same kernel with several constants on the same memory, with other sizes, and on other
/// memory: none of them changes from step to step.
void constants_of_places(Program& program) {
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

// ---- Communicators -----------------------------------------------------------------------------

ncclComm_t communicator(const CommunicatorCalls& nccl) {
  ncclComm_t made = nullptr;
  check(nccl.init_rank(&made, 2, {}, 1), "ncclCommInitRank");
  return made;
}

/// A graph with two collectives of one communicator.
CUgraphExec reduction(Program& program, const CommunicatorCalls& nccl, ncclComm_t comm) {
  const auto all_reduce = [&] {
    check(nccl.all_reduce(nullptr, nullptr, 1, 0, 0, comm, program.stream), "ncclAllReduce");
  };
  all_reduce();  // not captured
  return program.instantiated(program.captured([&] {
    all_reduce();
    program.scale(program.y, program.x);
    all_reduce();
  }));
}

void launched_after_end(Program& program, const CommunicatorCalls& nccl) {
  ncclComm_t comm = communicator(nccl);
  CUgraphExec exec = reduction(program, nccl, comm);
  program.launch(exec);
  check(nccl.finalize(comm), "ncclCommFinalize");
  check(nccl.destroy(comm), "ncclCommDestroy");
  program.launch(exec, 2);
}
void comm_destroyed(Program& program) { launched_after_end(program, communicator_calls()); }
void comm_of_extension(Program& program) { launched_after_end(program, extension_calls()); }

constexpr const char* kWithNccl = "libattached_extension_with_nccl.so";
void comm_inside_extension(Program& program) {
  launched_after_end(program, extension_calls(kWithNccl));
}
void comm_jumped_to(Program& program) {
  launched_after_end(program, extension_calls("libattached_extension_jumping.so"));
}

/// A send on a communicator that was split off; the other one lives.
void comm_aborted(Program& program) {
  const CommunicatorCalls nccl = communicator_calls();
  ncclComm_t all = communicator(nccl);
  ncclComm_t half = nullptr;
  check(nccl.split(all, 0, 0, &half, nullptr), "ncclCommSplit");
  CUgraphExec exec = program.instantiated(program.captured(
      [&] { check(nccl.send(nullptr, 1, 0, 0, half, program.stream), "ncclSend"); }));
  CUgraphExec other = reduction(program, nccl, all);
  program.launch(exec);
  check(nccl.abort(half), "ncclCommAbort");
  program.launch(other);
  program.launch(exec);
}

void comm_after_destroy(Program& program) {
  for (const CommunicatorCalls& nccl : {communicator_calls(), extension_calls()}) {
    // The handle of the first one becomes the second's.
    for (int i = 0; i < 2; ++i) {
      ncclComm_t comm = communicator(nccl);
      CUgraphExec exec = reduction(program, nccl, comm);
      program.launch(exec, 2);
      check(program.cu.destroy(exec), "cuGraphExecDestroy");
      check(nccl.destroy(comm), "ncclCommDestroy");
    }
  }
}

/// As programs end that never destroy their graphs. With STUB_NCCL_WAITS it does not end.
void comm_destroyed_at_the_end(Program& program) {
  const CommunicatorCalls nccl = communicator_calls();
  ncclComm_t comm = communicator(nccl);
  CUgraphExec exec = reduction(program, nccl, comm);
  program.launch(exec, 2);
  check(nccl.destroy(comm), "ncclCommDestroy");
}

/// The file of the NCCL that made it: what a communicator of the stub begins with lies in there.
std::string made_by(ncclComm_t comm) {
  Dl_info where{};
  if (dladdr(*reinterpret_cast<const void* const*>(comm), &where) == 0) fail("not a communicator");
  return where.dli_fname;
}

/// Each call must reach the NCCL that it would reach without a preloaded library.
void two_nccls(Program& program) {
  const std::string other =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "other" / "libnccl.so.2";
  const std::vector<std::pair<CommunicatorCalls, std::string>> ways = {
      {communicator_calls(), "/attach/libnccl.so.2"},
      {found_calls(other.c_str()), other},
      {extension_calls(), "/attach/libnccl.so.2"},
      {found_calls(other.c_str()), other},
      {extension_calls(kWithNccl), kWithNccl},
      {communicator_calls(), "/attach/libnccl.so.2"}};
  for (const auto& [nccl, file] : ways) {
    ncclComm_t comm = communicator(nccl);
    if (!made_by(comm).ends_with(file)) fail(made_by(comm) + " was reached, not " + file);
    CUgraphExec exec = reduction(program, nccl, comm);
    program.launch(exec);
    check(program.cu.destroy(exec), "cuGraphExecDestroy");
    check(nccl.destroy(comm), "ncclCommDestroy");
  }
}

/// Until it is killed.
void endless(Program& program) {
  const CUdeviceptr scratch = program.memory();
  CUgraphExec exec = program.step(scratch);
  program.launch(exec);
  check(program.cu.mem_free(scratch), "cuMemFree");
  program.launch(exec);
  std::puts("ready");
  std::fflush(stdout);
  for (;;) {
    CUdeviceptr address = 0;
    check(program.cu.mem_alloc(&address, 4096), "cuMemAlloc");
    check(program.cu.mem_free(address), "cuMemFree");
    program.launch(exec);
  }
}

const std::map<std::string, void (*)(Program&)> kScenarios = {
    {"healthy", healthy},
    {"freed", freed},
    {"freed-at-the-end", freed_at_the_end},
    {"pool-alias", pool_alias},
    {"unloaded", unloaded},
    {"unloaded-after-destroy", unloaded_after_destroy},
    {"other-thread", other_thread},
    {"other-thread-local", other_thread_local},
    {"waits", waits},
    {"updated", updated},
    {"node-changed", node_changed},
    {"forked", forked},
    {"hangs", hangs},
    {"frozen-seed", frozen_seed},
    {"seed-in-memory", seed_in_memory},
    {"seed-updated", seed_updated},
    {"captured-for-each-seed", captured_for_each_seed},
    {"frozen-split-count", frozen_split_count},
    {"constants-of-places", constants_of_places},
    {"comm-destroyed", comm_destroyed},
    {"comm-of-extension", comm_of_extension},
    {"comm-inside-extension", comm_inside_extension},
    {"comm-jumped-to", comm_jumped_to},
    {"comm-aborted", comm_aborted},
    {"comm-after-destroy", comm_after_destroy},
    {"comm-destroyed-at-the-end", comm_destroyed_at_the_end},
    {"two-nccls", two_nccls},
    {"many-frames", many_frames},
    {"many-threads", many_threads},
    {"endless", endless}};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || !kScenarios.contains(argv[2])) fail("attached_subject WAY SCENARIO");
  Program program(argv[1]);
  kScenarios.at(argv[2])(program);
  return 0;
}
