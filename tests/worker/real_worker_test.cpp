// The real worker, over real pipes, running small requests on the CPU.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <thread>

#include "app/protocol/child_process.h"
#include "app/protocol/convert.h"
#include "app/protocol/framing.h"
#include "app/protocol/protocol_version.h"
#include "tests/support/npy_text.h"
#include "tests/worker/link_harness.h"

namespace app {
namespace {

using ::testing::HasSubstr;
using testing::LinkHarness;
using namespace std::chrono_literals;

// The limits themselves are tested with a synthetic clock (liveness_test); here a loaded machine
// must not fail what works.
constexpr auto kReplySoon = 3s;

const std::vector<std::string> kCpuWorker = {WORKER_PROGRAM, "--backend", "cpu"};

engine::RunRequest small_request() {
  engine::RunRequest request;
  request.shape = {.preset = "", .num_experts = 4, .rows = 64, .n = 64, .k = 256};
  request.launch.iterations = 3;
  return request;
}

/// Minutes of work, cancelled between iterations.
engine::RunRequest long_request() {
  engine::RunRequest request = small_request();
  request.launch.iterations = 100000;
  request.shape.rows = 512;
  request.shape.n = 512;
  return request;
}

TEST(RealWorker, GreetsWithItsOffers) {
  LinkHarness link(kCpuWorker);
  ASSERT_TRUE(link.wait([&] { return link.find_any<WorkerHello>() != nullptr; }));
  const WorkerHello& hello = *link.find_any<WorkerHello>();
  EXPECT_EQ(hello.program_version, EXPERTSCOPE_VERSION);
  EXPECT_FALSE(hello.host.empty());
  ASSERT_EQ(hello.backends.size(), 2U);
  for (const BackendOffer& offer : hello.backends) {
    const bool cpu = offer.kind == engine::GemmBackend::CpuReference;
    EXPECT_EQ(offer.available, cpu);
    EXPECT_EQ(offer.reason.empty(), cpu);
    EXPECT_EQ(offer.device.name.empty(), !cpu);
  }
}

TEST(RealWorker, RunsARequestEndToEnd) {
  LinkHarness link(kCpuWorker);
  const engine::RunRequest request = small_request();
  const std::uint64_t id = link->submit(request);
  ASSERT_TRUE(link.wait_for_answer(id));
  const RunDone* done = link.find<RunDone>(id);
  ASSERT_NE(done, nullptr) << link.failure(id)->error.message;
  const engine::RunResult& result = done->result;
  EXPECT_EQ(result.splits, std::vector<std::int64_t>(4, 16));
  EXPECT_EQ(result.iterations.size(), 3U);
  EXPECT_EQ(result.experts.size(), 4U);
  EXPECT_GT(engine::statistics_of(result, engine::StepTensor::X)->snr_db, 20.0);
  EXPECT_LT(engine::statistics_of(result, engine::StepTensor::X)->snr_db, 60.0);
  EXPECT_EQ(engine::statistics_of(result, engine::StepTensor::X)->elements, 64U * 256U);
  EXPECT_EQ(result.effective.recipe, request.recipe);
  EXPECT_TRUE(result.deviations.empty());
  EXPECT_FALSE(result.activity_method.empty());
  EXPECT_GE(done->activity.records.size(), 3U * 4U) << "at least one span per expert and iteration";
  EXPECT_TRUE(link.wait_for_state(LinkState::Responsive));
}

TEST(RealWorker, ALargeRunIsPreviewedOnASlowLinkAlone) {
  engine::RunRequest request = small_request();
  request.shape.rows = 2048;
  request.shape.k = 4096;
  request.recipe.scaling = engine::Scaling::Nvfp4;
  for (const bool remote : {true, false}) {
    LinkHarness link(kCpuWorker, 0, remote);
    const std::uint64_t id = link->submit(request);
    ASSERT_TRUE(link.wait_for_answer(id));
    const RunDone* done = link.find<RunDone>(id);
    ASSERT_NE(done, nullptr) << link.failure(id)->error.message;
    const RunPreview* preview = link.find<RunPreview>(id);
    ASSERT_EQ(preview != nullptr, remote);
    if (!remote) continue;
    const auto place = [&]<class Kind>(const Kind* /*kind*/) {
      return std::ranges::find_if(link.events(), [](const LinkEvent& event) {
        return std::holds_alternative<Kind>(event);
      });
    };
    EXPECT_LT(place(preview), place(done));
    const auto* coarse = engine::statistics_of(preview->result, engine::StepTensor::X);
    const auto* fine = engine::statistics_of(done->result, engine::StepTensor::X);
    EXPECT_EQ(coarse->snr_db, fine->snr_db);
    EXPECT_LT(coarse->scale_map.mean.size(), fine->scale_map.mean.size() / 4);
    EXPECT_EQ(preview->result.wall_ns, done->result.wall_ns);
  }
}

TEST(RealWorker, NoOrderMayNameALibraryThatIsNotAllowed) {
  LinkHarness link(kCpuWorker);
  engine::RunRequest request = small_request();
  request.cublaslt_library = "/of/a/stranger.so";
  const std::vector<std::function<std::uint64_t()>> orders = {
      [&] { return link->submit(request); },
      [&] { return link->submit(engine::ComparisonRequest{.request = request, .recipes = {}}); },
      [&] { return link->submit(engine::default_series(request)); },
      [&] { return link->submit(DoctorOrder{.request = request, .gallery_case = ""}); },
      [&] { return link->submit(QuantizeOrder{.request = request, .folder = "/nowhere"}); }};
  for (const auto& give : orders) {
    const std::uint64_t id = give();
    ASSERT_TRUE(link.wait([&] { return link.failure(id) != nullptr; })) << id;
    EXPECT_EQ(link.failure(id)->error.code, engine::ErrorCode::InvalidArgument);
    EXPECT_THAT(link.failure(id)->error.message, HasSubstr("/of/a/stranger.so"));
    EXPECT_THAT(link.failure(id)->error.message, HasSubstr("--allow-library"));
  }
  // The same link, now allowed: as before, nothing here loads one.
  link->allow_libraries({"/another.so", "/of/a/stranger.so"});
  const std::uint64_t id = link->submit(request);
  ASSERT_TRUE(link.wait_for_answer(id));
  ASSERT_NE(link.find<RunDone>(id), nullptr) << link.failure(id)->error.message;
  link->allow_libraries({});
  const std::uint64_t later = link->submit(request);
  ASSERT_TRUE(link.wait([&] { return link.failure(later) != nullptr; }));
}

TEST(RealWorker, ALibraryItWasStartedWithIsItsOwn) {
  LinkHarness link({WORKER_PROGRAM, "--backend", "cpu", "--cublaslt", "/mine/libcublasLt.so.13"});
  ASSERT_TRUE(link.wait([&] { return link.find_any<WorkerHello>() != nullptr; }));
  EXPECT_TRUE(has_library(*link.find_any<WorkerHello>(), "/mine/libcublasLt.so.13"));
  engine::RunRequest request = small_request();
  request.cublaslt_library = "/mine/libcublasLt.so.13";
  const std::uint64_t id = link->submit(request);
  ASSERT_TRUE(link.wait_for_answer(id));
  EXPECT_NE(link.find<RunDone>(id), nullptr);
}

TEST(RealWorker, ABackendThatIsNotThereIsReplacedWithItsReason) {
  LinkHarness link(kCpuWorker);
  engine::RunRequest request = small_request();
  request.backend = engine::GemmBackend::CublasLtGrouped;
  const std::uint64_t id = link->submit(request);
  ASSERT_TRUE(link.wait_for_answer(id));
  const RunDone* done = link.find<RunDone>(id);
  ASSERT_NE(done, nullptr);
  ASSERT_FALSE(done->result.deviations.empty());
  const engine::Deviation& deviation = done->result.deviations.front();
  EXPECT_EQ(deviation.field, "backend");
  EXPECT_EQ(deviation.requested, "cublaslt-grouped");
  EXPECT_EQ(deviation.effective, "cpu-reference");
  EXPECT_THAT(deviation.reason, HasSubstr("--worker-backend cpu"));
  EXPECT_EQ(done->result.effective.backend, engine::GemmBackend::CpuReference);
}

TEST(RealWorker, ARequestBeyondTheLimitsFailsAndTheWorkerLives) {
  LinkHarness link(kCpuWorker);
  engine::RunRequest request = small_request();
  request.shape.k = 100;
  const std::uint64_t bad = link->submit(request);
  ASSERT_TRUE(link.wait_for_answer(bad));
  ASSERT_NE(link.failure(bad), nullptr);
  EXPECT_EQ(link.failure(bad)->error.code, engine::ErrorCode::InvalidArgument);
  EXPECT_THAT(link.failure(bad)->error.message, HasSubstr("multiple of 16"));
  const std::uint64_t good = link->submit(small_request());
  ASSERT_TRUE(link.wait_for_answer(good));
  EXPECT_NE(link.find<RunDone>(good), nullptr);
}

TEST(RealWorker, TheNewestOfManyWins) {
  LinkHarness link(kCpuWorker);
  ASSERT_TRUE(link.wait_for_state(LinkState::Responsive));
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    engine::RunRequest request = i < 99 ? long_request() : small_request();
    request.seed = static_cast<std::uint64_t>(i);
    last = link->submit(request);
  }
  ASSERT_TRUE(link.wait_for_answer(last));
  const RunDone* done = link.find<RunDone>(last);
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->result.effective.seed, 99U);
  ASSERT_TRUE(link.wait([&] { return link.answers() == 100; }));
  for (std::uint64_t id = 1; id < last; ++id) {
    ASSERT_NE(link.failure(id), nullptr) << "order " << id;
    EXPECT_EQ(link.failure(id)->error.code, engine::ErrorCode::Cancelled);
  }
}

