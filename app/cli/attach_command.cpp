// `expertscope attach -- COMMAND`: runs a program with the preloaded library, and says what is
// wrong with its CUDA graphs, while it runs and when it has ended. With --remote it runs on another
// machine, and its record grows here as well.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ranges>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/attach/attached_program.h"
#include "app/attach/finding_lines.h"
#include "app/attach/recent_words.h"
#include "app/attach/remote_start.h"
#include "app/attach/spool_folder.h"
#include "app/cli/arguments.h"
#include "app/cli/command.h"
#include "app/cli/doctor.h"
#include "app/cli/report_files.h"
#include "app/cli/terminal.h"
#include "app/cli/worker_session.h"
#include "app/doctor/library_versions.h"
#include "app/doctor/report_document.h"
#include "app/doctor/report_words.h"
#include "engine/model/counted.h"
#include "profiling/hazards/model/names.h"
#include "profiling/hazards/report/report.h"

namespace app::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct AttachCommand {
  AttachOptions program;
  WorkerChoice worker;  // only its machine
  std::string read;     // a folder of spools instead of a command
  std::uint64_t spool_megabytes = 0;
  HangOptions hang;
  bool end_on_hang = false;
  bool json = false;
  ReportFiles files;
};

void print_ranks(const SpoolFolder& spools, FindingLines& findings) {
  for (const std::string& sentence : findings.take(spools.compared_ranks()))
    print(stderr, "expertscope: {}\n", sentence);
}

/// What the rules say of a process, without its name and its addresses. A hang belongs to one
/// process, so its name is part of the text.
std::string findings_text(const profiling::DoctorReport& report) {
  std::string text;
  for (const profiling::Finding& finding : report.findings) {
    text += fmt::format("{} {} {}\n", finding.rule, profiling::name_of(finding.confidence),
                        finding.title);
    for (const profiling::NodeRef& ref : finding.nodes) {
      const profiling::GraphSnapshot& graph =
          report.snapshot.graphs[static_cast<std::size_t>(ref.graph)];
      const profiling::SnapshotNode& node = graph.nodes[static_cast<std::size_t>(ref.node)];
      text += fmt::format("{} {}\n", node.name, node.captured_at);
    }
  }
  for (const profiling::ExperimentRecord& record : report.experiments)
    text += fmt::format("{} {}\n", report.snapshot.subject, record.title);
  return text;
}

/// Each report once: ranks that do the same make the same mistakes.
void print_each_once(const std::vector<profiling::DoctorReport>& reports) {
  std::vector<std::pair<std::string, std::vector<const profiling::DoctorReport*>>> alike;
  for (const profiling::DoctorReport& report : reports) {
    const std::string text = findings_text(report);
    const auto found = std::ranges::find(alike, text, [](const auto& one) { return one.first; });
    if (found != alike.end()) {
      found->second.push_back(&report);
    } else {
      alike.push_back({text, {&report}});
    }
  }
  for (const auto& [text, same] : alike) {
    print("{}\n", report_text(*same.front()));
    if (same.size() == 1) continue;
    std::vector<std::string> others;
    for (const profiling::DoctorReport* report : same | std::views::drop(1))
      others.push_back(report->snapshot.subject);
    const std::string titles = fmt::format("{}", fmt::join(others, ", "));
    print("{} in {}: {}\n\n", text.empty() ? "Nothing was found either" : "The same was found",
          engine::counted(others.size(), "other process", "other processes"), titles);
  }
}

std::string nothing_seen(const AttachCommand& options, const SpoolFolder& spools) {
  if (!spools.processes().empty()) return "No process captured a CUDA graph.";
  std::string chosen;
  if (!options.program.only.empty()) chosen += " --only " + options.program.only;
  if (options.program.rank) chosen += fmt::format(" --rank {}", *options.program.rank);
  return chosen.empty() ? "No process captured a CUDA graph, or used CUDA at all."
                        : fmt::format("No process that used CUDA was chosen by{}.", chosen);
}

