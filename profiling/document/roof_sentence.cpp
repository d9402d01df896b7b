#include "profiling/document/roof_sentence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "engine/model/backend_traits.h"
#include "engine/program/operation_words.h"
#include "profiling/document/quantity.h"

namespace profiling {
namespace {

std::string percent_text(double share) { return fmt::format("{:.3g} %", 100.0 * share); }

std::string name_of(const engine::RunResult& result, engine::Stage stage,
                    engine::WrittenValue writes) {
  const std::string name = engine::operation_name(result.effective.step, stage, writes);
  return name.empty() ? std::string(engine::stage_name(stage)) : name;
}

/// The lower of the measured bounds at the operation's intensity, as a rate of what it is rated by.
struct MeasuredRoof {
  double rate = 0.0;  // FLOP/s of products, bytes/s of the rest; 0 = not measured
  bool memory = false;
};

MeasuredRoof roof_of(const engine::Ceilings& ceilings, const OperationPoint& point, bool product) {
  const double copy = ceilings.copy_bytes_per_s;
  if (!product) return {copy, true};
  const double at_intensity = copy * point.work.intensity();
  const double dense = ceilings.product_flop_per_s;
  // Without the product's rate it is not known which of the two is lower.
  if (copy <= 0.0 || dense <= 0.0) return {dense, false};
  return at_intensity < dense ? MeasuredRoof{at_intensity, true} : MeasuredRoof{dense, false};
}

/// A copy is not the most that memory can do: a kernel that reads more than it writes is faster.
/// Only a rate above the data sheet's shows that caches served a part.
std::string above_copy_words(const engine::RunResult& result, const OperationPoint& point) {
  const auto nominal = nominal_peaks(result);
  if (!nominal) return "faster than the copy, so memory limits it or caches serve a part of it";
  const double share = point.bytes_per_s() / nominal->bytes_per_s;
  const std::string sheet = byte_rate_text(nominal->bytes_per_s);
  return share > 1.0
             ? fmt::format("more than the data sheet's {}, so caches serve a part of it", sheet)
             : fmt::format("at {} of the data sheet's {}, memory limits it", percent_text(share),
                           sheet);
}

/// Near the dense product of the run: what limits that one was not measured either, only how far
/// it is from the data sheet, and whether the clock was held back.
std::string near_product_words(const engine::RunResult& result) {
  std::string text = "near the fastest product that was measured here";
  const auto nominal = nominal_peaks(result);
  if (!nominal || nominal->flop_per_s() <= 0.0) return text;
  const double dense = result.measurements.ceilings.product_flop_per_s;
  return text + fmt::format(", which reaches {} of the data sheet's {}",
                            percent_text(dense / nominal->flop_per_s()),
                            flop_rate(nominal->flop_per_s()).text());
}

std::string limit_words(const engine::RunResult& result, const OperationPoint& point,
                        const MeasuredRoof& roof, double share) {
  const bool device = engine::traits_of(result.effective.backend).device;
  if (share > 1.0 && roof.memory) return above_copy_words(result, point);
  if (share >= kNearRoof) return roof.memory ? "memory limits it" : near_product_words(result);
  const double launch_ns = point.median_ns / std::max(point.launches, 1.0);
  if (device && launch_ns < kShortLaunchNs) {
    return fmt::format(
        "far from its roof, and each of its kernels takes only {}: launch and latency may limit it",
        duration_text(launch_ns));
  }
  return "far from its roof, and what limits it was not measured";
}

bool is_product(const OperationPoint& point) {
  return point.stage == engine::Stage::Fprop || point.stage == engine::Stage::Dgrad ||
         point.stage == engine::Stage::Wgrad;
}

double achieved_rate(const OperationPoint& point) {
  return is_product(point) ? point.flop_per_s() : point.bytes_per_s();
}

/// Null if no work is counted for it.
const OperationPoint* point_of(std::span<const OperationPoint> points, engine::Stage stage,
                               engine::WrittenValue writes) {
  const auto found = std::ranges::find_if(points, [&](const OperationPoint& one) {
    return one.stage == stage && one.writes == writes;
  });
  return found == points.end() ? nullptr : &*found;
}

}  // namespace

std::string roof_words(const engine::RunResult& result, std::span<const OperationPoint> points,
                       engine::Stage stage, engine::WrittenValue writes) {
  const OperationPoint* const point = point_of(points, stage, writes);
  if (point == nullptr) return {};
  const MeasuredRoof roof = roof_of(result.measurements.ceilings, *point, is_product(*point));
  if (roof.rate <= 0.0) return {};
  return fmt::format("{}, {:.0f} %", roof.memory ? "memory" : "product",
                     100.0 * achieved_rate(*point) / roof.rate);
}

std::string roof_sentence(const engine::RunResult& result, const OperationPoint& point) {
  const bool product = is_product(point);
  const auto rate_text = [product](double rate) {
    return product ? flop_rate(rate).text() : byte_rate_text(rate);
  };
  const double achieved = achieved_rate(point);
  std::string text = fmt::format("{} achieves {}{}", name_of(result, point.stage, point.writes),
                                 rate_text(achieved), point.emulated ? " (emulated)" : "");
  const MeasuredRoof roof = roof_of(result.measurements.ceilings, point, product);
  if (roof.rate <= 0.0) {
    text += "; this run measured no roof for it, so what limits it is not known";
  } else {
    const double share = achieved / roof.rate;
    const std::string source =
        !roof.memory ? "this run's dense product"
        : product    ? fmt::format("this run's copy at {:.3g} FLOP/byte", point.work.intensity())
                     : "this run's copy";
    text += fmt::format(", {} of {} ({}): {}", percent_text(share), rate_text(roof.rate), source,
                        limit_words(result, point, roof, share));
  }
  if (point.emulated) text += "; its operands are dequantized, so this is no rate of their format";
  return text + ".";
}

std::string roof_sentence(const engine::RunResult& result, std::span<const OperationPoint> points,
                          engine::Stage stage, engine::WrittenValue writes) {
  if (const OperationPoint* const point = point_of(points, stage, writes)) {
    return roof_sentence(result, *point);
  }
  if (std::string why = unknown_work(result, stage); !why.empty()) {
    why[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(why[0])));
    return why + ".";
  }
  return fmt::format("No work is counted for {}, so it has no rate and no roof.",
                     name_of(result, stage, writes));
}

std::string roofline_sentence(const engine::RunResult& result,
                              std::span<const RooflinePoint> points) {
  const engine::Ceilings& ceilings = result.measurements.ceilings;
  const double copy = ceilings.copy_bytes_per_s;
  const double dense = ceilings.product_flop_per_s;
  if (copy <= 0.0 || dense <= 0.0 || points.empty()) return {};
  std::vector<std::string> shares;
  for (const RooflinePoint& point : points) {
    const double roof = std::min(dense, copy * point.work.intensity());
    shares.push_back(fmt::format("{} {}", engine::stage_name(point.stage),
                                 percent_text(point.flop_per_s() / roof)));
  }
  return fmt::format("Of what this run's own copy ({}) and dense product ({}) allow: {}.",
                     byte_rate_text(copy), flop_rate(dense).text(), fmt::join(shares, ", "));
}

std::vector<std::string> roof_sentences(const RecordedRun& run) {
  std::vector<std::string> sentences;
  for (const OperationPoint& point : operation_points(run.result, run.activity)) {
    sentences.push_back(roof_sentence(run.result, point));
  }
  return sentences;
}

}  // namespace profiling
