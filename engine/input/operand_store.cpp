// FP16 sources have no separate reader: FP32 carries their values exactly, and they are
// narrowed again strip by strip.
#include "engine/input/operand_store.h"

#include <algorithm>

#include "engine/input/element_rounding.h"

namespace engine {
namespace {

constexpr std::int64_t kStripValues = 1 << 22;

}  // namespace

OperandStore::OperandStore(std::unique_ptr<TensorSource> source, bool keep)
    : source_(std::move(source)), kept_(keep) {
  if (!keep) return;
  const std::int64_t row_bytes = source_->columns() * element_bytes(element());
  read(0, source_->rows(), elements_.reserve(source_->rows() * row_bytes));
}

const std::byte* OperandStore::rows(std::int64_t first, std::int64_t count) {
  const std::int64_t row_bytes = source_->columns() * element_bytes(element());
  if (kept_) return elements_.get() + first * row_bytes;
  std::byte* out = elements_.reserve(count * row_bytes);
  read(first, count, out);
  return out;
}

void OperandStore::read(std::int64_t first, std::int64_t count, std::byte* out) {
  const std::int64_t columns = source_->columns();
  const auto values = static_cast<std::size_t>(count * columns);
  switch (element()) {
    case ElementType::Fp32:
      source_->read_f32(first, count, {reinterpret_cast<float*>(out), values});
      return;
    case ElementType::Bf16:
      source_->read_bf16(first, count, {reinterpret_cast<std::uint16_t*>(out), values});
      return;
    case ElementType::Fp16:
      break;
  }
  auto* halves = reinterpret_cast<std::uint16_t*>(out);
  const std::int64_t strip = std::max<std::int64_t>(1, kStripValues / columns);
  for (std::int64_t row = 0; row < count; row += strip) {
    const std::int64_t strip_values = std::min(strip, count - row) * columns;
    float* wide = wide_.reserve(strip_values);
    source_->read_f32(first + row, strip_values / columns,
                      {wide, static_cast<std::size_t>(strip_values)});
    std::uint16_t* narrow = halves + row * columns;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < strip_values; ++i) narrow[i] = fp16_bits(wide[i]);
  }
}

}  // namespace engine
