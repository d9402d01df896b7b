#include "app/doctor/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace app {
namespace {

/// A positive number and, unless it is the last, the "x" after it.
template <class Number>
bool take(std::string_view& rest, Number& out, bool last) {
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out);
  if (error != std::errc() || out <= 0) return false;
  rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
  if (last) return rest.empty();
  if (!rest.starts_with('x')) return false;
  rest.remove_prefix(1);
  return true;
}

}  // namespace

std::string_view sequence_name(ProductSequence sequence) {
  switch (sequence) {
    case ProductSequence::Forward:
      return "forward";
    case ProductSequence::Backward:
      return "backward";
    case ProductSequence::Both:
      break;
  }
  return "both";
}

engine::Result<MatrixGeometry> parse_geometry(std::string_view text) {
  std::string_view rest = text;
  MatrixGeometry geometry;
  if (take(rest, geometry.num_experts, false) && take(rest, geometry.tokens, false) &&
      take(rest, geometry.n, false) && take(rest, geometry.k, true)) {
    MatrixCell cell;
    cell.geometry = geometry;
    if (engine::Status limits = engine::validate(request_of(cell)); !limits.ok()) {
      return limits.error();
    }
    return geometry;
  }
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format("'{}' is not a geometry; write EXPERTSxTOKENSxNxK, such as 4x512x256x256", text)};
}

std::string geometry_name(const MatrixGeometry& geometry) {
  return fmt::format("{}x{}x{}x{}", geometry.num_experts, geometry.tokens, geometry.n, geometry.k);
}

engine::RunRequest request_of(const MatrixCell& cell) {
  engine::RunRequest request;
  request.shape = {.preset = "",
                   .num_experts = cell.geometry.num_experts,
                   .tokens = cell.geometry.tokens,
                   .n = cell.geometry.n,
                   .k = cell.geometry.k};
  request.recipe.scaling = cell.recipe;
  request.backend = engine::GemmBackend::CublasLtGrouped;
  request.workspace = cell.workspace;
  request.try_algorithms = false;  // the same algorithm in every process
  request.layers = cell.sequence == ProductSequence::Forward ? 2 : 1;
  switch (cell.sequence) {
    case ProductSequence::Forward:
      request.linear.passes = engine::StepPasses::Forward;
      break;
    case ProductSequence::Backward:
      request.linear.passes = engine::StepPasses::Backward;
      break;
    case ProductSequence::Both:
      request.linear.passes = engine::StepPasses::ForwardBackward;
      break;
  }
  return request;
}

std::vector<MatrixCell> cells_of(const MatrixAxes& axes) {
  std::vector<MatrixCell> cells;
  for (const std::string& library : axes.libraries) {
    for (const engine::Scaling recipe : axes.recipes) {
      for (const ProductSequence sequence : axes.sequences) {
        for (const MatrixGeometry& geometry : axes.geometries) {
          for (const engine::WorkspaceStrategy workspace : axes.workspaces) {
            cells.push_back({.library = library,
                             .sequence = sequence,
                             .workspace = workspace,
                             .recipe = recipe,
                             .geometry = geometry});
          }
        }
      }
    }
  }
  return cells;
}

std::vector<MatrixCell> missing_cells(const std::vector<MatrixCell>& cells,
                                      const std::vector<MatrixRow>& rows) {
  std::vector<MatrixCell> missing;
  for (const MatrixCell& cell : cells) {
    const bool made = std::ranges::any_of(rows, [&](const MatrixRow& row) {
      return row.cell == cell && row.verdict != profiling::Verdict::NotRun;
    });
    if (!made) missing.push_back(cell);
  }
  return missing;
}

}  // namespace app
