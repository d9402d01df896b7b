// A worker never goes on without one of its threads.
#include "app/worker/end_worker.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <new>
#include <stdexcept>

#include "engine/model/guarded_thread.h"

namespace app {
namespace {

TEST(EndWorker, AnExceptionInAThreadEndsTheProcessAndSaysWhy) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  spdlog::set_default_logger(spdlog::stderr_logger_mt("worker"));
  const auto run = [](auto work) { engine::GuardedThread(work, end_worker).join(); };
  EXPECT_EXIT(run([] { throw std::runtime_error("no backend is left"); }),
              ::testing::ExitedWithCode(kExitThreadFailed), "no backend is left");
  EXPECT_EXIT(run([] { throw std::bad_alloc(); }), ::testing::ExitedWithCode(kExitThreadFailed),
              "not enough memory");
}

}  // namespace
}  // namespace app
