// Set-up and launches of the step.
#include "engine/linear/grouped_step.h"

#include <fmt/format.h>

#include <utility>

#include "engine/linear/scopes.h"
#include "kernels/amax/group_amax.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace engine {
namespace {

constexpr std::int64_t kBf16Bytes = 2;

kernels::ScaleOptions scale_options(const Recipe& recipe) {
  return {.pow2 = recipe.pow2_scales, .amax_epsilon = recipe.amax_epsilon};
}

/// Pointers to equally spaced parts, one a group.
std::vector<void*> spaced_pointers(std::byte* base, std::int64_t stride_bytes, int num_groups) {
  std::vector<void*> pointers;
  pointers.reserve(static_cast<std::size_t>(num_groups));
  for (int group = 0; group < num_groups; ++group) pointers.push_back(base + group * stride_bytes);
  return pointers;
}

/// Amax, scale and cast of one operand: three kinds of launches, two stages.
struct PerTensorQuantize {
  kernels::GroupedInput input;
  const QuantizedOperand& operand;
  Fp8Format format;
  int layer;
};

Status quantize_per_tensor(const PerTensorQuantize& work, const Recipe& recipe, cudaStream_t stream,
                           StepObserver& observer) {
  {
    const WorkScope scope(observer, {.stage = Stage::Amax, .layer = work.layer});
    ENGINE_CUDA_TRY(
        kernels::group_amax({.input = work.input, .amax = work.operand.amax.as<float>()}, stream),
        "Launching the amax kernel");
    ENGINE_CUDA_TRY(kernels::per_tensor_scale({.amax = work.operand.amax.as<float>(),
                                               .num_groups = work.input.num_groups,
                                               .format = work.format,
                                               .options = scale_options(recipe),
                                               .scale = work.operand.scale.as<float>(),
                                               .scale_inv = work.operand.scale_inv.as<float>()},
                                              stream),
                    "Launching the scale kernel");
  }
  const WorkScope scope(observer, {.stage = Stage::Quantize, .layer = work.layer});
  return check_cuda(kernels::quantize_per_tensor({.input = work.input,
                                                  .format = work.format,
                                                  .scale = work.operand.scale.as<float>(),
                                                  .rowwise = work.operand.codes.as<std::uint8_t>()},
                                                 stream),
                    "Launching the per-tensor quantize kernel");
}

kernels::QuantizeBlockArgs block_args(const kernels::GroupedInput& input,
                                      const QuantizedOperand& operand, Fp8Format format,
                                      const Recipe& recipe) {
  return {.input = input,
          .format = format,
          .options = scale_options(recipe),
          .rowwise = {.codes = operand.codes.as<std::uint8_t>(),
                      .scale_inv = operand.scale_inv.as<float>()}};
}

}  // namespace

Result<GroupedStep> GroupedStep::create(std::shared_ptr<const CublasLt> library,
                                        const StepConfig& config, StepOperands operands,
                                        cudaStream_t stream) {
  GroupedStep step;
  step.library_ = std::move(library);
  step.config_ = config;
  step.operands_ = std::move(operands);
  Result<StepArrays> buffers = StepArrays::allocate(config);
  if (!buffers.ok()) return buffers.error();
  step.buffers_ = std::move(buffers).value();
  ENGINE_TRY(step.upload_constants(stream));
  step.plan_offsets();
  ENGINE_TRY(step.make_products());
  return step;
}

Status GroupedStep::upload_constants(cudaStream_t stream) {
  const auto groups = static_cast<std::size_t>(config_.num_groups);
  const auto send = [&]<class T>(const DeviceBuffer& target, const std::vector<T>& values) {
    return copy_to_device<T>(target.data(), values, stream);
  };
  // Clearing on the step's own stream: the legacy default stream is not ordered with it.
  for (const DeviceBuffer* cleared : {&buffers_.error_word, &buffers_.splits}) {
    ENGINE_CUDA_TRY(cudaMemsetAsync(cleared->data(), 0, cleared->bytes(), stream),
                    "Clearing the step's arrays");
  }
  std::vector<std::int64_t> weight_offsets(groups + 1);
  for (std::size_t g = 0; g <= groups; ++g) {
    weight_offsets[g] = static_cast<std::int64_t>(g) * config_.n;
  }
  ENGINE_TRY(send(buffers_.weight_offsets, weight_offsets));
  ENGINE_TRY(send(buffers_.n_dims,
                  std::vector<std::int32_t>(groups, static_cast<std::int32_t>(config_.n))));
  ENGINE_TRY(send(buffers_.k_dims,
                  std::vector<std::int32_t>(groups, static_cast<std::int32_t>(config_.k))));
  ENGINE_TRY(send(buffers_.alpha_beta, std::vector<float>{1.0F, 0.0F}));

  const std::int64_t weight_elements = config_.n * config_.k;
  const std::int64_t block_scales =
      kernels::round_up(kernels::ceil_div(config_.k, 128), 4) * kernels::ceil_div(config_.n, 128);
  const std::int64_t scale_stride = (config_.block() ? block_scales : 1) * std::int64_t{4};
  for (std::size_t layer = 0; layer < buffers_.layers.size(); ++layer) {
    const LayerBuffers& buffers = buffers_.layers[layer];
    // The product only reads W; cuBLASLt's pointer arrays just do not say so.
    auto* const raw = static_cast<std::byte*>(const_cast<void*>(operands_.weights[layer]));
    std::byte* const base = config_.fp8() ? buffers.weights.codes.data() : raw;
    ENGINE_TRY(send(buffers.weight_pointers,
                    spaced_pointers(base, weight_elements * (config_.fp8() ? 1 : kBf16Bytes),
                                    config_.num_groups)));
    if (!config_.fp8()) continue;
    ENGINE_TRY(
        send(buffers.weight_scale_pointers,
             spaced_pointers(buffers.weights.scale_inv.data(), scale_stride, config_.num_groups)));
  }
  if (config_.recipe.scaling == Scaling::PerTensorCurrent) {
    ENGINE_TRY(send(buffers_.activation_scale_pointers,
                    spaced_pointers(buffers_.activations.scale_inv.data(), 4, config_.num_groups)));
  }
  // cudaMemset of the allocation ran on the default stream.
  return check_cuda(cudaDeviceSynchronize(), "Setting up the step");
}

