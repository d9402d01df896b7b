// `expertscope`: the window and the command line in one program that links no CUDA library.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/file_readers.h"
#include "app/cli/help_formatter.h"
#include "app/cli/request_options.h"
#include "app/cli/terminal.h"
#include "app/cli/typed_line.h"
#include "app/protocol/descriptor.h"
#include "app/protocol/paths.h"
#include "app/protocol/worker_command.h"
#include "engine/model/guarded_thread.h"
#include "engine/model/path_text.h"
#include "engine/model/text.h"

namespace app::cli {

int report(const engine::Error& error) {
  print(stderr, "expertscope: {}\n", message_as_typed(error));
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

/// "run", "doctor", "doctor gallery", ...
std::vector<std::string> command_titles(const CLI::App& above, const std::string& prefix) {
  std::vector<std::string> titles;
  for (const CLI::App* command : above.get_subcommands({})) {
    if (command->get_name().empty()) continue;  // a group of options
    titles.push_back(prefix + command->get_name());
    for (std::string& inner : command_titles(*command, titles.back() + " ")) {
      titles.push_back(std::move(inner));
    }
  }
  return titles;
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

/// The command that was reached, and its name with those above it: "doctor matrix".
struct Reached {
  const CLI::App* command;
  std::string title;
};
Reached reached(const CLI::App& program) {
  Reached found{.command = &program, .title = {}};
  while (!found.command->get_subcommands().empty()) {
    found.command = found.command->get_subcommands().front();
    found.title += (found.title.empty() ? "" : " ") + found.command->get_name();
  }
  return found;
}

std::string spelled(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

/// The commands that have the option of this name, without its hyphens, in whatever spelling: "ab",
/// "doctor matrix".
std::vector<std::string> commands_with(const CLI::App& above, const std::string& name,
                                       const std::string& prefix = {}) {
  std::vector<std::string> found;
  for (const CLI::App* command : above.get_subcommands({})) {
    if (command->get_name().empty()) continue;  // a group of options
    const std::string title = prefix + command->get_name();
    const bool has =
        std::ranges::any_of(app::cli::options_of(*command), [&name](const CLI::Option* option) {
          const std::vector<std::string>& names = option->get_lnames();
          return std::ranges::find(names, spelled(name), spelled) != names.end();
        });
    if (has) found.push_back(title);
    for (std::string& inner : commands_with(*command, name, title + " ")) {
      found.push_back(std::move(inner));
    }
  }
  return found;
}

std::string no_option(const CLI::App& program, const Reached& at, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* one : app::cli::options_of(*at.command)) {
    for (const std::string& word : one->get_lnames()) known.push_back("--" + word);
  }
  // Without a command's name the window is opened, but the program's options may be meant.
  if (at.title == "open") known.emplace_back("--version");
  // An option of another command is meant rather than one of this command that is like it.
  const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  const std::vector<std::string> others = commands_with(program, bare);
  if (others.empty()) {
    return fmt::format("{} has no option {}{}", at.title, name, engine::suggestion(name, known));
  }
  constexpr std::size_t kMostNamed = 3;
  const auto named = std::span(others).first(std::min(others.size(), kMostNamed));
  return fmt::format("{} has no option {}; it is an option of {}{}", at.title, name,
                     fmt::join(named, ", "),
                     named.size() < others.size() ? " and other commands" : "");
}

/// What is wrong with the first argument that no command takes.
std::string unexpected(const CLI::App& program, const Reached& at) {
  const std::vector<std::string> rest = program.remaining(true);
  if (rest.empty()) return "too many arguments";
  const auto option = std::ranges::find_if(
      rest, [](const std::string& one) { return one.size() > 1 && one[0] == '-'; });
  if (option != rest.end()) return no_option(program, at, *option);
  return fmt::format("'{}' was not expected{}", rest.front(),
                     app::cli::way_out(*at.command, rest.front()));
}

/// The file that a command needs and did not get, given without its option's name.
std::string without_file(const Reached& at) {
  for (const CLI::Option* one : app::cli::options_of(*at.command)) {
    if (!one->get_required() || one->count() > 0 || !one->get_positional()) continue;
    const std::string& what = one->get_option_text();
    return what == "HOST" ? fmt::format("a host is required, as in expertscope {} HOST", at.title)
                          : fmt::format("a file is required, as in expertscope {} FILE", at.title);
  }
  return {};
}

/// Without the name of an option that takes a file also by itself: what is wrong with it names the
/// file.
std::string without_untyped_name(const CLI::App& command, const std::string& what) {
  for (const CLI::Option* one : app::cli::options_of(command)) {
    const std::string prefix = one->get_name() + ": ";
    if (one->get_positional() && what.starts_with(prefix)) return what.substr(prefix.size());
  }
  return {};
}

/// The first option that was given more often than it is read.
std::string repeated(const CLI::App& command) {
  for (const CLI::Option* one : app::cli::options_of(command)) {
    const auto most = static_cast<std::size_t>(std::max(one->get_items_expected_max(), 1));
    if (one->get_lnames().empty() || one->count() <= most) continue;
    return fmt::format("--{} was given {} times ({}); give it once", one->get_lnames().front(),
                       one->count(), fmt::join(one->results(), ", "));
  }
  return {};
}

/// "--blocks is 'x'; it must be a whole number", for a value that the option's type cannot hold.
std::string not_held(const CLI::App& command) {
  for (const CLI::Option* one : app::cli::options_of(command)) {
    for (const std::string& text : one->results()) {
      if (one->get_items_expected_max() == 0 && text != "true" && text != "false") {
        return fmt::format("{} is only given or left out; it takes no value", one->get_name());
      }
      const bool real = one->get_type_name() == "FLOAT";
      if (!real && one->get_type_name().find("INT") == std::string::npos) continue;
      double number = 0;
      const bool reads = CLI::detail::lexical_cast(text, number);
      if (reads && (real || (number == std::trunc(number) && std::fabs(number) < 0x1p31))) continue;
      return fmt::format("{} is '{}'; it must be a {}", one->get_name(), text,
                         real ? "number" : "whole number of at most 9 digits");
    }
  }
  return {};
}

/// The name of a file that was given and is empty; no command takes it for the name of none.
std::string empty_name(const CLI::App& command) {
  for (const CLI::Option* one : app::cli::options_of(command)) {
    if (!one->get_lnames().empty() && app::cli::is_request_field(one->get_lnames().front())) {
      continue;
    }
    if (std::ranges::find(one->results(), "") == one->results().end()) continue;
    return fmt::format("{} is empty; give it a value or leave it out", one->get_name());
  }
  return {};
}

/// The sentence for a command line that could not be read. `unknown`: its first unknown option,
/// which explains the rest.
std::string refusal(const CLI::App& program, const CLI::ParseError& error,
                    const std::string& unknown) {
  const auto is = [&error]<class Kind>(const Kind*) {
    return dynamic_cast<const Kind*>(&error) != nullptr;
  };
  constexpr std::string_view kMissing = " missing";
  const Reached at = reached(program);
  const std::string what = error.what();
  std::string says;
  if (!unknown.empty() && at.command != &program) {
    says = no_option(program, at, unknown);
  } else if (is(static_cast<const CLI::ExtrasError*>(nullptr))) {
    says = unexpected(program, at);
  } else if (is(static_cast<const CLI::ArgumentMismatch*>(nullptr))) {
    says = what.ends_with(kMissing) ? what.substr(0, what.find(':')) + " needs a value"
                                    : repeated(*at.command);
  } else if (is(static_cast<const CLI::ConversionError*>(nullptr))) {
    says = not_held(*at.command);
  } else if (is(static_cast<const CLI::RequiredError*>(nullptr))) {
    says = without_file(at);
  } else if (is(static_cast<const CLI::ValidationError*>(nullptr))) {
    says = without_untyped_name(*at.command, what);
  } else if (is(static_cast<const CLI::ExcludesError*>(nullptr))) {
    says = what + ": leave out one of them";
  }
  // For a group of options CLI11 says "At least 1 option from [--chrome,--csv] is required".
  constexpr std::string_view kGroup = "At least 1 option from [";
  if (unknown.empty() && what.starts_with(kGroup)) {
    std::string names = what.substr(kGroup.size(), what.find(']') - kGroup.size());
    for (std::size_t at_comma = 0; (at_comma = names.find(',', at_comma)) != std::string::npos;) {
      names.replace(at_comma, 1, ", ");
      at_comma += 2;
    }
    says = fmt::format("one of {} is required", names);
  }
  if (says.empty()) says = what;
  return fmt::format("{}; see expertscope {}{}--help", says, at.title, at.title.empty() ? "" : " ");
}

/// '-' and '_' are the same in the names of options: "--num-experts" becomes the "--num_experts"
/// that is declared. All options of a command and of those below it are one vocabulary.
void add_spellings(const CLI::App& command, std::map<std::string, std::string>& spellings) {
  for (const CLI::Option* option : app::cli::options_of(command)) {
    for (const std::string& name : option->get_lnames()) spellings.emplace(spelled(name), name);
  }
  for (const CLI::App* one : command.get_subcommands({})) add_spellings(*one, spellings);
}

/// Returns the first option that is unknown however it is spelled; empty = none.
std::string spell_options(const CLI::App& program, std::vector<std::string>& arguments) {
  std::string unknown;
  std::map<std::string, std::string> spellings;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (command->get_name() == arguments.front()) add_spellings(*command, spellings);
  }
  for (std::string& argument : arguments) {
    if (argument == "--") break;  // only values follow
    if (!argument.starts_with("--")) continue;
    const std::size_t end = std::min(argument.find('='), argument.size());
    const auto found = spellings.find(spelled(argument.substr(2, end - 2)));
    if (found != spellings.end()) {
      argument.replace(2, end - 2, found->second);
    } else if (unknown.empty()) {
      unknown = argument;
    }
  }
  return unknown;
}

/// Of `attach ... -- COMMAND`: CLI11 would refuse empty words, and split "[a,b]" into two.
std::vector<std::string> take_words_of_program(std::vector<std::string>& arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  if (dashes == arguments.end() || arguments.front() != "attach") return {};
  std::vector<std::string> words(std::next(dashes), arguments.end());
  arguments.erase(dashes, arguments.end());
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  app::set_write_signals(app::ClosedPipe::EndsProgram);
  CLI::App program("Runs a grouped quantize + GEMM step, shows it and explains it.", "expertscope");
  program.formatter(std::make_shared<app::cli::HelpFormatter>());
  program.set_version_flag("--version", std::string("expertscope ") + app::kProgramVersion);
  program.require_subcommand(1);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  app::cli::note_typed_words(arguments);
  const std::vector<std::string> words = take_words_of_program(arguments);
  app::cli::Action chosen;
  app::cli::add_open_command(program, chosen);
  app::cli::add_run_command(program, chosen);
  app::cli::add_quantize_command(program, chosen);
  app::cli::add_compare_command(program, chosen);
  app::cli::add_sweep_command(program, chosen);
  app::cli::add_ab_command(program, chosen);
  app::cli::add_bench_command(program, chosen);
  app::cli::add_doctor_command(program, chosen);
  app::cli::add_attach_command(program, chosen, words);
  app::cli::add_list_command(program, chosen);
  app::cli::add_export_command(program, chosen);
  app::cli::add_connect_command(program, chosen);
  app::cli::add_bundle_command(program, chosen);

  if (means_open(program, arguments)) {
    arguments.insert(arguments.begin(), "open");
  } else if (!arguments.front().starts_with('-') && !has_command(program, arguments.front())) {
    app::cli::print(stderr,
                    "expertscope: '{}' is neither a command nor a file{}; see expertscope --help\n",
                    engine::shown_path(arguments.front()),
                    engine::suggestion(arguments.front(), command_titles(program, "")));
    return app::cli::kExitUserError;
  }
  const std::string unknown = spell_options(program, arguments);
  std::vector<std::string> reversed(arguments.rbegin(),
                                    arguments.rend());  // CLI11 takes them in reverse
  // Exit code 1 of these means findings.
  const auto failure = [&program] {
    return program.got_subcommand("doctor") || program.got_subcommand("attach")
               ? int{app::cli::kCouldNotRun}
               : int{app::cli::kExitUserError};
  };
  int code = app::cli::kExitOk;
  try {
    program.parse(std::move(reversed));
    if (const std::string flaw = empty_name(*reached(program).command); !flaw.empty()) {
      app::cli::print(stderr, "expertscope: {}\n", flaw);
      return failure();
    }
    code = chosen();
  } catch (const CLI::Success& done) {  // --help and --version
    program.exit(done);
  } catch (const CLI::ParseError& error) {
    app::cli::print(stderr, "expertscope: {}\n", refusal(program, error, unknown));
    return failure();
  } catch (...) {  // mostly from standard output: its disk may be full
    app::cli::print(stderr, "expertscope: {}\n", engine::caught_error().message);
    return failure();
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    app::cli::print(stderr, "expertscope: standard output cannot be written: {}\n",
                    std::strerror(errno));
    return code == app::cli::kExitOk ? failure() : code;
  }
  return code;
}
