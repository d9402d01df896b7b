// What the observer of an attached program makes of a spool made by hand.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "profiling/attach/observed/observed_process.h"
#include "profiling/attach/spool/spool_reader.h"
#include "tests/support/hand_made_spool.h"

namespace profiling {

/// Reads all of the spool, from a file of the running test's own. Fails the test if the spool
/// cannot be read, or if the snapshot made of it breaks a rule of snapshots.
inline ObservedProcess observe(const HandMadeSpool& spool) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string path =
      testing::TempDir() + "/" + test.test_suite_name() + "." + test.name() + ".spool";
  spool.write(path);
  ObservedProcess process;
  auto reader = SpoolReader::open(path);
  if (!reader.ok()) {
    ADD_FAILURE() << reader.error().message;
    return process;
  }
  EXPECT_TRUE(
      reader.value()
          .follow(SpoolReader::Until::End, [&](const SpoolFrame& frame) { process.take(frame); })
          .ok());
  process.take(reader.value().state());
  EXPECT_TRUE(check_snapshot(process.snapshot()).ok());
  return process;
}

}  // namespace profiling
