// The real worker with a real device: a window that watches gets readings between orders, with
// everything NVML reports, and none while an order is in progress.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/model/backend_traits.h"
#include "tests/worker/link_harness.h"

namespace app {
namespace {

using namespace std::chrono_literals;
using testing::LinkHarness;

/// Why there is no device to read; empty = there is one.
std::string no_device(const WorkerHello& hello) {
  std::string reasons;
  for (const BackendOffer& offer : hello.backends) {
    if (!engine::traits_of(offer.kind).device) continue;
    if (offer.available) return {};
    reasons += offer.reason;
  }
  return reasons.empty() ? "the worker offers no CUDA backend" : reasons;
}

TEST(ReadingsOnDevice, ComeBetweenOrdersOnly) {
  LinkHarness link({WORKER_PROGRAM});
  ASSERT_TRUE(link.wait([&] { return link.find_any<WorkerHello>() != nullptr; }));
  if (const std::string reason = no_device(*link.find_any<WorkerHello>()); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  std::this_thread::sleep_for(300ms);
  EXPECT_FALSE(link->status().pulse.reading) << "not watched";
  link->watch_device(true);
  ASSERT_TRUE(link.wait([&] { return link->status().pulse.reading.has_value(); }));
  const profiling::PowerTrace read = *link->status().pulse.reading;
  ASSERT_EQ(read.samples.size(), 1U) << read.missing;
  EXPECT_GT(read.samples[0].sm_clock_mhz, 0);
  EXPECT_GT(read.samples[0].power_w, 0);
  EXPECT_GT(read.samples[0].temperature_c, 0);

  engine::RunRequest request;
  request.backend = engine::GemmBackend::CublasLtGrouped;
  request.shape = {.preset = "", .num_experts = 8, .rows = 16384, .n = 4096, .k = 4096};
  request.launch.iterations = 2000;
  const std::uint64_t id = link->submit(request);
  int looked = 0;
  const bool answered = link.wait([&] {
    const PulseReport pulse = link->status().pulse;
    if (pulse.request_id == id && pulse.iteration >= 0) {
      ++looked;
      EXPECT_FALSE(pulse.reading) << "during iteration " << pulse.iteration;
    }
    return link.failure(id) != nullptr || link.find<RunDone>(id) != nullptr;
  });
  ASSERT_TRUE(answered);
  ASSERT_NE(link.find<RunDone>(id), nullptr) << link.failure(id)->error.message;
  EXPECT_GT(looked, 0) << "the timed iterations were too short to be seen";
  EXPECT_TRUE(link.wait([&] { return link->status().pulse.reading.has_value(); }))
      << "readings come back after the run";
  link->watch_device(false);
  EXPECT_TRUE(link.wait([&] { return !link->status().pulse.reading.has_value(); }));
}

}  // namespace
}  // namespace app
