// Splits from a distribution: integer shares, then largest remainders, so that the sum is exact and
// the result is the same on every machine.
#include "engine/input/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/input/recorded_routing.h"
#include "engine/input/synthetic.h"
#include "engine/model/path_text.h"
#include "engine/model/projections.h"

namespace engine {

namespace {

/// Shares as integers: pow() may differ in the last bit between libm versions, the rounded share
/// does not.
constexpr double kShareUnit = 0x1p32;

std::uint64_t power_share(int expert, double exponent) {
  return static_cast<std::uint64_t>(std::llround(kShareUnit * std::pow(expert + 1, -exponent)));
}

std::uint64_t mild_share(int expert, std::uint64_t seed) {
  const std::uint64_t draw = mix64(mix64(seed ^ 0x524FU) ^ static_cast<std::uint64_t>(expert));
  const double unit = static_cast<double>(draw >> 11) * 0x1p-53;
  return static_cast<std::uint64_t>(std::llround(kShareUnit * (0.8 + 0.4 * unit)));
}

std::uint64_t share(RoutingDistribution distribution, int expert, std::uint64_t seed) {
  constexpr auto kOne = static_cast<std::uint64_t>(kShareUnit);
  switch (distribution) {
    case RoutingDistribution::Mild:
      return mild_share(expert, seed);
    case RoutingDistribution::Zipf:
      return power_share(expert, 0.7);
    case RoutingDistribution::Heavy:
      return power_share(expert, 1.5);
    case RoutingDistribution::OneHot:
      return expert == 0 ? kOne : 0;
    case RoutingDistribution::HalfEmpty:
      return expert % 2 == 0 ? kOne : 0;
    case RoutingDistribution::Uniform:
    case RoutingDistribution::File:
      break;
  }
  return kOne;
}

/// Distributes `units` over the shares; ties go to the lower expert, a share of 0 gets nothing.
std::vector<std::int64_t> apportion(std::int64_t units, const std::vector<std::uint64_t>& shares) {
  const std::uint64_t total = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
  std::vector<std::int64_t> parts(shares.size());
  std::vector<std::uint64_t> remainders(shares.size());
  std::int64_t left = units;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    // shares < 2^33 and units <= 2^24: the product fits.
    const std::uint64_t scaled = static_cast<std::uint64_t>(units) * shares[i];
    parts[i] = static_cast<std::int64_t>(scaled / total);
    remainders[i] = scaled % total;
    left -= parts[i];
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) ++parts[order[i]];
  return parts;
}

/// Every split is a multiple of the alignment but the last non-empty one, which takes the rest.
std::vector<std::int64_t> distribute(const RunRequest& request) {
  std::vector<std::uint64_t> shares(static_cast<std::size_t>(request.shape.num_experts));
  for (int expert = 0; expert < request.shape.num_experts; ++expert) {
    shares[static_cast<std::size_t>(expert)] =
        share(request.routing.distribution, expert, request.seed);
  }
  const std::int64_t alignment = request.routing.alignment;
  std::vector<std::int64_t> splits = apportion(request.shape.rows / alignment, shares);
  for (std::int64_t& split : splits) split *= alignment;
  const auto last = std::find_if(splits.rbegin(), splits.rend(), [](auto s) { return s > 0; });
  // Fewer rows than one aligned unit: the largest share takes them all.
  auto& rest = last != splits.rend()
                   ? *last
                   : splits[static_cast<std::size_t>(
                         std::max_element(shares.begin(), shares.end()) - shares.begin())];
  rest += request.shape.rows % alignment;
  return splits;
}

Status check_alignment(const RecordedStep& step, bool several, const RoutingSpec& routing) {
  const auto last = std::find_if(step.splits.rbegin(), step.splits.rend(),
                                 [](std::int64_t rows) { return rows > 0; });
  const auto end = step.splits.rend() - last - 1;  // the last one with rows may be any number
  for (std::ptrdiff_t expert = 0; expert < end; ++expert) {
    const std::int64_t rows = step.splits[static_cast<std::size_t>(expert)];
    if (rows % routing.alignment == 0) continue;
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{}: the split of expert {} is {}{}, not a multiple of the alignment {}; set "
                    "the alignment to 1 or correct the file",
                    shown_path(routing.path), expert, rows,
                    several ? fmt::format(" in step {}", step.step) : "", routing.alignment)};
  }
  return {};
}

/// One step is the routing itself, so all of X is routed; of several each may leave rows unused.
Status check_rows(const RoutingSteps& recorded, const RunRequest& request) {
  const std::int64_t rows = request.shape.rows;
  const auto refuse = [&](std::string why) {
    return Error{ErrorCode::InvalidArgument, shown_path(request.routing.path) + ": " + why};
  };
  // Where tokens are permuted, those whose choices were dropped leave rows unused.
  const bool permuted = is_expert_layer(request) && request.expert_layer.top_k > 0;
  if (recorded.steps.size() == 1 && !permuted) {
    const std::int64_t sum = recorded.steps.front().rows;
    // X and dY have the same rows; a file of either one fixes them.
    const bool rows_from_file = std::holds_alternative<FileInput>(request.activations) ||
                                std::holds_alternative<FileInput>(request.products.gradients);
    if (sum == rows) return {};
    return refuse(fmt::format("the splits sum to {} but the shape has {} rows; {}", sum, rows,
                              rows_from_file
                                  ? "the tensor has that many, so correct the splits"
                                  : fmt::format("set the rows to {} or correct the file", sum)));
  }
  const auto rows_of = [&](const RecordedStep& step) {
    return needed_rows(request, step.rows, step.rows + step.dropped);
  };
  const auto largest = std::ranges::max_element(recorded.steps, {}, rows_of);
  const std::int64_t needed = rows_of(*largest);
  if (needed <= rows) return {};
  return refuse(
      fmt::format("step {} {} {} rows but the shape has {}, which must be at least "
                  "those of the largest step: set the rows to {}",
                  largest->step, permuted ? "needs" : "has", needed, rows, needed));
}

