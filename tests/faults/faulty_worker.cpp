// A worker that behaves correctly until it commits one fault of the table, and again afterwards if
// it survives.
//
//   faulty_worker KIND SEED ORDERS   answers ORDERS orders before; everything follows from the seed
//   faulty_worker --list             the table: name, moment, what must be observed, what it does
//
// Called with anything else, as the window and the command line call a worker, it reads "KIND SEED
// ORDERS" from the file that $FAULTY_WORKER names. Events for the storm go, one per line, to the
// file that $FAULTY_WORKER_TALLY names, else to stderr:
//   started PID       a worker runs
//   answered PID ID   a run was answered correctly and completely
//   shown PID ID      an order was answered with hostile values that are displayed
//   fault PID KIND    the fault begins
//   child PID CHILD   a process was left behind
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "app/protocol/convert.h"
#include "app/protocol/framing.h"
#include "app/protocol/protocol_version.h"
#include "tests/faults/fault_kinds.h"
#include "tests/faults/hostile_frames.h"
#include "tests/unit/session/sample_recording.h"

namespace app::testing {
namespace {

using namespace std::chrono_literals;

// A child that is not ended must not outlive a storm.
constexpr unsigned kChildSeconds = 5;

class FaultyWorker {
 public:
  FaultyWorker(const FaultKind& kind, std::uint64_t seed, int orders_before)
      : kind_(kind), random_(seed), hostile_(random_()), orders_before_(orders_before) {}

  int run() {
    tell(fmt::format("started {}", ::getpid()));
    if (kind_.moment == Moment::Start) commit({});
    FrameDecoder decoder;
    while (true) {
      const auto frame = read_frame(STDIN_FILENO, decoder);
      if (!frame.ok() || !frame.value()) return 0;
      take(*frame.value());
    }
  }

 private:
  // --- what a worker does ---------------------------------------------------------------------

  void take(const wire::Frame& frame) {
    switch (frame.body_case()) {
      case wire::Frame::kHello:
        if (!greeted_) greet();
        return;
      case wire::Frame::kOrder:
        return take_order(frame.order());
      case wire::Frame::kInspectFile: {
        wire::Frame answer;
        answer.mutable_file_inspected()->set_path(frame.inspect_file().path());
        answer.mutable_file_inspected()->set_error("this worker reads no files");
        return send(answer);
      }
      default:
        return;
    }
  }

  void take_order(const wire::Order& order) {
    switch (order.task_case()) {
      case wire::Order::kRun:
        return take_run(order);
      case wire::Order::kCompare:
        if (shows_hostile()) return hostile_result(order);
        return send(answer_frame(order.id(), order.compare().has_series()
                                                 ? profiling::sample_series(1).comparison
                                                 : profiling::sample_comparison(1).comparison));
      case wire::Order::kBench:
        return take_bench(order.id());
      default:
        return fail(order.id(), "this worker only runs");
    }
  }

  void take_run(const wire::Order& command) {
    running_ = command.id();
    if (orders_++ == orders_before_ && kind_.moment == Moment::Order) {
      commit(command);
      if (held_) return;
    } else {
      answer(command);
      // One that was held back is answered after the one that came later.
      if (held_) answer(*std::exchange(held_, std::nullopt));
    }
    running_ = 0;
  }

  /// Far more rows than needed, but they were ordered: none may be lost.
  void take_bench(std::uint64_t id) {
    if (kind_.name != "owed-flood") return fail(id, "this worker only runs");
    tell(fmt::format("fault {} {}", ::getpid(), kind_.name));
    flood(kOwedRows, [&](std::uint64_t) { return row(id); });
    send(answer_frame(id, BenchDone{}));
  }

  /// As the request's seed demands, so that the caller can check it.
  void answer(const wire::Order& command) {
    send(activity_of_run(command.id(), static_cast<int>(command.run().seed() % 50)));
    send(result_of(command));
    tell(fmt::format("answered {} {}", ::getpid(), command.id()));
  }

