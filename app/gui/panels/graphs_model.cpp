// Derivations of the Graphs page.
#include "app/gui/panels/graphs_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "app/gui/plot/format.h"
#include "profiling/document/run_tables.h"
#include "profiling/document/work_labels.h"

namespace app {
namespace {

/// A row's label: the kernel, and in brackets its layer and expert.
struct RowLabel {
  std::string kernel;
  std::string suffix;
};

RowLabel label_of(const profiling::NodeMatrix::Row& row) {
  const std::string& label = row.label;
  for (const char* mark : {" [layer ", " [expert "}) {
    const std::size_t at = label.rfind(mark);
    if (at == std::string::npos || label.find(mark) != at) continue;
    return {.kernel = label.substr(0, at), .suffix = label.substr(at)};
  }
  return {.kernel = label, .suffix = {}};
}

// A timer's ticks, in whole nanoseconds, are not all equally long.
constexpr double kTickJitterNs = 2.0;
constexpr double kCoarsestTimerNs = 1000.0;
constexpr double kMostSteps = 100.0;
constexpr std::size_t kFewestDurations = 8;

template <class Scale>
plot::Grid scaled(const profiling::NodeMatrix& matrix, Scale scale) {
  plot::Grid grid{.rows = static_cast<int>(matrix.rows.size()),
                  .columns = matrix.iterations,
                  .values = matrix.duration_ns};
  const auto columns = static_cast<std::size_t>(grid.columns);
  for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
    const auto median = static_cast<float>(matrix.rows[row].time.median);
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) {
      grid.values[i] = scale(grid.values[i], median);
    }
  }
  return grid;
}

}  // namespace

double timer_step_ns(std::vector<float> durations) {
  std::erase_if(durations, [](float one) { return std::isnan(one); });
  std::ranges::sort(durations);
  double least = kCoarsestTimerNs + 1.0;
  for (std::size_t i = 1; i < durations.size(); ++i) {
    const double apart = static_cast<double>(durations[i]) - static_cast<double>(durations[i - 1]);
    if (apart > kTickJitterNs) least = std::min(least, apart);
  }
  if (least > kCoarsestTimerNs) return 0.0;
  // Two durations that are one step apart may be closer by the jitter of both.
  for (double step = std::round(least) + kTickJitterNs; step >= least; step -= 1.0) {
    // Long ones are left out: an error of the step adds up over its multiples.
    const auto end = std::ranges::upper_bound(durations, static_cast<float>(kMostSteps * step));
    const auto few = std::span(durations.begin(), end);
    const bool coarse = few.size() >= kFewestDurations && step > 4.0 * kTickJitterNs;
    if (coarse && std::ranges::all_of(few, [step](float one) {
          const auto value = static_cast<double>(one);
          return std::abs(value - step * std::round(value / step)) <= kTickJitterNs;
        })) {
      return step;
    }
  }
  return 0.0;
}

std::shared_ptr<const ReplayPicture> make_replay_picture(GraphsModel::Run run) {
  auto picture = std::make_shared<ReplayPicture>();
  picture->matrix = profiling::node_matrix(run->activity, run->result.effective.step);
  picture->timer_step_ns = timer_step_ns(picture->matrix.duration_ns);
  // Of a memset one step of the timer is 4 %: it would outshine what really differs.
  const double step = picture->timer_step_ns;
  const auto unseen = static_cast<float>(step > 0.0 ? step + kTickJitterNs : 0.0);
  plot::Grid ratio = scaled(picture->matrix, [unseen](float value, float median) {
    return std::abs(value - median) <= unseen ? 1.0F : value / median;
  });
  // One stalled replay must not turn all others into one colour.
  plot::Range colors = plot::robust_range(ratio.values, 0.02, 0.95);
  if (colors.span() < 0.04) colors = {colors.min - 0.02, colors.max + 0.02};
  picture->against_median = {std::move(ratio), colors};
  plot::Grid log10_ns = scaled(picture->matrix, [](float value, float) {
    return std::isnan(value) ? value : std::log10(std::max(value, 1.0F));
  });
  colors = plot::value_range(log10_ns.values);
  if (colors.empty()) colors = plot::padded(colors, 0.0);
  picture->duration = {std::move(log10_ns), colors};
  plot::add_coarser(picture->against_median.grid);
  plot::add_coarser(picture->duration.grid);
  picture->iterations = iteration_series(*run);
  picture->checks = summarize_checks(run->result.replay_checks, run->result.effective.step);
  picture->check_strip = make_check_strip(run->result.replay_checks, run->result.effective.step);
  picture->run = std::move(run);
  return picture;
}

void GraphsModel::set_run(Run run, std::uint64_t generation) {
  generation_ = generation;
  show(derive(*run, task_, [run] { return make_replay_picture(run); }));
}

bool GraphsModel::show(std::optional<std::shared_ptr<const ReplayPicture>> made) {
  if (!made) return false;
  picture_ = std::move(*made);
  ++grid_generation_;
  laid_out_ = false;
  return true;
}

void GraphsModel::lay_out(const Theme& theme) {
  if (laid_out_ && laid_out_theme_ == theme.kind) return;
  laid_out_ = true;
  laid_out_theme_ = theme.kind;
  const auto made = made_at_once([&] {
    lay_out_rows(theme);
    nodes_ = plot::drawn(has_graph() ? profiling::graph_nodes_table(run(), &matrix())
                                     : profiling::work_table(matrix()),
                         theme);
    return true;
  });
  if (!made) picture_ = nullptr;
}

void GraphsModel::lay_out_rows(const Theme& theme) {
  row_labels_.clear();
  row_colors_.clear();
  row_margin_.clear();
  std::vector<profiling::NamedWork> work;
  for (const profiling::NodeMatrix::Row& row : matrix().rows) {
    work.push_back({.operation = row.operation, .kernel = label_of(row).kernel});
  }
  const std::vector<std::string> labels = profiling::labels_of(work);
  for (std::size_t i = 0; i < matrix().rows.size(); ++i) {
    const profiling::NodeMatrix::Row& row = matrix().rows[i];
    const std::string name = labels[i] + label_of(row).suffix;
    row_labels_.push_back(has_graph() ? fmt::format("{}  {}", i, name) : name);
    row_colors_.push_back(theme.stage(row.stage));
    row_margin_.push_back(plot::duration_text(row.time.median) + "  " +
                          plot::duration_text(row.time.p95));
  }
}

float GraphsModel::duration_ns(int row, int column) const {
  return matrix()
      .duration_ns[static_cast<std::size_t>(row) * static_cast<std::size_t>(matrix().iterations) +
                   static_cast<std::size_t>(column)];
}

void GraphsModel::set_scale(CellScale scale) {
  scale_ = scale;
  ++grid_generation_;
}

}  // namespace app
