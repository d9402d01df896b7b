#include "profiling/compare/recorded_sweeps.h"

#include <iterator>
#include <memory>
#include <utility>

#include "profiling/compare/comparison_tables.h"
#include "profiling/document/columns.h"

namespace profiling {

std::vector<RecordedSweep> sweeps_of(std::span<const RecordedRun* const> runs) {
  RunList list;
  for (const RecordedRun* run : runs) {
    list.emplace_back(std::shared_ptr<const RecordedRun>(), run);  // the caller keeps it
  }
  std::vector<RecordedSweep> sweeps;
  for (RunGroupMembers& group : groups_of(list)) {
    if (group.kind != GroupKind::Sweep || group.runs.size() < 2) continue;
    RecordedSweep& sweep = sweeps.emplace_back();
    sweep.id = group.id;
    sweep.runs = std::move(group.runs);
    for (const std::size_t run : sweep.runs) {
      sweep.points.push_back(sweep_point(*runs[run], engine::Product::Fprop));
    }
    mark_frontier(sweep.points, SnrChoice::Worst);
  }
  return sweeps;
}

Table sweeps_table(const std::vector<RecordedSweep>& sweeps) {
  // One table, whose columns are the settings that vary in any of them: a file has one header.
  auto points = std::make_shared<std::vector<SweepPoint>>();
  std::vector<std::pair<std::size_t, std::size_t>> owners;  // of each point: its sweep, its run
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    const std::size_t first = points->size();
    for (const std::size_t run : sweeps[i].runs) owners.emplace_back(i, run);
    points->insert(points->end(), sweeps[i].points.begin(), sweeps[i].points.end());
    for (std::size_t p = first; p < points->size(); ++p) {
      if ((*points)[p].doubt) (*points)[p].doubt->other += first;
    }
  }
  Table table = sweep_table(*points);
  table.name = "sweeps";
  table.columns.insert(table.columns.begin(),
                       {for_files("sweep", Measure::Count), for_files("run", Measure::Count)});
  table.rows = [points, owners = std::move(owners),
                rows = std::move(table.rows)](const RowSink& sink) {
    auto owner = owners.begin();
    rows([&](Row row) {
      row.cells.insert(row.cells.begin(), {Cell(owner->first + 1), Cell(owner->second + 1)});
      ++owner;
      sink(row);
    });
  };
  table.only_with_rows = true;
  return table;
}

}  // namespace profiling
