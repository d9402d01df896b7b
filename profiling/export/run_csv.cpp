// One function per table; the first column is the run, as in records.csv.
#include "profiling/export/csv_table.h"

#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/program/operation_words.h"
#include "profiling/power/step_times.h"
#include "profiling/trace/roofline.h"
#include "profiling/trace/statistics.h"

namespace profiling {

namespace {

void write_time(const Distribution& time, CsvTable& table) {
  table.cell(time.n).cell(time.median).cell(time.p5).cell(time.p95);
  table.cell(time.minimum).cell(time.maximum).cell(time.sum);
}

CsvColumns iteration_columns() { return CsvColumns(engine::kType<engine::Iteration>); }
CsvColumns replay_check_columns() { return CsvColumns(engine::kType<engine::ReplayCheck>); }

void write_iterations(const Session& session, CsvTable& table) {
  const CsvColumns columns = iteration_columns();
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const auto& iterations = session.runs[i].result.iterations;
    const StepTimes times = step_times(iterations, session.runs[i].power.samples);
    for (std::size_t k = 0; k < iterations.size(); ++k) {
      table.cell(i + 1).cell(k).cells(columns.cells(&iterations[k]));
      if (times.throttled.empty()) {
        table.empty(1);
      } else {
        table.cell(static_cast<int>(times.throttled[k]));
      }
      table.end_row();
    }
  }
}

/// For the timed iterations, in the window's initial order.
void write_kernels(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const Activity& activity = session.runs[i].activity;
    const engine::StepKind step = session.runs[i].result.effective.step;
    for (const KernelSummary& kernel : kernel_table(activity, kAllTime, true)) {
      table.cell(i + 1);
      table.cell(kernel.name < activity.names.size() ? std::string_view(activity.names[kernel.name])
                                                     : "?");
      table.cell(engine::stage_name(kernel.stage));
      table.cell(engine::operation_name(step, kernel.stage, kernel.writes));
      write_time(kernel.time, table);
      table.cell(kernel.share);
      table.end_row();
    }
  }
}

void write_stage_times(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    for (const StageTime& one : stage_times(session.runs[i].result, session.runs[i].activity)) {
      table.cell(i + 1).cell(engine::stage_name(one.stage));
      write_time(one.time, table);
      if (one.work) {
        table.cell(one.work->flop).cell(one.work->bytes);
      } else {
        table.empty(2);
      }
      table.end_row();
    }
  }
}

void write_expert_times(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    for (std::size_t stage = 0; stage < engine::kStageNames.size(); ++stage) {
      for (const ExpertTime& expert :
           expert_times(session.runs[i].activity, static_cast<engine::Stage>(stage))) {
        table.cell(i + 1).cell(engine::kStageNames[stage]).cell(expert.expert);
        write_time(expert.time, table);
        table.end_row();
      }
    }
  }
}

void write_splits(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const std::vector<std::int64_t>& splits = session.runs[i].result.splits;
    for (std::size_t expert = 0; expert < splits.size(); ++expert) {
      table.cell(i + 1).cell(expert).cell(splits[expert]);
      table.end_row();
    }
  }
}

CsvColumns recorded_step_columns() { return CsvColumns(engine::kType<engine::RecordedStep>); }

/// Calls `use` with the run's number and every step of its recording, if it has one.
template <class Use>
void each_recorded_step(const Session& session, const Use& use) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const auto& recording = session.runs[i].result.recording;
    if (!recording) continue;
    for (const engine::RecordedStep& step : recording->steps) use(i + 1, step);
  }
}

void write_recorded_steps(const Session& session, CsvTable& table) {
  const CsvColumns columns = recorded_step_columns();
  each_recorded_step(session, [&](std::size_t run, const engine::RecordedStep& step) {
    table.cell(run).cells(columns.cells(&step));
    table.end_row();
  });
}

void write_recorded_splits(const Session& session, CsvTable& table) {
  each_recorded_step(session, [&](std::size_t run, const engine::RecordedStep& step) {
    for (std::size_t expert = 0; expert < step.splits.size(); ++expert) {
      table.cell(run).cell(step.step).cell(expert).cell(step.splits[expert]);
      table.end_row();
    }
  });
}

void write_graph_nodes(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const std::vector<GraphNode>& nodes = session.runs[i].activity.nodes;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const std::string after = fmt::format("{}", fmt::join(nodes[k].dependencies, " "));
      table.cell(i + 1).cell(k).cell(nodes[k].id).cell(nodes[k].name);
      table.cell(engine::stage_name(nodes[k].stage));
      table.cell(engine::operation_name(session.runs[i].result.effective.step, nodes[k].stage,
                                        nodes[k].writes));
      table.cell(static_cast<int>(nodes[k].layer));
      table.cell(after);
      table.end_row();
    }
  }
}

void write_replay_checks(const Session& session, CsvTable& table) {
  const CsvColumns columns = replay_check_columns();
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    for (const engine::ReplayCheck& check : session.runs[i].result.replay_checks) {
      table.cell(i + 1).cells(columns.cells(&check));
      table.end_row();
    }
  }
}

CsvColumns step_graph_columns() { return CsvColumns(engine::kType<engine::StepGraph>); }

void write_step_graphs(const Session& session, CsvTable& table) {
  const CsvColumns columns = step_graph_columns();
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    for (const engine::StepGraph& graph : session.runs[i].result.graphs) {
      table.cell(i + 1).cells(columns.cells(&graph));
      table.end_row();
    }
  }
}

CsvColumns accuracy_columns() {
  return CsvColumns(engine::kType<engine::ProductAccuracy>, "error.");
}

CsvColumns operand_expert_columns() { return CsvColumns(engine::kType<engine::OperandExpert>); }

