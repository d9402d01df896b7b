#include "engine/quantize/device_statistics.h"

#include <utility>

#include "engine/quantize/operand_numerics.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

using kernels::Direction;

CudaQuantizer::Setup quantizer_setup(const Recipe& recipe, OperandRole role,
                                     const kernels::GroupedInput& input) {
  return {.recipe = recipe, .role = role, .input = input, .keep_block_amax = true};
}

bool micro(const Recipe& recipe) {
  return recipe.scaling == Scaling::Mxfp8 || recipe.scaling == Scaling::Nvfp4;
}

template <class T>
Result<std::vector<T>> fetch(const void* source, std::int64_t count, cudaStream_t stream) {
  std::vector<T> values(static_cast<std::size_t>(count));
  ENGINE_TRY(copy_to_host(std::span<T>(values), source, stream));
  return values;
}

class Measurement {
 public:
  Measurement(const kernels::GroupedInput& input, const std::vector<std::int64_t>& splits,
              cudaStream_t stream)
      : input_(input), splits_(splits), stream_(stream) {}

  /// `quantizer` null: the operand alone.
  Result<OperandNumbers> on_device(const CudaQuantizer* quantizer) const {
    const std::int64_t sums_bytes =
        std::int64_t{sizeof(kernels::GroupQuantizationSums)} * input_.num_groups;
    const std::int64_t scales = quantizer == nullptr ? 0 : scale_count(scale_source(*quantizer));
    Result<DeviceBuffer> buffer =
        DeviceBuffer::allocate(2 * std::int64_t{sizeof(kernels::MagnitudeCounts)} + sums_bytes +
                               std::int64_t{sizeof(kernels::BlockLosses)} * scales);
    if (!buffer.ok()) return buffer.error();
    const DeviceBuffer counts = std::move(buffer).value();
    auto* const before = counts.as<kernels::MagnitudeCounts>();
    auto* const sums = reinterpret_cast<kernels::GroupQuantizationSums*>(before + 2);
    auto* const losses = reinterpret_cast<kernels::BlockLosses*>(sums + input_.num_groups);
    ENGINE_CUDA_TRY(cudaMemsetAsync(counts.data(), 0, counts.bytes(), stream_),
                    "Clearing statistics");
    kernels::QuantizationStatisticsArgs args{
        .input = input_, .before = before, .after = before + 1, .sums = sums};
    if (quantizer != nullptr) {
      const QuantizedForm& form = *quantizer->form(Direction::Rowwise);
      args.codes = form.codes.as<std::uint8_t>();
      args.format = form.layout.format;
      args.layout = form.layout.scales;
      args.scale_inv = quantizer->scales(Direction::Rowwise).as<float>();
      args.losses = losses;
    }
    ENGINE_CUDA_TRY(kernels::quantization_statistics(args, stream_),
                    "Launching the statistics kernel");
    const auto histograms = fetch<kernels::MagnitudeCounts>(before, 2, stream_);
    if (!histograms.ok()) return histograms.error();
    auto group_sums = fetch<kernels::GroupQuantizationSums>(sums, input_.num_groups, stream_);
    if (!group_sums.ok()) return group_sums.error();

    OperandNumbers numbers;
    numbers.sums = std::move(group_sums).value();
    OperandStatistics& statistics = numbers.statistics;
    statistics.before = to_histogram(histograms.value()[0]);
    statistics.after = to_histogram(histograms.value()[1]);
    statistics.elements = static_cast<std::uint64_t>(rows() * input_.columns);
    const QuantizationTotals totals = total_quantization(numbers.sums);
    statistics.saturated = totals.saturated;
    statistics.underflowed = totals.underflowed;
    statistics.snr_db = totals.snr_db;
    if (quantizer != nullptr) ENGINE_TRY(add_scales(*quantizer, losses, statistics));
    return numbers;
  }

