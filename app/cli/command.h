// What every command of `expertscope` shares: how it is declared, how it ends, how it fails.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "engine/model/error.h"

namespace app::cli {

enum ExitCode { kExitOk = 0, kExitUserError = 1, kExitWorkerFailure = 2 };
/// Exit codes of `doctor`, for scripts and CI.
enum DoctorExit { kHealthy = 0, kFindings = 1, kHang = 2, kCouldNotRun = 3 };

/// Set while the command line is parsed, to the chosen command; returns the exit code.
using Action = std::function<int()>;

void add_open_command(CLI::App& program, Action& chosen);
void add_run_command(CLI::App& program, Action& chosen);
void add_quantize_command(CLI::App& program, Action& chosen);
void add_compare_command(CLI::App& program, Action& chosen);
void add_sweep_command(CLI::App& program, Action& chosen);
void add_ab_command(CLI::App& program, Action& chosen);
void add_bench_command(CLI::App& program, Action& chosen);
void add_doctor_command(CLI::App& program, Action& chosen);
/// `words`: the program's, which nothing here reads; empty = they are among the arguments.
void add_attach_command(CLI::App& program, Action& chosen, const std::vector<std::string>& words);
void add_list_command(CLI::App& program, Action& chosen);
void add_export_command(CLI::App& program, Action& chosen);
void add_connect_command(CLI::App& program, Action& chosen);
void add_bundle_command(CLI::App& program, Action& chosen);

/// Writes the error to stderr, with options named as the user typed them. A failed device or worker
/// is not the user's mistake and gets the other exit code.
int report(const engine::Error& error);

}  // namespace app::cli