TEST(RealWorker, CancelEndsARun) {
  LinkHarness link(kCpuWorker);
  const std::uint64_t id = link->submit(long_request());
  ASSERT_TRUE(link.wait([&] { return link->status().pulse.request_id == id; }));
  EXPECT_EQ(link->status().state, LinkState::Busy);
  link->cancel();
  ASSERT_TRUE(link.wait_for_answer(id));
  ASSERT_NE(link.failure(id), nullptr);
  EXPECT_EQ(link.failure(id)->error.code, engine::ErrorCode::Cancelled);
  EXPECT_TRUE(link.wait_for_state(LinkState::Responsive));
}

engine::ComparisonRequest long_comparison() {
  engine::ComparisonRequest comparison;
  comparison.request = long_request();
  comparison.request.shape.rows = 8192;
  comparison.request.shape.k = 2048;
  comparison.timed_launches = 1000;
  return comparison;
}

const engine::RecipeComparison* find_comparison(const LinkHarness& link, std::uint64_t id) {
  const auto* done = link.find_any<engine::RecipeComparison>();
  return done != nullptr && done->id == id ? done : nullptr;
}

TEST(RealWorker, ComparesRecipesEndToEnd) {
  LinkHarness link(kCpuWorker);
  engine::ComparisonRequest request;
  request.request = small_request();
  request.timed_launches = 2;
  request.recipes = {{.scaling = engine::Scaling::PerTensorCurrent},
                     {.scaling = engine::Scaling::Block, .pow2_scales = false}};
  const std::uint64_t id = link->submit(request);
  ASSERT_TRUE(link.wait([&] { return find_comparison(link, id) != nullptr; }));
  const engine::RecipeComparison& comparison = *find_comparison(link, id);
  EXPECT_EQ(comparison.request, request);
  ASSERT_EQ(comparison.reports.size(), 4U);
  EXPECT_EQ(comparison.reports[0].refused, "");
  EXPECT_GT(comparison.reports[0].statistics.snr_db, 20.0);
  EXPECT_EQ(comparison.reports[0].times_ns.size(), 2U);
  EXPECT_EQ(comparison.reports[0].sample.codes.size(), 32U * 32U);
  EXPECT_TRUE(link.wait_for_state(LinkState::Responsive));
}

