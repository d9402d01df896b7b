// What the scenarios of attached_subject.cpp share: a module, a stream, memory and a captured step.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "tests/attach/driver_calls.h"

inline constexpr const char* kModule =
    "scale:8,8,4;add:8,8,8;packed:40;spin:8;dropout:8,8,4,8;attend:8,8,4;dropout_seed_at:8,8,8;"
    "gemm_e4m3_ptrGroup:8,8,8;count:8;tma_scale:8,128;slow:8";

class Program {
 public:
  explicit Program(const std::string& way) : cu(driver_calls(way)) {
    check(cu.init(0), "cuInit");
    begin();
  }

  /// Also after a reset of the context, which takes everything along.
  void begin() {
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

  /// Gives a node of an executable graph, a scale(), other memory.
  void change_scale(CUgraphExec exec, CUgraphNode node, CUdeviceptr to, CUdeviceptr from) {
    float factor = 2;
    std::array<void*, 3> arguments = {&to, &from, &factor};
    CUDA_KERNEL_NODE_PARAMS parameters{};
    check(cu.module_function(&parameters.func, module, "scale"), "cuModuleGetFunction");
    parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = parameters.blockDimY = parameters.blockDimZ = 1;
    parameters.kernelParams = arguments.data();
    check(cu.set_kernel(exec, node, &parameters), "cuGraphExecKernelNodeSetParams");
  }

  /// With addresses alone.
  template <class... Addresses>
  void launch_kernel(const char* name, Addresses... addresses) {
    CUfunction function = nullptr;
    check(cu.module_function(&function, module, name), "cuModuleGetFunction");
    std::array<CUdeviceptr, sizeof...(addresses)> values = {addresses...};
    std::array<void*, sizeof...(addresses)> arguments{};
    for (std::size_t i = 0; i < values.size(); ++i) arguments[i] = &values[i];
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

/// A second stream that takes part in a capture of the first one.
struct Branch {
  explicit Branch(Program& of) : program(of) {
    check(program.cu.stream_create(&stream, 0), "cuStreamCreate");
    check(program.cu.event_create(&before, 0), "cuEventCreate");
    check(program.cu.event_create(&after, 0), "cuEventCreate");
  }
  void fork() {
    check(program.cu.event_record(before, program.stream), "cuEventRecord");
    check(program.cu.wait_event(stream, before, 0), "cuStreamWaitEvent");
  }
  void join() {
    check(program.cu.event_record(after, stream), "cuEventRecord");
    check(program.cu.wait_event(program.stream, after, 0), "cuStreamWaitEvent");
  }
  void clear(CUdeviceptr memory) {
    check(program.cu.memset_async(memory, 0, 64, stream), "cuMemsetD8Async");
  }
  Program& program;
  CUstream stream = nullptr;
  CUevent before = nullptr;
  CUevent after = nullptr;
};
