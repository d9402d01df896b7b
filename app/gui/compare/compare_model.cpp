#include "app/gui/compare/compare_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "app/controllers/request_controls.h"
#include "app/gui/plot/format.h"
#include "engine/model/projections.h"
#include "profiling/compare/comparison_tables.h"
#include "profiling/compare/kept_weights.h"
#include "profiling/export/csv.h"

namespace app {
namespace {

using profiling::TimeDifference;
using profiling::TimeVerdict;

/// With the labels of the rail instead of the names of fields.
profiling::Table labelled_settings(const profiling::SettingsDifference& settings) {
  profiling::Table table = profiling::settings_table(settings);
  std::vector<profiling::Row> rows = profiling::all_rows(table);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const profiling::SettingsRow& row = settings.rows[i];
    const std::string a = setting_value(row.field, row.a);
    const std::string b = setting_value(row.field, row.b);
    rows[i].cells[0].words = setting_label(row.field);
    rows[i].cells[1].words = a;
    rows[i].cells[2].words = b;
    rows[i].full_name = fmt::format("{} ({} {})\nA: {}\nB: {}", setting_label(row.field), row.group,
                                    row.field, a, b);
  }
  return profiling::table_of(table.name, table.columns, std::move(rows));
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

std::vector<OfferedOverlay> offered_overlays(const engine::RunResult& a,
                                             const engine::RunResult& b) {
  using enum Overlay::Of;
  std::vector<OfferedOverlay> offered = {{{.of = Steps}, "iteration times"},
                                         {{.of = Kernel}, "times of the kernel"}};
  std::vector<engine::StepTensor> operands;
  std::ranges::set_union(engine::operands_of(a), engine::operands_of(b),
                         std::back_inserter(operands));
  for (const engine::StepTensor operand : operands) {
    // W in a linear step is Wup in an expert layer.
    std::string symbol;
    for (const engine::RunResult* run : {&a, &b}) {
      if (engine::statistics_of(*run, operand) == nullptr) continue;
      const std::string_view own = engine::tensor_symbol(run->effective.step, operand);
      if (symbol != own) symbol += fmt::format("{}{}", symbol.empty() ? "" : "/", own);
    }
    offered.push_back({{.of = Values, .operand = operand}, symbol + " values"});
    offered.push_back({{.of = Scales, .operand = operand}, symbol + " scales"});
    offered.push_back({{.of = Amax, .operand = operand}, symbol + " amax"});
  }
  return offered;
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
    result->overlays = offered_overlays(a.runs.front()->result, b.runs.front()->result);
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
  return result_ ? csv_text(comparison_table(result_->runs, result_->settings)) : std::string();
}

void CompareModel::make_rows(const Theme& theme) {
  rows_ = {};
  if (result_) changed_at_once(rows_, [&](Rows& rows) { rows = rows_of(*result_, theme); });
}

CompareModel::Rows CompareModel::rows_of(const Result& result, const Theme& theme) {
  return {.settings = plot::drawn(labelled_settings(result.settings), theme),
          .times = plot::drawn(profiling::time_differences_table(result.runs), theme)};
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
  if (overlay.of == Overlay::Of::Steps) {
    return time_bins(profiling::step_samples(a).durations_ns,
                     profiling::step_samples(b).durations_ns);
  }
  if (overlay.of == Overlay::Of::Kernel) {
    const profiling::KernelRow* kernel = kernel_of(row);
    if (kernel == nullptr) return {};
    return time_bins(kernel->samples_a, kernel->samples_b);
  }
  const auto histogram = [&](const profiling::RecordedRun& run) -> plot::Bins {
    const engine::OperandStatistics* const measured =
        engine::statistics_of(run.result, overlay.operand);
    if (measured == nullptr) return {};
    return plot::magnitude_bins(overlay.of == Overlay::Of::Scales ? measured->scale
                                : overlay.of == Overlay::Of::Amax ? measured->amax
                                                                  : measured->after);
  };
  return {histogram(*a.front()), histogram(*b.front()), plot::AxisKind::Log2};
}

const OverlaidBins& CompareModel::bins(Overlay overlay, int row, bool normalised) {
  const Asked asked{overlay, overlay.of == Overlay::Of::Kernel ? row : -1, normalised, generation_};
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

}  // namespace app
