// Threads behind the window: an exception in their work is reported and ends nothing.
#include "app/controllers/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace app {
namespace {

bool wait_until(const std::function<bool()>& holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(BackgroundTask, AnExceptionBecomesTheResultsError) {
  BackgroundTask<engine::Result<int>> task([] {});
  task.start([]() -> engine::Result<int> { throw std::bad_alloc(); });
  std::optional<engine::Result<int>> result;
  ASSERT_TRUE(wait_until([&] { return (result = task.take()).has_value(); }));
  ASSERT_FALSE(result->ok());
  EXPECT_EQ(result->error().code, engine::ErrorCode::OutOfMemory);
  EXPECT_FALSE(task.running());
}

TEST(BackgroundTask, AnExceptionWithoutAResultIsReportedSeparately) {
  BackgroundTask<int> task([] {});
  task.start([]() -> int { throw std::runtime_error("no picture"); });
  ASSERT_TRUE(wait_until([&] {
    EXPECT_FALSE(task.take().has_value());
    return !task.running();
  }));
  EXPECT_EQ(BackgroundFailures::take(), std::vector<std::string>{"no picture"});
  task.start([] { return 7; });
  std::optional<int> result;
  EXPECT_TRUE(wait_until([&] { return (result = task.take()).has_value(); }));
  EXPECT_EQ(result, 7);
}

/// What is too small for a thread fails as what is not: its source is named, and nothing is thrown.
TEST(MadeAtOnce, AnExceptionIsReportedAsThatOfATaskIs) {
  EXPECT_EQ(made_at_once([] { return 7; }), 7);
  const auto none = made_at_once([]() -> int { throw std::runtime_error("no picture"); });
  EXPECT_FALSE(none.has_value());
  const auto too_large =
      made_at_once([] { return std::string(std::string().max_size() + 1, '#'); });
  EXPECT_FALSE(too_large.has_value());
  const std::vector<std::string> failures = BackgroundFailures::take();
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0], "no picture");
  EXPECT_NE(failures[1].find("basic_string"), std::string::npos) << failures[1];
}

TEST(MadeAtOnce, HalfAChangeIsNotKept) {
  std::vector<int> model = {1};
  EXPECT_TRUE(changed_at_once(model, [](std::vector<int>& one) { one.push_back(2); }));
  EXPECT_EQ(model.size(), 2U);
  EXPECT_FALSE(changed_at_once(model, [](std::vector<int>& one) {
    one.push_back(3);
    throw std::runtime_error("no rows");
  }));
  EXPECT_TRUE(model.empty());
  EXPECT_EQ(BackgroundFailures::take(), std::vector<std::string>{"no rows"});
}

TEST(WriteQueue, WritesAllInOrderAndOutlivesAnException) {
  std::vector<int> written;  // by the queue's only thread
  std::atomic<int> count{0};
  {
    WriteQueue queue([] {});
    for (int i = 0; i < 100; ++i) {
      queue.put([i, &written, &count]() -> WriteQueue::Outcome {
        if (i == 50) throw std::runtime_error("torn");
        // Later writes are quicker: separate threads would overtake.
        std::this_thread::sleep_for(std::chrono::microseconds(200 - 2 * i));
        written.push_back(i);
        ++count;
        return WriteQueue::Done{std::to_string(i)};
      });
    }
    ASSERT_TRUE(wait_until([&] { return count == 99; }));
    int failed = 0;
    for (int i = 0; i < 100; ++i) {
      std::optional<WriteQueue::Outcome> outcome;
      ASSERT_TRUE(wait_until([&] { return (outcome = queue.take()).has_value(); }));
      if (outcome->ok()) {
        EXPECT_EQ(outcome->value().text, std::to_string(i));
      } else {
        EXPECT_EQ(outcome->error().message, "torn");
        ++failed;
      }
    }
    EXPECT_EQ(failed, 1);
    queue.put([&]() -> WriteQueue::Outcome {
      written.push_back(100);
      return WriteQueue::Done{};
    });
  }
  EXPECT_EQ(written.back(), 100) << "what was requested before the end is written";
}

}  // namespace
}  // namespace app
