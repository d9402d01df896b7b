// Statistics kernels, the reference product, and the way of their few numbers to the host.
#include "engine/linear/step_numerics.h"

#include <limits>
#include <utility>

#include "engine/backend/statistics_fold.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kCountsBytes = std::int64_t{1} << 20;  // histograms and sums of a group

kernels::ScaleLayout scale_layout(Scaling scaling, bool activations) {
  if (scaling != Scaling::Block) return kernels::ScaleLayout::PerTensor;
  return activations ? kernels::ScaleLayout::Block1x128 : kernels::ScaleLayout::Block128x128;
}

/// What the statistics of one operand are read from.
struct OperandView {
  kernels::GroupedInput input;
  const QuantizedOperand* quantized = nullptr;  // null = BF16
  Fp8Format format = Fp8Format::E4m3;
  kernels::ScaleLayout layout = kernels::ScaleLayout::PerTensor;
  std::vector<std::int64_t> splits;
  const float* amax = nullptr;  // device; laid out as the scales
};

struct OperandNumbers {
  OperandStatistics statistics;
  std::vector<kernels::GroupQuantizationSums> sums;  // a group
};

template <class T>
Result<std::vector<T>> fetch(const void* source, std::int64_t count, cudaStream_t stream) {
  std::vector<T> values(static_cast<std::size_t>(count));
  ENGINE_TRY(copy_to_host(std::span<T>(values), source, stream));
  return values;
}

Status add_scales(const OperandView& view, OperandStatistics& statistics, cudaStream_t stream) {
  ScaleMapSource source{
      .layout = view.layout, .splits = view.splits, .columns = view.input.columns};
  const std::int64_t count = scale_count(source);
  const auto scales = fetch<float>(view.quantized->scale_inv.data(), count, stream);
  if (!scales.ok()) return scales.error();
  const auto amax = fetch<float>(view.amax, count, stream);
  if (!amax.ok()) return amax.error();
  source.scale_inv = scales.value().data();
  statistics.scale = scale_histogram(source);
  statistics.amax = amax_histogram(source, amax.value().data());
  statistics.scale_map = fold_scale_map(source);
  return {};
}

Result<OperandNumbers> measure_operand(const OperandView& view, cudaStream_t stream) {
  const std::int64_t sums_bytes =
      std::int64_t{sizeof(kernels::GroupQuantizationSums)} * view.input.num_groups;
  Result<DeviceBuffer> buffer =
      DeviceBuffer::allocate(2 * std::int64_t{sizeof(kernels::MagnitudeCounts)} + sums_bytes);
  if (!buffer.ok()) return buffer.error();
  const DeviceBuffer counts = std::move(buffer).value();
  auto* const before = counts.as<kernels::MagnitudeCounts>();
  auto* const sums = reinterpret_cast<kernels::GroupQuantizationSums*>(before + 2);
  ENGINE_CUDA_TRY(cudaMemsetAsync(counts.data(), 0, counts.bytes(), stream), "Clearing statistics");
  kernels::QuantizationStatisticsArgs args{.input = view.input,
                                           .format = view.format,
                                           .layout = view.layout,
                                           .before = before,
                                           .after = before + 1,
                                           .sums = sums};
  if (view.quantized != nullptr) {
    args.codes = view.quantized->codes.as<std::uint8_t>();
    args.scale_inv = view.quantized->scale_inv.as<float>();
  }
  ENGINE_CUDA_TRY(kernels::quantization_statistics(args, stream),
                  "Launching the statistics kernel");

  const auto histograms = fetch<kernels::MagnitudeCounts>(before, 2, stream);
  if (!histograms.ok()) return histograms.error();
  auto group_sums = fetch<kernels::GroupQuantizationSums>(sums, view.input.num_groups, stream);
  if (!group_sums.ok()) return group_sums.error();

  OperandNumbers numbers;
  numbers.sums = std::move(group_sums).value();
  OperandStatistics& statistics = numbers.statistics;
  statistics.before = to_histogram(histograms.value()[0]);
  statistics.after = to_histogram(histograms.value()[1]);
  std::int64_t rows = 0;
  for (const std::int64_t split : view.splits) rows += split;
  statistics.elements = static_cast<std::uint64_t>(rows * view.input.columns);
  const QuantizationTotals totals = total_quantization(numbers.sums);
  statistics.saturated = totals.saturated;
  statistics.underflowed = totals.underflowed;
  statistics.snr_db = totals.snr_db;
  if (view.quantized != nullptr) ENGINE_TRY(add_scales(view, statistics, stream));
  return numbers;
}

