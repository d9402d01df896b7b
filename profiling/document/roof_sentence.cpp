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
  return engine::operation_or_stage(result.effective.step, stage, writes);
}

bool is_product(engine::Stage stage) {
  return stage == engine::Stage::Fprop || stage == engine::Stage::Dgrad ||
         stage == engine::Stage::Wgrad;
}

double achieved_rate(const OperationPoint& point) {
  return is_product(point.stage) ? point.flop_per_s() : point.bytes_per_s();
}

/// The fastest product that was measured: the run's dense product, or one of the run's own where
/// the dense one was measured slower and is no roof. 0 = no dense product was measured.
struct FastestProduct {
  double flop_per_s = 0.0;
  const OperationPoint* own = nullptr;  // null = the dense product
};

FastestProduct fastest_product(const engine::Ceilings& ceilings,
                               std::span<const OperationPoint> points) {
  FastestProduct fastest{ceilings.product_flop_per_s, nullptr};
  if (fastest.flop_per_s <= 0.0) return fastest;
  for (const OperationPoint& point : points) {
    if (is_product(point.stage) && point.flop_per_s() > fastest.flop_per_s) {
      fastest = {point.flop_per_s(), &point};
    }
  }
  return fastest;
}

/// The lower of the measured bounds at the operation's intensity, as a rate of what it is rated by.
struct MeasuredRoof {
  double rate = 0.0;  // FLOP/s of products, bytes/s of the rest; 0 = not measured
  bool memory = false;
  const OperationPoint* own = nullptr;  // the run's own product that is this roof
};

MeasuredRoof roof_of(const engine::Ceilings& ceilings, std::span<const OperationPoint> points,
                     const OperationPoint& point) {
  const double copy = ceilings.copy_bytes_per_s;
  if (!is_product(point.stage)) return {copy, true};
  const FastestProduct fastest = fastest_product(ceilings, points);
  const double at_intensity = copy * point.work.intensity();
  // Without the product's rate it is not known which of the two is lower.
  const bool both = copy > 0.0 && fastest.flop_per_s > 0.0;
  if (both && at_intensity < fastest.flop_per_s) return {at_intensity, true};
  return {fastest.flop_per_s, false, fastest.own};
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

/// "64.9 % of the data sheet's 1979 TFLOP/s"; empty where that is not known.
std::string part_of_data_sheet(const engine::RunResult& result, double flop_per_s) {
  const auto nominal = nominal_peaks(result);
  if (!nominal || nominal->flop_per_s() <= 0.0) return {};
  return fmt::format("{} of the data sheet's {}", percent_text(flop_per_s / nominal->flop_per_s()),
                     flop_rate(nominal->flop_per_s()).text());
}

/// Near the fastest product: what limits that one was not measured either, only how far it is from
/// the data sheet.
std::string near_product_words(const engine::RunResult& result, const MeasuredRoof& roof) {
  const std::string sheet = part_of_data_sheet(result, roof.rate);
  return "near the fastest product that was measured here" +
         (sheet.empty() ? std::string() : ", which reaches " + sheet);
}

/// A product that is faster than all others, the dense one included.
std::string fastest_words(const engine::RunResult& result, double achieved) {
  const double dense = result.measurements.ceilings.product_flop_per_s;
  const std::string sheet = part_of_data_sheet(result, achieved);
  return fmt::format(
      "{} of {} (this run's dense product): that one was measured too low to be a roof; this is "
      "the fastest product that was measured here{}",
      percent_text(achieved / dense), flop_rate(dense).text(),
      sheet.empty() ? std::string() : ", at " + sheet);
}

std::string limit_words(const engine::RunResult& result, const OperationPoint& point,
                        const MeasuredRoof& roof, double share) {
  const bool device = engine::traits_of(result.effective.backend).device;
  if (share > 1.0 && roof.memory) return above_copy_words(result, point);
  if (share >= kNearRoof) {
    return roof.memory ? "memory limits it" : near_product_words(result, roof);
  }
  if (share >= kFarFromRoof) {
    return "neither near its roof nor far from it, and what takes the rest was not measured";
  }
  const double launch_ns = point.median_ns / std::max(point.launches, 1.0);
  if (device && launch_ns < kShortLaunchNs) {
    return fmt::format(
        "far from its roof, and each of its kernels takes only {}: launch and latency may limit it",
        duration_text(launch_ns));
  }
  return "far from its roof, and what limits it was not measured";
}

/// Null if no work is counted for it.
const OperationPoint* point_of(std::span<const OperationPoint> points, engine::Stage stage,
                               engine::WrittenValue writes) {
  const auto found = std::ranges::find_if(points, [&](const OperationPoint& one) {
    return one.stage == stage && one.writes == writes;
  });
  return found == points.end() ? nullptr : &*found;
}

std::string roof_name(const engine::RunResult& result, const MeasuredRoof& roof,
                      const OperationPoint& point) {
  if (roof.own != nullptr) {
    return fmt::format(
        "{}, the fastest here; this run's dense product was measured too low to be a roof",
        name_of(result, roof.own->stage, roof.own->writes));
  }
  if (!roof.memory) return "this run's dense product";
  return is_product(point.stage)
             ? fmt::format("this run's copy at {:.3g} FLOP/byte", point.work.intensity())
             : "this run's copy";
}

}  // namespace

