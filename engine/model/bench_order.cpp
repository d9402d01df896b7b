#include "engine/model/bench_order.h"

#include <fmt/format.h>
#include <array>
#include <charconv>

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

std::string_view linear_bench_recipe_name(LinearBenchRecipe recipe) {
  switch (recipe) {
    case LinearBenchRecipe::Bf16:
      return "bf16";
    case LinearBenchRecipe::PerTensor:
      return "fp8-per-tensor";
    case LinearBenchRecipe::PerTensorFast:
      return "fp8-per-tensor-fast";
    case LinearBenchRecipe::Block:
      break;
  }
  return "fp8-block";
}

RunRequest linear_bench_request(const ShapeSpec& shape, RoutingDistribution routing,
                                LinearBenchRecipe recipe) {
  RunRequest request;
  request.shape = shape;
  request.routing = {.distribution = routing, .path = {}, .alignment = kSplitAlignment};
  request.linear.passes = StepPasses::ForwardBackward;
  switch (recipe) {
    case LinearBenchRecipe::Bf16:
      request.recipe.scaling = Scaling::None;
      break;
    case LinearBenchRecipe::PerTensor:
    case LinearBenchRecipe::PerTensorFast:
      request.recipe.scaling = Scaling::PerTensorCurrent;
      request.recipe.gradient_format = Fp8Format::E5m2;
      request.recipe.split_accumulator = recipe == LinearBenchRecipe::PerTensor;
      break;
    case LinearBenchRecipe::Block:
      request.recipe.scaling = Scaling::Block;
      break;
  }
  return request;
}

double linear_part_flop(LinearPart part, const ShapeSpec& shape) {
  const double product = 2.0 * static_cast<double>(shape.tokens) * static_cast<double>(shape.n) *
                         static_cast<double>(shape.k);
  switch (part) {
    case LinearPart::Fprop:
    case LinearPart::Dgrad:
    case LinearPart::Wgrad:
    case LinearPart::ForwardStep:
    case LinearPart::ForwardStepProgrammatic:
      return product;
    case LinearPart::Step:
    case LinearPart::StepProgrammatic:
      return 3 * product;
    case LinearPart::Setup:
      break;
  }
  return 0;
}

}  // namespace engine
