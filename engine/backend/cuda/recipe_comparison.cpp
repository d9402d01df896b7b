#include "engine/backend/cuda/recipe_comparison.h"

#include <chrono>

#include "engine/input/routing.h"
#include "engine/model/recipe_traits.h"
#include "engine/quantize/operand_numerics.h"
#include "engine/quantize/quantize_cuda.h"

namespace engine {
namespace {

using kernels::Direction;

class DeviceComparison {
 public:
  DeviceComparison(const ComparisonRequest& request, const DeviceFacts& device, cudaStream_t stream,
                   RunContext context)
      : stream_(stream), context_(context) {
    result_.request = request;
    if (result_.request.recipes.empty()) result_.request.recipes = default_comparison();
    result_.device = device;
  }

  Result<RecipeComparison> run(DeviceOperands& operands) {
    const auto begin = std::chrono::steady_clock::now();
    ENGINE_TRY(load(operands));
    for (const Recipe& recipe : result_.request.recipes) {
      for (const Direction direction : {Direction::Rowwise, Direction::Columnwise}) {
        ENGINE_TRY(add_report(recipe, direction));
      }
    }
    context_.progress.fraction.store(1.0);
    result_.wall_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::steady_clock::now() - begin)
                          .count();
    return std::move(result_);
  }

 private:
  Status load(DeviceOperands& operands) {
    const RunRequest& request = result_.request.request;
    context_.progress.stage.store(static_cast<int>(Stage::Memory));
    ENGINE_ASSIGN(const GroupedShape shape, resolve_shape(request));
    result_.splits = shape.splits;
    operand_ = compared_operand(result_.request, result_.splits);
    const DeviceOperandKey key = device_operand_key(request, operand_.role, 0);
    operands.keep_only({key});
    ENGINE_ASSIGN(const DeviceOperands::Operand* operand,
                  operands.get(request, key, stream_, context_.progress));

    const std::int64_t elements = operand_.elements();
    const auto offset_bytes =
        static_cast<std::int64_t>(operand_.row_offsets.size() * sizeof(std::int64_t));
    ENGINE_TRY(allocate(device_offsets_, offset_bytes, AllocationRole::Splits,
                        "offsets of the comparison"));
    ENGINE_TRY(allocate(copy_, 2 * elements, AllocationRole::Check, "copy of the comparison"));
    ENGINE_TRY(copy_to_device(device_offsets_.data(),
                              std::span<const std::int64_t>(operand_.row_offsets), stream_));
    values_.resize(static_cast<std::size_t>(elements));
    ENGINE_TRY(copy_to_host(std::span<std::uint16_t>(values_), operand->values.data(), stream_));
    device_input_ = {.input = operand->values.data(),
                     .type = kernels::InputType::Bf16,
                     .row_offsets = device_offsets_.as<std::int64_t>(),
                     .num_groups = static_cast<int>(operand_.rows.size()),
                     .capacity_rows = operand_.all_rows(),
                     .columns = operand_.columns};
    host_input_ = device_input_;
    host_input_.input = values_.data();
    host_input_.row_offsets = operand_.row_offsets.data();
    result_.copy_bytes = 4 * elements;
    for (Event& event : events_) {
      ENGINE_ASSIGN(event, make_timing_event());
    }
    return {};
  }

  static Status allocate(DeviceBuffer& buffer, std::int64_t bytes, AllocationRole role,
                         const char* owner) {
    ENGINE_ASSIGN(buffer, DeviceBuffer::allocate(bytes, {role, owner}));
    return {};
  }

  Status add_report(const Recipe& recipe, Direction direction) {
    ENGINE_TRY(advance(0.0));
    QuantizationReport& report = result_.reports.emplace_back();
    report.recipe = recipe;
    report.columnwise = direction == Direction::Columnwise;
    report.refused = quantize_refusal(recipe);
    if (report.refused.empty() && operand_.all_rows() == 0) {
      report.refused = "the operand has no rows";
    }
    if (!report.refused.empty()) return advance(1.0);
    ENGINE_ASSIGN(CudaQuantizer quantizer,
                  CudaQuantizer::create({.recipe = recipe,
                                         .role = operand_.role,
                                         .rowwise = !report.columnwise,
                                         .columnwise = report.columnwise,
                                         .input = device_input_,
                                         .seed = result_.request.request.seed,
                                         .keep_block_amax = true},
                                        stream_));
    context_.progress.stage.store(static_cast<int>(Stage::Quantize));
    for (int step = 0; step < traits_of(recipe).steps_to_settle(); ++step) {
      ENGINE_TRY(quantizer.quantize(stream_, unobserved_));
    }
    ENGINE_TRY(measure(quantizer, report));
    ENGINE_TRY(advance(0.5));
    return time(quantizer, report);
  }

