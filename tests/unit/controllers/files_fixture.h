// Results in memory, a folder of their own, and what writes them there.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "app/controllers/files_controller.h"
#include "app/controllers/session_state.h"

namespace app {

class FilesFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "files-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  template <class Condition>
  bool tick_until(Condition condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < limit) {
      files_.tick();
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  bool wait_for_notice(const std::string& part) {
    return tick_until([&] {
      return std::ranges::any_of(notices_.all(), [&](const Notices::Notice& one) {
        return one.text.find(part) != std::string::npos;
      });
    });
  }
  SessionState::Run add() { return state_.add_live(profiling::RecordedRun{}); }
  /// A value of it exceeds the limits of a file.
  SessionState::Run add_refused() {
    profiling::RecordedRun run;
    run.request.shape.num_experts = -1;
    return state_.add_live(std::move(run));
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
  RememberedFiles remembered_;
  Notices notices_;
  SessionState state_;
  FilesController files_{[] {}, remembered_, notices_};
};

}  // namespace app
