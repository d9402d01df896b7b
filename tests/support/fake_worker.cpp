// A worker that misbehaves on purpose. The first argument says how; without a known one it greets,
// pulses and answers every run at once. It sends real frames, so that only the misbehaviour differs
// from a real worker.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "app/protocol/convert.h"
#include "app/protocol/framing.h"
#include "app/protocol/protocol_version.h"
#include "tests/support/hostile_text.h"

namespace {

using namespace std::chrono_literals;

std::mutex out_mutex;
std::atomic<std::uint64_t> running_id{0};
std::atomic<bool> replaying{false};  // pulses show the board of a replay that does not move
std::atomic<bool> silent{false};     // no pulses
std::atomic<bool> watched{false};    // the window wants readings of the device
std::atomic<int> warmer{0};          // degrees, after each run

void send_bytes(const std::string& bytes) {
  const std::lock_guard lock(out_mutex);
  if (!app::write_all(STDOUT_FILENO, bytes).ok()) ::_exit(1);
}

std::string hostile;  // if not empty: the content of every text of an answer
std::string shorter;  // the same for unordered frames, which are limited to 4 MiB

void send(app::wire::Frame frame) {
  if (!hostile.empty()) {
    app::testing::make_hostile(frame, frame.has_answer() ? hostile : shorter, "refused");
  }
  const engine::Result<std::string> bytes = app::encode_frame(frame);
  if (bytes.ok()) send_bytes(bytes.value());
}

void answer(std::uint64_t id, const app::Answer& answer) {
  app::wire::Frame frame;
  *frame.mutable_answer() = app::to_wire(id, answer);
  send(std::move(frame));
}

void fail(std::uint64_t id, engine::ErrorCode code, std::string message) {
  answer(id, app::RunError{.error = {code, std::move(message)}});
}

void greet(std::uint32_t version, bool cuda, bool refuses) {
  app::wire::Frame frame;
  app::wire::HelloReply& reply = *frame.mutable_hello_reply();
  reply.set_protocol_version(version);
  app::wire::WorkerHello& worker = *reply.mutable_worker();
  worker.set_program_version("fake");
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) worker.set_host(host.data());
  app::wire::BackendOffer& offer = *worker.add_backends();
  offer.set_kind(app::wire::GEMM_BACKEND_CPU_REFERENCE);
  offer.set_available(true);
  if (cuda) {
    app::wire::BackendOffer& device = *worker.add_backends();
    device.set_kind(app::wire::GEMM_BACKEND_CUBLASLT_GROUPED);
    device.set_available(true);
    worker.add_cublaslt_libraries("/lib/good");
    worker.add_cublaslt_libraries("/lib/bad");
  }
  if (refuses) reply.set_refused(shorter);
  send(frame);
}

/// A run's fraction grows with every pulse, or never.
void pulse_forever(bool moving) {
  double fraction = 0.0;
  for (std::uint64_t sequence = 1;; ++sequence) {
    app::wire::Frame frame;
    frame.mutable_pulse()->set_request_id(running_id);
    if (moving && running_id != 0) fraction += 1e-4;
    frame.mutable_pulse()->set_fraction(fraction);
    if (running_id != 0) {
      frame.mutable_pulse()->set_iteration(0);
      frame.mutable_pulse()->set_iterations(2);
    }
    if (replaying) {
      frame.mutable_pulse()->set_replay(2);
      frame.mutable_pulse()->set_board(std::string("\x02\x02\x01\x00", 4));
      frame.mutable_pulse()->set_device("NVML, 0.1 s ago: busy 0 % of the time");
    }
    // A device at rest: its power fluctuates by a watt, which must not count as news.
    if (watched && running_id == 0) {
      *frame.mutable_pulse()->mutable_reading() = app::to_wire(
          profiling::PowerTrace{.method = "instant",
                                .missing = {},
                                .samples = {{.sm_clock_mhz = 345,
                                             .power_w = 120.0 + static_cast<double>(sequence % 2),
                                             .temperature_c = 41 + warmer}}});
    }
    if (!silent) send(frame);
    std::this_thread::sleep_for(50ms);
  }
}

