// The cases of the quantize benchmark: every recipe and direction on one operand, and the copy that
// all of them are measured against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/bench/quantize_bench.h"
#include "engine/model/bench_order.h"

namespace engine {

// The buffers that all cases of one shape share: input, codes and scales both ways, offsets.

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

struct BenchCase {
  std::string kernel;
  double bytes = 0;  // compulsory traffic of one launch
  Launch launch;
};

struct QuantizeCases {
  std::vector<BenchCase> cases;  // "copy" first
  std::int64_t elements = 0;     // of rows that belong to an expert
};

/// Allocates and fills the operand on the target. The cases hold its addresses: they are good until
/// release_all().
Result<QuantizeCases> make_quantize_cases(BenchTarget& target, const BenchShape& shape);

}  // namespace engine
