// `expertscope quantize`: codes, scales and amax of a user's tensor as .npy files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "app/cli/arguments.h"
#include "app/cli/command.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/cli/worker_session.h"
#include "engine/input/recorded_routing.h"
#include "engine/input/tensor_source.h"
#include "engine/model/text.h"
#include "profiling/document/run_document.h"

namespace app::cli {
namespace {

struct QuantizeOptions {
  WorkerChoice worker;
  RequestOptions request;  // its recipe, seed and number of experts; the file gives the shape.
                           // Scales per tensor are exact by default, as in `compare`.
  std::string input;
  std::string tensor;
  std::string splits;
  std::string folder;
  engine::OperandRole operand = engine::OperandRole::Activations;
  QuantizeDirections directions = QuantizeDirections::Rowwise;
};

engine::Error invalid_argument(std::string message) {
  return {engine::ErrorCode::InvalidArgument, std::move(message)};
}

std::string no_such_tensor(const QuantizeOptions& options,
                           const std::vector<engine::TensorEntry>& tensors) {
  if (tensors.size() == 1 && tensors.front().name.empty()) {
    return fmt::format("'{}' holds one tensor, which has no name; leave out --tensor {}",
                       options.input, options.tensor);
  }
  constexpr std::size_t kListed = 20;
  std::vector<std::string> names;
  for (const engine::TensorEntry& tensor : tensors) names.push_back(tensor.name);
  const std::string nearest = engine::suggestion(options.tensor, names);
  const std::string more =
      names.size() > kListed ? fmt::format(" and {} more", names.size() - kListed) : "";
  names.resize(std::min(names.size(), kListed));
  const std::string listed = fmt::format("it has {}{}", fmt::join(names, ", "), more);
  if (options.tensor.empty()) {
    return fmt::format("'{}' has several tensors; name one with --tensor: {}", options.input,
                       listed);
  }
  return fmt::format("'{}' has no tensor '{}'{}; {}", options.input, options.tensor, nearest,
                     listed);
}

engine::Result<engine::TensorEntry> find_tensor(const QuantizeOptions& options) {
  ENGINE_ASSIGN(std::vector<engine::TensorEntry> tensors, engine::inspect_file(options.input));
  for (const engine::TensorEntry& tensor : tensors) {
    if (tensor.name != options.tensor) continue;
    if (!tensor.usable)
      return invalid_argument(fmt::format("'{}': {}", options.input, tensor.reason));
    return tensor;
  }
  return engine::Error{engine::ErrorCode::NotFound, no_such_tensor(options, tensors)};
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

engine::Result<engine::RunRequest> make_request(const QuantizeOptions& options) {
  ENGINE_ASSIGN(engine::TensorEntry found, find_tensor(options));
  const std::vector<std::int64_t>& shape = found.shape;
  if (shape.size() < 2) {
    return invalid_argument(
        fmt::format("'{}' has {} dimensions; it must have 2 or 3", options.input, shape.size()));
  }
  engine::RunRequest defaults;
  defaults.shape.num_experts = 1;
  ENGINE_ASSIGN(engine::RunRequest request,
                options.request.resolve(options.worker.input_files(), std::move(defaults)));
  request.shape.preset.clear();  // its sizes are the file's
  if (!options.request.given_field("recipe.pow2_scales") && options.request.file().empty()) {
    request.recipe.pow2_scales =
        request.recipe.pow2_scales && !engine::traits_of(request.recipe).per_tensor();
  }
  const engine::FileInput file{.path = options.input, .tensor = options.tensor};
  if (options.operand == engine::OperandRole::Weights) {
    if (!options.splits.empty()) {
      return invalid_argument(
          "every expert's weights have the same number of rows; give --num_experts, not --splits");
    }
    if (shape.size() == 3) request.shape.num_experts = static_cast<int>(shape[0]);
    const std::int64_t rows = shape.size() == 3 ? shape[0] * shape[1] : shape[0];
    if (request.shape.num_experts < 1 || rows % request.shape.num_experts != 0) {
      return invalid_argument(fmt::format("{} rows of weights cannot be divided into {} experts",
                                          rows, request.shape.num_experts));
    }
    request.shape.n = rows / request.shape.num_experts;
    request.shape.k = shape.back();
    request.shape.rows = 0;
    request.weights = file;
    return request;
  }
  request.shape.rows = shape[0];
  if (options.operand == engine::OperandRole::Gradients) {
    request.shape.n = shape.back();
    request.linear.gradients = file;
  } else {
    request.shape.k = shape.back();
    request.activations = file;
  }
  if (!options.splits.empty()) {
    ENGINE_ASSIGN(request.shape.num_experts, count_splits(options.splits));
    request.routing = routing_of_splits(options.splits);
  }
  return request;
}

int quantize(const QuantizeOptions& options) {
  engine::Result<engine::RunRequest> request = make_request(options);
  if (!request.ok()) return report(request.error());
  const QuantizeOrder order{.request = std::move(request).value(),
                            .operand = options.operand,
                            .folder = options.folder,
                            .directions = options.directions};
  if (const engine::Status limits = engine::validate(order); !limits.ok()) {
    return report(limits.error());
  }
  WorkerChoice worker = options.worker;
  worker.note_library(order.request, options.request.library_file());
  engine::Result<std::unique_ptr<WorkerSession>> started = WorkerSession::start(worker);
  if (!started.ok()) return report(started.error());
  const auto done = started.value()->perform<QuantizeDone>(order);
  if (!done.ok()) return report(done.error());
  for (const std::string& file : done.value().files) print("{}\n", file);
  for (const QuantizationLoss& loss : done.value().losses) {
    print("{:<12}{} (finite values that decode to inf or NaN)\n",
          loss.columnwise ? "columnwise" : "rowwise", profiling::loss_text(loss));
  }
  return kExitOk;
}

}  // namespace

void add_quantize_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "quantize", "Quantize a tensor and write codes, scales and amax as .npy files");
  const auto options = std::make_shared<QuantizeOptions>();
  command
      .add_option("--input", options->input,
                  "Tensor: the rows of all experts, one expert after another")
      ->option_text("FILE")
      ->required()
      ->check(existing_file());
  command.add_option("--tensor", options->tensor, "Name of the tensor in a .safetensors file")
      ->option_text("NAME");
  command.add_option("--splits", options->splits, "Rows of every expert: a JSON list or .npy")
      ->option_text("FILE")
      ->check(existing_file());
  add_choice(command, "--operand", options->operand,
             "What the tensor is; activations and gradients take 1D blocks, weights square ones");
  add_choice(command, "--direction", options->directions,
             "Along which dimension elements share scales");
  command.add_option("--dump", options->folder, "Folder for the files")
      ->option_text("DIR")
      ->required();
  options->worker.add_to(command);
  options->request.add_to(command);
  command.callback([options, &chosen] { chosen = [options] { return quantize(*options); }; });
}

}  // namespace app::cli
