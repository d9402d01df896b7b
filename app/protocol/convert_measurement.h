// Measurements beyond the iterations, and readings of clock and power.
#pragma once

#include "app/protocol/field_check.h"
#include "app/protocol/wire.h"
#include "engine/model/measurement.h"
#include "profiling/power/power_trace.h"

namespace app {

void set_measure(wire::MeasureOptions& out, const engine::MeasureOptions& options);
/// Absent fields keep MeasureOptions' defaults.
engine::MeasureOptions read_measure(const wire::MeasureOptions& message, FieldCheck& check);

void set_measurements(wire::Measurements& out, const engine::Measurements& measurements);
engine::Measurements read_measurements(const wire::Measurements& message, FieldCheck& check);

wire::PowerTrace to_wire(const profiling::PowerTrace& trace);
engine::Result<profiling::PowerTrace> from_wire(const wire::PowerTrace& message);

}  // namespace app
