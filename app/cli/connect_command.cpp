// `expertscope connect`: tries a machine that --remote can name, step by step. `expertscope
// bundle`: packs the worker that --remote sends.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "app/cli/command.h"
#include "app/cli/remote_machine.h"
#include "app/cli/terminal.h"
#include "app/cli/worker_session.h"
#include "app/protocol/paths.h"
#include "app/remote/worker_build.h"
#include "app/remote/worker_bundle.h"
#include "profiling/document/quantity.h"

namespace app::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TryOptions {
  WorkerChoice worker;
  bool json = false;
};

const char* word_of(StepReport::State state) {
  switch (state) {
    case StepReport::State::Doing:
      return "...";
    case StepReport::State::Done:
      return "ok";
    case StepReport::State::Skipped:
      return "skipped";
    case StepReport::State::Failed:
      break;
  }
  return "failed";
}

Json json_of(const MachineFacts& machine) {
  Json gpus = Json::array();
  for (const GpuFacts& gpu : machine.gpus) {
    gpus.push_back(
        {{"index", gpu.index}, {"name", gpu.name}, {"memory", gpu.memory}, {"driver", gpu.driver}});
  }
  return {{"architecture", machine.architecture},
          {"system", machine.system},
          {"glibc", machine.glibc},
          {"glibcxx", machine.glibcxx},
          {"cores", machine.cores},
          {"gpus", std::move(gpus)},
          {"driver", machine.driver},
          {"toolkit", machine.toolkit},
          {"python", machine.python},
          {"cache", machine.cache},
          {"free_bytes", machine.free_bytes},
          {"cublaslt", machine.cublaslt}};
}

/// The last line: the worker runs, and on what.
std::string started_words(const WorkerHello& hello) {
  std::string words;
  for (const BackendOffer& offer : hello.backends) {
    words += fmt::format("{}{}", words.empty() ? "" : ", ", engine::name_of(offer.kind));
    if (!offer.available) words += fmt::format(" (not: {})", offer.reason);
  }
  return fmt::format("{} answers; backends: {}", hello.host, words);
}

int try_machine(const TryOptions& options) {
  ProgressLine line;
  Json steps = Json::array();
  const auto show = [&](std::string_view name, StepReport::State state, const std::string& words,
                        double fraction) {
    const std::string text = fmt::format("{:<9} {:<8} {}", name, word_of(state), words);
    if (state == StepReport::State::Doing) {
      line.show(fraction > 0 ? fmt::format("{} {}", bar_text(fraction, kBarCells), text) : text,
                text);
      return;
    }
    line.erase();
    steps.push_back({{"step", name}, {"state", word_of(state)}, {"words", words}});
    if (!options.json) print("{}\n", text);
  };
  const auto ended = [&](const engine::Error* error, const MachineFacts* machine) {
    line.erase();
    if (options.json) {
      Json document = {{"steps", std::move(steps)}};
      if (machine != nullptr) document["machine"] = json_of(*machine);
      print("{}\n", document.dump(2));
    }
    return error == nullptr ? int{kExitOk} : report(*error);
  };
  const engine::Result<ConnectedMachine> connected = connect_machine(
      options.worker.machine->options, {.report =
                                            [&](const StepReport& step) {
                                              show(engine::name_of(step.step), step.state,
                                                   step.words, step.fraction);
                                            },
                                        .ask = ask_on_terminal(Offers::ToBuild),
                                        .stop = {}});
  if (!connected.ok()) return ended(&connected.error(), nullptr);
  WorkerChoice worker = options.worker;
  worker.machine = nullptr;  // it is connected
  worker.command = connected.value().worker;
  show("start", StepReport::State::Doing, "Starting the worker", 0);
  const auto session = WorkerSession::start(worker);
  if (!session.ok()) {
    show("start", StepReport::State::Failed, session.error().message, -1);
    return ended(&session.error(), &connected.value().machine);
  }
  show("start", StepReport::State::Done, started_words(session.value()->hello()), -1);
  return ended(nullptr, &connected.value().machine);
}

/// The one next to this program if it has CUDA, else one that is built now.
engine::Result<WorkerBundle> provide_cuda_bundle() {
  ENGINE_ASSIGN(const WorkerBundle own, provide_bundle(executable_folder(), {}));
  if (own.cuda) return own;
  ENGINE_ASSIGN(const CudaWorkerPlan plan, plan_cuda_worker({}));
  if (!plan.cannot.empty()) return engine::Error{engine::ErrorCode::Unsupported, plan.cannot};
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  print(stderr, "Building a worker with CUDA. {}\n",
        plan.built ? "It compiles what has changed." : plan_words(plan, processors));
  ProgressLine line;
  return build_cuda_bundle(
      [&](const BuildProgress& progress) {
        line.show(
            progress.fraction < 0
                ? progress.words
                : fmt::format("{} {}", bar_text(progress.fraction, kBarCells), progress.words),
            progress.words);
      },
      {});
}

int pack(const std::string& path, bool cuda) {
  const engine::Result<WorkerBundle> made =
      cuda ? provide_cuda_bundle() : provide_bundle(executable_folder(), {});
  const engine::Result<WorkerBundle> bundle =
      made.ok() && !path.empty() ? copy_bundle(made.value(), path) : made;
  if (!bundle.ok()) return report(bundle.error());
  print("{}\n", bundle.value().path);
  print(stderr, "{}, {}, {}\n", profiling::bytes_text(bundle.value().bytes),
        bundle.value().cuda ? "with CUDA" : "for CPUs only", bundle.value().name);
  return kExitOk;
}

}  // namespace

void add_connect_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "connect", "Try a machine that --remote can name: reach it, send the worker, start it");
  const auto options = std::make_shared<TryOptions>();
  options->worker.add_machine_to(command, WorkerChoice::HostIs::Positional);
  command.add_flag("--json", options->json, "Print as JSON");
  command.callback([options, &chosen] { chosen = [options] { return try_machine(*options); }; });
}

void add_bundle_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "bundle", "Pack the worker and what it needs, as --remote sends it, and print the path");
  const auto path = std::make_shared<std::string>();
  const auto cuda = std::make_shared<bool>(false);
  command.add_option("--out", *path, "File to write (default: one in the cache)")
      ->option_text("FILE");
  command.add_flag("--cuda", *cuda,
                   "A worker with CUDA: where this build has none, it is built from the source "
                   "tree, with a compiler from PyPI if none is installed");
  command.callback([path, cuda, &chosen] { chosen = [path, cuda] { return pack(*path, *cuda); }; });
}

}  // namespace app::cli
