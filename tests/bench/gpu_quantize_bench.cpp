// The suite of `expertscope bench` without a worker, for work on a kernel and for tools that want
// one process: one JSON object a row.
//   gpu_quantize_bench [SECONDS [SHAPE...]]     seconds for each shape, default 2; shapes as
//   32x32768x7168 or 8x4096x2048:one-hot, default those of kernels/README.md
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "engine/bench/quantize_bench.h"

namespace {

int fail(const engine::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 2;
}

engine::Status print(const std::vector<engine::MeasuredRow>& rows) {
  for (const auto& [row, spans] : rows) {
    std::printf(
        "{\"shape\": \"%s\", \"kernel\": \"%s\", \"median_us\": %.2f, \"p5_us\": %.2f, \"p95_us\": "
        "%.2f, \"n\": %d, \"gb_per_s\": %.0f, \"of_copy\": %.3f}\n",
        engine::bench_shape_text(row.shape).c_str(), row.kernel.c_str(), row.median_us, row.p5_us,
        row.p95_us, row.samples, row.bytes / row.median_us / 1e3, row.of_copy);
  }
  std::fflush(stdout);
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  engine::BenchOrder order;
  if (count > 1) order.seconds = std::atof(arguments[1]);
  for (int i = 2; i < count; ++i) {
    const engine::Result<engine::BenchShape> shape = engine::parse_bench_shape(arguments[i]);
    if (!shape.ok()) return fail(shape.error());
    order.shapes.push_back(shape.value());
  }
  if (const engine::Status limits = engine::validate(order); !limits.ok()) {
    return fail(limits.error());
  }
  const auto target = engine::make_cuda_bench_target();
  if (!target.ok()) return fail(target.error());
  engine::RunProgress progress;
  const engine::Status done = engine::run_quantize_bench(*target.value(), order, progress, print);
  return done.ok() ? 0 : fail(done.error());
}
