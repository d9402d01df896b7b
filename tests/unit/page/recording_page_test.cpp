// A page of the sample recording, in which every field has a value of its own.
#include "app/page/recording_page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/model/path_text.h"
#include "engine/model/paths.h"
#include "tests/unit/page/count.h"
#include "tests/unit/session/sample_recording.h"
#include "tests/unit/session/sample_visit.h"

namespace app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RecordingPage, HasRunsComparisonsAndVisits) {
  const profiling::RecordedRun run = profiling::sample_run(3);
  const profiling::RecordedComparison comparison = profiling::sample_comparison(4);
  const profiling::RecordedVisit visit = profiling::sample_visit(5);
  const PageContent content{
      .runs = {{&run, "1. the <first> run"}}, .comparisons = {&comparison}, .visits = {&visit}};
  const std::string page = recording_page(content, "a recording", false);
  EXPECT_THAT(page, HasSubstr("<h1>a recording</h1>"));
  EXPECT_THAT(page, HasSubstr("1. the &lt;first&gt; run"));
  EXPECT_THAT(page, HasSubstr("1 run, 1 comparison of recipes and 1 visit to"));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("…/libcublasLt.so"));
  EXPECT_THAT(page, Not(HasSubstr("/opt/größe")));
  EXPECT_THAT(page, HasSubstr("Recipes side by side"));
  EXPECT_THAT(page, HasSubstr("Experiments, each in a process of its own"));
  EXPECT_THAT(recording_page(content, "a recording", true), HasSubstr("/opt/größe"));
}

TEST(RecordingPage, BeginsWithWhatItIsAboutAndWhereThingsAre) {
  const profiling::RecordedRun run = profiling::sample_run(3);
  const profiling::RecordedComparison comparison = profiling::sample_comparison(4);
  const profiling::RecordedVisit visit = profiling::sample_visit(5);
  const PageContent content{
      .runs = {{&run, "1. first"}}, .comparisons = {&comparison}, .visits = {&visit}};
  const std::string page = recording_page(content, "a recording", false);
  EXPECT_LT(page.find("what the profiler Expertscope measured"), page.find("<table>"));
  EXPECT_THAT(page, HasSubstr("Measured on "));
  // As in the table of runs: runs first.
  std::size_t at = page.find("<h2 ");
  for (const char* const section : {"1. first", "Recipes", "Graph doctor: "}) {
    const std::size_t next = page.find(section, at);
    ASSERT_NE(next, std::string::npos) << section;
    at = next;
  }
  for (int i = 1; i <= 3; ++i) {
    EXPECT_THAT(page, HasSubstr(fmt::format("<a href=\"#section-{}\">", i)));
    EXPECT_THAT(page, HasSubstr(fmt::format("<h2 id=\"section-{}\">", i)));
  }
  EXPECT_THAT(page, HasSubstr("<th title=\"How many steps were timed\">n</th>"));
  const PageContent one{.runs = {{&run, "1. first"}}};
  EXPECT_THAT(recording_page(one, "a run", false), Not(HasSubstr("<a "))) << "nothing to choose";
}

