// What a run will change is said before it: on a worker without the request's device.
#include "app/controllers/foreseen_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using engine::GemmBackend;
using ::testing::IsEmpty;

WorkerHello with_gpu(bool available) {
  WorkerHello hello;
  hello.backends.resize(2);
  hello.backends[0].kind = GemmBackend::CublasLtGrouped;
  hello.backends[0].available = available;
  hello.backends[0].reason = available ? "" : "built without CUDA";
  hello.backends[1].kind = GemmBackend::CpuReference;
  hello.backends[1].available = true;
  return hello;
}

engine::RunRequest graph_on(GemmBackend backend) {
  engine::RunRequest request;
  request.backend = backend;
  request.launch.kind = engine::LaunchKind::GraphReplay;
  return request;
}

TEST(ForeseenChanges, WithoutTheDeviceTheCpuTakesItsPlaceForTheWorkersReason) {
  const engine::RunRequest request = graph_on(GemmBackend::CublasLtPerExpert);
  EXPECT_TRUE(cpu_replaces_device(request, with_gpu(false)));
  std::vector<engine::Deviation> changes = foreseen_changes(request, with_gpu(false));
  ASSERT_GE(changes.size(), 2U);
  EXPECT_EQ(changes[0].field, "backend");
  EXPECT_EQ(changes[0].reason, "built without CUDA");
  EXPECT_EQ(changes[1].field, "launch");
}

TEST(ForeseenChanges, OfADeviceThatIsThereOnlyTheRunKnows) {
  const engine::RunRequest request = graph_on(GemmBackend::CublasLtGrouped);
  EXPECT_FALSE(cpu_replaces_device(request, with_gpu(true)));
  EXPECT_THAT(foreseen_changes(request, with_gpu(true)), IsEmpty());
}

TEST(ForeseenChanges, OnceTheCpuIsChosenTheRestIsStillSaid) {
  const engine::RunRequest request = graph_on(GemmBackend::CpuReference);
  EXPECT_FALSE(cpu_replaces_device(request, with_gpu(false)));
  const std::vector<engine::Deviation> changes = foreseen_changes(request, with_gpu(false));
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes[0].field, "launch");
  EXPECT_THAT(foreseen_changes(engine::RunRequest(), with_gpu(false)), IsEmpty());
}

}  // namespace
}  // namespace app
