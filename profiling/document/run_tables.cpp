// The list of a run's tables, and those of them that only files have.
#include "profiling/document/run_tables.h"
#include "profiling/document/ranked_steps_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>

#include "engine/model/projections.h"
#include "engine/program/operation_words.h"
#include "profiling/document/columns.h"
#include "profiling/power/step_times.h"
#include "profiling/trace/live_memory.h"

namespace profiling {
namespace {

Table iterations_table(const RecordedRun& run) {
  const FieldColumns fields(engine::kType<engine::Iteration>);
  std::vector<Column> columns = {for_files("iteration", Measure::Count)};
  fields.add_columns(columns);
  columns.push_back(for_files("throttled"));
  return {.name = "iterations",
          .columns = std::move(columns),
          .rows = [&run, fields](const RowSink& sink) {
            const auto& iterations = run.result.iterations;
            const StepTimes times = step_times(iterations, run.power.samples);
            for (std::size_t i = 0; i < iterations.size(); ++i) {
              Row row{.cells = cells_of(i)};
              fields.add_cells(row.cells, &iterations[i]);
              row.cells.push_back(
                  times.throttled.empty() ? Cell() : Cell(static_cast<int>(times.throttled[i])));
              sink(row);
            }
          }};
}

/// By every method that the run has: sums of records per iteration, and launches of layer 0 that
/// were stamped or had one expert only, of which no single samples are kept.
Table expert_times_table(const RecordedRun& run) {
  std::vector<Column> columns = {for_files("stage"), for_files("expert", Measure::Count),
                                 for_files("method")};
  add_time_columns(columns);
  columns.push_back(for_files("operation"));
  return {
      .name = "expert_times", .columns = std::move(columns), .rows = [&run](const RowSink& sink) {
        for (std::size_t stage = 0; stage < engine::kStageNames.size(); ++stage) {
          for (const ExpertTime& expert :
               expert_times(run.activity, static_cast<engine::Stage>(stage))) {
            Row row{.cells = cells_of(engine::kStageNames[stage], expert.expert,
                                      engine::name_of(engine::ExpertMethod::Trace))};
            add_time_cells(row.cells, expert.time);
            row.cells.push_back(Cell());
            sink(row);
          }
        }
        for (const engine::ExpertTiming& timing : run.result.measurements.experts) {
          sink({.cells = cells_of(engine::stage_name(timing.stage), timing.expert,
                                  engine::name_of(timing.method), timing.samples, timing.median_ns,
                                  timing.p5_ns, timing.p95_ns, Cell(), Cell(), Cell(),
                                  engine::operation_name(run.result.effective.step, timing.stage,
                                                         timing.writes))});
        }
      }};
}

}  // namespace

Table splits_table(const std::vector<std::int64_t>& splits) {
  return {.name = "splits",
          .columns = {column("expert", Measure::Count), column("rows", Measure::Count)},
          .rows = [&splits](const RowSink& sink) {
            for (std::size_t expert = 0; expert < splits.size(); ++expert) {
              sink({.cells = cells_of(expert, splits[expert])});
            }
          }};
}

namespace {

const engine::RecordedRouting& recorded_routing_of(const engine::RunResult& result) {
  static const engine::RecordedRouting kNone;
  return result.recorded_routing ? *result.recorded_routing : kNone;
}

Table recorded_splits_table(const engine::RunResult& result) {
  return {.name = "recorded_splits",
          .columns = {for_files("step", Measure::Count), for_files("expert", Measure::Count),
                      for_files("rows", Measure::Count)},
          .rows = [&recorded = recorded_routing_of(result)](const RowSink& sink) {
            for (const engine::RecordedStep& step : recorded.steps) {
              for (std::size_t expert = 0; expert < step.splits.size(); ++expert) {
                sink({.cells = cells_of(step.step, expert, step.splits[expert])});
              }
            }
          }};
}

}  // namespace

Table replay_checks_table(const engine::RunResult& result) {
  const FieldColumns fields(engine::kType<engine::ReplayCheck>);
  std::vector<Column> columns = {
      for_people("replay", Measure::Count), for_people("micro-batch", Measure::Count),
      for_people("layer", Measure::Count), for_people("output"), for_people("wrong experts")};
  fields.add_columns(columns);
  return {.name = "replay_checks",
          .columns = std::move(columns),
          .rows = [&result, fields](const RowSink& sink) {
            for (const engine::ReplayCheck& check : result.replay_checks) {
              Row row{.cells = cells_of(check.replay, check.micro_batch, check.layer,
                                        engine::output_name(check.product),
                                        fmt::format("{}", fmt::join(check.wrong_experts, " ")))};
              fields.add_cells(row.cells, &check);
              sink(row);
            }
          }};
}

namespace {

/// Calls `use` with each operand's symbol and its statistics.
template <class Use>
void each_operand(const engine::RunResult& result, const Use& use) {
  for (const engine::TensorResult& one : result.tensors) {
    if (!one.quantization) continue;
    use(engine::tensor_symbol(result.effective.step, one.tensor), *one.quantization);
  }
}

/// The error of quantizing each operand alone; tensors_table() has that of a whole layer.
Table operands_table(const engine::RunResult& result) {
  return {
      .name = "operands",
      .columns = {for_files("operand"), for_files("elements", Measure::Count),
                  for_files("snr_db", Measure::Decibels),
                  for_files("median_block_snr_db", Measure::Decibels),
                  for_files("saturated", Measure::Count), for_files("underflowed", Measure::Count),
                  for_files("lost", Measure::Count), for_files("undefined", Measure::Count)},
      .rows = [&result](const RowSink& sink) {
        each_operand(
            result, [&](std::string_view symbol, const engine::OperandStatistics& operand) {
              sink({.cells = cells_of(symbol, operand.elements, operand.snr_db,
                                      operand.median_block_snr_db, operand.saturated,
                                      operand.underflowed, operand.lost, operand.undefined)});
            });
      }};
}

Table operand_experts_table(const engine::RunResult& result) {
  const FieldColumns fields(engine::kType<engine::OperandExpert>);
  std::vector<Column> columns = {for_files("operand"), for_files("expert", Measure::Count)};
  fields.add_columns(columns);
  return {.name = "operand_experts",
          .columns = std::move(columns),
          .rows = [&result, fields](const RowSink& sink) {
            each_operand(result,
                         [&](std::string_view symbol, const engine::OperandStatistics& operand) {
                           for (std::size_t expert = 0; expert < operand.experts.size(); ++expert) {
                             Row row{.cells = cells_of(symbol, expert)};
                             fields.add_cells(row.cells, &operand.experts[expert]);
                             sink(row);
                           }
                         });
          }};
}

/// Calls `use` with the operand's symbol, the axis, its profile.
template <class Use>
void each_profile(const engine::RunResult& result, const Use& use) {
  each_operand(result, [&](std::string_view symbol, const engine::OperandStatistics& operand) {
    if (!operand.channels) return;
    use(symbol, std::string_view("columns"), operand.channels->columns);
    use(symbol, std::string_view("rows"), operand.channels->rows);
  });
}

/// Profiles of rows and columns; a cell has the worst of its channels.
Table channel_profiles_table(const engine::RunResult& result) {
  return {.name = "channel_profiles",
          .columns = {for_files("operand"), for_files("axis"), for_files("cell", Measure::Count),
                      for_files("first_channel", Measure::Count),
                      for_files("amax", Measure::Number), for_files("snr_db", Measure::Decibels),
                      for_files("saturated_share", Measure::Share),
                      for_files("underflowed_share", Measure::Share),
                      for_files("lost_share", Measure::Share)},
          .rows = [&result](const RowSink& sink) {
            each_profile(result, [&](std::string_view symbol, std::string_view axis,
                                     const engine::ChannelProfile& profile) {
              for (std::size_t cell = 0; cell < profile.cells(); ++cell) {
                sink({.cells = cells_of(symbol, axis, cell, profile.first_channel(cell),
                                        static_cast<double>(profile.amax[cell]),
                                        static_cast<double>(profile.snr_db[cell]),
                                        static_cast<double>(profile.saturated_share[cell]),
                                        static_cast<double>(profile.underflowed_share[cell]),
                                        static_cast<double>(profile.lost_share[cell]))});
              }
            });
          }};
}

/// The worst rows and columns by name.
Table channels_table(const engine::RunResult& result) {
  const FieldColumns fields(engine::kType<engine::Channel>);
  std::vector<Column> columns = {for_files("operand"), for_files("axis"), for_files("list"),
                                 for_files("over_median", Measure::Factor)};
  fields.add_columns(columns);
  return {.name = "channels",
          .columns = std::move(columns),
          .rows = [&result, fields](const RowSink& sink) {
            using List = std::vector<engine::Channel> engine::ChannelProfile::*;
            constexpr std::pair<std::string_view, List> kLists[] = {
                {"largest", &engine::ChannelProfile::largest},
                {"noisiest", &engine::ChannelProfile::noisiest},
                {"lowest_snr", &engine::ChannelProfile::lowest_snr}};
            each_profile(result, [&](std::string_view symbol, std::string_view axis,
                                     const engine::ChannelProfile& profile) {
              for (const auto& [list, member] : kLists) {
                for (const engine::Channel& channel : profile.*member) {
                  Row row{.cells = cells_of(symbol, axis, list, profile.over_median(channel))};
                  fields.add_cells(row.cells, &channel);
                  sink(row);
                }
              }
            });
          }};
}

Table histograms_table(const engine::RunResult& result) {
  return {.name = "histograms",
          .columns = {for_files("operand"), for_files("kind"), for_files("bin", Measure::Number),
                      for_files("count", Measure::Count)},
          .rows = [&result](const RowSink& sink) {
            constexpr std::pair<std::string_view,
                                engine::MagnitudeHistogram engine::OperandStatistics::*>
                kKinds[] = {{"before", &engine::OperandStatistics::before},
                            {"after", &engine::OperandStatistics::after},
                            {"amax", &engine::OperandStatistics::amax},
                            {"scale", &engine::OperandStatistics::scale}};
            each_operand(result, [&](std::string_view symbol,
                                     const engine::OperandStatistics& operand) {
              for (const auto& [kind, member] : kKinds) {
                const engine::MagnitudeHistogram& histogram = operand.*member;
                for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
                  if (histogram.counts[bin] == 0) continue;
                  sink({.cells = cells_of(symbol, kind, histogram.first_bin + static_cast<int>(bin),
                                          histogram.counts[bin])});
                }
              }
            });
          }};
}

Table memory_table(const Activity& activity) {
  return {
      .name = "memory",
      .columns = {for_files("time_ns", Measure::Time), for_files("operation"), for_files("address"),
                  for_files("bytes", Measure::Bytes), for_files("iteration", Measure::Count),
                  for_files("live_device_bytes", Measure::Bytes),
                  for_files("live_host_bytes", Measure::Bytes),
                  for_files("pool_bytes", Measure::Bytes)},
      .rows = [&activity](const RowSink& sink) {
        const std::vector<MemoryEvent>& events = activity.memory_events;
        const LiveMemory live = live_memory(events);
        for (std::size_t i = 0; i < events.size(); ++i) {
          const MemoryEvent& event = events[i];
          sink({.cells = cells_of(event.time_ns, engine::name_of(event.operation),
                                  fmt::format("{:#x}", event.address), event.bytes,
                                  event.iteration < 0 ? Cell() : Cell(event.iteration),
                                  live.device_bytes[i], live.host_bytes[i], live.pool_bytes[i])});
        }
      }};
}

}  // namespace

