// expertscope-attach-agent: on the machine that `attach --remote` names, starts the program with
// the preloaded library, and passes on through its standard streams what it prints and records
// (attach_stream.h). Never waits for the connection: a slow one delays the program's output as a
// slow terminal would, and commands from there are read all the same.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/attach/agent_words.h"
#include "app/attach/attach_stream.h"
#include "app/attach/attached_program.h"
#include "app/attach/bounded_output.h"
#include "app/attach/spool_sender.h"
#include "app/protocol/descriptor.h"
#include "engine/input/regular_file.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostWaiting = std::size_t{4} << 20;  // bytes for the connection
constexpr std::uint64_t kSpoolShare = std::uint64_t{1} << 20;
constexpr std::chrono::milliseconds kBetweenLooks{200};
constexpr int kPollMs = 50;
constexpr int kExitWrongCall = 2;

struct PipeEnds {
  app::UniqueFd read;
  app::UniqueFd write;
  static PipeEnds make() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return {};
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return {app::UniqueFd(ends[0]), app::UniqueFd(ends[1])};
  }
};

/// The program gets the library path of the login shell, not that of this program.
void restore_library_path() {
  const char* login = ::getenv(app::kLoginLibraryPath);
  if (login == nullptr) return;
  if (*login == '\0') {
    ::unsetenv("LD_LIBRARY_PATH");
  } else {
    ::setenv("LD_LIBRARY_PATH", login, 1);
  }
  ::unsetenv(app::kLoginLibraryPath);
}

class Agent {
 public:
  Agent(app::AttachedProgram program, const app::AgentOrder& order, PipeEnds output,
        PipeEnds errors)
      : program_(std::move(program)),
        order_(order),
        spools_(order.program.folder),
        output_(std::move(output.read)),
        errors_(std::move(errors.read)) {}

  void run() {
    say(app::AttachKind::Started, fmt::format("{} {}", program_.pid(), order_.program.folder));
    std::optional<std::string> end;
    while (!(end = program_.ended())) {
      pass_on(kPollMs);
      if (Clock::now() < next_look_ || waiting_.size() >= kMostWaiting) continue;
      if (!watched_) {
        (void)app::bound_output(output_file(), false).ok();
      } else if (!send_spools(false)) {
        continue;
      }
      next_look_ = Clock::now() + kBetweenLooks;
    }
    take_rest(output_, app::AttachKind::Output);
    take_rest(errors_, app::AttachKind::Errors);
    while (watched_ && !send_spools(true)) flush();
    say(app::AttachKind::Ended, *end);
    flush();
    while (watched_ && !done_) pass_on(kPollMs);
    std::error_code ignored;
    if (done_) std::filesystem::remove_all(order_.program.folder, ignored);
    if (!watched_) (void)app::bound_output(output_file(), true).ok();
  }

 private:
  std::string output_file() const { return order_.program.folder + "/output.txt"; }

  void say(app::AttachKind kind, std::string_view body) {
    if (watched_) waiting_ += app::encode(kind, body);
  }

  void flush() {
    while (watched_ && !waiting_.empty()) pass_on(kPollMs);
  }

  bool send_spools(bool ended) {
    const bool all = spools_.send(ended, kSpoolShare, [&](const app::SpoolPiece& piece) {
      say(app::AttachKind::Spool, app::encode(piece));
    });
    say(app::AttachKind::Clock, app::bytes_of(app::this_machine().now()));
    return all;
  }

  /// Waits for at most so long.
  void pass_on(int milliseconds) {
    const bool room = waiting_.size() < kMostWaiting;
    std::array<pollfd, 4> ends = {{{watched_ ? STDIN_FILENO : -1, POLLIN, 0},
                                   {watched_ && !waiting_.empty() ? STDOUT_FILENO : -1, POLLOUT, 0},
                                   {room ? output_.get() : -1, POLLIN, 0},
                                   {room ? errors_.get() : -1, POLLIN, 0}}};
    if (::poll(ends.data(), ends.size(), milliseconds) <= 0) return;
    if (ends[0].revents != 0) read_commands();
    if (ends[1].revents != 0) write_some();
    if (ends[2].revents != 0) take(output_, app::AttachKind::Output);
    if (ends[3].revents != 0) take(errors_, app::AttachKind::Errors);
  }

  /// What the program had printed before its end, also if the connection is behind. Its children
  /// may print on, to nobody.
  void take_rest(app::UniqueFd& pipe, app::AttachKind kind) {
    int held = 0;
    if (!pipe.valid() || ::ioctl(pipe.get(), FIONREAD, &held) != 0) return;
    auto left = static_cast<std::size_t>(held);
    while (left > 0 && pipe.valid()) {
      const std::size_t taken = take(pipe, kind);
      if (taken == 0) return;
      left -= std::min(left, taken);
    }
  }

