// The launches of a step: eager in the step's order with the program's own work around them, and in
// the order that an experiment wants. Needs no device: nothing is enqueued.
#include "profiling/hazards/proofs/launch_plan.h"

#include <gmock/gmock.h>

namespace profiling {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;

/// Notes what is called.
class NotingSubject final : public Subject {
 public:
  explicit NotingSubject(std::vector<GraphLaunch> launches = {}) : launches_(std::move(launches)) {}

  std::string title() const override { return "noting"; }
  std::vector<std::string> graph_names() const override { return {"a", "b", "c"}; }
  std::vector<GraphLaunch> launches() const override { return launches_; }
  std::vector<SubjectOutput> outputs() const override { return {}; }
  engine::Status set_inputs(bool, cudaStream_t) override { return {}; }
  engine::Status reset(cudaStream_t) override { return {}; }
  engine::Status before_launch(int number, cudaStream_t) override {
    return note("before ", number);
  }
  engine::Status after_launch(int number, cudaStream_t) override { return note("after ", number); }
  engine::Status enqueue(int graph, cudaStream_t, engine::StepObserver&) override {
    return note("graph ", graph);
  }
  engine::Result<std::vector<std::uint64_t>> checksums(cudaStream_t) override {
    return std::vector<std::uint64_t>();
  }

  std::vector<std::string> notes;

 private:
  engine::Status note(const char* what, int number) {
    notes.push_back(what + std::to_string(number));
    return {};
  }

  std::vector<GraphLaunch> launches_;
};

std::vector<PlannedLaunch> plan(const Subject& subject, const Experiment& experiment) {
  const auto planned = plan_launches(subject, experiment);
  EXPECT_TRUE(planned.ok()) << planned.error().message;
  return planned.ok() ? planned.value() : std::vector<PlannedLaunch>();
}

TEST(LaunchPlan, WithoutAListEveryGraphOnceInOrder) {
  EXPECT_THAT(plan(NotingSubject(), {}),
              ElementsAre(FieldsAre(0, 0, false), FieldsAre(1, 1, false), FieldsAre(2, 2, false)));
}

TEST(LaunchPlan, TheStepsOwnOrder) {
  const NotingSubject subject({{.graph = 2}, {.graph = 0, .overlaps = true}, {.graph = 2}});
  EXPECT_THAT(plan(subject, {}),
              ElementsAre(FieldsAre(2, 0, false), FieldsAre(0, 1, true), FieldsAre(2, 2, false)));
  EXPECT_THAT(plan(subject, {.captured_per_launch = true}),
              ElementsAre(FieldsAre(0, 0, false), FieldsAre(1, 1, true), FieldsAre(2, 2, false)));
}

TEST(LaunchPlan, AnExperimentsOrderKeepsTheNumbersOfLaunches) {
  const NotingSubject subject({{.graph = 2}, {.graph = 0}, {.graph = 2}});
  EXPECT_THAT(
      plan(subject, {.launches = {{.graph = 0}, {.graph = 2}, {.graph = 2, .overlaps = true}}}),
      ElementsAre(FieldsAre(0, 1, false), FieldsAre(2, 0, false), FieldsAre(2, 2, true)));
}

TEST(LaunchPlan, OtherLaunchesThanTheStepsAreRefused) {
  const NotingSubject subject({{.graph = 2}, {.graph = 0}, {.graph = 2}});
  for (const std::vector<GraphLaunch>& launches : std::vector<std::vector<GraphLaunch>>{
           {{.graph = 2}, {.graph = 0}},
           {{.graph = 2}, {.graph = 0}, {.graph = 1}},
           {{.graph = 2}, {.graph = 0}, {.graph = 2}, {.graph = 2}},
           {{.graph = 0}, {.graph = 0}, {.graph = 2}}}) {
    const auto refused = plan_launches(subject, {.launches = launches});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, engine::ErrorCode::InvalidArgument);
  }
}

TEST(LaunchPlan, AnEagerStepHasTheProgramsWorkAroundEveryLaunch) {
  NotingSubject subject({{.graph = 1}, {.graph = 0, .overlaps = true}});
  engine::StepObserver unobserved;
  ASSERT_TRUE(enqueue_step(subject, nullptr, unobserved).ok());
  EXPECT_THAT(subject.notes,
              ElementsAre("before 0", "graph 1", "after 0", "before 1", "graph 0", "after 1"));
}

}  // namespace
}  // namespace profiling
