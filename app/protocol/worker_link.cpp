// The link's two threads. The reader owns the pipes out of the worker, the clock of its pulses and
// its end; the writer owns the pipe into it. They and the caller meet in one lock that is never
// held over a system call that can block.
#include "app/protocol/worker_link.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "app/protocol/child_process.h"
#include "app/protocol/convert.h"
#include "app/protocol/framing.h"
#include "app/protocol/liveness.h"
#include "app/protocol/unsent_commands.h"

namespace app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTickMs = 50;  // how often silence is looked at
constexpr std::chrono::milliseconds kExitGrace{
    100};  // from end of output to the end of the process
constexpr std::size_t kMaxUnreadLogs = 1000;
constexpr std::size_t kMaxLogLineBytes = 8192;

class ProcessLink final : public WorkerLink {
 public:
  explicit ProcessLink(Options options)
      : options_(std::move(options)), liveness_(Clock::now(), options_.progress_stall_seconds) {
    engine::Result<std::unique_ptr<ChildProcess>> child = ChildProcess::start(options_.argv);
    if (!child.ok()) {
      liveness_.lost(child.error().message);
      return;
    }
    child_ = std::move(child).value();
    stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop_.valid()) {
      child_.reset();
      liveness_.lost(fmt::format("no event descriptor is left: {}", std::strerror(errno)));
      return;
    }
    reader_ = std::thread([this] { read_until_lost(); });
    writer_ = std::thread([this] { write_until_lost(); });
  }

  ~ProcessLink() override {
    if (child_) {
      {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
      }
      const std::uint64_t one = 1;
      if (::write(stop_.get(), &one, sizeof one) < 0) child_->kill_group();  // EOF stops them too
      commands_ready_.notify_all();
      child_->kill_group();
    }
    if (reader_.joinable()) reader_.join();
    if (writer_.joinable()) writer_.join();
  }

  std::uint64_t submit(const engine::RunRequest& request) override {
    wire::Frame frame;
    *frame.mutable_run()->mutable_request() = to_wire(request);
    return put_job(std::move(frame));
  }

  std::uint64_t quantize(const QuantizeOrder& order) override {
    wire::Frame frame;
    *frame.mutable_quantize() = to_wire(order);
    return put_job(std::move(frame));
  }

  void cancel() override {
    {
      const std::lock_guard lock(mutex_);
      answer_unsent(unsent_.drop_job(), "cancelled before it was sent");
      unsent_.put_cancel();
    }
    commands_ready_.notify_all();
    wake();
  }

  void inspect_file(const std::string& path) override {
    {
      const std::lock_guard lock(mutex_);
      unsent_.put_inspection(path);
    }
    commands_ready_.notify_all();
  }

  std::vector<LinkEvent> poll() override {
    const std::lock_guard lock(mutex_);
    unread_logs_ = 0;
    return std::exchange(events_, {});
  }

  LinkStatus status() const override {
    const std::lock_guard lock(mutex_);
    const Liveness::Time now = Clock::now();
    return {.state = liveness_.state(now, !unanswered_.empty()),
            .reason = liveness_.reason(now, !unanswered_.empty()),
            .pulse = liveness_.last_pulse(),
            .pid = child_ ? child_->pid() : 0};
  }

  void kill() override {
    if (child_) child_->kill_group();
  }

 private:
  std::uint64_t put_job(wire::Frame frame) {
    std::uint64_t id = 0;
    {
      const std::lock_guard lock(mutex_);
      id = ++last_id_;
      frame.has_run() ? frame.mutable_run()->set_id(id) : frame.mutable_quantize()->set_id(id);
      answer_unsent(unsent_.put_job(id, std::move(frame)), "replaced by a newer request");
      unanswered_.insert(id);
    }
    commands_ready_.notify_all();
    wake();
    return id;
  }

  void answer_unsent(std::optional<std::uint64_t> id, const char* why) {
    if (!id) return;
    unanswered_.erase(*id);
    events_.push_back(RunError{.id = *id, .error = {engine::ErrorCode::Cancelled, why}});
  }

  void wake() {
    if (options_.wake) options_.wake();
  }

  // --- reader ---------------------------------------------------------------------------------

  void read_until_lost() {
    std::optional<Clock::time_point> output_ended;
    while (true) {
      wait_for_bytes();
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
      }
      // The end is looked at before the pipes: what the worker wrote before it ended is still read.
      const std::optional<std::string> end = child_->try_reap();
      read_output();
      read_errors();
      if (end) return finish(*end);
      if (!child_->output.valid() && !output_ended) output_ended = Clock::now();
      if (output_ended && Clock::now() - *output_ended > kExitGrace) {
        fail("closed its output without ending");
      }
      wake_if_changed();
    }
  }

  void wait_for_bytes() {
    // A closed descriptor is -1, which poll() skips.
    std::array<pollfd, 3> waits = {pollfd{child_->output.get(), POLLIN, 0},
                                   pollfd{child_->errors.get(), POLLIN, 0},
                                   pollfd{stop_.get(), POLLIN, 0}};
    // Nothing tells of an end once both pipes are closed, so look more often then.
    ::poll(waits.data(), waits.size(), child_->output.valid() ? kTickMs : 5);
  }

  void read_output() {
    std::array<char, 65536> chunk;
    for (int i = 0; i < 64 && child_->output.valid(); ++i) {  // bounded: the clock needs its turn
      const ssize_t count = ::read(child_->output.get(), chunk.data(), chunk.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) {
        child_->output.reset();
        if (const engine::Status end = decoder_.at_end(); !end.ok() && !failed_) {
          truncated_ = end.error().message;
        }
        return;
      }
      {
        const std::lock_guard lock(mutex_);
        liveness_.heard(Clock::now());
      }
      decoder_.append({chunk.data(), static_cast<std::size_t>(count)});
      while (!failed_) {
        engine::Result<std::optional<wire::Frame>> frame = decoder_.next();
        if (!frame.ok()) {
          fail("sent a malformed frame: " + frame.error().message);
        } else if (!frame.value()) {
          break;
        } else if (const engine::Status status = receive(*frame.value()); !status.ok()) {
          fail("sent a malformed frame: " + status.error().message);
        }
      }
      if (failed_) child_->output.reset();
    }
  }

  engine::Status receive(const wire::Frame& frame) {
    switch (frame.body_case()) {
      case wire::Frame::kHelloReply:
        return receive_hello(frame.hello_reply());
      case wire::Frame::kPulse: {
        const engine::Result<PulseReport> pulse = from_wire(frame.pulse());
        if (!pulse.ok()) return pulse.error();
        const std::lock_guard lock(mutex_);
        liveness_.pulse(pulse.value(), Clock::now());
        return {};
      }
      case wire::Frame::kActivity:
        return assembler_.add(frame.activity());
      case wire::Frame::kFinished: {
        engine::Result<engine::RunResult> result = from_wire(frame.finished().result());
        if (!result.ok()) return result.error();
        const std::uint64_t id = frame.finished().id();
        result.value().id = id;
        answer(id, RunDone{.result = std::move(result).value(), .activity = assembler_.take(id)});
        return {};
      }
      case wire::Frame::kFailed: {
        engine::Result<RunError> failure = from_wire(frame.failed());
        if (!failure.ok()) return failure.error();
        answer(frame.failed().id(), std::move(failure).value());
        return {};
      }
      case wire::Frame::kQuantizeFinished: {
        const wire::QuantizeFinished& done = frame.quantize_finished();
        answer(done.id(),
               QuantizeDone{.id = done.id(), .files = {done.files().begin(), done.files().end()}});
        return {};
      }
      case wire::Frame::kFileInspected:
        push(from_wire(frame.file_inspected()));
        return {};
      case wire::Frame::kLog:
        push_log({.level = frame.log().level(), .text = frame.log().text()});
        return {};
      default:
        return engine::Error{engine::ErrorCode::Protocol,
                             fmt::format("a frame of kind {} goes to a worker, not from it",
                                         static_cast<int>(frame.body_case()))};
    }
  }

  engine::Status receive_hello(const wire::HelloReply& reply) {
    if (!reply.refused().empty() || reply.protocol_version() != kProtocolVersion) {
      fail(!reply.refused().empty()
               ? "refused: " + reply.refused()
               : fmt::format("speaks protocol version {}; this program needs {}",
                             reply.protocol_version(), kProtocolVersion));
      return {};
    }
    engine::Result<WorkerHello> hello = from_wire(reply);
    if (!hello.ok()) return hello.error();
    {
      const std::lock_guard lock(mutex_);
      liveness_.greeted();
      greeted_ = true;
      events_.push_back(std::move(hello).value());
    }
    commands_ready_.notify_all();
    wake();
    return {};
  }

  void answer(std::uint64_t id, LinkEvent event) {
    {
      const std::lock_guard lock(mutex_);
      unanswered_.erase(id);
      events_.push_back(std::move(event));
    }
    wake();
  }

  void push(LinkEvent event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    wake();
  }

  void push_log(LogReport log) {
    {
      const std::lock_guard lock(mutex_);
      // A caller that does not poll must not let a talkative worker fill its memory.
      if (++unread_logs_ > kMaxUnreadLogs) return;
    }
    push(std::move(log));
  }

  void read_errors() {
    std::array<char, 4096> chunk;
    for (int i = 0; i < 64 && child_->errors.valid(); ++i) {
      const ssize_t count = ::read(child_->errors.get(), chunk.data(), chunk.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) {
        child_->errors.reset();
        if (!error_line_.empty()) push_log({.level = 1, .text = std::exchange(error_line_, {})});
        return;
      }
      for (const char c : std::string_view(chunk.data(), static_cast<std::size_t>(count))) {
        if (c != '\n') error_line_ += c;
        if ((c == '\n' && !error_line_.empty()) || error_line_.size() >= kMaxLogLineBytes) {
          push_log({.level = 1, .text = std::exchange(error_line_, {})});
        }
      }
    }
  }

  /// The worker broke the contract: its end is certain, and this is what will be said of it.
  void fail(std::string reason) {
    if (failed_) return;
    failed_ = true;
    fail_reason_ = std::move(reason);
    child_->kill_group();
  }

  void finish(const std::string& end) {
    std::string reason = failed_ ? fail_reason_ : end;
    if (!failed_ && !truncated_.empty()) reason += "; " + truncated_;
    {
      const std::lock_guard lock(mutex_);
      liveness_.lost(std::move(reason));
      unanswered_.clear();
    }
    commands_ready_.notify_all();
    wake();
  }

  void wake_if_changed() {
    bool changed = false;
    {
      const std::lock_guard lock(mutex_);
      const LinkState state = liveness_.state(Clock::now(), !unanswered_.empty());
      const PulseReport& pulse = liveness_.last_pulse();
      // An idle worker pulses the same thing forever: that must not redraw anything.
      changed = state != seen_state_ || pulse.request_id != seen_pulse_.request_id ||
                pulse.stage != seen_pulse_.stage || pulse.iteration != seen_pulse_.iteration ||
                pulse.expert != seen_pulse_.expert || pulse.fraction > seen_pulse_.fraction ||
                pulse.dropped_records != seen_pulse_.dropped_records;
      seen_state_ = state;
      seen_pulse_ = pulse;
    }
    if (changed) wake();
  }

  // --- writer ---------------------------------------------------------------------------------

  void write_until_lost() {
    // A dead worker's pipe raises SIGPIPE in the thread that writes; blocked here, it stays an
    // error code and the rest of the program keeps its own signal settings.
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);

    wire::Frame hello;
    hello.mutable_hello()->set_protocol_version(kProtocolVersion);
    hello.mutable_hello()->set_program_version(kProgramVersion);
    bool open = write_frame(hello);
    while (open) {
      std::optional<wire::Frame> frame;
      {
        std::unique_lock lock(mutex_);
        commands_ready_.wait(lock, [this] { return over() || (greeted_ && !unsent_.empty()); });
        if (over()) return;
        frame = unsent_.take();
      }
      open = !frame || write_frame(*frame);
    }
  }

  bool over() const {  // with the lock held
    return stopping_ || liveness_.state(Clock::now(), false) == LinkState::Lost;
  }

  bool write_frame(const wire::Frame& frame) {
    const engine::Result<std::string> encoded = encode_frame(frame);
    if (!encoded.ok()) {
      push_log({.level = 2, .text = encoded.error().message});
      return true;
    }
    std::string_view bytes = encoded.value();
    while (!bytes.empty()) {
      const ssize_t count = ::write(child_->input.get(), bytes.data(), bytes.size());
      if (count >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
      } else if (errno == EAGAIN) {
        std::array<pollfd, 2> waits = {pollfd{child_->input.get(), POLLOUT, 0},
                                       pollfd{stop_.get(), POLLIN, 0}};
        ::poll(waits.data(), waits.size(), -1);
        if (waits[1].revents != 0) return false;
      } else if (errno != EINTR) {
        return false;  // the reader sees the end and says why
      }
    }
    return true;
  }

  const Options options_;
  std::unique_ptr<ChildProcess> child_;
  UniqueFd stop_;  // readable = both threads leave

  mutable std::mutex mutex_;
  std::condition_variable commands_ready_;
  Liveness liveness_;
  std::vector<LinkEvent> events_;
  std::size_t unread_logs_ = 0;
  UnsentCommands unsent_;
  std::set<std::uint64_t> unanswered_;
  std::uint64_t last_id_ = 0;
  bool greeted_ = false;
  bool stopping_ = false;

  // Of the reader thread only.
  FrameDecoder decoder_;
  ActivityAssembler assembler_;
  std::string error_line_;
  bool failed_ = false;
  std::string fail_reason_;
  std::string truncated_;
  LinkState seen_state_ = LinkState::Starting;
  PulseReport seen_pulse_;

  std::thread reader_;
  std::thread writer_;
};

}  // namespace

std::unique_ptr<WorkerLink> WorkerLink::start(Options options) {
  return std::make_unique<ProcessLink>(std::move(options));
}

}  // namespace app
