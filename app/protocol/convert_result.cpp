// Results: numerics and times of one run. Arrays that a panel indexes together must fit here.
#include <cmath>
#include <limits>

#include "app/protocol/convert.h"
#include "app/protocol/convert_measurement.h"
#include "app/protocol/convert_parts.h"
#include "app/protocol/field_check.h"
#include "app/protocol/utf8.h"

namespace app {
namespace {

void set_histogram(wire::MagnitudeHistogram& out, const engine::MagnitudeHistogram& histogram) {
  out.set_first_bin(histogram.first_bin);
  out.mutable_counts()->Add(histogram.counts.begin(), histogram.counts.end());
  out.set_zeros(histogram.zeros);
  out.set_infinities(histogram.infinities);
  out.set_nans(histogram.nans);
}

engine::MagnitudeHistogram read_histogram(const wire::MagnitudeHistogram& message,
                                          const std::string& field, FieldCheck& check) {
  // Bins are FP32 bits shifted right by 21 without the sign: there are 1024 of them.
  constexpr int kBins = 1024;
  check.require(message.first_bin() >= 0 && message.counts_size() <= kBins &&
                    message.first_bin() <= kBins - message.counts_size(),
                field + " has bins outside 0..1023");
  return {.first_bin = message.first_bin(),
          .counts = to_vector<std::uint64_t>(message.counts()),
          .zeros = message.zeros(),
          .infinities = message.infinities(),
          .nans = message.nans()};
}

void set_scale_summary(wire::ScaleSummary& out, const engine::ScaleSummary& summary) {
  out.set_scales(summary.scales);
  out.set_distinct(summary.distinct);
  out.set_mean(summary.mean);
  out.set_deviation(summary.deviation);
  out.set_saturated(summary.saturated);
  out.set_underflowed(summary.underflowed);
}

engine::ScaleSummary read_scale_summary(const wire::ScaleSummary& message) {
  return {.scales = message.scales(),
          .distinct = message.distinct(),
          .mean = message.mean(),
          .deviation = message.deviation(),
          .saturated = message.saturated(),
          .underflowed = message.underflowed()};
}

void set_scale_map(wire::ScaleMap& out, const engine::ScaleMap& map) {
  out.set_block_rows(map.block_rows);
  out.set_block_columns(map.block_columns);
  out.set_source_rows(map.source_rows);
  out.set_source_columns(map.source_columns);
  out.set_rows(map.rows);
  out.set_columns(map.columns);
  out.mutable_mean()->Add(map.mean.begin(), map.mean.end());
  out.mutable_maximum()->Add(map.maximum.begin(), map.maximum.end());
  out.mutable_expert_first_row()->Add(map.expert_first_row.begin(), map.expert_first_row.end());
  out.mutable_minimum()->Add(map.minimum.begin(), map.minimum.end());
  out.mutable_deviation()->Add(map.deviation.begin(), map.deviation.end());
  out.mutable_saturated_share()->Add(map.saturated_share.begin(), map.saturated_share.end());
  out.mutable_underflowed_share()->Add(map.underflowed_share.begin(), map.underflowed_share.end());
  set_scale_summary(*out.mutable_summary(), map.summary);
}

engine::ScaleMap read_scale_map(const wire::ScaleMap& message, const std::string& field,
                                FieldCheck& check) {
  const std::int64_t cells = std::int64_t{message.rows()} * message.columns();
  check.require(message.rows() >= 0 && message.columns() >= 0 && message.mean_size() == cells &&
                    message.maximum_size() == cells,
                field + " does not hold rows * columns cells");
  for (const auto* optional : {&message.minimum(), &message.deviation(), &message.saturated_share(),
                               &message.underflowed_share()}) {
    check.require(optional->empty() || optional->size() == cells,
                  field + " holds some but not rows * columns cells");
  }
  return {.block_rows = message.block_rows(),
          .block_columns = message.block_columns(),
          .source_rows = message.source_rows(),
          .source_columns = message.source_columns(),
          .rows = message.rows(),
          .columns = message.columns(),
          .mean = to_vector<float>(message.mean()),
          .maximum = to_vector<float>(message.maximum()),
          .expert_first_row = to_vector<std::int64_t>(message.expert_first_row()),
          .minimum = to_vector<float>(message.minimum()),
          .deviation = to_vector<float>(message.deviation()),
          .saturated_share = to_vector<float>(message.saturated_share()),
          .underflowed_share = to_vector<float>(message.underflowed_share()),
          .summary = read_scale_summary(message.summary())};
}

}  // namespace

void set_operand(wire::OperandStatistics& out, const engine::OperandStatistics& operand) {
  set_histogram(*out.mutable_before(), operand.before);
  set_histogram(*out.mutable_after(), operand.after);
  set_histogram(*out.mutable_amax(), operand.amax);
  set_histogram(*out.mutable_scale(), operand.scale);
  set_scale_map(*out.mutable_scale_map(), operand.scale_map);
  out.set_elements(operand.elements);
  out.set_saturated(operand.saturated);
  out.set_underflowed(operand.underflowed);
  out.set_snr_db(operand.snr_db);
}

engine::OperandStatistics read_operand(const wire::OperandStatistics& message,
                                       const std::string& field, FieldCheck& check) {
  return {.before = read_histogram(message.before(), field + ".before", check),
          .after = read_histogram(message.after(), field + ".after", check),
          .amax = read_histogram(message.amax(), field + ".amax", check),
          .scale = read_histogram(message.scale(), field + ".scale", check),
          .scale_map = read_scale_map(message.scale_map(), field + ".scale_map", check),
          .elements = message.elements(),
          .saturated = message.saturated(),
          .underflowed = message.underflowed(),
          .snr_db = message.snr_db()};
}

namespace {

void set_accuracy(wire::ProductAccuracyRow& out, const engine::ProductAccuracyRow& row) {
  out.set_snr_db(row.snr_db);
  out.set_max_abs_error(row.max_abs_error);
  out.set_reference_rms(row.reference_rms);
}

engine::ProductAccuracyRow read_accuracy(const wire::ProductAccuracyRow& message) {
  return {.snr_db = message.snr_db(),
          .max_abs_error = message.max_abs_error(),
          .reference_rms = message.reference_rms()};
}

wire::GraphFacts graph_to_wire(const engine::GraphFacts& facts) {
  wire::GraphFacts out;
  out.set_kernels(facts.kernels);
  out.set_memsets(facts.memsets);
  out.set_copies(facts.copies);
  out.set_allocations(facts.allocations);
  out.set_host_calls(facts.host_calls);
  out.set_host_launch_ns(facts.host_launch_ns);
  return out;
}

engine::GraphFacts graph_from_wire(const wire::GraphFacts& message) {
  return {.kernels = message.kernels(),
          .memsets = message.memsets(),
          .copies = message.copies(),
          .allocations = message.allocations(),
          .host_calls = message.host_calls(),
          .host_launch_ns = message.host_launch_ns()};
}

wire::ReplayWatchFacts watch_to_wire(const engine::ReplayWatchFacts& facts) {
  wire::ReplayWatchFacts out;
  out.set_replays(facts.replays);
  out.set_p99_us(facts.p99_us);
  out.set_deadline_seconds(facts.deadline_seconds);
  out.set_markers(facts.markers);
  return out;
}

engine::ReplayWatchFacts watch_from_wire(const wire::ReplayWatchFacts& message) {
  return {.replays = message.replays(),
          .p99_us = message.p99_us(),
          .deadline_seconds = message.deadline_seconds(),
          .markers = message.markers()};
}

static_assert(static_cast<int>(engine::Product::Fprop) == wire::PRODUCT_FPROP &&
              static_cast<int>(engine::Product::Dgrad) == wire::PRODUCT_DGRAD &&
              static_cast<int>(engine::Product::Wgrad) == wire::PRODUCT_WGRAD);

void set_algorithm(wire::AlgorithmChoice& out, const engine::AlgorithmChoice& choice) {
  out.set_product(static_cast<wire::Product>(choice.product));
  out.set_candidates(choice.candidates);
  out.set_chosen(choice.chosen);
  out.set_first_us(choice.first_us);
  out.set_chosen_us(choice.chosen_us);
}

engine::AlgorithmChoice read_algorithm(const wire::AlgorithmChoice& message, FieldCheck& check) {
  engine::AlgorithmChoice choice{.candidates = message.candidates(),
                                 .chosen = message.chosen(),
                                 .first_us = message.first_us(),
                                 .chosen_us = message.chosen_us()};
  check.enumerator(choice.product, message.product(), wire::Product_IsValid, "algorithms.product");
  return choice;
}

void set_expert(wire::ExpertResult& out, const engine::ExpertResult& expert, bool backward) {
  out.set_rows(expert.rows);
  out.set_snr_db(expert.snr_db);
  out.set_max_abs_error(expert.max_abs_error);
  out.set_reference_rms(expert.reference_rms);
  out.set_saturated(expert.saturated);
  out.set_underflowed(expert.underflowed);
  out.set_x_snr_db(expert.x_snr_db);
  if (!std::isnan(expert.x_max_ulp)) out.set_x_max_ulp(expert.x_max_ulp);
  if (!backward) return;
  set_accuracy(*out.mutable_dgrad(), expert.dgrad);
  set_accuracy(*out.mutable_wgrad(), expert.wgrad);
}

engine::ExpertResult read_expert(const wire::ExpertResult& message) {
  return {.rows = message.rows(),
          .snr_db = message.snr_db(),
          .max_abs_error = message.max_abs_error(),
          .reference_rms = message.reference_rms(),
          .saturated = message.saturated(),
          .underflowed = message.underflowed(),
          .x_snr_db = message.x_snr_db(),
          .x_max_ulp = message.has_x_max_ulp() ? message.x_max_ulp()
                                               : std::numeric_limits<double>::quiet_NaN(),
          .dgrad = read_accuracy(message.dgrad()),
          .wgrad = read_accuracy(message.wgrad())};
}

}  // namespace

wire::DeviceFacts to_wire(const engine::DeviceFacts& facts) {
  wire::DeviceFacts out;
  out.set_name(facts.name);
  out.set_driver(facts.driver);
  out.set_compute_capability(facts.compute_capability);
  out.set_cublaslt_version(facts.cublaslt_version);
  out.set_cublaslt_path(facts.cublaslt_path);
  out.set_blas(facts.blas);
  out.set_multiprocessors(facts.multiprocessors);
  out.set_memory_bytes(facts.memory_bytes);
  return out;
}

engine::DeviceFacts from_wire(const wire::DeviceFacts& message) {
  return {.name = message.name(),
          .driver = message.driver(),
          .compute_capability = message.compute_capability(),
          .cublaslt_version = message.cublaslt_version(),
          .cublaslt_path = message.cublaslt_path(),
          .blas = message.blas(),
          .multiprocessors = message.multiprocessors(),
          .memory_bytes = message.memory_bytes()};
}

wire::RunResult to_wire(const engine::RunResult& result) {
  wire::RunResult out;
  out.set_id(result.id);
  *out.mutable_effective() = to_wire(result.effective);
  for (const engine::Deviation& deviation : result.deviations) {
    wire::Deviation& added = *out.add_deviations();
    added.set_field(deviation.field);
    added.set_requested(wire_text(deviation.requested));
    added.set_effective(deviation.effective);
    added.set_reason(wire_text(deviation.reason));
  }
  out.mutable_splits()->Add(result.splits.begin(), result.splits.end());
  *out.mutable_device() = to_wire(result.device);
  set_operand(*out.mutable_activations(), result.activations);
  set_operand(*out.mutable_weights(), result.weights);
  if (result.backward) set_operand(*out.mutable_gradients(), result.gradients);
  for (const engine::ExpertResult& expert : result.experts) {
    set_expert(*out.add_experts(), expert, result.backward);
  }
  for (const engine::Iteration& iteration : result.iterations) {
    wire::Iteration& added = *out.add_iterations();
    added.set_start_ns(iteration.start_ns);
    added.set_duration_ns(iteration.duration_ns);
  }
  for (const engine::ReplayCheck& check : result.replay_checks) {
    wire::ReplayCheck& added = *out.add_replay_checks();
    added.set_replay(check.replay);
    added.set_layer(check.layer);
    added.set_product(static_cast<wire::Product>(check.product));
    added.mutable_wrong_experts()->Add(check.wrong_experts.begin(), check.wrong_experts.end());
  }
  out.set_iteration_method(result.iteration_method);
  out.set_activity_method(result.activity_method);
  out.set_dropped_records(result.dropped_records);
  out.set_flop(result.flop);
  out.set_wall_ns(result.wall_ns);
  out.set_backward(result.backward);
  out.set_emulated(wire_text(result.emulated));
  *out.mutable_graph() = graph_to_wire(result.graph);
  *out.mutable_watch() = watch_to_wire(result.watch);
  for (const engine::AlgorithmChoice& choice : result.algorithms) {
    set_algorithm(*out.add_algorithms(), choice);
  }
  set_measurements(*out.mutable_measurements(), result.measurements);
  return out;
}

engine::Result<engine::RunResult> from_wire(const wire::RunResult& message) {
  FieldCheck check;
  engine::RunResult result;
  result.id = message.id();
  engine::Result<engine::RunRequest> effective = from_wire(message.effective());
  if (!effective.ok()) {
    return engine::Error{effective.error().code, "effective." + effective.error().message};
  }
  result.effective = std::move(effective).value();
  for (const wire::Deviation& deviation : message.deviations()) {
    result.deviations.push_back({.field = deviation.field(),
                                 .requested = deviation.requested(),
                                 .effective = deviation.effective(),
                                 .reason = deviation.reason()});
  }
  result.splits = to_vector<std::int64_t>(message.splits());
  result.device = from_wire(message.device());
  result.activations = read_operand(message.activations(), "activations", check);
  result.weights = read_operand(message.weights(), "weights", check);
  if (message.has_gradients()) {
    result.gradients = read_operand(message.gradients(), "gradients", check);
  }
  for (const wire::ExpertResult& expert : message.experts()) {
    result.experts.push_back(read_expert(expert));
  }
  for (const wire::Iteration& iteration : message.iterations()) {
    result.iterations.push_back(
        {.start_ns = iteration.start_ns(), .duration_ns = iteration.duration_ns()});
  }
  for (const wire::ReplayCheck& replay : message.replay_checks()) {
    engine::ReplayCheck& added = result.replay_checks.emplace_back();
    added.replay = replay.replay();
    added.layer = replay.layer();
    check.enumerator(added.product, replay.product(), wire::Product_IsValid,
                     "replay_checks.product");
    added.wrong_experts = to_vector<int>(replay.wrong_experts());
  }
  result.iteration_method = message.iteration_method();
  result.activity_method = message.activity_method();
  result.dropped_records = message.dropped_records();
  result.flop = message.flop();
  result.wall_ns = message.wall_ns();
  result.backward = message.backward();
  result.emulated = message.emulated();
  result.graph = graph_from_wire(message.graph());
  result.watch = watch_from_wire(message.watch());
  for (const wire::AlgorithmChoice& choice : message.algorithms()) {
    result.algorithms.push_back(read_algorithm(choice, check));
  }
  result.measurements = read_measurements(message.measurements(), check);
  return check.result(std::move(result));
}

}  // namespace app
