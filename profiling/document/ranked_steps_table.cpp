#include "profiling/document/ranked_steps_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "profiling/document/columns.h"
#include "profiling/document/quantity.h"
#include "profiling/document/run_tables.h"

namespace profiling {
namespace {

// Columns of recorded_steps_table() that are replaced or that others are put beside.
constexpr std::ptrdiff_t kTime = 1;
constexpr std::ptrdiff_t kIterations = 2;

std::string_view not_ranked_because(StepVisits visits) {
  switch (visits) {
    case StepVisits::OnlyFirst:
      return "only the first timed iteration";
    case StepVisits::OnlyThrottled:
      return "only throttled iterations";
    case StepVisits::None:
    case StepVisits::Counted:
      break;
  }
  return "";
}

Cell rank_cell(const StepTime& time) {
  if (time.rank == 0) return {};
  return time.tied ? worded(time.rank, fmt::format("={}", time.rank)) : Cell(time.rank);
}

Cell range_cell(const StepTime& time) {
  if (time.counted == 0) return {};
  if (time.counted == 1) return worded({}, "one");
  // A narrow card has room for one unit.
  return worded({}, engine::time_range_text(time.lowest_ns, time.highest_ns, "\u2013"));
}

/// The row of recorded_steps_table() with what is known of the step's visits.
Row with_visits(Row row, const RankedSteps& ranked, std::size_t step) {
  const StepTime& time = ranked.times[step];
  if (row.full_name.empty()) row.full_name = not_ranked_because(time.visits);
  if (time.visits == StepVisits::OnlyThrottled && time.counted == 0) {
    row.cells[kTime] = worded({}, "throttled");
  }
  row.cells[kIterations].words = visits_words(ranked.recorded.steps[step], time);
  row.cells.insert(row.cells.begin() + kIterations, range_cell(time));
  row.cells.insert(row.cells.begin() + kTime, rank_cell(time));
  const auto known_rank = time.rank == 0 ? Cell() : Cell(time.rank);
  add_cells(row.cells, known_rank, time.counted, known(time.lowest_ns), known(time.highest_ns),
            not_ranked_because(time.visits));
  return row;
}

/// `table`: of the steps at `indices`.
Table with_ranks(Table table, std::shared_ptr<const RankedSteps> ranked,
                 std::vector<std::size_t> indices) {
  table.columns[kIterations].tooltip =
      "How many iterations the time is of; those throttled and the first timed one are left out "
      "where the step has others";
  table.columns.insert(
      table.columns.begin() + kIterations,
      for_people("range", Measure::Words, "The shortest and the longest of these iterations"));
  table.columns.insert(
      table.columns.begin() + kTime,
      for_people("rank", Measure::Count,
                 "1 + the number of steps whose range lies wholly above: they are slower for "
                 "certain. =: the range overlaps that of another step, and the two cannot be told "
                 "apart"));
  for (const auto& [key, measure] : {std::pair{"rank", Measure::Count},
                                     {"counted_visits", Measure::Count},
                                     {"lowest_ns", Measure::Time},
                                     {"highest_ns", Measure::Time},
                                     {"not_ranked_because", Measure::Words}}) {
    table.columns.push_back(for_files(key, measure));
  }
  table.title = fmt::format("Steps by time; {}:", slowest_words(*ranked));
  table.note = kRankWords;
  table.rows = [ranked, indices = std::move(indices),
                rows = std::move(table.rows)](const RowSink& sink) {
    std::size_t at = 0;
    rows([&](const Row& row) { sink(with_visits(row, *ranked, indices[at++])); });
  };
  return table;
}

}  // namespace

std::string visits_words(const engine::RecordedStep& step, const StepTime& time) {
  if (time.visits == StepVisits::OnlyFirst) return "1, the first";
  if (time.visits == StepVisits::OnlyThrottled) {
    return fmt::format("{}, throttled", step.visits);
  }
  if (time.visits == StepVisits::None || time.counted == step.visits) {
    return fmt::format("{}", step.visits);
  }
  return fmt::format("{} of {}", time.counted, step.visits);
}

Table ranked_steps_table(std::shared_ptr<const RankedSteps> ranked, std::size_t count) {
  std::vector<std::size_t> longest = ranked->order;
  longest.resize(std::min(longest.size(), count));
  Table table = recorded_steps_table(ranked->recorded, longest,
                                     std::min(longest.size(), ranked->slowest.size()));
  return with_ranks(std::move(table), std::move(ranked), std::move(longest));
}

Table ranked_steps_table(std::shared_ptr<const RankedSteps> ranked) {
  std::vector<std::size_t> all(ranked->recorded.steps.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  Table table = recorded_steps_table(ranked->recorded);
  return with_ranks(std::move(table), std::move(ranked), std::move(all));
}

}  // namespace profiling