  static wire::Frame result_of(const wire::Order& command) {
    const int salt = static_cast<int>(command.run().seed() % 50);
    wire::Frame frame = finished_run(command.id(), salt);
    wire::RunResult& result = *frame.mutable_answer()->mutable_run_finished()->mutable_result();
    result.mutable_effective()->set_seed(command.run().seed());
    // Ids restart with every worker: in a recording this distinguishes them.
    result.mutable_device()->set_name(fmt::format("faulty {}", ::getpid()));
    return frame;
  }

  static wire::Frame failure(std::uint64_t id, const std::string& message) {
    return answer_frame(id, RunError{.error = {engine::ErrorCode::Unsupported, message}});
  }
  void fail(std::uint64_t id, const std::string& message) { send(failure(id, message)); }

  static wire::Frame usual_greeting() {
    wire::Frame frame;
    wire::HelloReply& reply = *frame.mutable_hello_reply();
    reply.set_protocol_version(protocol_version());
    reply.mutable_worker()->set_program_version("faulty");
    wire::BackendOffer& offer = *reply.mutable_worker()->add_backends();
    offer.set_kind(wire::GEMM_BACKEND_CPU_REFERENCE);
    offer.set_available(true);
    return frame;
  }

  void greet() {
    send(usual_greeting());
    pulse();
  }

  void pulse() {
    greeted_ = true;
    if (std::exchange(pulsing_, true)) return;
    std::thread([this] {
      while (true) {
        wire::Frame frame;
        frame.mutable_pulse()->set_request_id(running_);
        send(frame);
        std::this_thread::sleep_for(50ms);
      }
    }).detach();
  }

  void send(const wire::Frame& frame) {
    const engine::Result<std::string> bytes = encode_frame(frame);
    if (bytes.ok()) send_bytes(bytes.value());
  }

  void send_bytes(const std::string& bytes) {
    const std::lock_guard lock(output_);
    if (!write_all(STDOUT_FILENO, bytes).ok()) ::_exit(0);
  }

  static void tell(const std::string& line) {
    const char* path = std::getenv("FAULTY_WORKER_TALLY");
    const int tally =
        path == nullptr ? STDERR_FILENO : ::open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    // Only the lines a storm waits for go to stderr: others would count as news.
    if (path != nullptr || line.starts_with("child")) {
      static_cast<void>(write_all(tally, line + '\n').ok());
    }
    if (path != nullptr) ::close(tally);
  }

  // --- faults ---------------------------------------------------------------------------------

  std::uint64_t number(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random_);
  }
  std::string random_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    for (char& byte : bytes) byte = static_cast<char>(number(0, 255));
    return bytes;
  }
  static std::string encoded(const wire::Frame& frame) {
    engine::Result<std::string> bytes = encode_frame(frame);
    return bytes.ok() ? std::move(bytes).value() : std::string();
  }
  static std::string header(std::uint32_t length) {
    std::string bytes(kFrameMagic);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(length >> shift & 0xFF);
    return bytes;
  }

  [[noreturn]] static void wait_for_the_end() {
    while (true) std::this_thread::sleep_for(1h);
  }

  /// Holds the output forever, so that no pulse follows.
  [[noreturn]] void fall_silent_after(const std::string& bytes) {
    output_.lock();
    static_cast<void>(write_all(STDOUT_FILENO, bytes).ok());
    wait_for_the_end();
  }

