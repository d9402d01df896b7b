// Prints a run's result for people at a terminal: what was not measured is left out.
#pragma once

#include <fmt/format.h>

#include <string>

#include "engine/model/snr_words.h"
#include "profiling/session/session_file.h"

namespace app::cli {

/// "SNR 31.60 dB (2 left out), 12 of 4096 saturated, 3 underflowed, 2 lost": what quantizing an
/// operand cost, as OperandStatistics or QuantizationLoss.
template <class Loss>
std::string loss_text(const Loss& loss) {
  return fmt::format("SNR {}, {} of {} saturated, {} underflowed, {} lost", engine::snr_text(loss),
                     loss.saturated, loss.elements, loss.underflowed, loss.lost);
}

void print_summary(const profiling::RecordedRun& run);

}  // namespace app::cli
