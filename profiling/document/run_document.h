// What there is to say about a run or a comparison of recipes.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "engine/model/snr_words.h"
#include "profiling/document/document.h"
#include "profiling/document/quantity.h"
#include "profiling/session/session_file.h"

namespace profiling {

/// Settings, times, numerics and traces of a run; what was not measured is left out. `summary`: its
/// request in words; empty where it is known. The run must outlive the document.
Document run_document(const RecordedRun& run, const std::string& summary);

/// What was measured, in words, and on which device: the first facts of what a command prints.
/// `request`: empty where it is known.
void add_subject(Document& document, const std::string& request, const engine::DeviceFacts& device);

/// One operand with every recipe. The comparison must outlive the document.
Document comparison_document(const RecordedComparison& recorded);

/// "SNR 31.60 dB (2 left out), 12 of 4 096 saturated, 3 underflowed, 2 lost, 5 NaN or infinite
/// before quantization": what quantizing an operand cost, as OperandStatistics or QuantizationLoss.
template <class Loss>
std::string loss_text(const Loss& loss) {
  return fmt::format("SNR {}, {} of {} saturated, {} underflowed, {} lost{}",
                     engine::snr_text(loss), count_text(loss.saturated), count_text(loss.elements),
                     count_text(loss.underflowed), count_text(loss.lost),
                     loss.undefined == 0 ? std::string()
                                         : fmt::format(", {} NaN or infinite before quantization",
                                                       count_text(loss.undefined)));
}

/// "workspace: per-matmul instead of shared: ...", with the reason.
std::string deviation_text(const engine::Deviation& deviation);

/// "2026-11-26 04:20 UTC" of a Unix time in ms; "unknown date" of 0.
std::string date_text(std::int64_t unix_ms);

/// "NVIDIA H200, driver 580.159.04, cuBLASLt 13.10.0".
std::string device_text(const engine::DeviceFacts& device);

}  // namespace profiling
