// Files that are opened for the request: requests, splits, tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/controllers/operand_file.h"
#include "app/controllers/routing_file.h"
#include "engine/input/value_json.h"
#include "tests/unit/controllers/workbench_fixture.h"

namespace app {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::SizeIs;

TEST_F(WorkbenchTest, ARequestThatIsOpenedBecomesTheRails) {
  open("good");
  engine::RunRequest before = state().requested;
  engine::RunRequest request;
  request.seed = 77;
  request.recipe.scaling = engine::Scaling::Mxfp8;
  workbench_->open_file(write("request.json", engine::to_json_text(request, true)));
  ASSERT_TRUE(tick_until([&] { return state().requested == request; }));
  EXPECT_EQ(workbench_->tours.tour(), nullptr);
  workbench_->act(Action::Undo);
  EXPECT_EQ(state().requested, before);
}

TEST_F(WorkbenchTest, ARequestForAnotherLibraryStartsAWorkerWithIt) {
  open("good");
  const std::string library = "/tmp/other.so";
  engine::RunRequest request = with_seed(7);
  request.cublaslt_library = library;
  workbench_->open_file(write("request.json", engine::to_json_text(request)));
  ASSERT_TRUE(tick_until([&] { return workbench_->library_question() != nullptr; }));
  EXPECT_EQ(workbench_->library_question()->library, library);
  workbench_->act(Action::AllowLibrary);
  const std::vector<Command> allowed = workbench_->take_commands();
  ASSERT_THAT(allowed, SizeIs(1));
  ASSERT_TRUE(std::holds_alternative<StartWorker>(allowed[0]));
  EXPECT_EQ(std::get<StartWorker>(allowed[0]).cublaslt, library);
}

TEST_F(WorkbenchTest, SplitsThatAreOpenedBecomeTheRouting) {
  open("good");
  const std::string path = write("splits.json", "[5, 0, 7]");
  workbench_->open_file(path);
  ASSERT_TRUE(tick_until(
      [&] { return state().requested.routing.distribution == engine::RoutingDistribution::File; }));
  EXPECT_EQ(state().requested.routing.path, path);
  EXPECT_EQ(state().requested.shape.num_experts, 3);
  EXPECT_EQ(state().requested.shape.rows, 12);
}

TEST_F(WorkbenchTest, WhatWasSaidOfOneRoutingFileSaysNothingOfTheNext) {
  open("");
  engine::RunRequest request = with_seed(7);
  request.routing = {.distribution = engine::RoutingDistribution::File,
                     .path = "first.npy",
                     .numbers = engine::RoutingNumbers::Vllm,
                     .layer = 3};
  workbench_->edit(request, 0);
  // Its lists may be splits or experts of tokens, so the rail asks.
  const std::string path = write("kind.json", "[[1, 7], [2, 6]]");
  workbench_->open_file(path);
  ASSERT_TRUE(tick_until([&] { return state().requested.routing.path == path; }));
  EXPECT_EQ(state().requested.routing.numbers, engine::RoutingNumbers::Detect);
  EXPECT_EQ(state().requested.routing.layer, 0);
  EXPECT_EQ(state().requested.shape, request.shape);
  // The same where a path is typed or chosen in the rail.
  name_routing_file(request.routing, "first.npy");
  EXPECT_EQ(request.routing.numbers, engine::RoutingNumbers::Vllm);
  name_routing_file(request.routing, "second.json");
  EXPECT_EQ(request.routing.numbers, engine::RoutingNumbers::Detect);
}

TEST_F(WorkbenchTest, APathAtWhichThereIsNothingIsShortInMessagesAndNoPlaceForPictures) {
  open("");
  ASSERT_TRUE(std::filesystem::create_directory(folder_ + "/sub"));
  const std::string name = folder_ + "/sub/" + std::string(3000, 'a');
  for (const char* suffix : {"", ".session", ".npy"}) workbench_->open_file(name + suffix);
  ASSERT_TRUE(wait_for_notice("Not opened: "));
  for (const std::string& one : notices()) EXPECT_THAT(one, SizeIs(Lt(600)));
  EXPECT_THAT(workbench_->notices.status_message(), SizeIs(Lt(600)));
  EXPECT_EQ(workbench_->files.folder(), folder_);
}

TEST_F(WorkbenchTest, WhatCannotBeReadOrWrittenIsSaid) {
  open("");
  workbench_->open_file(folder_ + "/none.session");
  ASSERT_TRUE(wait_for_notice("Not opened: "));
  EXPECT_NE(state().file_error, "");
  EXPECT_EQ(state().last_error, "") << "it blocks no run";
  workbench_->open_file(folder_);
  EXPECT_THAT(notices(), Contains(HasSubstr("files of a folder")));
  workbench_->open_file("picture.bmp");
  EXPECT_THAT(notices(), Contains(HasSubstr("cannot be opened: supported are recordings")));
  workbench_->files.save_text(folder_ + "/no/such/folder.txt", "text", "done");
  ASSERT_TRUE(wait_for_notice("Not saved: "));
  workbench_->files.save_text(folder_ + "/a.txt", "text", "It is there");
  EXPECT_TRUE(wait_for_notice("It is there"));
}

/// Files are described by their names.
class TensorTest : public WorkbenchTest {
 protected:
  void SetUp() override {
    WorkbenchTest::SetUp();
    open("describes-files");
    before_ = state().requested;
  }
  /// A file of this name is opened and its header read.
  void open_tensor(const std::string& name) {
    workbench_->open_file(folder_ + "/" + name);
    ASSERT_TRUE(tick_until([&] { return !runs().take_file_reports().empty(); }));
  }
  std::string file_of_x() const {
    const auto* file =
        std::get_if<engine::FileInput>(&workbench_->runs.state.requested.activations);
    return file == nullptr ? "" : file->path;
  }