  Status measure(const CudaQuantizer& quantizer, QuantizationReport& report) {
    const Direction direction = report.columnwise ? Direction::Columnwise : Direction::Rowwise;
    ENGINE_ASSIGN(const CudaQuantizer::HostArrays host, quantizer.download(direction, stream_));
    context_.progress.stage.store(static_cast<int>(Stage::Check));
    const OperandLayout& layout = quantizer.form(direction)->layout;
    const std::int64_t columns = host_input_.columns;
    const kernels::QuantizedView view =
        quantized_view(layout,
                       {.capacity_rows = host_input_.capacity_rows,
                        .num_groups = host_input_.num_groups,
                        .columns = columns},
                       {.codes = host.codes.data(),
                        .scales = host.scales.data(),
                        .amax = host.amax.data(),
                        .row_offsets = operand_.row_offsets.data()});
    unpack_operand(layout, view, operand_.rows, unpacked_);
    measure_report(host_input_, layout, view, operand_.rows, unpacked_, host.amax.data(), report);
    report.sample = sample_operand(host_input_, unpacked_, result_.request.sample_row,
                                   result_.request.sample_column);
    report.code_bytes = written_code_bytes(layout, operand_.rows, columns);
    report.scale_bytes = written_scale_bytes(layout, operand_.rows, columns);
    const std::int64_t passes = traits_of(report.recipe).reads();
    report.moved_bytes =
        passes * 2 * operand_.all_rows() * columns + report.code_bytes + report.scale_bytes;
    return {};
  }

  /// Copy and launch interleaved: both see the same clocks and the same state of the caches.
  Status time(const CudaQuantizer& quantizer, QuantizationReport& report) {
    context_.progress.stage.store(static_cast<int>(Stage::Quantize));
    const int launches = result_.request.timed_launches;
    for (int launch = 0; launch < launches; ++launch) {
      ENGINE_CUDA_TRY(cudaEventRecord(events_[0].get(), stream_), "Recording an event");
      ENGINE_CUDA_TRY(cudaMemcpyAsync(copy_.data(), device_input_.input, copy_.bytes(),
                                      cudaMemcpyDeviceToDevice, stream_),
                      "Copying the operand");
      ENGINE_CUDA_TRY(cudaEventRecord(events_[1].get(), stream_), "Recording an event");
      ENGINE_TRY(quantizer.quantize(stream_, unobserved_));
      ENGINE_CUDA_TRY(cudaEventRecord(events_[2].get(), stream_), "Recording an event");
      ENGINE_CUDA_TRY(cudaEventSynchronize(events_[2].get()), "Waiting for a quantize kernel");
      ENGINE_TRY(add_time(0, result_.copy_times_ns));
      ENGINE_TRY(add_time(1, report.times_ns));
      ENGINE_TRY(advance(0.5 / launches));
    }
    report.time_method = "CUDA events around each call, a device copy of the operand between";
    return launches == 0 ? advance(0.5) : Status();
  }

  Status add_time(std::size_t first, std::vector<std::int64_t>& times) {
    float milliseconds = 0.0F;
    ENGINE_CUDA_TRY(
        cudaEventElapsedTime(&milliseconds, events_[first].get(), events_[first + 1].get()),
        "Reading a time");
    times.push_back(static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6));
    return {};
  }

  Status advance(double units) {
    done_ += units;
    const double all = 2.0 * static_cast<double>(result_.request.recipes.size());
    context_.progress.fraction.store(done_ / all);
    if (!context_.progress.cancel.load()) return {};
    return Error{ErrorCode::Cancelled, "the comparison was cancelled"};
  }

  cudaStream_t stream_;
  RunContext context_;
  RecipeComparison result_;
  ComparedOperand operand_;
  std::vector<std::uint16_t> values_;  // the operand, on the host
  DeviceBuffer device_offsets_;
  DeviceBuffer copy_;
  kernels::GroupedInput device_input_;
  kernels::GroupedInput host_input_;
  UnpackedOperand unpacked_;
  Event events_[3];
  StepObserver unobserved_;
  double done_ = 0.0;
};

}  // namespace

Result<RecipeComparison> compare_on_cuda(const ComparisonRequest& request,
                                         const DeviceFacts& device, DeviceOperands& operands,
                                         cudaStream_t stream, RunContext context) {
  return DeviceComparison(request, device, stream, context).run(operands);
}

}  // namespace engine
