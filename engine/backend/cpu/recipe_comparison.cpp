#include "engine/backend/cpu/recipe_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>

#include "engine/backend/cpu/machine.h"
#include "engine/input/operand_store.h"
#include "engine/input/routing.h"
#include "engine/model/recipe_traits.h"
#include "engine/quantize/operand_numerics.h"
#include "engine/quantize/quantize_cpu.h"

namespace engine {
namespace {

using kernels::Direction;

Error stopped() { return {ErrorCode::Cancelled, "the comparison was cancelled"}; }

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// As many threads as the twins use: one core alone does not reach the memory's rate.
void copy_in_parallel(const std::byte* from, std::int64_t bytes, std::byte* to) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
#pragma omp parallel for schedule(static)
  for (std::int64_t first = 0; first < bytes; first += kPiece) {
    std::memcpy(to + first, from + first,
                static_cast<std::size_t>(std::min(kPiece, bytes - first)));
  }
}

class Comparison {
 public:
  Comparison(const ComparisonRequest& request, const DeviceFacts& device, RunContext context)
      : context_(context) {
    result_.request = request;
    if (result_.request.recipes.empty()) result_.request.recipes = default_comparison();
    result_.device = device;
  }

  Result<RecipeComparison> run() {
    const std::int64_t begin_ns = now_ns();
    ENGINE_TRY(load());
    units_ = 2.0 * static_cast<double>(result_.request.recipes.size());
    for (const Recipe& recipe : result_.request.recipes) {
      for (const Direction direction : {Direction::Rowwise, Direction::Columnwise}) {
        if (!add_report(recipe, direction)) return stopped();
      }
    }
    context_.progress.fraction.store(1.0);
    result_.wall_ns = now_ns() - begin_ns;
    return std::move(result_);
  }

 private:
  Status load() {
    const RunRequest& request = result_.request.request;
    context_.progress.stage.store(static_cast<int>(Stage::Memory));
    ENGINE_ASSIGN(const GroupedShape shape, resolve_shape(request));
    result_.splits = shape.splits;
    operand_ = compared_operand(result_.request, result_.splits);

    ENGINE_ASSIGN(std::unique_ptr<TensorSource> source,
                  open_source(request, operand_.role, /*layer=*/0));
    const std::int64_t elements = operand_.elements();
    const std::int64_t element = element_bytes(source->element());
    // The operand and its copy; codes and scales of one recipe, packed and as plain arrays.
    const std::int64_t wanted = elements * (2 * element + 1 + 1 + 4 + 4 + 4);
    const std::int64_t available = available_memory_bytes();
    if (available != 0 && wanted > available) {
      return Error{ErrorCode::OutOfMemory,
                   fmt::format("comparing recipes on this operand needs {:.1f} GiB and {:.1f} GiB "
                               "of memory are available; choose fewer tokens, or a smaller k",
                               static_cast<double>(wanted) / 0x1p30,
                               static_cast<double>(available) / 0x1p30)};
    }
    store_ = std::make_unique<OperandStore>(std::move(source), /*keep=*/true);
    input_ = {.input = store_->rows(0, operand_.all_rows()),
              .type = store_->element(),
              .row_offsets = operand_.row_offsets.data(),
              .num_groups = static_cast<int>(operand_.rows.size()),
              .capacity_rows = operand_.all_rows(),
              .columns = operand_.columns};
    operand_bytes_ = elements * element;
    result_.copy_bytes = 2 * operand_bytes_;
    copy_.reserve(std::max<std::int64_t>(operand_bytes_, 1));
    return {};
  }

  /// False when cancelled.
  bool add_report(const Recipe& recipe, Direction direction) {
    if (cancelled()) return false;
    QuantizationReport& report = result_.reports.emplace_back();
    report.recipe = recipe;
    report.columnwise = direction == Direction::Columnwise;
    report.refused = quantize_refusal(recipe);
    if (report.refused.empty() && operand_.all_rows() == 0) {
      report.refused = "the operand has no rows";
    }
    if (!report.refused.empty()) {
      advance(1.0);
      return true;
    }
    CpuQuantizer quantizer({.recipe = recipe,
                            .role = operand_.role,
                            .direction = direction,
                            .input = input_,
                            .seed = result_.request.request.seed});
    context_.progress.stage.store(static_cast<int>(Stage::Quantize));
    for (int step = 0; step < traits_of(recipe).steps_to_settle(); ++step) quantizer.quantize();
    report.code_bytes = quantizer.written_code_bytes();
    report.scale_bytes = quantizer.written_scale_bytes();
    report.moved_bytes = quantizer.moved_bytes();
    context_.progress.stage.store(static_cast<int>(Stage::Check));
    measure(quantizer, report);
    advance(0.5);
    return time(quantizer, report);
  }

  void measure(const CpuQuantizer& quantizer, QuantizationReport& report) {
    const kernels::QuantizedView view = quantizer.view();
    unpack_operand(quantizer.layout(), view, operand_.rows, unpacked_);
    measure_report(input_, quantizer.layout(), view, operand_.rows, unpacked_,
                   quantizer.amax().empty() ? nullptr : quantizer.amax().data(), report);
    report.sample = sample_operand(input_, unpacked_, result_.request.sample_row,
                                   result_.request.sample_column);
  }

  /// Quantize and copy interleaved, so that both see the same state of the machine.
  bool time(CpuQuantizer& quantizer, QuantizationReport& report) {
    context_.progress.stage.store(static_cast<int>(Stage::Quantize));
    const int launches = result_.request.timed_launches;
    for (int launch = 0; launch < launches; ++launch) {
      if (cancelled()) return false;
      const std::int64_t copy_start = now_ns();
      copy_in_parallel(static_cast<const std::byte*>(input_.input), operand_bytes_, copy_.get());
      const std::int64_t start = now_ns();
      quantizer.quantize();
      report.times_ns.push_back(now_ns() - start);
      result_.copy_times_ns.push_back(start - copy_start);
      advance(0.5 / launches);
    }
    if (launches == 0) advance(0.5);
    report.time_method =
        "steady clock around each call, a copy of the operand on all cores between";
    return true;
  }

  void advance(double units) {
    done_ += units;
    context_.progress.fraction.store(done_ / units_);
  }
  bool cancelled() const { return context_.progress.cancel.load(std::memory_order_relaxed); }

  RunContext context_;
  RecipeComparison result_;
  ComparedOperand operand_;
  std::unique_ptr<OperandStore> store_;
  kernels::GroupedInput input_;
  std::int64_t operand_bytes_ = 0;
  Buffer<std::byte> copy_;
  UnpackedOperand unpacked_;
  double done_ = 0.0;
  double units_ = 1.0;
};

}  // namespace

Result<RecipeComparison> compare_on_cpu(const ComparisonRequest& request, const DeviceFacts& device,
                                        RunContext context) {
  return Comparison(request, device, context).run();
}

}  // namespace engine