Result<RoutingSteps> checked_steps(const RunRequest& request, bool with_choices) {
  ENGINE_ASSIGN(RoutingSteps recorded,
                read_recorded_routing(request.routing, request.shape.num_experts,
                                      {.with_choices = with_choices}));
  ENGINE_TRY(check_rows(recorded, request));
  const bool several = recorded.steps.size() > 1;
  for (const RecordedStep& step : recorded.steps) {
    ENGINE_TRY(check_alignment(step, several, request.routing));
  }
  return recorded;
}

}  // namespace

std::vector<std::vector<std::int64_t>> ResolvedRouting::splits_of_steps() const {
  if (!recorded) return {shape.splits};
  std::vector<std::vector<std::int64_t>> all;
  for (const RecordedStep& step : recorded->steps) all.push_back(step.splits);
  return all;
}

double mean_rows(std::span<const std::int64_t> splits,
                 const std::optional<RecordedRouting>& recorded, std::size_t iterations) {
  if (!recorded || iterations == 0) {
    return static_cast<double>(std::accumulate(splits.begin(), splits.end(), std::int64_t{0}));
  }
  double rows = 0.0;
  for (std::size_t i = 0; i < iterations; ++i) {
    rows += static_cast<double>(recorded->steps[i % recorded->steps.size()].rows);
  }
  return rows / static_cast<double>(iterations);
}

StepsToMeasure steps_to_measure(const MeasureOptions& measure, const RecordedRouting& recorded,
                                int iterations, int in_flight) {
  const auto all = static_cast<int>(recorded.steps.size());
  if (all == 1) return {0, "the run has one step, so the step has the numerics of the run"};
  const auto replayed =
      static_cast<int>(std::min(std::int64_t{all}, std::int64_t{iterations} * in_flight));
  const int steps = std::min(measure.recorded_steps, replayed);
  if (steps == 0) return {0, "not measured: measure.recorded_steps is 0"};
  if (steps == all) return {steps, fmt::format("measured for all {} steps", all)};
  return {steps, fmt::format("measured for the first {} of {} steps; {}", steps, all,
                             steps == replayed
                                 ? fmt::format("{} iterations{} reached no more", iterations,
                                               in_flight == 1
                                                   ? std::string()
                                                   : fmt::format(" of {} micro-batches", in_flight))
                                 : std::string("measure.recorded_steps sets this limit"))};
}

Result<ResolvedRouting> resolve_routing(const RunRequest& request) {
  ResolvedRouting routing{.shape = {.splits = {}, .n = request.shape.n, .k = request.shape.k},
                          .recorded = std::nullopt};
  if (request.routing.distribution != RoutingDistribution::File) {
    routing.shape.splits = distribute(request);
    ENGINE_ASSIGN(routing.tokens, make_token_routing(request, nullptr));
    return routing;
  }
  const bool permuted = is_expert_layer(request) && request.expert_layer.top_k > 0;
  ENGINE_ASSIGN(RoutingSteps recorded, checked_steps(request, permuted));
  ENGINE_ASSIGN(routing.tokens, make_token_routing(request, &recorded));
  routing.recorded = RecordedRouting{.source = std::move(recorded.source),
                                     .layers = recorded.layers,
                                     .file_steps = recorded.file_steps,
                                     .numerics = {},
                                     .steps = std::move(recorded.steps)};
  routing.shape.splits = routing.recorded->steps.front().splits;
  return routing;
}

Result<GroupedShape> resolve_shape(const RunRequest& request) {
  GroupedShape shape{.splits = {}, .n = request.shape.n, .k = request.shape.k};
  if (request.routing.distribution != RoutingDistribution::File) {
    shape.splits = distribute(request);
    return shape;
  }
  ENGINE_ASSIGN(RoutingSteps recorded, checked_steps(request, false));
  shape.splits = std::move(recorded.steps.front().splits);
  return shape;
}

Result<std::shared_ptr<const TokenRouting>> resolve_token_routing(const RunRequest& request) {
  ENGINE_ASSIGN(ResolvedRouting routing, resolve_routing(request));
  return std::move(routing.tokens);
}

int cycle_of(const LaunchMode& launch, std::size_t steps) {
  const auto all = static_cast<std::int64_t>(steps);
  if (std::int64_t{launch.iterations} * launch.in_flight < all) return 1;
  return static_cast<int>(all / std::gcd(all, std::int64_t{launch.in_flight}));
}

int whole_cycles(const LaunchMode& launch, std::size_t steps) {
  const int cycle = cycle_of(launch, steps);
  const int rounded = (launch.iterations + cycle - 1) / cycle * cycle;
  // A cycle has at most kMaxRecordedSteps, fewer than kMaxIterations.
  return rounded <= kMaxIterations ? rounded : kMaxIterations / cycle * cycle;
}

void visit_steps_equally(RunResult& result, std::size_t steps) {
  LaunchMode& launch = result.effective.launch;
  const int iterations = whole_cycles(launch, steps);
  if (iterations == launch.iterations) return;
  result.deviations.push_back(
      {.field = "launch.iterations",
       .requested = std::to_string(launch.iterations),
       .effective = std::to_string(iterations),
       .reason = fmt::format("The routing file has {} steps: a whole number of cycles runs every "
                             "step equally often",
                             steps)});
  launch.iterations = iterations;
}

}  // namespace engine
