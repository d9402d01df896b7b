// Shared by the tests of the rules: the shipped facts, and what every finding must contain.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "profiling/hazards/rules/diagnosis.h"

namespace profiling {

inline std::vector<LibraryFact> shipped_facts() {
  const auto facts = load_library_facts(EXPERTSCOPE_ASSETS "/facts/libraries.json");
  EXPECT_TRUE(facts.ok());
  return facts.ok() ? facts.value() : std::vector<LibraryFact>{};
}

/// Every finding has all its texts.
inline void expect_complete(const Finding& finding) {
  EXPECT_FALSE(finding.rule.empty());
  EXPECT_GT(finding.hazard, 0) << finding.rule;
  EXPECT_LE(finding.confidence, Confidence::Likely) << finding.rule;
  EXPECT_FALSE(finding.title.empty()) << finding.rule;
  EXPECT_FALSE(finding.explanation.empty()) << finding.rule;
  EXPECT_FALSE(finding.fix.words.empty()) << finding.rule;
  EXPECT_FALSE(finding.fix.cublaslt.empty()) << finding.rule;
  EXPECT_FALSE(finding.fix.pytorch.empty()) << finding.rule;
  EXPECT_FALSE(finding.fix.transformer_engine.empty()) << finding.rule;
  EXPECT_FALSE(finding.proof.words.empty()) << finding.rule;
}

/// Findings of one rule.
inline std::vector<Finding> of_rule(const std::vector<Finding>& findings, const std::string& rule) {
  std::vector<Finding> found;
  for (const Finding& finding : findings) {
    if (finding.rule == rule) found.push_back(finding);
  }
  return found;
}

}  // namespace profiling
