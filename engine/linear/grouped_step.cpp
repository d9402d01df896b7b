// Launches of the step.
#include "engine/linear/grouped_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/linear/product_shape.h"
#include "engine/observe/scopes.h"
#include "kernels/bias/bias.h"

namespace engine {

Status GroupedStep::write_step(std::span<const std::int64_t> splits, std::size_t /*step*/,
                               cudaStream_t stream) {
  if (splits.size() != static_cast<std::size_t>(config_.num_groups())) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{} splits were given for {} groups",
                                                         splits.size(), config_.num_groups())};
  }
  written_splits_.assign(splits.begin(), splits.end());
  if (!config_.int32_splits) return copy_to_device(arrays_.splits.data(), splits, stream);
  std::vector<std::int32_t> narrow;
  narrow.reserve(splits.size());
  for (const std::int64_t rows : splits) {
    if (rows != static_cast<std::int32_t>(rows)) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("A split of {} rows does not fit the 32-bit splits of this step; "
                               "choose 64-bit splits",
                               rows)};
    }
    narrow.push_back(static_cast<std::int32_t>(rows));
  }
  return copy_to_device<std::int32_t>(arrays_.splits.data(), narrow, stream);
}

Status GroupedStep::enqueue_splits(const void* splits, cudaStream_t stream) {
  const auto bytes = static_cast<std::size_t>(config_.split_bytes() * config_.num_groups());
  return check_cuda(
      cudaMemcpyAsync(arrays_.splits.data(), splits, bytes, cudaMemcpyHostToDevice, stream),
      "Copying the splits of a step");
}

Status GroupedStep::route(std::span<const std::int64_t> splits, std::size_t step,
                          cudaStream_t stream) {
  ENGINE_TRY(write_step(splits, step, stream));
  if (traits_of(config_.backend).one_launch || std::ranges::equal(splits, config_.host_splits)) {
    return {};
  }
  config_.host_splits.assign(splits.begin(), splits.end());
  products_.clear();
  return make_products(stream);
}

Status GroupedStep::keep_weights(bool keep, cudaStream_t stream) const {
  const float* flag = keep ? arrays_.one() : arrays_.zero();
  return check_cuda(cudaMemcpyAsync(arrays_.keep_weights.data(), flag, sizeof(float),
                                    cudaMemcpyDeviceToDevice, stream),
                    "Choosing whether weights are quantized");
}

kernels::GroupedInput GroupedStep::input_of(const std::vector<OperandInput>& operands, int layer,
                                            std::int64_t columns) const {
  const OperandInput& from = operands[operands.size() == 1 ? 0 : static_cast<std::size_t>(layer)];
  return {.input = from.input,
          .type = config_.recipe.high_precision,
          .row_offsets = arrays_.row_offsets.as<std::int64_t>(),
          .num_groups = config_.num_groups(),
          .capacity_rows = config_.capacity_rows(),
          .columns = columns,
          .activation = from.activation,
          .output_gradient = from.output_gradient};
}

kernels::GroupedInput GroupedStep::activations(int layer) const {
  return input_of(operands_.activations, layer, config_.k());
}

kernels::GroupedInput GroupedStep::gradients(int layer) const {
  return input_of(operands_.gradients, layer, config_.n());
}

kernels::GroupedInput GroupedStep::weights(int layer) const {
  return {.input = config_.list() ? nullptr : operands_.weights[static_cast<std::size_t>(layer)],
          .type = config_.recipe.high_precision,
          .row_offsets = arrays_.weight_offsets.as<std::int64_t>(),
          .num_groups = config_.num_groups(),
          .capacity_rows = config_.weight_rows(),
          .columns = config_.k()};
}

const void* GroupedStep::weights_of_expert(int layer, int expert) const {
  const auto index = static_cast<std::size_t>(layer);
  if (config_.list()) {
    return operands_.weight_lists[index][static_cast<std::size_t>(expert)].tensor.values;
  }
  return static_cast<const std::byte*>(operands_.weights[index]) +
         expert * config_.operand_bytes() * config_.n() * config_.k();
}