profiling::Activity large_activity(std::size_t records) {
  profiling::Activity activity;
  activity.names = {"span"};
  activity.records.resize(records);
  for (std::size_t i = 0; i < records; ++i) {
    activity.records[i].start_ns = static_cast<std::int64_t>(i);
    activity.records[i].end_ns = static_cast<std::int64_t>(i) + 1;
  }
  return activity;
}

profiling::Snapshot four_kernels(std::string subject);

void finish(std::uint64_t id, std::size_t records) {
  const profiling::Activity activity = large_activity(records);
  for (std::size_t first = 0; first < records; first += app::kMaxChunkRecords) {
    answer(id, app::activity_chunk(activity, first));
  }
  app::RunDone done;
  if (!hostile.empty()) {
    done.snapshot = four_kernels("a step");
    done.result.deviations.emplace_back();
  }
  answer(id, std::move(done));
}

/// Appends this process to the file of $FAKE_WORKER_PIDS, then sleeps, ignoring polite signals and
/// the end of its parent.
[[noreturn]] void hide() {
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) ::signal(number, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, 0);
  if (const char* path = std::getenv("FAKE_WORKER_PIDS"); path != nullptr) {
    const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string line = fmt::format("{}\n", ::getpid());
    static_cast<void>(::write(file, line.data(), line.size()) < 0);
    ::close(file);
  }
  while (true) ::pause();
}

/// Creates descendants by every way out of a process group: a child, a child of a child that has
/// ended, and one in a separate session.
void breed() {
  if (::fork() == 0) hide();
  if (::fork() == 0) {
    if (::fork() == 0) hide();
    ::_exit(0);
  }
  if (::fork() == 0) {
    ::setsid();
    if (::fork() == 0) hide();
    ::_exit(0);
  }
}

/// A benchmark with more rows than can be taken in at once.
void bench(std::uint64_t id) {
  app::BenchRowReport report;
  report.row.shape = {.experts = 1, .rows = 16, .columns = 16};
  report.row.median_us = report.row.p5_us = report.row.p95_us = 1;
  for (int row = 1; row <= 200'000; ++row) {
    report.row.launches = row;
    answer(id, report);
  }
  answer(id, app::BenchDone{});
}

