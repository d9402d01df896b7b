#include "profiling/compare/comparison_csv.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace profiling {
namespace {

std::string quoted(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string safe = "\"";
  for (const char c : text) {
    if (c == '"') safe += '"';
    safe += c;
  }
  return safe + '"';
}

std::string number(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

std::string_view stage_text(engine::Stage stage) {
  const auto index = static_cast<std::size_t>(stage);
  return index < engine::kStageNames.size() ? engine::kStageNames[index] : "unknown";
}

/// n_a to reason.
std::string cells(const TimeDifference& time) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{}", time.n_a, time.n_b, number(time.median_a),
                     number(time.median_b), number(time.ratio), number(time.interval.low),
                     number(time.interval.high), number(time.control_ratio), number(time.block_p),
                     time_verdict_name(time.verdict), quoted(time.reason));
}

constexpr std::string_view kNoTime = ",,,,,,,,,,";

}  // namespace

std::string comparison_csv(const RunComparison& comparison, const SettingsDifference& settings) {
  std::string text =
      "what,name,stage,n_a,n_b,median_a_ns,median_b_ns,ratio,ratio_low,ratio_high,control_ratio,"
      "block_p,verdict,reason,tokens_a,tokens_b,snr_a_db,snr_b_db,setting_a,setting_b\r\n";
  const auto row = [&](std::string_view what, std::string_view name, std::string_view stage,
                       std::string_view time, std::string_view rest) {
    text += fmt::format("{},{},{},{},{}\r\n", what, quoted(name), stage, time, rest);
  };
  row("step", "", "", cells(comparison.step), ",,,,,");
  for (const StageRow& one : comparison.stages) {
    row("stage", "", stage_text(one.stage), cells(one.time), ",,,,,");
  }
  for (const KernelRow& one : comparison.kernels) {
    row("kernel", one.name, stage_text(one.stage), cells(one.time), ",,,,,");
  }
  for (const ExpertRow& one : comparison.experts) {
    row("expert", fmt::to_string(one.expert), "",
        one.time.n_a + one.time.n_b > 0 ? cells(one.time) : std::string(kNoTime),
        fmt::format("{},{},{},{},,", one.tokens_a, one.tokens_b, number(one.snr_a_db),
                    number(one.snr_b_db)));
  }
  for (const SettingsRow& one : settings.rows) {
    row("setting", one.group + "." + one.field, "", kNoTime,
        fmt::format(",,,,{},{}", quoted(one.a), quoted(one.b)));
  }
  return text;
}

std::string sweep_csv(std::span<const SweepPoint> points) {
  std::string text = "label,n,median_ns,p5_ns,p95_ns,worst_snr_db,median_snr_db,on_frontier\r\n";
  for (const SweepPoint& point : points) {
    text += fmt::format("{},{},{},{},{},{},{},{}\r\n", quoted(point.label), point.time.n,
                        number(point.time.median), number(point.time.p5), number(point.time.p95),
                        number(point.worst_snr_db), number(point.median_snr_db),
                        point.on_frontier ? 1 : 0);
  }
  return text;
}

}  // namespace profiling
