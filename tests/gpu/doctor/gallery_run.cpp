#include "tests/gpu/doctor/gallery_run.h"

#include "profiling/hazards/proofs/launch_plan.h"

namespace profiling {

void GalleryRun::SetUp() {
  engine::Result<engine::FoundDevice> device = engine::find_device();
  if (!device.ok()) GTEST_SKIP() << device.error().message;
  device_ = std::move(device).value();
  stream_ = engine::make_stream().value();
}

std::vector<std::uint64_t> GalleryRun::eager_checksums(const std::string& id, bool healthy) {
  const auto made = make_gallery_subject(id, healthy, stream_.get());
  if (!made.ok()) {
    ADD_FAILURE() << made.error().message;
    return {};
  }
  Subject& subject = *made.value();
  engine::StepObserver unobserved;
  std::vector<std::uint64_t> first;
  for (int launch = 0; launch < 3; ++launch) {
    engine::Status status = subject.reset(stream_.get());
    if (status.ok()) status = enqueue_step(subject, stream_.get(), unobserved);
    const auto sums = status.ok() ? subject.checksums(stream_.get()) : status.error();
    if (!sums.ok()) {
      ADD_FAILURE() << id << ": " << sums.error().message;
      return {};
    }
    if (launch == 0) first = sums.value();
    EXPECT_EQ(sums.value(), first) << id << ", eager launch " << launch + 1;
  }
  const engine::Status noted = subject.noted_errors(stream_.get());
  EXPECT_TRUE(noted.ok()) << (noted.ok() ? "" : noted.error().message);
  return first;
}

engine::Result<ExperimentReply> GalleryRun::run(const std::string& id, bool healthy,
                                                const Experiment& experiment) {
  auto subject = make_gallery_subject(id, healthy, stream_.get());
  if (!subject.ok()) return subject.error();
  const ExperimentFacts facts{.device = device_.facts};
  return run_experiment(*subject.value(), experiment, facts, {progress_, board_}, stream_.get());
}

Verdict GalleryRun::verdict(const std::string& id, bool healthy, const Experiment& experiment) {
  const engine::Result<ExperimentReply> reply = run(id, healthy, experiment);
  if (!reply.ok()) {
    ADD_FAILURE() << id << ": " << reply.error().message;
    return Verdict::NotRun;
  }
  if (reply.value().outcome.verdict == Verdict::NotRun) {
    ADD_FAILURE() << id << ": " << reply.value().outcome.message;
  }
  return reply.value().outcome.verdict;
}

Snapshot GalleryRun::snapshot(const std::string& id, bool healthy) {
  const engine::Result<ExperimentReply> reply = run(id, healthy, {.replays = 1});
  if (reply.ok()) return reply.value().snapshot;
  ADD_FAILURE() << id << ": " << reply.error().message;
  return {};
}

}  // namespace profiling
