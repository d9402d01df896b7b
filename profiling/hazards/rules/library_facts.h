// Versions and the dated statements about them (assets/facts). Versions are compared number by
// number, up to the shorter one: "13.6.0.2" is not beyond a bound "13.6".
#pragma once

#include <string_view>

#include "profiling/hazards/rules/diagnosis.h"

namespace profiling {

/// Negative: a is older; 0: equal up to the shorter one; positive: a is newer.
int compare_versions(std::string_view a, std::string_view b);

/// Digits and dots, at least one number.
bool is_version(std::string_view text);

/// False for an empty or malformed version: nothing is known about it.
bool holds_for(const LibraryFact& fact, std::string_view version);

/// "statement (source, date)", as evidence of a finding.
std::string evidence_of(const LibraryFact& fact);

}  // namespace profiling
