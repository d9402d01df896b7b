// What the window derives on its own thread while memory runs out: every allocation fails once, and
// none may end the window. A program of its own, because it replaces operator new.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "app/gui/compare/compare_model.h"
#include "app/gui/graph/graph_scene.h"
#include "tests/support/patience.h"

namespace {

thread_local int allocations_left = -1;  // of this thread until one fails; -1 = none does

void* allocate(std::size_t bytes) {
  if (allocations_left == 0) {
    allocations_left = -1;
    throw std::bad_alloc();
  }
  if (allocations_left > 0) --allocations_left;
  void* made = std::malloc(bytes == 0 ? 1 : bytes);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
// Whoever asks this way goes on without: std::stable_sort.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void operator delete(void* freed, const std::nothrow_t&) noexcept { std::free(freed); }
void operator delete(void* freed) noexcept { std::free(freed); }
void operator delete[](void* freed) noexcept { std::free(freed); }
void operator delete(void* freed, std::size_t) noexcept { std::free(freed); }
void operator delete[](void* freed, std::size_t) noexcept { std::free(freed); }

namespace app {
namespace {

/// How many allocations of `act` fail, one in each of its calls; each failure must be reported.
int failures_of(const std::function<void()>& act, const std::function<void()>& check) {
  for (int failed = 0;; ++failed) {
    allocations_left = failed;
    act();
    const bool all_succeeded = allocations_left >= 0;
    allocations_left = -1;
    const std::vector<std::string> reported = BackgroundFailures::take();
    if (all_succeeded) {
      EXPECT_TRUE(reported.empty());
      return failed;
    }
    EXPECT_EQ(reported.size(), 1U) << "of allocation " << failed;
    for (const std::string& one : reported) {
      EXPECT_NE(one.find("not enough memory"), std::string::npos) << one;
    }
    check();
  }
}

bool wait_until(const std::function<bool()>& holds) {
  for (int i = 0; i < 1000 * tests::patience(); ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

std::shared_ptr<const profiling::RecordedRun> run_of(std::int64_t duration_ns) {
  profiling::RecordedRun run;
  run.result.iterations.resize(4, {.duration_ns = duration_ns});
  return std::make_shared<const profiling::RecordedRun>(std::move(run));
}

TEST(FailedDerivation, ComparedRunsWithoutRowsStayComparable) {
  CompareModel model([] {});
  const CompareSide a = {.title = "A", .runs = {run_of(1000)}};
  const CompareSide b = {.title = "B", .runs = {run_of(2000)}};
  model.follow(a, b, engine::Product::Fprop);
  ASSERT_TRUE(wait_until([&] { return model.tick(); }));
  const Theme theme;
  EXPECT_GT(failures_of([&] { model.make_rows(theme); },
                        [&] {
                          EXPECT_TRUE(model.times_table().rows.empty()) << "only some of the rows";
                          EXPECT_TRUE(model.settings_table().rows.empty())
                              << "only some of the rows";
                          EXPECT_NE(model.comparison(), nullptr);
                        }),
            0);
  EXPECT_FALSE(model.times_table().rows.empty());
  bool normalised = false;  // another question each time, which is derived anew
  EXPECT_GT(failures_of([&] { model.bins(Overlay{}, -1, normalised = !normalised); }, [] {}), 0);
}

/// A proved finding of the second of three nodes, which names memory.
std::shared_ptr<const profiling::DoctorReport> report_with_finding() {
  constexpr std::uint64_t kAddress = 0x7f0000000000;
  profiling::DoctorReport report;
  report.snapshot.subject = "step";
  report.snapshot.ledger.push_back({.id = 1,
                                    .address = kAddress,
                                    .bytes = 4096,
                                    .role = engine::AllocationRole::Output,
                                    .owner = "x"});
  profiling::GraphSnapshot graph;
  for (int i = 0; i < 3; ++i) {
    graph.nodes.push_back({.type = profiling::NodeType::Memset,
                           .parameters = profiling::MemsetNode{.address = kAddress, .width = 64}});
  }
  report.snapshot.graphs.push_back(graph);
  profiling::Finding& finding = report.findings.emplace_back();
  finding.confidence = profiling::Confidence::Proved;
  finding.nodes = {{0, 1}};
  finding.accesses.push_back({.node = {0, 1}, .word = kAddress + 8});
  return std::make_shared<const profiling::DoctorReport>(std::move(report));
}

TEST(FailedDerivation, AGraphIsShownWithoutWhatFailed) {
  std::vector<GraphScene::Report> reports;  // another one each time, which is derived anew
  for (int i = 0; i < 200; ++i) reports.push_back(report_with_finding());
  std::size_t next = 0;
  GraphScene scene([] {});
  EXPECT_GT(failures_of([&] { scene.show(reports.at(next++), nullptr, nullptr); },
                        [&] { EXPECT_NE(scene.graph(), nullptr); }),
            0);
  EXPECT_EQ(scene.suspicion(1), profiling::Confidence::Proved);
  EXPECT_EQ(scene.named_accesses().size(), 1U);
  EXPECT_TRUE(wait_until([&] { return scene.tick(); }));
  EXPECT_NE(scene.facts(), nullptr);
}

}  // namespace
}  // namespace app
