// A lock of static storage that needs no constructor, for sections of a few instructions.
#pragma once

#include <sched.h>
#include <atomic>

namespace attach {

class SpinLock {
 public:
  void lock() {
    while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  void unlock() { busy_.clear(std::memory_order_release); }
  /// In a forked child, whose parent may have held it.
  void reset() { unlock(); }

 private:
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace attach
