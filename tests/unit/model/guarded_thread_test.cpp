// What a thread throws is somebody's error.
#include "engine/model/guarded_thread.h"

#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <string>

namespace engine {
namespace {

std::optional<Error> failure_of(const std::function<void()>& work) {
  std::optional<Error> heard;
  GuardedThread(work, [&](const Error& error) { heard = error; }).join();
  return heard;
}

TEST(GuardedThread, WhatItsWorkThrowsIsHeardOnce) {
  const std::optional<Error> heard = failure_of([] { throw std::runtime_error("torn"); });
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->code, ErrorCode::Internal);
  EXPECT_EQ(heard->message, "torn");
  EXPECT_EQ(failure_of([] { throw std::bad_alloc(); })->code, ErrorCode::OutOfMemory);
  EXPECT_EQ(failure_of([] { throw 7; })->message, "an exception of an unknown type");
  EXPECT_FALSE(failure_of([] {}));
}

TEST(GuardedThread, WhatItsWorkHoldsEndsOnIt) {
  const auto here = std::this_thread::get_id();
  std::thread::id ended_on = here;
  std::shared_ptr<int> held(new int(7), [&](int* number) {
    ended_on = std::this_thread::get_id();
    delete number;
  });
  GuardedThread thread([held = std::move(held)] {}, [](const Error&) {});
  thread.join();
  EXPECT_NE(ended_on, here);
}

TEST(GuardedThread, AssigningWaitsForTheThreadBefore) {
  bool first = false;
  GuardedThread thread([&] { first = true; }, [](const Error&) {});
  thread = GuardedThread();
  EXPECT_TRUE(first);
  EXPECT_FALSE(thread.started());
}

TEST(Guarded, AnExceptionBecomesTheResultsError) {
  const Result<int> made = guarded([]() -> Result<int> { throw std::runtime_error("no picture"); });
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "no picture");
  EXPECT_EQ(guarded([]() -> Result<int> { return 7; }).value(), 7);
}

}  // namespace
}  // namespace engine
