#include "engine/quantize/quantize_cuda.h"

#include <algorithm>

#include "engine/observe/scopes.h"
#include "engine/quantize/rounding_key.h"
#include "kernels/amax/delayed_scaling.h"
#include "kernels/amax/group_amax.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_mxfp8.h"
#include "kernels/quantize/quantize_nvfp4.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace engine {

namespace {

using kernels::Direction;

constexpr std::int64_t kFloat = sizeof(float);
constexpr int kRowwise = 0;
constexpr int kColumnwise = 1;

constexpr Direction direction_of(int form) {
  return form == kRowwise ? Direction::Rowwise : Direction::Columnwise;
}

constexpr int form_of(Direction direction) {
  return direction == Direction::Rowwise ? kRowwise : kColumnwise;
}

/// Whether this form's rows are the padded ones.
bool padded(const CudaQuantizer::Setup& setup, int form) {
  return setup.output_rows.capacity_rows > 0 &&
         (form == kColumnwise || !setup.output_rows.columnwise_only);
}

OperandExtent extent_of(const CudaQuantizer::Setup& setup, int form) {
  return {.capacity_rows =
              padded(setup, form) ? setup.output_rows.capacity_rows : setup.input.capacity_rows,
          .num_groups = setup.input.num_groups,
          .columns = setup.input.columns};
}

bool wanted(const CudaQuantizer::Setup& setup, int form) {
  return form == kRowwise ? setup.rowwise : setup.columnwise;
}

/// What one form allocates.
struct FormBytes {
  std::int64_t codes = 0;
  std::int64_t scales = 0;
  std::int64_t amax = 0;
};

FormBytes form_bytes(const CudaQuantizer::Setup& setup, const OperandLayout& layout, bool first) {
  FormBytes bytes{.codes = layout.code_capacity, .scales = layout.scale_capacity};
  switch (layout.kernel) {
    case QuantizeKernel::PerTensor:
      if (!first) bytes.scales = 0;
      break;
    case QuantizeKernel::Nvfp4:
      bytes.amax = kFloat * setup.input.num_groups;
      break;
    case QuantizeKernel::Block1x128:
    case QuantizeKernel::Block128x128:
      if (setup.keep_block_amax) bytes.amax = layout.scale_capacity;
      break;
    case QuantizeKernel::Mxfp8:
      break;
  }
  return bytes;
}

Status take(DeviceBuffer& buffer, std::int64_t bytes, std::string owner,
            AllocationRole role = AllocationRole::Quantized) {
  Result<DeviceBuffer> allocated = DeviceBuffer::allocate(bytes, {role, std::move(owner)});
  if (!allocated.ok()) return allocated.error();
  buffer = std::move(allocated).value();
  return {};
}

Status clear(const DeviceBuffer& buffer, cudaStream_t stream) {
  if (!buffer) return {};
  return check_cuda(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream),
                    "Clearing a quantized operand");
}

}  // namespace

std::string cuda_refusal(const Recipe& recipe) {
  if (recipe.scaling != Scaling::None) return {};
  return "BF16 quantizes nothing; choose an FP8 or FP4 recipe";
}

Result<CudaQuantizer> CudaQuantizer::create(const Setup& setup, cudaStream_t stream) {
  CudaQuantizer made;
  made.setup_ = setup;
  ENGINE_TRY(made.allocate(stream));
  return made;
}