std::string roof_words(const engine::RunResult& result, std::span<const OperationPoint> points,
                       engine::Stage stage, engine::WrittenValue writes) {
  const OperationPoint* const point = point_of(points, stage, writes);
  if (point == nullptr) return {};
  const MeasuredRoof roof = roof_of(result.measurements.ceilings, points, *point);
  if (roof.rate <= 0.0) return {};
  return fmt::format("{}, {:.0f} %", roof.memory ? "memory" : "product",
                     100.0 * achieved_rate(*point) / roof.rate);
}

std::string roof_sentence(const engine::RunResult& result, std::span<const OperationPoint> points,
                          const OperationPoint& point) {
  const bool product = is_product(point.stage);
  const auto rate_text = [product](double rate) {
    return product ? flop_rate(rate).text() : byte_rate_text(rate);
  };
  const double achieved = achieved_rate(point);
  std::string text = fmt::format("{} achieves {}{}", name_of(result, point.stage, point.writes),
                                 rate_text(achieved), point.emulated ? " (emulated)" : "");
  const MeasuredRoof roof = roof_of(result.measurements.ceilings, points, point);
  if (roof.rate <= 0.0) {
    text += "; this run measured no roof for it, so what limits it is not known";
  } else if (roof.own != nullptr && achieved >= roof.rate) {
    text += ", " + fastest_words(result, achieved);
  } else {
    const double share = achieved / roof.rate;
    text += fmt::format(", {} of {} ({}): {}", percent_text(share), rate_text(roof.rate),
                        roof_name(result, roof, point), limit_words(result, point, roof, share));
  }
  if (point.emulated) text += "; its operands are dequantized, so this is no rate of their format";
  return text + ".";
}

std::string roof_sentence(const engine::RunResult& result, std::span<const OperationPoint> points,
                          engine::Stage stage, engine::WrittenValue writes) {
  if (const OperationPoint* const point = point_of(points, stage, writes)) {
    return roof_sentence(result, points, *point);
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
  bool too_low = false;
  for (const RooflinePoint& point : points) {
    const double roof = std::min(dense, copy * point.work.intensity());
    too_low = too_low || (is_product(point.stage) && point.flop_per_s() > dense);
    shares.push_back(fmt::format("{} {}", engine::stage_name(point.stage),
                                 percent_text(point.flop_per_s() / roof)));
  }
  return fmt::format("Of what this run's own copy ({}) and dense product ({}) allow: {}.{}",
                     byte_rate_text(copy), flop_rate(dense).text(), fmt::join(shares, ", "),
                     too_low ? " The dense product was measured too low to be a roof." : "");
}

std::vector<std::string> roof_sentences(const RecordedRun& run) {
  std::vector<std::string> sentences;
  const std::vector<OperationPoint> points = operation_points(run.result, run.activity);
  for (const OperationPoint& point : points) {
    sentences.push_back(roof_sentence(run.result, points, point));
  }
  return sentences;
}

}  // namespace profiling
