#include "engine/quantize/operand_numerics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include "engine/input/element_rounding.h"
#include "engine/quantize/range_waste.h"
#include "engine/quantize/statistics_fold.h"
#include "kernels/diagnostics/statistics.h"
#include "kernels/quantize/quantize_nvfp4.h"

namespace engine {
namespace {

/// The grid of code values, before scaling.
struct CodeGrid {
  double largest = 0;
  double smallest_normal = 0;
  int mantissa_bits = 0;

  /// Distance of neighbours at this magnitude; below the smallest normal as at that number.
  double step(double magnitude) const {
    const double at = std::clamp(magnitude, smallest_normal, largest);
    return std::ldexp(1.0, std::ilogb(at) - mantissa_bits);
  }
};

CodeGrid code_grid(const OperandLayout& layout) {
  if (layout.e2m1()) return {.largest = 6.0, .smallest_normal = 1.0, .mantissa_bits = 1};
  if (layout.format == kernels::Fp8Format::E4m3) {
    return {.largest = 448.0, .smallest_normal = 0x1p-6, .mantissa_bits = 3};
  }
  return {.largest = 57344.0, .smallest_normal = 0x1p-14, .mantissa_bits = 2};
}

struct Errors {
  double signal = 0;
  double noise = 0;
  double relative = 0;
  double steps = 0;
  std::uint64_t saturated = 0;
  std::uint64_t underflowed = 0;
  std::array<std::uint64_t, 256> counts{};

  void add(const Errors& more) {
    signal += more.signal;
    noise += more.noise;
    relative = std::max(relative, more.relative);
    steps = std::max(steps, more.steps);
    saturated += more.saturated;
    underflowed += more.underflowed;
    for (std::size_t code = 0; code < counts.size(); ++code) counts[code] += more.counts[code];
  }
};

/// Where the losses of one group's scales are counted. Strips share blocks, so counts are atomic;
/// they are rare.
struct GroupLosses {
  kernels::BlockLosses* first = nullptr;  // in the order of PlainScales
  std::int64_t first_row = 0;             // of the group, in the operand
  ScaleGrid grid;
  std::int64_t columns = 0;  // of the operand

  kernels::BlockLosses& at(std::int64_t element) const {
    const std::int64_t row = (element / columns - first_row) / grid.block_rows;
    const std::int64_t column = element % columns / grid.block_columns;
    return first[row * grid.columns + column];
  }
};

void count_one(std::uint64_t& counter) {
  std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed);
}

class Measure {
 public:
  Measure(const kernels::GroupedInput& input, const OperandLayout& layout,
          const UnpackedOperand& operand)
      : input_(input),
        layout_(layout),
        operand_(operand),
        values_(code_values(layout)),
        grid_(code_grid(layout)) {}

  /// Of one group; its losses go to `losses`.
  Errors all_rows(std::int64_t first_row, std::int64_t rows, const GroupLosses& losses) const {
    Errors all;
    // A fixed number of strips, merged in order: sums do not depend on the number of threads.
    constexpr std::int64_t kStrips = 64;
    std::array<Errors, kStrips> strips;
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t strip = 0; strip < kStrips; ++strip) {
      Errors& errors = strips[static_cast<std::size_t>(strip)];
      // Whole blocks of 16 rows, for the transform.
      const std::int64_t height = kernels::round_up(kernels::ceil_div(rows, kStrips), 16);
      const std::int64_t begin = std::min(rows, strip * height);
      const std::int64_t end = std::min(rows, begin + height);
      for (std::int64_t i = (first_row + begin) * columns(); i < (first_row + end) * columns();
           ++i) {
        element(i, losses, errors);
      }
      if (layout_.hadamard) transformed(first_row + begin, first_row + end, losses, errors);
    }
    for (const Errors& strip : strips) all.add(strip);
    return all;
  }

 private:
  std::int64_t columns() const { return input_.columns; }

