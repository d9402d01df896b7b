// A program to attach to: attached_subject WAY SCENARIO. Knows nothing of Expertscope. Each mistake
// has a healthy twin.
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/attach/communicator_calls.h"
#include "tests/attach/compared_scenarios.h"
#include "tests/attach/gallery_scenarios.h"
#include "tests/attach/marker_scenarios.h"
#include "tests/attach/node_scenarios.h"
#include "tests/attach/pool_scenarios.h"
#include "tests/attach/stream_scenarios.h"
#include "tests/attach/subject_program.h"
#include "tests/attach/tensor_map_scenarios.h"
#include "tests/attach/tensor_scenarios.h"

namespace {

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

/// A copy node reads the host's memory in every replay, here after it is gone.
void host_source(Program& program, bool in_time) {
  void* host = nullptr;
  check(program.cu.mem_alloc_host(&host, 64), "cuMemAllocHost");
  CUgraphExec exec = program.instantiated(program.captured([&] {
    check(program.cu.copy_async(program.x, host, 64, program.stream), "cuMemcpyHtoDAsync");
    program.scale(program.y, program.x);
  }));
  program.launch(exec, 2);
  if (in_time) check(program.cu.destroy(exec), "cuGraphExecDestroy");
  check(program.cu.mem_free_host(host), "cuMemFreeHost");
  if (!in_time) program.launch(exec);
}

void host_source_freed(Program& program) { host_source(program, false); }
void host_source_kept(Program& program) { host_source(program, true); }

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
  program.change_scale(exec, node, program.y, after);
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

void node_calls_of_a_child(Program& program) {
  switched(program, kManyNodeCalls);
  const pid_t child = fork();
  if (child == 0) {
    Program of_child("dlsym");
    switched(of_child, 10);
    std::_Exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) fail("the child failed");
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
  program.launch(program.instantiated(program.captured([&] { spin(program); })));
}

/// The tensor lives before the capture begins.
void hangs_with_an_old_tensor(Program& program) {
  TensorCache cache(program);
  const CUdeviceptr old = cache.tensor(3);
  program.launch(program.instantiated(program.captured([&] {
    program.scale(program.y, old);
    spin(program);
  })));
}

/// A kernel outside of graphs does not end; the next replay waits behind it.
void hangs_before_a_replay(Program& program) {
  CUgraphExec exec = program.step(program.memory());
  program.launch(exec, 2);
  spin(program);
  program.launch(exec);
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
    {"host-source-freed", host_source_freed},
    {"host-source-kept", host_source_kept},
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
    {"node-calls-of-a-child", node_calls_of_a_child},
    {"hangs-before-a-replay", hangs_before_a_replay},
    {"hangs-after-many-node-calls", hangs_after_many_node_calls},
    {"hangs-with-an-old-tensor", hangs_with_an_old_tensor},
    {"hangs-in-the-middle", hangs_in_the_middle},
    {"hangs-updated", hangs_updated},
    {"hangs-without-its-memory", hangs_without_its_memory},
    {"hangs-with-memory-nodes", hangs_with_memory_nodes},
    {"hangs-updated-in-another-order", hangs_updated_in_another_order},
    {"hangs-after-a-long-replay", hangs_after_a_long_replay},
    {"many-threads-instantiate", many_threads_instantiate},
    {"update-refused", update_refused},
    {"many-instantiations", many_instantiations},
    {"used-after-free-node", used_after_free_node},
    {"memory-nodes", memory_nodes},
    {"freed-under-a-body", freed_under_a_body},
    {"branch", branch},
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
    {"tensor-freed", tensor_freed},
    {"tensor-of-another", tensor_of_another},
    {"tensor-trimmed", tensor_trimmed},
    {"tensor-kept", tensor_kept},
    {"tensor-map-freed", tensor_map_freed},
    {"tensor-map-kept", tensor_map_kept},
    {"tensor-map-updated", tensor_map_updated},
    {"tensor-map-updated-freed", tensor_map_updated_freed},
    {"tensor-map-readdressed", tensor_map_readdressed},
    {"many-tensor-maps", many_tensor_maps},
    {"fork-not-joined", fork_not_joined},
    {"fork-joined", fork_joined},
    {"early-start", early_start},
    {"early-start-apart", early_start_apart},
    {"early-start-unwaited", early_start_unwaited},
    {"early-start-waited", early_start_waited},
    {"full-order", full_order},
    {"with-library", with_library},
    {"workspace-shared", workspace_shared},
    {"workspace-for-each", workspace_for_each},
    {"workspace-regrown", workspace_regrown},
    {"workspace-large-enough", workspace_large_enough},
    {"allocation-without-free", allocation_without_free},
    {"unordered-siblings", unordered_siblings},
    {"ordered-siblings", ordered_siblings},
    {"pool-evicted", pool_evicted},
    {"pool-trimmed", pool_trimmed},
    {"pool-for-each", pool_for_each},
    {"private-pool-evicted", private_pool_evicted},
    {"private-pool-given-away", private_pool_given_away},
    {"private-pool-unused", private_pool_unused},
    {"private-pool-shared", private_pool_shared},
    {"many-captured-tensors", many_captured_tensors},
    {"input-not-refreshed", input_not_refreshed},
    {"input-refreshed", input_refreshed},
    {"nothing-written", nothing_written},
    {"one-input-forgotten", one_input_forgotten},
    {"both-inputs-refreshed", both_inputs_refreshed},
    {"mapped-batches", mapped_batches},
    {"batches-in-much-memory", batches_in_much_memory},
    {"tensor-not-refreshed", tensor_not_refreshed},
    {"memory-of-others", memory_of_others},
    {"context-reset", context_reset},
    {"other-context", other_context},
    {"flag-carried-over", flag_carried_over},
    {"flag-reset", flag_reset},
    {"trained", trained},
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
