// Three CSV tables joined by the column `run`: settings and totals, records, experts; and, if the
// session has any, comparisons, findings of the graph doctor and nodes of captured graphs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include "engine/model/median_interval.h"
#include "engine/model/path_text.h"
#include "engine/program/operation_words.h"
#include "profiling/export/chrome_trace.h"
#include "profiling/export/csv_table.h"
#include "profiling/export/setting_names.h"
#include "profiling/power/step_times.h"
#include "profiling/trace/live_memory.h"
#include "profiling/trace/statistics.h"

namespace profiling {

namespace {

CsvColumns request_columns() { return CsvColumns(engine::kType<engine::RunRequest>); }
CsvColumns device_columns() { return CsvColumns(engine::kType<engine::DeviceFacts>, "device."); }
CsvColumns pool_columns() {
  return CsvColumns(engine::kType<engine::GraphMemoryFacts>, "graph_memory.");
}
CsvColumns expert_columns() { return CsvColumns(engine::kType<engine::ExpertResult>); }

std::string operand_columns() {
  std::string header;
  for (const engine::StepTensor tensor : engine::operands_of(engine::StepKind::ExpertLayer)) {
    const std::string_view column = engine::traits_of(tensor).column;
    header +=
        fmt::format("{1}{0}_snr_db,{0}_saturated,{0}_underflowed,{0}_lost,{0}_undefined",
                    column.empty() ? engine::name_of(tensor) : column, header.empty() ? "" : ",");
  }
  return header;
}

void write_operands(const engine::RunResult& result, CsvTable& table) {
  for (const engine::StepTensor tensor : engine::operands_of(engine::StepKind::ExpertLayer)) {
    const engine::OperandStatistics* const operand = engine::statistics_of(result, tensor);
    if (operand == nullptr) {
      table.empty(5);
      continue;
    }
    table.cell(operand->snr_db).cell(operand->saturated).cell(operand->underflowed);
    table.cell(operand->lost).cell(operand->undefined);
  }
}

void write_runs(const Session& session, CsvTable& table) {
  const CsvColumns request = request_columns();
  const CsvColumns device = device_columns();
  const CsvColumns pool = pool_columns();
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const RecordedRun& run = session.runs[i];
    const engine::RunResult& result = run.result;
    const Distribution time = summarize(durations_ns(result.iterations));
    table.cell(i + 1).cell(result.id).cell(run.wall_clock_ms);
    table.cells(request.cells(&result.effective)).cell(time.n);
    if (time.n == 0) {
      table.empty(3);
    } else {
      table.cell(time.median).cell(time.p5).cell(time.p95);
    }
    table.cell(result.iteration_method).cell(result.activity_method).cell(result.dropped_records);
    table.cell(result.flop).cell(result.wall_ns).cells(device.cells(&result.device));
    table.cells(pool.cells(&result.graph_memory));
    write_operands(result, table);
    table.cell(result.deviations.size());
    if (run.group.kind == GroupKind::None) {
      table.empty(4);
    } else {
      table.cell(run.group.kind == GroupKind::Sweep ? "sweep" : "interleaved");
      table.cell(run.group.id).cell(run.group.position).cell(run.group.label);
    }
    table.end_row();
  }
}

constexpr std::string_view kRecordColumns =
    "run,start_ns,end_ns,name,kind,stage,operation,layer,lane,expert,iteration,node_id,"
    "grid,block,registers_per_thread,static_shared_bytes,dynamic_shared_bytes,bytes,"
    "host_call,host_call_ns";

void write_launch(const Activity& activity, const ActivityRecord& record, CsvTable& table) {
  const LaunchShape* shape = shape_of(activity, record);
  if (shape != nullptr && shape->kernel()) {
    table.cell(fmt::format("{}x{}x{}", shape->grid_x, shape->grid_y, shape->grid_z));
    table.cell(fmt::format("{}x{}x{}", shape->block_x, shape->block_y, shape->block_z));
    table.cell(shape->registers_per_thread).cell(shape->static_shared_bytes);
    table.cell(shape->dynamic_shared_bytes).empty();
  } else {
    table.empty(5);
    shape == nullptr ? table.empty() : table.cell(shape->bytes);
  }
  const HostCall* call = call_of(activity, record);
  if (call == nullptr) {
    table.empty(2);
  } else {
    table.cell(std::string_view(activity.names[call->name])).cell(call->start_ns);
  }
}

void write_records(const Session& session, const TraceChoice& choice, CsvTable& table) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    if (choice.run && *choice.run != i) continue;
    const Activity& activity = session.runs[i].activity;
    engine::OperationNames operations(session.runs[i].result.effective.step);
    for (const ActivityRecord& record : records_in(activity, choice.range)) {
      table.cell(i + 1).cell(record.start_ns).cell(record.end_ns);
      table.cell(record.name < activity.names.size() ? std::string_view(activity.names[record.name])
                                                     : "?");
      table.cell(engine::name_of(record.kind)).cell(engine::name_of(record.stage));
      table.cell(operations.of(record.stage, record.writes));
      table.cell(static_cast<int>(record.layer)).cell(static_cast<int>(record.lane));
      record.expert < 0 ? table.empty() : table.cell(static_cast<int>(record.expert));
      record.iteration < 0 ? table.empty() : table.cell(record.iteration);
      record.node_id == 0 ? table.empty() : table.cell(record.node_id);
      write_launch(activity, record, table);
      table.end_row();
    }
  }
}

