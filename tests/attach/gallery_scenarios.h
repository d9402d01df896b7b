// Mistakes of the gallery that no other scenario has, as independent programs, each with its
// healthy twin.
#pragma once

#include "tests/attach/subject_program.h"

// ---- A workspace that grows --------------------------------------------------------------------

/// Larger work comes after the capture: a new workspace replaces the one that the graph holds.
inline void workspace_grows(Program& program, bool largest_first) {
  CUdeviceptr workspace = 0;
  check(program.cu.mem_alloc(&workspace, largest_first ? 4 << 20 : 1 << 20), "cuMemAlloc");
  CUgraphExec exec = program.step(workspace);
  program.launch(exec, 2);
  if (!largest_first) {
    check(program.cu.mem_free(workspace), "cuMemFree");
    check(program.cu.mem_alloc(&workspace, 4 << 20), "cuMemAlloc");
  }
  program.scale(workspace, program.x);
  program.launch(exec, 2);
}
inline void workspace_regrown(Program& program) { workspace_grows(program, false); }
inline void workspace_large_enough(Program& program) { workspace_grows(program, true); }

// ---- An allocation node ------------------------------------------------------------------------

inline void allocation_without_free(Program& program) {
  program.launch(program.instantiated(program.captured([&] {
    CUdeviceptr scratch = 0;
    check(program.cu.mem_alloc_async(&scratch, 4096, program.stream), "cuMemAllocAsync");
    program.scale(scratch, program.x);
  })));
}

// ---- Two branches ------------------------------------------------------------------------------

/// The second stream clears what the first one's kernel reads, before it or at any time.
inline void branches(Program& program, bool ordered) {
  Branch side(program);
  program.launch(program.instantiated(program.captured([&] {
    side.fork();
    side.clear(program.x);
    if (ordered) side.join();
    program.scale(program.y, program.x);
    if (!ordered) side.join();
  })),
                 2);
}
inline void unordered_siblings(Program& program) { branches(program, false); }
inline void ordered_siblings(Program& program) { branches(program, true); }
