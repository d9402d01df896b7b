// The rules, one function each. A rule adds its findings and reads only the context, so that each
// can be understood, tested and removed separately. Never Proved or Disproved.
#pragma once

#include <vector>

#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/rules/context.h"

namespace profiling {

void find_shared_workspaces(RuleContext& context, std::vector<Finding>& findings);
void find_freed_memory(RuleContext& context, std::vector<Finding>& findings);
void find_pool_aliases(RuleContext& context, std::vector<Finding>& findings);
void find_host_sources(RuleContext& context, std::vector<Finding>& findings);
void find_baked_values(RuleContext& context, std::vector<Finding>& findings);
void find_unreset_counters(RuleContext& context, std::vector<Finding>& findings);
void find_unfreed_allocations(RuleContext& context, std::vector<Finding>& findings);
void find_unwaited_edges(RuleContext& context, std::vector<Finding>& findings);
void find_unordered_accesses(RuleContext& context, std::vector<Finding>& findings);
void find_capture_mistakes(RuleContext& context, std::vector<Finding>& findings);

/// How to fix a rule's finding, in words and as code for three libraries.
Fix fix_of(const std::string& rule);

}  // namespace profiling
