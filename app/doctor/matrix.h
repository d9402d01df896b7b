// The version matrix: which cuBLASLt libraries replay which steps correctly. Its axes, its cells,
// and their rows as lines of a file from which a later sweep continues.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "profiling/hazards/model/experiment.h"

namespace app {

/// The products that one step runs.
enum class ProductSequence {
  Forward,   // two layers, fprop
  Backward,  // one layer, dgrad and wgrad
  Both,      // one layer, fprop, dgrad and wgrad
};
constexpr auto enum_names(ProductSequence) {
  return std::to_array<std::string_view>({"forward", "backward", "both"});
}

/// All cells have num_experts experts and `tokens` rows, split evenly.
struct MatrixGeometry {
  int num_experts = 4;
  std::int64_t tokens = 512;
  std::int64_t n = 256;
  std::int64_t k = 256;
  bool operator==(const MatrixGeometry&) const = default;
};
/// "4x512x256x256": experts, rows, n, k. InvalidArgument says how to write one.
engine::Result<MatrixGeometry> parse_geometry(std::string_view text);
std::string geometry_name(const MatrixGeometry& geometry);

struct MatrixCell {
  std::string library;  // path on the worker's machine; empty = the worker's default
  ProductSequence sequence = ProductSequence::Forward;
  engine::WorkspaceStrategy workspace = engine::WorkspaceStrategy::Shared;
  engine::Scaling recipe = engine::Scaling::Block;
  MatrixGeometry geometry;
  bool operator==(const MatrixCell&) const = default;
};
engine::RunRequest request_of(const MatrixCell& cell);

struct MatrixAxes {
  std::vector<std::string> libraries;
  std::vector<ProductSequence> sequences = {ProductSequence::Forward, ProductSequence::Backward,
                                            ProductSequence::Both};
  std::vector<engine::WorkspaceStrategy> workspaces = {
      engine::WorkspaceStrategy::Shared, engine::WorkspaceStrategy::PerLayout,
      engine::WorkspaceStrategy::PerCall, engine::WorkspaceStrategy::PerMatmul};
  std::vector<engine::Scaling> recipes = {engine::Scaling::None, engine::Scaling::PerTensorCurrent,
                                          engine::Scaling::Block};
  std::vector<MatrixGeometry> geometries = {
      {4, 512, 256, 256}, {8, 2048, 512, 512}, {8, 8192, 2048, 1024}};
};
/// All combinations of the axes, library by library.
std::vector<MatrixCell> cells_of(const MatrixAxes& axes);

/// The result of one cell.
struct MatrixRow {
  MatrixCell cell;
  std::string version;  // of the library, as the worker reports it; empty = nothing was captured
  std::string device;
  std::string driver;
  profiling::Verdict verdict = profiling::Verdict::NotRun;
  int replay = 0;   // the first that is wrong or hangs; 0 = none
  int replays = 0;  // as ordered
  double seconds = 0;
  std::string message;
  std::string date;  // "2026-11-21T10:00:00Z"
  bool operator==(const MatrixRow&) const = default;
};

/// "ok", "wrong from 2", "hangs at 2", "refused", "crash" or "not run".
std::string short_verdict(const MatrixRow& row);

/// A line without its newline. Keys are those of MatrixRow and of its cell.
std::string to_json_line(const MatrixRow& row);
engine::Result<MatrixRow> row_from_json(std::string_view line);
/// An unterminated last line is ignored: the sweep was stopped while writing it. Any other line
/// that is not a row is an error that names it.
engine::Result<std::vector<MatrixRow>> read_rows(std::string_view text);
/// Cells that have no row yet, or only one that could not be run.
std::vector<MatrixCell> missing_cells(const std::vector<MatrixCell>& cells,
                                      const std::vector<MatrixRow>& rows);

/// One block per recipe, one line per library, sequence and geometry, one column per workspace
/// strategy; reasons of refusals below.
std::string matrix_table(const std::vector<MatrixRow>& rows);

}  // namespace app
