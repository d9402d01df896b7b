// A grow-only array with uninitialized elements: the step overwrites everything it reads, and
// zeroing gigabytes first would cost as much as the step.
#pragma once

#include <cstdint>
#include <memory>

namespace engine {

template <class T>
class Buffer {
 public:
  /// Room for `count` elements; earlier contents are lost when it has to grow.
  T* reserve(std::int64_t count) {
    if (count > capacity_) {
      elements_.reset();  // before the larger one is taken: never both at once
      elements_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
      capacity_ = count;
    }
    return elements_.get();
  }
  T* get() const { return elements_.get(); }

 private:
  std::unique_ptr<T[]> elements_;
  std::int64_t capacity_ = 0;
};

}  // namespace engine
