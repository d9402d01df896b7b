#include "app/protocol/convert_bench.h"

#include <cmath>

#include "app/protocol/convert.h"
#include "app/protocol/field_check.h"
#include "app/protocol/utf8.h"

namespace app {
namespace {

static_assert(static_cast<int>(engine::BenchRouting::Uniform) == wire::BENCH_UNIFORM);
static_assert(static_cast<int>(engine::BenchRouting::OneHot) == wire::BENCH_ONE_HOT);
static_assert(static_cast<int>(engine::BenchRouting::HalfFull) == wire::BENCH_HALF_FULL);

wire::BenchShape wire_shape(const engine::BenchShape& shape) {
  wire::BenchShape out;
  out.set_experts(shape.experts);
  out.set_rows(shape.rows);
  out.set_columns(shape.columns);
  out.set_routing(static_cast<wire::BenchRouting>(shape.routing));
  return out;
}

engine::BenchShape read_shape(const wire::BenchShape& message, FieldCheck& check) {
  engine::BenchShape shape{
      .experts = message.experts(), .rows = message.rows(), .columns = message.columns()};
  check.enumerator(shape.routing, message.routing(), wire::BenchRouting_IsValid, "routing");
  return shape;
}

static_assert(static_cast<int>(engine::BenchSuite::Quantize) == wire::BENCH_QUANTIZE);
static_assert(static_cast<int>(engine::BenchSuite::Linear) == wire::BENCH_LINEAR);
static_assert(static_cast<int>(engine::LinearPart::Fprop) == wire::PART_FPROP);
static_assert(static_cast<int>(engine::LinearPart::Dgrad) == wire::PART_DGRAD);
static_assert(static_cast<int>(engine::LinearPart::Wgrad) == wire::PART_WGRAD);
static_assert(static_cast<int>(engine::LinearPart::ForwardStep) == wire::PART_FORWARD_STEP);
static_assert(static_cast<int>(engine::LinearPart::Step) == wire::PART_STEP);
static_assert(static_cast<int>(engine::LinearPart::Setup) == wire::PART_SETUP);
static_assert(static_cast<int>(engine::LinearPart::ForwardStepProgrammatic) ==
              wire::PART_FORWARD_STEP_PROGRAMMATIC);
static_assert(static_cast<int>(engine::LinearPart::StepProgrammatic) ==
              wire::PART_STEP_PROGRAMMATIC);

wire::ShapeSpec wire_spec(const engine::ShapeSpec& shape) {
  wire::ShapeSpec out;
  out.set_preset(wire_text(shape.preset));
  out.set_num_experts(shape.num_experts);
  out.set_tokens(shape.tokens);
  out.set_n(shape.n);
  out.set_k(shape.k);
  return out;
}

engine::ShapeSpec read_spec(const wire::ShapeSpec& message) {
  return {.preset = message.preset(),
          .num_experts = message.num_experts(),
          .tokens = message.tokens(),
          .n = message.n(),
          .k = message.k()};
}

wire::LinearBench wire_linear(const engine::LinearBenchOrder& order) {
  wire::LinearBench out;
  for (const engine::ShapeSpec& shape : order.shapes) *out.add_shapes() = wire_spec(shape);
  for (const engine::RoutingDistribution routing : order.routings) {
    out.add_routings(static_cast<wire::RoutingDistribution>(routing));
  }
  for (const std::string& word : order.peer) out.add_peer(wire_text(word));
  return out;
}

engine::LinearBenchOrder read_linear(const wire::LinearBench& message, FieldCheck& check) {
  engine::LinearBenchOrder order{
      .shapes = {}, .routings = {}, .peer = {message.peer().begin(), message.peer().end()}};
  for (const wire::ShapeSpec& shape : message.shapes()) order.shapes.push_back(read_spec(shape));
  for (const int routing : message.routings()) {
    check.enumerator(order.routings.emplace_back(), routing, wire::RoutingDistribution_IsValid,
                     "linear.routings");
  }
  return order;
}

wire::ClockAndPower wire_power(const profiling::PowerSummary& power) {
  wire::ClockAndPower out;
  out.set_samples(power.samples);
  out.set_sm_clock_mhz(power.sm_clock_mhz);
  out.set_sm_clock_min_mhz(power.sm_clock_min_mhz);
  out.set_power_w(power.power_w);
  out.set_power_max_w(power.power_max_w);
  out.set_temperature_max_c(power.temperature_max_c);
  out.set_clock_reasons(power.clock_reasons);
  return out;
}

profiling::PowerSummary read_power(const wire::ClockAndPower& message) {
  return {.samples = message.samples(),
          .sm_clock_mhz = message.sm_clock_mhz(),
          .sm_clock_min_mhz = message.sm_clock_min_mhz(),
          .power_w = message.power_w(),
          .power_max_w = message.power_max_w(),
          .temperature_max_c = message.temperature_max_c(),
          .clock_reasons = message.clock_reasons()};
}

}  // namespace

wire::BenchCommand to_wire(const engine::BenchOrder& order) {
  wire::BenchCommand out;
  out.set_cpu(order.cpu);
  for (const engine::BenchShape& shape : order.shapes) *out.add_shapes() = wire_shape(shape);
  out.set_seconds(order.seconds);
  out.set_suite(static_cast<wire::BenchSuite>(order.suite));
  *out.mutable_linear() = wire_linear(order.linear);
  return out;
}

engine::Result<engine::BenchOrder> from_wire(const wire::BenchCommand& message) {
  FieldCheck check;
  engine::BenchOrder order{.cpu = message.cpu(), .seconds = message.seconds()};
  for (const wire::BenchShape& shape : message.shapes()) {
    order.shapes.push_back(read_shape(shape, check));
  }
  check.enumerator(order.suite, message.suite(), wire::BenchSuite_IsValid, "suite");
  order.linear = read_linear(message.linear(), check);
  return check.result(std::move(order));
}

wire::BenchStarted to_wire(const BenchStart& start) {
  wire::BenchStarted out;
  out.set_id(start.id);
  *out.mutable_device() = to_wire(start.device);
  out.set_runtime(wire_text(start.runtime));
  out.set_threads(start.threads);
  out.set_no_device(wire_text(start.no_device));
  out.set_time_method(wire_text(start.time_method));
  out.set_power_method(wire_text(start.power_method));
  out.set_power_missing(wire_text(start.power_missing));
  out.set_peer(wire_text(start.peer));
  out.set_peer_missing(wire_text(start.peer_missing));
  out.set_kernels_missing(wire_text(start.kernels_missing));
  return out;
}

BenchStart from_wire(const wire::BenchStarted& message) {
  return {.id = message.id(),
          .device = from_wire(message.device()),
          .runtime = message.runtime(),
          .threads = message.threads(),
          .no_device = message.no_device(),
          .time_method = message.time_method(),
          .power_method = message.power_method(),
          .power_missing = message.power_missing(),
          .peer = message.peer(),
          .peer_missing = message.peer_missing(),
          .kernels_missing = message.kernels_missing()};
}

wire::BenchRow to_wire(const BenchRowReport& report) {
  const engine::BenchRow& row = report.row;
  wire::BenchRow out;
  out.set_id(report.id);
  *out.mutable_shape() = wire_shape(row.shape);
  out.set_kernel(wire_text(row.kernel));
  out.set_bytes(row.bytes);
  out.set_elements(row.elements);
  out.set_median_us(row.median_us);
  out.set_p5_us(row.p5_us);
  out.set_p95_us(row.p95_us);
  out.set_samples(row.samples);
  out.set_launches(row.launches);
  out.set_of_copy(row.of_copy);
  *out.mutable_power() = wire_power(report.power);
  out.mutable_power()->set_of_shape(report.power_of_shape);
  return out;
}

engine::Result<BenchRowReport> from_wire(const wire::BenchRow& message) {
  FieldCheck check;
  BenchRowReport report{.id = message.id(),
                        .row = {.shape = read_shape(message.shape(), check),
                                .kernel = message.kernel(),
                                .bytes = message.bytes(),
                                .elements = message.elements(),
                                .median_us = message.median_us(),
                                .p5_us = message.p5_us(),
                                .p95_us = message.p95_us(),
                                .samples = message.samples(),
                                .launches = message.launches(),
                                .of_copy = message.of_copy()},
                        .power = read_power(message.power()),
                        .power_of_shape = message.power().of_shape()};
  check.require(message.median_us() > 0 && std::isfinite(message.median_us()),
                "median_us of a benchmark's row is not a time");
  return check.result(std::move(report));
}

wire::LinearBenchRow to_wire(const LinearRowReport& report) {
  const engine::LinearBenchRow& row = report.row;
  wire::LinearBenchRow out;
  out.set_id(report.id);
  *out.mutable_shape() = wire_spec(row.shape);
  out.set_routing(static_cast<wire::RoutingDistribution>(row.routing));
  out.set_subject(wire_text(row.subject));
  out.set_part(static_cast<wire::LinearPart>(row.part));
  out.set_flop(row.flop);
  out.set_median_us(row.median_us);
  out.set_p5_us(row.p5_us);
  out.set_p95_us(row.p95_us);
  out.set_samples(row.samples);
  out.set_kernels_us(row.kernels_us);
  out.set_replay_us(row.replay_us);
  out.set_skipped(wire_text(row.skipped));
  *out.mutable_power() = wire_power(report.power);
  out.mutable_power()->set_of_shape(report.power_of_shape);
  return out;
}

engine::Result<LinearRowReport> from_wire(const wire::LinearBenchRow& message) {
  FieldCheck check;
  LinearRowReport report{.id = message.id(),
                         .row = {.shape = read_spec(message.shape()),
                                 .subject = message.subject(),
                                 .flop = message.flop(),
                                 .median_us = message.median_us(),
                                 .p5_us = message.p5_us(),
                                 .p95_us = message.p95_us(),
                                 .samples = message.samples(),
                                 .kernels_us = message.kernels_us(),
                                 .replay_us = message.replay_us(),
                                 .skipped = message.skipped()},
                         .power = read_power(message.power()),
                         .power_of_shape = message.power().of_shape()};
  check.enumerator(report.row.routing, message.routing(), wire::RoutingDistribution_IsValid,
                   "routing");
  check.enumerator(report.row.part, message.part(), wire::LinearPart_IsValid, "part");
  check.require(
      !message.skipped().empty() || (message.median_us() > 0 && std::isfinite(message.median_us())),
      "median_us of a row of the linear step is not a time");
  return check.result(std::move(report));
}

}  // namespace app
