// The marker board of the replay in progress, for a reader that must not call CUDA: the pulse reads
// it while the engine thread is stuck in a launch. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/node_states.h"

namespace profiling {

class LiveBoard {
 public:
  struct View {
    int replay = 0;  // 1-based; 0 = no replay in progress
    std::vector<NodeState> nodes;
  };

  /// `words` are written by the device; the word of node n is words[slots[n]], slot -1 = none. A
  /// node runs once all its `dependencies` are done. All must live until detach().
  void attach(int replay, const volatile std::uint32_t* words, const std::vector<int>* slots,
              const std::vector<std::vector<int>>* dependencies) {
    const std::lock_guard lock(mutex_);
    replay_ = replay;
    words_ = words;
    slots_ = slots;
    dependencies_ = dependencies;
  }

  void detach() { attach(0, nullptr, nullptr, nullptr); }

  /// Reports the state of a device that may be stuck; must not wait for it. Null removes it.
  void ask_device(std::function<std::string()> says) {
    const std::lock_guard lock(mutex_);
    says_ = std::move(says);
  }
  /// Empty if no such function is set.
  std::string device() const {
    const std::lock_guard lock(mutex_);
    return says_ ? says_() : std::string();
  }

  View read() const {
    const std::lock_guard lock(mutex_);
    View view{.replay = replay_, .nodes = {}};
    if (words_ == nullptr) return view;
    view.nodes = states(words_, *slots_, *dependencies_);
    return view;
  }

  static std::vector<NodeState> states(const volatile std::uint32_t* words,
                                       const std::vector<int>& slots,
                                       const std::vector<std::vector<int>>& dependencies) {
    return node_states(dependencies, [&](std::size_t n) {
      if (slots[n] < 0) return NodeMark::None;
      return words[slots[n]] != 0 ? NodeMark::Set : NodeMark::Unset;
    });
  }

 private:
  mutable std::mutex mutex_;
  std::function<std::string()> says_;
  int replay_ = 0;
  const volatile std::uint32_t* words_ = nullptr;
  const std::vector<int>* slots_ = nullptr;
  const std::vector<std::vector<int>>* dependencies_ = nullptr;
};

}  // namespace profiling