/// Layer 0 of the unquantized operands into `reference`, FP32.
Status reference_product(const GroupedStep& step, float* reference, cudaStream_t stream) {
  const StepConfig& config = step.config();
  const StepArrays& buffers = step.buffers();
  const std::int64_t pointer_bytes = 8 * std::int64_t{config.num_groups};
  DeviceBuffer pointers[3];
  for (DeviceBuffer& array : pointers) {
    Result<DeviceBuffer> allocated = DeviceBuffer::allocate(pointer_bytes);
    if (!allocated.ok()) return allocated.error();
    array = std::move(allocated).value();
  }
  Result<DeviceBuffer> workspace = DeviceBuffer::allocate(kWorkspaceBytes);
  if (!workspace.ok()) return workspace.error();

  kernels::SplitsToOffsetsArgs offsets{.splits = buffers.splits.as<std::int64_t>(),
                                       .num_groups = config.num_groups,
                                       .capacity_rows = config.capacity_rows,
                                       .row_offsets = buffers.row_offsets.as<std::int64_t>(),
                                       .rows = buffers.rows.as<std::int32_t>(),
                                       .num_pointer_arrays = 3};
  const auto address = [](const void* base) {
    return static_cast<std::byte*>(const_cast<void*>(base));
  };
  offsets.pointer_arrays[0] = {.base = address(step.activations().input),
                               .bytes_per_unit = 2 * config.k,
                               .pointers = pointers[0].as<void*>()};
  offsets.pointer_arrays[1] = {.base = address(step.weights(0).input),
                               .bytes_per_group = 2 * config.n * config.k,
                               .pointers = pointers[1].as<void*>()};
  offsets.pointer_arrays[2] = {.base = reinterpret_cast<std::byte*>(reference),
                               .bytes_per_unit = 4 * config.n,
                               .pointers = pointers[2].as<void*>()};
  ENGINE_CUDA_TRY(kernels::splits_to_offsets(offsets, stream), "Launching the offsets kernel");

  GroupedMatmulConfig matmul = step.matmul_base();
  matmul.fp32_output = true;
  matmul.activations = pointers[0].as<void*>();
  matmul.weights = pointers[1].as<void*>();
  matmul.outputs = pointers[2].as<void*>();
  const Result<GroupedMatmul> product = GroupedMatmul::create(step.library(), matmul);
  if (!product.ok()) return product.error();
  ENGINE_TRY(product.value().launch(workspace.value().data(), stream));
  // The arrays above go when this returns.
  return check_cuda(cudaStreamSynchronize(stream), "Computing the reference product");
}

Result<std::vector<kernels::GroupProductError>> product_errors(const GroupedStep& step,
                                                               cudaStream_t stream) {
  const StepConfig& config = step.config();
  Result<DeviceBuffer> reference = DeviceBuffer::allocate(4 * config.capacity_rows * config.n);
  if (!reference.ok()) return reference.error();
  const std::int64_t error_bytes =
      std::int64_t{sizeof(kernels::GroupProductError)} * config.num_groups;
  Result<DeviceBuffer> errors = DeviceBuffer::allocate(error_bytes);
  if (!errors.ok()) return errors.error();
  ENGINE_TRY(reference_product(step, reference.value().as<float>(), stream));
  ENGINE_CUDA_TRY(cudaMemsetAsync(errors.value().data(), 0, errors.value().bytes(), stream),
                  "Clearing errors");
  ENGINE_CUDA_TRY(
      kernels::product_error({.product = step.buffers().layers.front().output.data(),
                              .reference = reference.value().as<float>(),
                              .row_offsets = step.buffers().row_offsets.as<std::int64_t>(),
                              .num_groups = config.num_groups,
                              .capacity_rows = config.capacity_rows,
                              .columns = config.n,
                              .errors = errors.value().as<kernels::GroupProductError>()},
                             stream),
      "Launching the error kernel");
  return fetch<kernels::GroupProductError>(errors.value().data(), config.num_groups, stream);
}

}  // namespace

