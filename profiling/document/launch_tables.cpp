// Tables of launches whose tiles recorded when and where they ran.
#include "engine/program/operation_words.h"
#include "profiling/document/columns.h"
#include "profiling/document/run_tables.h"

namespace profiling {
namespace {

std::vector<Column> tile_columns() {
  return {column("expert", Measure::Count), column("tile", Measure::Count),
          column("multiprocessor", Measure::Count), column("begin_ns", Measure::Time, "begin"),
          column("end_ns", Measure::Time, "end")};
}

void add_tile(std::vector<Cell>& cells, const engine::LaunchTile& tile) {
  for (Cell& cell :
       cells_of(tile.expert, tile.tile, tile.multiprocessor, static_cast<double>(tile.begin_ns),
                static_cast<double>(tile.end_ns))) {
    cells.push_back(std::move(cell));
  }
}

}  // namespace

std::string launch_name(const engine::RunResult& result, const engine::TiledLaunch& launch) {
  return engine::operation_or_stage(result.effective.step, launch.stage, launch.writes);
}

Table tiled_launches_table(const engine::RunResult& result) {
  return {
      .name = "tiled_launches",
      .title = "One launch, tile by tile:",
      .columns = {column("operation"), column("tiles", Measure::Count),
                  column("multiprocessors", Measure::Count, "SMs"),
                  column("occupied", Measure::Count, "with tiles"),
                  column("tiles_at_once", Measure::Count, "at once",
                         "Tiles that one SM runs at the same time, at most", ColumnUse::WideViews),
                  column("waves", Measure::Factor, "waves",
                         "Tiles over the places that all SMs have for them"),
                  column("duration_ns", Measure::Time, "duration",
                         "From the begin of the first tile to the end of the last"),
                  column("tail_ns", Measure::Time, "tail",
                         "From the last tile of the first SM that runs out of them to the end"),
                  column("tail_share", Measure::Share, "of it"),
                  column("busy_share", Measure::Share, "SMs busy",
                         "Share of the time of all SMs with a tile running"),
                  column("imbalance", Measure::Factor, "imbalance",
                         "Busy time of the busiest SM over the mean of all"),
                  for_files("launches", Measure::Count), for_files("kept_every", Measure::Count)},
      .rows =
          [&result](const RowSink& sink) {
            for (const engine::TiledLaunch& one : result.measurements.tiled_launches) {
              sink({.cells = cells_of(launch_name(result, one), one.tiles, one.multiprocessors,
                                      one.occupied, one.tiles_at_once, one.waves(),
                                      static_cast<double>(one.duration_ns),
                                      static_cast<double>(one.tail_ns), one.tail_share(),
                                      one.busy_share, one.imbalance, one.launches, one.kept_every),
                    .stage = one.stage});
            }
          },
      .only_with_rows = true};
}

Table launch_tiles_table(const engine::TiledLaunch& launch) {
  return {
      .name = "launch_tiles", .columns = tile_columns(), .rows = [&launch](const RowSink& sink) {
        for (const engine::LaunchTile& tile : launch.kept) {
          Row row;
          add_tile(row.cells, tile);
          sink(row);
        }
      }};
}

Table launch_tiles_table(const engine::RunResult& result) {
  std::vector<Column> columns = {for_files("operation")};
  for (Column& tile : tile_columns()) columns.push_back(std::move(tile));
  return {.name = "launch_tiles",
          .columns = std::move(columns),
          .rows =
              [&result](const RowSink& sink) {
                for (const engine::TiledLaunch& launch : result.measurements.tiled_launches) {
                  const std::string name = launch_name(result, launch);
                  for (const engine::LaunchTile& tile : launch.kept) {
                    Row row{.cells = cells_of(name)};
                    add_tile(row.cells, tile);
                    sink(row);
                  }
                }
              },
          .only_with_rows = true};
}

}  // namespace profiling
