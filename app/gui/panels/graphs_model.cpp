// Derivations of the Graphs workspace.
#include "app/gui/panels/graphs_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "app/gui/plot/format.h"

namespace app {
namespace {

const std::vector<plot::Column> kNodeColumns = {
    {"#", 26, true, "Position in topological order; the row of the heatmap"},
    {"node", 0, false, "Kernel, copy or memset"},
    {"stage", 50, false, "Stage of the step it works for"},
    {"layer", 32, true, "Grouped product of the step"},
    {"after", 44, false, "Nodes that must finish first"},
    {"median", 66, true, "Median duration over the replays"}};
const std::vector<plot::Column> kWorkColumns = {
    {"#", 26, true, "Order of first start; the row of the heatmap"},
    {"work", 0, false, "Span as the worker recorded it"},
    {"stage", 50, false, "Stage of the step it works for"},
    {"expert", 42, true, "Expert it works for"},

    {"median", 66, true, "Median duration over the iterations"}};

}  // namespace

namespace {

/// The label of a row with its kernel name shortened; what the label adds in brackets stays.
std::string short_label(const std::string& label) {
  for (const char* mark : {" [layer ", " [expert "}) {
    const std::size_t at = label.rfind(mark);
    const std::size_t first = label.find(mark);
    if (at == std::string::npos || first != at) continue;
    return plot::short_kernel_name(label.substr(0, at)) + label.substr(at);
  }
  return plot::short_kernel_name(label);
}

}  // namespace

void GraphsModel::set_run(Run run, std::uint64_t generation, const Theme& theme) {
  run_ = std::move(run);
  generation_ = generation;
  has_graph_ = !run_->activity.nodes.empty();
  matrix_ = profiling::node_matrix(run_->activity);
  row_labels_.clear();
  row_colors_.clear();
  row_margin_.clear();
  for (std::size_t i = 0; i < matrix_.rows.size(); ++i) {
    const profiling::NodeMatrix::Row& row = matrix_.rows[i];
    const std::string name = short_label(row.label);
    row_labels_.push_back(has_graph_ ? fmt::format("{}  {}", i, name) : name);
    row_colors_.push_back(theme.stage(row.stage));
    row_margin_.push_back(plot::duration_text(row.time.median) + "  " +
                          plot::duration_text(row.time.p95));
  }
  iteration_ns_.clear();
  for (const engine::Iteration& iteration : run_->result.iterations) {
    iteration_ns_.push_back(static_cast<double>(iteration.duration_ns));
  }
  iterations_ = profiling::summarize(iteration_ns_);
  set_scale(scale_);
  derive_nodes(theme);
}

float GraphsModel::duration_ns(int row, int column) const {
  return matrix_
      .duration_ns[static_cast<std::size_t>(row) * static_cast<std::size_t>(matrix_.iterations) +
                   static_cast<std::size_t>(column)];
}

void GraphsModel::set_scale(CellScale scale) {
  scale_ = scale;
  ++grid_generation_;
  grid_ = {.rows = static_cast<int>(matrix_.rows.size()),
           .columns = matrix_.iterations,
           .values = matrix_.duration_ns};
  for (int row = 0; row < grid_.rows; ++row) {
    const double median = matrix_.rows[static_cast<std::size_t>(row)].time.median;
    for (int column = 0; column < grid_.columns; ++column) {
      float& cell =
          grid_.values[static_cast<std::size_t>(row) * static_cast<std::size_t>(grid_.columns) +
                       static_cast<std::size_t>(column)];
      const double value = static_cast<double>(cell);
      cell = static_cast<float>(
          scale == CellScale::AgainstMedian ? value / median : std::log10(std::max(value, 1.0)));
    }
  }
  if (scale == CellScale::Duration) {
    colors_ = plot::value_range(grid_.values);
  } else {
    // One stalled replay must not turn all others into one colour.
    colors_ = plot::robust_range(grid_.values, 0.02, 0.95);
    if (colors_.span() < 0.04) colors_ = {colors_.min - 0.02, colors_.max + 0.02};
  }
  if (colors_.empty()) colors_ = plot::padded(colors_, 0.0);
}

const std::vector<plot::Column>& GraphsModel::node_columns() const {
  return has_graph_ ? kNodeColumns : kWorkColumns;
}

void GraphsModel::derive_nodes(const Theme& theme) {
  node_rows_.clear();
  std::unordered_map<std::uint64_t, std::size_t> position;
  std::unordered_map<std::uint64_t, double> median;
  for (std::size_t i = 0; i < run_->activity.nodes.size(); ++i) {
    position[run_->activity.nodes[i].id] = i;
  }
  for (const profiling::NodeMatrix::Row& row : matrix_.rows) median[row.node_id] = row.time.median;
  const auto number = [](double value) {
    return plot::Cell{fmt::format("{:.0f}", value), value, 0};
  };
  const auto stage_cell = [&theme](engine::Stage stage) {
    return plot::Cell{std::string(engine::stage_name(stage)), 0.0, theme.colors.dim_text};
  };
  if (!has_graph_) {
    for (std::size_t i = 0; i < matrix_.rows.size(); ++i) {
      const profiling::NodeMatrix::Row& row = matrix_.rows[i];
      node_rows_.push_back(
          {.cells = {number(static_cast<double>(i)),
                     {plot::short_kernel_name(row.label.substr(0, row.label.find(" ["))), 0.0, 0},
                     stage_cell(row.stage),
                     {row.expert < 0 ? "all" : std::to_string(row.expert),
                      static_cast<double>(row.expert), 0},
                     {plot::duration_text(row.time.median), row.time.median, 0}},
           .chip = theme.stage(row.stage),
           .tooltip = row.label});
    }
    return;
  }
  for (std::size_t i = 0; i < run_->activity.nodes.size(); ++i) {
    const profiling::GraphNode& node = run_->activity.nodes[i];
    std::string after;
    for (const std::uint64_t id : node.dependencies) {
      const auto found = position.find(id);
      if (!after.empty()) after += ' ';
      after += found == position.end() ? "?" : std::to_string(found->second);
    }
    const auto time = median.find(node.id);
    const double node_median = time == median.end() ? std::nan("") : time->second;
    node_rows_.push_back({.cells = {number(static_cast<double>(i)),
                                    {plot::short_kernel_name(node.name), 0.0, 0},
                                    stage_cell(node.stage),
                                    number(node.layer),
                                    {after.empty() ? "start" : after, 0.0,
                                     after.empty() ? theme.colors.dim_text : 0},
                                    {plot::duration_text(node_median), node_median, 0}},
                          .chip = theme.stage(node.stage),
                          .tooltip = node.name});
  }
}

}  // namespace app