Table power_table(std::span<const PowerSample> samples,
                  std::span<const engine::Iteration> iterations) {
  const TimeSpan timed = timed_span(iterations);
  return {.name = "power",
          .columns = {column("time_ns", Measure::Time, "time"),
                      column("sm_clock_mhz", Measure::Count, "SM clock"),
                      column("memory_clock_mhz", Measure::Count, "memory clock"),
                      column("power_w", Measure::Number, "power"),
                      column("temperature_c", Measure::Count, "temperature"),
                      column("clock_held_by", Measure::Words, "clock limited by"),
                      column("timed", Measure::Words, "in the timed iterations")},
          .rows = [samples, timed](const RowSink& sink) {
            const auto reported = [](auto value, const char* unit) {
              return value < 0 ? Cell()
                               : worded(value, fmt::format("{:.0f} {}", 1.0 * value, unit));
            };
            for (const PowerSample& sample : samples) {
              const std::string limits = clock_reason_names(sample.clock_reasons);
              sink({.cells = cells_of(sample.time_ns, reported(sample.sm_clock_mhz, "MHz"),
                                      reported(sample.memory_clock_mhz, "MHz"),
                                      reported(sample.power_w, "W"),
                                      reported(sample.temperature_c, "\u00b0C"),
                                      worded(limits, limits.empty() ? "nothing" : ""),
                                      timed.holds(sample.time_ns) ? "yes" : "no")});
            }
          }};
}