int finish(const AttachCommand& options, const SpoolFolder& spools, FindingLines& findings,
           const std::vector<profiling::DoctorReport>& reports) {
  for (const AttachedProcess& process : spools.processes()) {
    if (process.graphs > 0) {
      print(stderr, "expertscope: {}: {}{}, launched {} in all\n", process.title,
            engine::counted(process.graphs, "graph"),
            process.marked == 0 ? "" : fmt::format(" ({} with markers)", process.marked),
            engine::counted(process.launches, "time"));
    }
    if (const std::string compared = comparisons_text(process); !compared.empty())
      print(stderr, "expertscope: {}: {}\n", process.title, compared);
    if (!process.unreadable.empty()) print(stderr, "expertscope: {}\n", process.unreadable);
    if (process.lost_frames > 0) {
      print(stderr,
            "expertscope: {}: {} records are missing; what they held is not examined "
            "({})\n",
            process.title, process.lost_frames, kMoreRecords);
    }
  }
  print_ranks(spools, findings);
  if (options.json) {
    std::vector<std::string> texts;
    for (const profiling::DoctorReport& report : reports)
      texts.push_back(profiling::to_json(report));
    print("{}\n", fmt::format("[{}]", fmt::join(texts, ",\n")));
  } else if (reports.empty()) {
    print("{}\n", nothing_seen(options, spools));
  }
  if (!options.json) print_each_once(reports);
  int code = kHealthy;
  for (const profiling::DoctorReport& report : reports) code = std::max(code, exit_code_of(report));
  std::fflush(stdout);
  if (const engine::Status kept = options.files.write(engine::RunRequest(), reports); !kept.ok()) {
    return could_not_run(kept.error());
  }
  return code;
}

int read_folder(const AttachCommand& options, const std::vector<profiling::LibraryFact>& facts) {
  SpoolFolder spools(options.read);
  if (const engine::Status read = spools.follow(true); !read.ok())
    return could_not_run(read.error());
  if (spools.processes().empty()) {
    return could_not_run(
        {engine::ErrorCode::NotFound,
         fmt::format("{} holds no record of an attached program (*.spool)", options.read)});
  }
  spools.recall_hangs();
  FindingLines findings;
  return finish(options, spools, findings, spools.reports(facts));
}

/// Ends a program that does not end by itself, such as one that waits for a device that hangs:
/// first so that it can still do something about it.
class Ending {
 public:
  explicit Ending(const AttachCommand& options) : name_(options.program.command.front()) {}

  void ask(RunningProgram& program, std::string_view why) {
    constexpr std::chrono::seconds kPatience{5};
    if (!asked_) {
      print(stderr, "expertscope: ending {} {}\n", name_, why);
      asked_ = Clock::now();
      program.end(false);
    } else if (Clock::now() - *asked_ > kPatience) {
      program.end(true);
    }
  }

 private:
  std::string name_;
  std::optional<Clock::time_point> asked_;
};

/// Ctrl+C is for the program, whose end is waited for; a second one ends it, so that what is known
/// of it is reported in any case.
class Interrupts {
 public:
  Interrupts(const AttachCommand& options, InterruptWatch& watch)
      : name_(options.program.command.front()),
        // A program here gets it from the terminal.
        forwards_(options.worker.command.remote.has_value()),
        watch_(watch) {}

  void pass_on(RunningProgram& program, Ending& ending) {
    if (watch_.seen()) {
      watch_.rearm();
      if (first_) again_ = true;
      if (!first_ && forwards_) program.interrupt();
      if (!first_) first_ = Clock::now();
    }
    constexpr std::chrono::seconds kQuick{1};
    if (first_ && !again_ && !said_ && Clock::now() - *first_ > kQuick) {
      said_ = true;
      print(stderr, "expertscope: {} has not ended yet; Ctrl+C again ends it\n", name_);
    }
    if (again_) ending.ask(program, "at the second Ctrl+C");
  }
  bool any() const { return first_.has_value() || watch_.seen(); }

 private:
  std::string name_;
  bool forwards_;
  InterruptWatch& watch_;
  std::optional<Clock::time_point> first_;
  bool again_ = false;
  bool said_ = false;
};