void GroupedStep::plan_offsets() {
  std::vector<kernels::PointerArray> arrays;
  auto* const raw = static_cast<std::byte*>(const_cast<void*>(operands_.activations));
  arrays.push_back({.base = config_.fp8() ? buffers_.activations.codes.data() : raw,
                    .bytes_per_unit = config_.k * (config_.fp8() ? 1 : kBf16Bytes),
                    .pointers = buffers_.activation_pointers.as<void*>()});
  if (config_.block()) {
    // 1x128 scales are float32, and every group's rows are padded to a multiple of four.
    constexpr std::int64_t kScaleRows = 4;
    arrays.push_back(
        {.base = buffers_.activations.scale_inv.data(),
         .bytes_per_unit = kScaleRows * 4 * kernels::ceil_div(config_.k, kernels::kBlock),
         .unit = kScaleRows,
         .pointers = buffers_.activation_scale_pointers.as<void*>()});
  }
  for (const LayerBuffers& layer : buffers_.layers) {
    arrays.push_back({.base = layer.output.data(),
                      .bytes_per_unit = config_.n * kBf16Bytes,
                      .pointers = layer.output_pointers.as<void*>()});
  }
  // One launch holds kMaxPointerArrays; only steps of about as many layers need a second.
  for (std::size_t first = 0; first < arrays.size(); first += kernels::kMaxPointerArrays) {
    kernels::SplitsToOffsetsArgs args{.splits = buffers_.splits.as<std::int64_t>(),
                                      .num_groups = config_.num_groups,
                                      .capacity_rows = config_.capacity_rows,
                                      .row_offsets = buffers_.row_offsets.as<std::int64_t>(),
                                      .rows = buffers_.rows.as<std::int32_t>(),
                                      .error_word = buffers_.error_word.as<std::uint32_t>()};
    for (std::size_t i = first; i < arrays.size() && i < first + kernels::kMaxPointerArrays; ++i) {
      args.pointer_arrays[args.num_pointer_arrays++] = arrays[i];
    }
    offset_launches_.push_back(args);
  }
}

GroupedMatmulConfig GroupedStep::matmul_base() const {
  return {.num_groups = config_.num_groups,
          .n = config_.n,
          .k = config_.k,
          .average_rows = config_.capacity_rows / config_.num_groups,
          .n_dims = buffers_.n_dims.as<std::int32_t>(),
          .k_dims = buffers_.k_dims.as<std::int32_t>(),
          .rows = buffers_.rows.as<std::int32_t>(),
          .alpha = buffers_.alpha_beta.as<float>(),
          .beta = buffers_.alpha_beta.as<float>() + 1};
}

Status GroupedStep::make_products() {
  for (const LayerBuffers& layer : buffers_.layers) {
    GroupedMatmulConfig matmul = matmul_base();
    matmul.scaling = config_.recipe.scaling;
    matmul.activation_format = config_.recipe.activation_format;
    matmul.fast_accumulation = config_.fp8() && !config_.recipe.split_accumulator;
    matmul.weights = layer.weight_pointers.as<void*>();
    matmul.activations = buffers_.activation_pointers.as<void*>();
    matmul.outputs = layer.output_pointers.as<void*>();
    matmul.weight_scales = layer.weight_scale_pointers.as<void*>();
    matmul.activation_scales = buffers_.activation_scale_pointers.as<void*>();
    Result<GroupedMatmul> product =
        GroupedMatmul::create(library_, matmul, products_.empty() ? nullptr : &products_.front());
    if (!product.ok()) return product.error();
    products_.push_back(std::move(product).value());
  }
  return {};
}