kernels::GroupedInput GroupedStep::input(OperandRole role, int layer) const {
  switch (role) {
    case OperandRole::Activations:
      return activations(layer);
    case OperandRole::Gradients:
      return gradients(layer);
    case OperandRole::Weights:
      break;
  }
  return weights(layer);
}

std::vector<const void*> GroupedStep::listed_weights(int layer) const {
  std::vector<const void*> listed;
  for (int expert = 0; config_.list() && expert < config_.num_groups(); ++expert) {
    listed.push_back(weights_of_expert(layer, expert));
  }
  return listed;
}

Result<const StepOperand*> GroupedStep::operand(const Operation& quantize) const {
  for (const StepOperand& made : quantize.role == OperandRole::Weights ? *w_ : quantized_) {
    const OperandCopies& copies = made.copies();
    if (copies.role == quantize.role && copies.layer == quantize.layer &&
        copies.again == quantize.again) {
      return &made;
    }
  }
  return Error{ErrorCode::Internal, fmt::format("The step has no quantized {} of layer {}",
                                                name_of(quantize.role), quantize.layer)};
}

OperandSource GroupedStep::source(const Operation& product, OperandRole role) const {
  const Value& read = operand_read(product, program_.tensors(), role);
  for (const StepOperand& made : role == OperandRole::Weights ? *w_ : quantized_) {
    const OperandCopies& copies = made.copies();
    if (copies.tensor != read.tensor || copies.layer != read.layer || !copies.has(read.form)) {
      continue;
    }
    return made.source(read.form == ValueForm::Rowwise ? kernels::Direction::Rowwise
                                                       : kernels::Direction::Columnwise);
  }
  const bool listed = role == OperandRole::Weights;
  return high_precision_source(config_, role, input(role, product.layer),
                               listed ? listed_weights(product.layer) : std::vector<const void*>{});
}

Status GroupedStep::run(const Operation& operation, cudaStream_t stream,
                        StepObserver& observer) const {
  switch (operation.kind) {
    case OperationKind::FillArrays: {
      const WorkScope scope(observer, tag(Stage::Offsets, written(program_.tensors().y), 0));
      return pointers_.launch_head(ours(stream));
    }
    case OperationKind::FillBackwardArrays: {
      const WorkScope scope(observer, tag(Stage::Offsets, written(program_.tensors().dx), 0));
      return pointers_.launch_backward_head(ours(stream));
    }
    case OperationKind::Quantize: {
      ENGINE_ASSIGN(const StepOperand* const quantized, operand(operation));
      return quantized->quantize(ours(stream), observer);
    }
    case OperationKind::Fprop:
    case OperationKind::Dgrad:
    case OperationKind::Wgrad:
      return launch_product(operation.layer, product_of(operation.kind), stream, observer);
    case OperationKind::AddBias:
      return add_bias(operation, stream, observer);
    case OperationKind::SumBias:
      return sum_bias(operation, stream, observer);
    default:
      return Error{ErrorCode::Internal,
                   fmt::format("A grouped product cannot {}", operation.traits().name)};
  }
}

Status GroupedStep::launch_product(int layer, Product product, cudaStream_t stream,
                                   StepObserver& observer) const {
  const std::optional<std::size_t> index = index_of(layer, product);
  if (index) return launch_product(*index, stream, observer);
  return Error{ErrorCode::Internal,
               fmt::format("The step has no {} of layer {}", name_of(product), layer)};
}

Status GroupedStep::add_bias(const Operation& add, cudaStream_t stream,
                             StepObserver& observer) const {
  const WorkScope scope(observer, tag(add));
  const auto index = static_cast<std::size_t>(add.layer);
  return check_cuda(
      kernels::add_bias({.values = outputs_[index].y,
                         .type = config_.output_type(),
                         .bias = operands_.biases[index],
                         .bias_type = config_.bias_type.value_or(config_.recipe.high_precision),
                         .row_offsets = arrays_.row_offsets.as<std::int64_t>(),
                         .num_groups = config_.num_groups(),
                         .capacity_rows = config_.capacity_rows(),
                         .columns = config_.n()},
                        ours(stream)),
      "Launching the bias kernel");
}

