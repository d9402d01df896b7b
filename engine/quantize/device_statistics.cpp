#include "engine/quantize/quantize_cuda.h"

#include <utility>

#include "engine/model/recipe_traits.h"
#include "engine/quantize/statistics_fold.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

using kernels::Direction;

CudaQuantizer::Setup quantizer_setup(const Recipe& recipe, OperandRole role,
                                     const kernels::GroupedInput& input) {
  return {.recipe = recipe, .role = role, .input = input, .keep_block_amax = true};
}

template <class T>
Result<std::vector<T>> fetch(const void* source, std::int64_t count, cudaStream_t stream) {
  std::vector<T> values(static_cast<std::size_t>(count));
  ENGINE_TRY(copy_to_host(std::span<T>(values), source, stream));
  return values;
}

/// What a statistics kernel adds to: the histograms, the sums of every group, what each scale lost.
template <class Losses>
class Counts {
 public:
  static std::int64_t bytes(int groups, std::int64_t scales) {
    return 2 * std::int64_t{sizeof(kernels::MagnitudeCounts)} +
           std::int64_t{sizeof(kernels::GroupQuantizationSums)} * groups +
           std::int64_t{sizeof(Losses)} * scales;
  }
  static Result<Counts> make(int groups, std::int64_t scales, cudaStream_t stream) {
    ENGINE_ASSIGN(DeviceBuffer buffer,
                  DeviceBuffer::allocate(bytes(groups, scales),
                                         {AllocationRole::Check, "statistics of an operand"}));
    ENGINE_CUDA_TRY(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream),
                    "Clearing statistics");
    return Counts(std::move(buffer), groups);
  }

  kernels::MagnitudeCounts* before() const { return memory_.as<kernels::MagnitudeCounts>(); }
  kernels::MagnitudeCounts* after() const { return before() + 1; }
  kernels::GroupQuantizationSums* sums() const {
    return reinterpret_cast<kernels::GroupQuantizationSums*>(before() + 2);
  }
  Losses* losses() const { return reinterpret_cast<Losses*>(sums() + groups_); }

 private:
  Counts(DeviceBuffer memory, int groups) : memory_(std::move(memory)), groups_(groups) {}

  DeviceBuffer memory_;
  int groups_ = 0;
};

using BlockCounts = Counts<kernels::BlockLosses>;
using MicroCounts = Counts<kernels::MicroLosses>;

class Measurement {
 public:
  Measurement(const kernels::GroupedInput& input, const std::vector<std::int64_t>& splits,
              cudaStream_t stream)
      : input_(input), splits_(splits), stream_(stream) {}

  /// `quantizer` null: the operand alone.
  Result<OperandNumbers> on_device(const CudaQuantizer* quantizer) const {
    const std::int64_t scales = quantizer == nullptr ? 0 : scale_count(scale_source(*quantizer));
    ENGINE_ASSIGN(const BlockCounts made, BlockCounts::make(input_.num_groups, scales, stream_));
    const BlockCounts& counts = made;
    kernels::QuantizationStatisticsArgs args{
        .input = input_, .before = counts.before(), .after = counts.after(), .sums = counts.sums()};
    if (quantizer != nullptr) {
      args.quantized = quantizer->view(Direction::Rowwise);
      args.losses = counts.losses();
    }
    ENGINE_CUDA_TRY(kernels::quantization_statistics(args, stream_),
                    "Launching the statistics kernel");
    ENGINE_ASSIGN(OperandNumbers numbers, sums_and_histograms(counts.before(), counts.sums()));
    OperandStatistics& statistics = numbers.statistics;
    if (quantizer != nullptr) ENGINE_TRY(add_scales(*quantizer, counts.losses(), statistics));
    return numbers;
  }

