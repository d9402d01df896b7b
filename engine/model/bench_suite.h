// A benchmark's request and its result rows. Plain values, no CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/linear_bench.h"

namespace engine {

enum class BenchRouting {
  Uniform,   // rows / experts for each
  OneHot,    // all rows to the first expert
  HalfFull,  // uniform, and half of the rows stay empty
};
constexpr auto enum_names(BenchRouting) {
  return std::to_array<std::string_view>({"uniform", "one-hot", "half-full"});
}

/// A grouped operand [rows, columns] in BF16, cut into `experts` groups of rows; columns are a
/// multiple of 16, and there are at most 2^31 elements.
struct BenchShape {
  int experts = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  BenchRouting routing = BenchRouting::Uniform;
  bool operator==(const BenchShape&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&BenchShape::experts>("experts", {.low = 1, .high = kMaxExperts}),
        engine::field<&BenchShape::rows>("rows", {.low = 1}),
        engine::field<&BenchShape::columns>("columns", {.low = 16}),
        engine::field<&BenchShape::routing>("routing")};
  }
  Flaw flaw() const;
};

enum class BenchSuite {
  Quantize,  // kernels, each alone
  Linear,    // the grouped step and its products
};
constexpr auto enum_names(BenchSuite) {
  return std::to_array<std::string_view>({"quantize", "linear"});
}

inline constexpr std::size_t kMaxBenchShapes = 64;
inline constexpr double kMaxBenchSeconds = 600;

struct BenchOrder {
  BenchSuite suite = BenchSuite::Quantize;
  bool cpu = false;                     // the CPU twins, even where there is a device
  std::vector<BenchShape> shapes = {};  // empty = default_bench_shapes() of what it runs on
  double seconds = 2;                   // per shape; at least a few rounds always run
  LinearBenchOrder linear = {};         // of BenchSuite::Linear, which has its own shapes
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&BenchOrder::suite>("suite"), engine::field<&BenchOrder::cpu>("cpu"),
        engine::field<&BenchOrder::shapes>("shapes", {.most = kMaxBenchShapes}),
        engine::field<&BenchOrder::seconds>("seconds", {.low = 0, .high = kMaxBenchSeconds}),
        engine::field<&BenchOrder::linear>("linear")};
  }
  Flaw flaw() const;
};

/// One kernel on one shape; times are of single launches, in microseconds.
struct BenchRow {
  BenchShape shape;
  std::string kernel;  // "copy", "mxfp8_both", ...
  double bytes = 0;    // compulsory traffic of a launch: read once (or twice) and written once
  std::int64_t elements = 0;  // that a launch quantizes, excluding rows outside all experts
  double median_us = 0, p5_us = 0, p95_us = 0;
  int samples = 0;     // number of times behind the three values
  int launches = 1;    // back to back in each sample
  double of_copy = 0;  // bytes per second relative to "copy" in the same run and shape
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&BenchRow::shape>("shape"),
                      engine::field<&BenchRow::kernel>("kernel"),
                      engine::field<&BenchRow::bytes>("bytes"),
                      engine::field<&BenchRow::elements>("elements"),
                      engine::field<&BenchRow::median_us>("median_us"),
                      engine::field<&BenchRow::p5_us>("p5_us"),
                      engine::field<&BenchRow::p95_us>("p95_us"),
                      engine::field<&BenchRow::samples>("samples"),
                      engine::field<&BenchRow::launches>("launches"),
                      engine::field<&BenchRow::of_copy>("of_copy")};
  }
  Flaw flaw() const;
};

/// "32x32768x7168", "32x32768x7168:one-hot", "...:half": experts, rows, columns, routing.
std::string bench_shape_text(const BenchShape& shape);
Result<BenchShape> parse_bench_shape(std::string_view text);

/// What a GPU measures: shapes of real layers, weights of 939 million elements, 1024 experts,
/// unequal routings, and an operand that fits any cache. A CPU gets shapes of a few million.
std::vector<BenchShape> default_bench_shapes(bool cpu);

}  // namespace engine
