// Three CSV tables joined by the column `run`: settings and totals, records, experts; and, where
// the session has any, comparisons, findings of the graph doctor and nodes of captured graphs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include "profiling/export/chrome_trace.h"
#include "profiling/export/csv_table.h"
#include "profiling/export/doctor_csv.h"
#include "profiling/export/run_csv.h"
#include "profiling/export/setting_names.h"
#include "profiling/trace/live_memory.h"
#include "profiling/trace/statistics.h"

namespace profiling {

namespace {

void write_runs(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const RecordedRun& run = session.runs[i];
    const engine::RunResult& result = run.result;
    const engine::RunRequest& request = result.effective;
    std::vector<double> durations;
    for (const engine::Iteration& iteration : result.iterations) {
      durations.push_back(static_cast<double>(iteration.duration_ns));
    }
    const Distribution time = summarize(std::move(durations));
    table.cell(i + 1).cell(result.id).cell(run.wall_clock_ms);
    table.cell(request.shape.preset).cell(request.shape.num_experts).cell(request.shape.tokens);
    table.cell(request.shape.n).cell(request.shape.k).cell(request.layers);
    table.cell(routing_name(request.routing.distribution));
    table.cell(input_name(request.activations)).cell(input_name(request.weights));
    table.cell(request.seed).cell(scaling_name(request.recipe.scaling));
    if (request.recipe.scaling == engine::Scaling::None) {
      table.empty().empty().empty();
    } else {
      table.cell(format_name(request.recipe.activation_format));
      table.cell(request.recipe.pow2_scales ? 1 : 0).cell(request.recipe.amax_epsilon);
    }
    table.cell(backend_name(request.backend)).cell(workspace_name(request.workspace));
    table.cell(launch_name(request.launch.kind)).cell(time.n);
    if (time.n == 0) {
      table.empty().empty().empty();
    } else {
      table.cell(time.median).cell(time.p5).cell(time.p95);
    }
    table.cell(result.iteration_method).cell(result.activity_method).cell(result.dropped_records);
    table.cell(result.flop).cell(result.wall_ns).cell(result.device.name);
    table.cell(result.device.driver).cell(result.device.cublaslt_version);
    table.cell(result.activations.snr_db).cell(result.weights.snr_db);
    table.cell(result.deviations.size());
    const engine::Recipe& recipe = request.recipe;
    table.cell(recipe.delayed.history_length).cell(algorithm_name(recipe.delayed.algorithm));
    table.cell(recipe.delayed.margin).cell(recipe.square_weight_blocks ? 1 : 0);
    table.cell(recipe.hadamard ? 1 : 0).cell(recipe.stochastic_rounding ? 1 : 0);
    if (run.group.kind == GroupKind::None) {
      table.empty().empty().empty().empty();
    } else {
      table.cell(run.group.kind == GroupKind::Sweep ? "sweep" : "interleaved");
      table.cell(run.group.id).cell(run.group.position).cell(run.group.label);
    }
    table.end_row();
  }
}

constexpr std::string_view kRecordColumns =
    "run,start_ns,end_ns,name,kind,stage,layer,lane,expert,iteration,node_id";

void write_records(const Session& session, const TraceChoice& choice, CsvTable& table) {
  constexpr std::string_view kKinds[] = {"host-span", "kernel", "memcpy", "memset", "graph"};
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    if (choice.run && *choice.run != i) continue;
    const Activity& activity = session.runs[i].activity;
    for (const ActivityRecord& record : records_in(activity, choice.range)) {
      const auto kind = static_cast<std::size_t>(record.kind);
      const auto stage = static_cast<std::size_t>(record.stage);
      table.cell(i + 1).cell(record.start_ns).cell(record.end_ns);
      table.cell(record.name < activity.names.size() ? std::string_view(activity.names[record.name])
                                                     : "?");
      table.cell(kind < std::size(kKinds) ? kKinds[kind] : "unknown");
      table.cell(stage < engine::kStageNames.size() ? engine::kStageNames[stage] : "unknown");
      table.cell(static_cast<int>(record.layer)).cell(static_cast<int>(record.lane));
      record.expert < 0 ? table.empty() : table.cell(static_cast<int>(record.expert));
      record.iteration < 0 ? table.empty() : table.cell(record.iteration);
      record.node_id == 0 ? table.empty() : table.cell(record.node_id);
      table.end_row();
    }
  }
}

