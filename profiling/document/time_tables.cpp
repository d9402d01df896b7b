// Tables of times and of the work they are compared with.
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "engine/program/operation_words.h"
#include "profiling/document/columns.h"
#include "profiling/document/quantity.h"
#include "profiling/document/roof_sentence.h"
#include "profiling/document/run_tables.h"
#include "profiling/hazards/model/kernel_name.h"
#include "profiling/trace/roofline.h"

namespace profiling {
namespace {

constexpr const char* kMethods[] = {"records", "tile stamps", "alone on the device"};

/// Missing where nothing is moved or computed.
Cell amount(double value) { return value > 0.0 ? Cell(value) : Cell(); }

/// For every row, whether it does its operation's work: the one with the most time. The others,
/// such as the memset before a product, only help it: its rate and its roof are not theirs.
std::vector<bool> main_kernels(const std::vector<KernelSummary>& kernels) {
  std::map<std::pair<engine::Stage, engine::WrittenValue>, std::size_t> longest;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto at = longest.try_emplace({kernels[i].stage, kernels[i].writes}, i).first;
    if (kernels[i].time.sum > kernels[at->second].time.sum) at->second = i;
  }
  std::vector<bool> main(kernels.size());
  for (const auto& [operation, row] : longest) main[row] = true;
  return main;
}

}  // namespace

Table kernels_table(const RecordedRun& run, std::vector<KernelSummary> kernels,
                    std::vector<OperationPoint> points) {
  std::vector<Column> columns = {
      for_files("name"), for_files("operation"),
      for_people("work", Measure::Words,
                 "What the step does, and the kernel, copy or host span that does it"),
      column("stage", Measure::Words, {}, "Stage of the step, also shown by the colour",
             ColumnUse::WideViews)};
  add_time_columns(columns);
  columns.push_back(column("share", Measure::Share, {}, "Share of the summed time of all rows"));
  const engine::Ceilings& ceilings = run.result.measurements.ceilings;
  const bool roofs = !points.empty() && (ceilings.copies > 0 || ceilings.products > 0);
  if (roofs) {
    columns.push_back(for_people("roof", Measure::Words, kRoofColumn));
  }
  return {.name = "kernels",
          .title = "Kernels",
          .columns = std::move(columns),
          .rows =
              [&run, roofs, kernels = std::move(kernels),
               points = std::move(points)](const RowSink& sink) {
                engine::OperationNames operations(run.result.effective.step);
                const std::vector<bool> main = main_kernels(kernels);
                for (std::size_t i = 0; i < kernels.size(); ++i) {
                  const KernelSummary& kernel = kernels[i];
                  const std::string name = name_of(run.activity, kernel.name);
                  const std::string& operation = operations.of(kernel.stage, kernel.writes);
                  const bool both = !operation.empty() && operation != name;
                  const std::string full = both ? operation + "  " + name : name;
                  Row row{
                      .cells = cells_of(name, operation, worded(full, work_name(operation, name)),
                                        engine::stage_name(kernel.stage)),
                      .stage = kernel.stage,
                      .full_name = full};
                  if (!points.empty() && !main[i]) {
                    row.full_name +=
                        "\nA small part of its operation, whose rate is at the "
                        "kernel that takes most of the time.";
                  } else if (!points.empty()) {
                    row.full_name += '\n';
                    row.full_name += roof_sentence(run.result, points, kernel.stage, kernel.writes);
                  }
                  add_time_cells(row.cells, kernel.time);
                  row.cells.emplace_back(kernel.share);
                  if (roofs) {
                    std::string words =
                        main[i] ? roof_words(run.result, points, kernel.stage, kernel.writes)
                                : std::string();
                    row.cells.push_back(words.empty() ? Cell() : Cell(std::move(words)));
                  }
                  sink(row);
                }
              },
          .folded = true};
}

Table kernels_table(const RecordedRun& run) {
  Table table = kernels_table(run, {});
  table.rows = [&run](const RowSink& sink) {
    kernels_table(run, kernel_table(run.activity, kAllTime, /*only_iterations=*/true)).rows(sink);
  };
  return table;
}

/// As sentences have it; files get GB/s.
Cell byte_rate(double bytes_per_ns) {
  return worded(bytes_per_ns, byte_rate_text(1e9 * bytes_per_ns));
}

Table stages_table(const RecordedRun& run) {
  std::vector<Column> columns = {column("stage")};
  add_time_columns(columns);
  columns.insert(columns.end(),
                 {for_files("flop", Measure::Flop), column("bytes", Measure::Bytes),
                  for_people("byte rate", Measure::Number), for_people("rate", Measure::FlopRate)});
  return {.name = "stage_times",
          .title =
              "The stages of one step, all kernels of each together; bytes and operations are "
              "counted, not measured:",
          .columns = std::move(columns),
          .rows = [&run](const RowSink& sink) {
            for (const StageTime& one : stage_times(run.result, run.activity)) {
              Row row{.cells = cells_of(engine::stage_name(one.stage)), .stage = one.stage};
              add_time_cells(row.cells, one.time);
              const double ns = one.time.median;
              const bool rated = one.work && ns > 0;
              row.cells.push_back(one.work ? Cell(one.work->flop) : Cell());
              row.cells.push_back(one.work ? Cell(one.work->bytes) : Cell());
              row.cells.push_back(rated ? byte_rate(one.work->bytes / ns) : Cell());
              row.cells.push_back(rated ? amount(1e9 * one.work->flop / ns) : Cell());
              sink(row);
            }
          }};
}

