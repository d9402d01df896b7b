#include "app/gui/compare/compare_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/controllers/request_controls.h"
#include "app/gui/plot/format.h"
#include "engine/model/projections.h"
#include "profiling/compare/comparison_csv.h"
#include "profiling/compare/kept_weights.h"

namespace app {
namespace {

using profiling::TimeDifference;
using profiling::TimeVerdict;

const std::vector<plot::Column> kSettingsColumns = {
    {.title = "setting", .width = 0, .numeric = false},
    {.title = "A", .width = 92, .numeric = false},
    {.title = "B", .width = 92, .numeric = false},
    {.title = "of",
     .width = 66,
     .numeric = false,
     .tooltip = "requested; effective = what was used instead; device or library"}};
const std::vector<plot::Column> kTimeColumns = {
    {.title = "what", .width = 0, .numeric = false},
    {.title = "A", .width = 60, .tooltip = "median of A"},
    {.title = "B", .width = 60, .tooltip = "median of B"},
    {.title = "B / A", .width = 42, .tooltip = "ratio of the medians: below 1, B is faster"},
    {.title = "B is",
     .width = 62,
     .numeric = false,
     .tooltip = "the reason is in the row's tooltip"},
    {.title = "interval",
     .width = 92,
     .tooltip = "contains the ratio with 95 %, from order statistics of both sides"},
    {.title = "n A / B", .width = 56, .tooltip = "samples"}};

// Without room for all columns, the interval and n are in the tooltip and in the copied text.
const std::vector<plot::Column> kNarrowTimeColumns(kTimeColumns.begin(), kTimeColumns.begin() + 5);

std::string tooltip_of(const std::string& name, const TimeDifference& time) {
  return fmt::format("{}\n{}\nn {} in A, {} in B", name, time.reason, time.n_a, time.n_b);
}

plot::TableRow time_row(const std::string& name, const TimeDifference& time, const Theme& theme) {
  const auto duration = [](double ns, std::size_t n) {
    return plot::Cell{.text = n == 0 ? "none" : plot::duration_text(ns), .key = n == 0 ? 0.0 : ns};
  };
  plot::TableRow row;
  row.tooltip = tooltip_of(name, time);
  row.cells.push_back({.text = name});
  row.cells.push_back(duration(time.median_a, time.n_a));
  row.cells.push_back(duration(time.median_b, time.n_b));
  row.cells.push_back({.text = ratio_text(time.ratio), .key = time.ratio});
  // Why not is too long for the column; it is in the tooltip and above the cards.
  row.cells.push_back({.text = time.comparable() ? std::string(engine::name_of(time.verdict))
                                                 : std::string("no verdict"),
                       .color = verdict_color(time.verdict, theme)});
  row.cells.push_back(
      {.text = std::isnan(time.interval.low)
                   ? "n/a"
                   : fmt::format("{:.3f} \u2013 {:.3f}", time.interval.low, time.interval.high),
       .key = time.interval.low});
  row.cells.push_back({.text = fmt::format("{}/{}", time.n_a, time.n_b),
                       .key = static_cast<double>(time.n_a + time.n_b)});
  return row;
}

std::string recipe_title(const CompareSide& side) {
  const engine::RunRequest& effective = side.runs.front()->result.effective;
  const std::string title(engine::traits_of(effective.recipe).title);
  const bool mixed = engine::is_expert_layer(effective) && effective.expert_layer.mixed_recipes;
  return mixed ? "mixed recipes" : title;
}

/// " (2 to 5 within the 95 % intervals)"; empty where both ends agree.
std::string range_text(const profiling::KeptWeights& kept) {
  if (!kept.interval_known || kept.from_at_best == kept.from_at_worst) return {};
  const auto end = [](const std::optional<int>& from) {
    return from ? std::to_string(*from) : std::string("never");
  };
  return fmt::format(" ({} to {} within the 95 % intervals)", end(kept.from_at_best),
                     end(kept.from_at_worst));
}

std::string kept_weights_text(const CompareSide& a, const CompareSide& b) {
  const std::optional<profiling::KeptWeights> kept =
      profiling::kept_weights(a.pointers(), b.pointers());
  if (!kept) return {};
  const CompareSide& quantized = kept->b_quantizes ? b : a;
  const CompareSide& plain = kept->b_quantizes ? a : b;
  const std::string number = kept->from ? fmt::format("from {} micro-batch{} per update on",
                                                      *kept->from, *kept->from == 1 ? "" : "es")
                                        : fmt::format("with any number of micro-batches up to {}",
                                                      engine::kMaxWeightReuse);
  return fmt::format(
      "{} is {} than {} {}{}: {} with weights quantized in it (n {}), {} with weights kept (n {}), "
      "against {} (n {}).",
      recipe_title(quantized), kept->from ? "faster" : "not faster", recipe_title(plain), number,
      range_text(*kept), plot::duration_text(kept->medians.quantizing), kept->n_quantizing,
      plot::duration_text(kept->medians.keeping), kept->n_keeping,
      plot::duration_text(kept->medians.plain), kept->n_plain);
}

/// Bins both sample sets on common edges.
OverlaidBins time_bins(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> both = a;
  both.insert(both.end(), b.begin(), b.end());
  OverlaidBins bins;
  bins.a = bins.b = plot::linear_bins(both);
  const auto count = [](plot::Bins& into, const std::vector<double>& samples) {
    std::ranges::fill(into.counts, 0.0);
    if (into.counts.empty()) return;
    for (const double sample : samples) {
      // The last edge belongs to the last bin.
      const int bin = into.find(sample);
      const bool inside = bin >= 0;
      if (inside || sample == into.edges.back()) {
        into.counts[inside ? static_cast<std::size_t>(bin) : into.counts.size() - 1] += 1.0;
      }
    }
  };
  count(bins.a, a);
  count(bins.b, b);
  return bins;
}

void normalise(plot::Bins& bins) {
  const double total = bins.total();
  if (total <= 0.0) return;
  for (double& count : bins.counts) count *= 100.0 / total;
}

}  // namespace

std::string ratio_text(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.3f}", ratio) : "n/a";
}

