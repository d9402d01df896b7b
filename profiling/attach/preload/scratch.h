// Working memory of a wrapper, from the kernel: the program's own allocator may be what calls the
// driver.
#pragma once

#include <sys/mman.h>
#include <cstddef>

namespace attach {

/// Zeroed room for `count` values; data() is null if there is none. Trivial types only.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::size_t count) : bytes_(count == 0 ? 1 : count * sizeof(T)) {
    void* mapped =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped != MAP_FAILED) data_ = static_cast<T*>(mapped);
  }
  ~Scratch() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* data() { return data_; }
  T& operator[](std::size_t index) { return data_[index]; }

 private:
  std::size_t bytes_;
  T* data_ = nullptr;
};

}  // namespace attach
