// Captured graphs from files: a proof is kept, everything else is examined by the rules.
#include "app/doctor/opened_report.h"

#include <gtest/gtest.h>

namespace app {
namespace {

using profiling::Confidence;
using profiling::DoctorReport;
using profiling::OpenedSnapshot;

/// A captured graph with a finding that no rule would make.
OpenedSnapshot opened(Confidence confidence, bool with_experiment) {
  OpenedSnapshot made{.title = "visit 1"};
  made.report.snapshot.graphs.resize(1);
  made.report.findings.push_back({.rule = "of-old", .confidence = confidence});
  made.report.conclusion = "As recorded.";
  if (with_experiment) made.report.experiments.emplace_back();
  return made;
}

TEST(OpenedReport, AVisitWithExperimentsIsShownAsRecorded) {
  const DoctorReport report = report_of(opened(Confidence::Proved, true), {});
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].confidence, Confidence::Proved);
  EXPECT_EQ(report.conclusion, "As recorded.");
  EXPECT_EQ(report.snapshot.subject, "visit 1");
}

TEST(OpenedReport, WhatRulesFoundIsFoundAnew) {
  const DoctorReport report = report_of(opened(Confidence::Likely, false), {});
  EXPECT_TRUE(report.findings.empty());
  EXPECT_NE(report.conclusion, "As recorded.");
  EXPECT_NE(report.conclusion, "");
}

TEST(OpenedReport, AProofIsShownBeforeWhatComesFirst) {
  const OpenedSnapshot run{.title = "run 1", .run = 0};
  EXPECT_EQ(most_certain({run, opened(Confidence::Likely, true)}), 0U);
  EXPECT_EQ(most_certain({run, opened(Confidence::Likely, true), opened(Confidence::Proved, true)}),
            2U);
}

}  // namespace
}  // namespace app
