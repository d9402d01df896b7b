// What the CPU backend reports for a request it cannot follow exactly, how it stops, its progress,
// and that a kept operand changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/backend/backend.h"
#include "engine/model/values.h"

namespace engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunRequest settings_request() {
  RunRequest request;
  request.shape = {.preset = "", .num_experts = 4, .rows = 64, .n = 64, .k = 128};
  request.launch.iterations = 3;
  return request;
}

/// Keeps every span; cancels the run at a chosen one.
class RecordingObserver : public StepObserver {
 public:
  struct Span {
    WorkTag tag;
    std::string name;
    int iteration = -1;
    std::int64_t duration_ns = 0;
  };
  void begin_run() override { ++runs_begun; }
  void end_run() override { ++runs_ended; }
  void begin_work(const WorkTag&) override { ++open_work; }
  void end_work() override { --open_work; }
  void begin_iteration(int iteration) override { current_iteration = iteration; }
  void end_iteration() override { current_iteration = -1; }
  void span(const WorkTag& tag, const char* name, int, std::int64_t start_ns,
            std::int64_t end_ns) override {
    spans.push_back({tag, name, current_iteration, end_ns - start_ns});
    if (cancel_at == static_cast<int>(spans.size())) progress.cancel = true;
  }
  std::string method() const override { return "recorded by the test"; }
  std::uint64_t dropped() const override { return 7; }

  RunProgress progress;
  std::vector<Span> spans;
  int runs_begun = 0;
  int runs_ended = 0;
  int open_work = 0;
  int current_iteration = -1;
  int cancel_at = -1;
};

std::set<std::string> names_of(const std::vector<RecordingObserver::Span>& spans) {
  std::set<std::string> names;
  for (const auto& span : spans) {
    if (span.iteration >= 0) names.insert(span.name);
  }
  return names;
}

TEST(CpuBackendSettings, FollowsSupportedRequestsWithoutADeviation) {
  RecordingObserver observer;
  const auto result = make_cpu_backend()->run(settings_request(), {observer.progress, observer});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.value().deviations.empty());
  EXPECT_EQ(result.value().effective, settings_request());
}

TEST(CpuBackendSettings, EveryDeviationNamesBothSidesAndTheReason) {
  RunRequest request = settings_request();
  request.backend = GemmBackend::CublasLtGrouped;
  request.launch.kind = LaunchKind::GraphReplay;
  request.workspace = WorkspaceStrategy::Shared;
  request.recipe.split_accumulator = false;
  request.cublaslt_library = "/somewhere/libcublasLt.so";
  RecordingObserver observer;
  const auto result = make_cpu_backend()->run(request, {observer.progress, observer});
  ASSERT_TRUE(result.ok());
  std::vector<std::string> fields;
  for (const Deviation& deviation : result.value().deviations) {
    fields.push_back(deviation.field);
    EXPECT_FALSE(deviation.requested.empty());
    EXPECT_NE(deviation.requested, deviation.effective);
    EXPECT_GT(deviation.reason.size(), 20U) << deviation.field;
  }
  EXPECT_THAT(fields, ElementsAre("backend", "launch", "workspace", "recipe.split_accumulator",
                                  "cublaslt_library"));
  RunRequest effective = settings_request();
  EXPECT_EQ(result.value().effective, effective);
  EXPECT_TRUE(result.value().replay_checks.empty());
}

TEST(CpuBackendSettings, ADeviationNamesWhatWasRequested) {
  for (const WorkspaceStrategy strategy :
       {WorkspaceStrategy::Shared, WorkspaceStrategy::PerLayout, WorkspaceStrategy::PerCall}) {
    for (const GemmBackend backend :
         {GemmBackend::CublasLtGrouped, GemmBackend::CublasLtPerExpert}) {
      RunRequest request = settings_request();
      request.backend = backend;
      request.workspace = strategy;
      RecordingObserver observer;
      const auto result = make_cpu_backend()->run(request, {observer.progress, observer});
      ASSERT_TRUE(result.ok());
      const std::vector<Deviation>& deviations = result.value().deviations;
      ASSERT_EQ(deviations.size(), 2U);
      EXPECT_EQ(deviations[0].requested, name_of(backend));
      EXPECT_EQ(deviations[0].effective, name_of(GemmBackend::CpuReference));
      EXPECT_EQ(deviations[1].requested, name_of(strategy));
      EXPECT_EQ(deviations[1].effective, name_of(WorkspaceStrategy::PerMatmul));
    }
  }
}

TEST(CpuBackendSettings, ASettingWithoutAnEffectIsNotReportedAsEffective) {
  RunRequest request = settings_request();
  request.recipe.scaling = Scaling::Nvfp4;
  request.recipe.amax_epsilon = 1.0F;
  request.streams = 8;
  RecordingObserver observer;
  const auto result = make_cpu_backend()->run(request, {observer.progress, observer});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().effective.recipe.amax_epsilon, 0.0F);
  EXPECT_FALSE(result.value().effective.recipe.pow2_scales) << "its scales are E4M3";
  std::vector<std::string> fields;
  for (const Deviation& deviation : result.value().deviations) fields.push_back(deviation.field);
  EXPECT_THAT(fields, ElementsAre("streams", "recipe.amax_epsilon"));
}

