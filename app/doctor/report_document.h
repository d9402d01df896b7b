// A visit to the doctor as a document: what was examined, the findings with evidence and fixes, the
// experiments, and what is known about a stall.
#pragma once

#include <string>

#include "profiling/document/document.h"
#include "profiling/hazards/model/doctor_report.h"

namespace app {

/// Without the conclusion, which each reader wants elsewhere. The report must outlive the document.
profiling::Document report_document(const profiling::DoctorReport& report);

/// The experiments of a visit in the order in which they ran.
profiling::Table experiments_table(const profiling::DoctorReport& report);

/// The report as Markdown, conclusion first. Equal reports give equal text.
std::string report_markdown(const profiling::DoctorReport& report);

}  // namespace app
