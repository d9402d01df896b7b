// Ctrl+C while a command works: the first one is noted, a second one ends the program as usual.
#pragma once

#include <csignal>

#include <atomic>

namespace app::cli {

/// Watches from construction to destruction; one at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool seen() const { return flag(); }
  /// For those who poll it from another thread.
  const std::atomic<bool>& flag() const;

 private:
  struct sigaction before_{};
};

}  // namespace app::cli
