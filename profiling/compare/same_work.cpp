#include "profiling/compare/same_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "engine/model/leaves.h"
#include "engine/model/projections.h"

namespace profiling {
namespace {

/// Fields of the effective request, named as on the command line.
constexpr std::array<std::string_view, 9> kWork = {
    "step",   "shape.num_experts", "shape.rows",         "shape.n",         "shape.k",
    "layers", "products.passes",   "expert_layer.top_k", "launch.in_flight"};

/// What the products of two runs must share, beside their tensors.
constexpr std::array<std::string_view, 6> kProduct = {
    "step", "shape.num_experts", "shape.rows", "shape.n", "shape.k", "expert_layer.top_k"};

/// Mean rows of recorded steps depend on how often each was visited, if only by a little.
constexpr double kSameRows = 0.01;

double rows_per_step(const engine::RunResult& result) {
  return result.flop / engine::flop_of_row(result.effective);
}

/// In the order of kWork.
std::vector<std::string> work_texts(const RecordedRun& run) {
  const engine::LeafTexts leaves = engine::leaf_texts(run.result.effective);
  std::vector<std::string> texts;
  for (const std::string_view path : kWork) {
    const auto found = leaves.find(std::string(path));
    texts.push_back(found == leaves.end() ? "absent" : found->second);
  }
  return texts;
}

std::vector<std::string> different_work(const RecordedRun& a, const RecordedRun& b) {
  const std::vector<std::string> of_a = work_texts(a);
  const std::vector<std::string> of_b = work_texts(b);
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < kWork.size(); ++i) {
    if (of_a[i] == of_b[i]) continue;
    differences.push_back(fmt::format("{} {} and {}", kWork[i], of_a[i], of_b[i]));
  }
  const double rows_a = rows_per_step(a.result);
  const double rows_b = rows_per_step(b.result);
  if (differences.empty() && rows_a > 0.0 && rows_b > 0.0 &&
      std::abs(rows_b / rows_a - 1.0) > kSameRows) {
    differences.push_back(fmt::format("{:.0f} and {:.0f} rows in a mean step", rows_a, rows_b));
  }
  // Whatever else it follows from: an activation of two halves needs fewer columns of A.
  const double flop_a = a.result.flop;
  const double flop_b = b.result.flop;
  if (differences.empty() && flop_a > 0.0 && flop_b > 0.0 &&
      std::abs(flop_b / flop_a - 1.0) > kSameRows) {
    differences.push_back(fmt::format("{:.4g} and {:.4g} FLOP in a mean step", flop_a, flop_b));
  }
  return differences;
}

}  // namespace

std::string work_text(const RecordedRun& run) {
  return fmt::format("{}", fmt::join(work_texts(run), " "));
}

WorkDifference work_difference(const RecordedRun& a, const RecordedRun& b) {
  const std::vector<std::string> work = different_work(a, b);
  const std::string& device_a = a.result.device.name;
  const std::string& device_b = b.result.device.name;
  WorkDifference difference{.work = !work.empty(), .sentence = {}};
  if (difference.work) {
    difference.sentence = fmt::format("A and B do different work: {}.", fmt::join(work, ", "));
  }
  if (device_a != device_b) {
    difference.sentence += fmt::format("{}A ran on {} and B on {}.", difference.work ? " " : "",
                                       device_a.empty() ? "an unknown device" : device_a,
                                       device_b.empty() ? "an unknown device" : device_b);
  }
  if (!difference.sentence.empty()) {
    difference.sentence +=
        " Their times give no verdict on a setting: choose runs of the same work on one device.";
  }
  return difference;
}

std::string product_difference(const RecordedRun& a, const RecordedRun& b,
                               engine::Product product) {
  const engine::LeafTexts of_a = engine::leaf_texts(a.result.effective);
  const engine::LeafTexts of_b = engine::leaf_texts(b.result.effective);
  const bool layer = engine::is_expert_layer(a.result.effective);
  const auto is_multiplied = [&](std::string_view path) {
    if (std::ranges::find(kProduct, path) != kProduct.end()) return true;
    if (path.starts_with("activations.") || path.starts_with("weights.")) return true;
    if (path.starts_with("expert_layer.down_weights.")) return layer;
    return path.starts_with("products.gradients.") && product != engine::Product::Fprop;
  };
  std::vector<std::string> differences;
  const auto note = [&](const std::string& path) {
    if (!is_multiplied(path)) return;
    const auto text = [&](const engine::LeafTexts& leaves) {
      const auto found = leaves.find(path);
      return found == leaves.end() ? std::string("absent") : found->second;
    };
    if (text(of_a) != text(of_b)) {
      differences.push_back(fmt::format("{} {} and {}", path, text(of_a), text(of_b)));
    }
  };
  for (const auto& [path, text] : of_a) note(path);
  for (const auto& [path, text] : of_b) {
    if (!of_a.contains(path)) note(path);
  }
  if (differences.empty()) return {};
  return fmt::format(
      "A and B multiply other tensors: {}. The difference of their SNRs would be that of the "
      "tensors: choose runs of the same shapes and tensors.",
      fmt::join(differences, ", "));
}

}  // namespace profiling
