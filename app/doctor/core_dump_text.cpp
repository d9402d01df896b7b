#include "app/doctor/core_dump_text.h"

#include <chrono>

#include "app/doctor/child_lines.h"

namespace app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{30};

}  // namespace

std::string core_dump_place(const std::string& path) {
  const Clock::time_point until = Clock::now() + kPatience;
  std::string place = "read it with cuda-gdb, which is not on PATH here or did not answer";
  const auto take = [&](const std::string& line) {
    if (line.starts_with("#0")) place = line;
  };
  const auto ended = run_for_lines(
      {"/usr/bin/env", "cuda-gdb", "--batch", "-nx", "-ex", "target cudacore " + path},
      ChildStream::Output, take, [&] { return Clock::now() > until; });
  return ended.ok() ? place : "it cannot be read: " + ended.error().message;
}

}  // namespace app
