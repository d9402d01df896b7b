// One operand in its own element type: kept in memory if the backend allows it, otherwise read
// expert by expert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/input/host_buffer.h"
#include "engine/input/tensor_source.h"

namespace engine {

/// Bytes of one element as the kernels read it.
constexpr std::int64_t element_bytes(ElementType type) { return type == ElementType::Fp32 ? 4 : 2; }

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
