#include "app/controllers/operand_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

#include "engine/input/tensor_file.h"

namespace app {
namespace {

using engine::OperandRole;

struct OperandWords {
  const char* name;
  const char* dimensions;
};

constexpr std::array<OperandWords, 3> kWords = {{
    {"X", "[tokens, K]"},
    {"W", "[experts, N, K] or [experts * N, K]"},
    {"dY", "[tokens, N]"},
}};

const OperandWords& words_of(OperandRole role) { return kWords[static_cast<std::size_t>(role)]; }

engine::Error refused(std::string why) {
  return {engine::ErrorCode::InvalidArgument, std::move(why)};
}

/// The named tensor, else the only one that can be used.
engine::Result<const engine::TensorEntry*> meant_tensor(const FileReport& report,
                                                        const std::string& name) {
  const auto named = std::ranges::find(report.tensors, name, &engine::TensorEntry::name);
  if (named != report.tensors.end()) {
    if (named->usable) return &*named;
    return refused(name.empty() ? named->reason : name + ": " + named->reason);
  }
  if (!name.empty()) return refused("holds no tensor " + name);
  const auto usable = [](const engine::TensorEntry& one) { return one.usable; };
  const auto first = std::ranges::find_if(report.tensors, usable);
  if (first == report.tensors.end()) return refused("none of its tensors can be used");
  const auto count = std::count_if(first, report.tensors.end(), usable);
  if (count == 1) return &*first;
  return refused(fmt::format("holds {} tensors; choose one of them in the rail", count));
}

}  // namespace

engine::InputSpec& input_of(engine::RunRequest& request, OperandRole role) {
  switch (role) {
    case OperandRole::Activations:
      return request.activations;
    case OperandRole::Weights:
      return request.weights;
    case OperandRole::Gradients:
      break;
  }
  return request.linear.gradients;
}

const char* operand_name(OperandRole role) { return words_of(role).name; }

engine::Result<engine::ShapeSpec> shape_of(const engine::TensorEntry& tensor, OperandRole role,
                                           engine::ShapeSpec shape) {
  const std::vector<std::int64_t>& sizes = tensor.shape;
  const bool weights = role == OperandRole::Weights;
  const engine::ShapeSpec before = shape;
  if (role == OperandRole::Activations && sizes.size() == 2) {
    shape.tokens = sizes[0];
    shape.k = sizes[1];
  } else if (weights && sizes.size() == 3) {
    shape.num_experts = static_cast<int>(std::min<std::int64_t>(sizes[0], engine::kMaxExperts + 1));
    shape.n = sizes[1];
    shape.k = sizes[2];
  } else if (weights && sizes.size() == 2 && shape.num_experts > 0 &&
             sizes[0] % shape.num_experts == 0) {
    shape.n = sizes[0] / shape.num_experts;
    shape.k = sizes[1];
  } else if (role == OperandRole::Gradients && sizes.size() == 2) {
    shape.tokens = sizes[0];
    shape.n = sizes[1];
  } else {
    return refused(fmt::format("its shape is {}; {} must be {}", engine::shape_text(sizes),
                               words_of(role).name, words_of(role).dimensions));
  }
  // Sizes of a published layer no longer.
  if (shape != before) shape.preset.clear();
  return shape;
}

engine::Result<engine::RunRequest> fitted_to_file(engine::RunRequest request, OperandRole role,
                                                  const FileReport& report) {
  const auto because = [&](const std::string& why) {
    return refused(fmt::format("{} cannot be {}: {}",
                               std::filesystem::path(report.path).filename().string(),
                               words_of(role).name, why));
  };
  if (!report.error.empty()) return because(report.error);
  auto& file = std::get<engine::FileInput>(input_of(request, role));
  const auto tensor = meant_tensor(report, file.tensor);
  if (!tensor.ok()) return because(tensor.error().message);
  auto shape = shape_of(*tensor.value(), role, request.shape);
  if (!shape.ok()) return because(shape.error().message);
  file.tensor = tensor.value()->name;
  request.shape = std::move(shape).value();
  return request;
}

}  // namespace app