  void element(std::int64_t i, const GroupLosses& losses, Errors& errors) const {
    const double x = element_value(input_, i);
    const double decoded = operand_.decoded.get()[i];
    const double factor = operand_.factors.get()[i];
    ++errors.counts[operand_.codes.get()[i]];
    if (!layout_.hadamard) grid_position(x, i, losses, errors);
    if (!std::isfinite(x) || !std::isfinite(decoded)) return;
    const double error = std::abs(x - decoded);
    errors.signal += x * x;
    errors.noise += error * error;
    if (x != 0.0 && decoded == 0.0) {
      ++errors.underflowed;
      count_one(losses.at(i).underflowed);
    }
    if (factor > 0.0 && std::abs(x) >= grid_.smallest_normal * factor) {
      errors.relative = std::max(errors.relative, error / std::abs(x));
    }
  }

  /// Position of the encoded element on the grid of its code.
  void grid_position(double encoded, std::int64_t i, const GroupLosses& losses,
                     Errors& errors) const {
    const double factor = operand_.factors.get()[i];
    const double value = values_[operand_.codes.get()[i]];
    if (std::isnan(encoded) || !(factor > 0.0)) return;
    const double scaled = std::abs(encoded) / factor;
    if (scaled > grid_.largest * (1.0 + 0x1p-22)) {
      ++errors.saturated;
      count_one(losses.at(i).saturated);
    }
    if (!std::isfinite(encoded) || !std::isfinite(value)) return;
    const double distance = std::abs(encoded / factor - value);
    errors.steps = std::max(errors.steps, distance / grid_.step(std::abs(value)));
  }

  void transformed(std::int64_t first, std::int64_t end, const GroupLosses& losses,
                   Errors& errors) const {
    for (std::int64_t top = first; top < end; top += 16) {
      for (std::int64_t column = 0; column < columns(); ++column) {
        std::array<float, 16> block{};
        const std::int64_t rows = std::min<std::int64_t>(16, end - top);
        for (std::int64_t j = 0; j < rows; ++j) {
          const float x = element_value(input_, (top + j) * columns() + column);
          const bool minus = (kernels::kHadamardSigns >> j & 1) != 0;
          block[static_cast<std::size_t>(j)] = minus ? -x : x;
        }
        hadamard_transform(block);
        for (std::int64_t j = 0; j < rows; ++j) {
          const float y = bf16_value(bf16_bits(block[static_cast<std::size_t>(j)]));
          grid_position(y, (top + j) * columns() + column, losses, errors);
        }
      }
    }
  }

  const kernels::GroupedInput& input_;
  const OperandLayout& layout_;
  const UnpackedOperand& operand_;
  std::span<const float> values_;
  CodeGrid grid_;
};

kernels::MagnitudeCounts counts_of(const void* elements, kernels::InputType type,
                                   const kernels::GroupedInput& shape) {
  kernels::MagnitudeCounts counts{};
  kernels::MagnitudeCounts unused{};
  std::vector<kernels::GroupQuantizationSums> sums(static_cast<std::size_t>(shape.num_groups));
  kernels::GroupedInput input = shape;
  input.input = elements;
  input.type = type;
  kernels::quantization_statistics_cpu(
      {.input = input, .before = &counts, .after = &unused, .sums = sums.data()});
  return counts;
}

MagnitudeHistogram histogram_of(const std::vector<float>& values) {
  kernels::MagnitudeCounts counts{};
  kernels::magnitude_counts_cpu(values.data(), static_cast<std::int64_t>(values.size()), counts);
  return to_histogram(counts);
}

/// Amax of every group or block with rows, in the order of the scales.
std::vector<float> plain_amax(const OperandLayout& layout, std::span<const std::int64_t> splits,
                              std::int64_t columns, const float* amax) {
  std::vector<float> plain;
  for (const std::int64_t rows : splits) {
    ScaleGrid grid = scale_grid(layout, rows, columns);
    if (layout.e2m1()) grid = {.rows = 1, .columns = 1, .span = 1};
    for (std::int64_t r = 0; rows > 0 && r < grid.rows; ++r) {
      for (std::int64_t c = 0; c < grid.columns; ++c) {
        plain.push_back(amax[r * grid.row_stride + c * grid.column_stride]);
      }
    }
    amax += grid.span;
  }
  return plain;
}

}  // namespace

ComparedOperand compared_operand(const ComparisonRequest& request,
                                 std::span<const std::int64_t> splits) {
  const ShapeSpec& shape = request.request.shape;
  ComparedOperand operand;
  operand.role = request.gradients ? OperandRole::Gradients
                 : request.weights ? OperandRole::Weights
                                   : OperandRole::Activations;
  operand.columns = request.gradients ? shape.n : shape.k;
  for (const std::int64_t tokens : splits) {
    operand.rows.push_back(request.weights ? shape.n : tokens);
    operand.row_offsets.push_back(operand.all_rows() + operand.rows.back());
  }
  return operand;
}

