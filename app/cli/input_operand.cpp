#include "app/cli/input_operand.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "app/cli/arguments.h"
#include "app/cli/typed_line.h"
#include "engine/input/recorded_routing.h"
#include "engine/input/tensor_choice.h"
#include "engine/input/tensor_file.h"
#include "engine/input/tensor_source.h"
#include "engine/model/text.h"

namespace app::cli {
namespace {

std::string no_such_tensor(const InputOperand& input,
                           const std::vector<engine::TensorEntry>& tensors) {
  if (tensors.size() == 1 && tensors.front().name.empty()) {
    return fmt::format("'{}' holds one tensor, which has no name; leave out --tensor {}",
                       input.file, input.tensor);
  }
  constexpr std::size_t kListed = 20;
  std::vector<std::string> names;
  for (const engine::TensorEntry& tensor : tensors) names.push_back(tensor.name);
  const std::string nearest = engine::suggestion(input.tensor, names);
  const std::string more =
      names.size() > kListed ? fmt::format(" and {} more", names.size() - kListed) : "";
  names.resize(std::min(names.size(), kListed));
  const std::string listed = fmt::format("it has {}{}", fmt::join(names, ", "), more);
  if (input.tensor.empty()) {
    return fmt::format("'{}' has several tensors; name one with --tensor: {}", input.file, listed);
  }
  return fmt::format("'{}' has no tensor '{}'{}; {}", input.file, input.tensor, nearest, listed);
}

engine::Result<engine::TensorEntry> find_tensor(const InputOperand& input) {
  ENGINE_ASSIGN(std::vector<engine::TensorEntry> tensors, engine::inspect_file(input.file));
  const std::optional<std::size_t> found = engine::chosen_tensor(tensors, input.tensor);
  if (!found) return engine::Error{engine::ErrorCode::NotFound, no_such_tensor(input, tensors)};
  engine::TensorEntry& tensor = tensors[*found];
  if (!tensor.usable) return invalid_argument(fmt::format("'{}': {}", input.file, tensor.reason));
  return std::move(tensor);
}

/// What --splits names holds rows per expert, never experts of tokens.
engine::RoutingSpec routing_of_splits(const std::string& path) {
  return {.distribution = engine::RoutingDistribution::File,
          .path = path,
          .numbers = engine::RoutingNumbers::Counts};
}

/// The number of experts in a file of splits. Its values are checked where they are used.
engine::Result<int> count_splits(const std::string& path) {
  const engine::RoutingSpec routing = routing_of_splits(path);
  ENGINE_ASSIGN(const engine::RoutingFacts facts, engine::inspect_routing(routing));
  if (facts.file_steps != 1) {
    return invalid_argument(fmt::format(
        "'{}' has the routing of {} steps, not one list of splits; save the step to use", path,
        facts.file_steps));
  }
  return facts.experts;
}

}  // namespace

void InputOperand::add_to(CLI::App& command, Need need) {
  CLI::Option* const input =
      command
          .add_option("file,--input", file,
                      "Tensor: the rows of all experts, one expert after another")
          ->option_text("FILE")
          ->check(existing_file());
  CLI::Option* const name =
      command.add_option("--tensor", tensor, "Name of the tensor in a .safetensors or .npz file")
          ->option_text("NAME");
  CLI::Option* const rows =
      command.add_option("--splits", splits, "Rows of every expert: a JSON list or .npy")
          ->option_text("FILE")
          ->check(existing_file());
  if (need == Need::Always) {
    input->required();
    return;
  }
  name->needs(input);
  rows->needs(input);
}

engine::Result<engine::RunRequest> InputOperand::request(
    const RequestOptions& options, const RequestOptions::IsHere& is_here) const {
  ENGINE_ASSIGN(engine::RunRequest request, sized(options, is_here));
  // Here, where it is known which sizes are the file's: a message names those as the user gave
  // them.
  if (engine::Flaw flaw = engine::first_flaw(request); !flaw.empty()) {
    // What a flaw advises is for whoever typed the value: "use 144" cannot be followed in a file.
    if (!flaw.remedy.empty() && !dimension_of(flaw.field).empty()) {
      flaw.remedy = "pad the tensor with zeros, or cut it, and save it again";
    }
    engine::Error error{
        .code = engine::ErrorCode::InvalidArgument, .message = flaw.message(), .field = flaw.field};
    error.message =
        message_naming(error, [this](std::string_view path) { return origin_of(path); });
    return error;
  }
  return request;
}

std::string InputOperand::dimension_of(std::string_view path) const {
  const bool weights = operand == engine::OperandRole::Weights;
  const bool gradients = operand == engine::OperandRole::Gradients;
  if (path == (gradients ? "shape.n" : "shape.k")) return "the last dimension of " + file;
  if (path == "shape.rows" && !weights) return "the first dimension of " + file;
  if (path == "shape.n" && weights) return "the number of rows per expert of " + file;
  return {};
}

std::string InputOperand::origin_of(std::string_view path) const {
  if (std::string dimension = dimension_of(path); !dimension.empty()) return dimension;
  if (path == "shape.num_experts" && !splits.empty()) return "the number of experts of " + splits;
  return typed_option(path);
}

engine::Result<engine::RunRequest> InputOperand::sized(
    const RequestOptions& options, const RequestOptions::IsHere& is_here) const {
  ENGINE_ASSIGN(engine::TensorEntry found, find_tensor(*this));
  const std::vector<std::int64_t>& shape = found.shape;
  if (shape.size() < 2) {
    return invalid_argument(
        fmt::format("'{}' has {} dimensions; it must have 2 or 3", file, shape.size()));
  }
  if (operand != engine::OperandRole::Weights && shape.size() != 2) {
    // What a shape of rows by columns would be called wrong in cannot be said then.
    return invalid_argument(
        fmt::format("'{}' is {} but {} need two dimensions, the rows of all experts by columns: "
                    "reshape it and save it again",
                    file, engine::shape_text(shape), engine::name_of(operand)));
  }
  engine::RunRequest defaults;
  defaults.shape.num_experts = 1;
  ENGINE_ASSIGN(engine::RunRequest request, options.resolve(is_here, std::move(defaults)));
  request.shape.preset.clear();  // its sizes are the file's
  if (!options.given_field("recipe.pow2_scales") && options.file().empty()) {
    request.recipe.pow2_scales =
        request.recipe.pow2_scales && !engine::traits_of(request.recipe).per_tensor();
  }
  // A size that was typed as well must be the file's: another one would be ignored silently.
  const auto take = [&](std::string_view field, std::int64_t& size,
                        std::int64_t of_file) -> engine::Status {
    const std::int64_t typed = std::exchange(size, of_file);
    if (!options.given_field(field) || typed == of_file) return {};
    return invalid_argument(
        fmt::format("{} is {}, but {} is {}; leave the option out, since the file has the size",
                    typed_option(field), typed, dimension_of(field), of_file));
  };
  const engine::FileInput values{.path = file, .tensor = tensor};
  if (operand == engine::OperandRole::Weights) {
    if (!splits.empty()) {
      return invalid_argument(
          "every expert's weights have the same number of rows; give --experts, not --splits");
    }
    if (shape.size() == 3) request.shape.num_experts = static_cast<int>(shape[0]);
    const std::int64_t rows = shape.size() == 3 ? shape[0] * shape[1] : shape[0];
    if (request.shape.num_experts < 1 || rows % request.shape.num_experts != 0) {
      return invalid_argument(fmt::format("{} rows of weights cannot be divided into {} experts",
                                          rows, request.shape.num_experts));
    }
    ENGINE_TRY(take("shape.n", request.shape.n, rows / request.shape.num_experts));
    ENGINE_TRY(take("shape.k", request.shape.k, shape.back()));
    request.shape.rows = 0;
    request.weights = values;
    return request;
  }
  ENGINE_TRY(take("shape.rows", request.shape.rows, shape[0]));
  if (operand == engine::OperandRole::Gradients) {
    ENGINE_TRY(take("shape.n", request.shape.n, shape.back()));
    request.products.gradients = values;
  } else {
    ENGINE_TRY(take("shape.k", request.shape.k, shape.back()));
    request.activations = values;
  }
  if (!splits.empty()) {
    ENGINE_ASSIGN(request.shape.num_experts, count_splits(splits));
    request.routing = routing_of_splits(splits);
  }
  return request;
}

}  // namespace app::cli
