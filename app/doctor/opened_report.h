// What is known of captured graphs that come from a file instead of a visit.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "profiling/hazards/model/doctor_report.h"
#include "profiling/hazards/rules/diagnosis.h"
#include "profiling/session/session_file.h"

namespace app {

/// The rules' findings for a graph that has not been experimented on.
profiling::DoctorReport report_by_rules(profiling::Snapshot snapshot,
                                        const std::vector<profiling::LibraryFact>& facts);

/// A visit with experiments keeps what they have shown, which no rule can repeat; the rules examine
/// everything else, with the facts that are known today.
profiling::DoctorReport report_of(profiling::OpenedSnapshot opened,
                                  const std::vector<profiling::LibraryFact>& facts);

/// Whether the subject is a process of a program that was attached to ("train.py (process 1234,
/// rank 0)"). Nothing proves its findings: experiments change and launch steps of our own.
bool examines_attached(const profiling::Snapshot& snapshot);

/// Whether an experiment has proved one of its findings.
bool holds_proof(const profiling::DoctorReport& report);

/// Index of the first snapshot that holds a proof, else 0. `opened` is not empty.
std::size_t most_certain(const std::vector<profiling::OpenedSnapshot>& opened);
/// The same for visits: the one to show when a recording is opened.
std::size_t most_certain(
    const std::vector<std::shared_ptr<const profiling::RecordedVisit>>& visits);

/// The request of the step that was examined. Null where it is not known: the subject is a program
/// of the gallery, or a step of other sizes than the visit's request.
const engine::RunRequest* examined_request(const profiling::RecordedVisit& visit);

/// Whether a visit is to the step of a run with this request, however that was measured.
bool examines_step_of(const profiling::RecordedVisit& visit, const engine::RunRequest& run);

/// The device that a visit was made on; of a snapshot without one, no text.
engine::DeviceFacts examined_device(const profiling::RecordedVisit& visit);

}  // namespace app