  /// MXFP8 and NVFP4: the scales, and two bytes of losses for each, are copied to the host.
  Result<OperandNumbers> of_micro_scales(const CudaQuantizer& quantizer) const {
    const OperandLayout& layout = quantizer.form(Direction::Rowwise)->layout;
    const std::int64_t scales = written_scale_bytes(layout, splits_, input_.columns);
    ENGINE_ASSIGN(const MicroCounts made, MicroCounts::make(input_.num_groups, scales, stream_));
    const MicroCounts& counts = made;
    ENGINE_CUDA_TRY(
        kernels::quantization_statistics({.input = input_,
                                          .quantized = quantizer.view(Direction::Rowwise),
                                          .before = counts.before(),
                                          .after = counts.after(),
                                          .sums = counts.sums(),
                                          .micro_losses = counts.losses()},
                                         stream_),
        "Launching the statistics kernel");
    ENGINE_ASSIGN(OperandNumbers numbers, sums_and_histograms(counts.before(), counts.sums()));
    const auto bytes =
        fetch<std::uint8_t>(quantizer.scales(Direction::Rowwise).data(), scales, stream_);
    if (!bytes.ok()) return bytes.error();
    const auto lost = fetch<kernels::MicroLosses>(counts.losses(), scales, stream_);
    if (!lost.ok()) return lost.error();
    std::vector<float> amax;  // per group
    if (layout.e2m1()) {
      auto fetched =
          fetch<float>(quantizer.amax(Direction::Rowwise).data(), input_.num_groups, stream_);
      if (!fetched.ok()) return fetched.error();
      amax = std::move(fetched).value();
    }
    MicroScaleFold fold = fold_micro_scales(layout, splits_, input_.columns, bytes.value(),
                                            lost.value(), amax.data());
    numbers.statistics.scale_map = std::move(fold.map);
    numbers.statistics.scale = std::move(fold.scale);
    if (!amax.empty()) numbers.statistics.amax = amax_of_groups_with_rows(amax);
    return numbers;
  }

 private:
  /// Common to all recipes: the statistics without scales, and the sums of every group.
  Result<OperandNumbers> sums_and_histograms(const kernels::MagnitudeCounts* before,
                                             const kernels::GroupQuantizationSums* sums) const {
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
    return numbers;
  }

  MagnitudeHistogram amax_of_groups_with_rows(const std::vector<float>& amax) const {
    std::vector<float> values;
    for (std::size_t group = 0; group < amax.size(); ++group) {
      if (splits_[group] > 0) values.push_back(amax[group]);
    }
    kernels::MagnitudeCounts counts{};
    kernels::magnitude_counts_cpu(values.data(), std::ssize(values), counts);
    return to_histogram(counts);
  }

  std::int64_t rows() const {
    std::int64_t rows = 0;
    for (const std::int64_t split : splits_) rows += split;
    return rows;
  }

  ScaleMapSource scale_source(const CudaQuantizer& quantizer) const {
    return {.layout = quantizer.form(Direction::Rowwise)->layout,
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
  const RecipeTraits& traits = traits_of(recipe);
  if (!traits.quantizes()) return measurement.on_device(nullptr);
  ENGINE_ASSIGN(const CudaQuantizer quantizer,
                CudaQuantizer::create(quantizer_setup(recipe, role, input), stream));
  StepObserver unobserved;
  for (int step = 0; step < traits.steps_to_settle(); ++step) {
    ENGINE_TRY(quantizer.quantize(stream, unobserved));
  }
  return traits.micro() ? measurement.of_micro_scales(quantizer)
                        : measurement.on_device(&quantizer);
}

std::int64_t measure_bytes(const Recipe& recipe, OperandRole role,
                           const kernels::GroupedInput& input) {
  const RecipeTraits& traits = traits_of(recipe);
  if (!traits.quantizes()) return BlockCounts::bytes(input.num_groups, 0);
  const CudaQuantizer::Setup setup = quantizer_setup(recipe, role, input);
  const OperandLayout layout = operand_layout(recipe, role, Direction::Rowwise,
                                              {.capacity_rows = input.capacity_rows,
                                               .num_groups = input.num_groups,
                                               .columns = input.columns});
  const std::int64_t counts =
      traits.micro() ? MicroCounts::bytes(input.num_groups, layout.scale_capacity)
                     : BlockCounts::bytes(input.num_groups,
                                          layout.scale_capacity / std::int64_t{sizeof(float)});
  return counts + CudaQuantizer::bytes(setup);
}

}  // namespace engine
