// Scenarios of attached_subject.cpp whose mistake only memory shows, before and after replays.
#pragma once

#include "tests/attach/subject_program.h"

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
  for (int i = 0; i < 6; ++i) program.launch(exec);
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
