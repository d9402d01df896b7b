// The tests run as the worker does: with threads that sleep while they wait.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "engine/backend/cpu/thread_waiting.h"

TEST(ThreadWaiting, TheProgramRunsUnderAPolicyThatWasSet) {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  ASSERT_TRUE(policy != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr);
}

int main(int argc, char** argv) {
  engine::make_waiting_threads_sleep(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
