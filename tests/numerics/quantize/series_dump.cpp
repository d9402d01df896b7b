// Steps delayed scaling and writes what it remembers as raw files next to the X of every step, so
// that an oracle in another language can reproduce it.
//   series_dump FOLDER FORMAT(e4m3|e5m2) ALGORITHM(max|recent) LENGTH MARGIN POW2 OUTLIER_STEP
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "engine/backend/cpu/recipe_series.h"
#include "engine/input/routing.h"
#include "engine/input/tensor_source.h"

namespace {

template <class T>
void write(const std::string& folder, const char* name, const std::vector<T>& values) {
  std::ofstream file(folder + "/" + name, std::ios::binary | std::ios::app);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
}

engine::ComparisonRequest request_of(char** argv) {
  engine::ComparisonRequest request{.request = {}, .timed_launches = 0};
  request.request.shape = {.preset = "", .num_experts = 3, .rows = 96, .n = 64, .k = 48};
  request.request.routing.distribution = engine::RoutingDistribution::Zipf;
  request.request.activations =
      engine::SyntheticInput{engine::Distribution::HeavyTailed, engine::ElementType::Bf16};
  engine::Recipe& recipe = request.recipes.emplace_back();
  recipe.scaling = engine::Scaling::PerTensorDelayed;
  recipe.activation_format =
      std::string(argv[2]) == "e4m3" ? engine::Fp8Format::E4m3 : engine::Fp8Format::E5m2;
  recipe.delayed.algorithm = std::string(argv[3]) == "max" ? kernels::AmaxAlgorithm::Max
                                                           : kernels::AmaxAlgorithm::MostRecent;
  recipe.delayed.history_length = std::atoi(argv[4]);
  recipe.delayed.margin = std::atoi(argv[5]);
  recipe.pow2_scales = std::atoi(argv[6]) != 0;
  request.series = {
      .steps = 12,
      .outlier_step = std::atoi(argv[7]),
      .outlier_expert = 1,
      .outlier_factor = 3000.0,
      .idle = {{.step = 0, .expert = 2}, {.step = 5, .expert = 1}, {.step = 6, .expert = 1}}};
  return request;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  const std::string folder = argv[1];
  const engine::ComparisonRequest request = request_of(argv);
  engine::RunProgress progress;
  const engine::Status valid = engine::validate(request);
  if (!valid.ok()) return std::fprintf(stderr, "%s\n", valid.error().message.c_str()), 1;
  const auto stepped = engine::compare_over_steps(request, progress);
  if (!stepped.ok()) return std::fprintf(stderr, "%s\n", stepped.error().message.c_str()), 1;
  for (int step = 0; step < request.series->steps; ++step) {
    engine::RunRequest of_step = request.request;
    of_step.seed += static_cast<std::uint64_t>(step);
    const auto source = engine::open_source(of_step, engine::OperandRole::Activations, 0);
    if (!source.ok()) return 1;
    std::vector<float> x(static_cast<std::size_t>(of_step.shape.rows * of_step.shape.k));
    source.value()->read_f32(0, of_step.shape.rows, x);
    write(folder, "x", x);
    write(folder, "splits", engine::resolve_shape(of_step).value().splits);
  }
  for (const engine::QuantizationReport& report : stepped.value().reports) {
    for (const engine::ExpertQuantization& one : report.experts) {
      write(folder, "rows", std::vector{one.rows});
      write(folder, "amax", std::vector{one.delayed->amax});
      write(folder, "history_amax", std::vector{one.delayed->history_amax});
      write(folder, "scale_used", std::vector{one.delayed->scale_used});
      write(folder, "scale_wanted", std::vector{one.delayed->scale_wanted});
      write(folder, "saturated", std::vector{one.saturated});
      write(folder, "underflowed", std::vector{one.underflowed});
      write(folder, "snr_db", std::vector{one.snr_db});
    }
    write(folder, "history", report.history);
  }
  return 0;
}
