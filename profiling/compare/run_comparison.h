// Two runs side by side: the step, its stages, kernels and experts, and the settings that differ.
// Computed once for a pair of runs; too expensive to recompute per frame.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/model/run_result.h"
#include "engine/model/stage.h"
#include "profiling/compare/time_difference.h"
#include "profiling/session/session_file.h"

namespace profiling {

// What differs between two runs: request, effective settings, device, library.

struct SettingsRow {
  std::string group;  // "requested", "effective", "device"
  std::string field;  // as on the command line: "recipe.pow2_scales"
  std::string a;      // "absent" if only the other side has the field
  std::string b;
};

struct SettingsDifference {
  /// Fields that differ; and effective ones that are equal where the requested ones are not.
  std::vector<SettingsRow> rows;
  std::size_t same = 0;  // number of fields in all groups that are equal
  std::vector<engine::Deviation> deviations_a = {};
  std::vector<engine::Deviation> deviations_b = {};

  std::size_t differing() const;
  /// The requests differ, and nothing else does.
  bool only_requested() const;
};

/// Effective settings that differ exactly as the requested ones do are listed once, as requested.
SettingsDifference settings_difference(const RecordedRun& a, const RecordedRun& b);

/// Runs of one side; several runs are the blocks of an interleaved measurement, in order.
using RunSide = std::vector<const RecordedRun*>;
/// Runs of one label, in order.
RunSide side_of(std::span<const std::shared_ptr<const RecordedRun>> runs, const std::string& label);

/// One stage: the time of its records in one iteration, one sample per iteration.
struct StageRow {
  engine::Stage stage = engine::Stage::Other;
  TimeDifference time;
};

/// One kernel or span by name and operation; one sample per record. A side without it has n = 0.
struct KernelRow {
  std::string name;
  std::string operation;  // engine::operation_name(); empty if a side does not know its operations
  engine::Stage stage = engine::Stage::Other;
  TimeDifference time;
  std::vector<double> samples_a = {};  // ns, for histograms
  std::vector<double> samples_b = {};
};

struct ExpertRow {
  int expert = 0;
  std::int64_t tokens_a = 0;
  std::int64_t tokens_b = 0;
  std::uint64_t left_out_a = 0;  // by the SNR
  std::uint64_t left_out_b = 0;
  double snr_a_db = 0.0;  // of the product; NaN if a side has none
  double snr_b_db = 0.0;
  TimeDifference time;  // see RunComparison::expert_method; n = 0 if none
};

struct RunComparison {
  TimeDifference step;  // iterations
  std::vector<StageRow> stages;
  std::vector<KernelRow> kernels;  // largest sum of both sides first
  std::vector<ExpertRow> experts;
  /// How experts were timed: by all their records of an iteration, if records name experts;
  /// otherwise by one stage, from the stamps or isolated launches that both runs measured, for
  /// which only medians and spreads are kept. Empty if neither is available.
  std::string expert_method;
  std::string no_expert_time;  // why there is none; empty if both sides have it
  std::string expert_test;     // by what an expert's verdict is made
  /// Why no row has a verdict: the sides do different work, ran on different devices, or ran the
  /// same step. Else empty.
  std::string not_comparable;
  /// Why the experts' SNRs cannot be subtracted: the sides multiply other tensors. Else empty.
  std::string no_snr_difference;
};

/// Sides must not be empty. SNRs are those of the first run of a side: numerics do not vary between
/// blocks.
RunComparison compare_runs(const RunSide& a, const RunSide& b, engine::Product product);

/// "5 of 8 experts differ by ..."; where some have no verdict, with the reasons: "0 of 8 experts
/// differ by ...: too few samples (5 and 5 ...)". Of the experts that both sides timed.
std::string expert_verdicts(const RunComparison& comparison);

/// Iterations of a side, with its blocks if it has several.
TimeSamples step_samples(const RunSide& side);
/// SNR of one expert's product; NaN if the run has none.
engine::ProductAccuracy expert_accuracy(const RecordedRun& run, std::size_t expert,
                                        engine::Product product);

}  // namespace profiling
