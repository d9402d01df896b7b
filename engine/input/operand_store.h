// One operand in its own element type: kept in memory if the backend allows it, otherwise read
// expert by expert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/input/tensor_source.h"

namespace engine {

// A grow-only array with uninitialized elements: the step overwrites everything it reads, and
// zeroing gigabytes first would cost as much as the step.

template <class T>
class Buffer {
 public:
  /// Room for `count` elements; earlier contents are lost when it has to grow.
  T* reserve(std::int64_t count) {
    if (count > capacity_) {
      elements_.reset();  // before allocating the larger one: never both
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

class OperandStore {
 public:
  /// Reads everything now when `keep`.
  OperandStore(std::unique_ptr<TensorSource> source, bool keep);

  ElementType element() const { return source_->element(); }
  bool kept() const { return kept_; }
  const TensorSource& source() const { return *source_; }
  /// Elements of rows [first, first + count). Valid until the next call when not kept.
  const std::byte* rows(std::int64_t first, std::int64_t count);

 private:
  void read(std::int64_t first, std::int64_t count, std::byte* out);

  std::unique_ptr<TensorSource> source_;
  bool kept_ = false;
  Buffer<std::byte> elements_;  // all rows when kept, else the last ones read
  Buffer<float> wide_;          // FP16 arrives through FP32, which holds it exactly
};

}  // namespace engine