  /// How many bytes of output that was.
  std::size_t take(app::UniqueFd& pipe, app::AttachKind kind) {
    std::array<char, std::size_t{64} << 10> bytes{};
    const ssize_t count = ::read(pipe.get(), bytes.data(), bytes.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (count <= 0) {
      pipe.reset();
      return 0;
    }
    const std::string_view some(bytes.data(), static_cast<std::size_t>(count));
    if (watched_) {
      say(kind, some);
    } else if (unwatched_.valid()) {
      (void)!::write(unwatched_.get(), some.data(), some.size());
    }
    return some.size();
  }

  void write_some() {
    const ssize_t count = ::write(STDOUT_FILENO, waiting_.data(), waiting_.size());
    if (count > 0) waiting_.erase(0, static_cast<std::size_t>(count));
    if (count < 0 && errno != EAGAIN && errno != EINTR) lose();
  }

  void read_commands() {
    std::array<char, 256> bytes{};
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return lose();
    for (const char byte : std::string_view(bytes.data(), static_cast<std::size_t>(count))) {
      carry_out(byte);
    }
  }

  void carry_out(char byte) {
    if (address_) {
      if (byte != '\0') {
        *address_ += byte;
        return;
      }
      say(app::AttachKind::Device, app::this_machine().device(*std::exchange(address_, {})));
      return;
    }
    switch (static_cast<app::AttachCommand>(byte)) {
      case app::AttachCommand::Interrupt:
        return program_.interrupt();
      case app::AttachCommand::End:
        return program_.end(false);
      case app::AttachCommand::Kill:
        return program_.end(true);
      case app::AttachCommand::Device:
        address_.emplace();
        return;
      case app::AttachCommand::Done:
        done_ = true;
        return;
    }
  }

  /// The connection is gone, or nobody watches any more.
  void lose() {
    if (!std::exchange(watched_, false)) return;
    waiting_.clear();
    // A program whose output nobody reads would stop.
    unwatched_.reset(
        ::open(output_file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!order_.goes_on) program_.send(SIGHUP);
  }

  app::AttachedProgram program_;
  const app::AgentOrder& order_;
  app::SpoolSender spools_;
  app::UniqueFd output_;
  app::UniqueFd errors_;
  app::UniqueFd unwatched_;             // gets what is printed when nobody watches
  std::string waiting_;                 // messages for the connection
  std::optional<std::string> address_;  // of a question whose end has not arrived
  Clock::time_point next_look_{};
  bool watched_ = true;
  bool done_ = false;
};

int refuse(const std::string& why) {
  const std::string text = app::encode(app::AttachKind::Refused, why);
  return ::write(STDOUT_FILENO, text.data(), text.size()) < 0 ? kExitWrongCall : 0;
}

engine::Status serve(app::AgentOrder order) {
  if (order.program.library.empty()) {
    engine::Result<std::string> library = app::attach_library();
    if (!library.ok() && library.error().code == engine::ErrorCode::NotFound) {
      return engine::Error{engine::ErrorCode::NotFound,
                           "the worker that was sent there was built without CUDA, so there is no "
                           "library to preload: expertscope bundle --cuda builds one that has it"};
    }
    ENGINE_ASSIGN(order.program.library, std::move(library));
  }
  ENGINE_ASSIGN(order.program.folder, app::new_spool_folder());
  PipeEnds output = PipeEnds::make();
  PipeEnds errors = PipeEnds::make();
  if (!output.write.valid() || !errors.write.valid()) {
    return engine::Error{engine::ErrorCode::Io, "no pipes are left"};
  }
  order.program.output_descriptor = output.write.get();
  order.program.errors_descriptor = errors.write.get();
  restore_library_path();
  engine::Result<app::AttachedProgram> started = app::AttachedProgram::start(order.program);
  if (!started.ok()) {
    std::error_code ignored;
    std::filesystem::remove_all(order.program.folder, ignored);
    return started.error();
  }
  // Their ends are the program's alone.
  output.write.reset();
  errors.write.reset();
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) {
    ::fcntl(stream, F_SETFL, ::fcntl(stream, F_GETFL) | O_NONBLOCK);
  }
  Agent(std::move(started).value(), order, std::move(output), std::move(errors)).run();
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  app::set_write_signals(app::ClosedPipe::FailsWrite);
  engine::survive_missing_pages();
  // What ends this program must not leave the program without a reader of its output.
  std::signal(SIGHUP, SIG_IGN);
  const engine::Result<app::AgentOrder> order =
      app::agent_order(std::vector<std::string>(argv + 1, argv + argc));
  if (!order.ok()) {
    fmt::print(stderr, "expertscope-attach-agent: {}\n", order.error().message);
    return kExitWrongCall;
  }
  const engine::Status served = serve(order.value());
  return served.ok() ? 0 : refuse(served.error().message);
}
