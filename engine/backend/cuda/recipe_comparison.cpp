#include "engine/backend/cuda/recipe_comparison.h"

#include <cmath>
#include <optional>
#include <utility>

#include "engine/quantize/compare_recipes.h"
#include "engine/quantize/quantize_cuda.h"

namespace engine {
namespace {

class DeviceSide final : public ComparisonSide {
 public:
  DeviceSide(DeviceOperands& operands, cudaStream_t stream)
      : operands_(operands), stream_(stream) {}

  /// A device keeps the operands of its steps whole.
  bool loads_parts() const override { return false; }

  Result<kernels::GroupedInput> load(const RunRequest& request, const ComparedOperand& operand,
                                     RunProgress& progress) override {
    role_ = operand.role;
    seed_ = request.seed;
    const DeviceOperandKey key = device_operand_key(request, operand.role, 0);
    operands_.keep_only({key});
    const auto upload = [&] {
      const AllocationScope name({AllocationRole::Input, std::string(name_of(operand.role))});
      return operands_.get(request, key, stream_, progress);
    };
    ENGINE_ASSIGN(const DeviceOperands::Operand* uploaded, upload());

    const std::int64_t elements = operand.elements();
    const auto offset_bytes =
        static_cast<std::int64_t>(operand.row_offsets.size() * sizeof(std::int64_t));
    ENGINE_ASSIGN(device_offsets_,
                  DeviceBuffer::allocate(offset_bytes,
                                         {AllocationRole::Splits, "offsets of the comparison"}));
    ENGINE_ASSIGN(copy_, DeviceBuffer::allocate(2 * elements,
                                                {AllocationRole::Check, "copy of the comparison"}));
    ENGINE_TRY(copy_to_device(device_offsets_.data(),
                              std::span<const std::int64_t>(operand.row_offsets), stream_));
    values_.resize(static_cast<std::size_t>(elements));
    ENGINE_TRY(copy_to_host(std::span<std::uint16_t>(values_), uploaded->values.data(), stream_));
    device_input_ = {.input = uploaded->values.data(),
                     .type = kernels::InputType::Bf16,
                     .row_offsets = device_offsets_.as<std::int64_t>(),
                     .num_groups = static_cast<int>(operand.rows.size()),
                     .capacity_rows = operand.all_rows(),
                     .columns = operand.columns};
    host_input_ = device_input_;
    host_input_.input = values_.data();
    host_input_.row_offsets = operand.row_offsets.data();
    for (Event& event : events_) {
      ENGINE_ASSIGN(event, make_timing_event());
    }
    return host_input_;
  }

  Status make_quantizer(const Recipe& recipe, kernels::Direction direction) override {
    direction_ = direction;
    quantizer_.reset();  // never the memory of two
    ENGINE_ASSIGN(quantizer_,
                  CudaQuantizer::create({.recipe = recipe,
                                         .role = role_,
                                         .rowwise = direction == kernels::Direction::Rowwise,
                                         .columnwise = direction == kernels::Direction::Columnwise,
                                         .input = device_input_,
                                         .seed = seed_,
                                         .keep_block_amax = true},
                                        stream_));
    return {};
  }

  Status quantize() override { return quantizer_->quantize(stream_, unobserved_); }

  Result<HostQuantized> download() override {
    host_ = {};
    ENGINE_ASSIGN(host_, quantizer_->download(direction_, stream_));
    kernels::QuantizedView view = quantizer_->view(direction_);
    view.codes = host_.codes.data();
    view.scales = host_.scales.data();
    view.amax = host_.amax.data();
    view.row_offsets = host_input_.row_offsets;
    return HostQuantized{
        .layout = quantizer_->form(direction_)->layout, .view = view, .amax = host_.amax.data()};
  }

  Result<Times> time() override {
    ENGINE_CUDA_TRY(cudaEventRecord(events_[0].get(), stream_), "Recording an event");
    ENGINE_CUDA_TRY(cudaMemcpyAsync(copy_.data(), device_input_.input, copy_.bytes(),
                                    cudaMemcpyDeviceToDevice, stream_),
                    "Copying the operand");
    ENGINE_CUDA_TRY(cudaEventRecord(events_[1].get(), stream_), "Recording an event");
    ENGINE_TRY(quantize());
    ENGINE_CUDA_TRY(cudaEventRecord(events_[2].get(), stream_), "Recording an event");
    ENGINE_CUDA_TRY(cudaEventSynchronize(events_[2].get()), "Waiting for a quantize kernel");
    ENGINE_ASSIGN(const double copy, elapsed_ns(events_[0], events_[1]));
    ENGINE_ASSIGN(const double launch, elapsed_ns(events_[1], events_[2]));
    return Times{.copy_ns = std::llround(copy), .quantize_ns = std::llround(launch)};
  }

  std::string time_method() const override {
    return "CUDA events around each call, a device copy of the operand between";
  }

 private:
  DeviceOperands& operands_;
  cudaStream_t stream_;
  OperandRole role_ = OperandRole::Activations;
  std::uint64_t seed_ = 0;
  std::vector<std::uint16_t> values_;  // the operand, on the host
  DeviceBuffer device_offsets_;
  DeviceBuffer copy_;
  kernels::GroupedInput device_input_;
  kernels::GroupedInput host_input_;
  kernels::Direction direction_ = kernels::Direction::Rowwise;
  std::optional<CudaQuantizer> quantizer_;
  CudaQuantizer::HostArrays host_;
  Event events_[3];
  StepObserver unobserved_;
};

}  // namespace

Result<RecipeComparison> compare_on_cuda(const ComparisonRequest& request,
                                         const DeviceFacts& device, DeviceOperands& operands,
                                         cudaStream_t stream, RunContext context) {
  DeviceSide side(operands, stream);
  return compare_recipes(request, device, side, context.progress);
}

}  // namespace engine
