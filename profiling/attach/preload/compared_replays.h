// Device memory before and after replays: what a replay writes, and what the program writes between
// two of them, is then measured and not concluded from arguments. Only where a person asked for it,
// because launches of such replays wait until they have ended.
#pragma once

#include <cstdint>

#include "profiling/attach/preload/memory_hash.h"
#include "profiling/attach/preload/waits.h"

namespace attach {

/// From now on; before the program's first allocation.
void compare_replays();

/// Around the launch of replay number `replay`, counted from 1, of an executable graph. `wait`: of
/// that launch, which outlives this.
class ComparedReplay {
 public:
  ComparedReplay(std::uint64_t exec, std::uint64_t replay, OnStream on, WaitScope& wait);
  ~ComparedReplay();
  ComparedReplay(const ComparedReplay&) = delete;
  ComparedReplay& operator=(const ComparedReplay&) = delete;

  /// What the launch gave: one that was refused is no replay. Returns it.
  CUresult launched(CUresult result) {
    refused_ = result != CUDA_SUCCESS;
    return result;
  }

 private:
  std::uint64_t exec_;
  std::uint64_t replay_;
  OnStream on_;
  WaitScope& wait_;
  bool compares_ = false;
  bool refused_ = false;
};

/// In a forked child.
void drop_comparisons_of_parent();

}  // namespace attach
