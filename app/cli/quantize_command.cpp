// `expertscope quantize`: codes, scales and amax of a user's tensor as .npy files.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/arguments.h"
#include "app/cli/command.h"
#include "app/cli/input_operand.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/cli/worker_session.h"
#include "engine/input/value_json.h"
#include "profiling/document/run_document.h"

namespace app::cli {
namespace {

struct QuantizeOptions {
  WorkerChoice worker;
  RequestOptions request;  // its recipe, seed and number of experts; the file gives the shape
  InputOperand input;
  std::string folder;
  QuantizeDirections directions = QuantizeDirections::Rowwise;
  bool json = false;
};

/// The files and what was lost, with the direction in words: "files" are the worker's machine's.
nlohmann::ordered_json result_json(const QuantizeOrder& order, const QuantizeDone& done) {
  nlohmann::ordered_json document = {{"request", engine::to_json(order.request)},
                                     {"operand", engine::name_of(order.operand)},
                                     {"files", done.files},
                                     {"losses", nlohmann::ordered_json::array()}};
  for (const QuantizationLoss& loss : done.losses) {
    nlohmann::ordered_json entry = {{"direction", loss.columnwise ? "columnwise" : "rowwise"}};
    const nlohmann::ordered_json counts = engine::to_json(loss);
    for (const auto& [name, value] : counts.items()) {
      if (name != "columnwise") entry[name] = value;
    }
    document["losses"].push_back(std::move(entry));
  }
  return document;
}

int quantize(const QuantizeOptions& options) {
  engine::Result<engine::RunRequest> request =
      options.input.request(options.request, options.worker.is_here());
  if (!request.ok()) return report(request.error());
  const QuantizeOrder order{.request = std::move(request).value(),
                            .operand = options.input.operand,
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
  if (options.json) {
    print("{}\n", result_json(order, done.value()).dump(2));
    return kExitOk;
  }
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
  options->input.add_to(command, InputOperand::Need::Always);
  add_choice(command, "--operand", options->input.operand,
             "What the tensor is; activations and gradients take 1D blocks, weights square ones");
  add_choice(command, "--direction", options->directions,
             "Along which dimension elements share scales");
  command.add_option("--dump", options->folder, "Folder for the files")
      ->option_text("DIR")
      ->required();
  command.add_flag("--json", options->json, "Print the request, the files and the losses as JSON");
  options->worker.add_to(command);
  options->request.add_to(command);
  command.callback([options, &chosen] { chosen = [options] { return quantize(*options); }; });
}

}  // namespace app::cli