void misbehave_after_hello(const std::string& mode) {
  const pid_t guard = ::getppid();
  if (mode == "hello-then-garbage") send_bytes("Segmentation fault (core dumped)\n");
  if (mode == "huge-frame") send_bytes(std::string("XSC1\xFF\xFF\xFF\xFF", 8));
  if (mode == "unknown-body") send_bytes(std::string("XSC1\x03\x00\x00\x00\xC2\x0C\x00", 11));
  if (mode == "wrong-direction") {
    app::wire::Frame frame;
    frame.mutable_cancel();
    send(frame);
  }
  if (mode == "close-output") ::close(STDOUT_FILENO);
  if (mode == "unordered") {
    app::wire::Frame frame;
    *frame.mutable_answer() =
        app::to_wire(0, app::RunError{.error = {engine::ErrorCode::Device,
                                                "an answer to an order that was not given"}});
    for (std::uint64_t id = 1; id <= 1'000'000; ++id) {
      frame.mutable_answer()->set_id(id);
      send(frame);
    }
  }
  if (mode == "unasked-file") {
    app::wire::Frame frame;
    frame.mutable_file_inspected()->set_path("/etc/passwd");
    send(frame);
  }
  if (mode == "greets-twice") greet(app::protocol_version(), false, false);
  if (mode == "escapes") {
    fmt::print(stderr,
               "\x1b]0;a title\x07\x1b[2Jgone\xc2\x9b"
               "1m \xe2\x80\xae\xff\n");
  }
  if (mode == "endless-line") {
    for (int i = 0; i < 20'000; ++i) fmt::print(stderr, "{:4096}", "x");
  }
  // One read returns more lines than the link keeps: some are dropped, however slow the reader is.
  if (mode == "short-lines") {
    std::string lines;
    for (int i = 0; i < 1'000'000; ++i) lines += "x\n";
    static_cast<void>(app::write_all(STDERR_FILENO, lines).ok());
  }
  if (mode == "breed") breed();
  if (mode == "kills-guard") {
    // In a session of its own, so that no process group has it, and deaf to the end of its parent.
    if (::fork() == 0) {
      ::setsid();
      if (::fork() == 0) hide();
      std::this_thread::sleep_for(100ms);  // it should have said who it is
      ::kill(guard, SIGKILL);
      hide();
    }
  }
  if (mode == "stops-guard") {
    std::thread([guard] {
      while (::getppid() == guard) ::kill(guard, SIGSTOP);
    }).detach();
  }
  if (mode == "die-in-frame") {
    // The lock is held to the end: a pulse after the half frame would count as part of it.
    const std::lock_guard lock(out_mutex);
    static_cast<void>(
        app::write_all(STDOUT_FILENO, std::string("XSC1\x40\x00\x00\x00half", 12)).ok());
    ::_exit(9);
  }
  if (mode == "talk") {
    for (int i = 0; i < 5000; ++i) fmt::print(stderr, "line {}\n", i);
  }
}

profiling::Snapshot four_kernels(std::string subject) {
  profiling::Snapshot snapshot;
  snapshot.subject = std::move(subject);
  snapshot.device = "fake device";
  profiling::GraphSnapshot& graph = snapshot.graphs.emplace_back();
  graph.name = "step";
  for (const char* name : {"quantize", "offsets", "grouped_gemm", "bias"}) {
    graph.nodes.push_back({.type = profiling::NodeType::Kernel,
                           .name = name,
                           .parameters = profiling::KernelNode{.function = name}});
    const int made = static_cast<int>(graph.nodes.size()) - 1;
    if (made > 0) graph.edges.push_back({.from = made - 1, .to = made});
  }
  return snapshot;
}

/// A run whose replay is late, as a worker answers it before it ends: the third kernel is running.
app::RunError stalled_run() {
  using profiling::NodeState;
  app::DoctorDone seen{.snapshot = four_kernels("the captured step of this run")};
  seen.outcome.verdict = profiling::Verdict::Hung;
  seen.outcome.stall = {
      {.replay = 41,
       .waited_seconds = 0.5,
       .deadline_seconds = 0.5,
       .p99_seconds = 12.5e-6,
       .nodes = {NodeState::Done, NodeState::Done, NodeState::Running, NodeState::NotReached},
       .last_finished = 1,
       .kind = profiling::StallKind::KernelSpins,
       .evidence = "a probe kernel on another stream finished in 0.1 ms"}};
  if (const char* dump = std::getenv("FAKE_CORE_DUMP")) {
    seen.outcome.stall.front().core_dump = dump;
  }
  return {.error = {engine::ErrorCode::Device, "replay 41 had not finished after 0.50 s"},
          .stalled = std::make_shared<const app::DoctorDone>(std::move(seen))};
}

/// The file as its name says: "x-768-384.npy" holds one FP32 tensor [768, 384], and a question
/// about "superseded.npy" is.
void describe(const std::string& path) {
  app::FileReport report{.path = path, .error = {}, .tensors = {}};
  report.superseded = path.find("superseded") != std::string::npos;
  engine::TensorEntry tensor;
  tensor.dtype = "F32";
  tensor.usable = true;
  for (std::size_t at = path.find('-', path.rfind('/')); at != std::string::npos;
       at = path.find('-', at + 1)) {
    tensor.shape.push_back(std::atoll(path.c_str() + at + 1));
  }
  report.tensors.push_back(std::move(tensor));
  app::wire::Frame frame;
  *frame.mutable_file_inspected() = app::to_wire(report);
  send(std::move(frame));
}

/// One experiment, answered as the mode says; by default it is right. A library called "bad" is
/// wrong from replay 2 on.
void examine(const std::string& mode, bool bad_library, std::uint64_t id,
             const app::wire::DoctorOrder& order) {
  replaying = mode == "hang-in-replay" || mode == "die-in-replay" || mode == "silent-in-replay";
  if (mode == "silent-in-replay") {
    std::this_thread::sleep_for(200ms);  // so that the board is seen once
    silent = true;
  }
  if (mode == "breed" || mode == "hang-in-setup" || mode == "hang-in-replay" ||
      mode == "silent-in-replay") {
    std::this_thread::sleep_for(1h);
  }
  if (mode == "die-in-replay") {
    std::this_thread::sleep_for(200ms);
    fmt::print(stderr, "an illegal memory access\n");
    std::this_thread::sleep_for(100ms);
    ::signal(SIGSEGV, SIG_DFL);  // a sanitizer would report it as a fault of this program
    ::raise(SIGSEGV);
  }
  if (mode == "refuse-order" || mode == "device-error") {
    return fail(id,
                mode == "device-error" ? engine::ErrorCode::Device : engine::ErrorCode::Unsupported,
                "there is no GPU here");
  }
  app::DoctorDone done;
  done.outcome.verdict = profiling::Verdict::Right;
  done.snapshot.subject = order.gallery_case();
  if (mode == "captures") {
    done.snapshot = four_kernels(fmt::format("a step of {} rows", order.request().shape().rows()));
  }
  const char* loading = std::getenv("CUDA_MODULE_LOADING");
  done.snapshot.device = loading == nullptr ? "" : loading;
  if (bad_library) {
    done.outcome.verdict = profiling::Verdict::Wrong;
    done.outcome.checks = {{.replay = 2, .output = "Y", .parts = 1, .wrong_parts = {0}}};
  }
  answer(id, std::move(done));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "well-behaved";
  if (mode == "--version") {
    fmt::print("fake_worker, CUDA\n");
    return 0;
  }
  if (mode == "exit-at-start") {
    fmt::print(stderr, "libcuda.so.1 is not the expected one\n");
    return 3;
  }
  if (mode.starts_with("hostile")) {
    hostile = app::testing::hostile_text(1 << 20);
    shorter = app::testing::hostile_text(100'000);
  }
  if (mode == "mute") std::this_thread::sleep_for(1h);  // reads nothing, says nothing

  const bool bad_library =
      std::any_of(argv, argv + argc, [](std::string_view one) { return one.ends_with("bad"); });
  app::FrameDecoder decoder;
  while (true) {
    const auto frame = app::read_frame(STDIN_FILENO, decoder);
    if (!frame.ok() || !frame.value()) return 0;
    if (frame.value()->has_hello()) {
      greet(mode == "wrong-version" ? app::protocol_version() + 1 : app::protocol_version(),
            mode == "libraries" || mode == "device" || mode.starts_with("stall-in-run") ||
                mode == "captures" || mode.starts_with("hostile"),
            mode == "hostile-refusal");
      if (mode != "no-pulse" && mode != "close-output")
        std::thread(pulse_forever, mode != "stuck").detach();
      misbehave_after_hello(mode);
      if (mode == "deaf") std::this_thread::sleep_for(1h);  // pulses, but stops reading
    }
    const app::wire::Order& order = frame.value()->order();  // an empty one if it is none
    const std::uint64_t id = order.id();
    if (order.has_bench()) bench(id);
    if (frame.value()->has_watch_device() && mode == "device") {
      watched = frame.value()->watch_device().on();
    }
    if (frame.value()->has_inspect_file() && mode == "describes-files") {
      describe(frame.value()->inspect_file().path());
    }
    if (order.has_doctor()) examine(mode, bad_library, id, order.doctor());
    if (order.has_run()) {
      running_id = id;
      if (mode == "stuck" || mode == "moving" || mode == "breed" || mode == "kills-guard") continue;
      if (mode == "hostile-failure") {
        fail(id, engine::ErrorCode::Device, "");
        running_id = 0;
        continue;
      }
      if (mode == "wrong-kind") {
        answer(id, app::BenchDone{});
        continue;
      }
      if (mode == "answers-twice") finish(id, 0);
      if (mode == "escaping-error") {
        fail(id, engine::ErrorCode::Device, "\x1b[31mred\x1b[0m and \r over it");
        continue;
      }
      if (mode.starts_with("stall-in-run")) {
        replaying = true;
        // Leaves time to see the board, especially if its deadline is long.
        std::this_thread::sleep_for(mode == "stall-in-run-for-long" ? 5s : 200ms);
        answer(id, stalled_run());
        ::_exit(0);
      }
      // What "escapes" wrote to stderr should be read before its answer is.
      if (mode == "slow-answer" || mode == "escapes") std::this_thread::sleep_for(400ms);
      finish(id, mode == "big-activity" ? 300'000 : 0);
      ++warmer;
      running_id = 0;
    }
  }
}
