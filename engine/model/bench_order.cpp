#include "engine/model/bench_order.h"

#include <fmt/format.h>
#include <array>
#include <charconv>

#include "engine/model/projections.h"

namespace engine {

namespace {

constexpr std::array<std::string_view, 3> kRoutingNames = {"", ":one-hot", ":half"};

/// Removes a number and the separator after it from the text.
template <class T>
bool take_number(std::string_view& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_cross(std::string_view& text) {
  if (!text.starts_with('x')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string bench_shape_text(const BenchShape& shape) {
  return fmt::format("{}x{}x{}{}", shape.experts, shape.rows, shape.columns,
                     kRoutingNames[static_cast<std::size_t>(shape.routing)]);
}

Result<BenchShape> parse_bench_shape(std::string_view text) {
  std::string_view rest = text;
  BenchShape shape;
  if (take_number(rest, shape.experts) && take_cross(rest) && take_number(rest, shape.rows) &&
      take_cross(rest) && take_number(rest, shape.columns)) {
    for (std::size_t i = 0; i < kRoutingNames.size(); ++i) {
      if (rest != kRoutingNames[i]) continue;
      shape.routing = static_cast<BenchRouting>(i);
      ENGINE_TRY(validate(shape));
      return shape;
    }
  }
  return Error{
      ErrorCode::InvalidArgument,
      fmt::format(
          "'{}' is not a shape; write EXPERTSxROWSxCOLUMNS, optionally followed by :one-hot "
          "or :half",
          text)};
}

std::vector<BenchShape> default_bench_shapes(bool cpu) {
  using enum BenchRouting;
  if (cpu) return {{8, 1024, 2048, Uniform}, {8, 1024, 2048, OneHot}, {8, 256, 4096, Uniform}};
  return {{32, 32768, 7168, Uniform}, {8, 16384, 4096, Uniform},   {128, 65536, 2048, Uniform},
          {16, 98304, 2880, Uniform}, {32, 131072, 7168, Uniform}, {1024, 32768, 7168, Uniform},
          {32, 32768, 7168, OneHot},  {32, 32768, 7168, HalfFull}, {8, 256, 4096, Uniform}};
}

namespace {

constexpr std::int64_t kSplitAlignment = 16;

}  // namespace

std::span<const StepBenchRecipe> step_bench_recipes(StepKind step) {
  using enum StepBenchRecipe;
  static constexpr StepBenchRecipe kLinear[] = {Bf16,  PerTensor, PerTensorFast,
                                                Block, OwnBlock,  OwnBlockAddsDw};
  static constexpr StepBenchRecipe kLayer[] = {Bf16,    PerTensor, PerTensorFast,
                                               Delayed, Block,     OwnBlock};
  if (step == StepKind::Linear) return kLinear;
  return kLayer;
}

RunRequest step_bench_request(const StepBenchCase& of, StepBenchRecipe recipe) {
  const bool layer = of.step == StepKind::ExpertLayer;
  RunRequest request;
  request.step = of.step;
  request.shape = of.shape.shape;
  request.routing = {.distribution = of.routing, .path = {}, .alignment = kSplitAlignment};
  request.products.passes = StepPasses::ForwardBackward;
  if (layer) {
    request.products.weight_reuse = 2;
    request.products.bias = of.shape.bias;
    request.expert_layer.activation = of.shape.activation;
    request.expert_layer.top_k = of.shape.top_k;
  }
  switch (recipe) {
    case StepBenchRecipe::Bf16:
      request.recipe.scaling = Scaling::None;
      break;
    case StepBenchRecipe::PerTensor:
    case StepBenchRecipe::PerTensorFast:
    case StepBenchRecipe::Delayed:
      request.recipe.scaling = recipe == StepBenchRecipe::Delayed ? Scaling::PerTensorDelayed
                                                                  : Scaling::PerTensorCurrent;
      request.recipe.gradient_format = layer ? Fp8Format::E4m3 : Fp8Format::E5m2;
      request.recipe.split_accumulator = recipe != StepBenchRecipe::PerTensorFast;
      break;
    case StepBenchRecipe::OwnBlockAddsDw:
      request.products.wgrad_type = ElementType::Fp32;
      request.products.accumulate_wgrad = true;
      [[fallthrough]];
    case StepBenchRecipe::OwnBlock:
      request.backend = GemmBackend::Expertscope;
      [[fallthrough]];
    case StepBenchRecipe::Block:
      request.recipe.scaling = Scaling::Block;
      break;
  }
  return request;
}

double bench_part_flop(BenchPart part, const StepBenchCase& of) {
  RunRequest request = step_bench_request(of, StepBenchRecipe::Bf16);
  const auto rows = static_cast<double>(request.shape.rows);
  switch (part) {
    case BenchPart::Fprop:
    case BenchPart::Dgrad:
    case BenchPart::Wgrad:
    case BenchPart::ForwardStep:
      request.products.passes = StepPasses::Forward;
      return rows * flop_of_row(request);
    case BenchPart::Step:
    case BenchPart::StepKeptWeights:
    case BenchPart::StepFromTokens:
    case BenchPart::StepFromTokensKeptWeights:
      return rows * flop_of_row(request);
    case BenchPart::Permutation:
      break;
  }
  return 0;
}

}  // namespace engine
