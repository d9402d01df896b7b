#include "profiling/document/headline.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "profiling/document/run_tables.h"

namespace profiling {
namespace {

constexpr double kFaulty_dB = 15.0;  // below this an output is hardly usable

/// Three significant digits without an exponent: 0.0123, 3.41, 1108.
std::string three_digits(double value) {
  if (!std::isfinite(value)) return "–";
  if (value == 0.0) return "0";
  const double magnitude = std::abs(value);
  const int decimals = magnitude >= 100   ? 0
                       : magnitude >= 10  ? 1
                       : magnitude >= 1   ? 2
                       : magnitude >= 0.1 ? 3
                                          : 4;
  return fmt::format("{:.{}f}", value, decimals);
}

HeadlineFigure step_figure(const engine::RunResult& result, const Distribution& time,
                           const MedianPrecision& precision) {
  const std::string end = iteration_end_text(result);
  const std::string reach =
      precision.text.empty()
          ? ""
          : ", 95 % interval of the median " + precision.text + (precision.vague ? "" : " at most");
  // Always in ms: figures of one place that change their unit are hard to compare.
  return {.name = "step",
          .value = {three_digits(1e-6 * time.median), "ms", time.median, "ns"},
          .label = fmt::format("step, median of {}{}{}", count_text(time.n),
                               precision.text.empty() ? "" : " · ", precision.text),
          .method = fmt::format(
              "{}. n = {}, median {} ms, 5 % to 95 %: {} to {} ms{}{}{}", result.iteration_method,
              count_text(time.n), three_digits(1e-6 * time.median), three_digits(1e-6 * time.p5),
              three_digits(1e-6 * time.p95), reach, end.empty() ? "" : "; ", end)};
}

HeadlineFigure throughput_figure(double flop, double step_ns) {
  const double per_second = flop / (step_ns * 1e-9);
  const RateUnit unit = rate_unit(per_second);
  return {
      .name = "throughput",
      .value = {three_digits(per_second / unit.flop_per_second), unit.name, per_second, "FLOP/s"},
      .label = "useful work",
      .method = fmt::format("{:.4g} useful FLOP of one step (2·m·n·k over all experts and "
                            "layers, padding not counted) divided by its median time",
                            flop)};
}

HeadlineFigure snr_figure(const engine::RunResult& result, const WorstExpert& worst) {
  const bool exact = worst.snr_db == std::numeric_limits<double>::infinity();
  const engine::ExpertResult& expert = result.experts[static_cast<std::size_t>(worst.expert)];
  const std::uint64_t left_out = expert.of(worst.product).left_out();
  return {.name = "snr",
          .value = {exact ? "exact" : three_digits(worst.snr_db), exact ? "" : "dB", worst.snr_db,
                    "dB"},
          .label = fmt::format(
              "SNR of {}, worst expert ({}){}", engine::output_name(worst.product), worst.expert,
              left_out == 0 ? std::string() : fmt::format(", {} left out", count_text(left_out))),
          .method =
              "Product of layer 0 against the product of the unquantized operands: "
              "10·log10(sum y² / sum (y - ŷ)²), the lowest of all experts",
          .tone = worst.snr_db < kFaulty_dB ? Tone::Warning : Tone::Plain};
}

HeadlineFigure lost_figure(std::uint64_t lost) {
  return {.name = "lost",
          .value = {count_text(lost), "", static_cast<double>(lost), ""},
          .label = lost == 1 ? "output lost" : "outputs lost",
          .method =
              "Infinite or NaN although the unquantized product is finite: they overflowed "
              "the type of the output. The SNR leaves them out",
          .tone = Tone::Bad};
}

}  // namespace

std::optional<WorstExpert> worst_expert(const engine::RunResult& result) {
  const std::vector<engine::Product> products = products_of(result);
  if (products.empty()) return {};
  std::optional<WorstExpert> worst;
  std::uint64_t left_out = 0;
  for (std::size_t i = 0; i < result.experts.size(); ++i) {
    const engine::ProductAccuracy& accuracy = result.experts[i].of(products.front());
    left_out += accuracy.left_out();
    if (result.experts[i].rows == 0 || std::isnan(accuracy.snr_db)) continue;
    if (worst && accuracy.snr_db >= worst->snr_db) continue;
    worst = {.product = products.front(), .expert = static_cast<int>(i), .snr_db = accuracy.snr_db};
  }
  if (worst) worst->left_out = left_out;
  return worst;
}

std::uint64_t lost_outputs(const engine::RunResult& result) {
  std::uint64_t lost = 0;
  for (const engine::ExpertResult& expert : result.experts) {
    for (const engine::Product product : products_of(result)) lost += expert.of(product).lost;
  }
  return lost;
}

std::vector<HeadlineFigure> headline_of(const engine::RunResult& result, const Distribution& time,
                                        const MedianPrecision& precision) {
  std::vector<HeadlineFigure> figures;
  if (time.n > 0) {
    figures.push_back(step_figure(result, time, precision));
    if (time.median > 0 && result.flop > 0) {
      figures.push_back(throughput_figure(result.flop, time.median));
    }
  }
  if (const auto worst = worst_expert(result)) figures.push_back(snr_figure(result, *worst));
  if (const std::uint64_t lost = lost_outputs(result); lost > 0) {
    figures.push_back(lost_figure(lost));
  }
  return figures;
}

}  // namespace profiling
