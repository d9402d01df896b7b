// The link's two threads. The reader owns the pipes from the worker, the clock of its pulses and
// its exit; the writer owns the pipe to it. They and the caller share one lock that is never held
// across a system call that can block.
#include "app/protocol/worker_link.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "app/protocol/child_process.h"
#include "app/protocol/convert.h"
#include "app/protocol/descriptor.h"
#include "app/protocol/event_queue.h"
#include "app/protocol/framing.h"
#include "app/protocol/liveness.h"
#include "app/protocol/open_orders.h"
#include "app/protocol/paths.h"
#include "app/protocol/protocol_version.h"
#include "app/protocol/round_trip.h"
#include "app/protocol/worker_command.h"
#include "app/protocol/worker_frames.h"
#include "engine/model/guarded_thread.h"

namespace app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTickMs = 50;                           // how often silence is checked
constexpr std::chrono::milliseconds kExitGrace{100};  // from end of output to exit of the process
// A frame with this much still on its way counts as progress, although no pulse can get past it.
constexpr std::size_t kLargeFrameBytes = 65536;

class ProcessLink final : public WorkerLink {
 public:
  explicit ProcessLink(Options options)
      : options_(std::move(options)),
        allowed_libraries_(options_.allowed_libraries),
        liveness_(Clock::now(), options_.progress_stall_seconds),
        last_id_(options_.last_order) {
    engine::Result<std::unique_ptr<ChildProcess>> child = ChildProcess::start(options_.argv);
    if (!child.ok()) {
      liveness_.lost(child.error().message);
      return;
    }
    child_ = std::move(child).value();
    if (options_.remote) decoder_.accept_compressed();
    stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop_.valid()) {
      child_.reset();
      liveness_.lost(fmt::format("no event descriptor is left: {}", std::strerror(errno)));
      return;
    }
    const auto failed = [this](const engine::Error& error) { give_up(error.message); };
    reader_ = engine::GuardedThread([this] { read_until_lost(); }, failed);
    writer_ = engine::GuardedThread([this] { write_until_lost(); }, failed);
  }

  ~ProcessLink() override {
    if (child_) {
      {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
      }
      const std::uint64_t one = 1;
      if (::write(stop_.get(), &one, sizeof one) < 0) child_->kill_all();  // EOF stops them too
      commands_ready_.notify_all();
      child_->kill_all();
    }
    reader_.join();
    writer_.join();
  }

  std::uint64_t reserve() override {
    const std::lock_guard lock(mutex_);
    return ++last_id_;
  }

  std::uint64_t submit(Task task, std::uint64_t reserved) override {
    wire::Frame frame;
    *frame.mutable_order() = to_wire({.task = std::move(task)});
    std::uint64_t id = 0;
    {
      const std::lock_guard lock(mutex_);
      id = reserved != 0 ? reserved : ++last_id_;
      frame.mutable_order()->set_id(id);
      for (const std::string& path : allowed_libraries_) {
        frame.mutable_order()->add_allowed_libraries(engine::valid_utf8(path));
      }
      orders_.given(frame.order());
      answer_unsent(unsent_.put_order(std::move(frame)), "replaced by a newer request");
      liveness_.progressed(Clock::now());
      caller_changed_ = true;
    }
    commands_ready_.notify_all();
    return id;
  }

  void cancel() override {
    {
      const std::lock_guard lock(mutex_);
      answer_unsent(unsent_.drop_order(), "cancelled before it was sent");
      orders_.cancelled(Clock::now());
      unsent_.put_cancel();
      caller_changed_ = true;
    }
    commands_ready_.notify_all();
  }

  void allow_libraries(std::vector<std::string> paths) override {
    const std::lock_guard lock(mutex_);
    allowed_libraries_ = std::move(paths);
  }

  void inspect_file(const FileQuestion& question) override {
    {
      const std::lock_guard lock(mutex_);
      unsent_.put_inspection(to_wire(question));
    }
    commands_ready_.notify_all();
  }

  void watch_device(bool on) override {
    {
      const std::lock_guard lock(mutex_);
      unsent_.put_watch(on);
    }
    commands_ready_.notify_all();
  }

  std::vector<LinkEvent> poll() override {
    const std::lock_guard lock(mutex_);
    return events_.take();
  }

  LinkStatus status() const override {
    const std::lock_guard lock(mutex_);
    const Liveness::Time now = Clock::now();
    return {.state = liveness_.state(now, !orders_.empty()),
            .reason = liveness_.reason(now, !orders_.empty()),
            .pulse = liveness_.last_pulse(),
            .pid = child_ ? child_->pid() : 0,
            .seconds_silent = liveness_.seconds_silent(now),
            .seconds_still = liveness_.seconds_still(now),
            .round_trip_seconds = round_trip_.seconds(),
            .cancel_overdue = orders_.cancel_overdue(now),
            .dropped_logs = events_.dropped()};
  }

  void kill() override {
    if (child_) child_->kill_all();
  }

 private:
  void answer_unsent(std::optional<std::uint64_t> id, const char* why) {
    if (!id) return;
    orders_.withdrawn(*id);
    events_.put_answer(RunError{.id = *id, .error = {engine::ErrorCode::Cancelled, why}}, 0);
  }

  void wake() {
    if (options_.wake) options_.wake();
  }

  // --- reader ---------------------------------------------------------------------------------

  void read_until_lost() {
    std::optional<Clock::time_point> output_ended;
    while (true) {
      bool behind = false;
      {
        const std::lock_guard lock(mutex_);
        behind = events_.full();
      }
      wait_for_bytes(behind);
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
      }
      // The exit is checked before the pipes: what the worker wrote before it ended is still read.
      const std::optional<std::string> end = child_->try_reap();
      behind = !read_output();
      read_errors();
      // Its last output waits in the pipe until earlier events are taken.
      if (end && !behind) return finish(*end);
      if (!child_->output.valid() && !output_ended) output_ended = Clock::now();
      if (output_ended && Clock::now() - *output_ended > kExitGrace) {
        fail("closed its output without ending");
      }
      ping_if_due();
      wake_if_changed();
    }
  }

  void ping_if_due() {
    if (!options_.remote) return;
    {
      const std::lock_guard lock(mutex_);
      if (!greeted_) return;
      const std::optional<std::uint64_t> number = round_trip_.due(Clock::now());
      if (!number) return;
      unsent_.put_ping(*number);
    }
    commands_ready_.notify_all();
  }

  void wait_for_bytes(bool behind) {
    // A closed descriptor is -1, which poll() skips.
    std::array<pollfd, 3> waits = {pollfd{behind ? -1 : child_->output.get(), POLLIN, 0},
                                   pollfd{child_->errors.get(), POLLIN, 0},
                                   pollfd{stop_.get(), POLLIN, 0}};
    // Once both pipes are closed nothing signals the exit, so poll more often then.
    ::poll(waits.data(), waits.size(), child_->output.valid() ? kTickMs : 5);
  }

  /// False when it has stopped because earlier events have not been taken.
  bool read_output() {
    std::array<char, 65536> chunk;
    // Bounded: the clock must be checked too.
    for (int i = 0; i < 64 && child_->output.valid(); ++i) {
      if (!decode()) {
        pollfd more{child_->output.get(), POLLIN, 0};
        const bool waits = ::poll(&more, 1, 0) > 0;
        const std::lock_guard lock(mutex_);
        // Its pulses are in the unread part: the silence is not the worker's.
        if (waits) liveness_.heard(Clock::now());
        return false;
      }
      if (failed_) {
        child_->output.reset();
        return true;
      }
      const ssize_t count = ::read(child_->output.get(), chunk.data(), chunk.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return true;
      if (count <= 0) {
        child_->output.reset();
        if (const engine::Status end = decoder_.at_end(); !end.ok() && !failed_) {
          truncated_ = end.error().message;
        }
        return true;
      }
      decoder_.append({chunk.data(), static_cast<std::size_t>(count)});
      const std::lock_guard lock(mutex_);
      liveness_.heard(Clock::now());
      if (decoder_.pending_bytes() > kLargeFrameBytes) liveness_.progressed(Clock::now());
    }
    return true;
  }

  /// Decodes the complete frames; false when the event queue fills up first.
  bool decode() {
    while (!failed_) {
      {
        const std::lock_guard lock(mutex_);
        if (events_.full()) return false;
        decoder_.set_limit(orders_.expects_large() ? kMaxFrameBytes : kMaxUnorderedBytes);
      }
      engine::Result<std::optional<wire::Frame>> frame = decoder_.next();
      if (!frame.ok()) {
        fail("sent a malformed frame: " + frame.error().message);
      } else if (!frame.value()) {
        break;
      } else {
        receive(std::move(*frame.value()));
      }
    }
    return true;
  }

  void receive(wire::Frame frame) {
    const std::size_t bytes = frame.ByteSizeLong();
    {
      const std::lock_guard lock(mutex_);
      if (engine::Status expected = orders_.check(frame, bytes); !expected.ok()) {
        return fail(expected.error().message);
      }
    }
    engine::Result<Arrival> arrival = frames_.read(std::move(frame));
    if (!arrival.ok()) {
      const bool refused = arrival.error().code == engine::ErrorCode::Unsupported;
      return fail(refused ? arrival.error().message
                          : "sent a malformed frame: " + arrival.error().message);
    }
    Arrival& arrived = arrival.value();
    {
      const std::lock_guard lock(mutex_);
      if (arrived.pulse) {
        liveness_.pulse(*arrived.pulse, Clock::now());
        round_trip_.echoed(arrived.pulse->echo, Clock::now());
      } else {
        liveness_.progressed(Clock::now());
      }
      if (!arrived.event) return;
      if (std::holds_alternative<WorkerHello>(*arrived.event)) {
        liveness_.greeted();
        greeted_ = true;
      }
      orders_.answered(arrived.answered);
      events_.put_answer(std::move(*arrived.event), bytes);
    }
    commands_ready_.notify_all();
    wake();
  }

  void push_log(LogReport log) {
    {
      const std::lock_guard lock(mutex_);
      events_.put_log(std::move(log));
    }
    wake();
  }

  void read_errors() {
    std::array<char, 4096> chunk;
    for (int i = 0; i < 64 && child_->errors.valid(); ++i) {
      const ssize_t count = ::read(child_->errors.get(), chunk.data(), chunk.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) {
        child_->errors.reset();
        if (std::string rest = error_lines_.rest(); !rest.empty()) {
          push_log({.level = 1, .text = std::move(rest)});
        }
        return;
      }
      for (std::string& line :
           error_lines_.append({chunk.data(), static_cast<std::size_t>(count)})) {
        push_log({.level = 1, .text = std::move(line)});
      }
    }
  }

  /// The worker broke the contract: it will be ended, and this is the reason that will be reported.
  void fail(std::string reason) {
    if (failed_) return;
    failed_ = true;
    fail_reason_ = std::move(reason);
    child_->kill_all();
  }

  void finish(const std::string& end) {
    std::string reason = failed_ ? fail_reason_ : end;
    if (!failed_ && !truncated_.empty()) reason += "; " + truncated_;
    {
      const std::lock_guard lock(mutex_);
      liveness_.lost(std::move(reason));
      orders_.clear();
    }
    commands_ready_.notify_all();
    wake();
  }

  /// One of the two threads has failed, or could not be had; the other ends too.
  void give_up(const std::string& why) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      liveness_.lost(fmt::format("this side of its link failed: {}", why));
      orders_.clear();
    }
    commands_ready_.notify_all();
    wake();
  }

  void wake_if_changed() {
    bool changed = false;
    {
      const std::lock_guard lock(mutex_);
      const LinkState state = liveness_.state(Clock::now(), !orders_.empty());
      const bool overdue = orders_.cancel_overdue(Clock::now());
      const PulseReport& pulse = liveness_.last_pulse();
      // An idle worker keeps pulsing the same state: that must not trigger redraws.
      changed = std::exchange(caller_changed_, false) || state != seen_state_ ||
                overdue != seen_overdue_ || !same_progress(pulse, seen_pulse_);
      seen_state_ = state;
      seen_overdue_ = overdue;
      seen_pulse_ = pulse;
    }
    if (changed) wake();
  }

  // --- writer ---------------------------------------------------------------------------------

  void write_until_lost() {
    // A broken pipe to the worker raises SIGPIPE in the writing thread; blocked here, it stays an
    // error code and the rest of the program keeps its own signal settings.
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);

    wire::Frame hello;
    hello.mutable_hello()->set_protocol_version(protocol_version());
    hello.mutable_hello()->set_program_version(kProgramVersion);
    hello.mutable_hello()->set_compresses(options_.remote);
    bool open = write_frame(hello);
    while (open) {
      std::optional<wire::Frame> frame;
      {
        std::unique_lock lock(mutex_);
        commands_ready_.wait(lock, [this] { return over() || (greeted_ && !unsent_.empty()); });
        if (over()) return;
        frame = unsent_.take();
        if (frame) orders_.sent(*frame);
      }
      open = !frame || write_frame(*frame);
    }
  }

  bool over() const {  // call with the lock held
    return stopping_ || liveness_.state(Clock::now(), false) == LinkState::Lost;
  }

  bool write_frame(const wire::Frame& frame) {
    const engine::Result<std::string> encoded = encode_frame(frame);
    if (!encoded.ok()) {
      push_log({.level = 2, .text = encoded.error().message});
      return true;
    }
    // The pipe is broken: the reader sees the exit and reports why.
    return write_until_stopped(child_->input.get(), encoded.value(), stop_.get());
  }

  const Options options_;
  std::unique_ptr<ChildProcess> child_;
  UniqueFd stop_;  // readable = both threads exit

  mutable std::mutex mutex_;
  std::condition_variable commands_ready_;
  std::vector<std::string> allowed_libraries_;
  Liveness liveness_;
  EventQueue events_;
  UnsentCommands unsent_;
  OpenOrders orders_;
  RoundTrip round_trip_;
  std::uint64_t last_id_;
  bool caller_changed_ = false;  // set by a caller, reported by the reader: a caller may hold locks
  bool greeted_ = false;
  bool stopping_ = false;

  // Used by the reader thread only.
  FrameDecoder decoder_;
  WorkerFrames frames_;
  LineSplitter error_lines_;
  bool failed_ = false;
  std::string fail_reason_;
  std::string truncated_;
  LinkState seen_state_ = LinkState::Starting;
  bool seen_overdue_ = false;
  PulseReport seen_pulse_;

  engine::GuardedThread reader_;
  engine::GuardedThread writer_;
};

}  // namespace

bool has_library(const WorkerHello& hello, const std::string& path) {
  return std::ranges::find(hello.cublaslt_libraries, path) != hello.cublaslt_libraries.end() ||
         std::ranges::any_of(hello.backends, [&](const BackendOffer& offer) {
           return offer.device.cublaslt_path == path;
         });
}

bool may_load(const WorkerHello& hello, const std::vector<std::string>& allowed,
              const std::string& path) {
  return path.empty() || std::ranges::find(allowed, path) != allowed.end() ||
         has_library(hello, path);
}

std::string library_refusal(const std::string& file, const std::string& path) {
  return fmt::format(
      "{} names the cuBLASLt library {}; loading it would run its code, so it is "
      "refused. If you know this library: --allow-library {}",
      file, path, shell_word(path));
}

std::unique_ptr<WorkerLink> WorkerLink::start(Options options) {
  return std::make_unique<ProcessLink>(std::move(options));
}

}  // namespace app
