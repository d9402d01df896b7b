// What every command of `expertscope` shares: how it is declared, how it ends, how it fails.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "engine/model/error.h"

namespace app::cli {

enum ExitCode { kExitOk = 0, kExitUserError = 1, kExitWorkerFailure = 2 };
/// Of `doctor`, for CI: what a script wants to know is in the exit code.
enum DoctorExit { kHealthy = 0, kFindings = 1, kHang = 2, kCouldNotRun = 3 };

/// Set by the command line's parse to the command that was chosen; returns the exit code.
using Action = std::function<int()>;

void add_open_command(CLI::App& program, Action& chosen);
void add_run_command(CLI::App& program, Action& chosen);
void add_quantize_command(CLI::App& program, Action& chosen);
void add_compare_command(CLI::App& program, Action& chosen);
void add_sweep_command(CLI::App& program, Action& chosen);
void add_ab_command(CLI::App& program, Action& chosen);
void add_bench_command(CLI::App& program, Action& chosen);
void add_doctor_command(CLI::App& program, Action& chosen);
void add_list_command(CLI::App& program, Action& chosen);
void add_export_command(CLI::App& program, Action& chosen);

/// Writes the error to stderr. A device or a worker that failed is not the person's mistake and
/// gets the other code.
int report(const engine::Error& error);

}  // namespace app::cli
