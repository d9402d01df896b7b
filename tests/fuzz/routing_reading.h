// What every target does with a file that may be a recording of routing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "engine/input/recorded_routing.h"
#include "engine/input/routing.h"
#include "tests/fuzz/fuzz_target.h"

namespace fuzz {

/// A byte can be a step of 256 experts: kMaxRecordedSplits of them, a few times.
inline constexpr std::size_t kRoutingMemory = std::size_t{64} << 20;

inline void check_recording(const engine::RoutingSpec& spec, const engine::RoutingFacts& facts) {
  require(facts.experts >= 1 && facts.experts <= engine::kMaxExperts, "experts are within limits");
  require(facts.steps >= 1 && facts.steps <= engine::kMaxRecordedSteps, "steps are within limits");
  engine::RunRequest request;
  request.routing = spec;
  request = engine::fitted_to_routing(request, facts);
  const auto routing = engine::resolve_routing(request);
  if (!accepted(routing)) return;
  const auto all = routing.value().splits_of_steps();
  require(static_cast<int>(all.size()) == facts.steps, "as many steps as were told of");
  std::int64_t largest = 0;
  for (const auto& splits : all) {
    require(static_cast<int>(splits.size()) == facts.experts, "a split for every expert");
    std::int64_t sum = 0;
    for (const std::int64_t rows : splits) {
      require(rows >= 0, "no negative split");
      sum += rows;
    }
    largest = std::max(largest, sum);
  }
  require(largest == facts.largest_step, "the largest step is as large as was told");
}

/// Read in every way that a request can ask for.
inline void read_routing(const std::string& path) {
  for (const auto& [value, name] : engine::kType<engine::RoutingNumbers>.names) {
    for (const std::int64_t tokens : {0, 1}) {
      engine::RoutingSpec spec;
      spec.distribution = engine::RoutingDistribution::File;
      spec.path = path;
      spec.numbers = static_cast<engine::RoutingNumbers>(value);
      spec.tokens_per_step = tokens;
      const auto facts = engine::inspect_routing(spec);
      if (accepted(facts)) check_recording(spec, facts.value());
      spec.layer = 1;
      spec.steps = 1;
      static_cast<void>(accepted(engine::inspect_routing(spec)));
    }
  }
}

}  // namespace fuzz