ImU32 verdict_color(TimeVerdict verdict, const Theme& theme) {
  if (verdict == TimeVerdict::Faster) return theme.colors.good;
  return verdict == TimeVerdict::Slower ? theme.colors.bad : theme.colors.dim_text;
}

void CompareModel::follow(const CompareSide& a, const CompareSide& b, engine::Product product) {
  if (a_ == a && b_ == b && product_ == product) return;
  a_ = a;
  b_ = b;
  product_ = product;
  task_.start([a, b, product] {
    auto result = std::make_shared<Result>();
    result->a = a;
    result->b = b;
    result->runs = profiling::compare_runs(a.pointers(), b.pointers(), product);
    result->settings = settings_difference(*a.runs.front(), *b.runs.front());
    result->kept_weights = kept_weights_text(a, b);
    return std::shared_ptr<const Result>(std::move(result));
  });
}

bool CompareModel::tick() {
  auto result = task_.take();
  if (!result) return false;
  result_ = std::move(*result);
  ++generation_;
  return true;
}

std::string CompareModel::csv() const {
  return result_ ? comparison_csv(result_->runs, result_->settings) : std::string();
}

void CompareModel::make_rows(const Theme& theme) {
  rows_ = {};
  if (result_) changed_at_once(rows_, [&](Rows& rows) { rows = rows_of(*result_, theme); });
}

CompareModel::Rows CompareModel::rows_of(const Result& result, const Theme& theme) {
  Rows rows;
  for (const profiling::SettingsRow& row : result.settings.rows) {
    plot::TableRow made;
    const std::string a = setting_value(row.field, row.a);
    const std::string b = setting_value(row.field, row.b);
    made.tooltip = fmt::format("{} ({} {})\nA: {}\nB: {}", setting_label(row.field), row.group,
                               row.field, a, b);
    made.cells = {
        {.text = setting_label(row.field)}, {.text = a}, {.text = b}, {.text = row.group}};
    rows.settings.push_back(std::move(made));
  }
  rows.times.push_back(time_row("step", result.runs.step, theme));
  for (const profiling::StageRow& row : result.runs.stages) {
    const auto index = static_cast<std::size_t>(row.stage);
    const bool known = index < engine::kStageNames.size();
    rows.times.push_back(time_row(
        fmt::format("all of {}", known ? engine::kStageNames[index] : "unknown"), row.time, theme));
    rows.times.back().chip = theme.stage(row.stage);
  }
  for (const profiling::KernelRow& row : result.runs.kernels) {
    rows.times.push_back(time_row(plot::work_name(row.operation, row.name), row.time, theme));
    rows.times.back().chip = theme.stage(row.stage);
    rows.times.back().tooltip = tooltip_of(row.name, row.time);
  }
  return rows;
}

const profiling::KernelRow* CompareModel::kernel_of(int row) const {
  if (!result_) return nullptr;
  const auto first = static_cast<int>(1 + result_->runs.stages.size());
  const int index = row - first;
  if (index < 0 || index >= static_cast<int>(result_->runs.kernels.size())) return nullptr;
  return &result_->runs.kernels[static_cast<std::size_t>(index)];
}

OverlaidBins CompareModel::make_bins(Overlay overlay, int row) const {
  const profiling::RunSide a = result_->a.pointers();
  const profiling::RunSide b = result_->b.pointers();
  if (overlay == Overlay::Steps) {
    return time_bins(profiling::step_samples(a).durations_ns,
                     profiling::step_samples(b).durations_ns);
  }
  if (overlay == Overlay::Kernel) {
    const profiling::KernelRow* kernel = kernel_of(row);
    if (kernel == nullptr) return {};
    return time_bins(kernel->samples_a, kernel->samples_b);
  }
  const engine::StepTensor tensor =
      overlay >= Overlay::WValues ? engine::StepTensor::WUp : engine::StepTensor::X;
  const auto histogram = [&](const profiling::RecordedRun& run) -> plot::Bins {
    const engine::OperandStatistics* const measured = engine::statistics_of(run.result, tensor);
    if (measured == nullptr) return {};
    const engine::OperandStatistics& operand = *measured;
    switch (overlay) {
      case Overlay::XScales:
      case Overlay::WScales:
        return plot::magnitude_bins(operand.scale);
      case Overlay::XAmax:
      case Overlay::WAmax:
        return plot::magnitude_bins(operand.amax);
      default:
        return plot::magnitude_bins(operand.after);
    }
  };
  return {histogram(*a.front()), histogram(*b.front()), plot::AxisKind::Log2};
}

const OverlaidBins& CompareModel::bins(Overlay overlay, int row, bool normalised) {
  const Asked asked{overlay, overlay == Overlay::Kernel ? row : -1, normalised, generation_};
  if (asked_ == asked) return bins_;
  asked_ = asked;
  changed_at_once(bins_, [&](OverlaidBins& bins) {
    bins = make_bins(overlay, row);
    if (!normalised) return;
    normalise(bins.a);
    normalise(bins.b);
  });
  return bins_;
}

const std::vector<plot::Column>& CompareModel::settings_columns() { return kSettingsColumns; }

const std::vector<plot::Column>& CompareModel::time_columns(bool narrow) {
  return narrow ? kNarrowTimeColumns : kTimeColumns;
}

}  // namespace app
