// The buffers that all cases of one shape share: input, codes and scales both ways, offsets.
#pragma once

#include <cstdint>

#include "engine/bench/bench_target.h"
#include "engine/model/bench_suite.h"

namespace engine {

struct BenchOperand {
  kernels::GroupedInput input;           // BF16, bell-shaped
  kernels::SplitsToOffsetsArgs offsets;  // made the input's row offsets
  std::int64_t active_rows = 0;          // rows that belong to an expert
  std::byte* copied = nullptr;           // 2 bytes per element
  std::uint8_t* codes = nullptr;
  std::uint8_t* transposed = nullptr;
  float* scales = nullptr;
  float* column_scales = nullptr;
  std::uint8_t* scale_bytes = nullptr;
  std::uint8_t* column_scale_bytes = nullptr;
  float* bias_partials = nullptr;
  float* amax = nullptr;  // [experts], as are the next two
  float* scale = nullptr;
  float* scale_inv = nullptr;
  std::uint32_t* tickets = nullptr;
};

Result<BenchOperand> make_bench_operand(BenchTarget& target, const BenchShape& shape);

}  // namespace engine