/// Calls `use` with the run's number, the operand's symbol and its statistics.
template <class Use>
void each_operand(const Session& session, const Use& use) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const engine::RunResult& result = session.runs[i].result;
    for (const engine::TensorResult& one : result.tensors) {
      if (!one.quantization) continue;
      use(i + 1, engine::tensor_symbol(result.effective.step, one.tensor), *one.quantization);
    }
  }
}

/// The error of quantizing each operand alone; tensors.csv has that of a whole layer.
void write_operands(const Session& session, CsvTable& table) {
  each_operand(session, [&](std::size_t run, std::string_view symbol,
                            const engine::OperandStatistics& operand) {
    table.cell(run).cell(symbol).cell(operand.elements).cell(operand.snr_db);
    table.cell(operand.median_block_snr_db).cell(operand.saturated).cell(operand.underflowed);
    table.cell(operand.lost).cell(operand.undefined).end_row();
  });
}

void write_operand_experts(const Session& session, CsvTable& table) {
  const CsvColumns columns = operand_expert_columns();
  each_operand(session, [&](std::size_t run, std::string_view symbol,
                            const engine::OperandStatistics& operand) {
    for (std::size_t expert = 0; expert < operand.experts.size(); ++expert) {
      table.cell(run).cell(symbol).cell(expert);
      table.cells(columns.cells(&operand.experts[expert])).end_row();
    }
  });
}

void write_tensors(const Session& session, CsvTable& table) {
  const CsvColumns columns = accuracy_columns();
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    for (const engine::TensorResult& one : session.runs[i].result.tensors) {
      table.cell(i + 1).cell(engine::name_of(one.tensor)).cell(one.rows).cell(one.columns);
      if (one.has_bytes()) {
        table.cell(one.bytes).cell(one.saved_bytes);
      } else {
        table.empty(2);
      }
      table.cells(columns.cells(&one.error));
      one.quantization&& one.quantization->elements > 0 ? table.cell(one.quantization->snr_db)
                                                        : table.empty();
      table.end_row();
    }
  }
}

void write_error_sources(const Session& session, CsvTable& table) {
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const engine::RunResult& result = session.runs[i].result;
    const engine::TensorResult* const y = engine::find_tensor(result, engine::StepTensor::Y);
    for (const engine::TensorResult& one : result.tensors) {
      if (!one.unquantized_y) continue;
      table.cell(i + 1).cell(engine::name_of(one.tensor)).cell(one.unquantized_y->snr_db);
      y == nullptr ? table.empty() : table.cell(y->error.snr_db);
      result.expert_layer ? table.cell(result.expert_layer->unquantized_snr_db) : table.empty();
      table.cell(one.unquantized_y->left_out).end_row();
    }
  }
}

void write_histograms(const Session& session, CsvTable& table) {
  constexpr std::pair<std::string_view, engine::MagnitudeHistogram engine::OperandStatistics::*>
      kKinds[] = {{"before", &engine::OperandStatistics::before},
                  {"after", &engine::OperandStatistics::after},
                  {"amax", &engine::OperandStatistics::amax},
                  {"scale", &engine::OperandStatistics::scale}};
  each_operand(session, [&](std::size_t run, std::string_view symbol,
                            const engine::OperandStatistics& operand) {
    for (const auto& [kind, member] : kKinds) {
      const engine::MagnitudeHistogram& histogram = operand.*member;
      for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
        if (histogram.counts[bin] == 0) continue;
        table.cell(run).cell(symbol).cell(kind);
        table.cell(histogram.first_bin + static_cast<int>(bin)).cell(histogram.counts[bin]);
        table.end_row();
      }
    }
  });
}

struct Table {
  const char* file;
  std::string header;
  void (*write)(const Session&, CsvTable&);
};

constexpr const char* kTime = "n,median_ns,p5_ns,p95_ns,minimum_ns,maximum_ns,sum_ns";

}  // namespace

engine::Status export_run_csv(const Session& session, const std::filesystem::path& folder) {
  const Table tables[] = {
      {"iterations.csv", "run,iteration," + iteration_columns().header() + ",throttled",
       write_iterations},
      {"kernels.csv", fmt::format("run,name,stage,operation,{},share", kTime), write_kernels},
      {"stage_times.csv", fmt::format("run,stage,{},flop,bytes", kTime), write_stage_times},
      {"expert_times.csv", fmt::format("run,stage,expert,{}", kTime), write_expert_times},
      {"splits.csv", "run,expert,tokens", write_splits},
      {"recorded_steps.csv", "run," + recorded_step_columns().header(), write_recorded_steps},
      {"recorded_splits.csv", "run,step,expert,tokens", write_recorded_splits},
      {"graph_nodes.csv", "run,position,node_id,name,stage,operation,layer,depends_on",
       write_graph_nodes},
      {"step_graphs.csv", "run," + step_graph_columns().header(), write_step_graphs},
      {"replay_checks.csv", "run," + replay_check_columns().header(), write_replay_checks},
      {"operands.csv",
       "run,operand,elements,snr_db,median_block_snr_db,saturated,underflowed,lost,undefined",
       write_operands},
      {"operand_experts.csv", "run,operand,expert," + operand_expert_columns().header(),
       write_operand_experts},
      {"tensors.csv",
       fmt::format("run,tensor,rows,columns,bytes,saved_bytes,{},quantization.snr_db",
                   accuracy_columns().header()),
       write_tensors},
      {"error_sources.csv", "run,tensor,snr_db,run_snr_db,unquantized_snr_db,left_out",
       write_error_sources},
      {"histograms.csv", "run,operand,kind,bin,count", write_histograms},
  };
  for (const Table& table : tables) {
    ENGINE_TRY(write_csv(folder / table.file, table.header, session, table.write));
  }
  return {};
}

}  // namespace profiling