  Result<OperandNumbers> on_host(const CudaQuantizer& quantizer) const {
    const auto values = fetch<std::uint16_t>(input_.input, rows() * input_.columns, stream_);
    if (!values.ok()) return values.error();
    const Result<CudaQuantizer::HostArrays> arrays =
        quantizer.download(Direction::Rowwise, stream_);
    if (!arrays.ok()) return arrays.error();
    std::vector<std::int64_t> offsets = {0};
    for (const std::int64_t split : splits_) offsets.push_back(offsets.back() + split);
    kernels::GroupedInput input = input_;
    input.input = values.value().data();
    input.row_offsets = offsets.data();
    const OperandLayout& layout = quantizer.form(Direction::Rowwise)->layout;
    const kernels::QuantizedView view = quantized_view(layout,
                                                       {.capacity_rows = input.capacity_rows,
                                                        .num_groups = input.num_groups,
                                                        .columns = input.columns},
                                                       {.codes = arrays.value().codes.data(),
                                                        .scales = arrays.value().scales.data(),
                                                        .amax = arrays.value().amax.data(),
                                                        .row_offsets = offsets.data()});
    UnpackedOperand unpacked;
    unpack_operand(layout, view, splits_, unpacked);
    QuantizationReport report;
    OperandNumbers numbers;
    const float* amax = arrays.value().amax.empty() ? nullptr : arrays.value().amax.data();
    measure_operand(input, layout, view, splits_, unpacked, amax, report, &numbers.sums);
    numbers.statistics = std::move(report.statistics);
    return numbers;
  }

 private:
  std::int64_t rows() const {
    std::int64_t rows = 0;
    for (const std::int64_t split : splits_) rows += split;
    return rows;
  }

  ScaleMapSource scale_source(const CudaQuantizer& quantizer) const {
    return {.layout = quantizer.form(Direction::Rowwise)->layout.scales,
            .splits = splits_,
            .columns = input_.columns};
  }

  Status add_scales(const CudaQuantizer& quantizer, const kernels::BlockLosses* device_losses,
                    OperandStatistics& statistics) const {
    ScaleMapSource source = scale_source(quantizer);
    const std::int64_t count = scale_count(source);
    const auto scales = fetch<float>(quantizer.scales(Direction::Rowwise).data(), count, stream_);
    if (!scales.ok()) return scales.error();
    const auto amax = fetch<float>(quantizer.amax(Direction::Rowwise).data(), count, stream_);
    if (!amax.ok()) return amax.error();
    const auto losses = fetch<kernels::BlockLosses>(device_losses, count, stream_);
    if (!losses.ok()) return losses.error();
    source.scale_inv = scales.value().data();
    source.losses = losses.value().data();
    statistics.scale = scale_histogram(source);
    statistics.amax = amax_histogram(source, amax.value().data());
    statistics.scale_map = fold_scale_map(source);
    return {};
  }

  kernels::GroupedInput input_;
  const std::vector<std::int64_t>& splits_;
  cudaStream_t stream_;
};

}  // namespace

Result<OperandNumbers> measure_on_device(const Recipe& recipe, OperandRole role,
                                         const kernels::GroupedInput& input,
                                         const std::vector<std::int64_t>& splits,
                                         cudaStream_t stream) {
  const Measurement measurement(input, splits, stream);
  if (recipe.scaling == Scaling::None) return measurement.on_device(nullptr);
  const Result<CudaQuantizer> quantizer =
      CudaQuantizer::create(quantizer_setup(recipe, role, input), stream);
  if (!quantizer.ok()) return quantizer.error();
  StepObserver unobserved;
  const int steps = recipe.scaling == Scaling::PerTensorDelayed ? 2 : 1;
  for (int step = 0; step < steps; ++step) {
    ENGINE_TRY(quantizer.value().quantize(stream, unobserved));
  }
  return micro(recipe) ? measurement.on_host(quantizer.value())
                       : measurement.on_device(&quantizer.value());
}

std::int64_t measure_bytes(const Recipe& recipe, OperandRole role,
                           const kernels::GroupedInput& input) {
  constexpr std::int64_t kCountsBytes = std::int64_t{1} << 20;  // histograms and sums
  if (recipe.scaling == Scaling::None) return kCountsBytes;
  return kCountsBytes + CudaQuantizer::bytes(quantizer_setup(recipe, role, input));
}

}  // namespace engine
