#include "app/attach/remote_program.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "app/attach/attach_stream.h"
#include "app/attach/spool_mirror.h"
#include "app/protocol/child_process.h"
#include "app/protocol/descriptor.h"
#include "app/protocol/terminal_text.h"
#include "engine/model/guarded_thread.h"
#include "profiling/attach/spool/environment.h"

namespace app {
namespace {

constexpr int kPollMs = 20;
constexpr std::chrono::milliseconds kStartPoll{20};
constexpr std::chrono::seconds kDevicePatience{5};  // the agent's own, and the way

void pass_to(int descriptor, std::string_view bytes) {
  while (!bytes.empty() && descriptor >= 0) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody reads it any more
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

/// What the reading thread and the callers share.
struct RemoteProgram::Shared {
  mutable std::mutex mutex;
  std::condition_variable changed;
  pid_t pid = -1;
  std::string folder_there;
  std::optional<std::string> refused;
  std::optional<std::string> end;
  bool lost = false;
  std::string commands;  // to be sent
  std::uint64_t clock = 0;
  std::optional<std::string> device;
  std::atomic<bool> leave = false;

  void command(AttachCommand one, std::string_view more = {}) {
    const std::lock_guard lock(mutex);
    commands += static_cast<char>(one);
    commands += more;
  }
};

class RemoteProgram::Reader {
 public:
  Reader(RemoteOptions options, std::shared_ptr<Shared> shared, std::unique_ptr<ChildProcess> ssh)
      : options_(std::move(options)),
        shared_(std::move(shared)),
        ssh_(std::move(ssh)),
        mirror_(options_.folder,
                options_.spool_bytes == 0 ? profiling::spool::kDefaultLimit : options_.spool_bytes),
        thread_([this] { read(); }, [this](const engine::Error& error) { lose(error.message); }) {}
  ~Reader() {
    shared_->leave = true;
    thread_.join();
  }

 private:
  void read() {
    // A connection that is gone must not end this program.
    sigset_t pipe{};
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    while (!shared_->leave && !over_) {
      send_commands();
      std::array<pollfd, 2> ends = {
          {{ssh_->output.get(), POLLIN, 0}, {ssh_->errors.get(), POLLIN, 0}}};
      if (::poll(ends.data(), ends.size(), kPollMs) > 0) {
        if (ends[1].revents != 0) read_errors();
        if (ends[0].revents != 0) read_output();
        continue;
      }
      // Only what has been read to its end can have ended.
      if (const std::optional<std::string> end = ssh_->try_reap()) {
        while (read_output()) {
        }
        while (read_errors()) {
        }
        if (!over_) lose("ssh " + *end);
      }
    }
    finish();
  }

  /// The last command goes out before ssh ends.
  void finish() {
    send_commands();
    ssh_->input.reset();
    constexpr std::chrono::milliseconds kPatience{500};
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (over_ && !failed_ && !ssh_->try_reap() && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(kStartPoll);
    }
  }

  void send_commands() {
    const std::lock_guard lock(shared_->mutex);
    std::string& commands = shared_->commands;
    while (!commands.empty()) {
      const ssize_t count = ::write(ssh_->input.get(), commands.data(), commands.size());
      if (count <= 0) return;  // later, or never: the end of ssh says so
      commands.erase(0, static_cast<std::size_t>(count));
    }
  }

  bool read_errors() {
    const std::string bytes = some_of(ssh_->errors);
    pass_to(options_.errors_descriptor, bytes);
    if (!bytes.empty())
      last_words_ = bytes.substr(bytes.size() - std::min(bytes.size(), kLastWords));
    return !bytes.empty();
  }

  bool read_output() {
    const std::string bytes = some_of(ssh_->output);
    decoder_.append(bytes);
    while (!over_) {
      engine::Result<std::optional<AttachMessage>> message = decoder_.next();
      if (!message.ok()) {
        lose(message.error().message);
        return false;
      }
      if (!message.value()) break;
      if (const engine::Status taken = take(*message.value()); !taken.ok()) {
        lose(taken.error().message);
        return false;
      }
    }
    return !bytes.empty();
  }

  static std::string some_of(UniqueFd& pipe) {
    std::string bytes(std::size_t{256} << 10, '\0');
    const ssize_t count = pipe.valid() ? ::read(pipe.get(), bytes.data(), bytes.size()) : 0;
    // poll() would report an end of the stream for ever.
    if (count == 0) pipe.reset();
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return bytes;
  }

  engine::Status take(const AttachMessage& message) {
    switch (message.kind) {
      case AttachKind::Output:
        pass_to(options_.output_descriptor, message.body);
        return {};
      case AttachKind::Errors:
        pass_to(options_.errors_descriptor, message.body);
        return {};
      case AttachKind::Spool: {
        const std::optional<SpoolPiece> piece = spool_piece(message.body);
        if (!piece) return engine::Error{engine::ErrorCode::Protocol, "a record is incomplete"};
        return mirror_.take(*piece);
      }
      default:
        break;
    }
    const std::lock_guard lock(shared_->mutex);
    if (message.kind == AttachKind::Started) {
      const std::size_t blank = message.body.find(' ');
      std::from_chars(message.body.data(),
                      message.body.data() + std::min(blank, message.body.size()), shared_->pid);
      if (blank != std::string::npos)
        shared_->folder_there = terminal_text(message.body.substr(blank + 1));
    } else if (message.kind == AttachKind::Refused) {
      shared_->refused = terminal_text(message.body);
      over_ = true;
    } else if (message.kind == AttachKind::Clock) {
      shared_->clock = number_in(message.body).value_or(shared_->clock);
    } else if (message.kind == AttachKind::Device) {
      shared_->device = terminal_text(message.body);
    } else if (message.kind == AttachKind::Ended) {
      shared_->end = terminal_text(message.body);
      shared_->commands += static_cast<char>(AttachCommand::Done);
      over_ = true;
    }
    shared_->changed.notify_all();
    return {};
  }

  /// Nothing more can be heard of the program.
  void lose(std::string why) {
    over_ = failed_ = true;
    const std::string connection = options_.why_lost ? options_.why_lost() : std::string();
    if (!connection.empty()) why = connection;
    const std::lock_guard lock(shared_->mutex);
    if (shared_->pid < 0) {
      const std::string words =
          terminal_text(last_words_.substr(0, last_words_.find_last_not_of("\r\n") + 1));
      shared_->refused = fmt::format("{}{}", why, words.empty() ? "" : "; it printed: " + words);
    } else {
      shared_->lost = true;
      shared_->end = fmt::format(
          "is out of reach: the connection to {} was lost ({}); {}, and its whole record is there "
          "in {}",
          options_.host, why, options_.goes_on ? "it goes on there" : "it was hung up there",
          shared_->folder_there);
    }
    shared_->changed.notify_all();
  }

  static constexpr std::size_t kLastWords = 500;

  const RemoteOptions options_;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<ChildProcess> ssh_;
  SpoolMirror mirror_;
  AttachDecoder decoder_;
  std::string last_words_;
  bool over_ = false;
  bool failed_ = false;
  engine::GuardedThread thread_;  // last: it uses the others
};

RemoteProgram::RemoteProgram(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
RemoteProgram::~RemoteProgram() = default;

engine::Result<std::unique_ptr<RemoteProgram>> RemoteProgram::start(RemoteOptions options) {
  ENGINE_ASSIGN(std::unique_ptr<ChildProcess> ssh, ChildProcess::start(options.argv));
  const auto shared = std::make_shared<Shared>();
  std::unique_ptr<RemoteProgram> made(new RemoteProgram(shared));
  const std::function<bool()> stop = options.stop;
  const std::string host = options.host;
  made->reader_ = std::make_unique<Reader>(std::move(options), shared, std::move(ssh));
  std::unique_lock lock(shared->mutex);
  while (shared->pid < 0 && !shared->refused) {
    shared->changed.wait_for(lock, kStartPoll);
    if (stop && stop()) {
      lock.unlock();
      return engine::Error{engine::ErrorCode::Cancelled,
                           fmt::format("starting the program on {} was cancelled", host)};
    }
  }
  if (!shared->refused) {
    lock.unlock();
    return made;
  }
  const std::string why = *shared->refused;
  lock.unlock();
  return engine::Error{engine::ErrorCode::Device, fmt::format("on {}: {}", host, why)};
}

pid_t RemoteProgram::pid() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->pid;
}

std::optional<std::string> RemoteProgram::ended() {
  const std::lock_guard lock(shared_->mutex);
  return shared_->end;
}

bool RemoteProgram::lost() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->lost;
}

void RemoteProgram::end(bool at_once) {
  shared_->command(at_once ? AttachCommand::Kill : AttachCommand::End);
}

void RemoteProgram::interrupt() { shared_->command(AttachCommand::Interrupt); }

ProcessMachine RemoteProgram::machine() const {
  return {.now =
              [shared = shared_] {
                const std::lock_guard lock(shared->mutex);
                return shared->clock;
              },
          .device =
              [shared = shared_](const std::string& pci_address) {
                {
                  const std::lock_guard lock(shared->mutex);
                  shared->device.reset();
                }
                shared->command(AttachCommand::Device, pci_address + '\0');
                std::unique_lock lock(shared->mutex);
                shared->changed.wait_for(lock, kDevicePatience,
                                         [&] { return shared->device || shared->end; });
                return shared->device.value_or("");
              }};
}

}  // namespace app
