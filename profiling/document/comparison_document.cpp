// One operand with every recipe, or with some over steps.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/model/counted.h"
#include "profiling/document/channel_words.h"
#include "profiling/document/quantity.h"
#include "profiling/document/run_document.h"
#include "profiling/document/run_tables.h"

namespace profiling {

using engine::counted;

Document comparison_document(const RecordedComparison& recorded) {
  const engine::RecipeComparison& comparison = recorded.comparison;
  Document document;
  document.fact("device", device_text(comparison.device));
  if (const auto& series = comparison.request.series) {
    document.fact("operand", fmt::format("activations over {}", counted(series->steps, "step")));
    document.fact("outlier", series->outlier_step < 0
                                 ? std::string("none")
                                 : fmt::format("{:g} x the largest element of expert {} at step {}",
                                               series->outlier_factor, series->outlier_expert,
                                               series->outlier_step));
    document.table(series_summary_table(recorded));
    return document;
  }
  std::string operand = comparison.request.weights     ? "weights of layer 0"
                        : comparison.request.gradients ? "gradients"
                                                       : "activations";
  // Every recipe that ran counts the same elements; one that was refused counts none.
  const auto ran = std::ranges::find_if(comparison.reports, &std::string::empty,
                                        &engine::QuantizationReport::refused);
  if (ran == comparison.reports.end()) {
    document.fact("operand", std::move(operand));
  } else {
    document.fact(
        "operand",
        fmt::format(
            "{}, {} elements{}", operand, count_text(ran->statistics.elements),
            comparison.request.only_sample ? ": those of the experts around a sample" : ""));
    if (const std::uint64_t undefined = ran->statistics.undefined; undefined > 0) {
      document.fact(
          "not finite",
          fmt::format(
              "{} of these elements {} NaN or infinite before quantization; every "
              "SNR leaves them out. An infinite one makes the amax of its block infinite, and "
              "the block's scale then does not fit the other elements: they saturate, "
              "underflow or are lost",
              count_text(undefined), undefined == 1 ? "is" : "are"));
    }
  }
  document.table(comparison_table(recorded));
  Table worst = worst_channels_table(comparison);
  // Recordings of former programs have none.
  if (!all_rows(worst).empty()) document.table(std::move(worst));
  return document;
}

}  // namespace profiling
