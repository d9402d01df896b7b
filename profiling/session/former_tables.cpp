#include "profiling/session/former_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/model/path_text.h"
#include "engine/model/projections.h"
#include "profiling/session/former_history.h"
#include "profiling/session/former_run.h"
#include "profiling/session/layout.h"

namespace profiling {
namespace {

using engine::StepTensor;

/// What each member of FormerRun is today.
constexpr std::pair<StepTensor, engine::OperandStatistics FormerRun::*> kOperands[] = {
    {StepTensor::X, &FormerRun::activations}, {StepTensor::WUp, &FormerRun::weights},
    {StepTensor::A, &FormerRun::activated},   {StepTensor::WDown, &FormerRun::down_weights},
    {StepTensor::DY, &FormerRun::gradients},  {StepTensor::DH, &FormerRun::inner_gradients},
};

/// Whether a run had statistics of the operand: its row was there in any case.
bool had_operand(const engine::RunResult& result, StepTensor tensor) {
  const engine::StepKind step =
      result.expert_layer ? engine::StepKind::ExpertLayer : engine::StepKind::Linear;
  if (engine::traits_of(tensor).backward && !result.backward) return false;
  return engine::operand_of(step, tensor).has_value();
}

void convert(FormerRun& former, engine::RunResult& result) {
  if (former.expert_layer) {
    for (const FormerTensor& one : former.expert_layer->tensors) {
      engine::TensorResult& row = engine::tensor_row(result, one.tensor);
      row.rows = one.rows;
      row.columns = one.columns;
      row.bytes = one.bytes;
      row.saved_bytes = one.saved_bytes;
      row.error = one.error;
    }
    for (const FormerErrorSource& one : former.expert_layer->error_sources) {
      engine::tensor_row(result, one.tensor).unquantized_y = {one.snr_db, one.left_out};
    }
  }
  for (const auto& [tensor, member] : kOperands) {
    if (!had_operand(result, tensor)) continue;
    engine::tensor_row(result, tensor).quantization = std::move(former.*member);
  }
  // Linear steps had no extents.
  for (engine::TensorResult& row : result.tensors) {
    if (row.columns != 0) continue;
    row.rows = engine::total_rows(result.effective, row.tensor, result.splits);
    row.columns = engine::extent_of(result.effective, row.tensor).columns;
  }
}

/// Every list has its length, so that convert() may index into it.
engine::Status check_lengths(const std::string& path, const FormerHistory& history) {
  const std::int64_t cells = std::int64_t{history.steps} * history.experts;
  bool ok = cells > 0 && std::ssize(history.ring) == cells * history.ring_rows;
  for (const std::int64_t size : {std::ssize(history.tokens), std::ssize(history.amax),
                                  std::ssize(history.history_amax), std::ssize(history.scale_used),
                                  std::ssize(history.scale_wanted), std::ssize(history.saturated),
                                  std::ssize(history.underflowed), std::ssize(history.snr_db)}) {
    ok &= size == cells;
  }
  // Older recordings do not count what an SNR leaves out.
  ok &= history.left_out.empty() || std::ssize(history.left_out) == cells;
  if (ok) return {};
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format("{}: a history of {} steps and {} experts has lists of another length",
                  engine::shown_path(path), history.steps, history.experts)};
}

engine::QuantizationReport report_of(const FormerHistory& history, const engine::Recipe& recipe,
                                     int step) {
  engine::QuantizationReport report{.recipe = recipe};
  report.step = step;
  const auto experts = static_cast<std::size_t>(history.experts);
  const std::size_t first = static_cast<std::size_t>(step) * experts;
  for (std::size_t i = first; i < first + experts; ++i) {
    engine::ExpertQuantization& row = report.experts.emplace_back();
    row.rows = history.tokens[i];
    row.snr_db = history.snr_db[i];
    row.saturated = history.saturated[i];
    row.underflowed = history.underflowed[i];
    // Whether they were lost or undefined was not kept.
    row.lost = history.left_out.empty() ? 0 : history.left_out[i];
    row.delayed = {.amax = history.amax[i],
                   .history_amax = history.history_amax[i],
                   .scale_used = history.scale_used[i],
                   .scale_wanted = history.scale_wanted[i]};
  }
  const std::size_t floats = static_cast<std::size_t>(history.ring_rows) * experts;
  const auto ring =
      history.ring.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(step) * floats);
  report.history.assign(ring, ring + static_cast<std::ptrdiff_t>(floats));
  return report;
}

RecordedComparison convert(FormerHistory& history) {
  RecordedComparison recorded;
  recorded.wall_clock_ms = history.wall_clock_ms;
  engine::RecipeComparison& comparison = recorded.comparison;
  comparison.wall_ns = history.wall_ns;
  engine::ComparisonRequest& request = comparison.request;
  request.request = std::move(history.request.request);
  if (history.request.asked_tokens > 0) request.request.shape.rows = history.request.asked_tokens;
  request.recipes = {request.request.recipe};
  request.recipes.front().scaling = engine::Scaling::PerTensorDelayed;
  request.timed_launches = 0;
  request.series = {.steps = history.steps,
                    .outlier_step = history.request.outlier_step,
                    .outlier_expert = history.request.outlier_expert,
                    .outlier_factor = history.request.outlier_factor,
                    .idle = std::move(history.request.idle)};
  comparison.splits.assign(history.tokens.begin(), history.tokens.begin() + history.experts);
  for (int step = 0; step < history.steps; ++step) {
    comparison.reports.push_back(report_of(history, request.recipes.front(), step));
  }
  return recorded;
}

}  // namespace

std::vector<std::string> former_tables() {
  std::vector<std::string> names;
  for (const Layout* layout : {&layout_of<FormerRun>(), &layout_of<FormerHistory>()}) {
    for (const auto& table : layout->tables) names.push_back(table->name);
  }
  const auto add = [&](const Layout& layout) {
    for (const auto& table : layout.tables) {
      if (!table->former_name.empty()) names.push_back(table->former_name);
    }
  };
  for_each_kind(Session(), [&]<class Recorded>(const auto&) { add(layout_of<Recorded>()); });
  return names;
}

engine::Status read_former_tensors(const TableSource& source, std::vector<RecordedRun>& runs) {
  RowReader columns(source.database, source.path, "tensors", "PRAGMA table_xinfo(\"tensors\")",
                    source.budget, 0);
  if (columns.next()) return {};
  ENGINE_TRY(columns.take_status());
  std::vector<FormerRun> former;
  ENGINE_TRY(read_recorded(source, former));
  for (std::size_t i = 0; i < runs.size() && i < former.size(); ++i) {
    convert(former[i], runs[i].result);
  }
  return {};
}

engine::Status read_former_histories(const TableSource& source,
                                     std::vector<RecordedComparison>& comparisons) {
  std::vector<FormerHistory> histories;
  ENGINE_TRY(read_recorded(source, histories));
  for (FormerHistory& history : histories) {
    ENGINE_TRY(check_lengths(source.path, history));
    comparisons.push_back(convert(history));
  }
  if (!histories.empty()) {
    std::ranges::stable_sort(comparisons, {}, &RecordedComparison::wall_clock_ms);
  }
  return {};
}

}  // namespace profiling
