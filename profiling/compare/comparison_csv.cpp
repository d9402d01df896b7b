#include "profiling/compare/comparison_csv.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "profiling/export/csv_table.h"

namespace profiling {
namespace {

void write_number(double value, CsvTable& table) {
  std::isnan(value) ? table.empty() : table.cell(value);
}

/// n_a to reason.
void write_time(const TimeDifference& time, CsvTable& table) {
  table.cell(time.n_a).cell(time.n_b);
  for (const double value :
       {time.median_a, time.median_b, time.ratio, time.interval.low, time.interval.high,
        time.control_ratio, time.block_p, time.clock_ratio}) {
    write_number(value, table);
  }
  table.cell(engine::name_of(time.verdict)).cell(time.reason);
}

}  // namespace

std::string comparison_csv(const RunComparison& comparison, const SettingsDifference& settings) {
  CsvTable table(
      "what,name,stage,operation,n_a,n_b,median_a_ns,median_b_ns,ratio,ratio_low,ratio_high,"
      "control_ratio,"
      "block_p,clock_ratio,verdict,reason,tokens_a,tokens_b,snr_a_db,snr_b_db,left_out_a,"
      "left_out_b,setting_a,setting_b");
  constexpr int kTimeCells = 12;
  constexpr int kOtherCells = 8;  // tokens_a to setting_b
  table.cell("step").empty(3);
  write_time(comparison.step, table);
  table.empty(kOtherCells).end_row();
  for (const StageRow& one : comparison.stages) {
    table.cell("stage").empty().cell(engine::stage_name(one.stage)).empty();
    write_time(one.time, table);
    table.empty(kOtherCells).end_row();
  }
  for (const KernelRow& one : comparison.kernels) {
    table.cell("kernel").cell(one.name).cell(engine::stage_name(one.stage)).cell(one.operation);
    write_time(one.time, table);
    table.empty(kOtherCells).end_row();
  }
  for (const ExpertRow& one : comparison.experts) {
    table.cell("expert").cell(one.expert).empty(2);
    if (one.time.n_a + one.time.n_b > 0) {
      write_time(one.time, table);
    } else {
      table.empty(kTimeCells);
    }
    table.cell(one.tokens_a).cell(one.tokens_b);
    write_number(one.snr_a_db, table);
    write_number(one.snr_b_db, table);
    table.cell(one.left_out_a).cell(one.left_out_b).empty(2).end_row();
  }
  for (const SettingsRow& one : settings.rows) {
    table.cell("setting").cell(one.group + "." + one.field).empty(2 + kTimeCells + 6);
    table.cell(one.a).cell(one.b).end_row();
  }
  return table.take();
}

std::string sweep_csv(std::span<const SweepPoint> points) {
  CsvTable table("label,n,median_ns,p5_ns,p95_ns,worst_snr_db,median_snr_db,left_out,on_frontier");
  for (const SweepPoint& point : points) {
    table.cell(point.label).cell(point.time.n);
    for (const double value : {point.time.median, point.time.p5, point.time.p95, point.worst_snr_db,
                               point.median_snr_db}) {
      write_number(value, table);
    }
    table.cell(point.left_out).cell(point.on_frontier ? 1 : 0).end_row();
  }
  return table.take();
}

}  // namespace profiling
