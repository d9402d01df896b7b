#include "engine/linear/step_operand.h"

#include <utility>
#include <vector>

#include "engine/observe/scopes.h"
#include "kernels/dequantize/dequantize.h"

namespace engine {

namespace {

using kernels::Direction;

constexpr Direction kDirections[] = {Direction::Rowwise, Direction::Columnwise};

cudaDataType_t high_precision_type(const Recipe& recipe) {
  if (recipe.high_precision == ElementType::Fp32) return CUDA_R_32F;
  return recipe.high_precision == ElementType::Fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

cudaDataType_t code_type(const OperandLayout& layout) {
  if (layout.e2m1()) return CUDA_R_4F_E2M1;
  return layout.format == Fp8Format::E5m2 ? CUDA_R_8F_E5M2 : CUDA_R_8F_E4M3;
}

MatrixScaling scaling_of(const OperandLayout& layout) {
  switch (layout.kernel) {
    case QuantizeKernel::PerTensor:
      return MatrixScaling::PerTensor;
    case QuantizeKernel::Block:
      return layout.square ? MatrixScaling::Block128x128 : MatrixScaling::Block1x128;
    case QuantizeKernel::Mxfp8:
      return MatrixScaling::Mx1x32;
    case QuantizeKernel::Nvfp4:
      return MatrixScaling::Nv1x16;
  }
  return MatrixScaling::None;
}

CudaQuantizer::Setup quantizer_setup(const StepConfig& config, const StepOperand::Setup& setup) {
  const OperandCopies& copies = setup.copies;
  CudaQuantizer::Setup made{.recipe = config.recipe,
                            .role = copies.role,
                            .rowwise = copies.rowwise.has_value(),
                            .columnwise = copies.columnwise.has_value(),
                            .input = setup.input,
                            .seed = config.seed,
                            .layer = copies.layer,
                            .noop = setup.noop,
                            .bias_partials = setup.bias_partials,
                            .rowwise_life = copies.rowwise.value_or(BufferLife::Step),
                            .columnwise_life = copies.columnwise.value_or(BufferLife::Step)};
  // cuBLASLt reads the scales of micro blocks in its own order.
  if (config.scaled_products()) made.micro_scales = kernels::MicroScaleLayout::Swizzled;
  const bool padded = copies.role != OperandRole::Weights && copies.columnwise;
  if (padded && config.row_unit() > 1) {
    made.output_rows = {.row_offsets = setup.padded_offsets,
                        .capacity_rows = config.padded_capacity(),
                        .columnwise_only = true,
                        .joined = config.own_wgrad()};
  }
  return made;
}

std::int64_t decoded_bytes(const StepConfig& config, const StepOperand::Setup& setup) {
  return config.operand_bytes() * setup.input.capacity_rows * setup.input.columns;
}

}  // namespace

Result<StepOperand> StepOperand::create(const StepConfig& config, const Setup& setup,
                                        cudaStream_t stream) {
  StepOperand made;
  made.config_ = config;
  made.setup_ = setup;
  ENGINE_TRY(made.make_quantizers(stream));
  if (config.emulated) ENGINE_TRY(made.make_decoded());
  if (config.alpha_per_group()) ENGINE_TRY(made.make_amax_pointers(stream));
  return made;
}

Status StepOperand::make_quantizers(cudaStream_t stream) {
  CudaQuantizer::Setup setup = quantizer_setup(config_, setup_);
  if (!listed()) {
    ENGINE_ASSIGN(CudaQuantizer quantizer, CudaQuantizer::create(setup, stream));
    quantizers_.push_back(std::move(quantizer));
    return {};
  }
  ENGINE_ASSIGN(part_offsets_, DeviceBuffer::allocate(2 * sizeof(std::int64_t),
                                                      {AllocationRole::Splits, "rows of a part"}));
  ENGINE_TRY(copy_to_device<std::int64_t>(part_offsets_.data(),
                                          std::vector<std::int64_t>{0, config_.n()}, stream));
  for (std::size_t group = 0; group < setup_.listed.size(); ++group) {
    setup.input = part(group);
    setup.part = static_cast<int>(group);
    ENGINE_ASSIGN(CudaQuantizer quantizer, CudaQuantizer::create(setup, stream));
    quantizers_.push_back(std::move(quantizer));
  }
  return {};
}

Status StepOperand::make_decoded() {
  for (const Direction direction : kDirections) {
    const std::optional<BufferLife>& life =
        direction == Direction::Rowwise ? setup_.copies.rowwise : setup_.copies.columnwise;
    if (!life) continue;
    ENGINE_ASSIGN(DeviceBuffer buffer,
                  DeviceBuffer::allocate(decoded_bytes(config_, setup_),
                                         {AllocationRole::Quantized, "dequantized", *life}));
    decoded_[static_cast<int>(direction)] = std::move(buffer);
  }
  return {};
}

/// The tensors of a list have an amax array each, of one element.
Status StepOperand::make_amax_pointers(cudaStream_t stream) {
  if (!listed()) return {};
  for (const Direction direction : kDirections) {
    std::vector<const float*> pointers;
    for (const CudaQuantizer& quantizer : quantizers_) {
      if (quantizer.form(direction) == nullptr) continue;
      pointers.push_back(quantizer.amax(direction).as<float>());
    }
    if (pointers.empty()) continue;
    ENGINE_ASSIGN(
        DeviceBuffer buffer,
        DeviceBuffer::allocate(static_cast<std::int64_t>(pointers.size() * sizeof(pointers[0])),
                               {AllocationRole::PointerArray, "pointers to amax"}));
    DeviceBuffer& target = amax_pointers_[static_cast<int>(direction)];
    target = std::move(buffer);
    ENGINE_TRY(copy_to_device<const float*>(target.data(), pointers, stream));
  }
  return {};
}

kernels::GroupScalars StepOperand::amax_source(Direction direction) const {
  if (!config_.alpha_per_group()) return {};
  if (listed()) return {.each = amax_pointers_[static_cast<int>(direction)].as<const float*>()};
  return {.values = quantizers_.front().amax(direction).as<float>()};
}

/// One weight of a list.
kernels::GroupedInput StepOperand::part(std::size_t index) const {
  kernels::GroupedInput input = setup_.input;
  input.input = setup_.listed[index];
  input.row_offsets = part_offsets_.as<std::int64_t>();
  input.num_groups = 1;
  input.capacity_rows = config_.n();
  return input;
}

WorkTag StepOperand::tag() const {
  const OperandCopies& copies = setup_.copies;
  return {.stage = Stage::Quantize,
          .layer = config_.tag(copies.layer),
          .writes = written(copies.tensor, copies.forms())};
}

Status StepOperand::quantize(kernels::LaunchStream stream, StepObserver& observer,
                             kernels::StampBuffer stamps) const {
  const OperandCopies& copies = setup_.copies;
  const WorkTag work = tag();
  for (const CudaQuantizer& quantizer : quantizers_) {
    ENGINE_TRY(quantizer.quantize(stream, observer, work, stamps));
  }
  if (!config_.emulated) return {};
  for (const Direction direction : kDirections) {
    const DeviceBuffer& target = decoded_[static_cast<int>(direction)];
    if (!target) continue;
    const CopyForms form =
        direction == Direction::Rowwise ? CopyForms::Rowwise : CopyForms::Columnwise;
    const WorkScope scope(
        observer,
        {.stage = Stage::Dequantize, .layer = work.layer, .writes = written(copies.tensor, form)});
    std::byte* output = target.data();
    for (const CudaQuantizer& quantizer : quantizers_) {
      ENGINE_CUDA_TRY(kernels::dequantize({.quantized = quantizer.view(direction),
                                           .output = output,
                                           .output_type = config_.recipe.high_precision},
                                          stream),
                      "Launching the dequantize kernel");
      output += config_.operand_bytes() * config_.n() * config_.k();  // the next weight of a list
    }
  }
  return {};
}

OperandSource high_precision_source(const StepConfig& config, OperandRole role,
                                    const kernels::GroupedInput& input,
                                    const std::vector<const void*>& listed) {
  OperandSource source{.type = high_precision_type(config.recipe)};
  // The products only read these; cuBLASLt's pointer arrays are not const.
  for (const void* weight : listed) source.values.listed.push_back(const_cast<void*>(weight));
  if (!listed.empty()) return source;
  source.values.rule.base = static_cast<std::byte*>(const_cast<void*>(input.input));
  const std::int64_t row_bytes = config.operand_bytes() * input.columns;
  if (role == OperandRole::Weights) {
    source.values.rule.bytes_per_group = row_bytes * config.n();
  } else {
    source.values.rule.bytes_per_unit = row_bytes;
  }
  return source;
}

OperandSource StepOperand::source(Direction direction) const {
  if (config_.emulated) {
    kernels::GroupedInput decoded = setup_.input;
    decoded.input = decoded_[static_cast<int>(direction)].data();
    return high_precision_source(config_, setup_.copies.role, decoded);
  }
  const OperandLayout& layout = quantizers_.front().form(direction)->layout;
  return {.type = code_type(layout),
          .scaling = scaling_of(layout),
          .transposed = layout.transposed,
          .values = code_addresses(direction),
          .scales = scale_addresses(direction),
          .amax = amax_source(direction)};
}

GroupAddresses StepOperand::code_addresses(Direction direction) const {
  GroupAddresses addresses;
  if (listed()) {
    for (const CudaQuantizer& quantizer : quantizers_) {
      addresses.listed.push_back(quantizer.form(direction)->codes.data());
    }
    return addresses;
  }
  const QuantizedForm& form = *quantizers_.front().form(direction);
  GroupStride stride = code_stride(form.layout, setup_.input.columns);
  addresses.rule.base = form.codes.data();
  if (weights()) {
    addresses.rule.bytes_per_group = stride.bytes * kernels::ceil_div(config_.n(), stride.unit);
    return addresses;
  }
  if (direction == Direction::Columnwise && config_.own_wgrad()) {
    stride = {.unit = config_.row_unit(), .bytes = config_.row_unit()};  // in every line
  } else if (direction == Direction::Columnwise && stride.unit == 1) {
    stride = {.unit = config_.row_unit(), .bytes = stride.bytes * config_.row_unit()};
  }
  addresses.rule.unit = stride.unit;
  addresses.rule.bytes_per_unit = stride.bytes;
  return addresses;
}

GroupAddresses StepOperand::scale_addresses(Direction direction) const {
  GroupAddresses addresses;
  if (listed()) {
    for (const CudaQuantizer& quantizer : quantizers_) {
      addresses.listed.push_back(quantizer.scales(direction).data());
    }
    return addresses;
  }
  const QuantizedForm& form = *quantizers_.front().form(direction);
  const GroupStride stride = scale_stride(form.layout, setup_.input.columns);
  addresses.rule.base = quantizers_.front().scales(direction).data();
  if (stride.unit == 0) {
    addresses.rule.bytes_per_group = stride.bytes;
  } else if (weights()) {
    addresses.rule.bytes_per_group = stride.bytes * kernels::ceil_div(config_.n(), stride.unit);
  } else {
    addresses.rule.unit = stride.unit;
    addresses.rule.bytes_per_unit = stride.bytes;
  }
  return addresses;
}

std::int64_t operand_bytes(const StepConfig& config, const StepOperand::Setup& setup) {
  const int copies = (setup.copies.rowwise ? 1 : 0) + (setup.copies.columnwise ? 1 : 0);
  std::int64_t bytes = CudaQuantizer::bytes(quantizer_setup(config, setup));
  if (config.emulated) bytes += copies * decoded_bytes(config, setup);
  return bytes;
}

Result<ProductAlphas> ProductAlphas::create(const StepConfig& config, const OperandSource& a,
                                            const OperandSource& b, cudaStream_t stream) {
  const std::int64_t groups = config.num_groups();
  ProductAlphas made;
  Result<DeviceBuffer> alphas = DeviceBuffer::allocate(std::int64_t{sizeof(float)} * groups,
                                                       {AllocationRole::Quantized, "alphas"});
  if (!alphas.ok()) return alphas.error();
  made.alphas_ = std::move(alphas).value();
  ENGINE_ASSIGN(made.pointers_,
                DeviceBuffer::allocate(std::int64_t{sizeof(void*)} * groups,
                                       {AllocationRole::PointerArray, "pointers to alphas"}));
  made.args_ = {.amax_a = a.amax,
                .amax_b = b.amax,
                .num_groups = config.num_groups(),
                .alpha = made.alphas_.as<float>()};
  std::vector<float*> addresses;
  for (std::int64_t group = 0; group < groups; ++group) {
    addresses.push_back(made.alphas_.as<float>() + group);
  }
  ENGINE_TRY(copy_to_device<float*>(made.pointers_.data(), addresses, stream));
  return made;
}

Status ProductAlphas::launch(kernels::LaunchStream stream) const {
  return check_cuda(kernels::nvfp4_alpha(args_, stream), "Launching the alpha kernel");
}

}  // namespace engine