TEST(CpuBackendSettings, SpansNameEveryStageOfEveryExpert) {
  struct Case {
    Scaling scaling;
    std::set<std::string> names;
  };
  const Case cases[] = {
      {Scaling::None, {"widen + sgemm"}},
      {Scaling::PerTensorCurrent,
       {"amax of X", "amax of W", "quantize X, rowwise", "quantize W, rowwise",
        "dequantize + sgemm"}},
      {Scaling::Block, {"quantize X, rowwise", "quantize W, rowwise", "dequantize + sgemm"}}};
  for (const Case& one : cases) {
    RunRequest request = settings_request();
    request.recipe.scaling = one.scaling;
    request.layers = 2;
    RecordingObserver observer;
    const auto result = make_cpu_backend()->run(request, {observer.progress, observer});
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(names_of(observer.spans), one.names);
    std::set<std::tuple<int, int, int, std::string>> timed;
    for (const auto& span : observer.spans) {
      EXPECT_GE(span.duration_ns, 0);
      if (span.iteration >= 0) {
        timed.emplace(span.iteration, span.tag.layer, span.tag.expert, span.name);
      }
    }
    EXPECT_EQ(timed.size(), 3U * 2U * 4U * one.names.size());
    EXPECT_EQ(observer.open_work, 0);
    EXPECT_EQ(observer.runs_begun, 1);
    EXPECT_EQ(observer.runs_ended, 1);
    EXPECT_EQ(result.value().iterations.size(), 3U);
    EXPECT_EQ(result.value().iterations[0].start_ns, 0);
    EXPECT_GT(result.value().iterations[2].start_ns, result.value().iterations[1].start_ns);
    EXPECT_EQ(result.value().activity_method, "recorded by the test");
    EXPECT_EQ(result.value().dropped_records, 7U);
    EXPECT_DOUBLE_EQ(result.value().flop, 2.0 * 2.0 * 64 * 64 * 128);
    EXPECT_EQ(observer.progress.fraction.load(), 1.0);
    EXPECT_EQ(observer.progress.iterations.load(), 3);
  }
}

TEST(CpuBackendSettings, StopsWhenCancelledAnywhereAndRunsAgain) {
  const auto backend = make_cpu_backend();
  RecordingObserver whole;
  ASSERT_TRUE(backend->run(settings_request(), {whole.progress, whole}).ok());
  for (const int at : {1, 5, static_cast<int>(whole.spans.size()) / 2}) {
    RecordingObserver observer;
    observer.cancel_at = at;
    const auto result = backend->run(settings_request(), {observer.progress, observer});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::Cancelled);
    EXPECT_LT(observer.spans.size(), static_cast<std::size_t>(at) + 8) << "kept working";
    EXPECT_EQ(observer.runs_ended, 1);
    EXPECT_EQ(observer.open_work, 0);
  }
  RecordingObserver again;
  EXPECT_TRUE(backend->run(settings_request(), {again.progress, again}).ok());
}

bool same_experts(const RunResult& a, const RunResult& b) {
  return std::equal(
      a.experts.begin(), a.experts.end(), b.experts.begin(), b.experts.end(),
      [](const ExpertResult& x, const ExpertResult& y) { return equal_fields(x, y); });
}

TEST(CpuBackendSettings, KeptOperandsChangeNothing) {
  const auto kept = make_cpu_backend();
  const auto answer = [](Backend& backend, const RunRequest& request) {
    RecordingObserver observer;
    return backend.run(request, {observer.progress, observer}).value();
  };
  RunRequest request = settings_request();
  const auto change = [&](int step) {
    if (step == 1) request.recipe.amax_epsilon = 3.0F;                          // same operands
    if (step == 2) request.routing.distribution = RoutingDistribution::OneHot;  // same operands
    if (step == 3) request.seed = 9;
    if (step == 4) request.weights = SyntheticInput{Distribution::Uniform, ElementType::Fp32};
    if (step == 5) request.shape.k = 64;
    if (step == 6) request.recipe.scaling = Scaling::None;
    if (step == 7) request.shape.rows = 32;
    if (step == 8) request.routing.distribution = RoutingDistribution::Uniform;
  };
  for (int step = 0; step < 9; ++step) {
    change(step);
    EXPECT_TRUE(same_experts(answer(*kept, request), answer(*make_cpu_backend(), request))) << step;
  }
}

TEST(CpuBackendSettings, RefusesRunsThatDoNotFitInMemory) {
  RunRequest request = settings_request();
  request.shape = {.preset = "",
                   .num_experts = 1,
                   .rows = kMaxDimension,
                   .n = kMaxDimension,
                   .k = kMaxDimension};
  ASSERT_TRUE(validate(request).ok());
  RecordingObserver observer;
  const auto result = make_cpu_backend()->run(request, {observer.progress, observer});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::OutOfMemory);
  EXPECT_THAT(result.error().message, HasSubstr("16777216 rows"));
  EXPECT_THAT(result.error().message, HasSubstr("GiB of memory are available"));
  EXPECT_THAT(result.error().message, HasSubstr("choose fewer tokens"));
}

TEST(CpuBackendSettings, SaysWhichFileCannotBeRead) {
  RunRequest request = settings_request();
  request.activations = FileInput{.path = "/nowhere/x.npy", .tensor = ""};
  RecordingObserver observer;
  const auto result = make_cpu_backend()->run(request, {observer.progress, observer});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::NotFound);
  EXPECT_THAT(result.error().message, HasSubstr("/nowhere/x.npy"));
}

TEST(CpuBackendSettings, KnowsItsMachine) {
  const DeviceFacts facts = make_cpu_backend()->device();
  EXPECT_FALSE(facts.name.empty());
  EXPECT_THAT(facts.blas, testing::MatchesRegex("OpenBLAS [0-9.]+.*"));
  EXPECT_GE(facts.multiprocessors, 1);
  EXPECT_GT(facts.memory_bytes, 0);
}

}  // namespace
}  // namespace engine
