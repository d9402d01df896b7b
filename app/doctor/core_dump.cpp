// cuda-gdb is asked for one thing: where the kernel was.
#include "app/doctor/core_dump.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>

#include "app/doctor/child_lines.h"

namespace app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kReadLimit{30};

/// The text after `key` up to one of `ends`; empty if the line does not have both.
std::string after(const std::string& line, std::string_view key, std::string_view ends) {
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + key.size();
  const std::size_t end = line.find_first_of(ends, begin);
  return end == std::string::npos ? "" : line.substr(begin, end - begin);
}

std::string parenthesized(const std::string& line, std::string_view key) {
  const std::string inner = after(line, std::string(key) + " (", ")");
  return inner.empty() ? "" : "(" + inner + ")";
}

int index_after(const std::string& line, std::string_view key) {
  const std::string digits = after(line, ", " + std::string(key) + " ", ",] ");
  int value = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool known = error == std::errc() && end == digits.data() + digits.size() && value >= 0 &&
                     value <= profiling::kMaxHardwareIndex;
  return known ? value : -1;
}

std::uint64_t address_in(std::string_view text) {
  const std::size_t at = text.find("0x");
  std::uint64_t address = 0;
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + 2);
  std::from_chars(text.data(), text.data() + text.size(), address, 16);
  return address;
}

/// "#0  0x00007fffd5257030 in spin_kernel<<<(1,1,1),(32,1,1)>>> (flag=0x0) at spin.cu:12"
void take_frame(const std::string& line, profiling::CorePlace& place) {
  const std::size_t launch = line.find("<<<");
  const std::size_t in = line.find(" in ");
  const bool addressed = in != std::string::npos && in < launch && line.find("0x") < in;
  const std::size_t first = line.find_first_not_of(' ', addressed ? in + 4 : 2);
  if (first == std::string::npos) return;
  // A template's arguments may hold " (", as in "kernel<(Format)0, (Kind)1>".
  const std::size_t end =
      launch != std::string::npos ? launch : std::min(line.find(" (", first), line.size());
  if (addressed) place.pc = address_in(line);
  place.kernel = line.substr(first, end - first);
  if (launch != std::string::npos) {
    const std::size_t closed = line.find(">>>", launch);
    if (closed != std::string::npos) place.launch = line.substr(launch, closed + 3 - launch);
  }
  const std::size_t source = line.rfind(") at ");
  if (source != std::string::npos) place.source = line.substr(source + 5);
}

}  // namespace

void take_debugger_line(const std::string& line, profiling::CorePlace& place) {
  if (line.find("focus") != std::string::npos && line.find("CUDA kernel") != std::string::npos) {
    place.block = parenthesized(line, "block");
    place.thread = parenthesized(line, "thread");
    place.sm = index_after(line, "sm");
    place.warp = index_after(line, "warp");
    place.lane = index_after(line, "lane");
  } else if (line.starts_with("#0")) {
    take_frame(line, place);
  } else if (line.starts_with("=> 0x")) {
    const std::size_t colon = line.find(":\t");
    if (colon == std::string::npos) return;
    place.pc = address_in(line);
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (begin == std::string::npos) return;
    place.instruction = line.substr(begin, line.find_last_not_of(" \t;") + 1 - begin);
  }
}

std::vector<std::string> core_dump_environment(const std::string& name) {
  const profiling::CoreDumpFiles files = core_dump_files(name);
  return {"CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1", "CUDA_COREDUMP_FILE=" + files.file,
          "CUDA_COREDUMP_PIPE=" + files.pipe,
          "CUDA_COREDUMP_GENERATION_FLAGS=skip_nonrelocated_elf_images,skip_global_memory,"
          "skip_shared_memory,skip_local_memory,skip_constbank_memory,skip_abort"};
}

profiling::CoreDumpFiles core_dump_files(const std::string& name) {
  return {.pipe = name + ".pipe", .file = name + ".core"};
}

profiling::CorePlace read_core_dump(const std::string& path, const std::function<bool()>& give_up) {
  const Clock::time_point until = Clock::now() + kReadLimit;
  profiling::CorePlace place;
  const auto ended = run_for_lines(
      {"/usr/bin/env", "cuda-gdb", "--batch", "-nx", "-ex", "target cudacore " + path, "-ex",
       "x/i $pc"},
      ChildStream::Output, [&](const std::string& line) { take_debugger_line(line, place); },
      [&] { return Clock::now() > until || (give_up && give_up()); });
  if (!ended.ok()) {
    place.missing = "it cannot be read: " + ended.error().message;
  } else if (place.kernel.empty()) {
    place.missing = "read it with cuda-gdb, which is not on PATH here or did not answer";
  }
  return place;
}

CoreDumpRequest::~CoreDumpRequest() {
  if (!name_.empty()) ::unlink(core_dump_files(name_).pipe.c_str());
}

std::vector<std::string> CoreDumpRequest::environment() const {
  return name_.empty() ? std::vector<std::string>() : core_dump_environment(name_);
}

void CoreDumpRequest::read(profiling::Stall& stall) const {
  if (name_.empty() || stall.core_dump != core_dump_files(name_).file) return;
  stall.core = read_core_dump(stall.core_dump);
}

}  // namespace app
