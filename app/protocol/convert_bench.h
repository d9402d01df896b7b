// Benchmarks to wire messages and back; see convert.h for what the way in checks.
#pragma once

#include "app/protocol/bench_report.h"
#include "app/protocol/wire.h"
#include "engine/model/error.h"

namespace app {

wire::BenchCommand to_wire(const engine::BenchOrder& order);
/// Limits are validate()'s business, not this one's.
engine::Result<engine::BenchOrder> from_wire(const wire::BenchCommand& message);

wire::BenchStarted to_wire(const BenchStart& start);
BenchStart from_wire(const wire::BenchStarted& message);

wire::BenchRow to_wire(const BenchRowReport& report);
engine::Result<BenchRowReport> from_wire(const wire::BenchRow& message);

wire::LinearBenchRow to_wire(const LinearRowReport& report);
engine::Result<LinearRowReport> from_wire(const wire::LinearBenchRow& message);

}  // namespace app
