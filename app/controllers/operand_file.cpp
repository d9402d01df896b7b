#include "app/controllers/operand_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "app/controllers/dump.h"
#include "engine/input/operand_fit.h"
#include "engine/input/tensor_file.h"
#include "engine/model/path_text.h"
#include "engine/model/projections.h"

namespace app {
namespace {

struct OperandWords {
  const char* name;
  const char* dimensions;
};

constexpr std::array<OperandWords, kRequestOperands> kWords = {{
    {"X", "[tokens, K]"},
    {"W", "[experts, N, K] or [experts * N, K]"},
    {"Wdown", "[experts, K, columns of A] or [experts * K, columns of A]"},
    {"dY", "[tokens, N], in an expert layer [tokens, K]"},
}};

const OperandWords& words_of(RequestOperand operand) {
  return kWords[static_cast<std::size_t>(operand)];
}

engine::Error refused(std::string why) {
  return {engine::ErrorCode::InvalidArgument, std::move(why)};
}

/// The named tensor, else the only one that can be used, or of those the first with the operand's
/// dimensions.
engine::Result<const engine::TensorEntry*> meant_tensor(const FileReport& report,
                                                        const std::string& name,
                                                        RequestOperand operand,
                                                        const engine::RunRequest& request) {
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
  const auto fits = [&](const engine::TensorEntry& one) {
    return one.usable && shape_of(one, operand, request).ok();
  };
  // One with the operand's usual name before others of its dimensions.
  for (const DumpPart& part : dump_of_tensors(report.path, report.tensors)) {
    const auto usual = std::ranges::find(report.tensors, part.tensor, &engine::TensorEntry::name);
    if (part.operand == operand && fits(*usual)) return &*usual;
  }
  const auto fitting = std::find_if(first, report.tensors.end(), fits);
  if (fitting != report.tensors.end()) return &*fitting;
  return refused(
      fmt::format("holds {} tensors, none of which fits; choose one of them in the rail", count));
}

}  // namespace

engine::InputSpec& input_of(engine::RunRequest& request, RequestOperand operand) {
  switch (operand) {
    case RequestOperand::X:
      return request.activations;
    case RequestOperand::W:
      return request.weights;
    case RequestOperand::WDown:
      return request.expert_layer.down_weights;
    case RequestOperand::DY:
      break;
  }
  return request.products.gradients;
}

const char* operand_name(RequestOperand operand) { return words_of(operand).name; }

engine::Result<engine::ShapeSpec> shape_of(const engine::TensorEntry& tensor,
                                           RequestOperand operand,
                                           const engine::RunRequest& request) {
  engine::RunRequest of = request;
  std::optional<engine::ShapeSpec> shape = engine::shape_with(of, input_of(of, operand), tensor);
  if (!shape) {
    return refused(fmt::format("its shape is {}; {} must be {}", engine::shape_text(tensor.shape),
                               words_of(operand).name, words_of(operand).dimensions));
  }
  // Sizes of a published layer no longer.
  if (*shape != request.shape) shape->preset.clear();
  return *std::move(shape);
}

bool holds_integers(const FileReport& report) {
  return !report.tensors.empty() &&
         std::ranges::all_of(report.tensors, &engine::TensorEntry::integers);
}

engine::Result<engine::RunRequest> fitted_to_file(engine::RunRequest request,
                                                  RequestOperand operand,
                                                  const FileReport& report) {
  const auto because = [&](const std::string& why) {
    return refused(
        fmt::format("{} cannot be {}: {}",
                    engine::shown_path(std::filesystem::path(report.path).filename().string()),
                    words_of(operand).name, why));
  };
  // It names the file itself.
  if (!report.error.empty()) {
    return refused(fmt::format("{} cannot be read: {}", words_of(operand).name, report.error));
  }
  auto& file = std::get<engine::FileInput>(input_of(request, operand));
  const auto tensor = meant_tensor(report, file.tensor, operand, request);
  if (!tensor.ok()) return because(tensor.error().message);
  auto shape = shape_of(*tensor.value(), operand, request);
  if (!shape.ok()) return because(shape.error().message);
  file.tensor = tensor.value()->name;
  request.shape = std::move(shape).value();
  return request;
}

}  // namespace app
