#include "engine/input/operand_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/input/routing.h"
#include "engine/input/tensor_choice.h"
#include "engine/input/tensor_file.h"
#include "engine/model/path_text.h"
#include "engine/model/projections.h"

namespace engine {
namespace {

/// A dimension of a tensor, and the setting it follows from: setting = dimension * per.
struct Size {
  const char* setting;
  std::int64_t ShapeSpec::* member;
  std::int64_t per = 1;
  const char* unit = "";  // " / top_k"
};

/// An operand of the request, with the sizes of its dimensions: rows and columns, of weights also
/// the experts before them.
struct FileOperand {
  std::string words;
  const InputSpec* input;
  bool weights = false;
  Size rows;
  Size columns;
};

/// Every operand that the step has with one of its passes.
std::vector<FileOperand> possible_operands(const RunRequest& request) {
  const bool layer = is_expert_layer(request);
  const int top_k = layer ? std::max(request.expert_layer.top_k, 1) : 1;
  const Size rows{"rows", &ShapeSpec::rows, top_k, top_k > 1 ? " / top_k" : ""};
  const Size n{"n", &ShapeSpec::n};
  const Size k{"k", &ShapeSpec::k};
  std::vector<FileOperand> all = {
      {.words = "activations", .input = &request.activations, .rows = rows, .columns = k},
      {.words = "weights", .input = &request.weights, .weights = true, .rows = n, .columns = k},
      {.words = "gradients",
       .input = &request.products.gradients,
       .rows = rows,
       .columns = layer ? k : n}};
  if (layer) {
    const int halves = traits_of(request.expert_layer.activation).halves();
    all.push_back({.words = "weights of the down projection",
                   .input = &request.expert_layer.down_weights,
                   .weights = true,
                   .rows = k,
                   .columns = {"n", &ShapeSpec::n, halves, halves > 1 ? " / 2" : ""}});
  }
  return all;
}

std::vector<FileOperand> operands_of(const RunRequest& request) {
  std::vector<FileOperand> all = possible_operands(request);
  if (request.products.passes == StepPasses::Forward) {
    std::erase_if(all,
                  [&](const FileOperand& one) { return one.input == &request.products.gradients; });
  }
  return all;
}

bool has_dimensions(const FileOperand& operand, const TensorEntry& tensor) {
  const std::size_t dimensions = tensor.shape.size();
  return dimensions == 2 || (dimensions == 3 && operand.weights);
}

/// The tensor that the request names, if it is an operand.
std::optional<TensorEntry> tensor_of(const FileOperand& operand) {
  const auto* file = std::get_if<FileInput>(operand.input);
  if (file == nullptr) return std::nullopt;
  const auto entries = inspect_file(file->path);
  if (!entries.ok()) return std::nullopt;
  const std::vector<TensorEntry>& all = entries.value();
  const std::optional<std::size_t> found = chosen_tensor(all, file->tensor);
  if (!found || !all[*found].usable || !has_dimensions(operand, all[*found])) return std::nullopt;
  return all[*found];
}

/// The request's shape, with the settings that the tensor needs; the same if it fits. None: no
/// settings make it fit.
std::optional<ShapeSpec> shape_for(const FileOperand& operand, const TensorEntry& tensor,
                                   const ShapeSpec& now) {
  ShapeSpec shape = now;
  const std::vector<std::int64_t>& dimensions = tensor.shape;
  std::int64_t rows = dimensions[dimensions.size() - 2];
  const bool list = tensor.name.find(kExpertPlace) != std::string::npos;
  if (dimensions.size() == 3) {
    // The first experts of a list are read.
    const bool enough = list && dimensions[0] >= now.num_experts;
    if (!enough) {
      shape.num_experts = static_cast<int>(std::min<std::int64_t>(dimensions[0], kMaxExperts + 1));
    }
  } else if (operand.weights) {
    const std::int64_t each = now.*operand.rows.member;
    if (now.num_experts > 0 && rows % now.num_experts == 0) {
      rows /= now.num_experts;
    } else if (each > 0 && rows % each == 0 && rows / each <= kMaxExperts) {
      shape.num_experts = static_cast<int>(rows / each);
      rows = each;
    } else {
      return std::nullopt;
    }
  }
  const auto set = [&](const Size& size, std::int64_t dimension) {
    if (now.*size.member / size.per == dimension) return;
    // Beyond the limits in any case, and the product does not overflow.
    shape.*size.member = std::min(dimension, kMaxDimension + 1) * size.per;
  };
  set(operand.rows, rows);
  set(operand.columns, dimensions.back());
  return shape;
}

bool same_sizes(const ShapeSpec& a, const ShapeSpec& b) {
  return a.num_experts == b.num_experts && a.rows == b.rows && a.n == b.n && a.k == b.k;
}

bool fits(const FileOperand& operand, const ShapeSpec& shape) {
  const std::optional<TensorEntry> tensor = tensor_of(operand);
  if (!tensor) return true;
  const std::optional<ShapeSpec> needed = shape_for(operand, *tensor, shape);
  return needed && same_sizes(*needed, shape);
}

/// "n to 64 and k to 32"
std::string changes(const ShapeSpec& from, const ShapeSpec& to) {
  std::vector<std::string> all;
  const auto add = [&](const char* setting, std::int64_t before, std::int64_t after) {
    if (before != after) all.push_back(fmt::format("{} to {}", setting, after));
  };
  add("experts", from.num_experts, to.num_experts);
  add("rows", from.rows, to.rows);
  add("n", from.n, to.n);
  add("k", from.k, to.k);
  return fmt::format("{}", fmt::join(all, " and "));
}

/// Why the request cannot have this shape; empty if it can.
std::string obstacle(const RunRequest& request, const ShapeSpec& shape) {
  RunRequest changed = request;
  changed.shape = shape;
  changed.shape.preset.clear();
  if (Flaw flaw = first_flaw(changed); !flaw.empty()) {
    flaw.remedy.clear();  // it is for whoever chose the value, and the tensor did
    return flaw.message();
  }
  for (const FileOperand& other : operands_of(request)) {
    if (!fits(other, request.shape) || fits(other, shape)) continue;
    return fmt::format("the {} of {} would no longer fit", other.words,
                       shown_path(std::get<FileInput>(*other.input).path));
  }
  if (request.routing.distribution == RoutingDistribution::File && resolve_shape(request).ok() &&
      !resolve_shape(changed).ok()) {
    return fmt::format("the routing of {} would no longer fit", shown_path(request.routing.path));
  }
  return {};
}

std::string needed(const FileOperand& operand, const ShapeSpec& shape) {
  const auto one = [&](const Size& size) {
    return fmt::format("{}{} = {}", size.setting, size.unit, shape.*size.member / size.per);
  };
  const std::string experts =
      operand.weights ? fmt::format("experts = {}, ", shape.num_experts) : std::string();
  return fmt::format("[{}{}, {}]", experts, one(operand.rows), one(operand.columns));
}

std::string remedy(const RunRequest& request, const ShapeSpec& shape) {
  const std::string all = changes(request.shape, shape);
  const std::string why = obstacle(request, shape);
  return why.empty()
             ? fmt::format("set {}, or pick another tensor", all)
             : fmt::format("pick another tensor; setting {} does not help, because {}", all, why);
}

}  // namespace

std::optional<ShapeSpec> shape_with(const RunRequest& request, const InputSpec& operand,
                                    const TensorEntry& tensor) {
  for (const FileOperand& one : possible_operands(request)) {
    if (one.input != &operand) continue;
    return has_dimensions(one, tensor) ? shape_for(one, tensor, request.shape) : std::nullopt;
  }
  return std::nullopt;
}

Status check_operand_files(const RunRequest& request) {
  for (const FileOperand& operand : operands_of(request)) {
    const std::optional<TensorEntry> tensor = tensor_of(operand);
    if (!tensor) continue;
    const std::optional<ShapeSpec> shape = shape_for(operand, *tensor, request.shape);
    if (shape && same_sizes(*shape, request.shape)) continue;
    const FileInput& file = std::get<FileInput>(*operand.input);
    const std::string label = tensor->name.empty()
                                  ? shown_path(file.path)
                                  : fmt::format("{}: '{}'", shown_path(file.path), tensor->name);
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} is {} but {} need {}: {}", label, shape_text(tensor->shape),
                             operand.words, needed(operand, request.shape),
                             shape ? remedy(request, *shape) : "pick another tensor")};
  }
  return {};
}

}  // namespace engine
