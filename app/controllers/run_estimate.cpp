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

namespace app {
namespace {

// Guesses: the question says that nothing was measured yet, and the first run here replaces them.
constexpr double kUnmeasuredCpuFlopPerS = 20e9;
constexpr double kUnmeasuredDeviceFlopPerS = 50e12;
// Operands are made and read, and statistics computed, around the steps.
constexpr double kUnmeasuredStepsAround = 10.0;

constexpr int kFewestIterations = 3;
constexpr std::int64_t kFewestRowsPerExpert = 16;
constexpr int kFewestExperts = 4;

engine::OperationWork step_work(const engine::RunRequest& requested) {
  const engine::RunRequest request = engine::forced_settings(requested).effective;
  const auto experts = static_cast<std::size_t>(std::max(request.shape.num_experts, 1));
  const std::vector<std::int64_t> splits(experts,
                                         request.shape.rows / static_cast<std::int64_t>(experts));
  engine::OperationWork sum;
  for (const engine::ExplainedOperation& one :
       engine::explain(engine::program_of(request), {.splits = splits})) {
    if (one.graph.empty()) continue;  // before the first step
    sum.flop += one.work.flop;
    sum.read_bytes += one.work.read_bytes;
    sum.written_bytes += one.work.written_bytes;
  }
  return sum;
}

double step_seconds(const engine::RunRequest& request, const WorkRate& rate) {
  const engine::OperationWork work = step_work(request);
  const double moving = rate.bytes_per_s > 0.0 ? work.bytes() / rate.bytes_per_s : 0.0;
  return std::max(work.flop / rate.flop_per_s, moving);
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

/// The next smaller request; the same if there is none.
engine::RunRequest smaller(const engine::RunRequest& request, double factor) {
  engine::RunRequest next = request;
  int& iterations = next.launch.iterations;
  if (iterations > kFewestIterations) {
    iterations = std::max(kFewestIterations, static_cast<int>(iterations * factor));
    return next;
  }
  if (!sizes_are_free(request)) return next;
  next.shape.preset.clear();
  const std::int64_t unit =
      kFewestRowsPerExpert *
      std::max(engine::is_expert_layer(next) ? next.expert_layer.top_k : 1, 1);
  const auto halved = [&](std::int64_t rows) { return std::max(rows / 2 / unit * unit, unit); };
  if (next.shape.rows / 2 >= kFewestRowsPerExpert * next.shape.num_experts) {
    next.shape.rows = halved(next.shape.rows);
  } else if (next.shape.num_experts / 2 >= std::max(kFewestExperts, next.expert_layer.top_k)) {
    next.shape.num_experts /= 2;
    next.shape.rows = halved(next.shape.rows);
  } else {
    return request;
  }
  return engine::validate(next).ok() ? next : request;
}

}  // namespace

WorkRate work_rate(const std::vector<std::shared_ptr<const profiling::RecordedRun>>& runs,
                   engine::GemmBackend backend, const std::string& device) {
  const bool on_device = engine::traits_of(backend).device;
  WorkRate rate{.flop_per_s = on_device ? kUnmeasuredDeviceFlopPerS : kUnmeasuredCpuFlopPerS,
                .bytes_per_s = 0.0,
                .steps_around = kUnmeasuredStepsAround,
                .source = "nothing was measured here yet"};
  double product = 0.0;
  double copy = 0.0;
  bool measured = false;
  for (auto at = runs.rbegin(); at != runs.rend(); ++at) {
    const engine::RunResult& result = (*at)->result;
    if (result.device.name != device ||
        engine::traits_of(result.effective.backend).device != on_device) {
      continue;
    }
    const engine::Ceilings& ceilings = result.measurements.ceilings;
    if (product <= 0.0) product = ceilings.product_flop_per_s;
    if (copy <= 0.0) copy = ceilings.copy_bytes_per_s;
    if (measured || result.iterations.empty()) continue;
    std::vector<std::int64_t> times;
    double sum_ns = 0.0;
    for (const engine::Iteration& one : result.iterations) {
      times.push_back(one.duration_ns);
      sum_ns += static_cast<double>(one.duration_ns);
    }
    const double step_ns = engine::median_of(times);
    if (step_ns <= 0.0) continue;
    measured = true;
    rate.flop_per_s = step_work(result.effective).flop / step_ns * 1e9;
    rate.steps_around = std::max(static_cast<double>(result.wall_ns) - sum_ns, 0.0) / step_ns;
    const engine::ShapeSpec& shape = result.effective.shape;
    rate.source = fmt::format(
        "scaled from the newest run here: {} experts, {} rows, n {}, k {}, {:.3g} GFLOP/s",
        shape.num_experts, engine::count_text(static_cast<std::uint64_t>(shape.rows)), shape.n,
        shape.k, rate.flop_per_s / 1e9);
  }
  if (product > 0.0) rate.flop_per_s = std::min(rate.flop_per_s, product);
  rate.bytes_per_s = copy;
  return rate;
}

double estimated_seconds(const engine::RunRequest& request, const WorkRate& rate) {
  return step_seconds(request, rate) * (request.launch.iterations + rate.steps_around);
}

engine::RunRequest shrunk_to_fit(engine::RunRequest request, const WorkRate& rate) {
  // Each turn at least halves a size, or is the last.
  while (true) {
    const double seconds = estimated_seconds(request, rate);
    if (seconds <= kShortRun_s) return request;
    engine::RunRequest next = smaller(request, kShortRun_s / seconds);
    if (next == request) return request;
    request = std::move(next);
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
    const engine::RunRequest& requested,
    const std::function<const BackendOffer*(engine::GemmBackend)>& offers,
    const std::vector<std::shared_ptr<const profiling::RecordedRun>>& runs) {
  // What the worker will run: without a device, a recorded request for one runs on its CPU.
  engine::RunRequest request = requested;
  const BackendOffer* offer = offers(request.backend);
  if (offer == nullptr || !offer->available) {
    request.backend = engine::GemmBackend::CpuReference;
    offer = offers(request.backend);
  }
  if (offer == nullptr) return std::nullopt;
  const WorkRate rate = work_rate(runs, request.backend, offer->device.name);
  const double seconds = estimated_seconds(request, rate);
  if (seconds <= kLongRun_s) return std::nullopt;
  engine::RunRequest shrunk = shrunk_to_fit(request, rate);
  const double shrunk_seconds = estimated_seconds(shrunk, rate);
  shrunk.backend = requested.backend;
  return LongRun{.request = requested,
                 .shrunk = std::move(shrunk),
                 .seconds = seconds,
                 .shrunk_seconds = shrunk_seconds,
                 .step_seconds = step_seconds(request, rate),
                 .source = rate.source};
}

std::string LongRun::words() const {
  return fmt::format("takes {} here ({})", about(seconds), source);
}

}  // namespace app
