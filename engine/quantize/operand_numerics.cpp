#include "engine/quantize/operand_numerics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/model/projections.h"
#include "engine/quantize/block_error.h"
#include "engine/quantize/range_waste.h"
#include "kernels/dequantize/decode_patch.h"
#include "kernels/diagnostics/code_error.h"
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

CodeGrid code_grid(const kernels::QuantizedView& view) {
  const kernels::CodeGridBits bits = kernels::code_grid_bits(view);
  return {.largest = bits.largest,
          .smallest_normal = kernels::bits_to_float(bits.smallest_normal),
          .mantissa_bits = static_cast<int>(bits.mantissa_bits)};
}

/// Where the losses of one group's scales are counted. Strips share blocks, so counts are atomic;
/// they are rare.
struct GroupLosses {
  kernels::BlockLosses* first = nullptr;  // laid out as the scales
  std::int64_t first_row = 0;             // of the group, in the operand
  ScaleGrid grid;
  std::int64_t columns = 0;  // of the operand

  kernels::BlockLosses& at(std::int64_t element) const {
    const std::int64_t row = (element / columns - first_row) / grid.block_rows;
    const std::int64_t column = element % columns / grid.block_columns;
    return first[row * grid.row_stride + column * grid.column_stride];
  }
};

struct GroupErrors {
  double signal = 0;
  double noise = 0;
  double relative = std::numeric_limits<double>::quiet_NaN();  // of no element yet
  double steps = 0;
  std::uint64_t saturated = 0;
  std::uint64_t underflowed = 0;
  std::uint64_t elements = 0;
  std::uint64_t lost = 0;
  std::uint64_t undefined = 0;
  std::array<std::uint64_t, 256> counts{};

  void add(const GroupErrors& more) {
    signal += more.signal;
    noise += more.noise;
    relative = std::fmax(relative, more.relative);
    steps = std::max(steps, more.steps);
    saturated += more.saturated;
    underflowed += more.underflowed;
    elements += more.elements;
    lost += more.lost;
    undefined += more.undefined;
    for (std::size_t code = 0; code < counts.size(); ++code) counts[code] += more.counts[code];
  }
};

template <class Count>
void count_one(Count& counter) {
  std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed);
}

class Measure {
 public:
  Measure(const kernels::GroupedInput& input, const OperandLayout& layout,
          const kernels::QuantizedView& view, const UnpackedOperand& operand,
          OperandCounts& channels)
      : input_(input),
        layout_(layout),
        operand_(operand),
        channels_(channels),
        values_(kernels::code_values(view)),
        grid_(code_grid(view)) {}

  /// Errors of one group; its losses go to `losses`.
  GroupErrors all_rows(std::int64_t first_row, std::int64_t rows, const GroupLosses& losses) const {
    GroupErrors all;
    // A fixed number of strips, merged in order: sums do not depend on the number of threads.
    constexpr std::int64_t kStrips = 64;
    std::array<GroupErrors, kStrips> strips;
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t strip = 0; strip < kStrips; ++strip) {
      GroupErrors& errors = strips[static_cast<std::size_t>(strip)];
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
    for (const GroupErrors& strip : strips) all.add(strip);
    return all;
  }

 private:
  std::int64_t columns() const { return input_.columns; }

  void element(std::int64_t i, const GroupLosses& losses, GroupErrors& errors) const {
    const double x = element_value(input_, i);
    const double decoded = operand_.decoded.get()[i];
    const double factor = operand_.factors.get()[i];
    ++errors.counts[operand_.codes.get()[i]];
    if (!layout_.hadamard) grid_position(x, i, losses, errors);
    errors.undefined += std::isfinite(x) ? 0 : 1;
    errors.lost += std::isfinite(x) && !std::isfinite(decoded) ? 1 : 0;
    if (!std::isfinite(x) || !std::isfinite(decoded)) return;
    ++errors.elements;
    const double error = std::abs(x - decoded);
    errors.signal += x * x;
    errors.noise += error * error;
    if (x != 0.0 && decoded == 0.0) {
      ++errors.underflowed;
      count_one(losses.at(i).underflowed);
    }
    if (factor > 0.0 && std::abs(x) >= grid_.smallest_normal * factor) {
      errors.relative = std::fmax(errors.relative, error / std::abs(x));
    }
  }