TEST(RecordingPage, ASweepHasItsPointsAndItsFrontier) {
  std::vector<profiling::RecordedRun> runs;
  const auto add = [&runs](const char* label, double snr_db, std::int64_t ns, int samples) {
    profiling::RecordedRun& run = runs.emplace_back();
    run.group = {.kind = profiling::GroupKind::Sweep,
                 .id = 1'700'000'000'000,
                 .position = static_cast<int>(runs.size()) - 1,
                 .label = label};
    run.result.experts.emplace_back().fprop.snr_db = snr_db;
    for (int i = 0; i < samples; ++i) {
      run.result.iterations.push_back({.start_ns = 0, .duration_ns = ns + i});
    }
  };
  add("BF16 <exact>", std::numeric_limits<double>::infinity(), 90'000, 40);
  add("FP8 block", 31.5, 50'000, 40);
  add("MXFP8", 28.0, 70'000, 40);
  add("NVFP4", 20.0, 49'990, 3);
  PageContent content;
  for (const profiling::RecordedRun& run : runs) {
    content.runs.push_back({&run, std::string(run.group.label)});
  }
  const std::string page = recording_page(content, "a sweep", false);
  const std::size_t section = page.rfind("Sweep of 4 runs</h2>");
  ASSERT_NE(section, std::string::npos);
  const std::string sweep = page.substr(section);
  EXPECT_THAT(page, HasSubstr("<a href=\"#section-5\">Sweep of 4 runs</a>"));
  EXPECT_THAT(sweep, HasSubstr(">frontier</th>"));
  EXPECT_EQ(count(sweep, ">yes</td>"), 2U) << "BF16 and FP8 block";
  EXPECT_EQ(count(sweep, ">no</td>"), 1U) << "MXFP8 is slower and less accurate than FP8 block";
  EXPECT_EQ(count(sweep, ">undecided</td>"), 1U) << "three samples decide nothing";
  EXPECT_THAT(sweep,
              HasSubstr("FP8 block is at least as accurate as NVFP4 and took 1.001 of its time"));
  EXPECT_EQ(count(sweep, "<circle"), 4U);
  EXPECT_THAT(sweep, HasSubstr("BF16 &lt;exact&gt;: median 90.02 µs"));
  content.runs.resize(1);
  EXPECT_THAT(recording_page(content, "one of its runs", false), Not(HasSubstr("Sweep of")));
}

/// Fills every path of the value with one of its own that no pattern would find, and collects them.
template <class Recorded>
void hide_paths(Recorded& recorded, std::vector<std::string>& paths) {
  // The last one is shortened where a message shows it.
  static const std::string kLong =
      "/home/jo doe/secret plans {}/" + std::string(500, 'd') + "/x {}.npy";
  const std::array kForms = {"/home/jo doe/secret plans {}/x {}.npy",
                             "secret-plan-{}/x {}.npy",
                             R"(C:\Users\jo\secret plans {}\x {}.npy)",
                             "jo@secret-box-{}:/data/x {}.npy",
                             "secret-box-{}:x {}.npy",
                             kLong.c_str()};
  engine::for_each_path(engine::kType<Recorded>, &recorded, [&](std::string& path) {
    const std::size_t number = paths.size();
    path = fmt::format(fmt::runtime(kForms[number % kForms.size()]), number, number);
    paths.push_back(path);
  });
}

TEST(RecordingPage, NoFolderHostOrUserOfAnyFieldIsPassedOn) {
  profiling::RecordedRun run = profiling::sample_run(3);
  run.request.activations = engine::FileInput{};
  run.request.weights = engine::FileInput{};
  run.request.products.gradients = engine::FileInput{};
  run.request.expert_layer.down_weights = engine::FileInput{};
  profiling::RecordedComparison comparison = profiling::sample_comparison(4);
  profiling::RecordedVisit visit = profiling::sample_visit(5);
  std::vector<std::string> paths;
  hide_paths(run, paths);
  hide_paths(comparison, paths);
  hide_paths(visit, paths);
  ASSERT_GE(paths.size(), 10U) << "X, W, dY, Wdown, routing and library of the request alone";
  std::string all;
  for (const std::string& path : paths) all += path + " and " + engine::shown_path(path) + ", ";
  // Sentences of workers and of the doctor quote them.
  run.result.deviations = {{.field = "cublaslt_library",
                            .requested = "/opt/secret library/libx.so",
                            .effective = all,
                            .reason = "/opt/secret library/libx.so is not " + all}};
  run.result.emulated = all;
  run.result.iteration_method = all;
  visit.report.conclusion = all;
  const std::string cure = "cublasLtMatmul(a, // /home/jo doe/secret\n  b); x = y//2 /a/b/c";
  visit.report.findings.at(0).explanation = all;
  visit.report.findings.at(0).evidence = paths;
  visit.report.findings.at(0).fix.cublaslt = cure;
  const PageContent content{
      .runs = {{&run, "1. " + all}}, .comparisons = {&comparison}, .visits = {&visit}};
  std::string page = recording_page(content, "a recording", false);
  const std::string shown_cure = "<code>" + cure + "</code>";
  const std::size_t at = page.find(shown_cure);
  ASSERT_NE(at, std::string::npos) << "the cure has to compile";
  page.erase(at, shown_cure.size());
  for (const char* const hidden : {"secret", "jo doe", "jo@", "Users", "/data", "/opt"}) {
    const std::size_t leak = page.find(hidden);
    EXPECT_EQ(leak, std::string::npos) << hidden << " in " << page.substr(leak, 200);
  }
  EXPECT_THAT(page, HasSubstr("…/x 0.npy"));
  EXPECT_THAT(recording_page(content, "a recording", true), HasSubstr("secret-plan-"));
}

TEST(RecordingPage, AnExpertLayerHasATableOfItsTensors) {
  profiling::RecordedRun run = profiling::sample_run(3);
  run.result.expert_layer = {.unquantized_snr_db = 50.5};
  run.result.tensors = {
      {.tensor = engine::StepTensor::A, .unquantized_y = engine::UnquantizedY{.snr_db = 33.0}},
      {.tensor = engine::StepTensor::Y, .rows = 96, .columns = 32, .bytes = 6144}};
  run.result.tensors[1].error.snr_db = 28.25;
  const PageContent content{.runs = {{&run, "layer"}}};
  const std::string page = recording_page(content, "a recording", false);
  EXPECT_THAT(page, HasSubstr("tensor by tensor"));
  EXPECT_THAT(page, HasSubstr("<td>96</td><td>32</td>"));
  EXPECT_THAT(page, HasSubstr("28.25 dB, and 50.50 dB with every operand unquantized"));
  EXPECT_THAT(page, HasSubstr("+4.75 dB"));
  EXPECT_THAT(page, HasSubstr("6.0 KiB"));
}

TEST(RecordingPage, AStageHasItsTimeAndTheBytesThatAreCounted) {
  profiling::RecordedRun run = profiling::sample_run(3);
  run.result.effective.step = engine::StepKind::ExpertLayer;
  run.result.effective.products.passes = engine::StepPasses::Forward;
  run.result.effective.shape = {.preset = {}, .num_experts = 2, .rows = 512, .n = 64, .k = 64};
  run.result.effective.expert_layer.top_k = 4;
  run.result.splits = {256, 256};
  run.result.recorded_routing.reset();
  run.activity.records = {
      {.start_ns = 0, .end_ns = 2'000'000, .iteration = 0, .stage = engine::Stage::Permute}};
  const std::string page = recording_page({.runs = {{&run, "tokens"}}}, "a recording", false);
  EXPECT_THAT(page, HasSubstr("The stages of one step"));
  EXPECT_THAT(page, HasSubstr("<td class=\"w\">permute</td>"));
  // Xt [128, 64], X [512, 64] and 8 bytes of every copy: 86016.
  EXPECT_THAT(page, HasSubstr("84.0 KiB"));
  EXPECT_THAT(page, HasSubstr("<td>0.043 GB/s</td>"));
}

TEST(RecordingPage, ShowsEveryOperandUnderItsNameInTheStep) {
  profiling::RecordedRun layer = profiling::sample_run(3);
  layer.result.expert_layer.emplace();
  layer.result.effective.step = engine::StepKind::ExpertLayer;
  for (const engine::StepTensor tensor :
       {engine::StepTensor::X, engine::StepTensor::WUp, engine::StepTensor::A,
        engine::StepTensor::WDown, engine::StepTensor::DY, engine::StepTensor::DH}) {
    engine::OperandStatistics& statistics =
        engine::tensor_row(layer.result, tensor).quantization.emplace();
    statistics.elements = 64;
    statistics.before.counts = {64};
  }
  profiling::RecordedRun linear = layer;
  linear.result.expert_layer.reset();
  linear.result.effective.step = engine::StepKind::Linear;
  const auto page_of = [](const profiling::RecordedRun& run) {
    return recording_page({.runs = {{&run, "run"}}}, "a recording", false);
  };
  EXPECT_THAT(page_of(linear), HasSubstr("W: magnitudes"));
  EXPECT_THAT(page_of(linear), Not(HasSubstr("Wup: magnitudes")));
  for (const char* symbol : {"X", "Wup", "A", "Wdown", "dY", "dH"}) {
    EXPECT_THAT(page_of(layer), HasSubstr(">" + std::string(symbol) + ": magnitudes"));
  }
  EXPECT_THAT(page_of(layer), Not(HasSubstr(">W: magnitudes")));
}

TEST(RecordingPage, ARecordedRoutingHasItsSteps) {
  profiling::RecordedRun run = profiling::sample_run(3);
  engine::RecordedRouting& recording = run.result.recorded_routing.emplace();
  recording.source = "SGLang logical_count, int32 [2, 1, 2]";
  recording.file_steps = 2;
  recording.numerics = "measured for the first 1 of 2 steps";
  recording.steps = {{.step = 0, .rows = 5, .splits = {5, 0}, .imbalance = 2.0, .visits = 2},
                     {.step = 1, .rows = 4, .splits = {1, 3}, .imbalance = 1.5, .visits = 1}};
  recording.steps[0].median_ns = 2e6;
  recording.steps[1].median_ns = 3e6;
  recording.steps[0].y_snr_db = 28.25;
  run.result.iterations = {{0, 9'000'000}, {9'000'000, 3'000'000}, {12'000'000, 2'000'000}};
  const std::string page = recording_page({.runs = {{&run, "recorded"}}}, "a recording", false);
  EXPECT_THAT(page, HasSubstr("SGLang logical_count, int32 [2, 1, 2]; layer 0 of 1, 2 of 2 steps"));
  EXPECT_THAT(page, HasSubstr("measured for the first 1 of 2 steps"));
  const auto longest = page.find("Steps by time; slowest: not distinguishable");
  ASSERT_NE(longest, std::string::npos) << "neither step has two times that count";
  EXPECT_LT(page.find("3.000 ms", longest), page.find("2.000 ms", longest)) << "longest first";
  // In flight, steps have no time of their own.
  for (engine::RecordedStep& step : recording.steps) step.median_ns = std::nan("");
  const std::string shared = recording_page({.runs = {{&run, "recorded"}}}, "a recording", false);
  EXPECT_THAT(shared, Not(HasSubstr("Steps by time")));
  EXPECT_THAT(shared, HasSubstr("No step has a time of its own"));
}

TEST(RecordingPage, AnSnrSaysWhatItLeavesOut) {
  profiling::RecordedRun run = profiling::sample_run(3);
  run.result.expert_layer.emplace();
  run.result.tensors = {{.tensor = engine::StepTensor::A, .rows = 8, .columns = 8}};
  run.result.tensors[0].error = {.snr_db = 12.9, .lost = 7};
  engine::OperandStatistics& a = run.result.tensors[0].quantization.emplace();
  a.elements = 64;
  a.before.counts = {64};
  a.snr_db = std::numeric_limits<double>::infinity();
  a.lost = 5;
  a.undefined = 1;
  const std::string page = recording_page({.runs = {{&run, "lost"}}}, "a recording", false);
  EXPECT_THAT(page, HasSubstr("exact (6 left out)"));
  EXPECT_THAT(page, HasSubstr("12.90 dB (7 left out)"));
  EXPECT_THAT(page, HasSubstr("SNR of quantizing it"));
  EXPECT_THAT(page, HasSubstr("SNR in the layer"));
}

TEST(RecordingPage, AnIncompleteRecordingSaysSoFirst) {
  const profiling::RecordedRun run = profiling::sample_run(3);
  PageContent content{.runs = {{&run, "run"}}};
  EXPECT_THAT(recording_page(content, "a recording", false), Not(HasSubstr("incomplete")));
  content.doubt = "Its log /home/jo/x.session-wal is missing";
  const std::string page = recording_page(content, "a recording", false);
  EXPECT_THAT(page, HasSubstr("may be incomplete"));
  EXPECT_LT(page.find("may be incomplete"), page.find("<table>"));
  EXPECT_THAT(page, Not(HasSubstr("/home/jo")));
  EXPECT_THAT(recording_page(content, "a recording", true), HasSubstr(content.doubt));
}

TEST(RecordingPage, AStepThatOnlyGoesBackHasTheAccuracyOfItsProducts) {
  profiling::RecordedRun run = profiling::sample_run(3);
  run.result.backward = true;
  run.result.effective.products.passes = engine::StepPasses::Backward;
  run.result.experts.assign(1, {.rows = 8});
  run.result.experts[0].dgrad = {.snr_db = 31.5, .max_abs_error = 0.25, .lost = 2};
  run.result.experts[0].wgrad = {.snr_db = 27.25, .max_abs_error = 0.5};
  const std::string page = recording_page({.runs = {{&run, "run"}}}, "a recording", false);
  EXPECT_THAT(page, HasSubstr("<td>dX 31.50 dB (2 left out)</td>")) << "worst expert";
  EXPECT_THAT(page, HasSubstr("<th>SNR of dW</th>"));
  EXPECT_THAT(page, HasSubstr("<td>27.25 dB</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<th>SNR of Y</th><th>largest")));
  EXPECT_THAT(page, Not(HasSubstr("<td>nan</td>")));
}

TEST(RecordingPage, AnEmptyOneSaysSo) {
  EXPECT_THAT(recording_page({}, "empty", false), HasSubstr("<p>The recording is empty.</p>"));
}

/// Ten runs of a side around `ns`, in blocks of an interleaved measurement.
void add_blocks(std::vector<profiling::RecordedRun>& runs, const char* label, std::int64_t ns) {
  for (int block = 0; block < 10; ++block) {
    profiling::RecordedRun& run = runs.emplace_back();
    run.group = {.kind = profiling::GroupKind::Interleaved,
                 .id = 1'700'000'000'000,
                 .position = static_cast<int>(runs.size()) - 1,
                 .label = label};
    run.request.seed = ns == 90'000 ? 1U : 2U;
    run.result.effective = run.request;
    for (int i = 0; i < 20; ++i) {
      run.result.iterations.push_back({.start_ns = 0, .duration_ns = ns + 10 * i + block});
    }
  }
}

TEST(RecordingPage, AnInterleavedMeasurementHasItsVerdictMediansAndSettings) {
  std::vector<profiling::RecordedRun> runs;
  add_blocks(runs, "A", 90'000);
  add_blocks(runs, "B", 60'000);
  PageContent content;
  for (const profiling::RecordedRun& run : runs) {
    content.runs.push_back({&run, "run", "settings of " + run.group.label});
  }
  const std::string page = recording_page(content, "an A/B", false);
  const std::size_t section = page.rfind("A against B, 20 runs</h2>");
  ASSERT_NE(section, std::string::npos);
  const std::string compared = page.substr(section);
  EXPECT_THAT(compared, HasSubstr("settings of A"));
  EXPECT_THAT(compared, HasSubstr("settings of B"));
  EXPECT_THAT(compared, HasSubstr("B is faster: "));
  EXPECT_THAT(compared, HasSubstr("90.10 µs"));
  EXPECT_THAT(compared, HasSubstr(">seed</td>"));
  content.runs.resize(10);
  EXPECT_THAT(recording_page(content, "one side", false), Not(HasSubstr("A against B,")));
}

TEST(RecordingPage, WhatIsComparedOnScreenIsOnThePageOnce) {
  std::vector<profiling::RecordedRun> runs;
  add_blocks(runs, "A", 90'000);
  add_blocks(runs, "B", 60'000);
  PageContent content;
  PageComparison on_screen{.a = "1. first", .b = "2. second", .runs_a = {}, .runs_b = {}};
  for (const profiling::RecordedRun& run : runs) {
    content.runs.push_back({&run, "run"});
    (run.group.label == "A" ? on_screen.runs_a : on_screen.runs_b)
        .emplace_back(std::shared_ptr<const profiling::RecordedRun>(), &run);
  }
  content.compared = on_screen;
  EXPECT_EQ(count(recording_page(content, "the same", false), "A against B, 20 runs</h2>"), 1U);
  on_screen.runs_a.resize(1);
  on_screen.runs_b.resize(1);
  // Another user's run, of a second recording.
  auto second = std::make_shared<profiling::RecordedRun>(runs.back());
  second->request.activations = engine::FileInput{"/home/somebody/x.npy", {}};
  on_screen.runs_b = {second};
  content.compared = on_screen;
  const std::string page = recording_page(content, "two chosen runs", false);
  EXPECT_EQ(count(page, "A against B, 20 runs</h2>"), 1U);
  const std::size_t section = page.rfind("A against B, 2 runs</h2>");
  ASSERT_NE(section, std::string::npos);
  EXPECT_THAT(page.substr(section), HasSubstr("1. first"));
  EXPECT_THAT(page.substr(section), HasSubstr("x.npy"));
  EXPECT_THAT(page, Not(HasSubstr("somebody")));
}

TEST(RecordingPage, ManyRunsStayBelowTheLimit) {
  std::vector<profiling::RecordedRun> runs;
  PageContent content;
  for (int i = 0; i < 300; ++i) runs.push_back(profiling::sample_run(i));
  for (const profiling::RecordedRun& run : runs) content.runs.push_back({&run, "run"});
  const std::string page = recording_page(content, "many", false);
  EXPECT_LE(page.size(), 5'000'000U);
  EXPECT_THAT(page, HasSubstr("260 more runs are not shown in full on this page"));
}

TEST(RecordingPage, MarksThrottledIterationsAsTheWindowDoes) {
  profiling::RecordedRun run;
  for (int i = 0; i < 4; ++i) run.result.iterations.push_back({100 * i, 50});
  run.power.samples = {{.time_ns = 110, .clock_reasons = 4}, {.time_ns = 160}, {.time_ns = 330}};
  const std::string page = recording_page({.runs = {{&run, "1. a"}}}, "throttled", false);
  EXPECT_THAT(page, HasSubstr("n 4, 2 throttled. Marked: throttled by"));
  EXPECT_THAT(page, HasSubstr("<circle"));
}

}  // namespace
}  // namespace app
