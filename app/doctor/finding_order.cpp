#include "app/doctor/finding_order.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace app {
namespace {

using profiling::Confidence;
using profiling::Finding;

int rank(Confidence confidence) {
  switch (confidence) {
    case Confidence::Proved:
      return 0;
    case Confidence::Likely:
      return 1;
    case Confidence::Possible:
      return 2;
    case Confidence::Disproved:
      break;
  }
  return 3;
}

}  // namespace

void order_by_certainty(profiling::DoctorReport& report) {
  std::vector<Finding>& findings = report.findings;
  std::vector<std::size_t> order(findings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rank(findings[i].confidence); });
  std::vector<Finding> sorted;
  std::vector<int> place(findings.size());
  for (const std::size_t i : order) {
    place[i] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(findings[i]));
  }
  findings = std::move(sorted);
  for (profiling::ExperimentRecord& record : report.experiments) {
    if (record.finding >= 0) record.finding = place[static_cast<std::size_t>(record.finding)];
  }
}

}  // namespace app
