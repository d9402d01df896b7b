// The engine thread never ends without ending the worker.
#include "app/worker/engine_loop.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <new>
#include <stdexcept>

namespace app {
namespace {

TEST(EngineThread, AnExceptionEndsTheProcessAndSaysWhy) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  spdlog::set_default_logger(spdlog::stderr_logger_mt("worker"));
  EXPECT_EXIT(run_engine_thread([] { throw std::runtime_error("no backend is left"); }),
              testing::ExitedWithCode(kExitEngineFailed), "no backend is left");
  EXPECT_EXIT(run_engine_thread([] { throw std::bad_alloc(); }),
              testing::ExitedWithCode(kExitEngineFailed), "bad_alloc");
}

TEST(EngineThread, AnEngineThatIsDoneJustReturns) {
  bool ran = false;
  run_engine_thread([&ran] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace app
