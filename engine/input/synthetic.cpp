// The hot loops of the generators: one row segment at a time, written so that the compiler
// vectorises them; every clone gives the same bits because nothing is contracted or reordered.
#include "engine/input/synthetic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/input/element_rounding.h"

// Compiled without contraction, as synthetic.cpp: a fused multiply-add would change the last bit
// from one machine to another.
namespace engine {
namespace {

/// -ln(p) for p in (0, 0.5] by halving the range and an odd series; libm's log differs between
/// versions.
double minus_log(double p) {
  constexpr double kLn2 = 0.69314718055994530942;
  double result = 0.0;
  while (p < 0.75) {
    p *= 2.0;
    result += kLn2;
  }
  // p in [0.75, 1.5): ln p = 2 (t + t^3/3 + t^5/5 + ...) with t = (p-1)/(p+1), |t| <= 1/5.
  const double t = (p - 1.0) / (p + 1.0);
  double power = t;
  double series = 0.0;
  for (int odd = 1; odd <= 25; odd += 2) {
    series += power / odd;
    power *= t * t;
  }
  return result - 2.0 * series;
}

NormalTable build() {
  NormalTable table{};
  constexpr int kSteps = NormalTable::kSteps;
  const auto knot = [](int index) {
    const int exponent = NormalTable::kFirstExponent + index / kSteps;
    double counter = 1.0 + static_cast<double>(index % kSteps) / kSteps;
    // Powers of two scale exactly.
    for (int i = 0; i < exponent + 1; ++i) counter *= 2.0;
    const double p = counter * 0.5 * 0x1p-32;
    return p < 0.5 ? upper_tail_quantile(p) : 0.0;
  };
  for (int index = 0; index < NormalTable::kSize; ++index) {
    const auto at = static_cast<std::size_t>(index);
    table.value[at] = static_cast<float>(knot(index));
    table.slope[at] = static_cast<float>(knot(index + 1) - knot(index));
  }
  return table;
}

}  // namespace

double upper_tail_quantile(double p) {
  const double q = 0.5 - p;
  if (q <= 0.425) {
    const double r = 0.180625 - q * q;
    const double numerator =
        ((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179;
    const double denominator = ((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0;
    return q * numerator / denominator;
  }
  double r = std::sqrt(minus_log(p));
  if (r <= 5.0) {
    r -= 1.6;
    const double numerator =
        ((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777;
    const double denominator = (0.12021132975 * r + 0.73700164250) * r + 1.0;
    return numerator / denominator;
  }
  r -= 5.0;
  const double numerator =
      ((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150;
  const double denominator = (0.012258202635 * r + 0.24197894225) * r + 1.0;
  return numerator / denominator;
}

const NormalTable& normal_table() {
  static const NormalTable table = build();
  return table;
}

}  // namespace engine

// A wider copy of each loop, picked at load time; the sanitizers cannot run before ifuncs resolve.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ENGINE_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ENGINE_VECTOR_CLONES
#endif

namespace engine {
namespace {

constexpr std::int64_t kSegment = 2048;  // values generated before they are rounded: stays in L1
constexpr float kOutlier = 50.0F;
constexpr std::int64_t kParallelValues =
    1 << 16;  // below this a thread team costs more than it saves

struct RowKey {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
};

inline std::uint32_t mix_column(RowKey key, std::uint32_t column) {
  std::uint32_t h = column * 0x9E3779B9U + key.low;
  h = (h ^ (h >> 16)) * 0x7FEB352DU;
  h ^= key.high;
  h = (h ^ (h >> 15)) * 0x846CA68BU;
  return h ^ (h >> 16);
}

inline float normal_from(std::uint32_t h, const float* value, const float* slope) {
  constexpr int kFractionBits = 23 - NormalTable::kStepsLog2;
  constexpr std::uint32_t kFirstIndex =
      static_cast<std::uint32_t>(127 + NormalTable::kFirstExponent) << NormalTable::kStepsLog2;
  const float counter = static_cast<float>(static_cast<std::int32_t>(h & 0x7FFFFFFFU)) + 0.5F;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(counter);
  const std::uint32_t index = (bits >> kFractionBits) - kFirstIndex;
  const float fraction =
      static_cast<float>(static_cast<std::int32_t>(bits & ((1U << kFractionBits) - 1U))) *
      (1.0F / static_cast<float>(1U << kFractionBits));
  const float magnitude = value[index] + fraction * slope[index];
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) ^ (h & 0x80000000U));
}

struct Segment {
  RowKey key;
  std::uint32_t first_column = 0;
  int count = 0;
  float deviation = 1.0F;
};

ENGINE_VECTOR_CLONES void fill_normal(const Segment& segment, const NormalTable& table,
                                      float* out) {
  const RowKey key = segment.key;
  const std::uint32_t first = segment.first_column;
  const float deviation = segment.deviation;
  const float* value = table.value.data();
  const float* slope = table.slope.data();
  for (int i = 0; i < segment.count; ++i) {
    out[i] = normal_from(mix_column(key, first + static_cast<std::uint32_t>(i)), value, slope) *
             deviation;
  }
}

ENGINE_VECTOR_CLONES void fill_uniform(const Segment& segment, float* out) {
  const RowKey key = segment.key;
  const std::uint32_t first = segment.first_column;
  const float deviation = segment.deviation;
  for (int i = 0; i < segment.count; ++i) {
    const auto h =
        static_cast<std::int32_t>(mix_column(key, first + static_cast<std::uint32_t>(i)));
    out[i] = static_cast<float>(h >> 8) * 0x1p-23F * deviation;
  }
}

ENGINE_VECTOR_CLONES void sprinkle_non_finite(const Segment& segment, float* out) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const RowKey key = {segment.key.high, segment.key.low};  // swapped: a second, independent stream
  for (int i = 0; i < segment.count; ++i) {
    const std::uint32_t draw =
        mix_column(key, segment.first_column + static_cast<std::uint32_t>(i)) & 4095U;
    float value = out[i];
    value = draw == 0 ? kInfinity : value;
    value = draw == 1 ? -kInfinity : value;
    out[i] = draw == 2 ? kNaN : value;
  }
}

ENGINE_VECTOR_CLONES void multiply_columns(const float* factors, int count, float* out) {
  for (int i = 0; i < count; ++i) out[i] *= factors[i];
}

ENGINE_VECTOR_CLONES void round_through_bf16(int count, float* values) {
  for (int i = 0; i < count; ++i) values[i] = bf16_value(bf16_bits(values[i]));
}

ENGINE_VECTOR_CLONES void round_through_fp16(int count, float* values) {
  for (int i = 0; i < count; ++i) values[i] = fp16_value(fp16_bits(values[i]));
}

ENGINE_VECTOR_CLONES void to_bf16(const float* values, int count, std::uint16_t* out) {
  for (int i = 0; i < count; ++i) out[i] = bf16_bits(values[i]);
}

std::uint64_t role_key(OperandRole role) {
  switch (role) {
    case OperandRole::Weights:
      return 0x57U;
    case OperandRole::Gradients:
      return 0x59U;
    case OperandRole::Activations:
      break;
  }
  return 0x58U;
}

class SyntheticSource final : public TensorSource {
 public:
  explicit SyntheticSource(const SyntheticTensor& tensor) : tensor_(tensor) {
    key_ = mix64(mix64(tensor.seed) ^ role_key(tensor.role));
    key_ = mix64(key_ ^ static_cast<std::uint64_t>(tensor.layer));
    if (tensor.role == OperandRole::Weights) {
      deviation_ = static_cast<float>(1.0 / std::sqrt(static_cast<double>(tensor.columns)));
    }
    if (tensor.input.distribution == Distribution::HeavyTailed) {
      column_factor_.resize(static_cast<std::size_t>(tensor.columns));
      const std::uint64_t column_key = mix64(key_ ^ 0xC01U);
      for (std::size_t column = 0; column < column_factor_.size(); ++column) {
        column_factor_[column] = mix64(column_key ^ column) % 64 == 0 ? kOutlier : 1.0F;
      }
    }
  }

  ElementType element() const override { return tensor_.input.element; }
  std::int64_t rows() const override { return tensor_.rows; }
  std::int64_t columns() const override { return tensor_.columns; }

  void read_f32(std::int64_t first_row, std::int64_t count, std::span<float> out) const override {
    const std::int64_t columns = tensor_.columns;
#pragma omp parallel for schedule(static) if (count * columns >= kParallelValues)
    for (std::int64_t row = 0; row < count; ++row) {
      for (std::int64_t column = 0; column < columns; column += kSegment) {
        const int length = static_cast<int>(std::min(kSegment, columns - column));
        generate(first_row + row, column, length, out.data() + row * columns + column);
      }
    }
  }

  void read_bf16(std::int64_t first_row, std::int64_t count,
                 std::span<std::uint16_t> out) const override {
    const std::int64_t columns = tensor_.columns;
#pragma omp parallel for schedule(static) if (count * columns >= kParallelValues)
    for (std::int64_t row = 0; row < count; ++row) {
      std::array<float, kSegment> values;
      for (std::int64_t column = 0; column < columns; column += kSegment) {
        const int length = static_cast<int>(std::min(kSegment, columns - column));
        generate(first_row + row, column, length, values.data());
        to_bf16(values.data(), length, out.data() + row * columns + column);
      }
    }
  }

 private:
  void generate(std::int64_t row, std::int64_t column, int count, float* out) const {
    const std::uint64_t row_key = mix64(key_ ^ mix64(static_cast<std::uint64_t>(row)));
    const Segment segment{
        .key = {static_cast<std::uint32_t>(row_key), static_cast<std::uint32_t>(row_key >> 32)},
        .first_column = static_cast<std::uint32_t>(column),
        .count = count,
        .deviation = deviation_};
    switch (tensor_.input.distribution) {
      case Distribution::Zeros:
        std::fill_n(out, count, 0.0F);
        return;
      case Distribution::Uniform:
        fill_uniform(segment, out);
        break;
      case Distribution::Normal:
        fill_normal(segment, normal_table(), out);
        break;
      case Distribution::HeavyTailed:
        fill_normal(segment, normal_table(), out);
        multiply_columns(column_factor_.data() + column, count, out);
        break;
      case Distribution::NonFinite:
        fill_normal(segment, normal_table(), out);
        sprinkle_non_finite(segment, out);
        break;
    }
    if (tensor_.input.element == ElementType::Bf16) round_through_bf16(count, out);
    if (tensor_.input.element == ElementType::Fp16) round_through_fp16(count, out);
  }

  SyntheticTensor tensor_;
  std::uint64_t key_ = 0;
  float deviation_ = 1.0F;
  std::vector<float> column_factor_;  // [columns], only for HeavyTailed
};

}  // namespace

std::unique_ptr<TensorSource> make_synthetic_source(const SyntheticTensor& tensor) {
  return std::make_unique<SyntheticSource>(tensor);
}

}  // namespace engine

namespace engine {

std::vector<float> bias_values(const RunRequest& request, int layer) {
  constexpr float kDeviation = 0.1F;
  // Gradients use layer 0 of their role; the next layers are unused.
  const auto source = make_synthetic_source({.input = {.element = ElementType::Fp32},
                                             .role = OperandRole::Gradients,
                                             .layer = layer + 1,
                                             .seed = request.seed,
                                             .rows = request.shape.num_experts,
                                             .columns = request.shape.n});
  std::vector<float> values(static_cast<std::size_t>(request.shape.num_experts * request.shape.n));
  source->read_f32(0, request.shape.num_experts, values);
  for (float& value : values) value *= kDeviation;
  return values;
}

}  // namespace engine