  /// Position of the encoded element on the grid of its code.
  void grid_position(double encoded, std::int64_t i, const GroupLosses& losses,
                     GroupErrors& errors) const {
    const double factor = operand_.factors.get()[i];
    const double value = values_[operand_.codes.get()[i]];
    if (std::isnan(encoded) || !(factor > 0.0)) return;
    const double scaled = std::abs(encoded) / factor;
    if (scaled > grid_.largest * (1.0 + 0x1p-22)) {
      ++errors.saturated;
      count_one(losses.at(i).saturated);
      count_one(channels_.columns[static_cast<std::size_t>(i % columns())].saturated);
      count_one(channels_.rows[static_cast<std::size_t>(i / columns())].saturated);
    }
    if (!std::isfinite(encoded) || !std::isfinite(value)) return;
    const double distance = std::abs(encoded / factor - value);
    errors.steps = std::max(errors.steps, distance / grid_.step(std::abs(value)));
  }

  void transformed(std::int64_t first, std::int64_t end, const GroupLosses& losses,
                   GroupErrors& errors) const {
    for (std::int64_t top = first; top < end; top += 16) {
      for (std::int64_t column = 0; column < columns(); ++column) {
        float block[16] = {};
        const std::int64_t rows = std::min<std::int64_t>(16, end - top);
        for (std::int64_t j = 0; j < rows; ++j) {
          block[j] = element_value(input_, (top + j) * columns() + column);
        }
        kernels::hadamard_16(block);
        for (std::int64_t j = 0; j < rows; ++j) {
          const float y = bf16_value(bf16_bits(block[j]));
          grid_position(y, (top + j) * columns() + column, losses, errors);
        }
      }
    }
  }

  const kernels::GroupedInput& input_;
  const OperandLayout& layout_;
  const UnpackedOperand& operand_;
  OperandCounts& channels_;  // its rows and columns
  std::span<const float> values_;
  CodeGrid grid_;
};

}  // namespace

ComparedOperand compared_operand(const ComparisonRequest& request,
                                 std::span<const std::int64_t> splits) {
  const ShapeSpec& shape = request.request.shape;
  ComparedOperand operand;
  operand.role = request.gradients ? OperandRole::Gradients
                 : request.weights ? OperandRole::Weights
                                   : OperandRole::Activations;
  operand.columns = request.gradients ? output_columns(request.request) : shape.k;
  operand.splits.assign(splits.begin(), splits.end());
  for (const std::int64_t tokens : splits) {
    operand.rows.push_back(request.weights ? shape.n : tokens);
    operand.row_offsets.push_back(operand.all_rows() + operand.rows.back());
  }
  return operand;
}

ComparedOperand with_rows(const ComparedOperand& operand, std::int64_t first, std::int64_t count) {
  ComparedOperand part{.role = operand.role, .columns = operand.columns, .splits = operand.splits};
  for (std::size_t group = 0; group < operand.rows.size(); ++group) {
    const std::int64_t begin = operand.row_offsets[group];
    const std::int64_t end = operand.row_offsets[group + 1];
    const bool wanted = begin < first + count && end > first;
    if (wanted && part.all_rows() == 0) part.first_row = operand.first_row + begin;
    part.rows.push_back(wanted ? end - begin : 0);
    part.row_offsets.push_back(part.all_rows() + part.rows.back());
  }
  return part;
}