namespace {

/// Shape, registers, shared memory and bytes of a record, and the call that launched it.
void add_launch_cells(const Activity& activity, const ActivityRecord& record,
                      std::vector<Cell>& cells) {
  const LaunchShape* const shape = shape_of(activity, record);
  const bool kernel = shape != nullptr && shape->kernel();
  if (kernel) {
    add_cells(cells, fmt::format("{}x{}x{}", shape->grid_x, shape->grid_y, shape->grid_z),
              fmt::format("{}x{}x{}", shape->block_x, shape->block_y, shape->block_z),
              shape->registers_per_thread, shape->static_shared_bytes, shape->dynamic_shared_bytes);
  } else {
    cells.resize(cells.size() + 5);
  }
  cells.push_back(shape != nullptr && !kernel ? Cell(shape->bytes) : Cell());
  if (const HostCall* const call = call_of(activity, record)) {
    add_cells(cells, name_of(activity, call->name), call->start_ns);
  } else {
    cells.resize(cells.size() + 2);
  }
}

}  // namespace

Table records_table(const RecordedRun& run, TimeRange range) {
  std::vector<Column> columns;
  for (const char* const key :
       {"start_ns", "end_ns", "name", "kind", "stage", "operation", "layer", "lane", "expert",
        "iteration", "node_id", "grid", "block", "registers_per_thread", "static_shared_bytes",
        "dynamic_shared_bytes", "bytes", "host_call", "host_call_ns"}) {
    columns.push_back(for_files(key));
  }
  return {
      .name = "records", .columns = std::move(columns), .rows = [&run, range](const RowSink& sink) {
        const Activity& activity = run.activity;
        engine::OperationNames operations(run.result.effective.step);
        Row row;  // one for millions of records
        for (const ActivityRecord& record : records_in(activity, range)) {
          row.cells.clear();
          add_cells(row.cells, record.start_ns, record.end_ns, name_of(activity, record.name),
                    engine::name_of(record.kind), engine::name_of(record.stage),
                    operations.of(record.stage, record.writes), record.layer, record.lane,
                    record.expert < 0 ? Cell() : Cell(record.expert),
                    record.iteration < 0 ? Cell() : Cell(record.iteration),
                    record.node_id == 0 ? Cell() : Cell(record.node_id));
          add_launch_cells(activity, record, row.cells);
          sink(row);
        }
      }};
}