Table operations_table(const engine::RunRequest& effective,
                       std::vector<engine::ExplainedOperation> operations) {
  const bool layers = effective.layers > 1;
  return {
      .name = "operations",
      .columns = {column("operation", Measure::Words, {},
                         "What it makes of what, in the order in which it is launched"),
                  column("part", Measure::Words, {},
                         "Pass and micro-batch, and the graph that it is captured in, if there are "
                         "several",
                         ColumnUse::WideViews),
                  column("stage", Measure::Words, {},
                         "Stage that its time counts for, also shown by the colour",
                         ColumnUse::WideViews),
                  column("read_bytes", Measure::Bytes, "reads",
                         "Bytes that it must read at least, each value once"),
                  column("written_bytes", Measure::Bytes, "writes",
                         "Bytes that it must write at least"),
                  column("flop", Measure::Flop, "FLOP", "Of the routed rows, without padding")},
      .rows = [layers, operations = std::move(operations)](const RowSink& sink) {
        for (const engine::ExplainedOperation& one : operations) {
          const bool named = !one.graph.empty() && one.graph != one.part && one.graph != "step";
          const std::string part =
              named ? fmt::format("{}, graph \"{}\"", one.part, one.graph) : one.part;
          const std::string sentence =
              layers ? fmt::format("{}, layer {}", one.sentence, one.layer) : one.sentence;
          sink({.cells = cells_of(sentence, part, engine::stage_name(one.stage),
                                  amount(one.work.read_bytes), amount(one.work.written_bytes),
                                  amount(one.work.flop)),
                .stage = one.stage,
                .full_name = fmt::format("{}\n{}", sentence, part)});
        }
      }};
}

Table step_graphs_table(const engine::RunResult& result) {
  const FieldColumns fields(engine::kType<engine::StepGraph>);
  std::vector<Column> columns = {for_people("graph"), for_people("kernels", Measure::Count),
                                 for_people("median", Measure::Time),
                                 for_people("n", Measure::Count),
                                 for_people("to launch on the host", Measure::Time)};
  fields.add_columns(columns);
  return {
      .name = "step_graphs",
      .columns = std::move(columns),
      .rows = [&result, fields](const RowSink& sink) {
        for (const engine::StepGraph& one : result.graphs) {
          Row row{.cells = cells_of(one.name, one.contents.kernels, 1e3 * one.median_us,
                                    one.samples, static_cast<double>(one.contents.host_launch_ns))};
          fields.add_cells(row.cells, &one);
          sink(row);
        }
      }};
}

Table expert_spread_table(const engine::RunResult& result) {
  const engine::Measurements& measured = result.measurements;
  return {
      .name = "expert_spread",
      .title = "Time of an expert:",
      .columns = {for_people("stage"), for_people("by"), for_people("experts", Measure::Count),
                  for_people("shortest", Measure::Time), for_people("median", Measure::Time),
                  for_people("longest", Measure::Time)},
      .rows = [&result, &measured](const RowSink& sink) {
        using Operation = std::tuple<std::size_t, engine::Stage, engine::WrittenValue>;
        std::map<Operation, std::vector<double>> medians;
        for (const engine::ExpertTiming& timing : measured.experts) {
          medians[{static_cast<std::size_t>(timing.method), timing.stage, timing.writes}].push_back(
              timing.median_ns);
        }
        for (auto& [operation, times] : medians) {
          const auto& [method, stage, writes] = operation;
          const Distribution over = summarize(std::move(times));
          sink(
              {.cells = cells_of(engine::operation_or_stage(result.effective.step, stage, writes),
                                 kMethods[method], over.n, over.minimum, over.median, over.maximum),
               .stage = stage});
        }
      }};
}

double clock_adjusted_flop_per_s(const RecordedRun& run) {
  const auto peaks = nominal_peaks(run.result);
  const std::vector<engine::Iteration>& iterations = run.result.iterations;
  if (!peaks || iterations.empty()) return 0.0;
  const TimeSpan timed{.begin_ns = 0,
                       .end_ns = iterations.back().start_ns + iterations.back().duration_ns};
  const PowerSummary power = summarize_power(run.power.samples, {&timed, 1});
  return power.samples == 0 ? 0.0 : peaks->flop_per_clock * power.sm_clock_mhz * 1e6;
}

