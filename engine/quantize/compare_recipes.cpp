#include "engine/quantize/compare_recipes.h"

#include "engine/input/routing.h"
#include "engine/model/clock.h"
#include "engine/model/recipe_traits.h"

namespace engine {
namespace {

using kernels::Direction;

class Comparison {
 public:
  Comparison(const ComparisonRequest& request, const DeviceFacts& device, ComparisonSide& side,
             RunProgress& progress)
      : side_(side), progress_(progress) {
    result_.request = request;
    result_.request.recipes = compared_recipes(request);
    result_.device = device;
  }

  Result<RecipeComparison> run() {
    const std::int64_t begin_ns = steady_ns();
    ENGINE_TRY(load());
    for (const Recipe& recipe : result_.request.recipes) {
      for (const Direction direction : {Direction::Rowwise, Direction::Columnwise}) {
        ENGINE_TRY(add_report(recipe, direction));
      }
    }
    progress_.fraction.store(1.0);
    result_.wall_ns = steady_ns() - begin_ns;
    return std::move(result_);
  }

 private:
  Status load() {
    show(Stage::Memory);
    ENGINE_ASSIGN(const GroupedShape shape, resolve_shape(result_.request.request));
    result_.splits = shape.splits;
    operand_ = compared_operand(result_.request, result_.splits);
    ENGINE_ASSIGN(input_, side_.load(result_.request.request, operand_, progress_));
    ENGINE_TRY(place_sample());
    result_.copy_bytes = 2 * operand_.elements() * element_bytes(input_.type);
    return {};
  }

  /// The same for every report.
  Status place_sample() {
    const ComparisonRequest& request = result_.request;
    sample_ = {request.sample_row, request.sample_column};
    if (request.sample_rows == 0 || request.sample_columns == 0) return {};
    // Strip by strip, so that Cancel has an answer.
    constexpr std::int64_t kStripElements = std::int64_t{1} << 24;
    const std::int64_t strip = std::max<std::int64_t>(kStripElements / request.sample_columns, 1);
    const std::int64_t end = std::min(sample_.row + request.sample_rows, operand_.all_rows());
    ElementPlace largest = sample_;
    float amax = -1.0F;
    for (std::int64_t row = sample_.row; row < end; row += strip) {
      const ElementPlace found = largest_element(
          input_, {row, sample_.column}, std::min(strip, end - row), request.sample_columns);
      const bool inside = found.column < operand_.columns;
      const float magnitude =
          inside ? std::abs(element_value(input_, found.row * operand_.columns + found.column))
                 : -1.0F;
      if (std::isfinite(magnitude) && magnitude > amax) {
        amax = magnitude;
        largest = found;
      }
      ENGINE_TRY(advance(0.0));
    }
    // With a few neighbours before it.
    sample_ = {std::max<std::int64_t>(largest.row - 2, 0),
               std::max<std::int64_t>(largest.column - 2, 0)};
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
    show(Stage::Quantize);
    ENGINE_TRY(side_.make_quantizer(recipe, direction));
    for (int step = 0; step < traits_of(recipe).warm_up_steps(); ++step) {
      ENGINE_TRY(side_.quantize());
    }
    ENGINE_TRY(measure(report));
    ENGINE_TRY(advance(0.5));
    return time(report);
  }

  Status measure(QuantizationReport& report) {
    ENGINE_ASSIGN(const HostQuantized quantized, side_.download());
    const auto& [layout, view, amax] = quantized;
    show(Stage::Check);
    unpack_operand(view, unpacked_);
    measure_report(input_, layout, view, operand_.rows, unpacked_, amax, report);
    report.sample = sample_operand(input_, unpacked_, sample_.row, sample_.column);
    report.code_bytes = written_code_bytes(layout, operand_.rows, operand_.columns);
    report.scale_bytes = written_scale_bytes(layout, operand_.rows, operand_.columns);
    report.moved_bytes =
        traits_of(report.recipe).reads() * operand_.elements() * element_bytes(input_.type) +
        report.code_bytes + report.scale_bytes;
    return {};
  }

  /// Copies and launches are interleaved.
  Status time(QuantizationReport& report) {
    show(Stage::Quantize);
    report.time_method = side_.time_method();
    const int launches = result_.request.timed_launches;
    for (int launch = 0; launch < launches; ++launch) {
      ENGINE_ASSIGN(const ComparisonSide::Times times, side_.time());
      result_.copy_times_ns.push_back(times.copy_ns);
      report.times_ns.push_back(times.quantize_ns);
      ENGINE_TRY(advance(0.5 / launches));
    }
    return launches == 0 ? advance(0.5) : Status();
  }

  void show(Stage stage) { progress_.stage.store(static_cast<int>(stage)); }

  /// By shares of a report.
  Status advance(double share) {
    done_ += share;
    const double all = 2.0 * static_cast<double>(result_.request.recipes.size());
    progress_.fraction.store(done_ / all);
    if (!progress_.cancel.load()) return {};
    return Error{ErrorCode::Cancelled, "the comparison was cancelled"};
  }

  ComparisonSide& side_;
  RunProgress& progress_;
  RecipeComparison result_;
  ComparedOperand operand_;
  kernels::GroupedInput input_;  // on the host
  ElementPlace sample_;          // first row and column of every sample
  UnpackedOperand unpacked_;
  double done_ = 0.0;
};

}  // namespace

Result<RecipeComparison> compare_recipes(const ComparisonRequest& request,
                                         const DeviceFacts& device, ComparisonSide& side,
                                         RunProgress& progress) {
  return Comparison(request, device, side, progress).run();
}

}  // namespace engine