void write_experts(const Session& session, CsvTable& table) {
  const CsvColumns columns = expert_columns();
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const std::vector<engine::ExpertResult>& experts = session.runs[i].result.experts;
    for (std::size_t e = 0; e < experts.size(); ++e) {
      table.cell(i + 1).cell(e).cells(columns.cells(&experts[e]));
      table.end_row();
    }
  }
}

bool has_memory_events(const Session& session) {
  return std::ranges::any_of(
      session.runs, [](const RecordedRun& run) { return !run.activity.memory_events.empty(); });
}

void write_memory(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const std::vector<MemoryEvent>& events = session.runs[i].activity.memory_events;
    const LiveMemory live = live_memory(events);
    for (std::size_t e = 0; e < events.size(); ++e) {
      const MemoryEvent& event = events[e];
      table.cell(i + 1).cell(event.time_ns);
      table.cell(engine::name_of(event.operation));
      table.cell(fmt::format("{:#x}", event.address)).cell(event.bytes);
      event.iteration < 0 ? table.empty() : table.cell(event.iteration);
      table.cell(live.device_bytes[e]).cell(live.host_bytes[e]).cell(live.pool_bytes[e]);
      table.end_row();
    }
  }
}

void write_power(const Session& session, CsvTable& table) {
  const auto said = [&table](auto value) { value < 0 ? table.empty() : table.cell(value); };
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    for (const PowerSample& sample : session.runs[i].power.samples) {
      table.cell(i + 1).cell(sample.time_ns);
      said(sample.sm_clock_mhz);
      said(sample.memory_clock_mhz);
      said(sample.power_w);
      said(sample.temperature_c);
      table.cell(clock_reason_names(sample.clock_reasons));
      table.end_row();
    }
  }
}

/// One row per expert and step; the rings stay in the session.
void write_histories(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.histories.size(); ++i) {
    const engine::AmaxHistory& history = session.histories[i].history;
    for (std::size_t cell = 0; cell < history.rows.size(); ++cell) {
      const auto experts = static_cast<std::size_t>(history.experts);
      table.cell(i + 1).cell(cell / experts).cell(cell % experts).cell(history.rows[cell]);
      table.cell(history.amax[cell]).cell(history.history_amax[cell]);
      table.cell(history.scale_used[cell]).cell(history.scale_wanted[cell]);
      table.cell(history.saturated[cell]).cell(history.underflowed[cell]);
      table.cell(history.snr_db[cell]).cell(history.left_out[cell]);
      table.end_row();
    }
  }
}

std::string_view operand_name(const engine::ComparisonRequest& request) {
  return request.weights ? "W" : request.gradients ? "dY" : "X";
}

