// Versions and the dated statements about them (assets/facts). A version is compared number by
// number, as far as both sides go: "13.6.0.2" is not behind a bound "13.6".
#pragma once

#include <string_view>

#include "profiling/hazards/rules/diagnosis.h"

namespace profiling {

/// Negative: a is older; 0: the same as far as both go; positive: a is newer.
int compare_versions(std::string_view a, std::string_view b);

/// Digits and dots, at least one number.
bool is_version(std::string_view text);

/// False for an empty or odd version: nothing is known of it.
bool holds_for(const LibraryFact& fact, std::string_view version);

/// "statement (source, date)", as evidence of a finding.
std::string evidence_of(const LibraryFact& fact);

}  // namespace profiling
