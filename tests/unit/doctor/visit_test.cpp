// The plan of a visit, against a runner that answers from a script.
#include "app/doctor/visit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "app/doctor/report_words.h"
#include "profiling/hazards/model/gallery_catalogue.h"
#include "tests/unit/doctor/scripted_runner.h"

namespace app {
namespace {

using profiling::Confidence;
using profiling::DoctorReport;
using profiling::Experiment;
using profiling::Finding;
using profiling::Outcome;
using profiling::Verdict;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::moved;
using testing::outcome;
using testing::ScriptedRunner;
using testing::shared_by;
using testing::shared_workspace_step;

const std::atomic<bool> kNever = false;

VisitOptions options_with(std::vector<Finding> findings, bool prove = true) {
  VisitOptions options;
  options.prove = prove;
  options.diagnose = [findings = std::move(findings)](const auto&, const auto&) {
    return findings;
  };
  return options;
}

engine::Result<DoctorReport> made(ScriptedRunner& runner, const VisitOptions& options,
                                  std::vector<VisitProgress>* reported = nullptr) {
  return visit(
      {}, options, {}, runner,
      [reported](const VisitProgress& progress) {
        if (reported != nullptr) reported->push_back(progress);
      },
      kNever);
}

/// Eager launches and captures are correct; `replays` decides the rest.
ScriptedRunner::Script replays(std::function<Verdict(const Experiment&)> verdict) {
  return [verdict](const Experiment& experiment) -> engine::Result<Outcome> {
    if (!experiment.graph || experiment.replays == 0) return outcome(Verdict::Right);
    return outcome(verdict(experiment));
  };
}

/// Wrong while both of a pair still use the shared workspace.
ScriptedRunner::Script colliding(std::vector<std::pair<int, int>> pairs,
                                 Verdict bad = Verdict::Wrong) {
  return replays([pairs, bad](const Experiment& experiment) {
    std::set<int> away;
    for (const profiling::MovedMemory& one : experiment.moved) away.insert(one.node.node);
    for (const auto& [a, b] : pairs) {
      if (!away.contains(a) && !away.contains(b)) return bad;
    }
    return Verdict::Right;
  });
}

std::size_t count_plain(const ScriptedRunner& runner) {
  return static_cast<std::size_t>(std::ranges::count_if(runner.made, &Experiment::is_plain));
}

TEST(Visit, AStallInAGraphThatTheReportDoesNotHaveIsNoOutcome) {
  ScriptedRunner runner(shared_workspace_step(2), [](const Experiment& experiment) {
    Outcome made = outcome(Verdict::Right);
    if (!experiment.is_plain()) return engine::Result<Outcome>(made);
    made = outcome(Verdict::Hung);
    made.stall.back().graph = 3;
    return engine::Result<Outcome>(made);
  });
  const auto report = made(runner, options_with({shared_by(0, 1)}));
  ASSERT_TRUE(report.ok()) << report.error().message;
  const auto plain = std::ranges::find_if(
      report.value().experiments, [](const auto& one) { return one.experiment.is_plain(); });
  ASSERT_NE(plain, report.value().experiments.end());
  EXPECT_EQ(plain->outcome.verdict, Verdict::NotRun);
  EXPECT_THAT(plain->outcome.message,
              HasSubstr("does not fit the captured graph: stall graph is 3"));
}

TEST(Visit, AReportOfTheGalleryNamesItsCaseWhateverTheProgramCallsItself) {
  ScriptedRunner runner(shared_workspace_step(2),
                        replays([](const Experiment&) { return Verdict::Right; }));
  const auto report = visit({.request = {}, .gallery_case = "shared-workspace", .healthy = true},
                            options_with({}, false), {}, runner, nullptr, kNever);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(profiling::gallery_subject(report.value().snapshot.subject),
            (profiling::GallerySubject{.id = "shared-workspace", .healthy = true}));
}

TEST(Visit, MarkersAreLeftOutOfEveryReplayOnRequest) {
  ScriptedRunner runner(shared_workspace_step(2), colliding({{0, 1}}));
  VisitOptions options = options_with({shared_by(0, 1)});
  options.markers = false;
  ASSERT_TRUE(made(runner, options).ok());
  for (std::size_t i = 1; i < runner.made.size(); ++i) EXPECT_FALSE(runner.made[i].markers) << i;
}

TEST(Visit, ALoadDuringTheCaptureIsProvedByCapturesThatAreNotReplayed) {
  profiling::Snapshot captured = shared_workspace_step(1);
  captured.graphs[0].events = {
      {.kind = profiling::CaptureEvent::Kind::LazyLoad, .what = "late_kernel, 0.410 ms"}};
  for (const bool repeats : {true, false}) {
    ScriptedRunner runner(captured, [&](const Experiment& experiment) -> engine::Result<Outcome> {
      const bool loads = experiment.replays == 0 && !experiment.eager_loading && repeats;
      Outcome made = outcome(loads ? Verdict::Wrong : Verdict::Right);
      if (loads) made.message = "loaded during the capture: late_kernel";
      return made;
    });
    VisitOptions options;
    options.prove = true;
    const auto report = made(runner, options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    const auto load = std::ranges::find(report.value().findings, "lazy-load", &Finding::rule);
    ASSERT_NE(load, report.value().findings.end());
    EXPECT_EQ(load->confidence, repeats ? Confidence::Proved : Confidence::Disproved);
    EXPECT_EQ(health_of(report.value()), repeats ? Health::Findings : Health::Healthy);
  }
}

TEST(Visit, RulesAloneCaptureOnceAndRunNoExperiment) {
  ScriptedRunner runner(shared_workspace_step(2),
                        replays([](const auto&) { return Verdict::Wrong; }));
  const auto report = made(runner, options_with({shared_by(0, 1)}, /*prove=*/false));
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(runner.made.size(), 1U);
  EXPECT_EQ(runner.made[0].replays, 0);
  EXPECT_THAT(report.value().experiments, IsEmpty());
  EXPECT_EQ(report.value().snapshot, runner.snapshot);
  EXPECT_EQ(report.value().findings.at(0).confidence, Confidence::Likely);
  EXPECT_THAT(report.value().conclusion, HasSubstr("1 likely hazard"));
}

TEST(Visit, AHealthyStepIsReportedCorrect) {
  ScriptedRunner runner(shared_workspace_step(2), colliding({}));
  const auto report = made(runner, options_with({}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().conclusion,
            "6 replays equal the eager launches bit for bit, with other inputs and with the "
            "inputs in other memory too.");
  EXPECT_EQ(report.value().experiments.size(), 7U);  // eager, plain, two poisons, zones,
                                                     // other inputs, moved inputs
}

TEST(Visit, AFailingEagerLaunchEndsTheVisit) {
  for (const Verdict verdict :
       {Verdict::Wrong, Verdict::Hung, Verdict::Crashed, Verdict::Refused}) {
    ScriptedRunner runner(shared_workspace_step(2), [&](const Experiment& experiment) {
      return engine::Result<Outcome>(outcome(experiment.graph ? Verdict::Right : verdict));
    });
    const auto report = made(runner, options_with({shared_by(0, 1)}));
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report.value().experiments.size(), 1U);
    EXPECT_THAT(report.value().conclusion, HasSubstr("not a graph bug"));
    EXPECT_EQ(report.value().findings.at(0).confidence, Confidence::Likely);
  }
}

TEST(Visit, AnEagerFailureBeforeTheCaptureStillGivesAReport) {
  ScriptedRunner runner(
      {}, [&](const Experiment&) { return engine::Result<Outcome>(outcome(Verdict::Hung)); });
  const auto report = made(runner, options_with({}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().conclusion,
            "Even without a graph, launch 2 hangs: this is not a graph bug.");
}

TEST(Visit, NothingCapturedIsAnError) {
  for (const Verdict verdict : {Verdict::NotRun, Verdict::Crashed, Verdict::Right}) {
    ScriptedRunner runner(
        {}, [&](const Experiment&) { return engine::Result<Outcome>(outcome(verdict)); });
    const auto report = made(runner, options_with({}, /*prove=*/false));
    ASSERT_FALSE(report.ok());
    if (verdict != Verdict::Right) {
      EXPECT_THAT(report.error().message, HasSubstr("a reason"));
    }
  }
  ScriptedRunner absent({}, [](const Experiment&) -> engine::Result<Outcome> {
    return engine::Error{engine::ErrorCode::NotFound, "no such program"};
  });
  const auto report = made(absent, options_with({}));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message, "no such program");
}

TEST(Visit, AnEagerLaunchThatCannotRunIsAnError) {
  ScriptedRunner runner(shared_workspace_step(2), [](const Experiment& experiment) {
    return engine::Result<Outcome>(outcome(experiment.graph ? Verdict::Right : Verdict::NotRun));
  });
  EXPECT_FALSE(made(runner, options_with({})).ok());
}

TEST(Visit, ASharedWorkspaceIsProvedAndTheCureIsOneNode) {
  for (const Verdict bad : {Verdict::Wrong, Verdict::Hung, Verdict::Crashed}) {
    ScriptedRunner runner(shared_workspace_step(2), colliding({{0, 1}}, bad));
    const auto report = made(runner, options_with({shared_by(0, 1)}));
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report.value().findings.at(0).confidence, Confidence::Proved);
    EXPECT_EQ(report.value().smallest_cure, std::vector{moved(1)});
    EXPECT_EQ(count_plain(runner), 1U);
    EXPECT_EQ(report.value().conclusion,
              "Proved: Two products share a workspace; replays are right once fprop, layer 1 has "
              "separate memory.");
  }
}

TEST(Visit, CorrectReplaysDisproveFindings) {
  ScriptedRunner runner(shared_workspace_step(2), colliding({}));
  const auto report = made(runner, options_with({shared_by(0, 1)}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().findings.at(0).confidence, Confidence::Disproved);
  EXPECT_THAT(report.value().smallest_cure, IsEmpty());
  for (const Experiment& experiment : runner.made) EXPECT_THAT(experiment.moved, IsEmpty());
}

TEST(Visit, OfThreeThatShareTheTwoThatCollideAreProved) {
  ScriptedRunner runner(shared_workspace_step(3), colliding({{0, 2}}));
  const auto report =
      made(runner, options_with({shared_by(0, 1), shared_by(0, 2), shared_by(1, 2)}));
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report.value().findings.size(), 3U);
  EXPECT_EQ(report.value().smallest_cure, std::vector{moved(2)});
  EXPECT_EQ(report.value().findings[0].nodes, (std::vector<profiling::NodeRef>{{0, 0}, {0, 2}}));
  EXPECT_EQ(report.value().findings[0].confidence, Confidence::Proved);
  // Moving 2 also cures what 1 and 2 share, although those two do no harm.
  EXPECT_EQ(report.value().findings[1].confidence, Confidence::Disproved);
  EXPECT_EQ(report.value().findings[2].confidence, Confidence::Disproved);
}

TEST(Visit, OneFindingForAllSharersIsProvedByTheSmallestCure) {
  Finding all = shared_by(0, 1);
  for (const int node : {2, 3}) {
    all.nodes.push_back({0, node});
    profiling::Access access;
    access.node = {0, node};
    access.owner = "workspace";
    all.accesses.push_back(access);
  }
  ScriptedRunner runner(shared_workspace_step(4), colliding({{0, 1}, {1, 2}, {0, 2}}));
  const auto report = made(runner, options_with({all}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().smallest_cure.size(), 2U);
  EXPECT_EQ(report.value().findings[0].confidence, Confidence::Proved);
  EXPECT_EQ(report.value().findings[0].proof.cures.moved, report.value().smallest_cure);
}

TEST(Visit, SeveralCollisionsAreIsolatedFromEachOther) {
  // No finding's own cure is enough; 1 and 4 share and do no harm.
  ScriptedRunner runner(shared_workspace_step(5), colliding({{0, 1}, {2, 3}}));
  const auto report =
      made(runner, options_with({shared_by(0, 1), shared_by(2, 3), shared_by(1, 4)}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().smallest_cure.size(), 2U);
  ASSERT_EQ(report.value().findings.size(), 3U);
  EXPECT_EQ(report.value().findings[0].confidence, Confidence::Proved);
  EXPECT_EQ(report.value().findings[1].confidence, Confidence::Proved);
  EXPECT_EQ(report.value().findings[2].confidence, Confidence::Disproved);
  EXPECT_EQ(report.value().findings[2].nodes, (std::vector<profiling::NodeRef>{{0, 1}, {0, 4}}));
  EXPECT_THAT(report.value().conclusion, HasSubstr("2 findings are proved"));
  EXPECT_THAT(report.value().conclusion, HasSubstr("2 nodes have separate memory"));
  // Records follow their findings, which were sorted.
  for (const profiling::ExperimentRecord& record : report.value().experiments) {
    EXPECT_LT(record.finding, 3);
  }
}

TEST(Visit, WrongReplaysWithoutAFindingTryAllWorkspaces) {
  ScriptedRunner runner(shared_workspace_step(4), colliding({{1, 2}}));
  const auto report = made(runner, options_with({}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().smallest_cure.size(), 1U);
  EXPECT_THAT(report.value().conclusion, HasSubstr("no rule explains it"));

  ScriptedRunner hopeless(shared_workspace_step(4),
                          replays([](const auto&) { return Verdict::Wrong; }));
  const auto second = made(hopeless, options_with({}));
  ASSERT_TRUE(second.ok());
  EXPECT_THAT(second.value().smallest_cure, IsEmpty());
  EXPECT_THAT(second.value().conclusion, HasSubstr("no rule explains why; separate workspaces"));
}

TEST(Visit, ARefusedCaptureNeedsNoCure) {
  ScriptedRunner runner(shared_workspace_step(2),
                        replays([](const auto&) { return Verdict::Refused; }));
  Finding join;
  join.rule = "unjoined-capture";
  join.title = "A stream was not joined.";
  join.proof.needs_cure = false;
  const auto report = made(runner, options_with({join}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().findings.at(0).confidence, Confidence::Proved);
  EXPECT_EQ(report.value().experiments.size(), 2U);
}

TEST(Visit, WorkspaceContentsThatMatterAndBakedInputsAreReported) {
  ScriptedRunner poison(shared_workspace_step(2), replays([](const Experiment& experiment) {
                          return experiment.poisoned_workspaces == 0xFF ? Verdict::Hung
                                                                        : Verdict::Right;
                        }));
  EXPECT_THAT(made(poison, options_with({})).value().conclusion, HasSubstr("filled with 0xff"));
  ScriptedRunner zones(shared_workspace_step(2),
                       [](const Experiment& experiment) -> engine::Result<Outcome> {
                         Outcome made = outcome(Verdict::Right);
                         if (!experiment.red_zones) return made;
                         made.verdict = Verdict::Wrong;
                         made.message = "memory right behind \"Y\" was written";
                         return made;
                       });
  const auto report = made(zones, options_with({}));
  EXPECT_THAT(report.value().conclusion, HasSubstr("memory right behind \"Y\" was written"));
  ScriptedRunner baked(shared_workspace_step(2), replays([](const Experiment& experiment) {
                         return experiment.changed_inputs ? Verdict::Wrong : Verdict::Right;
                       }));
  EXPECT_THAT(made(baked, options_with({})).value().conclusion,
              HasSubstr("only for the inputs of the capture"));
  ScriptedRunner kept(shared_workspace_step(2),
                      [](const Experiment& experiment) -> engine::Result<Outcome> {
                        Outcome made = outcome(Verdict::Right);
                        if (!experiment.moved_inputs) return made;
                        made = outcome(Verdict::Wrong);
                        made.message = "old addresses of inputs are still in memory: \"X\"";
                        return made;
                      });
  const auto stays = made(kept, options_with({}));
  EXPECT_THAT(stays.value().conclusion, HasSubstr("only while the inputs stay where they were"));
  EXPECT_THAT(stays.value().conclusion, HasSubstr("still in memory: \"X\""));
  EXPECT_EQ(health_of(stays.value()), Health::Findings);
}

TEST(Visit, InputsThatCouldNotBeMovedProveNothing) {
  ScriptedRunner runner(shared_workspace_step(2), replays([](const Experiment& experiment) {
                          return experiment.moved_inputs ? Verdict::NotRun : Verdict::Right;
                        }));
  const auto report = made(runner, options_with({}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(health_of(report.value()), Health::Healthy);
  EXPECT_THAT(report.value().conclusion, Not(HasSubstr("in other memory")));
}

TEST(Visit, OnlyTheRequestedRulesAreProved) {
  Finding other = shared_by(0, 1);
  other.rule = "pool-alias";
  other.proof.cures = {};
  other.proof.cures.free_on_launch = true;
  VisitOptions options = options_with({shared_by(0, 1), other});
  options.rules = {"pool-alias"};
  ScriptedRunner runner(shared_workspace_step(2), replays([](const Experiment& experiment) {
                          return experiment.free_on_launch ? Verdict::Right : Verdict::Wrong;
                        }));
  const auto report = made(runner, options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().findings.at(0).rule, "pool-alias");
  EXPECT_EQ(report.value().findings.at(0).confidence, Confidence::Proved);
  EXPECT_EQ(report.value().findings.at(1).confidence, Confidence::Likely);
  for (const Experiment& experiment : runner.made) EXPECT_THAT(experiment.moved, IsEmpty());
}

TEST(Visit, AProcessThatFailsToStartLaterIsNotRun) {
  ScriptedRunner runner(
      shared_workspace_step(2), [](const Experiment& experiment) -> engine::Result<Outcome> {
        if (!experiment.moved.empty()) return engine::Error{engine::ErrorCode::Device, "no memory"};
        return outcome(experiment.graph && experiment.is_plain() ? Verdict::Wrong : Verdict::Right);
      });
  const auto report = made(runner, options_with({shared_by(0, 1)}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().findings.at(0).confidence, Confidence::Likely);
  EXPECT_THAT(report.value().conclusion, HasSubstr("none of 1 finding could be proved"));
}

TEST(Visit, ANodeThatDiffersInAnotherProcessIsNotRun) {
  ScriptedRunner runner(shared_workspace_step(2), colliding({{0, 1}}));
  runner.on_run = [&](int number) {
    if (number > 3) runner.snapshot.graphs[0].nodes[1].name = "another";
  };
  const auto report = made(runner, options_with({shared_by(0, 1)}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().findings.at(0).confidence, Confidence::Likely);
  EXPECT_THAT(report.value().experiments.at(2).outcome.message, HasSubstr("a different graph"));
}

TEST(Visit, CancelIsSeenBetweenAndInsideExperiments) {
  for (int at = 1; at <= 4; ++at) {
    std::atomic<bool> cancel = false;
    ScriptedRunner runner(shared_workspace_step(2), colliding({{0, 1}}));
    runner.on_run = [&](int number) { cancel = number == at; };
    const auto report = visit({}, options_with({shared_by(0, 1)}), {}, runner, {}, cancel);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, engine::ErrorCode::Cancelled);
    EXPECT_EQ(runner.made.size(), static_cast<std::size_t>(at));
  }
}

TEST(Visit, ProgressSaysWhereItIs) {
  ScriptedRunner runner(shared_workspace_step(2), colliding({{0, 1}}));
  std::vector<VisitProgress> reported;
  ASSERT_TRUE(made(runner, options_with({shared_by(0, 1)}), &reported).ok());
  ASSERT_FALSE(reported.empty());
  EXPECT_EQ(reported.front().doing, "capturing");
  EXPECT_EQ(reported.back().doing, "done");
  EXPECT_EQ(reported.back().experiment, static_cast<int>(runner.made.size()));
  std::size_t records = 0;
  bool board = false;
  for (const VisitProgress& progress : reported) {
    EXPECT_LE(progress.experiment, progress.experiments);
    EXPECT_GE(progress.so_far.experiments.size(), records);
    records = progress.so_far.experiments.size();
    board = board || (progress.replay == 1 && progress.board.size() == 2);
  }
  EXPECT_TRUE(board);
  EXPECT_FALSE(reported.back().so_far.conclusion.empty());
}

TEST(Visit, TheDeadlineIsForwarded) {
  ScriptedRunner runner(shared_workspace_step(2), colliding({{0, 1}}));
  VisitOptions options = options_with({shared_by(0, 1)});
  options.deadline_seconds = 7.5;
  ASSERT_TRUE(made(runner, options).ok());
  for (const Experiment& experiment : runner.made) EXPECT_EQ(experiment.deadline_seconds, 7.5);
  EXPECT_EQ(count_plain(runner), 1U);
}

}  // namespace
}  // namespace app