  [[noreturn]] static void die_of_a_signal(std::uint64_t which) {
    constexpr int kSignals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE,  SIGILL, SIGTERM,
                                SIGKILL, SIGHUP,  SIGINT, SIGQUIT, SIGSYS, SIGXCPU};
    const int signal = kSignals[which % std::size(kSignals)];
    std::signal(signal, SIG_DFL);
    ::raise(signal);
    wait_for_the_end();  // a signal during exit must not change the outcome
  }

  void drip(int descriptor, const std::string& bytes) {
    const std::lock_guard lock(output_);
    for (const char byte : bytes) {
      static_cast<void>(write_all(descriptor, std::string(1, byte)).ok());
      if (number(0, 255) == 0) std::this_thread::sleep_for(1ms);
    }
  }

  template <class Make>
  void flood(std::uint64_t count, Make make) {
    std::string bytes;
    for (std::uint64_t i = 0; i < count; ++i) {
      bytes += encoded(make(1'000'000'000 + i));
      if (bytes.size() < 1 << 18) continue;
      send_bytes(bytes);
      bytes.clear();
    }
    send_bytes(bytes);
  }

  /// Another process in place of this one; `act` runs in it, and it ends by itself.
  pid_t leave_child(const std::function<void()>& act) {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(kChildSeconds);
      if (act) act();
      while (true) ::pause();
    }
    tell(fmt::format("child {} {}", parent, child));
    return child;
  }

  void commit(const wire::Order& command) {
    tell(fmt::format("fault {} {}", ::getpid(), kind_.name));
    const auto found = actions().find(kind_.name);
    if (found == actions().end()) {
      fmt::print(stderr, "the table has a fault {} that is not implemented\n", kind_.name);
      ::_exit(70);
    }
    (this->*found->second)(command);
  }

  using Action = void (FaultyWorker::*)(const wire::Order&);
  static const std::map<std::string_view, Action>& actions() {
    static const std::map<std::string_view, Action> all = {
        {"exit-at-start", &FaultyWorker::exit_code},
        {"signal-at-start", &FaultyWorker::own_signal},
        {"exit-code", &FaultyWorker::exit_code},
        {"own-signal", &FaultyWorker::own_signal},
        {"exit-in-answer", &FaultyWorker::exit_in_answer},
        {"close-output", &FaultyWorker::close_output},
        {"close-everything", &FaultyWorker::close_everything},
        {"wrong-version", &FaultyWorker::wrong_version},
        {"refuses", &FaultyWorker::refuses},
        {"greets-twice", &FaultyWorker::greets_twice},
        {"hostile-greeting", &FaultyWorker::hostile_greeting},
        {"dripped-greeting", &FaultyWorker::dripped_greeting},
        {"mute", &FaultyWorker::mute},
        {"greets-never", &FaultyWorker::greets_never},
        {"garbage", &FaultyWorker::garbage},
        {"mutated-frame", &FaultyWorker::mutated_frame},
        {"cut-frame", &FaultyWorker::cut_frame},
        {"huge-length", &FaultyWorker::huge_length},
        {"long-length", &FaultyWorker::long_length},
        {"swallowing-length", &FaultyWorker::swallowing_length},
        {"unknown-body", &FaultyWorker::unknown_body},
        {"empty-frames", &FaultyWorker::empty_frames},
        {"wrong-direction", &FaultyWorker::wrong_direction},
        {"deep-nesting", &FaultyWorker::deep_nesting},
        {"hostile-numbers", &FaultyWorker::hostile_numbers},
        {"hostile-field", &FaultyWorker::hostile_field},
        {"hostile-enums", &FaultyWorker::hostile_enums},
        {"hostile-lengths", &FaultyWorker::hostile_lengths},
        {"hostile-text", &FaultyWorker::hostile_text},
        {"hostile-result", &FaultyWorker::hostile_result},
        {"flood-answers", &FaultyWorker::flood_answers},
        {"flood-failures", &FaultyWorker::flood_failures},
        {"flood-files", &FaultyWorker::flood_files},
        {"flood-rows", &FaultyWorker::flood_rows},
        {"flood-pulses", &FaultyWorker::flood_pulses},
        {"flood-greetings", &FaultyWorker::flood_greetings},
        {"flood-records", &FaultyWorker::flood_records},
        {"flood-lines", &FaultyWorker::flood_lines},
        {"endless-line", &FaultyWorker::endless_line},
        {"great-flood", &FaultyWorker::great_flood},
        {"owed-flood", &FaultyWorker::owed_flood},
        {"dripped-answer", &FaultyWorker::dripped_answer},
        {"dripped-line", &FaultyWorker::dripped_line},
        {"late-answer", &FaultyWorker::late_answer},
        {"answers-twice", &FaultyWorker::answers_twice},
        {"answers-another", &FaultyWorker::answers_another},
        {"answers-old", &FaultyWorker::answers_old},
        {"answers-early", &FaultyWorker::answers_early},
        {"answers-reversed", &FaultyWorker::answers_reversed},
        {"fails-and-finishes", &FaultyWorker::fails_and_finishes},
        {"answers-after-end", &FaultyWorker::answers_after_end},
        {"no-pulse", &FaultyWorker::no_pulse},
        {"stops-itself", &FaultyWorker::stops_itself},
        {"stuck", &FaultyWorker::stuck},
        {"deaf", &FaultyWorker::deaf},
        {"child-keeps-pipes", &FaultyWorker::child_keeps_pipes},
        {"child-stops", &FaultyWorker::child_stops},
        {"child-leaves", &FaultyWorker::child_leaves},
        {"child-talks", &FaultyWorker::child_talks},
        {"many-children", &FaultyWorker::many_children},
    };
    return all;
  }

  void exit_code(const wire::Order&) { ::_exit(static_cast<int>(number(0, 255))); }
  void own_signal(const wire::Order&) { die_of_a_signal(random_()); }
  void exit_in_answer(const wire::Order& command) {
    const std::string bytes = encoded(result_of(command));
    output_.lock();  // a pulse after the half frame would count as part of it
    static_cast<void>(write_all(STDOUT_FILENO, bytes.substr(0, number(1, bytes.size() - 1))).ok());
    ::_exit(static_cast<int>(number(0, 255)));
  }
  void close_output(const wire::Order&) {
    output_.lock();
    ::close(STDOUT_FILENO);
    wait_for_the_end();
  }
  void close_everything(const wire::Order&) {
    output_.lock();
    for (int descriptor = 0; descriptor < 64; ++descriptor) ::close(descriptor);
    wait_for_the_end();
  }

  void wrong_version(const wire::Order&) {
    wire::Frame frame = usual_greeting();
    frame.mutable_hello_reply()->set_protocol_version(
        protocol_version() + static_cast<std::uint32_t>(number(1, 0xFFFFFFFE)));
    send(frame);
    pulse();
  }
  void refuses(const wire::Order&) {
    wire::Frame frame = usual_greeting();
    frame.mutable_hello_reply()->set_refused(std::string(number(1, 100'000), 'r'));
    send(frame);
    pulse();
  }
  void greets_twice(const wire::Order&) {
    for (std::uint64_t i = number(2, 9); i > 0; --i) send(usual_greeting());
    pulse();
  }
  void hostile_greeting(const wire::Order&) {
    send(hostile_.greeting());
    pulse();
  }
  void dripped_greeting(const wire::Order&) {
    drip(STDOUT_FILENO, encoded(usual_greeting()));
    pulse();
  }
  void mute(const wire::Order&) { wait_for_the_end(); }
  void greets_never(const wire::Order&) { pulse(); }

  void garbage(const wire::Order&) {
    std::string bytes = random_bytes(number(8, 70'000));
    bytes[0] = 0;  // must not accidentally look like the start of a frame
    send_bytes(bytes);
  }
  void mutated_frame(const wire::Order& command) {
    std::string bytes =
        encoded(number(0, 1) == 0 ? result_of(command) : hostile_.right(command.id()));
    for (std::uint64_t n = number(1, 8); n > 0 && bytes.size() > 1; --n) {
      const std::size_t at = number(0, bytes.size() - 1);
      const std::size_t count = std::min<std::size_t>(bytes.size() - at, number(1, 16));
      switch (number(0, 4)) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ 1 << number(0, 7));
          break;
        case 1:
          bytes[at] = static_cast<char>(number(0, 255));
          break;
        case 2:
          bytes.erase(at, count);
          break;
        case 3:
          bytes.insert(at, bytes.substr(at, count));
          break;
        default:
          bytes.replace(at, count, random_bytes(count));
      }
    }
    send_bytes(bytes);
  }
  void cut_frame(const wire::Order& command) {
    const std::string bytes = encoded(result_of(command));
    fall_silent_after(bytes.substr(0, number(1, bytes.size() - 1)));
  }
  void huge_length(const wire::Order&) {
    send_bytes(header(static_cast<std::uint32_t>(number(kMaxFrameBytes + 1, 0xFFFFFFFF))));
  }
  void long_length(const wire::Order&) { fall_silent_after(header(200U << 20)); }
  void swallowing_length(const wire::Order&) { send_bytes(header(200U << 20)); }
  void unknown_body(const wire::Order&) { send_bytes(header(3) + std::string("\xC2\x0C\x00", 3)); }
  void empty_frames(const wire::Order&) {
    std::string bytes;
    for (std::uint64_t n = number(1, 100); n > 0; --n) bytes += header(0);
    send_bytes(bytes);
  }
  void wrong_direction(const wire::Order& command) {
    wire::Frame frame;
    *frame.mutable_order() = command;
    send(frame);
  }
  void deep_nesting(const wire::Order&) {
    const std::size_t depth = number(10'000, 200'000);
    std::string body;
    for (std::size_t i = 0; i < depth; ++i) body += "\xBB\x3E";  // field 999, a group begins
    for (std::size_t i = 0; i < depth; ++i) body += "\xBC\x3E";
    send_bytes(header(static_cast<std::uint32_t>(body.size())) + body);
  }

  void send_hostile(Hostility hostility, const wire::Order& command) {
    // Half of them replace the answer, and then the order is answered.
    const bool instead = number(0, 1) == 0;
    for (std::uint64_t n = number(1, 6); n > 0; --n) {
      send(hostile_.hostile(hostility, instead ? command.id() : random_()));
    }
    if (!instead) answer(command);
  }
  void hostile_numbers(const wire::Order& c) { send_hostile(Hostility::Numbers, c); }
  void hostile_field(const wire::Order& c) { send_hostile(Hostility::Field, c); }
  void hostile_enums(const wire::Order& c) { send_hostile(Hostility::Enums, c); }
  void hostile_lengths(const wire::Order& c) { send_hostile(Hostility::Lengths, c); }
  void hostile_text(const wire::Order& c) { send_hostile(Hostility::Text, c); }

  /// After its fault, a worker that lives answers as it should: this one's other answers are
  /// hostile too.
  bool shows_hostile() const { return kind_.expect == Expect::Shown && orders_ > orders_before_; }
  void hostile_result(const wire::Order& command) {
    for (const wire::Frame& frame : hostile_.let_in(command.task_case(), command.id()).frames) {
      send(frame);
    }
    tell(fmt::format("shown {} {}", ::getpid(), command.id()));
  }

  void flood_answers(const wire::Order& command) {
    const wire::Frame one = result_of(command);
    flood(number(100, 500), [&](std::uint64_t id) {
      wire::Frame frame = one;
      frame.mutable_answer()->set_id(id);
      return frame;
    });
    answer(command);
  }
  static wire::Frame long_failure(std::uint64_t id) { return failure(id, std::string(400, 'f')); }
  void flood_failures(const wire::Order& command) {
    flood(number(1000, 5000), long_failure);
    answer(command);
  }
  static wire::Frame file_report(std::uint64_t id) {
    wire::Frame frame;
    frame.mutable_file_inspected()->set_path(fmt::format("/tmp/{}", id));
    for (int i = 0; i < 10; ++i) frame.mutable_file_inspected()->add_tensors()->set_name("name");
    return frame;
  }
  void flood_files(const wire::Order& command) {
    flood(number(1000, 5000), file_report);
    answer(command);
  }
  static wire::Frame row(std::uint64_t id) {
    return answer_frame(
        id, BenchRowReport{.row = {.shape = {.experts = 8, .rows = 4096, .columns = 4096},
                                   .kernel = "quantize_kernel",
                                   .bytes = 1e6,
                                   .elements = 1'000'000,
                                   .median_us = 10,
                                   .p5_us = 9,
                                   .p95_us = 11,
                                   .samples = 5,
                                   .launches = 1},
                           .power = {}});
  }
  void flood_rows(const wire::Order& command) {
    flood(number(1000, 5000), row);
    answer(command);
  }
  void flood_pulses(const wire::Order& command) {
    flood(number(5000, 20'000), [&](std::uint64_t id) {
      wire::Frame frame;
      frame.mutable_pulse()->set_request_id(command.id());
      frame.mutable_pulse()->set_iteration(static_cast<int>(id % 1000));
      return frame;
    });
    answer(command);
  }
  void flood_greetings(const wire::Order& command) {
    flood(number(500, 2000), [](std::uint64_t) { return usual_greeting(); });
    answer(command);
  }
  static wire::Frame records(std::uint64_t id, std::size_t count) {
    profiling::Activity activity;
    activity.names = {"record"};
    activity.records.resize(count);
    return answer_frame(id, activity);
  }
  void flood_records(const wire::Order& command) {
    const bool same_run = number(0, 1) == 0;
    flood(number(20, 60),
          [&](std::uint64_t id) { return records(same_run ? 1'000'000'000 : id, 2000); });
    answer(command);
  }
  void flood_lines(const wire::Order& command) {
    std::string bytes;
    for (std::uint64_t n = number(5000, 50'000); n > 0; --n) bytes += fmt::format("line {}\n", n);
    static_cast<void>(write_all(STDERR_FILENO, bytes).ok());
    answer(command);
  }
  void endless_line(const wire::Order& command) {
    static_cast<void>(write_all(STDERR_FILENO, std::string(number(1, 4) << 20, 'l')).ok());
    answer(command);
  }
  /// Would take at least 200 MB of memory if all of it were kept.
  void owed_flood(const wire::Order& command) { answer(command); }
  void great_flood(const wire::Order& command) {
    switch (number(0, 5)) {
      case 0:
        flood(400'000, long_failure);
        break;
      case 1:
        flood(200'000, file_report);
        break;
      case 2: {
        const wire::Frame one = result_of(command);
        flood(8000, [&](std::uint64_t id) {
          wire::Frame frame = one;
          frame.mutable_answer()->set_id(id);
          return frame;
        });
        break;
      }
      case 3:  // one run that never ends
        flood(100, [](std::uint64_t) { return records(1'000'000'000, 65'536); });
        break;
      case 4:  // names of a run that has no records
        flood(2000, [](std::uint64_t) {
          const profiling::Activity names{
              .names = std::vector<std::string>(3, std::string(40'000, 'n')),
              .records = {},
              .nodes = {}};
          return answer_frame(1'000'000'000, names);
        });
        break;
      default:
        flood(500'000, [](std::uint64_t) { return usual_greeting(); });
    }
    answer(command);
  }

  void dripped_answer(const wire::Order& command) {
    send(activity_of_run(command.id(), static_cast<int>(command.run().seed() % 50)));
    drip(STDOUT_FILENO, encoded(result_of(command)));
    tell(fmt::format("answered {} {}", ::getpid(), command.id()));
  }
  void dripped_line(const wire::Order& command) {
    drip(STDERR_FILENO, std::string(number(100, 5000), 'd') + "\n");
    answer(command);
  }
  void late_answer(const wire::Order& command) {
    std::this_thread::sleep_for(std::chrono::milliseconds(number(50, 1000)));
    answer(command);
  }

  void answers_twice(const wire::Order& command) {
    answer(command);
    for (std::uint64_t n = number(1, 5); n > 0; --n) send(result_of(command));
  }
  void answers_another(const wire::Order& command) {
    wire::Frame frame = result_of(command);
    for (std::uint64_t n = number(1, 5); n > 0; --n) {
      frame.mutable_answer()->set_id(command.id() + number(1'000'000, ~std::uint64_t{0} >> 1));
      send(frame);
    }
    answer(command);
  }
  void answers_old(const wire::Order& command) {
    wire::Frame frame = result_of(command);
    frame.mutable_answer()->set_id(number(0, command.id() - 1));
    send(frame);
    answer(command);
  }
  void answers_early(const wire::Order& command) {
    wire::Order next = command;
    next.set_id(command.id() + 1);
    send(result_of(next));
    answer(command);
  }
  void answers_reversed(const wire::Order& command) { held_ = command; }
  void fails_and_finishes(const wire::Order& command) {
    answer(command);
    fail(command.id(), "and it failed, too");
  }
  void answers_after_end(const wire::Order& command) {
    const std::string late = encoded(result_of(command));
    leave_child([&] {
      std::this_thread::sleep_for(20ms);
      static_cast<void>(::write(STDOUT_FILENO, late.data(), late.size()));
    });
    ::_exit(0);
  }

  void no_pulse(const wire::Order&) { fall_silent_after(""); }
  void stops_itself(const wire::Order&) { ::raise(SIGSTOP); }
  void stuck(const wire::Order&) { wait_for_the_end(); }
  void deaf(const wire::Order& command) {
    answer(command);
    running_ = 0;
    wait_for_the_end();
  }

  void child_keeps_pipes(const wire::Order&) {
    leave_child({});
    ::_exit(static_cast<int>(number(0, 255)));
  }
  void child_stops(const wire::Order&) {
    leave_child([] { ::raise(SIGSTOP); });
    ::_exit(static_cast<int>(number(0, 255)));
  }
  void child_leaves(const wire::Order&) {
    leave_child([] { ::setsid(); });
    ::_exit(static_cast<int>(number(0, 255)));
  }
  void child_talks(const wire::Order& command) {
    const std::string bytes = encoded(result_of(command));
    const bool leaves = number(0, 1) == 0;
    leave_child([&] {
      if (leaves) ::setsid();
      while (write_all(STDOUT_FILENO, bytes).ok()) std::this_thread::sleep_for(1ms);
      ::_exit(0);
    });
    ::_exit(static_cast<int>(number(0, 255)));
  }
  void many_children(const wire::Order&) {
    for (int i = 0; i < 20; ++i) leave_child({});
    die_of_a_signal(0);
  }

  const FaultKind& kind_;
  std::mt19937_64 random_;
  HostileFrames hostile_;
  const int orders_before_;
  int orders_ = 0;
  bool greeted_ = false;
  bool pulsing_ = false;
  std::optional<wire::Order> held_;
  std::atomic<std::uint64_t> running_{0};
  std::mutex output_;
};

struct Plan {
  std::string kind = "none";
  std::uint64_t seed = 0;
  int orders_before = 0;
};

Plan read_plan(int argc, char** argv) {
  Plan plan;
  if (argc == 4 && (find_kind(argv[1]) != nullptr || std::string_view(argv[1]) == "none")) {
    plan = {argv[1], std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3])};
  } else if (const char* path = std::getenv("FAULTY_WORKER")) {
    std::ifstream(path) >> plan.kind >> plan.seed >> plan.orders_before;
  }
  return plan;
}

int list_kinds() {
  for (const FaultKind& kind : kFaultKinds) {
    fmt::print(
        "{}\t{}\t{}\t{}\t{}\t{}\n", kind.name, kMomentNames[static_cast<std::size_t>(kind.moment)],
        kExpectNames[static_cast<std::size_t>(kind.expect)], kind.weight, kind.number, kind.what);
  }
  return 0;
}

}  // namespace
}  // namespace app::testing

int main(int argc, char** argv) {
  using namespace app::testing;
  if (argc == 2 && std::string_view(argv[1]) == "--list") return list_kinds();
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0);
  // Default signal handling: nohup leaves signals ignored, and a sanitizer would report deaths that
  // are intended.
  for (int signal = 1; signal < SIGRTMIN; ++signal) std::signal(signal, SIG_DFL);
  // Without a fault: behaves correctly.
  static constexpr FaultKind kNone = {"none", Moment::Caller, Expect::Lives, 0, ""};
  const Plan plan = read_plan(argc, argv);
  const FaultKind* kind = find_kind(plan.kind);
  return FaultyWorker(kind == nullptr ? kNone : *kind, plan.seed, plan.orders_before).run();
}
