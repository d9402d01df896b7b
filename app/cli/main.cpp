// `expertscope`: the window and the command line in one program that links no CUDA library.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/terminal.h"
#include "app/protocol/descriptor.h"
#include "app/protocol/paths.h"
#include "engine/model/text.h"

namespace app::cli {

int report(const engine::Error& error) {
  print(stderr, "expertscope: {}\n", error.message);
  switch (error.code) {
    case engine::ErrorCode::InvalidArgument:
    case engine::ErrorCode::NotFound:
    case engine::ErrorCode::Io:
    case engine::ErrorCode::Unsupported:
      return kExitUserError;
    case engine::ErrorCode::OutOfMemory:
    case engine::ErrorCode::Device:
    case engine::ErrorCode::Protocol:
    case engine::ErrorCode::Cancelled:
    case engine::ErrorCode::Internal:
      break;
  }
  return kExitWorkerFailure;
}

}  // namespace app::cli

namespace {

bool is_program_option(const std::string& argument) {
  return argument == "-h" || argument == "--help" || argument == "--version";
}

bool has_command(const CLI::App& program, const std::string& name) {
  for (const CLI::App* command : program.get_subcommands({})) {
    if (command->get_name() == name) return true;
  }
  return false;
}

/// `expertscope`, `expertscope FILE` and `expertscope --tour DIR` mean `expertscope open ...`.
bool means_open(const CLI::App& program, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return true;
  const std::string& first = arguments.front();
  if (is_program_option(first)) return false;
  if (first.starts_with('-')) return true;
  if (has_command(program, first)) return false;
  std::error_code error;
  return std::filesystem::exists(first, error);
}

/// What is wrong with the first argument that no command takes.
std::string unexpected(const CLI::App& program) {
  const CLI::App* innermost = &program;
  std::string title;
  while (!innermost->get_subcommands().empty()) {
    innermost = innermost->get_subcommands().front();
    title += (title.empty() ? "" : " ") + innermost->get_name();
  }
  const CLI::App& command = *innermost;
  const std::vector<std::string> rest = program.remaining(true);
  if (rest.empty()) return "too many arguments";
  const auto option = std::ranges::find_if(
      rest, [](const std::string& one) { return one.size() > 1 && one[0] == '-'; });
  std::string name = option == rest.end() ? rest.front() : *option;
  name = name.substr(0, name.find('='));
  const std::string see = fmt::format("; see expertscope {} --help", title);
  if (option == rest.end()) return fmt::format("'{}' was not expected{}", name, see);
  std::vector<std::string> known;
  for (const CLI::Option* one : command.get_options()) {
    for (const std::string& word : one->get_lnames()) known.push_back("--" + word);
  }
  return fmt::format("{} has no option {}{}{}", title, name, engine::suggestion(name, known), see);
}

}  // namespace

int main(int argc, char** argv) {
  app::set_write_signals(app::ClosedPipe::EndsProgram);
  CLI::App program("Runs a grouped quantize + GEMM step, shows it and explains it.", "expertscope");
  program.set_version_flag("--version", std::string("expertscope ") + app::kProgramVersion);
  program.require_subcommand(1);
  app::cli::Action chosen;
  app::cli::add_open_command(program, chosen);
  app::cli::add_run_command(program, chosen);
  app::cli::add_quantize_command(program, chosen);
  app::cli::add_compare_command(program, chosen);
  app::cli::add_sweep_command(program, chosen);
  app::cli::add_ab_command(program, chosen);
  app::cli::add_bench_command(program, chosen);
  app::cli::add_doctor_command(program, chosen);
  app::cli::add_list_command(program, chosen);
  app::cli::add_export_command(program, chosen);

  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (means_open(program, arguments)) {
    arguments.insert(arguments.begin(), "open");
  } else if (!arguments.front().starts_with('-') && !has_command(program, arguments.front())) {
    app::cli::print(stderr,
                    "expertscope: '{}' is neither a command nor a file; see expertscope --help\n",
                    arguments.front());
    return app::cli::kExitUserError;
  }
  std::vector<std::string> reversed(arguments.rbegin(),
                                    arguments.rend());  // CLI11 takes them in reverse
  // The doctor's exit code 1 means findings.
  const auto failure = [&program] {
    return program.got_subcommand("doctor") ? int{app::cli::kCouldNotRun}
                                            : int{app::cli::kExitUserError};
  };
  int code = app::cli::kExitOk;
  try {
    program.parse(std::move(reversed));
    code = chosen();
  } catch (const CLI::ExtrasError&) {
    app::cli::print(stderr, "expertscope: {}\n", unexpected(program));
    return failure();
  } catch (const CLI::ParseError& error) {  // --help and --version too
    if (program.exit(error) != 0) return failure();
  } catch (const std::exception& error) {  // mostly from standard output: its disk may be full
    app::cli::print(stderr, "expertscope: {}\n", error.what());
    return failure();
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    app::cli::print(stderr, "expertscope: standard output cannot be written: {}\n",
                    std::strerror(errno));
    return code == app::cli::kExitOk ? failure() : code;
  }
  return code;
}
