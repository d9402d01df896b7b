// Scenarios of attached_subject.cpp about streams, early starts and the versions of libraries.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstdlib>

#include "tests/attach/cubin_image.h"
#include "tests/attach/node_scenarios.h"

// ---- A second stream in a capture --------------------------------------------------------------

/// Half of the work runs on a second stream, which the first one waits for or not.
inline void forked_capture(Program& program, bool joins) {
  Branch side(program);
  const CUdeviceptr scratch = program.memory();
  check(program.cu.begin_capture(program.stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
        "cuStreamBeginCapture");
  side.fork();
  program.scale(program.y, program.x);
  side.clear(scratch);
  if (joins) side.join();
  CUgraph graph = nullptr;
  const CUresult result = program.cu.end_capture(program.stream, &graph);
  if (result != (joins ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED))
    fail("cuStreamEndCapture gave " + std::to_string(result));
  if (joins) program.launch(program.instantiated(graph), 2);
}
inline void fork_not_joined(Program& program) { forked_capture(program, false); }
inline void fork_joined(Program& program) { forked_capture(program, true); }

// ---- Programmatic launches ---------------------------------------------------------------------

/// The last kernel may start while the one before it still runs.
inline void start_early(Program& program, CUfunction function, CUdeviceptr to, CUdeviceptr from,
                        bool early) {
  float factor = 2;
  std::array<void*, 3> arguments = {&to, &from, &factor};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = early ? 1 : 0;
  CUlaunchConfig config{};
  config.gridDimX = 4;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 128;
  config.hStream = program.stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(program.cu.launch_kernel_ex(&config, function, arguments.data(), nullptr),
        "cuLaunchKernelEx");
}

/// A producer of `made`, and a consumer behind it.
inline void produced(Program& program, CUdeviceptr made, CUdeviceptr consumed, bool early) {
  program.launch(program.instantiated(program.captured([&] {
    program.scale(made, program.x);
    start_early(program, function_of(program, "scale"), program.y, consumed, early);
  })),
                 2);
}
inline void early_start(Program& program) {
  const CUdeviceptr made = program.memory();
  produced(program, made, made, true);
}
inline void full_order(Program& program) {
  const CUdeviceptr made = program.memory();
  produced(program, made, made, false);
}
inline void early_start_apart(Program& program) {
  const CUdeviceptr made = program.memory();
  const CUdeviceptr other = program.memory();
  produced(program, made, other, true);
}

/// A consumer whose machine code the program loads itself, as compilers at run time do.
inline void compiled_consumer(Program& program, bool waits) {
  CubinImage image;
  image.add(kStubSection, "consume:8,8,4;other:8");
  image.kernel("consume", waits);
  image.kernel("other", !waits);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  check(program.cu.module_load(&module, image.bytes().c_str()), "cuModuleLoadData");
  check(program.cu.module_function(&function, module, "consume"), "cuModuleGetFunction");
  const CUdeviceptr made = program.memory();
  program.launch(program.instantiated(program.captured([&] {
    program.scale(made, program.x);
    start_early(program, function, program.y, made, true);
  })),
                 2);
}
inline void early_start_unwaited(Program& program) { compiled_consumer(program, false); }
inline void early_start_waited(Program& program) { compiled_consumer(program, true); }

// ---- Versions of libraries ---------------------------------------------------------------------

/// The library that the environment names: which version it has, the test decides.
inline void load_library(Program&) {
  const char* path = std::getenv("SUBJECT_LIBRARY");
  if (path == nullptr || dlopen(path, RTLD_NOW) == nullptr) fail("SUBJECT_LIBRARY");
}

inline void with_library(Program& program) {
  load_library(program);
  program.launch(program.step(program.memory()), 2);
}

/// Two grouped products, each behind the memset with which cuBLASLt clears its counter.
inline void grouped_products(Program& program, bool share) {
  load_library(program);
  const std::array<CUdeviceptr, 2> workspaces = {program.memory(), program.memory()};
  program.launch(program.instantiated(program.captured([&] {
    for (int product = 0; product < 2; ++product) {
      CUdeviceptr workspace = workspaces[share ? 0 : static_cast<std::size_t>(product)];
      check(program.cu.memset_async(workspace, 0, 16, program.stream), "cuMemsetD8Async");
      std::array<void*, 3> arguments = {&program.y, &program.x, &workspace};
      start(program, "gemm_e4m3_ptrGroup", arguments);
    }
  })),
                 2);
}
inline void workspace_shared(Program& program) { grouped_products(program, true); }
inline void workspace_for_each(Program& program) { grouped_products(program, false); }
