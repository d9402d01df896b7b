#include "app/cli/remote_machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "app/cli/terminal.h"
#include "app/protocol/terminal_text.h"
#include "engine/model/unique_fd.h"

namespace app::cli {
namespace {

constexpr std::size_t kMaxAnswer = 1024;
constexpr int kPollMs = 50;

/// What is typed is not shown while this object lives.
class HiddenInput {
 public:
  explicit HiddenInput(int terminal) : terminal_(terminal) {
    if (::tcgetattr(terminal_, &before_) != 0) return;
    changed_ = true;
    termios hidden = before_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(terminal_, TCSAFLUSH, &hidden);
  }
  ~HiddenInput() {
    if (changed_) ::tcsetattr(terminal_, TCSAFLUSH, &before_);
  }
  HiddenInput(const HiddenInput&) = delete;
  HiddenInput& operator=(const HiddenInput&) = delete;

 private:
  int terminal_;
  bool changed_ = false;
  termios before_{};
};

void write_to(int terminal, std::string_view text) {
  static_cast<void>(::write(terminal, text.data(), text.size()) > 0);
}

}  // namespace

AskUser ask_on_terminal(Offers offers) {
  return [offers](const ConnectQuestion& question) -> std::optional<std::string> {
    if (question.kind == ConnectQuestion::Kind::Notice) {
      const engine::UniqueFd terminal(::open("/dev/tty", O_WRONLY | O_CLOEXEC));
      if (terminal.valid() && !question.text.empty()) {
        write_to(terminal.get(), "\r" + terminal_text(question.text) + '\n');
      }
      return std::nullopt;
    }
    const bool build = question.kind == ConnectQuestion::Kind::Build;
    if (build && offers == Offers::Nothing) return std::nullopt;
    const engine::UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC));
    if (!terminal.valid()) return std::nullopt;
    write_to(terminal.get(), "\r" + terminal_text(question.text) + (build ? " (yes/no) " : " "));
    std::string answer;
    answer.reserve(kMaxAnswer);
    int ended_by = 0;
    {
      // No end must leave a terminal that shows nothing.
      const InterruptWatch interrupt({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
      std::optional<HiddenInput> hidden;
      if (question.kind == ConnectQuestion::Kind::Secret) hidden.emplace(terminal.get());
      char byte = 0;
      while (!interrupt.seen() && answer.size() < kMaxAnswer) {
        pollfd waits = {terminal.get(), POLLIN, 0};
        if (::poll(&waits, 1, kPollMs) <= 0) continue;
        if (::read(terminal.get(), &byte, 1) != 1 || byte == '\n') break;
        answer += byte;
      }
      ended_by = interrupt.signal();
    }
    if (ended_by != 0) {
      ::explicit_bzero(answer.data(), answer.size());
      write_to(terminal.get(), "\n");
      // Once the terminal is as it was, it does what it does elsewhere.
      static_cast<void>(::raise(ended_by));
      return std::nullopt;
    }
    if (question.kind == ConnectQuestion::Kind::Secret) write_to(terminal.get(), "\n");
    return answer;
  };
}

engine::Result<WorkerCommand> RemoteMachine::reached(const WorkerCommand& command) {
  if (!connected_) {
    ProgressLine line;
    const auto report = [&](const StepReport& step) {
      if (step.state != StepReport::State::Doing) return;
      const std::string text = fmt::format("{}: {}", options.host, step.words);
      line.show(
          step.fraction > 0 ? fmt::format("{} {}", bar_text(step.fraction, kBarCells), text) : text,
          text);
    };
    ENGINE_ASSIGN(connected_, connect_machine(options, {.report = report,
                                                        .ask = ask_on_terminal(Offers::Nothing),
                                                        .stop = {}}));
    files_.emplace(connected_->ssh, connected_->machine.cache);
  }
  return with_words_of(connected_->worker, command);
}

engine::Status RemoteMachine::send_files(Task& task) {
  if (!files_) return {};
  ProgressLine line;
  const auto progress = [&](const std::string& words, double fraction) {
    line.show(fraction > 0 ? fmt::format("{} {}", bar_text(fraction, kBarCells), words) : words,
              words);
  };
  return files_->place_all(task, {.progress = progress, .stop = {}});
}

}  // namespace app::cli