engine::Result<std::unique_ptr<RunningProgram>> start_there(AttachCommand& options,
                                                            const InterruptWatch& interrupt) {
  RemoteMachine& machine = *options.worker.machine;
  machine.options.library = ProvideLibrary::Skip;  // the program brings its own
  RemotePlace place;
  ENGINE_ASSIGN(place.worker, options.worker.reached());
  place.connection = machine.connection();
  options.program.output_descriptor = options.json ? STDERR_FILENO : STDOUT_FILENO;
  options.program.errors_descriptor = STDERR_FILENO;
  return start_on(place, {.program = options.program, .goes_on = false, .stop = [&interrupt] {
                            return interrupt.seen();
                          }});
}

engine::Result<std::unique_ptr<RunningProgram>> start(AttachCommand& options,
                                                      const InterruptWatch& interrupt) {
  if (options.worker.command.remote) return start_there(options, interrupt);
  ENGINE_ASSIGN(AttachedProgram program, AttachedProgram::start(options.program));
  return std::unique_ptr<RunningProgram>(std::make_unique<AttachedProgram>(std::move(program)));
}

int run_attached(AttachCommand& options, const std::vector<profiling::LibraryFact>& facts) {
  if (options.program.folder.empty()) {
    engine::Result<std::string> folder = new_spool_folder();
    if (!folder.ok()) return could_not_run(folder.error());
    options.program.folder = std::move(folder).value();
  }
  if (options.hang.core_dump) {
    auto variables = attach_core_dumps(options.program.folder);
    if (!variables.ok()) return could_not_run(variables.error());
    options.program.environment = std::move(variables).value();
  }
  options.program.spool_bytes = options.spool_megabytes << 20;
  options.program.output_to_stderr = options.json;
  InterruptWatch interrupt;
  engine::Result<std::unique_ptr<RunningProgram>> started = start(options, interrupt);
  if (!started.ok()) return could_not_run(started.error());
  RunningProgram& program = *started.value();
  Interrupts interrupts(options, interrupt);
  Ending ending(options);
  // A dump takes seconds.
  options.hang.give_up = [&] { return interrupts.any(); };
  SpoolFolder spools(options.program.folder, program.machine());
  FindingLines findings;
  std::uint64_t examined = 0;
  Clock::time_point next{};
  std::optional<std::string> end;
  bool hung = false;
  // A short program is over at once, a longer one is looked at ten times a second.
  constexpr std::chrono::milliseconds kLongest{100};
  std::chrono::milliseconds pause{2};
  while (!(end = program.ended())) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongest);
    interrupts.pass_on(program, ending);
    if (Clock::now() < next) continue;
    const Clock::time_point began = Clock::now();
    if (!spools.follow(false).ok()) continue;
    const bool hangs = spools.watch_for_hangs(options.hang);
    if (hangs && !std::exchange(hung, true)) print_ranks(spools, findings);
    if (hangs && options.end_on_hang) ending.ask(program, "because it hangs");
    if (spools.revision() == examined) continue;
    examined = spools.revision();
    for (const profiling::DoctorReport& report : spools.reports(facts)) {
      for (const std::string& line : findings.take(report))
        print(stderr, "expertscope: {}\n", line);
    }
    next = Clock::now() + pause_after_examining(Clock::now() - began);
  }
  if (const engine::Status read = spools.follow(true); !read.ok())
    return could_not_run(read.error());
  print(stderr, "expertscope: {} {}; {} {}\n", options.program.command.front(), *end,
        program.lost() ? "what had arrived of it is examined and kept in" : "its record is in",
        options.program.folder);
  const int code = finish(options, spools, findings, spools.reports(facts));
  return program.lost() ? int{kCouldNotRun} : code;
}