TEST(RealWorker, AComparisonIsCancelledAndTheNewestOrderWins) {
  LinkHarness link(kCpuWorker);
  const std::uint64_t first = link->submit(long_comparison());
  ASSERT_TRUE(link.wait([&] {
    const PulseReport pulse = link->status().pulse;
    return pulse.request_id == first && pulse.fraction > 0.0;
  }));
  link->cancel();
  ASSERT_TRUE(link.wait_for_answer(first));
  ASSERT_NE(link.failure(first), nullptr);
  EXPECT_EQ(link.failure(first)->error.code, engine::ErrorCode::Cancelled);
  const std::uint64_t second = link->submit(long_comparison());
  ASSERT_TRUE(link.wait([&] { return link->status().pulse.request_id == second; }));
  const std::uint64_t run = link->submit(small_request());
  ASSERT_TRUE(link.wait_for_answer(run));
  EXPECT_NE(link.find<RunDone>(run), nullptr);
  ASSERT_NE(link.failure(second), nullptr);
  EXPECT_EQ(link.failure(second)->error.code, engine::ErrorCode::Cancelled);
}

TEST(RealWorker, AComparisonBeyondTheLimitsIsRefused) {
  LinkHarness link(kCpuWorker);
  engine::ComparisonRequest request;
  request.timed_launches = -1;
  const std::uint64_t id = link->submit(request);
  ASSERT_TRUE(link.wait_for_answer(id));
  ASSERT_NE(link.failure(id), nullptr);
  EXPECT_THAT(link.failure(id)->error.message, HasSubstr("timed_launches is -1"));
}

