#include "app/doctor/report_document.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/doctor/report_words.h"
#include "profiling/hazards/model/names.h"
#include "profiling/hazards/report/report.h"
#include "tests/unit/graph/hand_made_snapshot.h"
#include "tests/unit/graph/rule_checks.h"

namespace profiling {
namespace {

using testing::HasSubstr;
using testing::Not;

DoctorReport sample() {
  HandMade made;
  const std::uint64_t counter =
      made.allocate("arrived | blocks", engine::AllocationRole::Counter, 4);
  made.kernel("barrier", {counter});
  DoctorReport report;
  report.snapshot = made.snapshot;
  report.findings = diagnose(made.snapshot, {});
  Outcome wrong{.verdict = Verdict::Wrong};
  wrong.checks = {{.replay = 1, .output = "Y", .parts = 4, .wrong_parts = {}},
                  {.replay = 2, .output = "Y", .parts = 4, .wrong_parts = {1, 3}}};
  Outcome hung{.verdict = Verdict::Hung};
  hung.stall = {Stall{.replay = 2, .kind = StallKind::KernelSpins, .evidence = "a probe"}};
  report.experiments = {{.title = "replayed", .outcome = wrong},
                        {.title = "again", .finding = 0, .outcome = hung}};
  report.smallest_cure = {{{0, 0}, "workspace"}};
  report.conclusion = "Replays are wrong.";
  return report;
}

TEST(Report, MarkdownHasEverythingAReaderNeeds) {
  const std::string text = app::report_markdown(sample());
  EXPECT_THAT(text, HasSubstr("Replays are wrong."));
  EXPECT_THAT(text, HasSubstr("| rule | unreset-counter, hazard 10 |"));
  EXPECT_THAT(text, HasSubstr("| replayed | replays are wrong from replay 2 on | =x | – | 0 ns |"));
  EXPECT_THAT(text, HasSubstr("| again | replay 2 hangs | ! | 1 | 0 ns |"));
  EXPECT_THAT(text, HasSubstr("| replayed | 2 | Y | 2 of 4: 1 3 |"));
  EXPECT_THAT(text, HasSubstr("in place of \"workspace\""));
  EXPECT_THAT(text, HasSubstr("cudaMemsetAsync"));
  EXPECT_THAT(text, HasSubstr("| arrived / blocks |"));  // no column of its own
}

TEST(Report, ADisprovedFindingHasNoFix) {
  DoctorReport report = sample();
  report.findings[0].explanation = "a counter that is not reset";
  report.findings[0].fix.cublaslt = "reset_counter();";
  EXPECT_THAT(app::report_markdown(report), HasSubstr("reset_counter();"));
  EXPECT_EQ(app::disproved_text(report.findings[0]), "");
  report.findings[0].confidence = profiling::Confidence::Disproved;
  const std::string text = app::report_markdown(report);
  EXPECT_THAT(text, HasSubstr("| result | Disproved: replays were right"));
  EXPECT_THAT(text, HasSubstr("| suspected because | a counter that is not reset |"));
  EXPECT_THAT(text, Not(HasSubstr("reset_counter();")));
  EXPECT_THAT(text, Not(HasSubstr("| fix |")));
  EXPECT_THAT(text, Not(HasSubstr("| why |")));
}

TEST(Report, AStallReportsItsPositionAndTheSourceOfItsDeadline) {
  DoctorReport report = sample();
  Stall& stall = report.experiments[1].outcome.stall[0];
  stall.replay = 41;
  stall.deadline_seconds = 0.5;
  stall.p99_seconds = 12.5e-6;
  EXPECT_THAT(app::report_markdown(report), HasSubstr("not known: no markers showed them"));
  stall.nodes = {NodeState::Running};
  const std::string text = app::report_markdown(report);
  EXPECT_THAT(text, HasSubstr("### Stall of \"again\""));
  EXPECT_THAT(
      text,
      HasSubstr("| replay | 41, deadline 0.5 s; 99 % of the previous replays took 12.50 \u00b5s"));
  EXPECT_THAT(text, HasSubstr("a kernel spins: a probe"));
  EXPECT_THAT(text, HasSubstr("| running | barrier (node 0) |"));
  EXPECT_EQ(nlohmann::json::parse(to_json(report))["experiments"][1]["stall"]["p99_seconds"],
            12.5e-6);
}

TEST(Report, JsonKeepsItsKeys) {
  const DoctorReport report = sample();
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["schema"], "expertscope.doctor.1");
  EXPECT_EQ(json["snapshot"]["graphs"][0]["nodes"], 1);
  EXPECT_EQ(json["snapshot"]["cublaslt_version"], "13.10.0");
  EXPECT_EQ(json["findings"][0]["confidence"], "likely");
  EXPECT_EQ(json["findings"][0]["nodes"][0], nlohmann::json::array({0, 0}));
  EXPECT_EQ(json["findings"][0]["accesses"][0]["word"], "0x7f0000000000");
  EXPECT_EQ(json["experiments"][0]["first_wrong_replay"], 2);
  EXPECT_TRUE(json["experiments"][0]["stall"].is_null());
  EXPECT_EQ(json["experiments"][1]["stall"]["kind"], "a kernel spins");
  EXPECT_EQ(json["smallest_cure"][0]["owner"], "workspace");
  EXPECT_EQ(to_json(report), to_json(report));
}

TEST(Report, EmptyReportsAndOddNamesAreFine) {
  EXPECT_THAT(app::report_markdown({}), HasSubstr("None."));
  EXPECT_THAT(app::report_markdown({}), Not(HasSubstr("Experiments")));
  DoctorReport odd;
  odd.conclusion = "\xff\xfe";
  odd.smallest_cure = {{{7, -3}, "x"}};
  odd.findings = {Finding{.accesses = {{.node = {-1, 5}}}}};
  EXPECT_TRUE(nlohmann::json::accept(to_json(odd)));
  EXPECT_FALSE(app::report_markdown(odd).empty());
}

TEST(Report, SizesAreExact) {
  EXPECT_EQ(size_text(33'554'432), "32 MiB");
  EXPECT_EQ(size_text(10'240), "10 KiB");
  EXPECT_EQ(size_text(9'999), "9999 bytes");
  EXPECT_EQ(size_text(12'345), "12.1 KiB") << "no person reads it as bytes";
  EXPECT_EQ(size_text(33'600'001), "32.0 MiB");
  EXPECT_EQ(size_text(0), "0 bytes");
}

}  // namespace
}  // namespace profiling
