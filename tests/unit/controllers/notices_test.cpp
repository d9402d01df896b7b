// What the user is told: one list, one line, and how long each message stays.
#include "app/controllers/notices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace app {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

std::vector<std::string> texts(const Notices& notices) {
  std::vector<std::string> all;
  for (const Notices::Notice& one : notices.all()) all.push_back(one.text);
  return all;
}

TEST(Notices, ExpireUnlessTheyAreErrors) {
  const Notices::Clock::time_point start{};
  Notices notices;
  notices.add(Severity::Good, "saved", start);
  notices.add(Severity::Bad, "not opened", start);
  notices.add(Severity::Warn, "late", start + 5s);
  EXPECT_FALSE(notices.expire(start + Notices::kShown));
  EXPECT_TRUE(notices.expire(start + Notices::kShown + 1s));
  EXPECT_THAT(texts(notices), ElementsAre("not opened", "late"));
  EXPECT_TRUE(notices.expire(start + 1h));
  EXPECT_THAT(texts(notices), ElementsAre("not opened"));
  EXPECT_EQ(notices.errors(), 1U);
  notices.dismiss(0);
  EXPECT_TRUE(notices.all().empty());
}

TEST(Notices, TheLineShowsTheNewestMessage) {
  const Notices::Clock::time_point start{};
  Notices notices;
  EXPECT_EQ(notices.line().text, "");
  notices.set_status("Undone", start);
  notices.add(Severity::Good, "saved", start + 1s);
  EXPECT_EQ(notices.line().text, "saved");
  EXPECT_EQ(notices.line().severity, Severity::Good);
  notices.set_status("Redone", start + 2s);
  EXPECT_EQ(notices.line().text, "Redone");
  EXPECT_EQ(notices.line().severity, std::nullopt);
  notices.set_status("", start + 3s);
  EXPECT_EQ(notices.line().text, "saved");
}

TEST(Notices, WhatWasDoneIsNoNewsAfterAWhile) {
  const Notices::Clock::time_point start{};
  Notices notices;
  notices.set_status("An example is open", start);
  EXPECT_FALSE(notices.expire(start + 1s));
  EXPECT_EQ(notices.line().text, "An example is open");
  EXPECT_TRUE(notices.expire(start + Notices::kShown + 1s));
  EXPECT_EQ(notices.line().text, "");
}

TEST(Notices, AFullListGivesUpReportsBeforeErrors) {
  Notices notices;
  notices.add(Severity::Bad, "first error");
  for (std::size_t i = 0; i < 2 * Notices::kMost; ++i) {
    notices.add(Severity::Good, "saved " + std::to_string(i));
  }
  EXPECT_EQ(notices.all().size(), Notices::kMost);
  EXPECT_EQ(notices.all().front().text, "first error");
  notices.clear_read();
  EXPECT_THAT(texts(notices), ElementsAre("first error"));
  for (std::size_t i = 0; i < 2 * Notices::kMost; ++i) {
    notices.add(Severity::Bad, "error " + std::to_string(i));
  }
  EXPECT_EQ(notices.all().size(), Notices::kMost);
  notices.add(Severity::Good, "the newest");
  EXPECT_EQ(notices.all().back().text, "the newest");
}

TEST(Notices, ARepeatedTextIsListedOnce) {
  Notices notices;
  notices.add(Severity::Warn, "again");
  notices.add(Severity::Warn, "other");
  notices.add(Severity::Warn, "again");
  EXPECT_THAT(texts(notices), ElementsAre("other", "again"));
}

}  // namespace
}  // namespace app