TEST(RealWorker, KilledInTheMiddleOfARunIsLost) {
  LinkHarness link(kCpuWorker);
  const std::uint64_t id = link->submit(long_request());
  ASSERT_TRUE(link.wait([&] { return link->status().pulse.request_id == id; }));
  ASSERT_EQ(::kill(link->status().pid, SIGKILL), 0);
  ASSERT_TRUE(link.wait_for_state(LinkState::Lost, kReplySoon));
  EXPECT_EQ(link->status().reason, "killed by signal 9");
}

TEST(RealWorker, StoppedInTheMiddleOfARunIsStalledAndComesBack) {
  LinkHarness link(kCpuWorker);
  const std::uint64_t id = link->submit(long_request());
  ASSERT_TRUE(link.wait([&] { return link->status().pulse.request_id == id; }));
  ASSERT_EQ(::kill(link->status().pid, SIGSTOP), 0);
  ASSERT_TRUE(link.wait_for_state(LinkState::Stalled, kReplySoon));
  ASSERT_EQ(::kill(link->status().pid, SIGCONT), 0);
  EXPECT_TRUE(link.wait_for_state(LinkState::Busy, kReplySoon));
}

TEST(RealWorker, FilesAreInspectedWhileARunIsUnderWay) {
  LinkHarness link(kCpuWorker);
  const std::uint64_t id = link->submit(long_request());
  ASSERT_TRUE(link.wait([&] { return link->status().pulse.request_id == id; }));
  link->inspect_file({.path = "/nowhere/x.npy"});
  ASSERT_TRUE(link.wait([&] { return link.find_any<FileReport>() != nullptr; }));
  EXPECT_EQ(link.find_any<FileReport>()->path, "/nowhere/x.npy");
  EXPECT_FALSE(link.find_any<FileReport>()->error.empty());
}

