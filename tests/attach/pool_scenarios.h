// Scenarios of attached_subject.cpp about memory that ends with one graph while another uses it.
#pragma once

#include <optional>

#include "tests/attach/tensor_scenarios.h"

// ---- Pools of the driver -----------------------------------------------------------------------

/// A workspace from the pool of the first graph, which the second one uses as well. The first one
/// is evicted with its pool.
struct DriverPool {
  explicit DriverPool(Program& of) : program(of) {
    CUmemPoolProps properties{};
    check(program.cu.pool_create(&pool, &properties), "cuMemPoolCreate");
    check(program.cu.mem_alloc_from_pool(&workspace, 4096, pool, program.stream),
          "cuMemAllocFromPoolAsync");
    first = program.step(workspace);
  }
  void evict(bool destroys) {
    check(program.cu.destroy(first), "cuGraphExecDestroy");
    check(program.cu.mem_free_async(workspace, program.stream), "cuMemFreeAsync");
    if (destroys)
      check(program.cu.pool_destroy(pool), "cuMemPoolDestroy");
    else
      check(program.cu.pool_trim(pool, 0), "cuMemPoolTrimTo");
  }
  Program& program;
  CUmemoryPool pool = nullptr;
  CUdeviceptr workspace = 0;
  CUgraphExec first = nullptr;
};

inline void evicted(Program& program, bool destroys) {
  DriverPool of_first(program);
  CUgraphExec second = program.step(of_first.workspace);
  program.launch(of_first.first);
  program.launch(second);
  of_first.evict(destroys);
  program.launch(second, 2);
}
inline void pool_evicted(Program& program) { evicted(program, true); }
inline void pool_trimmed(Program& program) { evicted(program, false); }

/// Each graph has a pool; the one that goes is not the other's.
inline void pool_for_each(Program& program) {
  DriverPool one(program);
  DriverPool two(program);
  program.launch(one.first);
  program.launch(two.first);
  one.evict(true);
  program.launch(two.first, 2);
}

// ---- Private pools of PyTorch ------------------------------------------------------------------

/// As PyTorch captures: the pool's segment is allocated during the capture, by its thread.
struct PrivatePool {
  explicit PrivatePool(Program& of) : program(of) {
    exec = program.instantiated(program.captured(
        [&] {
          cache.emplace(program);
          const CUdeviceptr made = cache->tensor(1);
          program.scale(made, program.x);
          cache->drop(1);
          const CUdeviceptr other = cache->tensor(1);  // the same memory again
          program.scale(program.y, other);
          cache->drop(1);
          workspace = cache->tensor(2);  // which a library keeps
          program.scale(program.y, workspace);
        },
        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  }
  /// A graph in a pool of its own that uses this one's workspace.
  CUgraphExec user() { return reading(program, workspace); }
  void evict() {
    check(program.cu.destroy(exec), "cuGraphExecDestroy");
    cache->drop(2);
  }
  Program& program;
  std::optional<TensorCache> cache;
  CUdeviceptr workspace = 0;
  CUgraphExec exec = nullptr;
};

inline void private_pool_evicted(Program& program) {
  PrivatePool pool(program);
  CUgraphExec second = pool.user();
  program.launch(pool.exec);
  program.launch(second);
  pool.evict();
  check(program.cu.mem_free(pool.cache->segment()), "cuMemFree");
  program.launch(second, 2);
}

/// The memory stays mapped and goes to a tensor of the program.
inline void private_pool_given_away(Program& program) {
  PrivatePool pool(program);
  CUgraphExec second = pool.user();
  program.launch(pool.exec);
  program.launch(second);
  pool.evict();
  (void)pool.cache->tensor(2);
  program.launch(second, 2);
}

/// The graph that used the workspace is gone when its pool goes.
inline void private_pool_unused(Program& program) {
  PrivatePool pool(program);
  CUgraphExec second = pool.user();
  program.launch(pool.exec, 2);
  program.launch(second, 2);
  check(program.cu.destroy(second), "cuGraphExecDestroy");
  pool.evict();
  check(program.cu.mem_free(pool.cache->segment()), "cuMemFree");
}

/// A step that makes more tensors than are reported of captures.
inline void many_captured_tensors(Program& program) {
  TensorCache cache(program);
  CUgraphExec exec = program.instantiated(program.captured([&] {
    for (int made = 0; made < 20'000; ++made) {
      (void)cache.tensor(made % 8);
      cache.drop(made % 8);
    }
    program.scale(program.y, cache.place(3));
  }));
  program.launch(exec, 2);
}

/// Two graphs of one pool: the second one uses again what the first one's capture had released, and
/// goes on when the first one is evicted.
inline void private_pool_shared(Program& program) {
  PrivatePool pool(program);
  CUgraphExec second = program.instantiated(program.captured(
      [&] {
        const CUdeviceptr made = pool.cache->tensor(1);
        program.scale(made, pool.workspace);
        program.scale(program.y, made);
        pool.cache->drop(1);
      },
      CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  program.launch(pool.exec, 2);
  program.launch(second, 2);
  check(program.cu.destroy(pool.exec), "cuGraphExecDestroy");
  program.launch(second, 2);
  pool.cache->drop(2);
}