float element_value(const kernels::GroupedInput& input, std::int64_t i) {
  switch (input.type) {
    case kernels::InputType::Bf16:
      return bf16_value(static_cast<const std::uint16_t*>(input.input)[i]);
    case kernels::InputType::Fp16:
      return fp16_value(static_cast<const std::uint16_t*>(input.input)[i]);
    case kernels::InputType::Fp32:
      break;
  }
  return static_cast<const float*>(input.input)[i];
}

void add_plain_scales(const OperandLayout& layout, const kernels::QuantizedView& view,
                      std::span<const std::int64_t> splits, const UnpackedOperand& operand,
                      PlainScales& plain) {
  for (std::size_t group = 0; group < splits.size(); ++group) {
    const std::int64_t rows = splits[group];
    ScaleGrid grid = scale_grid(layout, rows, view.columns);
    if (rows == 0) grid.rows = 0;
    for (std::int64_t r = 0; r < grid.rows; ++r) {
      for (std::int64_t c = 0; c < grid.columns; ++c) {
        const std::int64_t row = view.row_offsets[group] + r * grid.block_rows;
        plain.factors.push_back(operand.factors.get()[row * view.columns + c * grid.block_columns]);
        plain.elements.push_back(
            std::min(grid.block_rows, rows - r * grid.block_rows) *
            std::min(grid.block_columns, view.columns - c * grid.block_columns));
      }
    }
    plain.columns = grid.columns;
    plain.rows += grid.rows;
    plain.first_row.push_back(plain.rows);
  }
}

void append(const PlainScales& more, PlainScales& all) {
  all.factors.insert(all.factors.end(), more.factors.begin(), more.factors.end());
  all.elements.insert(all.elements.end(), more.elements.begin(), more.elements.end());
  all.losses.insert(all.losses.end(), more.losses.begin(), more.losses.end());
  for (std::size_t group = 1; group < more.first_row.size(); ++group) {
    all.first_row.push_back(all.rows + more.first_row[group]);
  }
  all.columns = more.columns;
  all.rows += more.rows;
}

ScaleMap fold_plain_scales(const PlainScales& plain, const ScaleGrid& block) {
  ScaleMap map;
  map.block_rows = block.block_rows;
  map.block_columns = block.block_columns;
  map.source_rows = plain.rows;
  map.source_columns = plain.columns;
  map.expert_first_row = plain.first_row;
  const bool with_losses = plain.losses.size() == plain.factors.size();
  ScaleFolder folder(std::move(map), with_losses);
  for (std::int64_t r = 0; r < plain.rows; ++r) {
    for (std::int64_t c = 0; c < plain.columns; ++c) {
      const auto i = static_cast<std::size_t>(r * plain.columns + c);
      FoldedScale scale{
          .scale_inv = plain.factors[i], .row = r, .column = c, .elements = plain.elements[i]};
      if (with_losses) scale.losses = plain.losses[i];
      folder.add(scale);
    }
  }
  return folder.take();
}

