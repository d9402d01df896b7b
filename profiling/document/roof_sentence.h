// One sentence for each operation of a run: what its kernels achieve, the roof that this run has
// measured for them, and what limits them. It claims nothing that was not measured.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/model/run_result.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/roofline.h"

namespace profiling {

/// From this part of a roof on, an operation is called near it, and memory is said to limit it.
inline constexpr double kNearRoof = 0.85;
/// Below this part it is called far from it; in between neither.
inline constexpr double kFarFromRoof = 0.7;
/// What a table says of its column of roof_words().
inline constexpr const char* kRoofColumn =
    "The lower of the two bounds that this run measured for the operation, its copy (memory) or "
    "the "
    "fastest product (its dense one, or one of its own that is faster), and how much of it is "
    "reached. From 85 % on the operation is near it, below 70 % far from it. Only at the kernel "
    "that takes most of the operation's time";
/// A launch shorter than this may spend much of its time on its beginning and its end.
inline constexpr double kShortLaunchNs = 10'000.0;

/// "fprop up achieves 412 TFLOP/s, 61 % of ...". Without a measured roof it says that. `points`:
/// all of the run, of which a product may be faster than the dense one that was to be the roof.
std::string roof_sentence(const engine::RunResult& result, std::span<const OperationPoint> points,
                          const OperationPoint& point);

/// The sentence for a kernel with this stage and this written value; it says so where no work is
/// counted.
std::string roof_sentence(const engine::RunResult& result, std::span<const OperationPoint> points,
                          engine::Stage stage, engine::WrittenValue writes);

/// The same in a word or two, for a table: "memory, 106 %", "product, 61 %": the lower of the copy
/// and the fastest product, and the part of it that is reached. Empty without counted work or
/// measured roof.
std::string roof_words(const engine::RunResult& result, std::span<const OperationPoint> points,
                       engine::Stage stage, engine::WrittenValue writes);

/// All stages of a roofline in one sentence: the share of the measured roof at their intensity that
/// each reaches. Empty if this run measured no roof.
std::string roofline_sentence(const engine::RunResult& result,
                              std::span<const RooflinePoint> points);

/// One for each operation with counted work, in the order of the stages.
std::vector<std::string> roof_sentences(const RecordedRun& run);

}  // namespace profiling