namespace {

void visit_roofline(const RecordedRun& run, std::span<const RooflinePoint> points,
                    const RowSink& sink) {
  const engine::Ceilings& ceilings = run.result.measurements.ceilings;
  const auto peaks = nominal_peaks(run.result);
  const double nominal = peaks ? peaks->flop_per_s() : 0.0;
  const double adjusted = clock_adjusted_flop_per_s(run);
  const auto share = [](double rate, double roof) {
    return roof > 0.0 ? Cell(rate / roof) : Cell();
  };
  for (const RooflinePoint& point : points) {
    const double rate = point.flop_per_s();
    const double bytes_per_ns = point.work.bytes / point.median_ns;
    sink({.cells = cells_of(engine::stage_name(point.stage), rate, point.median_ns, point.samples,
                            point.work.intensity(), byte_rate(bytes_per_ns),
                            share(1e9 * bytes_per_ns, ceilings.copy_bytes_per_s),
                            share(rate, ceilings.product_flop_per_s), share(rate, adjusted),
                            share(rate, nominal), point.work.flop, point.work.bytes,
                            amount(ceilings.copy_bytes_per_s), amount(ceilings.product_flop_per_s),
                            amount(nominal), amount(adjusted)),
          .stage = point.stage});
  }
}

}  // namespace

Table roofline_table(const RecordedRun& run, std::span<const RooflinePoint> points) {
  return {.name = "roofline",
          .title = "Against the run's own copy and dense product:",
          .columns =
              {column("stage"), column("flop_per_s", Measure::FlopRate, "rate"),
               column("median_ns", Measure::Time, "time per step", "", ColumnUse::WideViews),
               column("n", Measure::Count, "iterations", "", ColumnUse::WideViews),
               for_people("FLOP per byte", Measure::Number),
               if_wide("byte rate", Measure::Number, "Counted bytes over the time"),
               column("of_copy", Measure::Share, "of the copy's rate", "", ColumnUse::WidePeople),
               column("of_product", Measure::Share, "of the dense product", "", ColumnUse::People),
               if_wide("of the peak at its clock", Measure::Share),
               if_wide("of the nominal peak", Measure::Share), for_files("flop", Measure::Flop),
               for_files("bytes", Measure::Bytes), for_files("copy_bytes_per_s", Measure::Number),
               for_files("dense_flop_per_s", Measure::FlopRate),
               for_files("nominal_flop_per_s", Measure::FlopRate),
               for_files("clock_adjusted_flop_per_s", Measure::FlopRate)},
          .rows = [&run, points](const RowSink& sink) { visit_roofline(run, points, sink); }};
}

Table roofline_table(const RecordedRun& run) {
  Table table = roofline_table(run, {});
  table.rows = [&run](const RowSink& sink) {
    visit_roofline(run, roofline_points(run.result, run.activity), sink);
  };
  return table;
}

Table recorded_steps_table(const engine::RecordedRouting& recorded,
                           std::vector<std::size_t> indices, std::size_t slowest) {
  const FieldColumns fields(engine::kType<engine::RecordedStep>);
  std::vector<Column> columns = {
      for_people("step", Measure::Count, "Number of the step in the routing file, from 0"),
      for_people("time", Measure::Time, "Median over the iterations that had this step's splits"),
      if_wide("iterations", Measure::Count, "How many of them had this step's splits"),
      if_wide("rows", Measure::Count, "Routed rows: the sum of the splits"),
      for_people("imbalance", Measure::Factor,
                 "The largest split over the mean split; 1 = balanced"),
      if_wide("SNR of Y", Measure::Decibels,
              "SNR over all experts with this step's splits, measured after the timed iterations")};
  fields.add_columns(columns);
  return {.name = "recorded_steps",
          .title = "The slowest steps:",
          .columns = std::move(columns),
          .rows = [&recorded, fields, indices = std::move(indices), slowest](const RowSink& sink) {
            for (std::size_t i = 0; i < indices.size(); ++i) {
              const engine::RecordedStep& step = recorded.steps[indices[i]];
              const Cell time = std::isfinite(step.median_ns) ? Cell(step.median_ns)
                                : step.visits == 0            ? worded({}, "not run")
                                                              : worded({}, "not timed alone");
              Cell snr(step.y_snr_db);
              snr.left_out = step.y_left_out;
              const bool measured = !std::isnan(step.y_snr_db) || step.y_left_out > 0;
              Row row{.cells = cells_of(step.step, time, step.visits, step.rows,
                                        std::isfinite(step.imbalance) ? Cell(step.imbalance)
                                                                      : worded({}, "no rows"),
                                        measured ? std::move(snr) : Cell()),
                      .tone = i < slowest ? Tone::Warning : Tone::Plain,
                      .full_name = i < slowest ? "One of the slowest" : ""};
              fields.add_cells(row.cells, &step);
              sink(row);
            }
          }};
}

Table recorded_steps_table(const engine::RecordedRouting& recorded) {
  std::vector<std::size_t> all(recorded.steps.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return recorded_steps_table(recorded, std::move(all));
}

}  // namespace profiling
