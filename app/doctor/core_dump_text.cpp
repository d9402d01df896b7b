#include "app/doctor/core_dump_text.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string_view>

#include "app/protocol/child_process.h"

namespace app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{30};
constexpr int kPollMs = 100;

std::string output_of(ChildProcess& child) {
  std::string text;
  std::array<char, 4096> bytes;
  const Clock::time_point until = Clock::now() + kPatience;
  while (Clock::now() < until) {
    pollfd ready{child.output.get(), POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) > 0) {
      const ssize_t count = ::read(child.output.get(), bytes.data(), bytes.size());
      if (count <= 0) break;
      text.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }
  return text;
}

}  // namespace

std::string core_dump_place(const std::string& path) {
  auto child = ChildProcess::start(
      {"/usr/bin/env", "cuda-gdb", "--batch", "-nx", "-ex", "target cudacore " + path});
  if (!child.ok()) return "it cannot be read: " + child.error().message;
  const std::string text = output_of(*child.value());
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = std::string_view(text).substr(start, end - start);
    if (line.starts_with("#0")) return std::string(line);
    start = end + 1;
  }
  return "read it with cuda-gdb, which is not on PATH here or had no answer";
}

}  // namespace app
