// What the Graphs workspace derives from a run: the node x replay matrix, its rows and the node
// list.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/gui/plot/grid_fold.h"
#include "app/gui/plot/sorted_table.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/statistics.h"

namespace app {

/// How the cells of the heatmap are coloured.
enum class CellScale {
  AgainstMedian,  // duration over the median of its row: drift and outliers of any node
  Duration,       // log10 of nanoseconds: which nodes are long
};

class GraphsModel {
 public:
  using Run = std::shared_ptr<const profiling::RecordedRun>;
  void set_run(Run run, std::uint64_t generation, const Theme& theme);
  void set_scale(CellScale scale);

  const profiling::RecordedRun& run() const { return *run_; }
  std::uint64_t generation() const { return generation_; }
  std::uint64_t grid_generation() const { return grid_generation_; }
  /// The run replayed a captured graph.
  bool has_graph() const { return has_graph_; }
  const profiling::NodeMatrix& matrix() const { return matrix_; }
  float duration_ns(int row, int column) const;
  const plot::Grid& grid() const { return grid_; }
  plot::Range colors() const { return colors_; }
  const std::vector<std::string>& row_labels() const { return row_labels_; }
  const std::vector<ImU32>& row_colors() const { return row_colors_; }
  const std::vector<std::string>& row_margin() const { return row_margin_; }
  const std::vector<double>& iteration_ns() const { return iteration_ns_; }
  const profiling::Distribution& iterations() const { return iterations_; }
  const std::vector<plot::Column>& node_columns() const;
  const std::vector<plot::TableRow>& node_rows() const { return node_rows_; }

 private:
  void derive_nodes(const Theme& theme);

  Run run_;
  std::uint64_t generation_ = 0;
  std::uint64_t grid_generation_ = 0;
  bool has_graph_ = false;
  CellScale scale_ = CellScale::AgainstMedian;
  profiling::NodeMatrix matrix_;
  plot::Grid grid_;
  plot::Range colors_;
  std::vector<std::string> row_labels_;
  std::vector<ImU32> row_colors_;
  std::vector<std::string> row_margin_;
  std::vector<double> iteration_ns_;
  profiling::Distribution iterations_;
  std::vector<plot::TableRow> node_rows_;
};

}  // namespace app
