// Captured graphs from files: a proof is kept, everything else is examined by the rules.
#include "app/doctor/opened_report.h"

#include <gtest/gtest.h>

#include "profiling/hazards/model/gallery_catalogue.h"
#include "profiling/hazards/model/names.h"

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

TEST(OpenedReport, TheRequestOfAVisitIsKnownUnlessItWasToTheGallery) {
  profiling::RecordedVisit visit;
  visit.request.seed = 7;
  visit.report.snapshot.subject = profiling::step_title(visit.request);
  EXPECT_EQ(examined_request(visit), &visit.request);
  visit.report.snapshot.subject = "the captured step of this run";
  EXPECT_EQ(examined_request(visit), &visit.request) << "a run that stalled";
  visit.report.snapshot.subject =
      profiling::subject_title({.id = profiling::hazard_cases().front().id});
  EXPECT_EQ(examined_request(visit), nullptr);
  engine::RunRequest other = visit.request;
  other.shape.rows += 1;
  visit.report.snapshot.subject = profiling::step_title(other);
  EXPECT_EQ(examined_request(visit), nullptr) << "of other sizes than the step";
  EXPECT_EQ(examined_request(profiling::RecordedVisit{}), nullptr);
}

TEST(OpenedReport, ProcessesOfAttachedProgramsAreToldFromStepsAndCases) {
  profiling::Snapshot snapshot;
  for (const char* attached : {"train.py (process 1234)", "a program (process 7, rank 0)"}) {
    snapshot.subject = attached;
    EXPECT_TRUE(examines_attached(snapshot)) << attached;
  }
  const std::string step = profiling::step_title(engine::RunRequest());
  const std::string hazard = profiling::subject_title({.id = profiling::hazard_cases().front().id});
  for (const std::string& other : {std::string(), step, hazard, std::string("graph (process ).dot"),
                                   std::string("x (process 12.dot)")}) {
    snapshot.subject = other;
    EXPECT_FALSE(examines_attached(snapshot)) << other;
  }
}

TEST(OpenedReport, AVisitToTheStepOfARunBelongsToIt) {
  profiling::RecordedVisit visit;
  visit.request.seed = 7;
  visit.report.snapshot.subject = profiling::step_title(visit.request);
  engine::RunRequest run = visit.request;
  run.launch.iterations += 5;
  run.measure.stamps = !run.measure.stamps;
  EXPECT_TRUE(examines_step_of(visit, run));
  // Recordings from when rows were called tokens.
  const std::size_t rows = visit.report.snapshot.subject.find(" rows,");
  ASSERT_NE(rows, std::string::npos);
  visit.report.snapshot.subject.replace(rows, 6, " tokens,");
  EXPECT_EQ(examined_request(visit), &visit.request);
  EXPECT_TRUE(examines_step_of(visit, run));
  run.seed = 8;
  EXPECT_FALSE(examines_step_of(visit, run));
}

}  // namespace
}  // namespace app