Status CudaQuantizer::allocate(cudaStream_t stream) {
  const std::int64_t groups = setup_.input.num_groups;
  bool first = true;
  for (const int form : {kRowwise, kColumnwise}) {
    if (!wanted(setup_, form)) continue;
    QuantizedForm& made = forms_[form].emplace();
    made.layout =
        operand_layout(setup_.recipe, setup_.role, direction_of(form), extent_of(setup_, form));
    const FormBytes bytes = form_bytes(setup_, made.layout, first);
    first = false;
    const std::string way = form == kRowwise ? "rowwise " : "columnwise ";
    ENGINE_TRY(take(made.codes, bytes.codes, way + "codes"));
    if (bytes.scales > 0) ENGINE_TRY(take(made.scales, bytes.scales, way + "scales"));
    if (bytes.amax > 0) ENGINE_TRY(take(made.amax, bytes.amax, way + "amax"));
    // Padding may never be written, but products read it and it comes back with the rest.
    ENGINE_TRY(clear(made.codes, stream));
    ENGINE_TRY(clear(made.scales, stream));
    ENGINE_TRY(clear(made.amax, stream));
  }
  ENGINE_TRY(take(tickets_, 2 * sizeof(std::uint32_t), "tickets", AllocationRole::Tickets));
  ENGINE_TRY(clear(tickets_, stream));
  if (per_tensor()) {
    ENGINE_TRY(take(amax_, kFloat * groups, "amax"));
    ENGINE_TRY(clear(amax_, stream));
    ENGINE_TRY(take(scale_, kFloat * groups, "scale"));
    ENGINE_TRY(copy_to_device<float>(
        scale_.data(), std::vector<float>(static_cast<std::size_t>(groups), 1.0F), stream));
  }
  if (setup_.recipe.scaling == Scaling::PerTensorDelayed) {
    ENGINE_TRY(
        take(history_, kFloat * setup_.recipe.delayed.history_length * groups, "amax history"));
    ENGINE_TRY(clear(history_, stream));
  }
  if (setup_.recipe.scaling != Scaling::Nvfp4) return {};
  ENGINE_TRY(take(random_state_, 2 * sizeof(std::uint64_t), "random state"));
  const std::uint64_t key =
      rounding_key(setup_.seed, {.role = setup_.role, .layer = setup_.layer, .part = setup_.part});
  return copy_to_device<std::uint64_t>(random_state_.data(), std::vector<std::uint64_t>{key, 0},
                                       stream);
}

std::int64_t CudaQuantizer::bytes(const Setup& setup) {
  std::int64_t total = kFloat * setup.input.num_groups * 2;
  bool first = true;
  for (const int form : {kRowwise, kColumnwise}) {
    if (!wanted(setup, form)) continue;
    const FormBytes bytes = form_bytes(
        setup, operand_layout(setup.recipe, setup.role, direction_of(form), extent_of(setup, form)),
        first);
    first = false;
    total += bytes.codes + bytes.scales + bytes.amax;
  }
  if (setup.recipe.scaling == Scaling::PerTensorDelayed) {
    total += kFloat * setup.recipe.delayed.history_length * setup.input.num_groups;
  }
  return total;
}

bool CudaQuantizer::per_tensor() const {
  return first_form().layout.kernel == QuantizeKernel::PerTensor;
}

const QuantizedForm* CudaQuantizer::form(Direction direction) const {
  const std::optional<QuantizedForm>& form = forms_[form_of(direction)];
  return form ? &*form : nullptr;
}

const DeviceBuffer& CudaQuantizer::scales(Direction direction) const {
  return per_tensor() ? first_form().scales : forms_[form_of(direction)]->scales;
}

const DeviceBuffer& CudaQuantizer::amax(Direction direction) const {
  // Delayed scaling's amax of this step is the first row of its history.
  if (setup_.recipe.scaling == Scaling::PerTensorDelayed) return history_;
  return per_tensor() ? amax_ : forms_[form_of(direction)]->amax;
}

kernels::QuantizedView CudaQuantizer::view(Direction direction) const {
  const int index = form_of(direction);
  const QuantizedForm& form = *forms_[index];
  kernels::QuantizedView view =
      quantized_view(form.layout, extent_of(setup_, index),
                     {.codes = form.codes.as<std::uint8_t>(),
                      .scales = scales(direction).data(),
                      .amax = amax(direction).as<float>(),
                      .row_offsets = padded(setup_, index) ? setup_.output_rows.row_offsets
                                                           : setup_.input.row_offsets});
  view.micro_layout = setup_.micro_scales;
  return view;
}

std::uint8_t* CudaQuantizer::codes(int form) const {
  return forms_[form] ? forms_[form]->codes.as<std::uint8_t>() : nullptr;
}

kernels::LaunchControls CudaQuantizer::controls(kernels::StampBuffer stamps) const {
  return {.noop = setup_.noop, .stamps = stamps, .tickets = tickets_.as<std::uint32_t>()};
}

kernels::ScaleOptions CudaQuantizer::options() const {
  return {.pow2 = setup_.recipe.pow2_scales, .amax_epsilon = setup_.recipe.amax_epsilon};
}

