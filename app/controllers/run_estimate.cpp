#include "app/controllers/run_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include "engine/gemm/support.h"
#include "engine/model/backend_traits.h"
#include "engine/model/count_text.h"
#include "engine/model/median_interval.h"
#include "engine/model/projections.h"
#include "engine/program/explain.h"
#include "profiling/document/quantity.h"

namespace app {
namespace {

// Guesses: the question says that nothing was measured yet, and the first run here replaces them.
// Their proportions stay; those of the CPU were fitted to runs on two cores, from 8 experts of 256
// x 256 to 4 of 28 672 x 4 096, those of devices to runs on an H200.
constexpr RunCost kCpuCost = {
    .flop_per_s = 60e9, .bytes_per_s = 5e9, .seconds_per_element = 10.5e-9, .seconds_around = 0.01};
constexpr RunCost kDeviceCost = {
    .flop_per_s = 50e12, .bytes_per_s = 1e12, .seconds_per_element = 1.4e-9, .seconds_around = 0.4};
// Reference products beside the steps, in steps.
constexpr double kReferenceSteps = 2.0;
// At this length, a measurement and the guess count equally.
constexpr double kTooShortToTell_s = 0.05;

constexpr int kFewestIterations = 3;
constexpr std::int64_t kFewestRowsPerExpert = 16;
constexpr int kFewestExperts = 2;

struct RunWork {
  engine::OperationWork step;
  double elements = 0.0;  // of all operands
};

RunWork work_of(const engine::RunRequest& requested) {
  const engine::RunRequest request = engine::forced_settings(requested).effective;
  const auto experts = static_cast<std::size_t>(std::max(request.shape.num_experts, 1));
  const std::vector<std::int64_t> splits(experts,
                                         request.shape.rows / static_cast<std::int64_t>(experts));
  RunWork work;
  for (const engine::ExplainedOperation& one :
       engine::explain(engine::program_of(request), {.splits = splits})) {
    if (one.graph.empty()) continue;  // before the first step
    work.step.flop += one.work.flop;
    work.step.read_bytes += one.work.read_bytes;
    work.step.written_bytes += one.work.written_bytes;
  }
  for (const engine::StepPart& part : engine::step_parts(request)) {
    const engine::ShapeSpec& shape = part.request.shape;
    const auto rows = static_cast<double>(shape.rows);
    const auto n = static_cast<double>(shape.n);
    const auto k = static_cast<double>(shape.k);
    work.elements += rows * (n + k) + shape.num_experts * n * k;
  }
  work.elements *= std::max(request.layers, 1);
  return work;
}

double cost_of_step(const RunWork& work, const RunCost& cost) {
  return work.step.flop / cost.flop_per_s + work.step.bytes() / cost.bytes_per_s;
}

double cost_around(const RunWork& work, double step_seconds, const RunCost& cost) {
  return cost.seconds_around + work.elements * cost.seconds_per_element +
         kReferenceSteps * step_seconds;
}

/// The ratio of what was measured to what was expected; the shorter the measurement, the nearer 1.
double factor_of(double measured_s, double ratio) {
  return ratio <= 0.0 ? 1.0 : std::pow(ratio, measured_s / (measured_s + kTooShortToTell_s));
}

double step_seconds(const RunWork& work, const WorkRate& rate) {
  double seconds = rate.step_factor * cost_of_step(work, rate.cost);
  if (rate.most_flop_per_s > 0.0)
    seconds = std::max(seconds, work.step.flop / rate.most_flop_per_s);
  if (rate.most_bytes_per_s > 0.0) {
    seconds = std::max(seconds, work.step.bytes() / rate.most_bytes_per_s);
  }
  return seconds;
}

/// Sizes that come from files are theirs.
bool sizes_are_free(const engine::RunRequest& request) {
  const auto file = [](const engine::InputSpec& one) {
    return std::holds_alternative<engine::FileInput>(one);
  };
  return request.routing.distribution != engine::RoutingDistribution::File &&
         !file(request.activations) && !file(request.weights) &&
         !file(request.products.gradients) && !file(request.expert_layer.down_weights);
}

/// As many iterations as take kShortRun_s, but not fewer than a run needs, nor more than it has.
int fitting_iterations(const engine::RunRequest& request, const WorkRate& rate) {
  const RunWork work = work_of(request);
  const double step = step_seconds(work, rate);
  const double around = rate.around_factor * cost_around(work, step, rate.cost);
  const double most = request.launch.iterations;
  const double fewest = std::min(most, static_cast<double>(kFewestIterations));
  return static_cast<int>(
      step > 0.0 ? std::clamp(std::floor((kShortRun_s - around) / step), fewest, most) : most);
}

/// The request with half of its rows or experts; unchanged with the reason if it has no fewer.
ShrunkRun of_half_size(const engine::RunRequest& request) {
  if (!sizes_are_free(request)) return {request, "no less: its sizes come from files"};
  engine::RunRequest next = request;
  next.shape.preset.clear();
  const int top_k = engine::is_expert_layer(next) ? std::max(next.expert_layer.top_k, 1) : 1;
  const std::int64_t unit = kFewestRowsPerExpert * top_k;
  const auto halved = [&](std::int64_t rows) { return std::max(rows / 2 / unit * unit, unit); };
  if (next.shape.rows / 2 >= kFewestRowsPerExpert * next.shape.num_experts) {
    next.shape.rows = halved(next.shape.rows);
  } else if (next.shape.num_experts / 2 >= std::max(kFewestExperts, top_k)) {
    next.shape.num_experts /= 2;
    next.shape.rows = halved(next.shape.rows);
  } else if (top_k > kFewestExperts) {
    return {request, fmt::format("no fewer with {} experts per token", top_k)};
  } else {
    return {request, fmt::format("no less with n {} and k {}", next.shape.n, next.shape.k)};
  }
  if (const engine::Status valid = engine::validate(next); !valid.ok()) {
    return {request, fmt::format("no less: {}", valid.error().message)};
  }
  return {std::move(next), {}};
}

}  // namespace

WorkRate work_rate(const std::vector<std::shared_ptr<const profiling::RecordedRun>>& runs,
                   engine::GemmBackend backend, const std::string& device) {
  const bool on_device = engine::traits_of(backend).device;
  WorkRate rate{.cost = on_device ? kDeviceCost : kCpuCost,
                .source = "nothing was measured here yet"};
  bool measured = false;
  for (auto at = runs.rbegin(); at != runs.rend(); ++at) {
    const engine::RunResult& result = (*at)->result;
    if (result.device.name != device ||
        engine::traits_of(result.effective.backend).device != on_device) {
      continue;
    }
    const engine::Ceilings& ceilings = result.measurements.ceilings;
    if (rate.most_flop_per_s <= 0.0) rate.most_flop_per_s = ceilings.product_flop_per_s;
    if (rate.most_bytes_per_s <= 0.0) rate.most_bytes_per_s = ceilings.copy_bytes_per_s;
    if (measured || result.iterations.empty()) continue;
    std::vector<std::int64_t> times;
    double sum_ns = 0.0;
    for (const engine::Iteration& one : result.iterations) {
      times.push_back(one.duration_ns);
      sum_ns += static_cast<double>(one.duration_ns);
    }
    const double step = engine::median_of(times) * 1e-9;
    const RunWork work = work_of(result.effective);
    const double expected = cost_of_step(work, rate.cost);
    if (step <= 0.0 || expected <= 0.0) continue;
    measured = true;
    rate.step_factor = factor_of(sum_ns * 1e-9, step / expected);
    const double around = std::max(static_cast<double>(result.wall_ns) - sum_ns, 0.0) * 1e-9;
    rate.around_factor = factor_of(around, around / cost_around(work, step, rate.cost));
    const engine::ShapeSpec& shape = result.effective.shape;
    rate.source =
        fmt::format("scaled from the newest run here: {} experts, {} rows, n {}, k {}, {}",
                    shape.num_experts, engine::count_text(static_cast<std::uint64_t>(shape.rows)),
                    shape.n, shape.k, profiling::flop_rate(work.step.flop / step).text());
  }
  return rate;
}

double estimated_seconds(const engine::RunRequest& request, const WorkRate& rate) {
  const RunWork work = work_of(request);
  const double step = step_seconds(work, rate);
  return step * request.launch.iterations + rate.around_factor * cost_around(work, step, rate.cost);
}

ShrunkRun shrunk_to_fit(engine::RunRequest request, const WorkRate& rate) {
  // Each turn halves the rows or the experts, or is the last.
  while (true) {
    request.launch.iterations = fitting_iterations(request, rate);
    constexpr double kRounding = 1 + 1e-9;
    if (estimated_seconds(request, rate) <= kRounding * kShortRun_s)
      return {std::move(request), {}};
    ShrunkRun half = of_half_size(request);
    if (!half.limit.empty()) return half;
    request = std::move(half.request);
  }
}

std::string about(double seconds) {
  constexpr double kMinute = 60.0;
  constexpr double kHour = 3600.0;
  if (seconds < 2 * kMinute) return fmt::format("about {:.0f} s", std::ceil(seconds));
  if (seconds < 2 * kHour) return fmt::format("about {:.0f} min", seconds / kMinute);
  return fmt::format("about {:.0f} h", seconds / kHour);
}

std::optional<LongRun> long_run(
    const engine::RunRequest& requested, const OfferOf& offers,
    const std::vector<std::shared_ptr<const profiling::RecordedRun>>& runs) {
  // What the worker will run: without a device, a recorded request for one runs on its CPU.
  engine::RunRequest request = requested;
  if (cpu_replaces_device(request, offers)) request.backend = engine::GemmBackend::CpuReference;
  const BackendOffer* const offer = offers(request.backend);
  if (offer == nullptr || !offer->available) return std::nullopt;
  const WorkRate rate = work_rate(runs, request.backend, offer->device.name);
  const double seconds = estimated_seconds(request, rate);
  if (seconds <= kLongRun_s) return std::nullopt;
  ShrunkRun shrunk = shrunk_to_fit(request, rate);
  const double shrunk_seconds = estimated_seconds(shrunk.request, rate);
  shrunk.request.backend = requested.backend;
  return LongRun{.request = requested,
                 .shrunk = std::move(shrunk.request),
                 .limit = std::move(shrunk.limit),
                 .seconds = seconds,
                 .shrunk_seconds = shrunk_seconds,
                 .step_seconds = step_seconds(work_of(request), rate),
                 .source = rate.source};
}

std::string LongRun::words() const {
  return fmt::format("takes {} here ({})", about(seconds), source);
}

std::string LongRun::shrunk_words() const {
  const engine::ShapeSpec& shape = shrunk.shape;
  return fmt::format("{} experts, {} rows, {} iterations: {}{}", shape.num_experts,
                     engine::count_text(static_cast<std::uint64_t>(shape.rows)),
                     shrunk.launch.iterations, about(shrunk_seconds),
                     limit.empty() ? limit : ", " + limit);
}

}  // namespace app