std::int64_t numerics_bytes(const StepConfig& config) {
  const std::int64_t block_amax =
      config.block() ? 4 * (config.activation_scales() + config.weight_scales()) : 0;
  return kCountsBytes + kWorkspaceBytes + block_amax + 4 * config.capacity_rows * config.n;
}

Result<StepNumerics> measure_numerics(const GroupedStep& step,
                                      const std::vector<std::int64_t>& splits,
                                      cudaStream_t stream) {
  const StepConfig& config = step.config();
  const StepArrays& buffers = step.buffers();
  const Scaling scaling = config.recipe.scaling;
  OperandView x{.input = step.activations(),
                .format = config.recipe.activation_format,
                .layout = scale_layout(scaling, true),
                .splits = splits};
  OperandView w{.input = step.weights(0),
                .layout = scale_layout(scaling, false),
                .splits = std::vector<std::int64_t>(splits.size(), config.n)};
  DeviceBuffer block_amax[2];
  if (config.fp8()) {
    x.quantized = &buffers.activations;
    w.quantized = &buffers.layers.front().weights;
    x.amax = x.quantized->amax.as<float>();
    w.amax = w.quantized->amax.as<float>();
  }
  if (config.block()) {
    const std::int64_t counts[] = {config.activation_scales(), config.weight_scales()};
    for (int operand = 0; operand < 2; ++operand) {
      Result<DeviceBuffer> allocated = DeviceBuffer::allocate(4 * counts[operand]);
      if (!allocated.ok()) return allocated.error();
      block_amax[operand] = std::move(allocated).value();
      ENGINE_CUDA_TRY(
          cudaMemsetAsync(block_amax[operand].data(), 0, block_amax[operand].bytes(), stream),
          "Clearing amax");
    }
    x.amax = block_amax[0].as<float>();
    w.amax = block_amax[1].as<float>();
    ENGINE_TRY(
        step.quantize_with_amax(block_amax[0].as<float>(), block_amax[1].as<float>(), stream));
  }

  const Result<OperandNumbers> activations = measure_operand(x, stream);
  if (!activations.ok()) return activations.error();
  const Result<OperandNumbers> weights = measure_operand(w, stream);
  if (!weights.ok()) return weights.error();
  const auto errors = product_errors(step, stream);
  // Without a reference the statistics of the operands still stand.
  if (!errors.ok() && errors.error().code != ErrorCode::Unsupported) return errors.error();

  StepNumerics numerics;
  if (!errors.ok()) numerics.no_reference = errors.error().message;
  numerics.activations = activations.value().statistics;
  numerics.weights = weights.value().statistics;
  for (std::size_t group = 0; group < splits.size(); ++group) {
    const kernels::GroupQuantizationSums& sums = activations.value().sums[group];
    const ProductAccuracy accuracy =
        errors.ok() ? product_accuracy(errors.value()[group])
                    : ProductAccuracy{.snr_db = kNan, .max_abs_error = kNan, .reference_rms = kNan};
    numerics.experts.push_back({.rows = splits[group],
                                .snr_db = accuracy.snr_db,
                                .max_abs_error = accuracy.max_abs_error,
                                .reference_rms = accuracy.reference_rms,
                                .saturated = sums.saturated,
                                .underflowed = sums.underflowed,
                                .x_snr_db = snr_db(sums.signal, sums.noise)});
  }
  return numerics;
}

}  // namespace engine