Status CudaQuantizer::quantize(kernels::LaunchStream stream, StepObserver& observer, int layer,
                               kernels::StampBuffer stamps) const {
  const kernels::LaunchControls launch = controls(stamps);
  if (setup_.recipe.scaling == Scaling::PerTensorDelayed) {
    return quantize_delayed(stream, observer, layer, launch);
  }
  if (per_tensor()) return quantize_current(stream, observer, layer, launch);
  if (setup_.recipe.scaling == Scaling::Nvfp4) {
    return quantize_nvfp4(stream, observer, layer, launch);
  }
  const WorkScope scope(observer, {.stage = Stage::Quantize, .layer = layer});
  return setup_.recipe.scaling == Scaling::Mxfp8 ? quantize_mxfp8(stream, launch)
                                                 : quantize_blocks(stream, launch);
}

Status CudaQuantizer::quantize_current(kernels::LaunchStream stream, StepObserver& observer,
                                       int layer, const kernels::LaunchControls& launch) const {
  const QuantizedForm& first = first_form();
  {
    const WorkScope scope(observer, {.stage = Stage::Amax, .layer = layer});
    ENGINE_CUDA_TRY(
        kernels::group_amax({.input = setup_.input, .amax = amax_.as<float>(), .noop = setup_.noop},
                            stream),
        "Launching the amax kernel");
    ENGINE_CUDA_TRY(kernels::per_tensor_scale({.amax = amax_.as<float>(),
                                               .num_groups = setup_.input.num_groups,
                                               .format = first.layout.format,
                                               .options = options(),
                                               .scale = scale_.as<float>(),
                                               .scale_inv = first.scales.as<float>(),
                                               .noop = setup_.noop},
                                              stream),
                    "Launching the scale kernel");
  }
  const WorkScope scope(observer, {.stage = Stage::Quantize, .layer = layer});
  return check_cuda(kernels::quantize_per_tensor({.input = setup_.input,
                                                  .output_rows = setup_.output_rows,
                                                  .format = first.layout.format,
                                                  .scale = scale_.as<float>(),
                                                  .rowwise = codes(kRowwise),
                                                  .columnwise = codes(kColumnwise),
                                                  .bias_partials = setup_.bias_partials,
                                                  .controls = launch},
                                                 stream),
                    "Launching the per-tensor kernel");
}

/// As cast_delayed() of the CPU: the update first, so that scale_inv belongs to this step's codes.
Status CudaQuantizer::quantize_delayed(kernels::LaunchStream stream, StepObserver& observer,
                                       int layer, const kernels::LaunchControls& launch) const {
  const DelayedScaling& delayed = setup_.recipe.delayed;
  const QuantizedForm& first = first_form();
  {
    const WorkScope scope(observer, {.stage = Stage::Amax, .layer = layer});
    ENGINE_CUDA_TRY(kernels::delayed_scaling_update({.history = history_.as<float>(),
                                                     .length = delayed.history_length,
                                                     .num_groups = setup_.input.num_groups,
                                                     .algorithm = delayed.algorithm,
                                                     .margin = delayed.margin,
                                                     .format = first.layout.format,
                                                     .pow2 = setup_.recipe.pow2_scales,
                                                     .scale = scale_.as<float>(),
                                                     .scale_inv = first.scales.as<float>(),
                                                     .noop = setup_.noop},
                                                    stream),
                    "Launching the delayed-scaling update");
  }
  const WorkScope scope(observer, {.stage = Stage::Quantize, .layer = layer});
  return check_cuda(kernels::quantize_per_tensor({.input = setup_.input,
                                                  .output_rows = setup_.output_rows,
                                                  .format = first.layout.format,
                                                  .scale = scale_.as<float>(),
                                                  .rowwise = codes(kRowwise),
                                                  .columnwise = codes(kColumnwise),
                                                  .amax = history_.as<float>(),
                                                  .scale_inv = first.scales.as<float>(),
                                                  .bias_partials = setup_.bias_partials,
                                                  .controls = launch},
                                                 stream),
                    "Launching the per-tensor kernel");
}

Status CudaQuantizer::quantize_blocks(kernels::LaunchStream stream,
                                      const kernels::LaunchControls& launch) const {
  const auto output = [&](int index) -> kernels::BlockOutput {
    if (!forms_[index]) return {};
    const QuantizedForm& form = *forms_[index];
    return {.codes = form.codes.as<std::uint8_t>(),
            .scale_inv = form.scales.as<float>(),
            .block_amax = setup_.keep_block_amax ? form.amax.as<float>() : nullptr};
  };
  const kernels::QuantizeBlockArgs args{.input = setup_.input,
                                        .output_rows = setup_.output_rows,
                                        .format = first_form().layout.format,
                                        .options = options(),
                                        .rowwise = output(kRowwise),
                                        .columnwise = output(kColumnwise),
                                        .bias_partials = setup_.bias_partials,
                                        .controls = launch};
  const bool square = first_form().layout.kernel == QuantizeKernel::Block128x128;
  return check_cuda(
      (square ? kernels::quantize_block_128x128 : kernels::quantize_block_1x128)(args, stream),
      "Launching the block kernel");
}