void write_experts(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const std::vector<engine::ExpertResult>& experts = session.runs[i].result.experts;
    for (std::size_t e = 0; e < experts.size(); ++e) {
      const engine::ExpertResult& expert = experts[e];
      table.cell(i + 1).cell(e).cell(expert.rows).cell(expert.snr_db).cell(expert.max_abs_error);
      table.cell(expert.reference_rms).cell(expert.x_snr_db).cell(expert.saturated);
      table.cell(expert.underflowed).cell(expert.x_max_ulp);
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
      table.cell(kMemoryOperationNames[static_cast<std::size_t>(event.operation)]);
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

/// A row an expert and step; the rings stay in the session.
void write_histories(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.histories.size(); ++i) {
    const engine::AmaxHistory& history = session.histories[i].history;
    for (std::size_t cell = 0; cell < history.rows.size(); ++cell) {
      const auto experts = static_cast<std::size_t>(history.experts);
      table.cell(i + 1).cell(cell / experts).cell(cell % experts).cell(history.rows[cell]);
      table.cell(history.amax[cell]).cell(history.history_amax[cell]);
      table.cell(history.scale_used[cell]).cell(history.scale_wanted[cell]);
      table.cell(history.saturated[cell]).cell(history.underflowed[cell]);
      table.cell(history.snr_db[cell]);
      table.end_row();
    }
  }
}

void write_comparisons(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.comparisons.size(); ++i) {
    const engine::RecipeComparison& comparison = session.comparisons[i].comparison;
    const auto median = [](const std::vector<std::int64_t>& times) {
      return summarize(std::vector<double>(times.begin(), times.end())).median;
    };
    for (const engine::QuantizationReport& report : comparison.reports) {
      const engine::OperandStatistics& statistics = report.statistics;
      table.cell(i + 1).cell(session.comparisons[i].wall_clock_ms);
      table.cell(comparison.request.weights ? "W" : "X").cell(comparison.device.name);
      table.cell(recipe_title(report.recipe)).cell(scaling_name(report.recipe.scaling));
      table.cell(report.columnwise ? "columnwise" : "rowwise").cell(report.refused);
      if (!report.refused.empty()) {
        for (int empty = 0; empty < 12; ++empty) table.empty();
        table.end_row();
        continue;
      }
      table.cell(statistics.elements).cell(statistics.snr_db).cell(report.max_relative_error);
      table.cell(report.max_ulp).cell(statistics.saturated).cell(statistics.underflowed);
      table.cell(report.code_bytes).cell(report.scale_bytes).cell(report.moved_bytes);
      report.times_ns.empty() ? table.empty() : table.cell(median(report.times_ns));
      comparison.copy_times_ns.empty() ? table.empty()
                                       : table.cell(median(comparison.copy_times_ns));
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
        .message = fmt::format("cannot make the folder {}: {}", folder, failed.message())};
  }
  const std::filesystem::path base(folder);
  const engine::Status runs = write_csv(
      base / "runs.csv",
      "run,request_id,wall_clock_ms,preset,num_experts,tokens,n,k,layers,routing,activations,"
      "weights,seed,scaling,activation_format,pow2_scales,amax_epsilon,backend,workspace,launch,"
      "iterations,iteration_median_ns,iteration_p5_ns,iteration_p95_ns,iteration_method,"
      "activity_method,dropped_records,flop,wall_ns,device,driver,cublaslt,activations_snr_db,"
      "weights_snr_db,deviations,history_length,amax_algorithm,margin,square_weight_blocks,"
      "hadamard,stochastic_rounding,group_kind,group_id,group_position,group_label",
      session, write_runs);
  if (!runs.ok()) return runs;
  const engine::Status records = export_records_csv(session, (base / "records.csv").string());
  if (!records.ok()) return records;
  const engine::Status experts =
      write_csv(base / "experts.csv",
                "run,expert,rows,snr_db,max_abs_error,reference_rms,x_snr_db,saturated,"
                "underflowed,x_max_ulp",
                session, write_experts);
  if (!experts.ok()) return experts;
  engine::Status derived = export_run_csv(session, base);
  if (!derived.ok()) return derived;
  if (has_memory_events(session)) {
    const engine::Status memory =
        write_csv(base / "memory.csv",
                  "run,time_ns,operation,address,bytes,iteration,live_device_bytes,"
                  "live_host_bytes,pool_bytes",
                  session, write_memory);
    if (!memory.ok()) return memory;
  }
  const engine::Status graphs = export_doctor_csv(session, base);
  if (!graphs.ok()) return graphs;
  const auto any_power = [](const RecordedRun& run) { return !run.power.samples.empty(); };
  if (std::ranges::any_of(session.runs, any_power)) {
    engine::Status power = write_csv(base / "power.csv",
                                     "run,time_ns,sm_clock_mhz,memory_clock_mhz,power_w,"
                                     "temperature_c,clock_held_by",
                                     session, write_power);
    if (!power.ok()) return power;
  }
  if (!session.histories.empty()) {
    engine::Status histories = write_csv(base / "amax_histories.csv",
                                         "history,step,expert,tokens,amax,history_amax,scale_used,"
                                         "scale_wanted,saturated,underflowed,snr_db",
                                         session, write_histories);
    if (!histories.ok()) return histories;
  }
  if (session.comparisons.empty()) return graphs;
  return write_csv(base / "comparisons.csv",
                   "comparison,wall_clock_ms,operand,device,recipe,scaling,direction,refused,"
                   "elements,snr_db,max_relative_error,max_ulp,saturated,underflowed,code_bytes,"
                   "scale_bytes,moved_bytes,median_ns,copy_median_ns,copy_bytes",
                   session, write_comparisons);
}

}  // namespace profiling
