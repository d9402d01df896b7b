#include "app/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "app/protocol/terminal_text.h"
#include "engine/model/moment.h"
#include "profiling/document/text.h"

namespace app::cli {
namespace {

constexpr std::size_t kCells = 24;

std::atomic<bool> interrupted = false;
std::atomic<int> first_signal = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler may take no lock");

}  // namespace

void write_text(std::FILE* stream, std::string_view text) {
  const std::string safe = terminal_text(text);
  const std::size_t written = std::fwrite(safe.data(), 1, safe.size(), stream);
  if (written < safe.size() && stream == stdout) {
    throw std::system_error(errno, std::generic_category(), "standard output cannot be written");
  }
}

std::size_t columns_of_terminal(std::FILE* stream) {
  struct winsize size = {};
  const bool known = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0;
  return known ? size.ws_col : 0U;
}

void print_document(const profiling::Document& document, std::size_t most_rows) {
  write_text(stdout, profiling::text_of(document, {.columns = columns_of_terminal(stdout),
                                                   .most_rows = most_rows,
                                                   .rest = "--json prints all"}));
}

void show_line(std::string_view text) {
  std::fputs("\r\x1b[K", stderr);
  write_text(stderr, text);
  std::fflush(stderr);
}

nlohmann::ordered_json json_number(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

nlohmann::ordered_json text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return text;
}

void warn_if_incomplete(const std::string& path, const std::string& doubt) {
  if (doubt.empty()) return;
  print(stderr, "expertscope: warning: {} may be incomplete. {}\n", path, doubt);
}

std::string date_text() {
  const auto now = std::chrono::system_clock::now();
  return engine::utc_time(std::chrono::system_clock::to_time_t(now), "%Y-%m-%dT%H:%M:%SZ");
}

ProgressLine::ProgressLine()
    : ProgressLine(::isatty(STDERR_FILENO) != 0 ? Style::Replaced : Style::Logged) {}

void ProgressLine::show(const std::string& replaced, const std::string& logged) {
  if (style_ == Style::Replaced) {
    show_line(replaced);
    drawn_ = true;
  }
  if (style_ != Style::Logged) return;
  const Clock::time_point now = Clock::now();
  if (now - logged_ < interval_) return;
  logged_ = now;
  print(stderr, "expertscope: {:.0f} s: {}\n",
        std::chrono::duration<double>(now - started_).count(), logged);
}

void ProgressLine::erase() {
  if (std::exchange(drawn_, false)) show_line("");
}

double share_within(double fraction) {
  // fmax prefers the number over NaN.
  return std::fmin(std::fmax(fraction, 0.0), 1.0);
}

std::string bar_text(double fraction, std::size_t cells) {
  const auto filled = static_cast<std::size_t>(share_within(fraction) * static_cast<double>(cells));
  return fmt::format("[{}{}]", std::string(filled, '#'), std::string(cells - filled, '.'));
}

void ProgressBar::show(double fraction, const std::string& text) {
  const double percent = 100.0 * share_within(fraction);
  line_.show(fmt::format("{} {:3.0f} %  {}", bar_text(fraction, kCells), percent, text),
             fmt::format("{} ({:.0f} %)", text, percent));
}

void ProgressBar::show(const LinkStatus& status) {
  if (status.state == LinkState::Stalled) {
    const std::string stalled = "stalled: " + status.reason;
    return line_.show(stalled, stalled);
  }
  std::string step;
  if (status.pulse.iteration >= 0) {
    step = fmt::format(", iteration {} of {}", status.pulse.iteration + 1, status.pulse.iterations);
  }
  show(status.pulse.fraction, fmt::format("{}{}", engine::stage_name(status.pulse.stage), step));
}

void ProgressBar::show(const LinkStatus& status, const BatchProgress& progress) {
  if (status.state == LinkState::Stalled) return show(status);
  const std::string left = progress.remaining_seconds < 0.0
                               ? std::string()
                               : fmt::format(", about {:.0f} s left", progress.remaining_seconds);
  show(progress.fraction, fmt::format("run {} of {}: {}{}", progress.measured + progress.failed + 1,
                                      progress.total, progress.label, left));
}

namespace {

struct sigaction watching() {
  struct sigaction action{};
  action.sa_handler = [](int number) {
    int none = 0;
    first_signal.compare_exchange_strong(none, number);
    interrupted = true;
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  return action;
}

}  // namespace

InterruptWatch::InterruptWatch(std::initializer_list<int> signals) {
  interrupted = false;
  first_signal = 0;
  const struct sigaction action = watching();
  for (const int number : signals) {
    struct sigaction before{};
    if (::sigaction(number, &action, &before) == 0) before_.emplace_back(number, before);
  }
}

void InterruptWatch::rearm() {
  interrupted = false;
  const struct sigaction action = watching();
  for (const auto& [number, before] : before_) ::sigaction(number, &action, nullptr);
}

InterruptWatch::~InterruptWatch() {
  for (const auto& [number, before] : before_) ::sigaction(number, &before, nullptr);
}

int InterruptWatch::signal() const { return first_signal; }

const std::atomic<bool>& InterruptWatch::flag() const { return interrupted; }

}  // namespace app::cli
