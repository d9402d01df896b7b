#include "engine/quantize/quantize_cuda.h"

#include <utility>

#include "engine/model/recipe_traits.h"
#include "engine/quantize/block_error.h"
#include "engine/quantize/statistics_fold.h"
#include "kernels/dequantize/dequantize.h"
#include "kernels/diagnostics/channel_statistics.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {
namespace {

using kernels::Direction;

CudaQuantizer::Setup quantizer_setup(const Recipe& recipe, OperandRole role,
                                     const kernels::GroupedInput& input) {
  return {.recipe = recipe, .role = role, .input = input, .keep_block_amax = true};
}

template <class T>
Status fetch(const void* source, std::vector<T>& values, cudaStream_t stream) {
  return copy_to_host(std::span<T>(values), source, stream);
}

/// What the statistics kernel adds to: the histograms, the sums of every group, what each scale
/// lost.
class DeviceCounts {
 public:
  static std::int64_t bytes(int groups, std::int64_t loss_bytes) {
    return 2 * std::int64_t{sizeof(kernels::MagnitudeCounts)} +
           std::int64_t{sizeof(kernels::GroupQuantizationSums)} * groups + loss_bytes;
  }
  static Result<DeviceCounts> make(int groups, std::int64_t loss_bytes, cudaStream_t stream) {
    ENGINE_ASSIGN(DeviceBuffer buffer,
                  DeviceBuffer::allocate(bytes(groups, loss_bytes),
                                         {AllocationRole::Check, "statistics of an operand"}));
    ENGINE_CUDA_TRY(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream),
                    "Clearing statistics");
    return DeviceCounts(std::move(buffer), groups);
  }

  kernels::MagnitudeCounts* before() const { return memory_.as<kernels::MagnitudeCounts>(); }
  kernels::MagnitudeCounts* after() const { return before() + 1; }
  kernels::GroupQuantizationSums* sums() const {
    return reinterpret_cast<kernels::GroupQuantizationSums*>(before() + 2);
  }
  void* losses() const { return sums() + groups_; }

  /// `counts` have their sizes: at most one of the two kinds of losses has any.
  Status to_host(OperandCounts& counts, cudaStream_t stream) const {
    std::vector<kernels::MagnitudeCounts> histograms(2);
    ENGINE_TRY(fetch(before(), histograms, stream));
    counts.before = histograms[0];
    counts.after = histograms[1];
    ENGINE_TRY(fetch(sums(), counts.sums, stream));
    ENGINE_TRY(fetch(losses(), counts.losses, stream));
    return fetch(losses(), counts.micro_losses, stream);
  }

 private:
  DeviceCounts(DeviceBuffer memory, int groups) : memory_(std::move(memory)), groups_(groups) {}

  DeviceBuffer memory_;
  int groups_ = 0;
};

std::int64_t decoded_bytes(const kernels::GroupedInput& input) {
  return input.capacity_rows * input.columns * std::int64_t{sizeof(float)};
}
constexpr std::int64_t kBlockErrorBytes =
    std::int64_t{kernels::kBlockErrorBins} * std::int64_t{sizeof(std::uint64_t)};

/// What the kernels count of rows, columns and blocks of neighbours.
class DeviceChannels {
 public:
  static std::int64_t channel_bytes(const kernels::GroupedInput& input) {
    return std::int64_t{sizeof(kernels::ChannelSums)} * (input.columns + input.capacity_rows);
  }
  static std::int64_t scratch_bytes(const kernels::GroupedInput& input) {
    return kernels::channel_scratch_bytes(input.capacity_rows, input.num_groups, input.columns);
  }
  static std::int64_t bytes(const kernels::GroupedInput& input) {
    return kBlockErrorBytes + channel_bytes(input) + scratch_bytes(input);
  }
  static Result<DeviceChannels> make(const kernels::GroupedInput& input, cudaStream_t stream) {
    DeviceChannels made;
    made.input_ = input;
    ENGINE_ASSIGN(made.counts_, DeviceBuffer::allocate(
                                    kBlockErrorBytes + channel_bytes(input),
                                    {AllocationRole::Check, "rows and columns of an operand"}));
    ENGINE_CUDA_TRY(cudaMemsetAsync(made.counts_.data(), 0, made.counts_.bytes(), stream),
                    "Clearing counts");
    return made;
  }

  kernels::ChannelSums* columns() const {
    return reinterpret_cast<kernels::ChannelSums*>(blocks() + kernels::kBlockErrorBins);
  }
  kernels::ChannelSums* rows() const { return columns() + input_.columns; }

  /// `quantizer` null: nothing is quantized. Returns the blocks' errors.
  Result<BlockErrors> measure(const CudaQuantizer* quantizer, cudaStream_t stream) const {
    DeviceBuffer decoded;
    if (quantizer != nullptr) {
      ENGINE_ASSIGN(decoded, DeviceBuffer::allocate(decoded_bytes(input_),
                                                    {AllocationRole::Check, "decoded operand"}));
      ENGINE_CUDA_TRY(
          kernels::dequantize(
              {.quantized = quantizer->view(Direction::Rowwise), .output = decoded.data()}, stream),
          "Launching the dequantize kernel");
    }
    ENGINE_ASSIGN(const DeviceBuffer scratch,
                  DeviceBuffer::allocate(scratch_bytes(input_),
                                         {AllocationRole::Check, "sums of tiles of an operand"}));
    ENGINE_CUDA_TRY(kernels::channel_statistics({.input = input_,
                                                 .decoded = decoded.as<float>(),
                                                 .block_counts = blocks(),
                                                 .columns = columns(),
                                                 .rows = rows(),
                                                 .scratch = scratch.data()},
                                                stream),
                    "Launching the kernel for rows and columns");
    std::vector<std::uint64_t> bins(kernels::kBlockErrorBins);
    ENGINE_TRY(fetch(blocks(), bins, stream));
    BlockErrors errors;
    errors.add(bins);
    return errors;
  }

