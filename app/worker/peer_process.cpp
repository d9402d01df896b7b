#include "app/worker/peer_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "app/protocol/child_process.h"
#include "engine/input/json_text.h"

namespace app {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr std::chrono::seconds kPeerStartLimit = 180s;  // torch loading from a cold disk
constexpr std::chrono::seconds kOpenLimit = 120s;
constexpr std::chrono::seconds kTimeLimit = 60s;
constexpr std::size_t kMaxCases = 64;

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

/// Lines to and from a child process, with a limit on the wait. Its stderr is drained meanwhile, so
/// that a child that writes there never blocks, and the last of it is kept for the error message
/// when it dies.
class LineExchange {
 public:
  static engine::Result<LineExchange> start(const std::vector<std::string>& argv);

  /// Sends the line, then waits for one. After an error (including a child that ended or took too
  /// long) the exchange is unusable. Cancelled when progress.cancel was seen.
  engine::Result<std::string> ask(const std::string& line, std::chrono::seconds limit,
                                  const engine::RunProgress& progress);
  /// Waits for a line that the child sends unprompted.
  engine::Result<std::string> listen(std::chrono::seconds limit,
                                     const engine::RunProgress& progress);

 private:
  explicit LineExchange(std::unique_ptr<ChildProcess> child) : child_(std::move(child)) {}
  engine::Result<std::string> next_line(std::chrono::seconds limit,
                                        const engine::RunProgress& progress);
  bool read_all();  // false at the end of the child's stdout
  engine::Error ended();

  std::unique_ptr<ChildProcess> child_;
  std::string received_;  // an incomplete line
  std::string errors_;    // the last that it wrote to stderr
  bool broken_ = false;   // a late answer would be mistaken for the answer to the next question
};

engine::Result<LineExchange> LineExchange::start(const std::vector<std::string>& argv) {
  ENGINE_ASSIGN(std::unique_ptr<ChildProcess> child, ChildProcess::start(argv));
  return LineExchange(std::move(child));
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

engine::Error unexpected_answer(const std::string& line) {
  return {engine::ErrorCode::Protocol, fmt::format("the peer answered '{:.80}'", line)};
}

/// An object without "error".
engine::Result<Json> read_answer(const engine::Result<std::string>& line) {
  if (!line.ok()) return line.error();
  engine::Result<Json> parsed = engine::parse_json(line.value());
  if (!parsed.ok() || !parsed.value().is_object()) return unexpected_answer(line.value());
  Json answer = std::move(parsed).value();
  if (const auto error = answer.find("error"); error != answer.end()) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         error->is_string() ? error->get<std::string>() : error->dump()};
  }
  return answer;
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Asks one question after the other.
class Asker {
 public:
  Asker(LineExchange exchange, engine::RunProgress& progress)
      : exchange_(std::move(exchange)), progress_(progress) {}
  engine::Result<Json> ask(const Json& question, std::chrono::seconds limit) {
    return read_answer(exchange_.ask(question.dump(), limit, progress_));
  }

 private:
  LineExchange exchange_;
  engine::RunProgress& progress_;
};

/// A shape whose operands the peer holds until its last subject is gone.
class OpenShape {
 public:
  explicit OpenShape(Asker& asker) : asker_(asker) {}
  OpenShape(const OpenShape&) = delete;
  OpenShape& operator=(const OpenShape&) = delete;
  ~OpenShape() { (void)asker_.ask({{"close", true}}, kTimeLimit).ok(); }
  Asker& asker() { return asker_; }

 private:
  Asker& asker_;
};

class PeerSubject final : public engine::StepSubject {
 public:
  PeerSubject(std::shared_ptr<OpenShape> shape, std::string name,
              std::vector<engine::BenchPart> parts)
      : shape_(std::move(shape)), name_(std::move(name)), parts_(std::move(parts)) {}

  std::string name() const override { return name_; }

  engine::Result<std::vector<engine::PartTime>> turn() override {
    std::vector<engine::PartTime> times;
    for (const engine::BenchPart part : parts_) {
      const std::int64_t begin = engine::steady_ns();
      ENGINE_ASSIGN(
          const Json answer,
          shape_->asker().ask({{"time", name_}, {"part", engine::name_of(part)}}, kTimeLimit));
      const auto us = answer.find("us");
      if (us == answer.end() || !us->is_number() || !(us->get<double>() > 0)) {
        return unexpected_answer(answer.dump());
      }
      times.push_back(
          {.part = part, .us = us->get<double>(), .span = {begin, engine::steady_ns()}});
    }
    return times;
  }