void write_comparisons(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.comparisons.size(); ++i) {
    const engine::RecipeComparison& comparison = session.comparisons[i].comparison;
    for (const engine::QuantizationReport& report : comparison.reports) {
      const engine::OperandStatistics& statistics = report.statistics;
      table.cell(i + 1).cell(session.comparisons[i].wall_clock_ms);
      table.cell(operand_name(comparison.request)).cell(comparison.device.name);
      table.cell(recipe_title(report.recipe)).cell(engine::name_of(report.recipe.scaling));
      table.cell(report.columnwise ? "columnwise" : "rowwise").cell(report.refused);
      if (!report.refused.empty()) {
        table.empty(15).end_row();
        continue;
      }
      table.cell(statistics.elements).cell(statistics.snr_db).cell(statistics.median_block_snr_db);
      table.cell(report.max_relative_error)
          .cell(report.max_ulp)
          .cell(statistics.saturated)
          .cell(statistics.underflowed)
          .cell(statistics.lost)
          .cell(statistics.undefined);
      table.cell(report.code_bytes).cell(report.scale_bytes).cell(report.moved_bytes);
      report.times_ns.empty() ? table.empty() : table.cell(engine::median_of(report.times_ns));
      comparison.copy_times_ns.empty() ? table.empty()
                                       : table.cell(engine::median_of(comparison.copy_times_ns));
      table.cell(comparison.copy_bytes);
      table.end_row();
    }
  }
}

}  // namespace

engine::Status export_records_csv(const Session& session, const std::string& path,
                                  const TraceChoice& choice) {
  return write_csv(path, kRecordColumns, session, [&choice](const Session& all, CsvTable& table) {
    write_records(all, choice, table);
  });
}

engine::Status export_csv(const Session& session, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return engine::Error{
        .code = engine::ErrorCode::Io,
        .message = fmt::format("cannot make the folder {}: {}", engine::shown_path(folder),
                               engine::path_error_text(folder, failed.value()))};
  }
  const std::filesystem::path base(folder);
  const engine::Status runs =
      write_csv(base / "runs.csv",
                fmt::format("run,request_id,wall_clock_ms,{},iterations,iteration_median_ns,"
                            "iteration_p5_ns,iteration_p95_ns,iteration_method,activity_method,"
                            "dropped_records,flop,wall_ns,{},{},{},deviations,"
                            "group_kind,group_id,group_position,group_label",
                            request_columns().header(), device_columns().header(),
                            pool_columns().header(), operand_columns()),
                session, write_runs);
  if (!runs.ok()) return runs;
  ENGINE_TRY(export_records_csv(session, (base / "records.csv").string()));
  ENGINE_TRY(write_csv(base / "experts.csv",
                       fmt::format("run,expert,{}", expert_columns().header()), session,
                       write_experts));
  ENGINE_TRY(export_run_csv(session, base));
  if (has_memory_events(session)) {
    ENGINE_TRY(write_csv(base / "memory.csv",
                         "run,time_ns,operation,address,bytes,iteration,live_device_bytes,"
                         "live_host_bytes,pool_bytes",
                         session, write_memory));
  }
  const engine::Status graphs = export_doctor_csv(session, base);
  if (!graphs.ok()) return graphs;
  const auto any_power = [](const RecordedRun& run) { return !run.power.samples.empty(); };
  if (std::ranges::any_of(session.runs, any_power)) {
    ENGINE_TRY(write_csv(base / "power.csv",
                         "run,time_ns,sm_clock_mhz,memory_clock_mhz,power_w,"
                         "temperature_c,clock_held_by",
                         session, write_power));
  }
  if (!session.histories.empty()) {
    ENGINE_TRY(write_csv(base / "amax_histories.csv",
                         "history,step,expert,tokens,amax,history_amax,scale_used,"
                         "scale_wanted,saturated,underflowed,snr_db,left_out",
                         session, write_histories));
  }
  if (session.comparisons.empty()) return graphs;
  return write_csv(base / "comparisons.csv",
                   "comparison,wall_clock_ms,operand,device,recipe,scaling,direction,refused,"
                   "elements,snr_db,median_block_snr_db,max_relative_error,max_ulp,saturated,"
                   "underflowed,lost,undefined,code_bytes,"
                   "scale_bytes,moved_bytes,median_ns,copy_median_ns,copy_bytes",
                   session, write_comparisons);
}

}  // namespace profiling
