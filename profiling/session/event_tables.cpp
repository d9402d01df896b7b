#include "profiling/session/event_tables.h"

#include <bit>

#include "profiling/session/event_schema.h"
#include "profiling/session/run_table.h"
#include "profiling/session/table_cells.h"
#include "profiling/session/visit_table.h"

namespace profiling {
namespace {

constexpr int kMostMarkerSamples = 1'000'000;
constexpr std::int64_t kLow = RowReader::kAnyLow;
constexpr std::int64_t kHigh = RowReader::kAnyHigh;

template <class Event>
void read_place(RowReader& rows, const RecordedRun& run, Event& event) {
  event.iteration =
      rows.integer<std::int32_t>("iteration", -1, std::ssize(run.result.iterations) - 1);
  event.stage = rows.integer<engine::Stage>("stage", 0, std::ssize(engine::kStageNames) - 1);
  event.layer = rows.integer<std::uint8_t>("layer", 0, engine::kMaxLayers - 1);
}

engine::Status write_host(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter rows(to, "host_events", 10);
  std::int64_t position = 0;
  for (const HostEvent& event : run.activity.host_events) {
    rows.row(run_id, position++, kHostEventNames[static_cast<std::size_t>(event.kind)], event.name,
             event.start_ns, event.end_ns, event.iteration, static_cast<int>(event.stage),
             event.layer, event.lane);
  }
  return rows.take();
}

engine::Status write_memory(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter rows(to, "memory_events", 14);
  std::int64_t position = 0;
  const auto kept = [](std::uint64_t value) { return std::bit_cast<std::int64_t>(value); };
  for (const MemoryEvent& event : run.activity.memory_events) {
    rows.row(run_id, position++, kMemoryOperationNames[static_cast<std::size_t>(event.operation)],
             event.time_ns, kept(event.address), kept(event.bytes),
             kMemorySpaceNames[static_cast<std::size_t>(event.space)], event.stream_ordered ? 1 : 0,
             kept(event.pool), kept(event.pool_bytes), kept(event.pool_used), event.iteration,
             static_cast<int>(event.stage), event.layer);
  }
  return rows.take();
}

engine::Status read_host(const TableSource& source, Session& session) {
  RunTable events(source, session, "host_events",
                  "SELECT * FROM host_events ORDER BY run_id, position", sizeof(HostEvent));
  return events.each([](RecordedRun& run, RowReader& rows) {
    std::vector<HostEvent>& read = run.activity.host_events;
    if (!at_next(rows, "position", read.size(), kMostHostEvents)) return;
    HostEvent event;
    event.kind = static_cast<HostEventKind>(rows.choice("kind", kHostEventNames));
    event.name = rows.integer<std::uint32_t>("name_id", 0, std::ssize(run.activity.names) - 1);
    event.start_ns = rows.integer<std::int64_t>("start_ns", kLow, kHigh);
    event.end_ns = rows.integer<std::int64_t>("end_ns", event.start_ns, kHigh);
    read_place(rows, run, event);
    event.lane = rows.integer<std::uint16_t>("lane", 0, 65535);
    read.push_back(event);
  });
}

engine::Status read_memory(const TableSource& source, Session& session) {
  RunTable events(source, session, "memory_events",
                  "SELECT * FROM memory_events ORDER BY run_id, position", sizeof(MemoryEvent));
  return events.each([](RecordedRun& run, RowReader& rows) {
    std::vector<MemoryEvent>& read = run.activity.memory_events;
    if (!at_next(rows, "position", read.size(), kMostMemoryEvents)) return;
    MemoryEvent event;
    event.operation = static_cast<MemoryOperation>(rows.choice("operation", kMemoryOperationNames));
    event.time_ns = rows.integer<std::int64_t>("time_ns", kLow, kHigh);
    event.address = rows.integer<std::uint64_t>("address", kLow, kHigh);
    event.bytes = rows.integer<std::uint64_t>("bytes", kLow, kHigh);
    event.space = static_cast<engine::MemorySpace>(rows.choice("space", kMemorySpaceNames));
    event.stream_ordered = rows.integer<int>("stream_ordered", 0, 1) == 1;
    event.pool = rows.integer<std::uint64_t>("pool", kLow, kHigh);
    event.pool_bytes = rows.integer<std::uint64_t>("pool_bytes", kLow, kHigh);
    event.pool_used = rows.integer<std::uint64_t>("pool_used", kLow, kHigh);
    read_place(rows, run, event);
    read.push_back(event);
  });
}

}  // namespace

engine::Status read_marker_costs(const TableSource& source, Session& session) {
  VisitTable costs(source, session, "marker_costs",
                   "SELECT * FROM marker_costs ORDER BY visit_id, experiment", 0);
  return costs.each_outcome([](Outcome& outcome, RowReader& rows) {
    outcome.marker_cost.samples = rows.integer<int>("samples", 1, kMostMarkerSamples);
    outcome.marker_cost.with_us = rows.real("with_us");
    outcome.marker_cost.without_us = rows.real("without_us");
  });
}

engine::Status write_marker_costs(const Target& to, std::int64_t visit_id,
                                  const DoctorReport& report) {
  TableWriter rows(to, "marker_costs", 5);
  std::int64_t number = 0;
  for (const ExperimentRecord& record : report.experiments) {
    const MarkerCost& cost = record.outcome.marker_cost;
    if (cost.samples > 0) {
      rows.row(visit_id, number, cost.samples, cost.with_us, cost.without_us);
    }
    ++number;
  }
  return rows.take();
}

engine::Status read_event_tables(const TableSource& source, Session& session) {
  if (engine::Status status = read_host(source, session); !status.ok()) return status;
  return read_memory(source, session);
}

engine::Status write_event_tables(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  if (engine::Status status = write_host(to, run_id, run); !status.ok()) return status;
  return write_memory(to, run_id, run);
}

}  // namespace profiling