Status GroupedStep::write_splits(std::span<const std::int64_t> splits, cudaStream_t stream) {
  if (splits.size() != static_cast<std::size_t>(config_.num_groups)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{} splits were given for {} groups",
                                                         splits.size(), config_.num_groups)};
  }
  return copy_to_device(buffers_.splits.data(), splits, stream);
}

kernels::GroupedInput GroupedStep::activations() const {
  return {.input = operands_.activations,
          .type = kernels::InputType::Bf16,
          .row_offsets = buffers_.row_offsets.as<std::int64_t>(),
          .num_groups = config_.num_groups,
          .capacity_rows = config_.capacity_rows,
          .columns = config_.k};
}

kernels::GroupedInput GroupedStep::weights(int layer) const {
  return {.input = operands_.weights[static_cast<std::size_t>(layer)],
          .type = kernels::InputType::Bf16,
          .row_offsets = buffers_.weight_offsets.as<std::int64_t>(),
          .num_groups = config_.num_groups,
          .capacity_rows = config_.weight_rows(),
          .columns = config_.k};
}

Status GroupedStep::quantize_activations(cudaStream_t stream, StepObserver& observer) const {
  const Recipe& recipe = config_.recipe;
  if (recipe.scaling == Scaling::PerTensorCurrent) {
    return quantize_per_tensor({.input = activations(),
                                .operand = buffers_.activations,
                                .format = recipe.activation_format,
                                .layer = 0},
                               recipe, stream, observer);
  }
  const WorkScope scope(observer, {.stage = Stage::Quantize});
  return check_cuda(kernels::quantize_block_1x128(block_args(activations(), buffers_.activations,
                                                             recipe.activation_format, recipe),
                                                  stream),
                    "Launching the 1x128 quantize kernel");
}

Status GroupedStep::quantize_weights(int layer, cudaStream_t stream, StepObserver& observer) const {
  const Recipe& recipe = config_.recipe;
  const QuantizedOperand& operand = buffers_.layers[static_cast<std::size_t>(layer)].weights;
  if (recipe.scaling == Scaling::PerTensorCurrent) {
    return quantize_per_tensor(
        {.input = weights(layer), .operand = operand, .format = Fp8Format::E4m3, .layer = layer},
        recipe, stream, observer);
  }
  const WorkScope scope(observer, {.stage = Stage::Quantize, .layer = layer});
  return check_cuda(kernels::quantize_block_128x128(
                        block_args(weights(layer), operand, Fp8Format::E4m3, recipe), stream),
                    "Launching the 128x128 quantize kernel");
}

Status GroupedStep::launch(cudaStream_t stream, StepObserver& observer) const {
  {
    const WorkScope scope(observer, {.stage = Stage::Offsets});
    for (const kernels::SplitsToOffsetsArgs& args : offset_launches_) {
      ENGINE_CUDA_TRY(kernels::splits_to_offsets(args, stream), "Launching the offsets kernel");
    }
  }
  if (config_.fp8()) {
    ENGINE_TRY(quantize_activations(stream, observer));
    for (int layer = 0; layer < config_.layers; ++layer) {
      ENGINE_TRY(quantize_weights(layer, stream, observer));
    }
  }
  // Products last and back to back, as a network's captured step has them: the arrangement in which
  // a shared workspace was measured to go wrong.
  for (int layer = 0; layer < config_.layers; ++layer) {
    const WorkScope scope(observer, {.stage = Stage::Fprop, .layer = layer});
    const auto index = static_cast<std::size_t>(layer);
    const std::size_t workspace = config_.workspace == WorkspaceStrategy::Shared ? 0 : index;
    ENGINE_TRY(products_[index].launch(buffers_.workspaces[workspace].data(), stream));
  }
  return {};
}

Status GroupedStep::quantize_with_amax(float* activation_amax, float* weight_amax,
                                       cudaStream_t stream) const {
  kernels::QuantizeBlockArgs x = block_args(activations(), buffers_.activations,
                                            config_.recipe.activation_format, config_.recipe);
  x.rowwise.block_amax = activation_amax;
  ENGINE_CUDA_TRY(kernels::quantize_block_1x128(x, stream), "Launching the 1x128 quantize kernel");
  kernels::QuantizeBlockArgs w =
      block_args(weights(0), buffers_.layers.front().weights, Fp8Format::E4m3, config_.recipe);
  w.rowwise.block_amax = weight_amax;
  return check_cuda(kernels::quantize_block_128x128(w, stream),
                    "Launching the 128x128 quantize kernel");
}

Status GroupedStep::check_splits(cudaStream_t stream) const {
  std::uint32_t word = 0;
  ENGINE_TRY(copy_to_host(std::span<std::uint32_t>(&word, 1), buffers_.error_word.data(), stream));
  if (word == 0) return {};
  return Error{
      ErrorCode::InvalidArgument,
      fmt::format("The splits on the device were wrong:{}{}; the step counted them as 0 or "
                  "cut them at {} rows",
                  (word & 1U) != 0 ? " a negative split" : "",
                  (word & 2U) != 0 ? " a sum above the capacity" : "", config_.capacity_rows)};
}

}  // namespace engine
