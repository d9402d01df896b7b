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
  return out;
}

engine::Result<engine::BenchOrder> from_wire(const wire::BenchCommand& message) {
  FieldCheck check;
  engine::BenchOrder order{.cpu = message.cpu(), .seconds = message.seconds()};
  for (const wire::BenchShape& shape : message.shapes()) {
    order.shapes.push_back(read_shape(shape, check));
  }
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
          .power_missing = message.power_missing()};
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

}  // namespace app
