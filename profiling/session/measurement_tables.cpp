#include "profiling/session/measurement_tables.h"

#include "profiling/session/measurement_schema.h"
#include "profiling/session/run_table.h"
#include "profiling/session/table_cells.h"

namespace profiling {
namespace {

constexpr std::int64_t kMaxSamples = std::int64_t{1} << 31;

template <class Names, class Enum>
std::string_view name_of(const Names& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

engine::Status write_experts(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter timings(to, "expert_timings", 9);
  std::int64_t position = 0;
  for (const engine::ExpertTiming& timing : run.result.measurements.experts) {
    timings.row(run_id, position++, name_of(kExpertMethodNames, timing.method),
                static_cast<int>(timing.stage), timing.expert, timing.samples, timing.median_ns,
                timing.p5_ns, timing.p95_ns);
  }
  return timings.take();
}

engine::Status write_observer(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter timings(to, "observer_timings", 7);
  std::int64_t position = 0;
  for (const engine::ObserverTiming& timing : run.result.measurements.observer) {
    timings.row(run_id, position++, name_of(kTraceLevelNames, timing.level), timing.samples,
                timing.median_ns, timing.p5_ns, timing.p95_ns);
  }
  return timings.take();
}

engine::Status write_ceilings(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter rows(to, "ceilings", 7);
  const engine::Ceilings& ceilings = run.result.measurements.ceilings;
  // Without a copy and without a product nothing was asked for, unless it says why not.
  if (ceilings.copies == 0 && ceilings.products == 0 && ceilings.product.empty()) {
    return rows.take();
  }
  rows.row(run_id, ceilings.copy_bytes_per_s, ceilings.copy_bytes, ceilings.copies,
           ceilings.product_flop_per_s, ceilings.products, ceilings.product);
  return rows.take();
}

engine::Status write_power(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter sources(to, "power_sources", 3);
  if (!run.power.method.empty() || !run.power.missing.empty()) {
    sources.row(run_id, run.power.method, run.power.missing);
  }
  if (engine::Status status = sources.take(); !status.ok()) return status;
  TableWriter samples(to, "power_samples", 8);
  std::int64_t position = 0;
  for (const PowerSample& sample : run.power.samples) {
    // SQLite's integers are signed; NVML uses the lowest bits only.
    samples.row(run_id, position++, sample.time_ns, sample.sm_clock_mhz, sample.memory_clock_mhz,
                sample.power_w, sample.temperature_c,
                static_cast<std::int64_t>(sample.clock_reasons));
  }
  return samples.take();
}

/// The three durations every timing has.
template <class Timing>
void read_times(RowReader& rows, Timing& timing) {
  timing.samples = rows.integer<int>("samples", 0, kMaxSamples - 1);
  timing.median_ns = rows.real("median_ns");
  timing.p5_ns = rows.real("p5_ns");
  timing.p95_ns = rows.real("p95_ns");
}

engine::Status write_group(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  TableWriter groups(to, "run_groups", 5);
  const RunGroup& group = run.group;
  if (group.kind == GroupKind::None) return groups.take();
  groups.row(run_id, kGroupKinds[static_cast<std::size_t>(group.kind)], group.id, group.position,
             group.label);
  return groups.take();
}

engine::Status write_notes_of(const Target& to, std::int64_t run_id, const RecordedRun& run) {
  return write_time_notes(to, run_id, run.notes);
}

engine::Status read_experts(const TableSource& source, Session& session) {
  RunTable timings(source, session, "expert_timings",
                   "SELECT * FROM expert_timings ORDER BY run_id, position",
                   sizeof(engine::ExpertTiming));
  return timings.each([](RecordedRun& run, RowReader& rows) {
    std::vector<engine::ExpertTiming>& read = run.result.measurements.experts;
    if (!at_next(rows, "position", read.size(), kMaxExpertTimings)) return;
    engine::ExpertTiming timing;
    timing.method = static_cast<engine::ExpertMethod>(rows.choice("method", kExpertMethodNames));
    timing.stage = rows.integer<engine::Stage>("stage", 0, std::ssize(engine::kStageNames) - 1);
    timing.expert = rows.integer<int>("expert", 0, std::ssize(run.result.splits) - 1);
    read_times(rows, timing);
    read.push_back(timing);
  });
}

engine::Status read_observer(const TableSource& source, Session& session) {
  RunTable timings(source, session, "observer_timings",
                   "SELECT * FROM observer_timings ORDER BY run_id, position",
                   sizeof(engine::ObserverTiming));
  return timings.each([](RecordedRun& run, RowReader& rows) {
    std::vector<engine::ObserverTiming>& read = run.result.measurements.observer;
    if (!at_next(rows, "position", read.size(), kMaxObserverTimings)) return;
    engine::ObserverTiming timing;
    timing.level = static_cast<engine::TraceLevel>(rows.choice("level", kTraceLevelNames));
    read_times(rows, timing);
    read.push_back(timing);
  });
}

engine::Status read_ceilings(const TableSource& source, Session& session) {
  RunTable rows_of(source, session, "ceilings", "SELECT * FROM ceilings ORDER BY run_id", 0);
  return rows_of.each([](RecordedRun& run, RowReader& rows) {
    engine::Ceilings& ceilings = run.result.measurements.ceilings;
    ceilings.copy_bytes_per_s = rows.real("copy_bytes_per_s");
    ceilings.copy_bytes = rows.count("copy_bytes");
    ceilings.copies = rows.integer<int>("copies", 0, kMaxSamples - 1);
    ceilings.product_flop_per_s = rows.real("product_flop_per_s");
    ceilings.products = rows.integer<int>("products", 0, kMaxSamples - 1);
    ceilings.product = rows.text("product");
  });
}

engine::Status read_power(const TableSource& source, Session& session) {
  RunTable sources(source, session, "power_sources", "SELECT * FROM power_sources ORDER BY run_id",
                   0);
  engine::Status status = sources.each([](RecordedRun& run, RowReader& rows) {
    run.power.method = rows.text("method");
    run.power.missing = rows.text("missing");
  });
  if (!status.ok()) return status;
  RunTable samples(source, session, "power_samples",
                   "SELECT * FROM power_samples ORDER BY run_id, position", sizeof(PowerSample));
  return samples.each([](RecordedRun& run, RowReader& rows) {
    if (!at_next(rows, "position", run.power.samples.size(), kMaxPowerSamples)) return;
    PowerSample sample;
    // Before the first: times may rise only.
    const std::int64_t earliest =
        run.power.samples.empty() ? RowReader::kAnyLow : run.power.samples.back().time_ns;
    sample.time_ns = rows.integer<std::int64_t>("time_ns", earliest, RowReader::kAnyHigh);
    sample.sm_clock_mhz = rows.integer<int>("sm_clock_mhz", -1, 100'000);
    sample.memory_clock_mhz = rows.integer<int>("memory_clock_mhz", -1, 100'000);
    sample.power_w = rows.real("power_w");
    sample.temperature_c = rows.integer<int>("temperature_c", -1, 1000);
    sample.clock_reasons = rows.integer<std::uint64_t>("clock_reasons", 0, RowReader::kAnyHigh);
    run.power.samples.push_back(sample);
  });
}

engine::Status read_groups(const TableSource& source, Session& session) {
  RunTable groups(source, session, "run_groups", "SELECT * FROM run_groups ORDER BY run_id", 0);
  return groups.each([](RecordedRun& run, RowReader& rows) {
    run.group.kind = static_cast<GroupKind>(rows.choice("kind", kGroupKinds));
    run.group.id = rows.count("group_id");
    run.group.position = rows.integer<int>("position", 0, kMaxGroupRuns - 1);
    run.group.label = rows.text("label");
  });
}

engine::Status read_notes(const TableSource& source, Session& session) {
  RunTable notes(source, session, "time_notes",
                 "SELECT * FROM time_notes ORDER BY run_id, position", sizeof(TimeNote));
  return notes.each([](RecordedRun& run, RowReader& rows) {
    if (!at_next(rows, "position", run.notes.size(), kMaxTimeNotes)) return;
    TimeNote note;
    note.begin_ns = rows.integer<std::int64_t>("begin_ns", RowReader::kAnyLow, RowReader::kAnyHigh);
    note.end_ns = rows.integer<std::int64_t>("end_ns", note.begin_ns, RowReader::kAnyHigh);
    note.text = rows.exact_text("text");  // a person's words, which the window writes back
    note.created_ms = rows.count("created_ms");
    run.notes.push_back(std::move(note));
  });
}

}  // namespace

engine::Status write_time_notes(const Target& to, std::int64_t run_id,
                                const std::vector<TimeNote>& notes) {
  TableWriter rows(to, "time_notes", 6);
  std::int64_t position = 0;
  for (const TimeNote& note : notes) {
    rows.row(run_id, position++, note.begin_ns, note.end_ns, note.text, note.created_ms);
  }
  return rows.take();
}

engine::Status replace_time_notes(const Target& to, std::int64_t run_id,
                                  const std::vector<TimeNote>& notes) {
  auto old = Statement::prepare(to.database, to.path, "DELETE FROM time_notes WHERE run_id = ?");
  if (!old.ok()) return old.error();
  const engine::Status status = old.value().integer(run_id).execute();
  return status.ok() ? write_time_notes(to, run_id, notes) : status;
}

engine::Status read_measurement_tables(const TableSource& source, Session& session) {
  for (const auto read :
       {read_experts, read_observer, read_ceilings, read_power, read_groups, read_notes}) {
    if (engine::Status status = read(source, session); !status.ok()) return status;
  }
  return {};
}

engine::Status write_measurement_tables(const Target& to, std::int64_t run_id,
                                        const RecordedRun& run) {
  for (const auto write :
       {write_experts, write_observer, write_ceilings, write_power, write_group, write_notes_of}) {
    if (engine::Status status = write(to, run_id, run); !status.ok()) return status;
  }
  return {};
}

}  // namespace profiling