Status GroupedStep::sum_bias(const Operation& sum, cudaStream_t stream,
                             StepObserver& observer) const {
  const WorkScope scope(observer, tag(sum));
  if (!sum.summed_by_quantize) {
    ENGINE_CUDA_TRY(
        kernels::bias_partials(
            {.input = gradients(sum.layer), .partials = bias_partials_.as<float>()}, ours(stream)),
        "Launching the bias-gradient kernel");
  }
  return check_cuda(kernels::reduce_bias_gradient(
                        {.partials = bias_partials_.as<float>(),
                         .row_offsets = arrays_.row_offsets.as<std::int64_t>(),
                         .num_groups = config_.num_groups(),
                         .columns = config_.n(),
                         .output_type = config_.recipe.high_precision,
                         .gradient = outputs_[static_cast<std::size_t>(sum.layer)].bias_gradient},
                        ours(stream)),
                    "Launching the bias-gradient kernel");
}

Status GroupedStep::launch_product(std::size_t index, cudaStream_t stream,
                                   StepObserver& observer) const {
  const StepProduct& product = products_[index];
  const int number = static_cast<int>(index);
  if (config_.setup_arrays == SetupArrays::Shared) {
    const WorkScope scope(observer, tag(Stage::Offsets, product.writes, product.layer));
    ENGINE_TRY(pointers_.launch_before(number, ours(stream)));
  }
  if (product.alphas) {
    const WorkScope scope(observer, tag(Stage::Amax, product.writes, product.layer));
    ENGINE_TRY(product.alphas->launch(ours(stream)));
  }
  const WorkTag work = tag(stage_of(product.product), product.writes, product.layer);
  const WorkScope scope(observer, work);
  return workspaces_->with(number, product.product, stream, [&](void* workspace) {
    return product.matmul->launch(workspace, stream, {.observer = observer, .tag = work});
  });
}

Status GroupedStep::launch_expert(Product product, int expert, cudaStream_t stream) const {
  const std::optional<std::size_t> index = index_of(0, product);
  if (index) {
    return workspaces_->with(static_cast<int>(*index), product, stream, [&](void* workspace) {
      return products_[*index].matmul->launch_expert(expert, workspace, stream);
    });
  }
  return Error{ErrorCode::InvalidArgument, fmt::format("The step has no {}", name_of(product))};
}

std::optional<std::size_t> GroupedStep::index_of(int layer, Product product) const {
  for (std::size_t index = 0; index < products_.size(); ++index) {
    if (products_[index].layer == layer && products_[index].product == product) return index;
  }
  return std::nullopt;
}

std::int64_t GroupedStep::stamped_tiles(Product product) const {
  const std::optional<std::size_t> index = index_of(0, product);
  return index ? products_[*index].matmul->stamped_tiles() : 0;
}

Status GroupedStep::launch_stamped(Product product, kernels::StampBuffer stamps,
                                   cudaStream_t stream) const {
  const std::optional<std::size_t> index = index_of(0, product);
  if (index) return products_[*index].matmul->launch_stamped(stamps, stream);
  return Error{ErrorCode::InvalidArgument, fmt::format("The step has no {}", name_of(product))};
}

WorkTag GroupedStep::tag_of(Product product) const {
  const std::optional<std::size_t> index = index_of(0, product);
  return tag(stage_of(product), index ? products_[*index].writes : WrittenValue::Unknown, 0);
}

WorkTag GroupedStep::tag_of_activations() const {
  for (const StepOperand& made : quantized_) {
    if (made.copies().role == OperandRole::Activations) return made.tag();
  }
  return tag(Stage::Quantize, WrittenValue::Unknown, 0);
}

Status GroupedStep::quantize_activations(cudaStream_t stream, kernels::StampBuffer stamps) const {
  StepObserver unobserved;
  for (const StepOperand& made : quantized_) {
    if (made.copies().role != OperandRole::Activations) continue;
    return made.quantize(ours(stream), unobserved, stamps);
  }
  return {};
}