TEST(RealWorker, ARecordedRoutingIsDescribedAsAskedAndByItself) {
  const std::string path =
      ::testing::TempDir() + "expertscope_routing_" + std::to_string(::getpid());
  std::ofstream(path + "_splits.json") << "[[3, 1], [0, 5]]";
  for (const char* const name : {"_vllm.npy", ".npy"}) {
    std::ofstream(path + name, std::ios::binary)
        << engine::npy_integers("<i2", "3, 1, 2", {0, 1, 2, 0, 1, 2});
  }
  LinkHarness link(kCpuWorker);
  engine::RoutingSpec routing;
  routing.distribution = engine::RoutingDistribution::File;
  routing.path = path + "_splits.json";
  routing.first_step = 1;
  link->inspect_file({.path = routing.path, .routing = routing});
  ASSERT_TRUE(link.wait([&] { return link.find_any<FileReport>() != nullptr; }));
  const FileReport asked = *link.find_any<FileReport>();
  EXPECT_EQ(asked.asked, routing);
  ASSERT_TRUE(asked.routing.has_value()) << asked.error;
  EXPECT_EQ(asked.routing->experts, 2);
  EXPECT_EQ(asked.routing->largest_step, 5);
  LinkHarness other(kCpuWorker);
  other->inspect_file({.path = path + "_vllm.npy"});
  ASSERT_TRUE(other.wait([&] { return other.find_any<FileReport>() != nullptr; }));
  const FileReport found = *other.find_any<FileReport>();
  EXPECT_FALSE(found.asked.has_value());
  ASSERT_TRUE(found.routing.has_value()) << found.error;
  EXPECT_EQ(found.routing->source, "vLLM routed_experts, int16 [3, 1, 2]");
  ASSERT_EQ(found.tensors.size(), 1U);
  EXPECT_TRUE(found.tensors[0].integers);
  // Without a name that says what it holds, the answer is what there is to choose from.
  LinkHarness third(kCpuWorker);
  routing.path = path + ".npy";
  routing.first_step = 0;
  third->inspect_file({.path = routing.path, .routing = routing});
  ASSERT_TRUE(third.wait([&] { return third.find_any<FileReport>() != nullptr; }));
  const FileReport ambiguous = *third.find_any<FileReport>();
  EXPECT_FALSE(ambiguous.routing.has_value());
  EXPECT_THAT(ambiguous.error, HasSubstr("routing.numbers"));
  ASSERT_EQ(ambiguous.readings.size(), 3U);
  EXPECT_EQ(ambiguous.readings[0].numbers, engine::RoutingNumbers::Counts);
  EXPECT_EQ(ambiguous.readings[1].words, "3 tokens, 1 layer, 2 experts of each token");
  for (const char* const name : {".json", "_vllm.npy", ".npy"}) std::remove((path + name).c_str());
}

TEST(RealWorker, AWrongCallIsNamed) {
  LinkHarness link({WORKER_PROGRAM, "--backend", "tpu"});
  ASSERT_TRUE(link.wait_for_state(LinkState::Lost));
  EXPECT_EQ(link->status().reason, "exited with code 2");
  ASSERT_TRUE(link.wait([&] { return link.find_any<LogReport>() != nullptr; }));
  EXPECT_THAT(link.find_any<LogReport>()->text, HasSubstr("tpu"));
}

TEST(RealWorker, TheLastChoiceOfALibraryCounts) {
  LinkHarness link({WORKER_PROGRAM, "--backend", "cpu", "--cublaslt", "/a", "--cublaslt", "/b"});
  EXPECT_TRUE(link.wait_for_state(LinkState::Responsive));
}

