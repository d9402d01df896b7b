// The cases of the quantize benchmark: every recipe and direction on one operand, and the copy that
// all of them are measured against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/bench/quantize_bench.h"
#include "engine/model/bench_order.h"

namespace engine {

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
