// Scenarios of attached_subject.cpp about tensors: pieces of allocations that a framework's cache
// hands out.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "tests/attach/subject_program.h"

constexpr int kOnCuda = 1;
constexpr std::int64_t kTensorBytes = 4096;

/// The cache reports through a library that is loaded out of sight of the others, as Python loads
/// PyTorch.
class TensorCache {
 public:
  explicit TensorCache(Program& program, std::int64_t bytes = kTensorBytes)
      : segment_(program.memory()), bytes_(bytes) {
    void* library = dlopen("libattached_allocator.so", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail(dlerror());
    find(library, report_, "report_block");
    find(library, profiled_, "profiled_sum");
  }
  ~TensorCache() {
    if (profiled_() != sum_) fail("the profiler got other reports than the cache made");
  }
  TensorCache(const TensorCache&) = delete;
  TensorCache& operator=(const TensorCache&) = delete;

  CUdeviceptr segment() const { return segment_; }
  CUdeviceptr place(int index) const { return segment_ + static_cast<CUdeviceptr>(index * bytes_); }
  CUdeviceptr tensor(int index, int type = kOnCuda) {
    tell(index, bytes_, type);
    return place(index);
  }
  void drop(int index, int type = kOnCuda) { tell(index, -bytes_, type); }

 private:
  template <class Function>
  static void find(void* library, Function& function, const char* name) {
    void* found = dlsym(library, name);
    if (found == nullptr) fail(std::string(name) + " is missing");
    std::memcpy(&function, &found, sizeof found);
  }
  void tell(int index, std::int64_t bytes, int type) {
    report_(place(index), bytes, type);
    sum_ += bytes * (10 * type + 2);
  }

  CUdeviceptr segment_;
  std::int64_t bytes_;
  void (*report_)(std::uint64_t, std::int64_t, int) = nullptr;
  std::int64_t (*profiled_)() = nullptr;
  std::int64_t sum_ = 0;
};

inline CUgraphExec reading(Program& program, CUdeviceptr input) {
  return program.instantiated(program.captured([&] { program.scale(program.y, input); }));
}

/// The cache still has the memory, so that the replay happens to be right.
inline void tensor_freed(Program& program) {
  TensorCache cache(program);
  CUgraphExec exec = reading(program, cache.tensor(3));
  program.launch(exec);
  cache.drop(3);
  program.launch(exec);
}

inline void tensor_of_another(Program& program) {
  TensorCache cache(program);
  for (int step = 0; step < 1000; ++step) {  // of which nobody wants to know
    (void)cache.tensor(5);
    cache.drop(5);
  }
  CUgraphExec exec = reading(program, cache.tensor(3));
  program.launch(exec);
  cache.drop(3);
  for (int step = 0; step < 1000; ++step) {
    (void)cache.tensor(3);
    program.launch(exec);
    cache.drop(3);
  }
}

inline void tensor_trimmed(Program& program) {
  TensorCache cache(program);
  CUgraphExec exec = reading(program, cache.tensor(3));
  program.launch(exec);
  cache.drop(3);
  check(program.cu.mem_free(cache.segment()), "cuMemFree");
  program.launch(exec);
}

/// Its input lives as long as it is launched, and what it makes itself is its own.
inline void tensor_kept(Program& program) {
  TensorCache cache(program);
  const CUdeviceptr input = cache.tensor(3);
  CUgraphExec exec = program.instantiated(program.captured([&] {
    const CUdeviceptr made = cache.tensor(7);
    program.scale(made, input);
    program.scale(program.y, made);
    cache.drop(7);
  }));
  (void)cache.tensor(8, 0);  // not on a CUDA device
  cache.drop(8, 0);
  (void)cache.tensor(4);
  program.launch(exec, 3);
  cache.drop(4);
  (void)cache.tensor(4);
  program.launch(exec, 3);
  cache.drop(3);
  (void)cache.tensor(3);
}
