#include "app/worker/line_exchange.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>

namespace app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kKeptErrors = 2000;
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr int kPollMs = 50;  // how soon a cancel is noticed

/// Appends what is there to read; false at the end of the stream.
bool drain(int descriptor, std::string& to) {
  std::array<char, 4096> bytes{};
  for (;;) {
    const ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
    if (count > 0) {
      to.append(bytes.data(), static_cast<std::size_t>(count));
      if (to.size() > kLongestLine) return true;
    } else {
      return count < 0 && (errno == EAGAIN || errno == EINTR);
    }
  }
}

/// The last line of a traceback names the error.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t start = text.rfind('\n');
  return start == std::string::npos ? text : text.substr(start + 1);
}

}  // namespace

engine::Result<LineExchange> LineExchange::start(const std::vector<std::string>& argv) {
  engine::Result<std::unique_ptr<ChildProcess>> child = ChildProcess::start(argv);
  if (!child.ok()) return child.error();
  return LineExchange(std::move(child).value());
}

bool LineExchange::read_all() {
  const bool open = drain(child_->output.get(), received_);
  (void)drain(child_->errors.get(), errors_);
  if (errors_.size() > kKeptErrors) errors_.erase(0, errors_.size() - kKeptErrors);
  return open;
}

engine::Error LineExchange::ended() {
  // Its streams close a moment before it can be reaped.
  std::optional<std::string> end;
  for (int i = 0; i < 40 && !(end = child_->try_reap()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
  }
  (void)drain(child_->errors.get(), errors_);
  const std::string last = last_line(errors_);
  return {engine::ErrorCode::Io, fmt::format("the peer {}{}{}", end.value_or("closed its output"),
                                             last.empty() ? "" : ": ", last)};
}

engine::Result<std::string> LineExchange::ask(const std::string& line, std::chrono::seconds limit,
                                              const engine::RunProgress& progress) {
  if (broken_) return engine::Error{engine::ErrorCode::Io, "the peer was lost earlier"};
  const std::string text = line + "\n";
  // A question fits into the pipe buffer, and the child has read the previous one.
  if (::write(child_->input.get(), text.data(), text.size()) != std::ssize(text)) {
    broken_ = true;
    return ended();
  }
  return listen(limit, progress);
}

engine::Result<std::string> LineExchange::listen(std::chrono::seconds limit,
                                                 const engine::RunProgress& progress) {
  engine::Result<std::string> line = next_line(limit, progress);
  broken_ = !line.ok();
  return line;
}

engine::Result<std::string> LineExchange::next_line(std::chrono::seconds limit,
                                                    const engine::RunProgress& progress) {
  const Clock::time_point deadline = Clock::now() + limit;
  for (;;) {
    const bool open = read_all();
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (received_.size() > kLongestLine) {
      return engine::Error{
          engine::ErrorCode::Io,
          fmt::format("the peer sent more than {} KiB without an end of line", kLongestLine >> 10)};
    }
    if (!open) return ended();
    if (progress.cancel) return engine::Error{engine::ErrorCode::Cancelled, "cancelled"};
    if (Clock::now() > deadline) {
      return engine::Error{engine::ErrorCode::Io,
                           fmt::format("the peer did not answer within {} s", limit.count())};
    }
    std::array<pollfd, 2> ends{pollfd{.fd = child_->output.get(), .events = POLLIN, .revents = 0},
                               pollfd{.fd = child_->errors.get(), .events = POLLIN, .revents = 0}};
    (void)::poll(ends.data(), ends.size(), kPollMs);
  }
}

}  // namespace app
