// Rows are lines of JSON, so that a stopped sweep continues; the table shows them by recipe.
#include "app/doctor/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/input/json_text.h"
#include "engine/model/path_text.h"
#include "profiling/document/setting_names.h"
#include "profiling/hazards/model/names.h"

namespace app {
namespace {

using nlohmann::ordered_json;
using profiling::Verdict;

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

/// The enumerator of exactly this name.
template <class Enum>
Enum named(const std::string& word) {
  for (const engine::EnumName& one : engine::kType<Enum>.names) {
    if (one.name == word) return static_cast<Enum>(one.value);
  }
  throw std::invalid_argument(fmt::format("'{}' is not known", word));
}

/// Maps the path of a library to its version, from any row that knows it, else to the file's name.
std::map<std::string, std::string> library_names(const std::vector<MatrixRow>& rows) {
  std::map<std::string, std::string> names;
  for (const MatrixRow& row : rows) {
    const std::string& path = row.cell.library;
    if (!row.version.empty()) {
      names[path] = row.version;
    } else {
      names.emplace(path, path.empty() ? "default" : std::string(engine::file_name(path)));
    }
  }
  return names;
}

using LineKey = std::tuple<std::string, ProductSequence, std::string>;  // library, .., geometry

/// One recipe: lines in the order of the rows, columns in the order of the strategies.
std::string block_of(const std::vector<const MatrixRow*>& rows,
                     const std::map<std::string, std::string>& names,
                     std::vector<std::string>& notes) {
  std::vector<engine::WorkspaceStrategy> columns;
  std::vector<LineKey> lines;
  std::map<std::pair<LineKey, engine::WorkspaceStrategy>, std::string> cells;
  for (const MatrixRow* row : rows) {
    const LineKey line{names.at(row->cell.library), row->cell.sequence,
                       geometry_name(row->cell.geometry)};
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
    if (std::ranges::find(columns, row->cell.workspace) == columns.end()) {
      columns.push_back(row->cell.workspace);
    }
    std::string text = short_verdict(*row);
    if (!row->message.empty()) {
      auto note = std::ranges::find(notes, row->message);
      if (note == notes.end()) note = notes.insert(notes.end(), row->message);
      text += fmt::format(" [{}]", note - notes.begin() + 1);
    }
    cells[{line, row->cell.workspace}] = text;  // a later row of the same cell wins
  }
  std::size_t width = std::string_view("cuBLASLt").size();
  for (const LineKey& line : lines) width = std::max(width, std::get<0>(line).size());
  std::string text =
      fmt::format("{:<{}}  {:<9} {:<18}", "cuBLASLt", width, "products", "experts, m, n, k");
  for (const engine::WorkspaceStrategy column : columns) {
    text += fmt::format(" {:<14}", engine::name_of(column));
  }
  text += '\n';
  for (const LineKey& line : lines) {
    text += fmt::format("{:<{}}  {:<9} {:<18}", std::get<0>(line), width,
                        engine::name_of(std::get<1>(line)), std::get<2>(line));
    for (const engine::WorkspaceStrategy column : columns) {
      const auto cell = cells.find({line, column});
      text += fmt::format(" {:<14}", cell == cells.end() ? "" : cell->second);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

engine::Result<MatrixGeometry> parse_geometry(std::string_view text) {
  std::string_view rest = text;
  MatrixGeometry geometry;
  if (take(rest, geometry.num_experts, false) && take(rest, geometry.tokens, false) &&
      take(rest, geometry.n, false) && take(rest, geometry.k, true)) {
    MatrixCell cell;
    cell.geometry = geometry;
    ENGINE_TRY(engine::validate(request_of(cell)));
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
                   .rows = cell.geometry.tokens,
                   .n = cell.geometry.n,
                   .k = cell.geometry.k};
  request.recipe.scaling = cell.recipe;
  request.backend = engine::GemmBackend::CublasLtGrouped;
  request.workspace = cell.workspace;
  request.try_algorithms = false;  // the same algorithm in every process
  request.layers = cell.sequence == ProductSequence::Forward ? 2 : 1;
  switch (cell.sequence) {
    case ProductSequence::Forward:
      request.products.passes = engine::StepPasses::Forward;
      break;
    case ProductSequence::Backward:
      request.products.passes = engine::StepPasses::Backward;
      break;
    case ProductSequence::Both:
      request.products.passes = engine::StepPasses::ForwardBackward;
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

std::string short_verdict(const MatrixRow& row) {
  switch (row.verdict) {
    case Verdict::Right:
      return "ok";
    case Verdict::Wrong:
      return fmt::format("wrong from {}", row.replay);
    case Verdict::Hung:
      return fmt::format("hangs at {}", row.replay);
    case Verdict::Refused:
      return "refused";
    case Verdict::Crashed:
      return "crash";
    case Verdict::NotRun:
      break;
  }
  return "not run";
}

std::string to_json_line(const MatrixRow& row) {
  ordered_json line;
  line["library"] = row.cell.library;
  line["version"] = row.version;
  line["recipe"] = engine::name_of(row.cell.recipe);
  line["sequence"] = engine::name_of(row.cell.sequence);
  line["geometry"] = geometry_name(row.cell.geometry);
  line["workspace"] = engine::name_of(row.cell.workspace);
  line["verdict"] = engine::name_of(row.verdict);
  line["replay"] = row.replay;
  line["replays"] = row.replays;
  line["seconds"] = row.seconds;
  line["message"] = row.message;
  line["device"] = row.device;
  line["driver"] = row.driver;
  line["date"] = row.date;
  // Driver messages and paths may not be UTF-8.
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

engine::Result<MatrixRow> row_from_json(std::string_view text) {
  try {
    const engine::Result<nlohmann::json> document = engine::parse_json(text);
    if (!document.ok()) {
      return engine::Error{engine::ErrorCode::InvalidArgument,
                           "this is not a row of a matrix: " + document.error().message};
    }
    const nlohmann::json& line = document.value();
    const auto word = [&](const char* key) { return line.at(key).get<std::string>(); };
    const auto count = [&](const char* key) {
      const auto number = engine::whole_number(line, key, 0, std::numeric_limits<int>::max());
      if (!number.ok()) throw std::invalid_argument(number.error().message);
      return static_cast<int>(number.value());
    };
    ENGINE_ASSIGN(const MatrixGeometry geometry, parse_geometry(word("geometry")));
    MatrixRow row;
    row.cell = {.library = word("library"),
                .sequence = named<ProductSequence>(word("sequence")),
                .workspace = named<engine::WorkspaceStrategy>(word("workspace")),
                .recipe = named<engine::Scaling>(word("recipe")),
                .geometry = geometry};
    row.version = word("version");
    row.verdict = named<Verdict>(word("verdict"));
    row.replay = count("replay");
    row.replays = count("replays");
    row.seconds = line.at("seconds").get<double>();
    row.message = word("message");
    row.device = word("device");
    row.driver = word("driver");
    row.date = word("date");
    return row;
  } catch (const std::exception& error) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("this is not a row of a matrix: {}", error.what())};
  }
}

engine::Result<std::vector<MatrixRow>> read_rows(std::string_view text) {
  std::vector<MatrixRow> rows;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.empty()) continue;
    engine::Result<MatrixRow> row = row_from_json(line);
    if (!row.ok()) {
      return engine::Error{row.error().code,
                           fmt::format("line {}: {}", number, row.error().message)};
    }
    rows.push_back(std::move(row).value());
  }
  return rows;
}

std::string matrix_table(const std::vector<MatrixRow>& rows) {
  std::vector<engine::Scaling> recipes;
  for (const MatrixRow& row : rows) {
    if (std::ranges::find(recipes, row.cell.recipe) == recipes.end()) {
      recipes.push_back(row.cell.recipe);
    }
  }
  const std::map<std::string, std::string> names = library_names(rows);
  std::string text;
  std::vector<std::string> notes;
  for (const engine::Scaling recipe : recipes) {
    std::vector<const MatrixRow*> own;
    for (const MatrixRow& row : rows) {
      if (row.cell.recipe == recipe) own.push_back(&row);
    }
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", engine::name_of(recipe));
    text += block_of(own, names, notes);
  }
  if (!notes.empty()) text += '\n';
  for (std::size_t i = 0; i < notes.size(); ++i) text += fmt::format("[{}] {}\n", i + 1, notes[i]);
  return text;
}

}  // namespace app
