#include "profiling/document/work_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_set>

#include "engine/program/operation_words.h"
#include "profiling/hazards/model/kernel_name.h"

namespace profiling {
namespace {

/// "routing map" of "routing_map_kernel(...)". A library's name keeps its
/// underscores: they are no words.
std::string kernel_words(std::string_view kernel) {
  std::string words = short_kernel_name(kernel);
  const std::size_t end = std::min(words.find('<'), words.size());
  const std::string_view name = std::string_view(words).substr(0, end);
  if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos) {
    std::replace(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(end), '_', ' ');
  }
  return words;
}

}  // namespace

void WorkLabels::add(std::string_view operation, std::string_view kernel) {
  if (operation.empty() || work_label(operation, kernel) != operation) return;
  const auto found = kernels_.find(operation);
  auto& kernels = found != kernels_.end() ? found->second : kernels_[std::string(operation)];
  kernels.insert(short_kernel_name(kernel));
}

std::string WorkLabels::label(std::string_view operation, std::string_view kernel) const {
  std::string label = work_label(operation, kernel);
  if (label != operation) return label;
  const auto found = kernels_.find(operation);
  if (found == kernels_.end() || found->second.size() < 2) return label;
  const std::string words = kernel_words(kernel);
  return operation.starts_with(words) ? label : fmt::format("{} ({})", label, words);
}

std::vector<std::string> labels_of(const std::vector<NamedWork>& list) {
  WorkLabels labels;
  for (const NamedWork& work : list) labels.add(work.operation, work.kernel);
  std::vector<std::string> result;
  for (const NamedWork& work : list) result.push_back(labels.label(work.operation, work.kernel));
  return result;
}

WorkLabels work_labels(const Activity& activity, engine::StepKind step) {
  engine::OperationNames operations(step);
  WorkLabels labels;
  std::unordered_set<std::uint64_t> seen;
  std::uint64_t last = ~std::uint64_t{0};
  for (const ActivityRecord& record : activity.records) {
    const std::uint64_t key = std::uint64_t{record.name} << 32 |
                              static_cast<std::uint64_t>(record.stage) << 16 |
                              static_cast<std::uint64_t>(record.writes);
    if (key == last || !seen.insert(last = key).second) continue;
    if (record.name >= activity.names.size()) continue;
    labels.add(operations.of(record.stage, record.writes), activity.names[record.name]);
  }
  return labels;
}

}  // namespace profiling