int attach(AttachCommand& options) {
  if (options.read.empty() == options.program.command.empty()) {
    return could_not_run(
        {engine::ErrorCode::InvalidArgument,
         "name either a command to run, as in expertscope attach -- python train.py, or the "
         "record of one with --read"});
  }
  if (!options.read.empty() && options.worker.command.remote) {
    return could_not_run({engine::ErrorCode::InvalidArgument,
                          "--read takes a record that is here, so --remote has no effect on it: "
                          "leave --remote out"});
  }
  if (options.hang.core_dump && (!options.read.empty() || options.worker.command.remote)) {
    return could_not_run(
        {engine::ErrorCode::InvalidArgument,
         fmt::format("--core-dump has no effect with {}: run attach on the machine of the program",
                     options.read.empty() ? "--remote" : "--read")});
  }
  if (const engine::Status files = options.files.check(); !files.ok())
    return could_not_run(files.error());
  const auto facts = shipped_facts();
  if (!facts.ok()) return could_not_run(facts.error());
  return options.read.empty() ? run_attached(options, facts.value())
                              : read_folder(options, facts.value());
}

}  // namespace

void add_attach_command(CLI::App& program, Action& chosen, const std::vector<std::string>& words) {
  CLI::App& command =
      *program.add_subcommand("attach",
                              "Run any program and find out what is wrong with its CUDA graphs: "
                              "expertscope attach -- python train.py\n"
                              "Exit code 0: nothing, or findings that are only possible, 1: "
                              "findings, 2: a hang, 3: could not "
                              "run, or the connection was lost");
  const auto options = std::make_shared<AttachCommand>();
  command
      .add_option("command", options->program.command, "The program and its arguments, after --")
      ->option_text("COMMAND [ARGUMENT...]");
  command
      .add_option("--only", options->program.only,
                  "Record only processes with this word on their command line: a program or script "
                  "without its folder")
      ->option_text("NAME");
  command.add_option("--rank", options->program.rank, "Record only the process whose RANK is this")
      ->option_text("N")
      ->check(at_least(0));
  command
      .add_option(
          "--folder", options->program.folder,
          "Existing folder for the record (default: a new one in the cache, kept for a week)")
      ->option_text("FOLDER")
      ->check(existing_folder());
  command
      .add_option("--working-folder", options->program.working_folder,
                  "Folder in which the program is started (default: this one; with --remote, the "
                  "login folder there)")
      ->option_text("FOLDER");
  command
      .add_option("--spool-limit", options->spool_megabytes,
                  "Largest record of one process (default: 48 MiB)")
      ->option_text("MIB")
      ->check(CLI::Range(4, 65536));
  command
      .add_option("--read", options->read,
                  "Examine the record in this folder instead of running a program")
      ->option_text("FOLDER")
      ->check(existing_folder());
  command
      .add_option("--hang-after", options->hang.after_seconds,
                  fmt::format("{} (0, as without this option: {})", kHangDeadlineMeaning,
                              usual_hang_deadline()))
      ->option_text("SECONDS")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const engine::Result<double> typed = typed_hang_deadline(text);
            return typed.ok() ? std::string() : typed.error().message;
          },
          ""));
  command.add_flag(
      "--core-dump", options->hang.core_dump,
      "When the program hangs, have the driver write a core dump of the device, without "
      "its memory, beside the record; cuda-gdb reads in it which kernel hangs. The dump ends "
      "the kernels, so the program's calls fail afterwards");
  command.add_flag(
      "--compare-memory", options->program.compare_memory,
      "Hash the device's memory before and after the first 9 replays of each graph, and later ever "
      "fewer: finds inputs that nobody refreshes and what replays carry over. Launches of "
      "these replays wait, so faults of timing may hide");
  command.add_flag("--markers", options->program.markers, kMarkersMeaning);
  command.add_flag("--end-on-hang", options->end_on_hang,
                   "End the program when it hangs, once its state is known (default: leave it)");
  command.add_flag(
      "--json", options->json,
      "Print the reports as JSON, one per process; the program's own output goes to stderr");
  options->files.add_to(command);
  options->worker.add_machine_to(command, WorkerChoice::HostIs::Option);
  // The program brings its own.
  command.remove_option(command.get_option("--remote-cublaslt"));
  command.callback([options, words, &chosen] {
    if (!words.empty()) options->program.command = words;
    chosen = [options] { return attach(*options); };
  });
}

}  // namespace app::cli
