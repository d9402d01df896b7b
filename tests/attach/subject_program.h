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