Status CudaQuantizer::quantize_mxfp8(kernels::LaunchStream stream,
                                     const kernels::LaunchControls& launch) const {
  const auto output = [&](int index) -> kernels::Mxfp8Output {
    if (!forms_[index]) return {};
    return {.codes = codes(index), .scales = forms_[index]->scales.as<std::uint8_t>()};
  };
  return check_cuda(kernels::quantize_mxfp8({.input = setup_.input,
                                             .output_rows = setup_.output_rows,
                                             .format = first_form().layout.format,
                                             .square_blocks = first_form().layout.square,
                                             .layout = setup_.micro_scales,
                                             .rowwise = output(kRowwise),
                                             .columnwise = output(kColumnwise),
                                             .bias_partials = setup_.bias_partials,
                                             .controls = launch},
                                            stream),
                    "Launching the MXFP8 kernel");
}

Status CudaQuantizer::quantize_nvfp4(kernels::LaunchStream stream, StepObserver& observer,
                                     int layer, const kernels::LaunchControls& launch) const {
  const auto amax = [&](int index) {
    return forms_[index] ? forms_[index]->amax.as<float>() : nullptr;
  };
  const auto output = [&](int index) -> kernels::Nvfp4Output {
    if (!forms_[index]) return {};
    return {.codes = codes(index),
            .scales = forms_[index]->scales.as<std::uint8_t>(),
            .amax = amax(index)};
  };
  const bool hadamard = forms_[kColumnwise] && forms_[kColumnwise]->layout.hadamard;
  {
    const WorkScope scope(observer, {.stage = Stage::Amax, .layer = layer});
    ENGINE_CUDA_TRY(kernels::nvfp4_amax({.input = setup_.input,
                                         .hadamard = hadamard,
                                         .rowwise_amax = amax(kRowwise),
                                         .columnwise_amax = amax(kColumnwise),
                                         .noop = setup_.noop},
                                        stream),
                    "Launching the NVFP4 amax kernel");
  }
  const WorkScope scope(observer, {.stage = Stage::Quantize, .layer = layer});
  return check_cuda(
      kernels::quantize_nvfp4({.input = setup_.input,
                               .output_rows = setup_.output_rows,
                               .square_blocks = first_form().layout.square,
                               .hadamard = hadamard,
                               .stochastic_rounding = setup_.recipe.stochastic_rounding,
                               .random_state = random_state_.as<std::uint64_t>(),
                               .layout = setup_.micro_scales,
                               .rowwise = output(kRowwise),
                               .columnwise = output(kColumnwise),
                               .controls = launch},
                              stream),
      "Launching the NVFP4 kernel");
}

std::int64_t CudaQuantizer::amax_count(const QuantizedForm& form) const {
  switch (form.layout.kernel) {
    case QuantizeKernel::PerTensor:
    case QuantizeKernel::Nvfp4:
      return setup_.input.num_groups;
    case QuantizeKernel::Block1x128:
    case QuantizeKernel::Block128x128:
      return setup_.keep_block_amax ? form.layout.scale_capacity / kFloat : 0;
    case QuantizeKernel::Mxfp8:
      break;
  }
  return 0;
}

Result<CudaQuantizer::HostArrays> CudaQuantizer::download(Direction direction,
                                                          cudaStream_t stream) const {
  const QuantizedForm& form = *forms_[form_of(direction)];
  const DeviceBuffer& found = scales(direction);
  HostArrays host;
  host.codes.resize(static_cast<std::size_t>(form.layout.code_capacity));
  host.scales.resize(static_cast<std::size_t>(form.layout.scale_capacity));
  host.amax.resize(static_cast<std::size_t>(amax_count(form)));
  ENGINE_TRY(copy_to_host(std::span<std::uint8_t>(host.codes), form.codes.data(), stream));
  ENGINE_TRY(copy_to_host(std::span<std::uint8_t>(host.scales), found.data(), stream));
  ENGINE_TRY(copy_to_host(std::span<float>(host.amax), amax(direction).data(), stream));
  return host;
}

}  // namespace engine