/// A worker driven by hand, for what a link never does.
class BareWorker : public ::testing::Test {
 protected:
  void SetUp() override {
    engine::Result<std::unique_ptr<ChildProcess>> child = ChildProcess::start(kCpuWorker);
    ASSERT_TRUE(child.ok());
    child_ = std::move(child).value();
  }
  void send(const std::string& bytes) {
    ASSERT_EQ(::write(child_->input.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  void send(const wire::Frame& frame) { send(encode_frame(frame).value()); }
  /// The worker's exit, or "" after ten seconds.
  std::string end() {
    for (int i = 0; i < 1000; ++i) {
      if (const auto said = child_->try_reap()) return *said;
      std::this_thread::sleep_for(10ms);
    }
    return {};
  }
  std::unique_ptr<ChildProcess> child_;
};

TEST_F(BareWorker, EndsWhenItsInputEnds) {
  child_->input.reset();
  EXPECT_EQ(end(), "exited with code 0");
}

TEST_F(BareWorker, EndsWhenItsInputEndsInTheMiddleOfARun) {
  wire::Frame hello;
  hello.mutable_hello()->set_protocol_version(protocol_version());
  send(hello);
  wire::Frame run;
  *run.mutable_order() = to_wire({.id = 1, .task = long_request()});
  send(run);
  std::this_thread::sleep_for(300ms);
  child_->input.reset();
  EXPECT_EQ(end(), "exited with code 0");
}

TEST_F(BareWorker, EndsWhenItsOutputHasNoReader) {
  child_->output.reset();
  EXPECT_EQ(end(), "exited with code 0");
}

TEST_F(BareWorker, RefusesAnotherVersionInASentence) {
  wire::Frame hello;
  hello.mutable_hello()->set_protocol_version(protocol_version() + 1);
  hello.mutable_hello()->set_program_version("9.9");
  send(hello);
  EXPECT_EQ(end(), "exited with code 4");
  std::string bytes(65536, '\0');
  const ssize_t count = ::read(child_->output.get(), bytes.data(), bytes.size());
  ASSERT_GT(count, 0);
  FrameDecoder decoder;
  decoder.append(std::string_view(bytes).substr(0, static_cast<std::size_t>(count)));
  std::string refused;
  while (refused.empty()) {
    const auto frame = decoder.next();
    ASSERT_TRUE(frame.ok() && frame.value());
    refused = frame.value()->hello_reply().refused();
  }
  EXPECT_THAT(refused,
              AllOf(HasSubstr(fmt::format("version {:08x}", protocol_version())), HasSubstr("9.9"),
                    HasSubstr(fmt::format("version {:08x}", protocol_version() + 1))));
}

TEST_F(BareWorker, RefusesGarbage) {
  send("GET / HTTP/1.1\r\n");
  EXPECT_EQ(end(), "exited with code 5");
}

TEST_F(BareWorker, AnOrderWithAnUnknownSettingIsAnsweredByName) {
  wire::Frame hello;
  hello.mutable_hello()->set_protocol_version(protocol_version());
  send(hello);
  wire::Frame run;
  run.mutable_order()->set_id(77);
  run.mutable_order()->mutable_run()->set_backend(static_cast<wire::GemmBackend>(42));
  send(run);
  FrameDecoder decoder;
  std::array<char, 65536> chunk;
  for (int i = 0; i < 1000; ++i) {
    const ssize_t count = ::read(child_->output.get(), chunk.data(), chunk.size());
    if (count > 0) decoder.append({chunk.data(), static_cast<std::size_t>(count)});
    auto frame = decoder.next();
    ASSERT_TRUE(frame.ok());
    if (frame.value() && frame.value()->has_answer()) {
      EXPECT_EQ(frame.value()->answer().id(), 77U);
      EXPECT_THAT(frame.value()->answer().failed().error().message(), HasSubstr("backend is 42"));
      return;
    }
    if (!frame.value()) std::this_thread::sleep_for(10ms);
  }
  FAIL() << "no answer";
}

}  // namespace
}  // namespace app
