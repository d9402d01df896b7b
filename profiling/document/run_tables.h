// The tables of a run. A card, the shared page, the command line and a CSV file show the same ones;
// a table that is added to run_tables() is exported.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/run_result.h"
#include "profiling/document/table.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/roofline.h"
#include "profiling/trace/statistics.h"

namespace profiling {

/// All tables of a run as files have them, also those without rows; each name is that of its file.
/// Their columns are the same for every run. The run must outlive them.
std::vector<Table> run_tables(const RecordedRun& run);

/// Kernels, copies and host spans of a run's trace by name and operation. With `points`, the full
/// name of a row ends with its roof_sentence().
Table kernels_table(const RecordedRun& run, std::vector<KernelSummary> kernels,
                    std::vector<OperationPoint> points = {});
/// Those of the timed iterations, computed when the rows are visited.
Table kernels_table(const RecordedRun& run);
/// One row per record that starts inside the range, for files.
Table records_table(const RecordedRun& run, TimeRange range);
/// The step's stages: time, counted work, and rates.
Table stages_table(const RecordedRun& run);
/// Operation by operation, with the bytes that each must move at least.
Table operations_table(const engine::RunRequest& effective,
                       std::vector<engine::ExplainedOperation> operations);
/// One row per expert: rows, time of fprop, and the accuracy of every product that the step has.
Table experts_table(const RecordedRun& run);
/// One row per expert: the error of one product, and of quantizing one operand.
Table expert_errors_table(const engine::RunResult& result, engine::Product product,
                          engine::StepTensor operand);
/// What quantizing this operand did to an expert's part of it; NaN and zeros where it is not known.
engine::OperandExpert operand_expert(const engine::RunResult& result, engine::StepTensor operand,
                                     std::size_t expert);
/// One row per tensor of a layer: its size, its error, and what quantizing it did.
Table tensors_table(const engine::RunResult& result);
/// What the quantization of each operand of an expert layer costs Y.
Table error_sources_table(const engine::RunResult& result);
/// The rows of every expert.
Table splits_table(const std::vector<std::int64_t>& splits);
/// Every replay that was compared with the eager run, output by output.
Table replay_checks_table(const engine::RunResult& result);
/// Clocks, power and temperature, one row per sample. The samples must outlive the table.
Table power_table(std::span<const PowerSample> samples,
                  std::span<const engine::Iteration> iterations);
/// The nodes of the step's graph; with the matrix of its replays also their durations.
Table graph_nodes_table(const RecordedRun& run, const NodeMatrix* replays);
/// The pieces of work of a step without a graph.
Table work_table(const NodeMatrix& iterations);
/// The graphs of a step that is captured as several.
Table step_graphs_table(const engine::RunResult& result);
/// The steps of a routing file, those at `indices` in that order; the first `slowest` are called
/// the slowest.
Table recorded_steps_table(const engine::RecordedRouting& recorded,
                           std::vector<std::size_t> indices, std::size_t slowest = 0);
/// All of them, in the order of the file.
Table recorded_steps_table(const engine::RecordedRouting& recorded);
/// Per operation and method the spread over the experts.
Table expert_spread_table(const engine::RunResult& result);
/// "fprop up": by its stage alone where it is not known what it writes.
std::string launch_name(const engine::RunResult& result, const engine::TiledLaunch& launch);
/// The launches whose tiles left stamps, with the figures that their tiles show.
Table tiled_launches_table(const engine::RunResult& result);
/// Tile by tile, those that are kept.
Table launch_tiles_table(const engine::RunResult& result);
Table launch_tiles_table(const engine::TiledLaunch& launch);
/// The device's rate at the clock that it had while the iterations ran; 0 = not known.
double clock_adjusted_flop_per_s(const RecordedRun& run);
/// The roofline: stages against the run's own product and copy. The points are computed when the
/// rows are visited.
Table roofline_table(const RecordedRun& run);
/// Of points that were computed before, and must outlive the table.
Table roofline_table(const RecordedRun& run, std::span<const RooflinePoint> points);

struct NamedRun {
  const RecordedRun* run = nullptr;
  std::string name{};      // "3. as shipped"
  std::string settings{};  // in one line, for a document; empty = not listed
};
/// One row per run: what people compare, and for files every setting and total.
Table runs_table(std::vector<NamedRun> runs);
/// One row per step, recipe and expert of a comparison over steps; `recipe` is its number in the
/// request, -1 = all.
Table series_table(const RecordedComparison& recorded, int recipe = -1);
/// One row per step and recipe of it: the worst expert, with its losses.
Table series_summary_table(const RecordedComparison& recorded);

/// What OperandStatistics::median_block_snr_db says, for people.
inline constexpr const char* kTypicalError =
    "Median over short blocks of neighbours in a row of the SNR of each: unlike the SNR of all it "
    "is not decided by a few channels with large elements";

/// The reports of one direction, and what the SNR of the others is compared with; null = nothing.
struct ChosenDirection {
  bool columnwise = false;
  const engine::QuantizationReport* reference = nullptr;
};
/// One row per recipe and direction, in the order of the reports.
Table comparison_table(const RecordedComparison& recorded,
                       std::optional<ChosenDirection> direction = std::nullopt);
/// One row per expert and report; the first report is what the SNR of the others is compared with.
Table recipe_experts_table(std::vector<const engine::QuantizationReport*> reports, bool weights);
/// dB that a recipe loses against the reference; two exact matches differ by 0, others by no
/// number.
double lost_snr(double reference_db, double snr_db);
std::string lost_snr_text(double lost_db);

/// Products that the passes of the run have made, in the order of a step.
std::vector<engine::Product> products_of(const engine::RunResult& result);

}  // namespace profiling