Status GroupedStep::launch_products(Product product, cudaStream_t stream,
                                    StepObserver& observer) const {
  for (std::size_t index = 0; index < products_.size(); ++index) {
    if (products_[index].product == product) ENGINE_TRY(launch_product(index, stream, observer));
  }
  return {};
}

Status GroupedStep::prepare(cudaStream_t stream, StepObserver& observer) const {
  return program_.program().run_prepare(
      [&](const Operation& operation) { return run(operation, stream, observer); });
}

Status GroupedStep::launch(cudaStream_t stream, StepObserver& observer) const {
  for (const ProgramPart& part : program_.program().parts) {
    for (const Operation& operation : part.operations) {
      ENGINE_TRY(run(operation, stream, observer));
    }
  }
  return {};
}

Result<std::vector<ProductTrial>> GroupedStep::try_candidates(cudaStream_t stream) {
  ENGINE_ASSIGN(std::vector<ProductTrial> trials, try_candidates(stream, true));
  ENGINE_ASSIGN(const std::vector<ProductTrial> gradients, try_candidates(stream, false));
  trials.insert(trials.end(), gradients.begin(), gradients.end());
  return trials;
}

Result<std::vector<ProductTrial>> GroupedStep::try_candidates(cudaStream_t stream, bool fprop) {
  std::vector<ProductTrial> trials;
  for (std::size_t index = 0; index < products_.size(); ++index) {
    const StepProduct& product = products_[index];
    if ((product.product == Product::Fprop) != fprop) continue;
    const int number = static_cast<int>(index);
    ENGINE_TRY(pointers_.launch_before(number, ours(stream)));
    ProductTrial& made = trials.emplace_back();
    made.layer = config_.tag(product.layer);
    made.product = product.product;
    ENGINE_TRY(workspaces_->with(number, product.product, stream, [&](void* workspace) -> Status {
      ENGINE_ASSIGN(made.trial, product.matmul->try_candidates(written_splits_, workspace, stream));
      return {};
    }));
  }
  return trials;
}

std::vector<StepOutput> GroupedStep::all_outputs() const {
  const auto* rows = arrays_.row_offsets.as<std::int64_t>();
  std::vector<StepOutput> all;
  for (int layer = 0; config_.forward() && layer < config_.layers; ++layer) {
    all.push_back({.product = Product::Fprop,
                   .layer = config_.tag(layer),
                   .values = outputs(layer).y,
                   .type = config_.output_type(),
                   .row_offsets = rows,
                   .capacity_rows = config_.capacity_rows(),
                   .columns = config_.n()});
  }
  for (int layer = 0; config_.backward() && layer < config_.layers; ++layer) {
    all.push_back({.product = Product::Dgrad,
                   .layer = config_.tag(layer),
                   .values = outputs(layer).dx,
                   .type = config_.output_type(),
                   .row_offsets = rows,
                   .capacity_rows = config_.capacity_rows(),
                   .columns = config_.k()});
    all.push_back({.product = Product::Wgrad,
                   .layer = config_.tag(layer),
                   .values = outputs(layer).dw,
                   .type = config_.wgrad_type(),
                   .row_offsets = arrays_.weight_offsets.as<std::int64_t>(),
                   .capacity_rows = config_.weight_rows(),
                   .columns = config_.k(),
                   .added_to = config_.products.accumulate_wgrad});
  }
  return all;
}

Status GroupedStep::check_splits(cudaStream_t stream) const {
  std::uint32_t word = 0;
  ENGINE_TRY(copy_to_host(std::span<std::uint32_t>(&word, 1), arrays_.error_word.data(), stream));
  if (word == 0) return {};
  return Error{
      ErrorCode::InvalidArgument,
      fmt::format("The splits on the device were wrong:{}{}; the step counted them as 0 or "
                  "cut them at {} rows",
                  (word & kernels::kNegativeSplit) != 0 ? " a negative split" : "",
                  (word & kernels::kSplitsOverCapacity) != 0 ? " a sum above the capacity" : "",
                  config_.capacity_rows())};
}

}  // namespace engine
