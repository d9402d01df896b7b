// Prints a run's result for people at a terminal: what was not measured is left out.
#pragma once

#include <cstdint>
#include <string>

#include "profiling/session/session_file.h"

namespace app::cli {

/// "SNR 31.60 dB, 12 of 4096 saturated, 3 underflowed": what quantizing an operand cost.
std::string loss_text(double snr_db, std::uint64_t saturated, std::uint64_t underflowed,
                      std::uint64_t elements);

void print_summary(const profiling::RecordedRun& run);

}  // namespace app::cli