  engine::RunRequest before_;
};

TEST_F(TensorTest, GivesTheStepItsSizesInOneUndoStep) {
  open_tensor("x-768-384.npy");
  EXPECT_EQ(file_of_x(), folder_ + "/x-768-384.npy");
  EXPECT_EQ(state().requested.shape.rows, 768);
  EXPECT_EQ(state().requested.shape.k, 384);
  EXPECT_EQ(state().requested.shape.n, before_.shape.n);
  EXPECT_THAT(workbench_->notices.status_message(), HasSubstr("gives the values of X: K 512"));
  EXPECT_EQ(workbench_->view().blocked, "");
  workbench_->act(Action::Undo);
  EXPECT_EQ(state().requested, before_);
}

TEST_F(TensorTest, LiveRunsItOnlyWithItsSizes) {
  state().live = true;
  open_tensor("x-768-384.npy");
  ASSERT_TRUE(tick_until([&] { return state().shown() != nullptr; }));
  EXPECT_THAT(state().live_results().runs, SizeIs(1));
  EXPECT_EQ(state().shown()->request.shape.rows, 768);
}

TEST_F(TensorTest, ThatFitsWOnlyIsW) {
  open_tensor("x-2-48-64.npy");
  EXPECT_EQ(workbench_->view().blocked, "");
  EXPECT_EQ(state().requested.activations, before_.activations);
  EXPECT_EQ(std::get<engine::FileInput>(state().requested.weights).path,
            folder_ + "/x-2-48-64.npy");
  EXPECT_EQ(state().requested.shape.num_experts, 2);
  EXPECT_THAT(workbench_->notices.status_message(), HasSubstr("gives the values of W"));
  workbench_->act(Action::Undo);
  EXPECT_EQ(state().requested, before_);
}

TEST_F(TensorTest, ThatCannotFitSaysWhyThereIsNoRun) {
  state().live = true;
  open_tensor("x-2-3-4.npy");  // nor W, as sizes of products are multiples of 16
  EXPECT_FALSE(runs().link.waiting());
  EXPECT_EQ(workbench_->view().blocked,
            "x-2-3-4.npy cannot be X: its shape is [2, 3, 4]; X must be [tokens, K]");
  EXPECT_EQ(state().requested.shape, before_.shape);
  open_tensor("x-64-128.npy");
  EXPECT_EQ(workbench_->view().blocked, "");
}

TEST_F(TensorTest, WithALongNameIsRefusedInFewWords) {
  open_tensor("x-2-3-" + std::string(1500, '4') + ".npy");
  EXPECT_THAT(workbench_->view().blocked, SizeIs(AllOf(Gt(0U), Lt(400U))));
}

TEST_F(TensorTest, IsReadByTheWorkerThatComesLater) {
  open("");
  workbench_->open_file(folder_ + "/x-64-128.npy");
  EXPECT_THAT(workbench_->notices.status_message(), HasSubstr("no worker that could read it"));
  Workbench::Options options;
  options.worker.program = FAKE_WORKER;
  options.worker.arguments = {"describes-files"};
  workbench_ = std::make_unique<Workbench>(options, [] {}, remembered_, machines_);
  state().live = true;
  workbench_->open_file(folder_ + "/x-64-128.npy");
  runs().start_worker("");
  ASSERT_TRUE(tick_until([&] { return state().shown() != nullptr; }));
  EXPECT_EQ(state().shown()->request.shape.rows, 64);
}

TEST_F(TensorTest, OpenedDuringATourChangesTheUsersOwnRequestAndLive) {
  state().live = true;
  workbench_->open_file(write("tour.json", R"({"steps": [
      {"name": "a", "caption": "one", "page": "numerics", "request": {"seed": "41"}}]})"));
  ASSERT_TRUE(tick_until([&] { return state().requested.seed == 41; }));
  EXPECT_FALSE(state().live);
  open_tensor("x-64-128.npy");
  EXPECT_EQ(tours().tour(), nullptr);
  EXPECT_TRUE(state().live);
  EXPECT_EQ(state().requested.seed, before_.seed);
  EXPECT_EQ(state().requested.shape.rows, 64);
}

