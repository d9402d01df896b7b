#include "app/protocol/convert_measurement.h"

#include "app/protocol/utf8.h"

namespace app {
namespace {

static_assert(static_cast<int>(engine::TraceLevel::Nodes) == wire::TRACE_NODES &&
              static_cast<int>(engine::TraceLevel::Graphs) == wire::TRACE_GRAPHS &&
              static_cast<int>(engine::TraceLevel::Off) == wire::TRACE_OFF);
static_assert(static_cast<int>(engine::CacheMode::Warm) == wire::CACHE_WARM &&
              static_cast<int>(engine::CacheMode::Cold) == wire::CACHE_COLD);
static_assert(static_cast<int>(engine::Pace::Sustained) == wire::PACE_SUSTAINED &&
              static_cast<int>(engine::Pace::Burst) == wire::PACE_BURST);
static_assert(static_cast<int>(engine::ExpertMethod::Trace) == wire::EXPERT_TRACE &&
              static_cast<int>(engine::ExpertMethod::Stamps) == wire::EXPERT_STAMPS &&
              static_cast<int>(engine::ExpertMethod::Isolated) == wire::EXPERT_ISOLATED);

template <class Out, class Timing>
void set_times(Out& out, const Timing& timing) {
  out.set_samples(timing.samples);
  out.set_median_ns(timing.median_ns);
  out.set_p5_ns(timing.p5_ns);
  out.set_p95_ns(timing.p95_ns);
}

template <class Timing, class Message>
void read_times(Timing& timing, const Message& message) {
  timing.samples = message.samples();
  timing.median_ns = message.median_ns();
  timing.p5_ns = message.p5_ns();
  timing.p95_ns = message.p95_ns();
}

}  // namespace

void set_measure(wire::MeasureOptions& out, const engine::MeasureOptions& options) {
  out.set_trace(static_cast<wire::TraceLevel>(options.trace));
  out.set_traced_iterations(options.traced_iterations);
  out.set_cache(static_cast<wire::CacheMode>(options.cache));
  out.set_pace(static_cast<wire::Pace>(options.pace));
  out.set_observer(options.observer);
  out.set_stamps(options.stamps);
  out.set_isolated(options.isolated);
  out.set_ceilings(options.ceilings);
}

engine::MeasureOptions read_measure(const wire::MeasureOptions& message, FieldCheck& check) {
  engine::MeasureOptions options;
  if (message.has_trace()) {
    check.enumerator(options.trace, message.trace(), wire::TraceLevel_IsValid, "measure.trace");
  }
  if (message.has_traced_iterations()) options.traced_iterations = message.traced_iterations();
  if (message.has_cache()) {
    check.enumerator(options.cache, message.cache(), wire::CacheMode_IsValid, "measure.cache");
  }
  if (message.has_pace()) {
    check.enumerator(options.pace, message.pace(), wire::Pace_IsValid, "measure.pace");
  }
  if (message.has_observer()) options.observer = message.observer();
  if (message.has_stamps()) options.stamps = message.stamps();
  if (message.has_isolated()) options.isolated = message.isolated();
  if (message.has_ceilings()) options.ceilings = message.ceilings();
  return options;
}

void set_measurements(wire::Measurements& out, const engine::Measurements& measurements) {
  for (const engine::ExpertTiming& timing : measurements.experts) {
    wire::ExpertTiming& added = *out.add_experts();
    added.set_method(static_cast<wire::ExpertMethod>(timing.method));
    added.set_stage(static_cast<wire::Stage>(timing.stage));
    added.set_expert(timing.expert);
    set_times(added, timing);
  }
  for (const engine::ObserverTiming& timing : measurements.observer) {
    wire::ObserverTiming& added = *out.add_observer();
    added.set_level(static_cast<wire::TraceLevel>(timing.level));
    set_times(added, timing);
  }
  const engine::Ceilings& ceilings = measurements.ceilings;
  wire::Ceilings& out_ceilings = *out.mutable_ceilings();
  out_ceilings.set_copy_bytes_per_s(ceilings.copy_bytes_per_s);
  out_ceilings.set_copy_bytes(ceilings.copy_bytes);
  out_ceilings.set_copies(ceilings.copies);
  out_ceilings.set_product_flop_per_s(ceilings.product_flop_per_s);
  out_ceilings.set_products(ceilings.products);
  out_ceilings.set_product(wire_text(ceilings.product));
}

engine::Measurements read_measurements(const wire::Measurements& message, FieldCheck& check) {
  engine::Measurements measurements;
  for (const wire::ExpertTiming& timing : message.experts()) {
    engine::ExpertTiming& added = measurements.experts.emplace_back();
    check.enumerator(added.method, timing.method(), wire::ExpertMethod_IsValid,
                     "measurements.experts.method");
    check.enumerator(added.stage, timing.stage(), wire::Stage_IsValid,
                     "measurements.experts.stage");
    added.expert = timing.expert();
    read_times(added, timing);
  }
  for (const wire::ObserverTiming& timing : message.observer()) {
    engine::ObserverTiming& added = measurements.observer.emplace_back();
    check.enumerator(added.level, timing.level(), wire::TraceLevel_IsValid,
                     "measurements.observer.level");
    read_times(added, timing);
  }
  const wire::Ceilings& ceilings = message.ceilings();
  measurements.ceilings = {.copy_bytes_per_s = ceilings.copy_bytes_per_s(),
                           .copy_bytes = ceilings.copy_bytes(),
                           .copies = ceilings.copies(),
                           .product_flop_per_s = ceilings.product_flop_per_s(),
                           .products = ceilings.products(),
                           .product = ceilings.product()};
  return measurements;
}

wire::PowerTrace to_wire(const profiling::PowerTrace& trace) {
  wire::PowerTrace out;
  out.set_method(trace.method);
  out.set_missing(wire_text(trace.missing));
  for (const profiling::PowerSample& sample : trace.samples) {
    out.add_time_ns(sample.time_ns);
    out.add_sm_clock_mhz(sample.sm_clock_mhz);
    out.add_memory_clock_mhz(sample.memory_clock_mhz);
    out.add_power_w(static_cast<float>(sample.power_w));
    out.add_temperature_c(sample.temperature_c);
    out.add_clock_reasons(sample.clock_reasons);
  }
  return out;
}

engine::Result<profiling::PowerTrace> from_wire(const wire::PowerTrace& message) {
  FieldCheck check;
  profiling::PowerTrace trace{
      .method = message.method(), .missing = message.missing(), .samples = {}};
  const int samples = message.time_ns_size();
  check.require(message.sm_clock_mhz_size() == samples &&
                    message.memory_clock_mhz_size() == samples &&
                    message.power_w_size() == samples && message.temperature_c_size() == samples &&
                    message.clock_reasons_size() == samples,
                "power has columns of different length");
  if (!check.ok()) return check.result(std::move(trace));
  trace.samples.reserve(static_cast<std::size_t>(samples));
  for (int i = 0; i < samples; ++i) {
    trace.samples.push_back({.time_ns = message.time_ns(i),
                             .sm_clock_mhz = message.sm_clock_mhz(i),
                             .memory_clock_mhz = message.memory_clock_mhz(i),
                             .power_w = static_cast<double>(message.power_w(i)),
                             .temperature_c = message.temperature_c(i),
                             .clock_reasons = message.clock_reasons(i)});
  }
  return trace;
}

}  // namespace app