ElementErrors measure_elements(const kernels::GroupedInput& input, const OperandLayout& layout,
                               const kernels::QuantizedView& view,
                               std::span<const std::int64_t> splits,
                               const UnpackedOperand& operand) {
  ElementErrors errors;
  OperandCounts& counts = errors.counts;
  kernels::MagnitudeCounts unused{};
  counts.sums.resize(splits.size());
  kernels::quantization_statistics_cpu(
      {.input = input, .before = &counts.before, .after = &unused, .sums = counts.sums.data()});
  kernels::magnitude_counts_cpu(operand.decoded.get(),
                                input.row_offsets[input.num_groups] * input.columns, counts.after);
  counts.losses.resize(static_cast<std::size_t>(scale_count(layout, splits, view.columns)));
  counts.columns.resize(static_cast<std::size_t>(view.columns));
  counts.rows.resize(static_cast<std::size_t>(input.row_offsets[input.num_groups]));
  const Measure measure(input, layout, view, operand, counts);
  std::int64_t first_scale = 0;
  for (std::size_t group = 0; group < splits.size(); ++group) {
    const ScaleGrid grid = scale_grid(layout, splits[group], view.columns);
    const GroupErrors of_group = measure.all_rows(view.row_offsets[group], splits[group],
                                                  {.first = counts.losses.data() + first_scale,
                                                   .first_row = view.row_offsets[group],
                                                   .grid = grid,
                                                   .columns = view.columns});
    first_scale += grid.span;
    counts.sums[group] = {.signal = of_group.signal,
                          .noise = of_group.noise,
                          .saturated = of_group.saturated,
                          .underflowed = of_group.underflowed,
                          .elements = of_group.elements,
                          .lost = of_group.lost,
                          .undefined = of_group.undefined,
                          .max_ulp = static_cast<float>(of_group.steps)};
    errors.relative = std::fmax(errors.relative, of_group.relative);
    errors.steps = std::max(errors.steps, of_group.steps);
    for (std::size_t code = 0; code < of_group.counts.size(); ++code) {
      errors.code_counts[code] += of_group.counts[code];
    }
  }
  return errors;
}

void measure_report(const kernels::GroupedInput& input, const OperandLayout& layout,
                    const kernels::QuantizedView& view, std::span<const std::int64_t> splits,
                    const UnpackedOperand& operand, const float* amax, QuantizationReport& report) {
  const ScaleArrays arrays{.layout = layout,
                           .splits = splits,
                           .columns = view.columns,
                           .scales = view.scales,
                           .amax = amax};
  ElementErrors errors = measure_elements(input, layout, view, splits, operand);
  BlockErrors blocks;
  blocks.add({.input = input,
              .decoded = operand.decoded.get(),
              .columns = errors.counts.columns.data(),
              .rows = errors.counts.rows.data()});
  report.statistics = fold_statistics(errors.counts, arrays);
  report.max_relative_error = errors.relative;
  report.statistics.median_block_snr_db = blocks.median_db();
  // Correct rounding gives up to half a step, plus the rounding of the scale: this counts as 0
  // steps.
  report.max_ulp =
      static_cast<std::int64_t>(std::min(std::ceil(errors.steps - 0.5 - 0x1p-16), 0x1p62));
  report.max_ulp = std::max<std::int64_t>(report.max_ulp, 0);
  report.code_counts.assign(errors.code_counts.begin(),
                            errors.code_counts.begin() + std::ssize(kernels::code_values(view)));
  const std::vector<RangeWaste> waste = range_waste(input, arrays, report.recipe.amax_epsilon);
  for (std::size_t group = 0; group < splits.size(); ++group) {
    const kernels::GroupQuantizationSums& sums = errors.counts.sums[group];
    report.experts.push_back(
        {.rows = splits[group],
         .snr_db = splits[group] == 0 ? std::numeric_limits<double>::quiet_NaN() : snr_db(sums),
         .saturated = sums.saturated,
         .underflowed = sums.underflowed,
         .lost = sums.lost,
         .undefined = sums.undefined,
         .waste = waste[group]});
  }
  report.waste = total_waste(waste);
}

ElementPlace largest_element(const kernels::GroupedInput& input, ElementPlace first,
                             std::int64_t rows, std::int64_t columns) {
  const std::int64_t last_row = std::min(first.row + rows, input.row_offsets[input.num_groups]);
  const std::int64_t last_column = std::min(first.column + columns, input.columns);
  ElementPlace largest = first;
  float amax = -1.0F;
  for (std::int64_t r = first.row; r < last_row; ++r) {
    for (std::int64_t c = first.column; c < last_column; ++c) {
      const float magnitude = std::abs(element_value(input, r * input.columns + c));
      if (magnitude <= amax || !std::isfinite(magnitude)) continue;
      amax = magnitude;
      largest = {r, c};
    }
  }
  return largest;
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