std::vector<Table> run_tables(const RecordedRun& run) {
  const engine::RunResult& result = run.result;
  std::vector<Table> tables;
  tables.push_back(runs_table({{.run = &run}}));
  tables.push_back(records_table(run, kAllTime));
  tables.push_back(experts_table(run));
  tables.push_back(iterations_table(run));
  tables.push_back(kernels_table(run));
  tables.push_back(stages_table(run));
  tables.push_back(expert_times_table(run));
  tables.push_back(tiled_launches_table(result));
  tables.push_back(launch_tiles_table(result));
  tables.push_back(splits_table(result.splits));
  tables.push_back(ranked_steps_table(ranked_steps(result, run.power.samples)));
  tables.push_back(recorded_splits_table(result));
  tables.push_back(graph_nodes_table(run, nullptr));
  tables.push_back(step_graphs_table(result));
  tables.push_back(replay_checks_table(result));
  tables.push_back(operands_table(result));
  tables.push_back(operand_experts_table(result));
  tables.push_back(channels_table(result));
  tables.push_back(channel_profiles_table(result));
  tables.push_back(tensors_table(result));
  tables.push_back(error_sources_table(result));
  tables.push_back(histograms_table(result));
  tables.push_back(memory_table(run.activity));
  tables.push_back(power_table(run.power.samples, run.result.iterations));
  return tables;
}

}  // namespace profiling
