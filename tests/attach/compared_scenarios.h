// Scenarios of attached_subject.cpp whose mistake only memory shows, before and after replays.
#pragma once

#include "tests/attach/tensor_scenarios.h"

/// y = scale(x) as a graph, launched once for each of several batches.
struct Inference {
  explicit Inference(Program& used) : program(used) {
    exec = program.instantiated(program.captured([&] { program.scale(program.y, program.x); }));
  }
  /// The program brings the next batch from the host.
  void copy_to(CUdeviceptr input) {
    const int batch = ++batches;
    check(program.cu.copy_async(input, &batch, sizeof batch, program.stream), "cuMemcpyHtoDAsync");
  }
  Program& program;
  CUgraphExec exec = nullptr;
  int batches = 0;
};

/// The batches go to another buffer than the one that was captured.
inline void input_not_refreshed(Program& program) {
  const CUdeviceptr other = program.memory();
  Inference inference(program);
  for (int i = 0; i < 6; ++i) {
    inference.copy_to(other);
    program.launch(inference.exec);
  }
}

inline void input_refreshed(Program& program) {
  const CUdeviceptr staging = program.memory();
  Inference inference(program);
  for (int i = 0; i < 6; ++i) {
    inference.copy_to(staging);
    inference.copy_to(program.x);
    program.launch(inference.exec);
  }
}

/// Physical memory at addresses of its own, which the device may read and write.
inline CUdeviceptr mapped(Program& program, CUmemGenericAllocationHandle physical) {
  constexpr std::size_t kBytes = 1 << 20;
  CUdeviceptr address = 0;
  check(program.cu.reserve_addresses(&address, kBytes, 0, 0, 0), "cuMemAddressReserve");
  check(program.cu.mem_map(address, kBytes, 0, physical, 0), "cuMemMap");
  CUmemAccessDesc access{};
  access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(program.cu.set_access(address, kBytes, &access, 1), "cuMemSetAccess");
  check(program.cu.mem_release(physical), "cuMemRelease");
  return address;
}
inline CUdeviceptr mapped(Program& program) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  CUmemGenericAllocationHandle physical = 0;
  check(program.cu.mem_create(&physical, 1 << 20, &properties, 0), "cuMemCreate");
  return mapped(program, physical);
}

inline void mapped_batches(Program& program) {
  const CUdeviceptr other = mapped(program);
  Inference inference(program);
  for (int i = 0; i < 6; ++i) {
    inference.copy_to(other);
    program.launch(inference.exec);
  }
}

/// More than there are pieces of the smallest sizes.
inline void batches_in_much_memory(Program& program) {
  for (int i = 0; i < 200; ++i) {
    CUdeviceptr much = 0;
    check(program.cu.mem_alloc(&much, std::size_t{64} << 20), "cuMemAlloc");
  }
  input_not_refreshed(program);
}

/// Two small tensors that are neighbours: the graph reads one, the batches go to the other.
inline void tensor_not_refreshed(Program& program) {
  TensorCache cache(program, 512);
  const CUdeviceptr input = cache.tensor(3);
  const CUdeviceptr batch = cache.tensor(4);
  CUgraphExec exec = reading(program, input);
  for (int number = 1; number <= 6; ++number) {
    check(program.cu.copy_async(batch, &number, sizeof number, program.stream),
          "cuMemcpyHtoDAsync");
    program.launch(exec);
  }
}

/// Two inputs, of which one is no longer refreshed from the fifth batch on.
inline void batches_of_two_inputs(Program& program, bool forgets_one) {
  const CUdeviceptr positions = program.memory();
  CUgraphExec exec = program.instantiated(
      program.captured([&] { program.launch_kernel("add", program.y, program.x, positions); }));
  for (int batch = 1; batch <= 8; ++batch) {
    const auto copy_to = [&](CUdeviceptr input) {
      check(program.cu.copy_async(input, &batch, sizeof batch, program.stream),
            "cuMemcpyHtoDAsync");
    };
    copy_to(program.x);
    if (!forgets_one || batch < 5) copy_to(positions);
    program.launch(exec);
  }
}
inline void one_input_forgotten(Program& program) { batches_of_two_inputs(program, true); }
inline void both_inputs_refreshed(Program& program) { batches_of_two_inputs(program, false); }

/// Reading any of this would end the program.
inline void memory_of_others(Program& program) {
  CUmemPoolProps properties{};
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
  CUmemoryPool pool = nullptr;
  check(program.cu.pool_create(&pool, &properties), "cuMemPoolCreate");
  CUdeviceptr of_other_device = 0;
  check(program.cu.mem_alloc_from_pool(&of_other_device, 4096, pool, program.stream),
        "cuMemAllocFromPoolAsync");
  CUmulticastObjectProp group{};
  CUmemGenericAllocationHandle multicast = 0;
  check(program.cu.multicast_create(&multicast, &group), "cuMulticastCreate");
  mapped(program, multicast);
  const CUdeviceptr closed = mapped(program);
  CUmemAccessDesc none{};
  none.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  check(program.cu.set_access(closed, 1 << 20, &none, 1), "cuMemSetAccess");
  check(program.cu.mem_unmap(mapped(program), 1 << 20), "cuMemUnmap");
  input_refreshed(program);
}

/// No call frees the memory that goes with the context, and handles come again.
inline void context_reset(Program& program) {
  program.memory();
  input_refreshed(program);
  check(program.cu.reset_context(0), "cuDevicePrimaryCtxReset");
  program.begin();
  input_refreshed(program);
}

/// Comparisons go on when the first context is current again.
inline void other_context(Program& program) {
  input_refreshed(program);
  CUcontext first = nullptr;
  check(program.cu.get_current(&first), "cuCtxGetCurrent");
  char other = 0;
  check(program.cu.set_current(reinterpret_cast<CUcontext>(&other)), "cuCtxSetCurrent");
  input_refreshed(program);
  input_refreshed(program);
  check(program.cu.set_current(first), "cuCtxSetCurrent");
  input_refreshed(program);
}

/// As a benchmark does it: nobody writes anything between the replays.
inline void nothing_written(Program& program) {
  Inference inference(program);
  program.launch(inference.exec, 6);
}

/// A counter in memory that every replay goes on with.
inline void counter_carried_over(Program& program, bool reset) {
  const CUdeviceptr counter = program.memory();
  CUgraphExec exec = program.instantiated(program.captured([&] {
    if (reset) check(program.cu.memset_async(counter, 0, 4, program.stream), "cuMemsetD8Async");
    program.launch_kernel("count", counter);
    program.launch_kernel("add", program.y, program.x, counter);
  }));
  for (int i = 0; i < 40; ++i) program.launch(exec);
}
inline void flag_carried_over(Program& program) { counter_carried_over(program, false); }
inline void flag_reset(Program& program) { counter_carried_over(program, true); }

/// A training step: batches arrive, and the weights are changed by every replay.
inline void trained(Program& program) {
  const CUdeviceptr weights = program.memory();
  CUgraphExec exec = program.instantiated(program.captured([&] {
    program.launch_kernel("add", program.y, program.x, weights);
    program.launch_kernel("add", weights, program.y, program.x);
  }));
  for (int batch = 1; batch <= 6; ++batch) {
    check(program.cu.copy_async(program.x, &batch, sizeof batch, program.stream),
          "cuMemcpyHtoDAsync");
    program.launch(exec);
  }
}