TEST_F(TensorTest, AnotherWorkerIsAskedAboutFilesAnew) {
  EXPECT_TRUE(runs().take_greeting());
  EXPECT_FALSE(runs().take_greeting()) << "told once";
  runs().inspect_file({.path = "/x-3-4.npy"});
  std::vector<FileReport> reports;
  const auto answered = [&] {
    std::ranges::move(runs().take_file_reports(), std::back_inserter(reports));
    return !reports.empty();
  };
  ASSERT_TRUE(tick_until(answered));
  runs().start_worker("");
  ASSERT_TRUE(tick_until([&] { return runs().take_greeting(); }));
  reports.clear();
  runs().inspect_file({.path = "/x-3-4.npy"});
  EXPECT_TRUE(tick_until(answered));
}

TEST_F(TensorTest, ASupersededQuestionHasNoAnswer) {
  runs().inspect_file({.path = "/superseded-1-2.npy"});
  const auto later = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  ASSERT_TRUE(tick_until([&] { return std::chrono::steady_clock::now() > later; }));
  runs().inspect_file({.path = "/x-3-4.npy"});
  std::vector<FileReport> reports;
  ASSERT_TRUE(tick_until([&] {
    std::ranges::move(runs().take_file_reports(), std::back_inserter(reports));
    return !reports.empty();
  }));
  EXPECT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports.front().path, "/x-3-4.npy");
}

TEST(OperandFile, IntegersAreNone) {
  engine::TensorEntry entry;
  entry.integers = true;
  FileReport report{.path = "/f.npy", .error = {}, .tensors = {entry}};
  EXPECT_TRUE(holds_integers(report));
  report.tensors.push_back({});
  EXPECT_FALSE(holds_integers(report));
  report.tensors.clear();
  EXPECT_FALSE(holds_integers(report));
}

