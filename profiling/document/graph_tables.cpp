// Tables of what a step launches: the nodes of its graph, or the work of its iterations.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>
#include <utility>

#include "engine/model/projections.h"
#include "engine/program/operation_words.h"
#include "profiling/document/columns.h"
#include "profiling/document/run_tables.h"
#include "profiling/document/work_labels.h"
#include "profiling/hazards/model/kernel_name.h"

namespace profiling {
namespace {

/// The operation, else the kernel's short name, for people.
Cell name_cell(const WorkLabels& labels, const std::string& operation, const std::string& kernel) {
  if (operation.empty()) return worded(kernel, short_kernel_name(kernel));
  return Cell(labels.label(operation, kernel));
}

/// Of a row, without its layer and expert.
std::string kernel_of(const NodeMatrix::Row& row) {
  return row.label.substr(0, row.label.find(" ["));
}

std::string full_name(const std::string& operation, const std::string& kernel) {
  return operation.empty() ? kernel : operation + "  " + kernel;
}

Column stage_column() {
  return column("stage", Measure::Words, {}, "Stage of the step, also shown by the colour",
                ColumnUse::WideViews);
}

}  // namespace

Table graph_nodes_table(const RecordedRun& run, const NodeMatrix* replays) {
  std::vector<Column> columns = {
      column("position", Measure::Count, "#",
             "Position in topological order; the row of the heatmap"),
      for_files("node_id", Measure::Count),
      for_files("name"),
      for_people("node", Measure::Words, "Operation of the step, else kernel, copy or memset"),
      stage_column(),
      for_files("operation"),
      column("layer", Measure::Count, {},
             "Layer of the step; in an expert layer also the projection"),
      for_files("depends_on"),
      if_wide("after", Measure::Words, "Nodes that must finish first")};
  std::unordered_map<std::uint64_t, double> medians;
  if (replays != nullptr) {
    columns.push_back(
        column("median_ns", Measure::Time, "median", "Median duration over the replays"));
    for (const NodeMatrix::Row& row : replays->rows) medians[row.node_id] = row.time.median;
  }
  return {.name = "graph_nodes",
          .columns = std::move(columns),
          .rows = [&run, timed = replays != nullptr,
                   medians = std::move(medians)](const RowSink& sink) {
            const std::vector<GraphNode>& nodes = run.activity.nodes;
            const engine::StepKind step = run.result.effective.step;
            std::unordered_map<std::uint64_t, std::size_t> positions;
            for (std::size_t i = 0; i < nodes.size(); ++i) positions[nodes[i].id] = i;
            WorkLabels labels;
            for (const GraphNode& node : nodes) {
              labels.add(engine::operation_name(step, node.stage, node.writes), node.name);
            }
            for (std::size_t i = 0; i < nodes.size(); ++i) {
              const GraphNode& node = nodes[i];
              std::vector<std::string> after;
              for (const std::uint64_t id : node.dependencies) {
                const auto found = positions.find(id);
                after.push_back(found == positions.end() ? "?" : std::to_string(found->second));
              }
              const std::string operation = engine::operation_name(step, node.stage, node.writes);
              Row row{
                  .cells = cells_of(i, node.id, node.name, name_cell(labels, operation, node.name),
                                    engine::stage_name(node.stage), operation,
                                    worded(node.layer, engine::layer_number(step, node.layer)),
                                    fmt::format("{}", fmt::join(node.dependencies, " ")),
                                    after.empty() ? Cell("start")
                                                  : Cell(fmt::format("{}", fmt::join(after, " ")))),
                  .stage = node.stage,
                  .full_name = full_name(operation, node.name)};
              if (timed) {
                const auto median = medians.find(node.id);
                row.cells.push_back(median == medians.end() ? Cell() : Cell(median->second));
              }
              sink(row);
            }
          }};
}

Table work_table(const NodeMatrix& iterations) {
  return {
      .name = "work",
      .columns = {column("position", Measure::Count, "#",
                         "Order of first start; the row of the heatmap"),
                  for_files("name"), for_files("operation"),
                  for_people("work", Measure::Words,
                             "Operation of the step, else the span as the worker recorded it"),
                  stage_column(), column("expert", Measure::Count, {}, "Expert it belongs to"),
                  column("median_ns", Measure::Time, "median",
                         "Median duration over the iterations")},
      .rows = [&iterations](const RowSink& sink) {
        WorkLabels labels;
        for (const NodeMatrix::Row& row : iterations.rows) {
          labels.add(row.operation, kernel_of(row));
        }
        for (std::size_t i = 0; i < iterations.rows.size(); ++i) {
          const NodeMatrix::Row& row = iterations.rows[i];
          sink({.cells = cells_of(
                    i, row.label, row.operation, name_cell(labels, row.operation, kernel_of(row)),
                    engine::stage_name(row.stage),
                    row.expert < 0 ? worded({}, "all") : Cell(row.expert), row.time.median),
                .stage = row.stage,
                .full_name = full_name(row.operation, row.label)});
        }
      }};
}

}  // namespace profiling