 private:
  std::uint64_t* blocks() const { return counts_.as<std::uint64_t>(); }

  kernels::GroupedInput input_ = {};
  DeviceBuffer counts_;
};

/// `quantizer` null: the operand alone.
Result<OperandNumbers> measure(const kernels::GroupedInput& input,
                               const std::vector<std::int64_t>& splits,
                               const CudaQuantizer* quantizer, cudaStream_t stream) {
  ScaleArrays arrays{.splits = splits, .columns = input.columns};
  std::vector<std::byte> scales;
  std::vector<float> amax;
  if (quantizer != nullptr) {
    arrays.layout = quantizer->form(Direction::Rowwise)->layout;
    const bool wide = arrays.layout.fp32_scales();
    const std::int64_t count = scale_count(arrays.layout, splits, input.columns);
    scales.resize(static_cast<std::size_t>(count) * (wide ? sizeof(float) : 1));
    ENGINE_TRY(fetch(quantizer->scales(Direction::Rowwise).data(), scales, stream));
    if (wide || arrays.layout.e2m1()) {
      amax.resize(wide ? static_cast<std::size_t>(count) : splits.size());
      ENGINE_TRY(fetch(quantizer->amax(Direction::Rowwise).data(), amax, stream));
    }
    arrays.scales = scales.data();
    arrays.amax = amax.data();
  }
  OperandCounts counts = zero_counts(arrays);
  const std::span losses = counts.losses;
  const std::span micro_losses = counts.micro_losses;
  ENGINE_ASSIGN(
      const DeviceCounts on_device,
      DeviceCounts::make(input.num_groups,
                         static_cast<std::int64_t>(losses.size_bytes() + micro_losses.size_bytes()),
                         stream));
  ENGINE_ASSIGN(const DeviceChannels channels, DeviceChannels::make(input, stream));
  kernels::QuantizationStatisticsArgs args{.input = input,
                                           .before = on_device.before(),
                                           .after = on_device.after(),
                                           .sums = on_device.sums(),
                                           .columns = channels.columns(),
                                           .rows = channels.rows()};
  if (quantizer != nullptr) args.quantized = quantizer->view(Direction::Rowwise);
  if (!losses.empty()) {
    args.losses = static_cast<kernels::BlockLosses*>(on_device.losses());
  }
  if (!micro_losses.empty()) {
    args.micro_losses = static_cast<kernels::MicroLosses*>(on_device.losses());
  }
  ENGINE_CUDA_TRY(kernels::quantization_statistics(args, stream),
                  "Launching the statistics kernel");
  ENGINE_TRY(on_device.to_host(counts, stream));
  ENGINE_ASSIGN(const BlockErrors blocks, channels.measure(quantizer, stream));
  ENGINE_TRY(fetch(channels.columns(), counts.columns, stream));
  ENGINE_TRY(fetch(channels.rows(), counts.rows, stream));
  OperandStatistics statistics = fold_statistics(counts, arrays);
  statistics.median_block_snr_db = blocks.median_db();
  statistics.experts = operand_experts(counts, splits, quantizer != nullptr);
  return OperandNumbers{std::move(statistics), std::move(counts.sums)};
}

}  // namespace

Result<OperandNumbers> measure_on_device(const Recipe& recipe, OperandRole role,
                                         const kernels::GroupedInput& input,
                                         const std::vector<std::int64_t>& splits,
                                         cudaStream_t stream) {
  const RecipeTraits& traits = traits_of(recipe);
  if (!traits.quantizes()) return measure(input, splits, nullptr, stream);
  ENGINE_ASSIGN(const CudaQuantizer quantizer,
                CudaQuantizer::create(quantizer_setup(recipe, role, input), stream));
  StepObserver unobserved;
  for (int step = 0; step < traits.warm_up_steps(); ++step) {
    ENGINE_TRY(quantizer.quantize(stream, unobserved));
  }
  return measure(input, splits, &quantizer, stream);
}

std::int64_t measure_bytes(const Recipe& recipe, OperandRole role,
                           const kernels::GroupedInput& input) {
  if (!traits_of(recipe).quantizes()) {
    return DeviceCounts::bytes(input.num_groups, 0) + DeviceChannels::bytes(input);
  }
  const CudaQuantizer::Setup setup = quantizer_setup(recipe, role, input);
  const OperandLayout layout = operand_layout(recipe, role, Direction::Rowwise,
                                              {.capacity_rows = input.capacity_rows,
                                               .num_groups = input.num_groups,
                                               .columns = input.columns});
  const auto losses =
      static_cast<std::int64_t>(layout.fp32_scales() ? sizeof(kernels::BlockLosses) / sizeof(float)
                                                     : sizeof(kernels::MicroLosses));
  return DeviceCounts::bytes(input.num_groups, losses * layout.scale_capacity) +
         CudaQuantizer::bytes(setup) + decoded_bytes(input) + DeviceChannels::bytes(input);
}

}  // namespace engine
