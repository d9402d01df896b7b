#include "engine/quantize/quantize_cuda.h"

#include <algorithm>

#include "engine/model/recipe_traits.h"
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
  // Per tensor both forms share one amax and one scale.
  if (layout.per_tensor()) {
    if (!first) bytes.scales = 0;
  } else if (!layout.fp32_scales() || setup.keep_block_amax) {
    bytes.amax = kFloat * amax_count(layout, setup.input.num_groups);
  }
  return bytes;
}

Status take(DeviceBuffer& buffer, std::int64_t bytes, std::string owner,
            AllocationRole role = AllocationRole::Quantized, BufferLife life = BufferLife::Step) {
  ENGINE_ASSIGN(buffer, DeviceBuffer::allocate(bytes, {role, std::move(owner), life}));
  return {};
}

Status clear(const DeviceBuffer& buffer, cudaStream_t stream) {
  if (!buffer) return {};
  return check_cuda(cudaMemsetAsync(buffer.data(), 0, buffer.bytes(), stream),
                    "Clearing a quantized operand");
}

}  // namespace

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
    // Products read the padding of swizzled scales and of the codes beside them, which must not be
    // what another graph has left there.
    const bool swizzled = setup_.micro_scales == kernels::MicroScaleLayout::Swizzled;
    const BufferLife asked = form == kRowwise ? setup_.rowwise_life : setup_.columnwise_life;
    const BufferLife life = swizzled ? BufferLife::Step : asked;
    ENGINE_TRY(take(made.codes, bytes.codes, way + "codes", AllocationRole::Quantized, life));
    // One scale per group may serve both forms, and is small.
    const BufferLife scale_life = made.layout.per_tensor() ? BufferLife::Step : life;
    if (bytes.scales > 0) {
      ENGINE_TRY(
          take(made.scales, bytes.scales, way + "scales", AllocationRole::Quantized, scale_life));
    }
    if (bytes.amax > 0) ENGINE_TRY(take(made.amax, bytes.amax, way + "amax"));
    // Padding may never be written, but products read it, and it is copied back.
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
  if (traits_of(setup_.recipe).remembers_amax()) {
    ENGINE_TRY(
        take(history_, kFloat * setup_.recipe.delayed.history_length * groups, "amax history"));
    ENGINE_TRY(clear(history_, stream));
  }
  if (!traits_of(setup_.recipe).stochastic_rounding) return {};
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
  if (traits_of(setup.recipe).remembers_amax()) {
    total += kFloat * setup.recipe.delayed.history_length * setup.input.num_groups;
  }
  return total;
}

bool CudaQuantizer::per_tensor() const { return first_form().layout.per_tensor(); }

const QuantizedForm* CudaQuantizer::form(Direction direction) const {
  const std::optional<QuantizedForm>& form = forms_[form_of(direction)];
  return form ? &*form : nullptr;
}

const DeviceBuffer& CudaQuantizer::scales(Direction direction) const {
  return per_tensor() ? first_form().scales : forms_[form_of(direction)]->scales;
}

const DeviceBuffer& CudaQuantizer::amax(Direction direction) const {
  // Delayed scaling's amax of this step is the first row of its history.
  if (traits_of(setup_.recipe).remembers_amax()) return history_;
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
  view.joined = index == kColumnwise && setup_.output_rows.joined;
  return view;
}

std::uint8_t* CudaQuantizer::codes(int form) const {
  return forms_[form] ? forms_[form]->codes.as<std::uint8_t>() : nullptr;
}

kernels::LaunchControls CudaQuantizer::controls(kernels::StampBuffer stamps) const {
  return {.noop = setup_.noop, .stamps = stamps, .tickets = tickets_.as<std::uint32_t>()};
}

Status CudaQuantizer::quantize(kernels::LaunchStream stream, StepObserver& observer,
                               const WorkTag& work, kernels::StampBuffer stamps) const {
  const Kernels passes = kernels_of(first_form().layout.kernel);
  if (passes.amax != nullptr) {
    const WorkScope scope(
        observer,
        {.stage = Stage::Amax, .layer = work.layer, .writes = without_forms(work.writes)});
    ENGINE_TRY((this->*passes.amax)(stream));
  }
  const WorkScope scope(observer,
                        {.stage = Stage::Quantize, .layer = work.layer, .writes = work.writes});
  return (this->*passes.codes)(stream, controls(stamps));
}

CudaQuantizer::Kernels CudaQuantizer::kernels_of(QuantizeKernel kernel) {
  switch (kernel) {
    case QuantizeKernel::PerTensor:
      return {&CudaQuantizer::scale_per_tensor, &CudaQuantizer::quantize_per_tensor};
    case QuantizeKernel::Block:
      return {nullptr, &CudaQuantizer::quantize_blocks};
    case QuantizeKernel::Mxfp8:
      return {nullptr, &CudaQuantizer::quantize_mxfp8};
    case QuantizeKernel::Nvfp4:
      break;
  }
  return {&CudaQuantizer::nvfp4_amax, &CudaQuantizer::quantize_nvfp4};
}

