// Tables of the graph doctor.
#pragma once

#include <cstddef>
#include <optional>

#include "profiling/document/table.h"
#include "profiling/hazards/model/doctor_report.h"
#include "profiling/session/session_file.h"

namespace profiling {

/// One row per finding. The report must outlive the table.
Table findings_table(const DoctorReport& report);
/// The same for a file of several visits: with the time of this one.
Table findings_table(const RecordedVisit& visit);
/// Every check of every experiment. The report must outlive the table.
Table output_checks_table(const DoctorReport& report);
/// One row per node of the captured graphs, or of one of them. The snapshot must outlive the table.
Table snapshot_nodes_table(const Snapshot& snapshot,
                           std::optional<std::size_t> graph = std::nullopt);

}  // namespace profiling