engine::TensorEntry tensor(const std::string& name, std::vector<std::int64_t> shape,
                           const std::string& unusable = {}) {
  engine::TensorEntry entry;
  entry.name = name;
  entry.shape = std::move(shape);
  entry.usable = unusable.empty();
  entry.reason = unusable;
  return entry;
}

TEST(OperandFile, ShapeByOperand) {
  engine::RunRequest request;
  request.shape = {.preset = "a", .num_experts = 4, .rows = 8, .n = 16, .k = 32};
  const auto of = [&](std::vector<std::int64_t> sizes, RequestOperand operand) {
    return shape_of(tensor("", std::move(sizes)), operand, request);
  };
  using enum RequestOperand;
  EXPECT_EQ(of({4, 64, 32}, W).value().n, 64);
  EXPECT_EQ(of({4, 64, 32}, W).value().preset, "") << "no published layer any longer";
  EXPECT_EQ(of({256, 32}, W).value().n, 64) << "experts one under the other";
  EXPECT_EQ(of({8, 24}, DY).value().n, 24);
  EXPECT_EQ(of({8, 32}, X).value(), request.shape);
  EXPECT_FALSE(of({255, 32}, W).ok());
  EXPECT_FALSE(of({8}, DY).ok());
  // Of an expert layer dY has K columns, and Wdown those of A, half of H's.
  request.step = engine::StepKind::ExpertLayer;
  EXPECT_EQ(of({8, 48}, DY).value().k, 48);
  EXPECT_EQ(of({8, 48}, DY).value().n, 16);
  EXPECT_EQ(of({4, 48, 24}, WDown).value().k, 48);
  EXPECT_EQ(of({4, 48, 24}, WDown).value().n, 48);
  // A token has a row for each of its experts: as many rows as the gate in front of a run expects.
  request.expert_layer.top_k = 2;
  EXPECT_EQ(of({8, 32}, X).value().rows, 16);
  EXPECT_EQ(of({8, 32}, DY).value().rows, 16);
  // Of a list of experts, the first ones are read.
  EXPECT_EQ(shape_of(tensor("layers.0.experts.{}.w", {64, 16, 32}), W, request).value().num_experts,
            4);
}

TEST(OperandFile, TheTensorThatIsMeant) {
  engine::RunRequest request;
  request.activations = engine::FileInput{"/f.safetensors", {}};
  FileReport report{.path = "/f.safetensors", .error = {}, .tensors = {}};
  report.tensors.push_back(tensor("ids", {8}, "integers"));
  report.tensors.push_back(tensor("h.0", {64, 128}));
  const auto fitted = [&] { return fitted_to_file(request, RequestOperand::X, report); };
  EXPECT_EQ(std::get<engine::FileInput>(fitted().value().activations).tensor, "h.0");
  report.tensors.push_back(tensor("h.w", {8, 64, 128}));
  EXPECT_EQ(std::get<engine::FileInput>(fitted().value().activations).tensor, "h.0")
      << "the only one with the dimensions of X";
  report.tensors.push_back(tensor("h.1", {96, 128}));
  EXPECT_EQ(std::get<engine::FileInput>(fitted().value().activations).tensor, "h.0")
      << "the first that fits";
  request.activations = engine::FileInput{"/f.safetensors", "h.1"};
  EXPECT_EQ(fitted().value().shape.rows, 96);
  request.activations = engine::FileInput{"/f.safetensors", "ids"};
  EXPECT_THAT(fitted().error().message, HasSubstr("ids: integers"));
  report.error = "/f.safetensors cannot be opened: it is too long: it has 308 bytes";
  EXPECT_EQ(fitted().error().message, "X cannot be read: " + report.error)
      << "the file is named once";
}

}  // namespace
}  // namespace app
