#include "engine/model/moment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace engine {
namespace {

TEST(Moment, IsWrittenInItsZone) {
  const char* zone = std::getenv("TZ");
  const std::string before = zone != nullptr ? zone : "";
  ASSERT_EQ(::setenv("TZ", "XXX-2", 1), 0);  // two hours east of UTC
  ::tzset();
  EXPECT_EQ(local_time(1'000'000'000, "%Y-%m-%d %H:%M:%S"), "2001-09-09 03:46:40");
  EXPECT_EQ(utc_time(1'000'000'000, "%Y-%m-%dT%H:%M:%SZ"), "2001-09-09T01:46:40Z");
  zone != nullptr ? ::setenv("TZ", before.c_str(), 1) : ::unsetenv("TZ");
  ::tzset();
}

TEST(Moment, AYearBeyondTheCalendarIsEmpty) {
  constexpr std::time_t kNever = std::numeric_limits<std::time_t>::max();
  EXPECT_EQ(local_time(kNever, "%Y"), "");
  EXPECT_EQ(utc_time(kNever, "%Y"), "");
}

}  // namespace
}  // namespace engine