 private:
  const std::shared_ptr<OpenShape> shape_;
  const std::string name_;
  const std::vector<engine::BenchPart> parts_;
};

/// Parts that this version knows; a peer may offer more.
std::vector<engine::BenchPart> parts_of(const Json& offered) {
  std::vector<engine::BenchPart> parts;
  const auto names = offered.find("parts");
  if (names == offered.end()) return parts;
  for (const engine::EnumName& part : engine::kType<engine::BenchPart>.names) {
    if (std::ranges::find(*names, Json(part.name)) == names->end()) continue;
    parts.push_back(static_cast<engine::BenchPart>(part.value));
  }
  return parts;
}

/// What a peer has to build. An activation travels by its arithmetic, which is ours to name.
Json shape_json(const engine::StepCase& measured) {
  const engine::StepBenchShape& shape = measured.of.shape;
  Json json = {{"step", engine::name_of(measured.of.step)},
               {"n", shape.shape.n},
               {"k", shape.shape.k},
               {"splits", measured.splits}};
  if (measured.of.step != engine::StepKind::ExpertLayer) return json;
  const kernels::Activation& formula = engine::traits_of(shape.activation).formula;
  const bool silu = formula.function == kernels::ActivationFunction::Silu;
  json["bias"] = shape.bias;
  json["top_k"] = shape.top_k;
  json["activation"] = {
      {"name", engine::name_of(shape.activation)},
      {"gated_silu", silu && formula.gated},
      {"slope", formula.slope},
      {"limit", formula.limit < kernels::kUnlimited ? Json(formula.limit) : Json()},
      {"up_offset", formula.up_offset}};
  return json;
}

class Peer final : public PeerProcess, public engine::StepTarget {
 public:
  Peer(std::string name, LineExchange exchange, engine::RunProgress& progress)
      : name_(std::move(name)), asker_(std::move(exchange), progress) {}

  const std::string& name() const override { return name_; }
  engine::StepTarget& target() override { return *this; }
  bool essential() const override { return false; }

  engine::Result<std::vector<engine::OfferedSubject>> offer(const engine::StepCase& measured,
                                                            engine::RunProgress&) override {
    const engine::Result<Json> answer = asker_.ask({{"open", shape_json(measured)}}, kOpenLimit);
    std::vector<engine::OfferedSubject> offered;
    if (!answer.ok()) {
      if (answer.error().code == engine::ErrorCode::Cancelled) return answer.error();
      offered.push_back({.name = name_, .subject = nullptr, .missing = answer.error().message});
      return offered;
    }
    const auto open = std::make_shared<OpenShape>(asker_);
    const auto cases = answer.value().find("cases");
    if (cases == answer.value().end() || !cases->is_array() || cases->size() > kMaxCases) {
      offered.push_back({.name = name_,
                         .subject = nullptr,
                         .missing = unexpected_answer(answer.value().dump()).message});
      return offered;
    }
    for (const Json& one : *cases) {
      std::string name = text_of(one, "name");
      if (name.empty()) continue;
      const std::string missing = text_of(one, "missing");
      std::vector<engine::BenchPart> parts = parts_of(one);
      if (!missing.empty() || parts.empty()) {
        offered.push_back({.name = std::move(name),
                           .subject = nullptr,
                           .missing = missing.empty() ? "it offers no parts" : missing});
        continue;
      }
      auto subject = std::make_unique<PeerSubject>(open, name, std::move(parts));
      offered.push_back({.name = std::move(name), .subject = std::move(subject)});
    }
    return offered;
  }

 private:
  const std::string name_;
  Asker asker_;
};

}  // namespace

engine::Result<std::unique_ptr<PeerProcess>> start_peer(const std::vector<std::string>& argv,
                                                        engine::RunProgress& progress) {
  ENGINE_ASSIGN(LineExchange exchange, LineExchange::start(argv));
  ENGINE_ASSIGN(const Json greeting, read_answer(exchange.listen(kPeerStartLimit, progress)));
  std::string name = text_of(greeting, "name");
  if (name.empty()) return unexpected_answer(greeting.dump());
  return std::unique_ptr<PeerProcess>(
      std::make_unique<Peer>(std::move(name), std::move(exchange), progress));
}

}  // namespace app
