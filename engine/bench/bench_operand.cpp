#include "engine/bench/bench_operand.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/bias/bias.h"

namespace engine {
namespace {

// Values repeat after this many: the host generates them, the target copies them.
constexpr std::int64_t kPatternElements = std::int64_t{1} << 20;

/// BF16 values of about unit variance: sums of four uniform numbers, seeded by position.
std::vector<std::uint16_t> pattern(std::int64_t count) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 29;
    const auto sum =
        static_cast<int>((x & 0xFFFF) + ((x >> 16) & 0xFFFF) + ((x >> 32) & 0xFFFF) + (x >> 48));
    const float value = static_cast<float>(sum - 131070) / 37837.0F;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    values[i] = static_cast<std::uint16_t>(bits >> 16);
  }
  return values;
}

Status fill(BenchTarget& target, std::byte* input, std::int64_t elements) {
  const std::int64_t first = std::min(elements, kPatternElements);
  const std::vector<std::uint16_t> values = pattern(first);
  if (Status done = target.upload(input, values.data(), first * 2); !done.ok()) return done;
  for (std::int64_t filled = first; filled < elements; filled *= 2) {
    const std::int64_t count = std::min(filled, elements - filled);
    if (Status done = target.copy(input + filled * 2, input, count * 2); !done.ok()) return done;
  }
  return {};
}

std::vector<std::int64_t> splits_of(const BenchShape& shape) {
  std::vector<std::int64_t> splits(static_cast<std::size_t>(shape.experts), 0);
  if (shape.routing == BenchRouting::OneHot) {
    splits[0] = shape.rows;
    return splits;
  }
  const std::int64_t rows = shape.routing == BenchRouting::HalfFull ? shape.rows / 2 : shape.rows;
  for (std::int64_t g = 0; g < shape.experts; ++g) {
    splits[static_cast<std::size_t>(g)] = rows / shape.experts + (g < rows % shape.experts ? 1 : 0);
  }
  return splits;
}

/// Keeps the first refusal, so that a list of allocations reads as one.
class Allocations {
 public:
  explicit Allocations(BenchTarget& target) : target_(target) {}
  template <class T>
  void take(T*& pointer, std::int64_t count) {
    if (!status_.ok()) return;
    Result<std::byte*> memory = target_.allocate(count * static_cast<std::int64_t>(sizeof(T)));
    if (memory.ok()) {
      pointer = reinterpret_cast<T*>(memory.value());
    } else {
      status_ = memory.error();
    }
  }
  const Status& status() const { return status_; }

 private:
  BenchTarget& target_;
  Status status_;
};

}  // namespace

Result<BenchOperand> make_bench_operand(BenchTarget& target, const BenchShape& shape) {
  using namespace kernels;
  const std::int64_t rows = shape.rows;
  const std::int64_t columns = shape.columns;
  const int experts = shape.experts;
  const std::int64_t elements = rows * columns;
  BenchOperand operand;
  std::byte* input = nullptr;
  std::int64_t* row_offsets = nullptr;
  std::byte* splits_memory = nullptr;
  Allocations memory(target);
  memory.take(input, elements * 2);
  memory.take(operand.copied, elements * 2);
  memory.take(operand.codes, elements);
  memory.take(operand.transposed,
              std::max(elements, nvfp4_columnwise_code_capacity(rows, experts, columns)));
  memory.take(operand.scales, std::max(block_1x128_scale_capacity(rows, experts, columns),
                                       block_128x128_scale_capacity(rows, experts, columns)));
  memory.take(operand.column_scales,
              std::max(block_1x128_columnwise_scale_capacity(rows, experts, columns),
                       block_128x128_columnwise_scale_capacity(rows, experts, columns)));
  memory.take(operand.scale_bytes, micro_rowwise_scale_capacity(rows, experts, columns, 16));
  memory.take(operand.column_scale_bytes,
              micro_columnwise_scale_capacity(rows, experts, columns, 16));
  memory.take(operand.bias_partials, bias_partial_capacity(rows, experts, columns));
  memory.take(operand.amax, experts);
  memory.take(operand.scale, experts);
  memory.take(operand.scale_inv, experts);
  memory.take(operand.tickets, 2);
  memory.take(row_offsets, std::int64_t{experts} + 1);
  memory.take(splits_memory, std::int64_t{experts} * 8);
  if (!memory.status().ok()) return memory.status().error();

  const std::vector<std::int64_t> splits = splits_of(shape);
  operand.active_rows = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  if (Status done = fill(target, input, elements); !done.ok()) return done.error();
  if (Status done = target.upload(splits_memory, splits.data(), std::int64_t{experts} * 8);
      !done.ok()) {
    return done.error();
  }
  operand.offsets = SplitsToOffsetsArgs{.splits = splits_memory,
                                        .num_groups = experts,
                                        .capacity_rows = rows,
                                        .row_offsets = row_offsets};
  if (Status done = target.run(operand.offsets); !done.ok()) return done.error();
  operand.input = {.input = input,
                   .type = InputType::Bf16,
                   .row_offsets = row_offsets,
                   .num_groups = experts,
                   .capacity_rows = rows,
                   .columns = columns};
  return operand;
}

}  // namespace engine