Status CudaQuantizer::scale_per_tensor(kernels::LaunchStream stream) const {
  const QuantizedForm& first = first_form();
  if (traits_of(setup_.recipe).remembers_amax()) {
    const DelayedScaling& delayed = setup_.recipe.delayed;
    return check_cuda(kernels::delayed_scaling_update({.history = history_.as<float>(),
                                                       .length = delayed.history_length,
                                                       .num_groups = setup_.input.num_groups,
                                                       .algorithm = delayed.algorithm,
                                                       .margin = delayed.margin,
                                                       .format = first.layout.format,
                                                       .pow2 = scale_options(setup_.recipe).pow2,
                                                       .scale = scale_.as<float>(),
                                                       .scale_inv = first.scales.as<float>(),
                                                       .noop = setup_.noop},
                                                      stream),
                      "Launching the delayed-scaling update");
  }
  ENGINE_CUDA_TRY(
      kernels::group_amax({.input = setup_.input, .amax = amax_.as<float>(), .noop = setup_.noop},
                          stream),
      "Launching the amax kernel");
  return check_cuda(kernels::per_tensor_scale({.amax = amax_.as<float>(),
                                               .num_groups = setup_.input.num_groups,
                                               .format = first.layout.format,
                                               .options = scale_options(setup_.recipe),
                                               .scale = scale_.as<float>(),
                                               .scale_inv = first.scales.as<float>(),
                                               .noop = setup_.noop},
                                              stream),
                    "Launching the scale kernel");
}

Status CudaQuantizer::quantize_per_tensor(kernels::LaunchStream stream,
                                          const kernels::LaunchControls& launch) const {
  const QuantizedForm& first = first_form();
  // A history takes this step's amax from the same pass, and scale_inv belongs to its codes.
  const bool history = traits_of(setup_.recipe).remembers_amax();
  return check_cuda(
      kernels::quantize_per_tensor({.input = setup_.input,
                                    .output_rows = setup_.output_rows,
                                    .format = first.layout.format,
                                    .scale = scale_.as<float>(),
                                    .rowwise = codes(kRowwise),
                                    .columnwise = codes(kColumnwise),
                                    .amax = history ? history_.as<float>() : nullptr,
                                    .scale_inv = history ? first.scales.as<float>() : nullptr,
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
  const OperandLayout& layout = first_form().layout;
  const kernels::QuantizeBlockArgs args{.input = setup_.input,
                                        .output_rows = setup_.output_rows,
                                        .format = layout.format,
                                        .block = layout.block,
                                        .options = scale_options(setup_.recipe),
                                        .rowwise = output(kRowwise),
                                        .columnwise = output(kColumnwise),
                                        .bias_partials = setup_.bias_partials,
                                        .controls = launch};
  return check_cuda((layout.square ? kernels::quantize_block_squares
                                   : kernels::quantize_block_lines)(args, stream),
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

float* CudaQuantizer::form_amax(int form) const {
  return forms_[form] ? forms_[form]->amax.as<float>() : nullptr;
}

bool CudaQuantizer::hadamard() const {
  return forms_[kColumnwise] && forms_[kColumnwise]->layout.hadamard;
}

Status CudaQuantizer::nvfp4_amax(kernels::LaunchStream stream) const {
  return check_cuda(kernels::nvfp4_amax({.input = setup_.input,
                                         .hadamard = hadamard(),
                                         .rowwise_amax = form_amax(kRowwise),
                                         .columnwise_amax = form_amax(kColumnwise),
                                         .noop = setup_.noop},
                                        stream),
                    "Launching the NVFP4 amax kernel");
}

Status CudaQuantizer::quantize_nvfp4(kernels::LaunchStream stream,
                                     const kernels::LaunchControls& launch) const {
  const auto output = [&](int index) -> kernels::Nvfp4Output {
    if (!forms_[index]) return {};
    return {.codes = codes(index),
            .scales = forms_[index]->scales.as<std::uint8_t>(),
            .amax = form_amax(index)};
  };
  return check_cuda(
      kernels::quantize_nvfp4({.input = setup_.input,
                               .output_rows = setup_.output_rows,
                               .square_blocks = first_form().layout.square,
                               .hadamard = hadamard(),
                               .stochastic_rounding = setup_.recipe.stochastic_rounding,
                               .random_state = random_state_.as<std::uint64_t>(),
                               .layout = setup_.micro_scales,
                               .rowwise = output(kRowwise),
                               .columnwise = output(kColumnwise),
                               .controls = launch},
                              stream),
      "Launching the NVFP4 kernel");
}

Result<CudaQuantizer::HostArrays> CudaQuantizer::download(Direction direction,
                                                          cudaStream_t stream) const {
  const QuantizedForm& form = *forms_[form_of(direction)];
  const DeviceBuffer& found = scales(direction);
  HostArrays host;
  host.codes.resize(static_cast<std::size_t>(form.layout.code_capacity));
  host.scales.resize(static_cast<std::size_t>(form.layout.scale_capacity));
  const bool kept = setup_.keep_block_amax || form.layout.per_tensor() || form.layout.e2m1();
  const std::int64_t amax_values = kept ? amax_count(form.layout, setup_.input.num_groups) : 0;
  host.amax.resize(static_cast<std::size_t>(amax_values));
  ENGINE_TRY(copy_to_host(std::span<std::uint8_t>(host.codes), form.codes.data(), stream));
  ENGINE_TRY(copy_to_host(std::span<std::uint8_t>(host.scales), found.data(), stream));
  ENGINE_TRY(copy_to_host(std::span<float>(host.amax), amax(direction).data(), stream));
  return host;
}

}  // namespace engine
