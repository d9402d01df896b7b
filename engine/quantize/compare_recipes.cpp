#include "engine/quantize/compare_recipes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "engine/input/routing.h"
#include "engine/model/clock.h"
#include "engine/model/recipe_traits.h"
#include "engine/quantize/compared_source.h"

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
    if (may_leave_out()) {
      ENGINE_TRY(place_sample_in_source());
      operand_ = with_rows(operand_, sample_.row, kMaxSampleSide);
    }
    ENGINE_ASSIGN(input_, side_.load(result_.request.request, operand_, progress_));
    if (may_leave_out()) {
      sample_.row -= operand_.first_row;
    } else {
      ENGINE_TRY(place_sample([this](std::int64_t row, std::int64_t rows, std::int64_t columns) {
        return largest_in(input_, {row, sample_.column}, rows, columns);
      }));
    }
    result_.copy_bytes = 2 * operand_.elements() * element_bytes(input_.type);
    return {};
  }

  /// Whether experts without rows in the sample can be left out. Stochastic rounding draws by the
  /// position in the operand, and would draw other numbers for a part of it.
  bool may_leave_out() const {
    const ComparisonRequest& request = result_.request;
    return request.only_sample && side_.loads_parts() && request.timed_launches == 0 &&
           std::ranges::none_of(request.recipes, &Recipe::stochastic_rounding);
  }

  struct Largest {
    ElementPlace place;
    float magnitude = -1.0F;  // below 0: there is none
  };
  /// Of the region of this size at `first`.
  static Largest largest_in(const kernels::GroupedInput& input, ElementPlace first,
                            std::int64_t rows, std::int64_t columns) {
    const ElementPlace place = largest_element(input, first, rows, columns);
    if (place.column >= input.columns) return {place};
    const float magnitude =
        std::abs(element_value(input, place.row * input.columns + place.column));
    return {place, std::isfinite(magnitude) ? magnitude : -1.0F};
  }

  /// Reads the region's rows strip by strip: the whole operand may be larger than memory.
  Status place_sample_in_source() {
    const RunRequest& request = result_.request.request;
    ENGINE_ASSIGN(const std::unique_ptr<TensorSource> source,
                  open_compared_source(request, operand_.role, result_.splits));
    std::vector<float> values;
    ENGINE_TRY(place_sample([&](std::int64_t row, std::int64_t rows, std::int64_t columns) {
      values.resize(static_cast<std::size_t>(rows * operand_.columns));
      source->read_f32(row, rows, values);
      const std::array<std::int64_t, 2> offsets{0, rows};
      const kernels::GroupedInput strip{.input = values.data(),
                                        .type = ElementType::Fp32,
                                        .row_offsets = offsets.data(),
                                        .num_groups = 1,
                                        .capacity_rows = rows,
                                        .columns = operand_.columns};
      Largest found = largest_in(strip, {0, sample_.column}, rows, columns);
      found.place.row += row;
      return found;
    }));
    // At the end of the operand it moves up, as sample_operand() does.
    const std::int64_t last = operand_.all_rows() - kMaxSampleSide;
    sample_.row = std::max<std::int64_t>(std::min(sample_.row, last), 0);
    return {};
  }

  /// The same for every report. `largest`: of a strip's rows and columns.
  Status place_sample(
      const std::function<Largest(std::int64_t, std::int64_t, std::int64_t)>& largest) {
    const ComparisonRequest& request = result_.request;
    sample_ = {request.sample_row, request.sample_column};
    if (request.sample_rows == 0 || request.sample_columns == 0) return {};
    // Strip by strip, so that Cancel has an answer.
    constexpr std::int64_t kStripElements = std::int64_t{1} << 24;
    const std::int64_t width = std::max(operand_.columns, request.sample_columns);
    const std::int64_t strip = std::max<std::int64_t>(kStripElements / width, 1);
    const std::int64_t end = std::min(sample_.row + request.sample_rows, operand_.all_rows());
    Largest found{sample_};
    for (std::int64_t row = sample_.row; row < end; row += strip) {
      const Largest one = largest(row, std::min(strip, end - row), request.sample_columns);
      if (one.magnitude > found.magnitude) found = one;
      ENGINE_TRY(advance(0.0));
    }
    // With a few neighbours before it.
    sample_ = {std::max<std::int64_t>(found.place.row - 2, 0),
               std::max<std::int64_t>(found.place.column - 2, 0)};
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
    // Rows and columns of a part are not those of the operand.
    if (result_.request.only_sample) report.statistics.channels.reset();
    report.sample = sample_operand(input_, unpacked_, sample_.row, sample_.column);
    report.sample.row += operand_.first_row;
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
