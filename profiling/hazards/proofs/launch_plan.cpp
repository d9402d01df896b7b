#include "profiling/hazards/proofs/launch_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace profiling {

std::vector<GraphLaunch> launches_of(const Subject& subject) {
  std::vector<GraphLaunch> launches = subject.launches();
  if (!launches.empty()) return launches;
  const int graphs = static_cast<int>(subject.graph_names().size());
  for (int g = 0; g < graphs; ++g) launches.push_back({.graph = g});
  return launches;
}

engine::Result<std::vector<PlannedLaunch>> plan_launches(const Subject& subject,
                                                         const Experiment& experiment) {
  const std::vector<GraphLaunch> own = launches_of(subject);
  const std::vector<GraphLaunch>& wanted = experiment.launches.empty() ? own : experiment.launches;
  // The n-th launch of a graph stays its n-th.
  std::vector<bool> planned(own.size(), false);
  std::vector<PlannedLaunch> plan;
  for (const GraphLaunch& launch : wanted) {
    std::size_t number = 0;
    while (number < own.size() && (planned[number] || own[number].graph != launch.graph)) ++number;
    if (number == own.size()) break;
    planned[number] = true;
    const int index = static_cast<int>(number);
    plan.push_back({.captured = experiment.captured_per_launch ? index : launch.graph,
                    .number = index,
                    .overlaps = launch.overlaps});
  }
  if (plan.size() == own.size() && plan.size() == wanted.size()) return plan;
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format("The experiment has {} launches, not the step's {} in another order",
                  wanted.size(), own.size())};
}

engine::Status enqueue_step(Subject& subject, cudaStream_t stream, engine::StepObserver& observer) {
  const std::vector<GraphLaunch> launches = launches_of(subject);
  for (int number = 0; number < static_cast<int>(launches.size()); ++number) {
    ENGINE_TRY(subject.before_launch(number, stream));
    ENGINE_TRY(subject.enqueue(launches[static_cast<std::size_t>(number)].graph, stream, observer));
    ENGINE_TRY(subject.after_launch(number, stream));
  }
  return {};
}

}  // namespace profiling
