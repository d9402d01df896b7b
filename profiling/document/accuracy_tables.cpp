// Tables of what quantization and products did to the numbers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/model/projections.h"
#include "engine/model/snr_words.h"
#include "profiling/document/columns.h"
#include "profiling/document/run_tables.h"
#include "profiling/session/session_file.h"

namespace profiling {
namespace {

/// An SNR and how many elements it leaves out; missing where neither is known.
Cell known_snr(double snr_db, std::uint64_t left_out) {
  if (std::isnan(snr_db) && left_out == 0) return {};
  Cell cell(snr_db);
  cell.left_out = left_out;
  return cell;
}

/// A recording from before the bytes were counted does not have them.
Cell bytes_of(const engine::TensorResult& tensor, std::int64_t bytes) {
  if (!tensor.has_bytes()) return {};
  return bytes == 0 ? worded(Cell(bytes), "none") : Cell(bytes);
}

/// What quantization did to the tensor; null where it was not quantized.
const engine::OperandStatistics* quantized(const engine::TensorResult& tensor) {
  return tensor.quantization && tensor.quantization->elements > 0 ? &*tensor.quantization : nullptr;
}

constexpr engine::Product kProducts[] = {engine::Product::Fprop, engine::Product::Dgrad,
                                         engine::Product::Wgrad};

}  // namespace

std::vector<engine::Product> products_of(const engine::RunResult& result) {
  std::vector<engine::Product> products;
  if (result.effective.products.passes != engine::StepPasses::Backward) {
    products.push_back(engine::Product::Fprop);
  }
  if (result.backward) {
    products.insert(products.end(), {engine::Product::Dgrad, engine::Product::Wgrad});
  }
  return products;
}

namespace {

/// Which tensors the columns of an expert are of: "Y, dX, dW and operand X".
std::string tensors_of(const engine::RunResult& result) {
  std::vector<std::string_view> outputs;
  for (const engine::Product product : products_of(result)) {
    outputs.emplace_back(engine::output_name(product));
  }
  return fmt::format("{} and operand {}", fmt::join(outputs, ", "),
                     engine::tensor_symbol(result.effective.step, engine::StepTensor::X));
}

}  // namespace

Table experts_table(const RecordedRun& run) {
  std::vector<Column> columns = {column("expert", Measure::Count),
                                 for_people("rows", Measure::Count),
                                 for_people("fprop", Measure::Time)};
  for (const engine::Product product : kProducts) {
    const char* const output = engine::output_name(product);
    columns.push_back(for_people(fmt::format("SNR of {}", output), Measure::Decibels));
    columns.push_back(if_wide(fmt::format("largest error of {}", output), Measure::Number));
    columns.push_back(if_wide(fmt::format("{} lost", output), Measure::Count));
  }
  columns.push_back(if_wide("X saturated", Measure::Count));
  columns.push_back(if_wide("X underflowed", Measure::Count));
  const FieldColumns fields(engine::kType<engine::ExpertResult>);
  fields.add_columns(columns);
  return {.name = "experts",
          .title = "Experts: " + tensors_of(run.result),
          .columns = std::move(columns),
          .rows = [&run, fields](const RowSink& sink) {
            const std::vector<engine::ExpertResult>& experts = run.result.experts;
            const std::vector<engine::Product> made = products_of(run.result);
            std::vector<double> fprop_ns(experts.size(), kNaN);
            for (const ExpertTime& one : expert_times(run.activity, engine::Stage::Fprop)) {
              const auto expert = static_cast<std::size_t>(one.expert);
              if (expert < fprop_ns.size()) fprop_ns[expert] = one.time.median;
            }
            for (std::size_t e = 0; e < experts.size(); ++e) {
              const engine::ExpertResult& expert = experts[e];
              Row row{.cells = cells_of(e, expert.rows, known(fprop_ns[e]))};
              for (const engine::Product product : kProducts) {
                if (std::ranges::find(made, product) == made.end()) {
                  row.cells.resize(row.cells.size() + 3);
                  continue;
                }
                const engine::ProductAccuracy& accuracy = expert.of(product);
                row.cells.push_back(
                    expert.rows > 0 ? known_snr(accuracy.snr_db, accuracy.left_out()) : Cell());
                row.cells.push_back(expert.rows > 0 ? known(accuracy.max_abs_error) : Cell());
                row.cells.emplace_back(accuracy.lost);
              }
              row.cells.emplace_back(expert.saturated);
              row.cells.emplace_back(expert.underflowed);
              fields.add_cells(row.cells, &expert);
              sink(row);
            }
          }};
}

engine::OperandExpert operand_expert(const engine::RunResult& result, engine::StepTensor operand,
                                     std::size_t expert) {
  const engine::OperandStatistics* const statistics = engine::statistics_of(result, operand);
  if (statistics != nullptr && expert < statistics->experts.size()) {
    return statistics->experts[expert];
  }
  engine::OperandExpert one;
  if (operand != engine::StepTensor::X || expert >= result.experts.size()) return one;
  // A recording that has them of X alone.
  const engine::ExpertResult& x = result.experts[expert];
  if (x.rows == 0) return one;
  one.rows = x.rows;
  one.snr_db = x.x_snr_db;
  one.max_ulp = x.x_max_ulp;
  one.saturated = x.saturated;
  one.underflowed = x.underflowed;
  return one;
}

Table expert_errors_table(const engine::RunResult& result, engine::Product product,
                          engine::StepTensor operand) {
  const std::vector<engine::ExpertResult>& experts = result.experts;
  bool lost = false;
  bool operand_lost = false;
  for (std::size_t e = 0; e < experts.size(); ++e) {
    lost = lost || experts[e].of(product).lost > 0;
    operand_lost = operand_lost || operand_expert(result, operand, e).lost > 0;
  }
  // People see a column of lost elements if there are some.
  const auto use = [](bool shown) { return shown ? ColumnUse::Everywhere : ColumnUse::Files; };
  return {
      .name = "expert_errors",
      .columns = {column("expert", Measure::Count, "exp.", "Number of the expert"),
                  column("rows", Measure::Count, {}, "Rows routed to it"),
                  column("snr_db", Measure::Decibels, engine::output_name(product),
                         "SNR of the product against the product of the unquantized operands"),
                  column("operand_snr_db", Measure::Decibels, "op.",
                         "SNR of quantizing the operand: dequantized elements against the original "
                         "ones. * leaves out elements that are or became infinite or NaN"),
                  column("max_abs_error", Measure::Number, "max err.",
                         "Largest absolute error of an element of the product"),
                  column("operand_max_ulp", Measure::Number, "op. ulp",
                         "Largest error of the operand in units in the last place of its codes: "
                         "0.5 is correct rounding",
                         ColumnUse::WideViews),
                  column("operand_saturated", Measure::Count, "satur.",
                         "Elements of the operand above the format's largest value"),
                  column("operand_underflowed", Measure::Count, "underfl.",
                         "Elements of the operand that were not zero and became zero"),
                  column("operand_lost", Measure::Count, "op. lost",
                         "Finite elements of the operand whose codes decode to infinity or NaN",
                         use(operand_lost)),
                  column("lost", Measure::Count, {},
                         "Elements of the product that overflowed: infinite or NaN although the "
                         "unquantized product is finite. The SNR leaves them out",
                         use(lost)),
                  for_files("left_out", Measure::Count),
                  for_files("operand_left_out", Measure::Count)},
      .rows = [&result, product, operand](const RowSink& sink) {
        for (std::size_t e = 0; e < result.experts.size(); ++e) {
          const engine::ExpertResult& expert = result.experts[e];
          const engine::ProductAccuracy& error = expert.of(product);
          const engine::OperandExpert quantized = operand_expert(result, operand, e);
          const bool has_rows = expert.rows > 0;
          sink({.cells = cells_of(e, has_rows ? Cell(expert.rows) : toned(expert.rows, Tone::Dim),
                                  has_rows ? known_snr(error.snr_db, error.left_out()) : Cell(),
                                  known_snr(quantized.snr_db, quantized.left_out()),
                                  has_rows ? known(error.max_abs_error) : Cell(),
                                  known(quantized.max_ulp), alarming(quantized.saturated),
                                  alarming(quantized.underflowed), alarming(quantized.lost),
                                  alarming(error.lost), error.left_out(), quantized.left_out())});
        }
      }};
}

Table tensors_table(const engine::RunResult& result) {
  std::vector<Column> columns = {
      for_files("tensor"),
      for_people("tensor"),
      if_wide("description"),
      column("rows", Measure::Count),
      column("columns", Measure::Count),
      column("bytes", Measure::Bytes, "memory", "Of one copy as it is written"),
      column("saved_bytes", Measure::Bytes, "kept for backward"),
      for_people("SNR in the layer", Measure::Decibels),
      if_wide("lost", Measure::Count),
      column("quantization.snr_db", Measure::Decibels, "SNR of quantizing it"),
      column("quantization.median_block_snr_db", Measure::Decibels, "typical SNR", kTypicalError)};
  const FieldColumns error(engine::kType<engine::ProductAccuracy>, "error.");
  error.add_columns(columns);
  return {
      .name = "tensors",
      .title = "One layer, tensor by tensor:",
      .columns = std::move(columns),
      .rows =
          [&result, error](const RowSink& sink) {
            const bool layer = result.expert_layer.has_value();
            for (const engine::TensorResult& one : result.tensors) {
              const engine::OperandStatistics* const statistics = quantized(one);
              Row row{.cells = cells_of(
                          engine::name_of(one.tensor),
                          engine::tensor_symbol(result.effective.step, one.tensor),
                          engine::tensor_meaning(result.effective.step, one.tensor), one.rows,
                          one.columns, bytes_of(one, one.bytes), bytes_of(one, one.saved_bytes),
                          layer ? known_snr(one.error.snr_db, one.error.left_out()) : Cell(),
                          layer ? Cell(one.error.lost) : Cell(),
                          statistics == nullptr
                              ? Cell()
                              : known_snr(statistics->snr_db, statistics->left_out()),
                          statistics == nullptr ? Cell() : known(statistics->median_block_snr_db))};
              error.add_cells(row.cells, &one.error);
              sink(row);
            }
          },
      .note = result.expert_layer
                  ? "SNR in the layer: against the same tensor of a layer that computes in FP32 "
                    "from the unquantized operands, so everything before it counts. SNR of "
                    "quantizing it: against the tensor that this step quantized."
                  : ""};
}

Table error_sources_table(const engine::RunResult& result) {
  const engine::TensorResult* const y = engine::find_tensor(result, engine::StepTensor::Y);
  std::string title;
  if (y != nullptr && result.expert_layer) {
    title = fmt::format(
        "Y has an SNR of {}, and {} with every operand unquantized. With one of them unquantized:",
        engine::snr_text(y->error),
        engine::snr_text(result.expert_layer->unquantized_snr_db,
                         result.expert_layer->unquantized_left_out));
  }
  return {
      .name = "error_sources",
      .title = std::move(title),
      .columns = {for_files("tensor"), for_people("unquantized"),
                  column("snr_db", Measure::Decibels, "SNR of Y"),
                  for_people("gain", Measure::Decibels), for_files("run_snr_db", Measure::Decibels),
                  for_files("unquantized_snr_db", Measure::Decibels),
                  for_files("left_out", Measure::Count)},
      .rows = [&result, y](const RowSink& sink) {
        for (const engine::TensorResult& one : result.tensors) {
          if (!one.unquantized_y) continue;
          const engine::UnquantizedY& measured = *one.unquantized_y;
          Cell snr(measured.snr_db);
          snr.left_out = measured.left_out;
          // Infinite or none where one of the two is exact or leaves everything out.
          const double gain = y == nullptr ? kNaN : measured.snr_db - y->error.snr_db;
          sink({.cells = cells_of(
                    engine::name_of(one.tensor),
                    engine::tensor_symbol(result.effective.step, one.tensor), std::move(snr),
                    std::isfinite(gain) ? worded(Cell(gain), fmt::format("{:+.2f} dB", gain))
                                        : Cell(),
                    y == nullptr ? Cell() : Cell(y->error.snr_db),
                    result.expert_layer ? Cell(result.expert_layer->unquantized_snr_db) : Cell(),
                    measured.left_out)});
        }
      }};
}

}  // namespace profiling
