// The controllers together, over a worker that does nothing but answer, and without a window.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "app/controllers/workbench.h"

namespace app {

class WorkbenchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "workbench-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    remembered_.folder = folder_;
  }
  void TearDown() override {
    workbench_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// With a worker that behaves like this; empty = with none.
  void open(const std::string& mode) {
    Workbench::Options options;
    options.worker.program = FAKE_WORKER;
    options.worker.arguments = {mode};
    options.no_worker = mode.empty();
    options.presets = presets_;
    workbench_ = std::make_unique<Workbench>(options, [] {}, remembered_, machines_);
    if (mode.empty()) return;
    runs().start_worker("");
    ASSERT_TRUE(tick_until([&] { return runs().link.hello().has_value(); }));
  }

  template <class Condition>
  bool tick_until(Condition condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < limit) {
      if (condition()) return true;
      workbench_->tick();
      for (const Command& command : workbench_->take_commands()) {
        if (const auto* page = std::get_if<ShowPage>(&command)) page_ = *page;
        if (std::holds_alternative<RepeatTourStep>(command)) tours().repeat_step();
        if (const auto* action = std::get_if<Action>(&command)) workbench_->act(*action);
        if (const auto* use = std::get_if<UseRequest>(&command)) workbench_->use_request(*use);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  bool run_and_wait() {
    const std::size_t before = state().live_results().runs.size();
    workbench_->act(Action::Run);
    return tick_until([&] { return state().live_results().runs.size() > before; });
  }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::vector<std::string> notices() const {
    std::vector<std::string> texts;
    for (const Notices::Notice& one : workbench_->notices.all()) texts.push_back(one.text);
    return texts;
  }
  bool wait_for_notice(const std::string& part) {
    return tick_until([&] {
      return ::testing::Value(notices(), ::testing::Contains(::testing::HasSubstr(part)));
    });
  }
  engine::RunRequest with_seed(std::uint64_t seed) const {
    engine::RunRequest request = workbench_->runs.state.requested;
    request.seed = seed;
    return request;
  }
  RunsController& runs() { return workbench_->runs; }
  SessionState& state() { return workbench_->runs.state; }
  TourController& tours() { return workbench_->tours; }

  std::vector<engine::ShapePreset> presets_;  // of the next window
  std::string folder_;
  RememberedFiles remembered_;
  RememberedMachines machines_;
  std::unique_ptr<Workbench> workbench_;
  ShowPage page_;  // the newest order
};

}  // namespace app
