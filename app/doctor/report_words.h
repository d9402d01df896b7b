// A report in words: titles of nodes and experiments, symptoms, the one-sentence conclusion, and
// the verdict for scripts.
#pragma once

#include <string>

#include "profiling/hazards/model/doctor_report.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// "fprop up, layer 0", the operation that launched it; "fprop, layer 0, up" if that is not known
/// and, for a node without a stage, "spin_kernel (node 4)"; with the graph's name if there are
/// several. A node that is not in the snapshot is "node 4".
std::string node_title(const profiling::Snapshot& snapshot, profiling::NodeRef node);

/// "eager, three times", "replayed", "fprop, layer 1 in other memory", "workspaces filled with
/// 0xff", ...
std::string experiment_title(const profiling::Snapshot& snapshot,
                             const profiling::Experiment& experiment);

/// One sentence. Without experiments, the rules' findings; with them, what they have shown. A
/// smallest cure without a proved finding is one that no rule explains.
std::string conclusion_of(const profiling::DoctorReport& report);

/// "Smallest cure: separate memory for dgrad, layer 0 in place of "workspace of all products"."; a
/// line for each piece of memory; empty if none was found.
std::string smallest_cure_text(const profiling::DoctorReport& report);

/// Of a disproved finding: what stands in place of its reason and its fix. Empty for others.
std::string disproved_text(const profiling::Finding& finding);

/// "Markers cost 15.0 % of a replay: 53.7 us with them, 46.7 us without (medians of 16 each,
/// interleaved)."; empty if no experiment has measured it.
std::string marker_cost_text(const profiling::DoctorReport& report);

/// What a watched program is called where our own steps have the names of experiments.
inline constexpr const char* kProgramItself = "the program itself";
/// Where a program hangs, as far as that is known: "The program hangs in spin (node 2) of graph 2,
/// captured at train.py:42 step; scale (node 1) of graph 2 ended last."
std::string hang_sentence(const profiling::Snapshot& snapshot, const profiling::Stall& stall);
/// "replays are wrong from replay 2 on", "replay 2 hangs", "CUDA refuses it: ...", ...
std::string symptom_of(const profiling::Experiment& experiment, const profiling::Outcome& outcome);

/// The verdict for scripts. Hang: in eager launches or in replays of the unchanged graph. Findings:
/// likely or proved ones, or outputs that are wrong regardless of the rules. NotRun: eager
/// launches fail, or nothing could be replayed although proofs were requested.
enum class Health { Healthy, Findings, Hang, NotRun };
Health health_of(const profiling::DoctorReport& report);

/// Neither right nor not run.
bool failed(const profiling::Outcome& outcome);

}  // namespace app