void measure_operand(const kernels::GroupedInput& input, const OperandLayout& layout,
                     const kernels::QuantizedView& view, std::span<const std::int64_t> splits,
                     const UnpackedOperand& operand, const float* amax, QuantizationReport& report,
                     std::vector<kernels::GroupQuantizationSums>* groups, PlainScales* scales) {
  PlainScales plain;
  add_plain_scales(layout, view, splits, operand, plain);
  plain.losses.resize(plain.factors.size());
  const Measure measure(input, layout, operand);
  Errors errors;
  for (std::size_t group = 0; group < splits.size(); ++group) {
    const GroupLosses losses{.first = plain.losses.data() + plain.first_row[group] * plain.columns,
                             .first_row = view.row_offsets[group],
                             .grid = scale_grid(layout, splits[group], view.columns),
                             .columns = view.columns};
    const Errors of_group = measure.all_rows(view.row_offsets[group], splits[group], losses);
    errors.add(of_group);
    if (groups == nullptr) continue;
    groups->push_back({.signal = of_group.signal,
                       .noise = of_group.noise,
                       .saturated = static_cast<std::uint64_t>(of_group.saturated),
                       .underflowed = static_cast<std::uint64_t>(of_group.underflowed),
                       .max_ulp = static_cast<float>(of_group.steps)});
  }
  OperandStatistics& statistics = report.statistics;
  statistics.before = to_histogram(counts_of(input.input, input.type, input));
  statistics.after =
      to_histogram(counts_of(operand.decoded.get(), kernels::InputType::Fp32, input));
  statistics.scale_map = fold_plain_scales(plain, scale_grid(layout, splits.front(), view.columns));
  if (layout.per_tensor()) {
    statistics.scale_map.block_rows = *std::max_element(splits.begin(), splits.end());
  }
  if (amax != nullptr) {
    statistics.amax = histogram_of(plain_amax(layout, splits, view.columns, amax));
  }
  if (scales != nullptr) append(plain, *scales);
  for (float& factor : plain.factors) factor = 1.0F / factor;
  statistics.scale = histogram_of(plain.factors);
  statistics.elements = static_cast<std::uint64_t>(input.row_offsets[input.num_groups]) *
                        static_cast<std::uint64_t>(input.columns);
  statistics.saturated = errors.saturated;
  statistics.underflowed = errors.underflowed;
  statistics.snr_db = snr_db(errors.signal, errors.noise);
  report.max_relative_error = errors.relative;
  // Correct rounding gives up to half a step, plus the rounding of the scale: this counts as 0
  // steps.
  report.max_ulp =
      static_cast<std::int64_t>(std::min(std::ceil(errors.steps - 0.5 - 0x1p-16), 0x1p62));
  report.max_ulp = std::max<std::int64_t>(report.max_ulp, 0);
  report.code_counts.assign(errors.counts.begin(),
                            errors.counts.begin() + std::ssize(code_values(layout)));
}

void measure_report(const kernels::GroupedInput& input, const OperandLayout& layout,
                    const kernels::QuantizedView& view, std::span<const std::int64_t> splits,
                    const UnpackedOperand& operand, const float* amax, QuantizationReport& report) {
  std::vector<kernels::GroupQuantizationSums> groups;
  PlainScales scales;
  measure_operand(input, layout, view, splits, operand, amax, report, &groups, &scales);
  std::vector<float> amax_of_scales;
  if (amax != nullptr && layout.fp32_scales()) {
    amax_of_scales = plain_amax(layout, splits, view.columns, amax);
  }
  const std::vector<RangeWaste> waste =
      range_waste(input, layout, splits, scales, amax_of_scales, report.recipe.amax_epsilon);
  for (std::size_t group = 0; group < splits.size(); ++group) {
    const kernels::GroupQuantizationSums& sums = groups[group];
    report.experts.push_back({.rows = splits[group],
                              .snr_db = splits[group] == 0
                                            ? std::numeric_limits<double>::quiet_NaN()
                                            : snr_db(sums.signal, sums.noise),
                              .saturated = sums.saturated,
                              .underflowed = sums.underflowed,
                              .waste = waste[group]});
  }
  report.waste = total_waste(waste);
}

QuantizationSample sample_operand(const kernels::GroupedInput& input,
                                  const UnpackedOperand& operand, std::int64_t row,
                                  std::int64_t column) {
  const std::int64_t rows = input.row_offsets[input.num_groups];
  QuantizationSample sample;
  sample.rows = static_cast<int>(std::min<std::int64_t>(kMaxSampleSide, rows));
  sample.columns = static_cast<int>(std::min<std::int64_t>(kMaxSampleSide, input.columns));
  sample.row = std::min(row, rows - sample.rows);
  sample.column = std::min(column, input.columns - sample.columns);
  for (std::int64_t r = sample.row; r < sample.row + sample.rows; ++r) {
    for (std::int64_t c = sample.column; c < sample.column + sample.columns; ++c) {
      const std::int64_t i = r * input.columns + c;
      sample.original.push_back(element_value(input, i));
      sample.codes.push_back(operand.codes.get()[i]);
      sample.scale_inv.push_back(operand.factors.get()[i]);
      sample.decoded.push_back(operand.decoded.get()[i]);
    }
  }
  return sample;
}

}  // namespace engine
