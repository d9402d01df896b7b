// Comparisons of recipes. Arrays that the window indexes together must fit here.
#include "app/protocol/convert.h"
#include "app/protocol/convert_parts.h"
#include "app/protocol/field_check.h"
#include "app/protocol/utf8.h"

namespace app {
namespace {

wire::QuantizationSample wire_sample(const engine::QuantizationSample& sample) {
  wire::QuantizationSample out;
  out.set_row(sample.row);
  out.set_column(sample.column);
  out.set_rows(sample.rows);
  out.set_columns(sample.columns);
  out.mutable_original()->Add(sample.original.begin(), sample.original.end());
  out.mutable_codes()->assign(sample.codes.begin(), sample.codes.end());
  out.mutable_scale_inv()->Add(sample.scale_inv.begin(), sample.scale_inv.end());
  out.mutable_decoded()->Add(sample.decoded.begin(), sample.decoded.end());
  return out;
}

engine::QuantizationSample read_sample(const wire::QuantizationSample& message, FieldCheck& check) {
  const std::int64_t cells = std::int64_t{message.rows()} * message.columns();
  const auto within = [](int side) { return side >= 0 && side <= engine::kMaxSampleSide; };
  check.require(within(message.rows()) && within(message.columns()),
                "sample is larger than its limit");
  check.require(message.original_size() == cells && std::ssize(message.codes()) == cells &&
                    message.scale_inv_size() == cells && message.decoded_size() == cells,
                "sample does not hold rows * columns elements");
  return {.row = message.row(),
          .column = message.column(),
          .rows = message.rows(),
          .columns = message.columns(),
          .original = to_vector<float>(message.original()),
          .codes = to_vector<std::uint8_t>(message.codes()),
          .scale_inv = to_vector<float>(message.scale_inv()),
          .decoded = to_vector<float>(message.decoded())};
}

wire::RangeWaste wire_waste(const engine::RangeWaste& waste) {
  wire::RangeWaste out;
  out.set_scales(waste.scales);
  out.set_mean(waste.mean);
  out.set_max(waste.max);
  return out;
}

engine::RangeWaste read_waste(const wire::RangeWaste& message) {
  return {.scales = message.scales(), .mean = message.mean(), .max = message.max()};
}

wire::ExpertQuantization wire_expert(const engine::ExpertQuantization& expert) {
  wire::ExpertQuantization out;
  out.set_rows(expert.rows);
  out.set_snr_db(expert.snr_db);
  out.set_saturated(expert.saturated);
  out.set_underflowed(expert.underflowed);
  *out.mutable_waste() = wire_waste(expert.waste);
  return out;
}

engine::ExpertQuantization read_expert(const wire::ExpertQuantization& message) {
  return {.rows = message.rows(),
          .snr_db = message.snr_db(),
          .saturated = message.saturated(),
          .underflowed = message.underflowed(),
          .waste = read_waste(message.waste())};
}

wire::QuantizationReport wire_report(const engine::QuantizationReport& report) {
  wire::QuantizationReport out;
  *out.mutable_recipe() = app::to_wire(report.recipe);
  out.set_columnwise(report.columnwise);
  out.set_refused(wire_text(report.refused));
  set_operand(*out.mutable_statistics(), report.statistics);
  out.set_max_relative_error(report.max_relative_error);
  out.set_max_ulp(report.max_ulp);
  out.mutable_code_counts()->Add(report.code_counts.begin(), report.code_counts.end());
  *out.mutable_sample() = wire_sample(report.sample);
  out.set_code_bytes(report.code_bytes);
  out.set_scale_bytes(report.scale_bytes);
  out.set_moved_bytes(report.moved_bytes);
  out.mutable_times_ns()->Add(report.times_ns.begin(), report.times_ns.end());
  out.set_time_method(wire_text(report.time_method));
  *out.mutable_waste() = wire_waste(report.waste);
  for (const engine::ExpertQuantization& expert : report.experts) {
    *out.add_experts() = wire_expert(expert);
  }
  return out;
}

engine::QuantizationReport read_report(const wire::QuantizationReport& message, FieldCheck& check) {
  check.require(message.code_counts_size() <= 256, "code_counts has more than 256 codes");
  check.require(message.experts_size() <= engine::kMaxExperts, "experts has more than its limit");
  std::vector<engine::ExpertQuantization> experts;
  for (const wire::ExpertQuantization& expert : message.experts()) {
    experts.push_back(read_expert(expert));
  }
  return {.recipe = read_recipe(message.recipe(), check),
          .columnwise = message.columnwise(),
          .refused = message.refused(),
          .statistics = read_operand(message.statistics(), "statistics", check),
          .max_relative_error = message.max_relative_error(),
          .max_ulp = message.max_ulp(),
          .code_counts = to_vector<std::uint64_t>(message.code_counts()),
          .sample = read_sample(message.sample(), check),
          .code_bytes = message.code_bytes(),
          .scale_bytes = message.scale_bytes(),
          .moved_bytes = message.moved_bytes(),
          .times_ns = to_vector<std::int64_t>(message.times_ns()),
          .time_method = message.time_method(),
          .waste = read_waste(message.waste()),
          .experts = std::move(experts)};
}

}  // namespace

wire::ComparisonRequest to_wire(const engine::ComparisonRequest& request) {
  wire::ComparisonRequest out;
  *out.mutable_request() = to_wire(request.request);
  out.set_operand(request.weights     ? wire::OPERAND_WEIGHTS
                  : request.gradients ? wire::OPERAND_GRADIENTS
                                      : wire::OPERAND_ACTIVATIONS);
  for (const engine::Recipe& recipe : request.recipes) *out.add_recipes() = to_wire(recipe);
  out.set_sample_row(request.sample_row);
  out.set_sample_column(request.sample_column);
  out.set_timed_launches(request.timed_launches);
  return out;
}

engine::Result<engine::ComparisonRequest> from_wire(const wire::ComparisonRequest& message) {
  FieldCheck check;
  engine::ComparisonRequest request;
  engine::Result<engine::RunRequest> run = from_wire(message.request());
  if (!run.ok()) return run.error();
  request.request = std::move(run).value();
  engine::OperandRole operand = engine::OperandRole::Activations;
  if (message.has_operand()) {
    check.enumerator(operand, message.operand(), wire::Operand_IsValid, "operand");
  }
  request.weights = operand == engine::OperandRole::Weights;
  request.gradients = operand == engine::OperandRole::Gradients;
  for (const wire::Recipe& recipe : message.recipes()) {
    request.recipes.push_back(read_recipe(recipe, check));
  }
  if (message.has_sample_row()) request.sample_row = message.sample_row();
  if (message.has_sample_column()) request.sample_column = message.sample_column();
  if (message.has_timed_launches()) request.timed_launches = message.timed_launches();
  return check.result(std::move(request));
}

wire::RecipeComparison to_wire(const engine::RecipeComparison& comparison) {
  wire::RecipeComparison out;
  out.set_id(comparison.id);
  *out.mutable_request() = to_wire(comparison.request);
  out.mutable_splits()->Add(comparison.splits.begin(), comparison.splits.end());
  *out.mutable_device() = to_wire(comparison.device);
  for (const engine::QuantizationReport& report : comparison.reports) {
    *out.add_reports() = wire_report(report);
  }
  out.mutable_copy_times_ns()->Add(comparison.copy_times_ns.begin(),
                                   comparison.copy_times_ns.end());
  out.set_copy_bytes(comparison.copy_bytes);
  out.set_wall_ns(comparison.wall_ns);
  return out;
}

engine::Result<engine::RecipeComparison> from_wire(const wire::RecipeComparison& message) {
  FieldCheck check;
  engine::RecipeComparison comparison;
  comparison.id = message.id();
  engine::Result<engine::ComparisonRequest> request = from_wire(message.request());
  if (!request.ok()) return request.error();
  comparison.request = std::move(request).value();
  comparison.splits = to_vector<std::int64_t>(message.splits());
  comparison.device = from_wire(message.device());
  for (const wire::QuantizationReport& report : message.reports()) {
    comparison.reports.push_back(read_report(report, check));
  }
  comparison.copy_times_ns = to_vector<std::int64_t>(message.copy_times_ns());
  comparison.copy_bytes = message.copy_bytes();
  comparison.wall_ns = message.wall_ns();
  return check.result(std::move(comparison));
}

}  // namespace app
