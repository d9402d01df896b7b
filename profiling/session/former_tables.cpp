#include "profiling/session/former_tables.h"

#include <optional>
#include <utility>

#include "engine/model/projections.h"
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

}  // namespace

std::vector<std::string> former_tables() {
  std::vector<std::string> names;
  for (const auto& table : layout_of<FormerRun>().tables) names.push_back(table->name);
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

}  // namespace profiling
